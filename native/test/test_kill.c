/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A peer killed at any point. One engine survives all rounds; in each a process links to it, or is linked to, and is
 * killed: after some bytes of the greeting, or while streams and fetches run both ways. Whatever was under way must end
 * within the configured time with an error that names the peer, what arrived before must be right, and when the round
 * is over the engine holds no more memory, mappings or descriptors than before.
 *
 * HOWDAH_TEST_KILLS sets the number of rounds of each kind (that of HOWDAH_TEST_SEEDS, else 12), HOWDAH_TEST_SEED the
 * first one's seed (1), HOWDAH_TEST_PATIENCE how many times as long everything may take (1).
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "transport/wire.h"

#define ROUNDS_MAX  4096
#define LIMIT       (48 << 20) /* memory.limit of the survivor */
#define MESSAGE_MAX 150000
#define BLOCK       400000
#define FETCHES     6
#define OPERATIONS  400

struct round {
    uint64_t seed;
    bool victim_connects;
    uint64_t random;
    unsigned limit; /* bytes of the greeting, or operations */
    pid_t pid;
    int control; /* a byte starts the victim */
    int fd;
};

/* Of the guard and of the greeting, in seconds: HOWDAH_TEST_PATIENCE times as long where a sanitizer on an emulated
 * processor needs seconds for a greeting. */
static int64_t timeout_s(void)
{
    return 8 * (int64_t)from_environment("HOWDAH_TEST_PATIENCE", 1);
}

static hd_engine *make_engine(void)
{
    char guard[48], connect[48];
    snprintf(guard, sizeof(guard), "guard.timeout=%ds", (int)timeout_s());
    snprintf(connect, sizeof(connect), "connect.timeout=%ds", (int)timeout_s());
    return test_engine(
        (const char *const[]){"memory.limit=48m", "memory.slab.size=1m", "chunk.size=64k", guard, connect, NULL});
}

/* ---- traffic, the same at both ends ---- */

struct busy {
    hd_engine *engine;
    hd_link *link;
    hd_queue *streams, *blocks, *done; /* what the peer opens, what it asks for, our fetches */
    pid_t victim;
    _Atomic unsigned operations;
    unsigned limit; /* operations until the victim is killed; 0 at the victim */
    _Atomic int64_t killed;
    _Atomic int wrong;
    hd_stream *stream;
    char names[64]; /* what an error must contain */
};

static void strike(struct busy *b)
{
    int64_t none = 0;
    if (!b->limit || atomic_fetch_add(&b->operations, 1) < b->limit)
        return;
    if (atomic_compare_exchange_strong(&b->killed, &none, hd_now()))
        kill(b->victim, SIGKILL);
}

static void wrong(struct busy *b, const char *what, int err)
{
    if (b->limit)
        fprintf(stderr, "%s: %d %s\n", what, err, hd_last_error());
    atomic_store(&b->wrong, 1);
}

/* How something under way must end: the link's loss, in words that name the peer. */
static void ended(struct busy *b, const char *what, int err)
{
    if (err != -ECONNRESET || !strstr(hd_last_error(), b->names))
        wrong(b, what, err);
}

static size_t length_of(unsigned i)
{
    return (i * 2654435761U >> 7) % (i % 5 == 0 ? MESSAGE_MAX : 3000);
}

static void *send_run(void *arg)
{
    struct busy *b = arg;
    char *data = malloc(MESSAGE_MAX);
    int err = 0;
    for (unsigned i = 0; err == 0; i++) {
        fill(data, length_of(i), i);
        err = hd_send(b->stream, data, length_of(i), PATIENCE);
        strike(b);
    }
    ended(b, "send", err);
    free(data);
    hd_stream_close(b->stream);
    return NULL;
}

/* The stream that the peer opens, unless the link is lost first. */
static hd_stream *accepted(struct busy *b)
{
    struct hd_event event;
    for (;;) {
        bool up = hd_link_status(b->link) == 0;
        if (hd_queue_wait(b->streams, &event, 1, 50 * MILLI) == 1)
            return event.stream;
        if (!up)
            return NULL;
    }
}

static void *recv_run(void *arg)
{
    struct busy *b = arg;
    hd_buf *msg;
    int err;
    hd_stream *stream = accepted(b);
    if (!stream)
        return NULL;
    for (unsigned i = 0; (err = hd_recv(stream, &msg, PATIENCE)) == 0; i++) {
        if (hd_buf_length(msg) != length_of(i) || !filled(hd_buf_data(msg), length_of(i), i))
            wrong(b, "contents", 0);
        hd_buf_unref(msg);
        strike(b);
    }
    ended(b, "recv", err);
    hd_stream_close(stream);
    return NULL;
}

static int ask(struct busy *b)
{
    struct hd_fetch_params params = {
        .size = sizeof(params), .name = "x", .name_length = 1, .length = HD_FETCH_ALL, .queue = b->done};
    hd_fetch *fetch;
    return hd_fetch_start(b->link, "blocks", &params, &fetch);
}

static void *fetch_run(void *arg)
{
    struct busy *b = arg;
    int started = 0, err = 0;
    while (started < FETCHES && (err = ask(b)) == 0)
        started++;
    while (started > 0) {
        struct hd_event event;
        if (hd_queue_wait(b->done, &event, 1, PATIENCE) != 1) {
            wrong(b, "a fetch never ended", -ETIMEDOUT);
            return NULL;
        }
        started--;
        hd_buf *data = event.status ? NULL : hd_fetch_data(event.fetch);
        if (event.status == 0 && (hd_buf_length(data) != BLOCK || !filled(hd_buf_data(data), BLOCK, 7)))
            wrong(b, "contents of a block", 0);
        if (event.status && event.status != -ENOBUFS)
            err = event.status;
        if (err == -ECONNRESET && event.status && !strstr(hd_fetch_error(event.fetch), b->names))
            wrong(b, "a fetch's error does not name the peer", event.status);
        hd_fetch_release(event.fetch);
        strike(b);
        if (!err && (err = ask(b)) == 0)
            started++;
    }
    if (err != -ECONNRESET)
        wrong(b, "fetch", err);
    return NULL;
}

/* Answers the peer's fetches until it is woken. */
static void *serve_run(void *arg)
{
    struct busy *b = arg;
    struct hd_event event;
    while (hd_queue_wait(b->blocks, &event, 1, HD_FOREVER) == 1) {
        hd_buf *buf;
        if (hd_buf_alloc(b->engine, BLOCK, &buf)) {
            hd_fetch_reply_error(event.fetch, -ENOBUFS, NULL);
            continue;
        }
        fill(hd_buf_data(buf), BLOCK, 7);
        hd_fetch_reply_buf(event.fetch, buf, 0, BLOCK);
        hd_buf_unref(buf);
    }
    return NULL;
}

/* Everything at once, both ways, until the link is lost. */
static void be_busy(struct busy *b)
{
    static void *(*const runs[])(void *) = {send_run, fetch_run, recv_run, serve_run};
    pthread_t threads[4];
    int err = hd_stream_open(b->link, "streams", NULL, &b->stream);
    if (err) {
        ended(b, "open", err);
        return;
    }
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, runs[i], b);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    hd_queue_wake(b->blocks);
    pthread_join(threads[3], NULL);
}

static int meet(hd_engine *engine, int fd, bool connects, struct hd_connect_result *result)
{
    result->size = sizeof(*result);
    return connects ? hd_connect(engine, fd, "peer:1", timeout_s() * SECOND, result)
                    : hd_accept(engine, fd, NULL, 0, timeout_s() * SECOND, result);
}

static void begin(struct busy *b)
{
    b->engine = make_engine();
    assert_ok(hd_queue_create(b->engine, &b->streams));
    assert_ok(hd_queue_create(b->engine, &b->blocks));
    assert_ok(hd_queue_create(b->engine, &b->done));
    assert_ok(hd_engine_listen(b->engine, "streams", b->streams, 0));
    assert_ok(hd_engine_listen(b->engine, "blocks", b->blocks, 0));
}

/* ---- victims: processes of their own, forked while this one has a single thread ---- */

static void victim(const struct round *round, int control, int fd)
{
    char byte;
    struct busy b = {0};
    struct hd_connect_result result = {0};
    if (read(control, &byte, 1) != 1)
        _exit(0);
    begin(&b);
    if (meet(b.engine, fd, round->victim_connects, &result) || result.outcome != HD_LINKED)
        _exit(1);
    b.link = result.link;
    be_busy(&b);
    _exit(1); /* only if the survivor was first to end it */
}

static void prepare(struct round *rounds, unsigned count, unsigned first)
{
    for (unsigned i = 0; i < count; i++) {
        struct round *r = &rounds[i];
        uint64_t random = r->seed = first + i;
        int fds[2], control[2];
        r->victim_connects = hd_random_next(&random) % 2;
        r->random = hd_random_next(&random);
        test_sockets(fds);
        assert_int_equal(pipe(control), 0);
        r->fd = fds[0];
        r->control = control[1];
        r->pid = fork();
        if (r->pid == 0) { /* what it keeps open of the others would hide their end */
            for (unsigned j = 0; j <= i; j++) {
                close(rounds[j].fd);
                close(rounds[j].control);
            }
            victim(r, control[0], fds[1]);
            _exit(1);
        }
        close(fds[1]);
        close(control[0]);
    }
}

static void start_victim(struct round *r)
{
    assert_int_equal(write(r->control, "x", 1), 1);
    close(r->control);
}

/* ---- the level before and after ---- */

/* Bytes of mappings whose names contain this. */
static size_t mapped(const char *name)
{
    char line[512];
    size_t sum = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        if (strstr(line, name) && sscanf(line, "%lx-%lx", &from, &to) == 2)
            sum += to - from;
    }
    fclose(maps);
    return sum;
}

/* Nothing of the peer is left: no link, no use of memory, no frames waiting for it, no mapping of its slabs or rings,
 * no descriptor. The link's thread gives some of it up a moment after the link is counted as gone. */
static void expect_level(hd_engine *engine, int fds)
{
    await_counter(engine, "links.now", 0);
    await_counter(engine, "streams.now", 0);
    await_counter(engine, "memory.used.now", 0);
    await_counter(engine, "memory.receive.now", 0);
    for (int64_t end = hd_now() + PATIENCE; hd_now() < end && (mapped("howdah-link") || open_descriptors() != fds);)
        usleep(500);
    assert_int_equal(mapped("howdah-link"), 0);
    expect_descriptors(fds);
    assert_in_range(counter(engine, "memory.pinned.now"), 0, LIMIT);
    assert_int_equal(mapped("howdah-slab"), counter(engine, "memory.pinned.now"));
}

static void bury(struct round *r)
{
    int status;
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(r->fd);
}

/* ---- killed in the greeting ---- */

/* Passes bytes between survivor and victim, and kills the victim behind the given number of them. */
struct proxy {
    struct round *round;
    int fds[2]; /* towards the survivor, towards the victim */
    int64_t killed;
    unsigned passed; /* bytes */
};

static bool pass(struct proxy *p, int from, unsigned *left)
{
    char bytes[512];
    ssize_t n = recv(p->fds[from], bytes, *left < sizeof(bytes) ? *left : sizeof(bytes), 0);
    if (n <= 0)
        return false;
    send(p->fds[!from], bytes, (size_t)n, MSG_NOSIGNAL);
    *left -= (unsigned)n;
    return *left > 0;
}

static void *proxy_run(void *arg)
{
    struct proxy *p = arg;
    unsigned left = p->round->limit;
    for (bool going = true; going;) {
        struct pollfd polls[2] = {{.fd = p->fds[0], .events = POLLIN}, {.fd = p->fds[1], .events = POLLIN}};
        if (poll(polls, 2, (int)timeout_s() * 125) == 0)
            break; /* the greeting is over: a link is up, and now it ends */
        for (int i = 0; i < 2 && going; i++)
            if (polls[i].revents)
                going = pass(p, i, &left);
    }
    p->passed = p->round->limit - left;
    p->killed = hd_now();
    kill(p->round->pid, SIGKILL);
    while (recv(p->fds[1], &left, sizeof(left), 0) > 0) { /* its end of the connection closes with it */
    }
    close(p->fds[0]);
    close(p->fds[1]);
    return NULL;
}

static struct {
    unsigned rounds, linked, refused;
    int64_t slowest;
} seen;

static void note_time(int64_t since)
{
    int64_t took = hd_now() - since;
    assert_true(took < timeout_s() * SECOND);
    if (took > seen.slowest)
        seen.slowest = took;
}

/* What came and was not taken any more. */
static void drain(struct busy *b)
{
    struct hd_event event;
    while (hd_queue_wait(b->streams, &event, 1, 0) == 1)
        hd_stream_close(event.stream);
    while (hd_queue_wait(b->blocks, &event, 1, 0) == 1)
        hd_fetch_reply_error(event.fetch, -EBUSY, NULL);
}

/* @return bytes that were passed in both directions together. */
static unsigned greeting_round(struct busy *b, struct round *r)
{
    struct hd_connect_result result = {0};
    struct proxy proxy = {.round = r};
    pthread_t thread;
    int fds[2];
    test_sockets(fds);
    proxy.fds[0] = fds[1];
    proxy.fds[1] = r->fd;
    start_victim(r);
    pthread_create(&thread, NULL, proxy_run, &proxy);
    int err = meet(b->engine, fds[0], !r->victim_connects, &result);
    seen.rounds++;
    if (err) {
        seen.refused++;
        assert_true(err == -ECONNRESET || err == -EOPNOTSUPP); /* the latter: no way to reach it any more */
        assert_non_null(strstr(hd_last_error(), r->victim_connects ? "client" : "peer:1"));
    } else if (result.outcome ==
               HD_FALLBACK) { /* too few bytes to be known as one of ours: the host protocol's affair */
        assert_true(r->victim_connects && r->limit < HD_MAGIC_LENGTH);
        assert_int_equal(result.unread_length, r->limit);
        seen.refused++;
    } else {
        assert_int_equal(result.outcome, HD_LINKED);
        seen.linked++;
        while (hd_link_status(result.link) == 0)
            usleep(500);
        drain(b);
        hd_link_put(result.link);
    }
    pthread_join(thread, NULL);
    note_time(proxy.killed);
    close(fds[0]);
    r->fd = -1;
    bury(r);
    return proxy.passed;
}

/* ---- killed at work ---- */

static void traffic_round(struct busy *b, struct round *r)
{
    struct hd_connect_result result = {0};
    start_victim(r);
    assert_ok(meet(b->engine, r->fd, !r->victim_connects, &result));
    assert_int_equal(result.outcome, HD_LINKED);
    b->link = result.link;
    b->victim = r->pid;
    b->limit = r->limit;
    atomic_store(&b->operations, 0);
    atomic_store(&b->killed, 0);
    snprintf(b->names, sizeof(b->names), r->victim_connects ? "(test %d on " : "peer:1 (test %d on ", (int)r->pid);
    be_busy(b);
    note_time(atomic_load(&b->killed));
    seen.rounds++;
    seen.linked++;
    assert_int_equal(hd_link_status(b->link), -ECONNRESET);
    assert_non_null(strstr(hd_last_error(), b->names));
    drain(b);
    hd_link_put(b->link);
    bury(r);
    if (atomic_load(&b->wrong))
        fail_msg("round with seed %llu", (unsigned long long)r->seed);
}

static void rounds_of(bool in_greeting)
{
    static struct round rounds[ROUNDS_MAX];
    unsigned count = from_environment("HOWDAH_TEST_KILLS", from_environment("HOWDAH_TEST_SEEDS", 12));
    unsigned first = from_environment("HOWDAH_TEST_SEED", 1);
    assert_in_range(count, 1, ROUNDS_MAX);
    struct busy b = {0};
    memset(&seen, 0, sizeof(seen));
    prepare(rounds, count, first);
    begin(&b);
    unsigned whole = 0; /* bytes of a greeting; the first one is let through and shows it */
    for (unsigned i = 0; i < count; i++) {
        int fds = open_descriptors() - 2;                              /* the round's own two go with it */
        unsigned range = in_greeting ? whole + whole / 4 : OPERATIONS; /* a few of the others get a link, too */
        rounds[i].limit = range ? 1 + (unsigned)(rounds[i].random % range) : UINT_MAX;
        if (!in_greeting)
            traffic_round(&b, &rounds[i]);
        else if (i == 0)
            whole = greeting_round(&b, &rounds[i]);
        else
            greeting_round(&b, &rounds[i]);
        expect_level(b.engine, fds);
    }
    hd_queue_destroy(b.streams);
    hd_queue_destroy(b.blocks);
    hd_queue_destroy(b.done);
    hd_engine_destroy(b.engine);
    assert_int_equal(mapped("howdah-"), 0);
    printf("kills: transport=%s rounds=%u linked=%u refused=%u slowest_ms=%.1f\n", test_transport, seen.rounds,
           seen.linked, seen.refused, (double)seen.slowest / 1e6);
}

static void killed_in_the_greeting(void **state)
{
    (void)state;
    rounds_of(true);
}

static void killed_at_work(void **state)
{
    (void)state;
    rounds_of(false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_in_the_greeting),
        cmocka_unit_test(killed_at_work),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
