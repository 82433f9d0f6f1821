/* SPDX-License-Identifier: Apache-2.0 */

/* Random traffic under injected faults. Whatever goes wrong: what is delivered is right, in order and once; every call
 * returns; when the engines are done, no memory is left in use. HOWDAH_TEST_SEEDS sets the number of schedules of each
 * kind (12), HOWDAH_TEST_SEED the first one's seed (1). Each kind ends with a line that says what was injected and what
 * became of the traffic. */

#include <errno.h>
#include <unistd.h>

#include "link/link.h"
#include "support.h"

enum { STREAMS = 3, MESSAGES = 60, FETCHES = 20 };

#define KINDS 7

static const struct {
    const char *name;
    bool breaks;      /* the link may end by it */
    double low, high; /* rates that mixed schedules draw from */
} kinds[KINDS] = {
    {"drop", true, 0.0005, 0.01},   {"delay", false, 0.002, 0.05}, {"duplicate", false, 0.05, 0.5},
    {"register", false, 0.05, 0.6}, {"error", true, 0.005, 0.1},   {"corrupt", true, 0.0005, 0.01},
    {"slow", false, 0.01, 0.3},
};

/* What the schedules of one kind did; the words of its line. */
struct tally {
    unsigned schedules, quiet, lost; /* quiet: nothing was injected; lost: the link ended by a fault */
    unsigned long messages, bytes, streams_whole, streams_cut, fetches, fetches_cut;
    unsigned long injected[KINDS];
};

static struct tally tally;

#define TALLY(field, n) __atomic_add_fetch(&tally.field, (n), __ATOMIC_RELAXED)

struct traffic {
    struct pair pair;
    uint64_t seed;
    bool may_fail;
    hd_queue *blocks, *done;
    pthread_t threads[2 * STREAMS + 2];
    int thread_count;
    int wrong; /* data that differs, order that changed, calls that hung */
};

struct role {
    struct traffic *traffic;
    hd_stream *stream;
    int index;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15ULL + b + 1;
    z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9ULL;
    return z ^ (z >> 29);
}

static size_t size_of(uint64_t seed, int stream, int message)
{
    uint64_t r = mix(seed, (uint64_t)(stream * 1000 + message));
    return r % 8 == 0 ? (size_t)(r >> 8) % 300000 : (size_t)(r >> 8) % 3000;
}

/* An error is allowed when faults break links; a timeout never is. */
static void judge(struct traffic *t, int err, const char *what)
{
    bool fine = err >= 0 || (t->may_fail && (err == -ECONNRESET || err == -EPROTO || err == -ESHUTDOWN));
    if (fine)
        return;
    fprintf(stderr, "seed %llu: %s: %d %s\n", (unsigned long long)t->seed, what, err, hd_last_error());
    __atomic_store_n(&t->wrong, 1, __ATOMIC_RELAXED);
}

static void *send_role(void *arg)
{
    struct role *role = arg;
    struct traffic *t = role->traffic;
    char *data = malloc(300000);
    int err = 0;
    for (int i = 0; i < MESSAGES && err >= 0; i++) {
        size_t length = size_of(t->seed, role->index, i);
        fill(data, length, mix(t->seed, (uint64_t)(role->index * 1000 + i)));
        err = hd_send(role->stream, data, length, PATIENCE);
        judge(t, err, "send");
    }
    if (err >= 0)
        hd_stream_finish(role->stream);
    free(data);
    hd_buf *msg;
    if (err >= 0) /* stays until the other side is done */
        judge(t, hd_recv(role->stream, &msg, PATIENCE), "end");
    hd_stream_close(role->stream);
    free(role);
    return NULL;
}

static void *recv_role(void *arg)
{
    struct role *role = arg;
    struct traffic *t = role->traffic;
    hd_buf *msg;
    int err, i = 0;
    while ((err = hd_recv(role->stream, &msg, PATIENCE)) == 0) {
        size_t length = size_of(t->seed, role->index, i);
        bool right = hd_buf_length(msg) == length &&
                     filled(hd_buf_data(msg), length, mix(t->seed, (uint64_t)(role->index * 1000 + i)));
        hd_buf_unref(msg);
        i++;
        if (!right) {
            judge(t, -EBADMSG, "contents");
            break;
        }
        TALLY(messages, 1);
        TALLY(bytes, length);
    }
    judge(t, err, "recv");
    if (err == 1)
        TALLY(streams_whole, 1);
    else
        TALLY(streams_cut, 1);
    if (err == 1 && i != MESSAGES)
        judge(t, -ENODATA, "messages are missing before the end");
    hd_stream_close(role->stream);
    free(role);
    return NULL;
}

static void *block_server(void *arg)
{
    struct traffic *t = arg;
    struct hd_event event;
    int n;
    while ((n = hd_queue_wait(t->blocks, &event, 1, PATIENCE)) == 1) {
        size_t length, size;
        uint64_t offset, wanted;
        hd_buf *buf;
        hd_fetch_range(event.fetch, &offset, &wanted);
        memcpy(&size, hd_fetch_name(event.fetch, &length), sizeof(size));
        assert_ok(hd_buf_alloc(t->pair.b, size + 1, &buf));
        fill(hd_buf_data(buf), size, size);
        hd_fetch_reply_buf(event.fetch, buf, 0, size);
        hd_buf_unref(buf);
    }
    return NULL;
}

static void *block_client(void *arg)
{
    struct traffic *t = arg;
    int started = 0;
    for (int i = 0; i < FETCHES; i++) {
        size_t size = size_of(t->seed, 77, i);
        struct hd_fetch_params params = {.size = sizeof(params),
                                         .name = &size,
                                         .name_length = sizeof(size),
                                         .length = HD_FETCH_ALL,
                                         .queue = t->done,
                                         .user = size};
        hd_fetch *fetch;
        int err = hd_fetch_start(t->pair.client, "blocks", &params, &fetch);
        judge(t, err, "fetch");
        started += err == 0;
    }
    struct hd_event event;
    for (int i = 0; i < started; i++) {
        int n = hd_queue_wait(t->done, &event, 1, PATIENCE);
        if (n != 1) {
            judge(t, -ETIMEDOUT, "a fetch never ended");
            return NULL;
        }
        judge(t, event.status, "fetched");
        if (event.status)
            TALLY(fetches_cut, 1);
        else
            TALLY(fetches, 1);
        hd_buf *data = event.status ? NULL : hd_fetch_data(event.fetch);
        if (data && (hd_buf_length(data) != event.user || !filled(hd_buf_data(data), event.user, event.user)))
            judge(t, -EBADMSG, "contents of a block");
        hd_fetch_release(event.fetch);
    }
    if (hd_queue_wait(t->done, &event, 1, 0) == 1)
        judge(t, -EEXIST, "a fetch ended twice");
    return NULL;
}

static void launch(struct traffic *t, void *(*run)(void *), void *arg)
{
    pthread_create(&t->threads[t->thread_count++], NULL, run, arg);
}

static struct role *role(struct traffic *t, hd_stream *stream, int index)
{
    struct role *r = malloc(sizeof(*r));
    *r = (struct role){t, stream, index};
    return r;
}

/* The next stream that arrives, unless the link is lost first. */
static int accept_one(struct traffic *t, struct hd_event *event)
{
    for (;;) {
        bool up = hd_link_status(t->pair.client) == 0 && hd_link_status(t->pair.server) == 0;
        int n = hd_queue_wait(t->pair.queue, event, 1, 50 * MILLI);
        if (n == 1 || !up)
            return n;
    }
}

static void open_streams(struct traffic *t)
{
    struct hd_stream_params params = {.size = sizeof(params), .protocol = (enum hd_protocol)(mix(t->seed, 5) % 4)};
    for (int i = 0; i < STREAMS; i++) {
        hd_stream *client;
        struct hd_event event;
        int err = hd_stream_open(t->pair.client, "test", &params, &client);
        judge(t, err, "open");
        if (err)
            return;
        launch(t, send_role, role(t, client, i));
        int n = accept_one(t, &event);
        if (n == 1)
            launch(t, recv_role, role(t, event.stream, i));
        else
            judge(t, t->may_fail ? 0 : n, "accept");
    }
}

/* Adds what both engines injected. */
static void count_faults(struct traffic *t)
{
    unsigned long sum = 0;
    for (int i = 0; i < KINDS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "faults.%s", kinds[i].name);
        unsigned long n = counter(t->pair.a, name) + (t->pair.b == t->pair.a ? 0 : counter(t->pair.b, name));
        tally.injected[i] += n;
        sum += n;
    }
    tally.schedules++;
    tally.quiet += sum == 0;
    tally.lost += hd_link_status(t->pair.client) != 0 || hd_link_status(t->pair.server) != 0;
}

static void run_traffic(uint64_t seed, bool may_fail, const char *const *options)
{
    struct traffic t = {.seed = seed, .may_fail = may_fail};
    pair_open(&t.pair, options);
    assert_ok(hd_queue_create(t.pair.b, &t.blocks));
    assert_ok(hd_queue_create(t.pair.a, &t.done));
    assert_ok(hd_engine_listen(t.pair.b, "blocks", t.blocks, 0));
    launch(&t, block_server, &t);
    launch(&t, block_client, &t);
    open_streams(&t);
    for (int i = 1; i < t.thread_count; i++)
        pthread_join(t.threads[i], NULL);
    hd_queue_wake(t.blocks);
    pthread_join(t.threads[0], NULL);
    struct hd_event event; /* what came too late to be accepted */
    while (hd_queue_wait(t.pair.queue, &event, 1, 0) == 1)
        hd_stream_close(event.stream);
    hd_queue_destroy(t.blocks);
    hd_queue_destroy(t.done);
    await_counter(t.pair.a, "memory.used.now", 0);
    await_counter(t.pair.b, "memory.used.now", 0);
    count_faults(&t);
    pair_close(&t.pair);
    if (t.wrong)
        fail_msg("schedule with seed %llu", (unsigned long long)seed);
}

/* One line of name=value. With enough schedules, a kind that never struck would make the rest prove nothing. */
static void tell(const char *test, const bool *wanted)
{
    printf("faults: transport=%s test=%s schedules=%u quiet=%u lost=%u", test_transport, test, tally.schedules,
           tally.quiet, tally.lost);
    for (int i = 0; i < KINDS; i++)
        printf(" %s=%lu", kinds[i].name, tally.injected[i]);
    printf(" messages=%lu bytes=%lu streams_whole=%lu streams_cut=%lu fetches=%lu fetches_cut=%lu\n", tally.messages,
           tally.bytes, tally.streams_whole, tally.streams_cut, tally.fetches, tally.fetches_cut);
    for (int i = 0; i < KINDS; i++)
        if (wanted[i] && tally.schedules >= 100 && tally.injected[i] == 0)
            fail_msg("%u schedules, and not one fault of the kind %s", tally.schedules, kinds[i].name);
    memset(&tally, 0, sizeof(tally));
}

#define OPTIONS_MAX 20

/* Schedules with fixed rates; only their seeds differ. */
static void schedules(const char *test, const char *const *faults)
{
    unsigned first = from_environment("HOWDAH_TEST_SEED", 1), count = from_environment("HOWDAH_TEST_SEEDS", 12);
    bool wanted[KINDS] = {false}, may_fail = false;
    for (unsigned seed = first; seed < first + count; seed++) {
        char text[32];
        const char *options[OPTIONS_MAX] = {text, "chunk.size=64k", "memory.slab.size=1m"};
        snprintf(text, sizeof(text), "fault.seed=%u", seed);
        for (int i = 0; faults[i]; i++) {
            options[3 + i] = faults[i];
            for (int k = 0; k < KINDS; k++)
                if (strncmp(faults[i] + 6, kinds[k].name, strlen(kinds[k].name)) == 0) {
                    wanted[k] = true;
                    may_fail |= kinds[k].breaks;
                }
        }
        run_traffic(seed, may_fail, options);
    }
    tell(test, wanted);
}

static double unit(uint64_t *random)
{
    return (double)(hd_random_next(random) >> 11) * 0x1p-53;
}

/* A schedule of which everything follows from the seed: the kinds of faults, their rates, and limits of the link. */
static void run_mixed(unsigned seed)
{
    uint64_t random = seed;
    char text[OPTIONS_MAX][48];
    const char *options[OPTIONS_MAX + 1] = {NULL};
    int n = 0;
    bool may_fail = false;
    unsigned chosen = (unsigned)(hd_random_next(&random) % ((1U << KINDS) - 1)) + 1;
#define OPTION(...) (snprintf(text[n], sizeof(text[n]), __VA_ARGS__), options[n] = text[n], n++)
    OPTION("fault.seed=%u", seed);
    for (int k = 0; k < KINDS; k++) {
        double rate = kinds[k].low + unit(&random) * unit(&random) * (kinds[k].high - kinds[k].low);
        if (!(chosen & 1U << k))
            continue;
        OPTION("fault.%s.rate=%.6f", kinds[k].name, rate);
        may_fail |= kinds[k].breaks;
    }
    OPTION("fault.delay.time=%uus", 50 + (unsigned)(hd_random_next(&random) % 500));
    OPTION("frame.checksum=%s", chosen & 1U << 5 || hd_random_next(&random) % 4 == 0 ? "true" : "false");
    OPTION("chunk.size=%uk", 4U << hd_random_next(&random) % 6);
    OPTION("chunk.depth=%u", 1 + (unsigned)(hd_random_next(&random) % 8));
    OPTION("link.credits=%u", 16U << hd_random_next(&random) % 3);
    OPTION("stream.window=%uk", 8U << hd_random_next(&random) % 8);
    OPTION("memory.slab.size=1m");
#undef OPTION
    run_traffic(seed, may_fail, options);
}

static void late_doubled_and_refused(void **state)
{
    (void)state;
    schedules(__func__,
              (const char *const[]){"fault.delay.rate=0.02", "fault.delay.time=300us", "fault.duplicate.rate=0.3",
                                    "fault.slow.rate=0.1", "fault.register.rate=0.3", NULL});
}

static void lost_links(void **state)
{
    (void)state;
    schedules(__func__,
              (const char *const[]){"fault.drop.rate=0.004", "fault.delay.rate=0.01", "fault.delay.time=300us", NULL});
}

static void failing_transfers(void **state)
{
    (void)state;
    schedules(__func__, (const char *const[]){"fault.error.rate=0.05", "fault.duplicate.rate=0.3", NULL});
}

static void damaged_frames(void **state)
{
    (void)state;
    schedules(__func__, (const char *const[]){"fault.corrupt.rate=0.005", "frame.checksum=true", NULL});
}

static void mixed_faults(void **state)
{
    (void)state;
    unsigned first = from_environment("HOWDAH_TEST_SEED", 1), count = from_environment("HOWDAH_TEST_SEEDS", 12);
    bool all[KINDS];
    memset(all, true, sizeof(all));
    for (unsigned seed = first; seed < first + count; seed++)
        run_mixed(seed);
    tell(__func__, all);
}

static void *send_large(void *arg)
{
    static char data[100000];
    return (void *)(intptr_t)hd_send(arg, data, sizeof(data), PATIENCE);
}

/* A link that ends while a large message waits to be announced: the sender learns of it at once, and the transfer is
 * given up once. */
static void a_refused_announcement_ends_with_its_link(void **state)
{
    (void)state;
    for (int round = 0, rounds = test_rounds_least(10, 3); round < rounds; round++) {
        struct pair pair;
        hd_stream *client, *server;
        pthread_t thread;
        void *result;
        pair_open(&pair, (const char *const[]){"fault.slow.rate=0.000001", NULL});
        pair_stream(&pair, NULL, &client, &server);
        hd_link_lock(pair.client);
        pair.a->conf.fault_slow_rate = 1; /* from now on nothing gets out */
        hd_link_unlock(pair.client);
        pthread_create(&thread, NULL, send_large, client);
        while (counter(pair.a, "faults.slow") < 10)
            usleep(100);
        hd_link_close(pair.client);
        pthread_join(thread, &result);
        assert_int_equal((intptr_t)result, -ESHUTDOWN);
        hd_stream_close(client);
        hd_stream_close(server);
        await_counter(pair.a, "memory.used.now", 0);
        pair_close(&pair);
    }
}

static void *close_link(void *arg)
{
    hd_link_close(arg);
    return NULL;
}

/* A call that ends a link waits for copies, without the link's lock. Transfers stay until streams were told. */
static void transfers_stay_until_their_streams_are_told(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    hd_link *link = pair.client;
    hd_lock(&link->lock);
    link->rndv.copying++;
    hd_unlock(&link->lock);
    pthread_create(&thread, NULL, close_link, link);
    for (hd_lock(&link->lock); link->state != HD_LINK_DOWN; hd_lock(&link->lock)) {
        hd_unlock(&link->lock);
        usleep(100);
    }
    link->rndv.copying--; /* as the copying call does; the communication thread comes first */
    bool gone = hd_link_reap(link);
    hd_unlock(&link->lock);
    assert_false(gone);
    pthread_join(thread, NULL);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void faults_are_counted(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"fault.drop.rate=1", NULL});
    assert_ok(hd_stream_open(pair.client, "test", NULL, &client));
    (void)server;
    hd_buf *msg;
    assert_int_equal(hd_recv(client, &msg, PATIENCE), -ECONNRESET);
    assert_non_null(strstr(hd_last_error(), "injected"));
    assert_true(counter(pair.a, "faults.drop") > 0);
    assert_int_equal(counter(pair.a, "faults.injected"), counter(pair.a, "faults.drop"));
    assert_int_equal(counter(pair.a, "links.failed") > 0, 1);
    hd_stream_close(client);
    pair_close(&pair);
}

/* Only the sender's memory is unknown to its adapter: it must not agree to write from it. */
static void unregistered_memory_is_copied(void **state)
{
    (void)state;
    struct pair pair = {0};
    hd_stream *client, *server;
    if (strcmp(test_transport, "self") == 0)
        skip(); /* both ends have the same memory */
    pair.a = test_engine((const char *const[]){"fault.register.rate=1", "rendezvous.protocol=write", NULL});
    pair.b = test_engine(NULL);
    assert_ok(hd_queue_create(pair.b, &pair.queue));
    assert_ok(hd_engine_listen(pair.b, "test", pair.queue, 42));
    test_sockets(pair.fds);
    struct hd_connect_result ends[2] = {{0}};
    assert_ok(pair_connect(pair.a, pair.b, pair.fds, &ends[0], &ends[1]));
    pair.client = ends[0].link;
    pair.server = ends[1].link;
    pair_stream(&pair, NULL, &client, &server);
    static char data[200000];
    hd_buf *msg;
    fill(data, sizeof(data), 1);
    assert_ok(hd_send(client, data, sizeof(data), PATIENCE));
    assert_int_equal(hd_recv(server, &msg, PATIENCE), 0);
    assert_true(filled(hd_buf_data(msg), sizeof(data), 1));
    hd_buf_unref(msg);
    await_counter(pair.a, "messages.copy", 1);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_doubled_and_refused),
        cmocka_unit_test(lost_links),
        cmocka_unit_test(failing_transfers),
        cmocka_unit_test(damaged_frames),
        cmocka_unit_test(mixed_faults),
        cmocka_unit_test(faults_are_counted),
        cmocka_unit_test(a_refused_announcement_ends_with_its_link),
        cmocka_unit_test(transfers_stay_until_their_streams_are_told),
        cmocka_unit_test(unregistered_memory_is_copied),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
