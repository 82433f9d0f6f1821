/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A server with many peers: what a link and a stream cost while idle, and that buffer memory stays under the limit
 * while all of them send more than fits. The peers are simulated by one process whose engine takes another identity for
 * each link; the server is as it always is.
 *
 * HOWDAH_TEST_LINKS sets their number: 500, and 10,000 in tests/rdma-vm/proofs.d. The figures that it prints are those
 * of docs/design/scaling.md.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/link.h"
#include "progress/comm.h"
#include "support.h"

#define STREAMS_PER_LINK 4
#define LIMIT            (32 << 20)
#define BIG              100000 /* bytes: by rendezvous */
#define SMALL            1000   /* inside a frame */
#define SMALL_COUNT      4
#define FDS_PER_LINK     4 /* of either side: guard, socket, two events */
#define FDS_BESIDE       200

static unsigned links_wanted(void)
{
    return from_environment("HOWDAH_TEST_LINKS", 500);
}

/* ---- the peers ---- */

struct peers {
    hd_engine *engine;
    hd_link **links;
    hd_stream **streams;
    unsigned count;
};

static int dial(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
        _exit(2);
    return fd;
}

/* Becomes somebody else, connects, and forgets whose link it is, or the next connection would share it. */
static void connect_as(struct peers *p, unsigned number, uint16_t port)
{
    struct hd_connect_result result = {.size = sizeof(result)};
    int fd = dial(port);
    memcpy(p->engine->id, &number, sizeof(number));
    if (hd_connect(p->engine, fd, "server:1", PATIENCE, &result) || result.outcome != HD_LINKED || result.shared) {
        fprintf(stderr, "peer %u: %s\n", number, hd_last_error());
        _exit(3);
    }
    memset(result.link->peer_id, 0xff, sizeof(result.link->peer_id));
    p->links[number] = result.link;
    close(fd);
}

static void open_streams(struct peers *p)
{
    for (unsigned i = 0; i < p->count * STREAMS_PER_LINK; i++)
        if (hd_stream_open(p->links[i % p->count], "test", NULL, &p->streams[i]))
            _exit(4);
}

/* Who sent it, and then bytes that follow from that and from the message's number. */
static void fill_from(char *data, size_t length, uint64_t sender, unsigned number)
{
    memcpy(data, &sender, sizeof(sender));
    fill(data + sizeof(sender), length - sizeof(sender), sender * 100 + number);
}

static bool filled_from(const char *data, size_t length, unsigned number)
{
    uint64_t sender;
    memcpy(&sender, data, sizeof(sender));
    return filled(data + sizeof(sender), length - sizeof(sender), sender * 100 + number);
}

static void send_all(struct peers *p)
{
    static char data[BIG];
    for (unsigned i = 0; i < p->count; i++) { /* one stream of each link */
        for (unsigned j = 0; j < SMALL_COUNT; j++) {
            fill_from(data, SMALL, i, j);
            if (hd_send(p->streams[i], data, SMALL, PATIENCE))
                _exit(5);
        }
        fill_from(data, BIG, i, SMALL_COUNT);
        if (hd_send(p->streams[i], data, BIG, PATIENCE))
            _exit(6);
    }
}

static void play_peers(uint16_t port, int commands, int answers)
{
    struct peers p = {.count = links_wanted()};
    p.engine = test_engine((const char *const[]){"memory.limit=1g", "link.idle.timeout=0", "poll.spin=0", NULL});
    p.links = calloc(p.count, sizeof(*p.links));
    p.streams = calloc((size_t)p.count * STREAMS_PER_LINK, sizeof(hd_stream *));
    char command;
    while (read(commands, &command, 1) == 1) {
        if (command == 'c')
            for (unsigned i = 0; i < p.count; i++)
                connect_as(&p, i, port);
        else if (command == 'o')
            open_streams(&p);
        else if (command == 's')
            send_all(&p);
        else
            break;
        if (write(answers, &command, 1) != 1)
            _exit(7);
    }
    for (unsigned i = 0; i < p.count * STREAMS_PER_LINK; i++)
        hd_stream_close(p.streams[i]);
    for (unsigned i = 0; i < p.count; i++)
        hd_link_put(p.links[i]);
    hd_engine_destroy(p.engine);
    free(p.links);
    free(p.streams);
    _exit(0);
}

/* ---- what it costs ---- */

struct cost {
    size_t heap, mapped, resident; /* bytes: malloc's; rings; of those, touched */
    int descriptors;
    int64_t cpu; /* nanoseconds used so far */
};

static size_t field(const char *line, const char *name)
{
    unsigned long kb = 0;
    size_t length = strlen(name);
    if (strncmp(line, name, length) == 0)
        sscanf(line + length, "%lu", &kb);
    return kb * 1024;
}

static struct cost measure(void)
{
    struct cost c = {0};
    struct rusage usage;
    char line[512];
    bool ring = false;
    getrusage(RUSAGE_SELF, &usage);
    c.cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
            (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    c.heap = mallinfo2().uordblks;
#endif
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        if (strchr("0123456789abcdef", line[0]))
            ring = strstr(line, "howdah-link");
        else if (ring) {
            c.mapped += field(line, "Size:");
            c.resident += field(line, "Rss:");
        }
    }
    if (maps)
        fclose(maps);
    c.descriptors = open_descriptors();
    return c;
}

static void tell(const char *what, unsigned count, const struct cost *before, const struct cost *after)
{
    printf("%s: count=%u heap=%zd ring_mapped=%zd ring_touched=%zd descriptors=%.1f cpu_us=%.1f\n", what, count,
           (ssize_t)(after->heap - before->heap) / (ssize_t)count,
           (ssize_t)(after->mapped - before->mapped) / (ssize_t)count,
           (ssize_t)(after->resident - before->resident) / (ssize_t)count,
           (double)(after->descriptors - before->descriptors) / count,
           (double)(after->cpu - before->cpu) / 1e3 / count);
}

/* ---- the server ---- */

struct server {
    hd_engine *engine;
    hd_queue *queue;
    hd_link **links;
    hd_stream **streams;
    unsigned count;
    pid_t pid;
    int listener, commands, answers;
};

static void command(struct server *s, char c)
{
    assert_int_equal(write(s->commands, &c, 1), 1);
}

static void done(struct server *s, char c)
{
    char answer = 0;
    assert_int_equal(read(s->answers, &answer, 1), 1);
    assert_int_equal(answer, c);
}

static void start(struct server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int commands[2], answers[2];
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(s->listener, 64), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(pipe(commands), 0);
    assert_int_equal(pipe(answers), 0);
    s->pid = fork();
    if (s->pid == 0) {
        close(s->listener);
        close(commands[1]);
        close(answers[0]);
        play_peers(ntohs(address.sin_port), commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    s->commands = commands[1];
    s->answers = answers[0];
    s->count = links_wanted();
    s->links = calloc(s->count, sizeof(*s->links));
    s->streams = calloc((size_t)s->count * STREAMS_PER_LINK, sizeof(hd_stream *));
    s->engine = test_engine((const char *const[]){"memory.limit=32m", "memory.slab.size=1m", "links.max=1000000",
                                                  "links.memory=1024g", "link.idle.timeout=0", "poll.spin=0",
                                                  "communication.threads=1", NULL});
    assert_ok(hd_queue_create(s->engine, &s->queue));
    assert_ok(hd_engine_listen(s->engine, "test", s->queue, 0));
}

static void accept_links(struct server *s)
{
    command(s, 'c');
    int64_t begin = 0; /* with the first of them: the peers' process needs a while to start */
    for (unsigned i = 0; i < s->count; i++) {
        struct hd_connect_result result = {.size = sizeof(result)};
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(fd >= 0);
        begin = begin ? begin : hd_now();
        assert_ok(hd_accept(s->engine, fd, NULL, 0, PATIENCE, &result));
        assert_int_equal(result.outcome, HD_LINKED);
        assert_false(result.shared);
        s->links[i] = result.link;
        close(fd); /* the guard is a descriptor of its own */
    }
    done(s, 'c');
    printf("set-up: count=%u us=%.1f\n", s->count, (double)(hd_now() - begin) / 1e3 / s->count);
    assert_int_equal(counter(s->engine, "links.now"), s->count);
}

static void accept_streams(struct server *s)
{
    command(s, 'o');
    for (unsigned i = 0; i < s->count * STREAMS_PER_LINK; i++)
        s->streams[i] = next_event(s->queue, HD_EVENT_STREAM).stream;
    done(s, 'o');
    assert_int_equal(counter(s->engine, "streams.now"), s->count * STREAMS_PER_LINK);
}

/* ---- what the links that are idle do not cost ---- */

/* Until the communication thread serves all links, and looks at each once a second. */
static void await_rest(struct server *s)
{
    for (unsigned i = 0; i < s->count;) {
        hd_link_lock(s->links[i]);
        bool rests = s->links[i]->comm.armed && !s->links[i]->comm.hurried;
        hd_link_unlock(s->links[i]);
        if (rests)
            i++;
        else
            usleep(1000);
    }
}

#define ROUNDS 200

/* A thread waits for messages on one link again and again, so the communication thread looks at that one every
 * poll.handover. It looks at the others once a second, not as often. */
static void keep_one_busy(struct server *s)
{
    struct hd_comm *comm = &s->engine->comms[0];
    hd_buf *msg;
    await_rest(s);
    uint64_t rounds = atomic_load(&comm->rounds), looks = atomic_load(&comm->links_looked_at);
    int64_t begin = hd_now();
    while (atomic_load(&comm->rounds) - rounds < ROUNDS && hd_now() - begin < PATIENCE)
        assert_int_equal(hd_recv(s->streams[0], &msg, MILLI / 10), -ETIMEDOUT);
    rounds = atomic_load(&comm->rounds) - rounds;
    looks = atomic_load(&comm->links_looked_at) - looks;
    uint64_t seconds = (uint64_t)((hd_now() - begin) / SECOND) + 2;
    printf("busy: count=%u rounds=%llu looks=%llu\n", s->count, (unsigned long long)rounds, (unsigned long long)looks);
    assert_true(rounds >= ROUNDS);
    assert_in_range(looks, rounds / 2, 2 * rounds + s->count * seconds * 8 / 7);
}

struct look {
    hd_queue *queue;
    int result;
    atomic_bool over;
};

static void *look_for_event(void *arg)
{
    struct look *look = arg;
    struct hd_event event;
    look->result = hd_queue_wait(look->queue, &event, 1, 0);
    atomic_store(&look->over, true);
    return NULL;
}

/* A wait on a queue leaves the links alone if there are too many to be polled: it ends while the locks of the first
 * ones are taken. */
static void wait_without_links(struct server *s)
{
    struct look look = {.queue = s->queue};
    unsigned held = s->count < 8 ? 0 : 8;
    pthread_t thread;
    await_rest(s);
    for (unsigned i = 0; i < held; i++)
        hd_link_lock(s->links[i]);
    assert_int_equal(pthread_create(&thread, NULL, look_for_event, &look), 0);
    for (int64_t end = hd_now() + PATIENCE; !atomic_load(&look.over) && hd_now() < end;)
        usleep(1000);
    bool over = atomic_load(&look.over);
    for (unsigned i = 0; i < held; i++)
        hd_link_unlock(s->links[i]);
    pthread_join(thread, NULL);
    assert_true(over);
    assert_int_equal(look.result, -EAGAIN);
}

/* Takes what is there of one stream. @return how many messages. */
static unsigned drain(struct server *s, hd_stream *stream, unsigned *taken, size_t *peak)
{
    unsigned count = 0;
    hd_buf *msg;
    int err;
    while ((err = hd_recv(stream, &msg, 0)) == 0) {
        assert_int_equal(hd_buf_length(msg), *taken < SMALL_COUNT ? SMALL : BIG);
        assert_true(filled_from(hd_buf_data(msg), hd_buf_length(msg), *taken));
        size_t pinned = atomic_load(&s->engine->stats->now->memory_pinned); /* counter() goes through all links */
        *peak = pinned > *peak ? pinned : *peak;
        hd_buf_unref(msg);
        ++*taken;
        count++;
    }
    assert_int_equal(err, -EAGAIN);
    return count;
}

/* All peers send at once; streams are read as they become readable. */
static void receive_all(struct server *s)
{
    unsigned *taken = calloc((size_t)s->count * STREAMS_PER_LINK, sizeof(*taken)), total = 0;
    size_t peak = 0;
    for (unsigned i = 0; i < s->count * STREAMS_PER_LINK; i++) {
        struct hd_stream_params params = {.size = sizeof(params), .queue = s->queue, .user = i};
        assert_ok(hd_stream_configure(s->streams[i], &params));
    }
    command(s, 's');
    for (unsigned i = 0; i < s->count * STREAMS_PER_LINK; i++)
        total += drain(s, s->streams[i], &taken[i], &peak); /* from now on there are events */
    while (total < s->count * (SMALL_COUNT + 1)) {
        struct hd_event event = next_event(s->queue, HD_EVENT_READABLE);
        total += drain(s, event.stream, &taken[event.user], &peak);
    }
    done(s, 's');
    assert_true(peak <= LIMIT);
    assert_int_equal(counter(s->engine, "memory.used.now"), 0);
    printf("pinned: count=%u wanted=%zu peak=%zu limit=%d refused=%llu\n", s->count, (size_t)s->count * BIG, peak,
           LIMIT, (unsigned long long)counter(s->engine, "memory.refused"));
    free(taken);
}

static void finish(struct server *s, const struct cost *before)
{
    int status;
    command(s, 'q');
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_int_equal(status, 0);
    for (unsigned i = 0; i < s->count * STREAMS_PER_LINK; i++)
        hd_stream_close(s->streams[i]);
    for (unsigned i = 0; i < s->count; i++)
        hd_link_put(s->links[i]);
    await_counter(s->engine, "links.now", 0);
    await_counter(s->engine, "streams.now", 0);
    await_counter(s->engine, "memory.used.now", 0);
    struct cost after = measure();
    for (int i = 0; i < 5000 && (after.mapped || after.descriptors != before->descriptors); i++) {
        usleep(2000);
        after = measure();
    }
    assert_int_equal(after.mapped, 0);
    expect_descriptors(before->descriptors);
    tell("left", s->count, before, &after);
    hd_queue_destroy(s->queue);
    hd_engine_destroy(s->engine);
    free(s->links);
    free(s->streams);
}

static void many_peers(void **state)
{
    (void)state;
    struct server s = {0};
    start(&s);
    struct cost empty = measure();
    accept_links(&s);
    struct cost linked = measure();
    tell("link", s.count, &empty, &linked);
    usleep(2000000);
    struct cost later = measure();
    printf("idle: count=%u cpu_us_per_s=%.1f\n", s.count, (double)(later.cpu - linked.cpu) / 2e3);
    accept_streams(&s);
    struct cost streams = measure();
    tell("stream", s.count * STREAMS_PER_LINK, &later, &streams);
    keep_one_busy(&s);
    wait_without_links(&s);
    receive_all(&s);
    struct cost used = measure();
    tell("used link", s.count, &empty, &used);
    finish(&s, &empty);
}

/* The descriptors that so many links take, or the reason why there cannot be so many. */
static bool enough_descriptors(void)
{
    struct rlimit limit;
    rlim_t need = FDS_BESIDE + (rlim_t)links_wanted() * FDS_PER_LINK;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return false;
    struct rlimit more = {.rlim_cur = need > limit.rlim_cur ? need : limit.rlim_cur,
                          .rlim_max = need > limit.rlim_max ? need : limit.rlim_max}; /* the system's user may */
    if (setrlimit(RLIMIT_NOFILE, &more) == 0)
        return true;
    printf("skipped: %u links need %llu descriptors, this machine allows %llu\n", links_wanted(),
           (unsigned long long)need, (unsigned long long)limit.rlim_max);
    return false;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_peers)};
    if (!enough_descriptors())
        return 77;
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
