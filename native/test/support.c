/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "link/link.h"

const char *test_transport = "auto";

#define AS_PEER "--as-peer"

int test_run(int argc, char **argv, const struct CMUnitTest *tests, size_t count)
{
    if (argc > 1)
        test_transport = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return crash_run(test_transport, tests, count);
}

pid_t test_fork(const struct test_peer *peer, int fd)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", fd);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (strcmp(test_transport, "udapl") != 0)
        peer->run(fd);
    /* By its path: under valgrind the program that runs is valgrind, and only reading the link names the one that is
     * tested. */
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
    if (length < 0 || length == sizeof(program))
        _exit(127);
    program[length] = '\0';
    fcntl(fd, F_SETFD, 0);
    execl(program, "peer", test_transport, AS_PEER, peer->name, number, (char *)NULL);
    _exit(127);
}

void test_peers(int argc, char **argv, const struct test_peer *peers, size_t count)
{
    if (argc != 5 || strcmp(argv[2], AS_PEER) != 0)
        return;
    test_transport = argv[1];
    crash_watch();
    for (size_t i = 0; i < count; i++)
        if (strcmp(peers[i].name, argv[3]) == 0)
            peers[i].run(atoi(argv[4]));
    _exit(127);
}

static void no_log(void *arg, enum hd_log_level level, const char *line)
{
    (void)arg, (void)level;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%s\n", line);
}

hd_engine *test_engine(const char *const *options)
{
    hd_conf *conf = hd_conf_create();
    assert_non_null(conf);
    assert_ok(hd_conf_set(conf, "hadoop.rdma.transport", test_transport, "test"));
    assert_ok(hd_conf_set(conf, "hadoop.rdma.log.level", "info", "test"));
    for (; options && *options; options++) {
        char key[128] = "hadoop.rdma.";
        const char *equals = strchr(*options, '=');
        strncat(key, *options, (size_t)(equals - *options));
        assert_ok(hd_conf_set(conf, key, equals + 1, "test"));
    }
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf, .name = "test", .log = no_log};
    hd_engine *engine;
    assert_ok(hd_engine_create(&params, &engine));
    hd_conf_destroy(conf);
    return engine;
}

void test_sockets(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fds[0], (struct sockaddr *)&address, length), 0);
    fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fds[1] >= 0);
    close(listener);
}

struct acceptor {
    hd_engine *engine;
    int fd, err;
    struct hd_connect_result *result;
};

static void *accept_run(void *arg)
{
    struct acceptor *a = arg;
    a->err = hd_accept(a->engine, a->fd, NULL, 0, PATIENCE, a->result);
    return NULL;
}

int pair_connect(hd_engine *a, hd_engine *b, int fds[2], struct hd_connect_result *client,
                 struct hd_connect_result *server)
{
    pthread_t thread;
    struct hd_connect_result ignored = {.size = sizeof(ignored)};
    client->size = sizeof(*client);
    if (server)
        server->size = sizeof(*server);
    struct acceptor acceptor = {.engine = b, .fd = fds[1], .result = server ? server : &ignored};
    assert_int_equal(pthread_create(&thread, NULL, accept_run, &acceptor), 0);
    int err = hd_connect(a, fds[0], "testhost:1", PATIENCE, client);
    pthread_join(thread, NULL);
    if (!server && ignored.link)
        hd_link_put(ignored.link);
    return err ? err : acceptor.err;
}

void pair_make(struct pair *pair, const char *const *options)
{
    memset(pair, 0, sizeof(*pair));
    pair->a = test_engine(options);
    pair->b = strcmp(test_transport, "self") == 0 ? pair->a : test_engine(options);
    assert_ok(hd_queue_create(pair->b, &pair->queue));
    assert_ok(hd_engine_listen(pair->b, "test", pair->queue, 42));
}

void pair_link(struct pair *pair)
{
    test_sockets(pair->fds);
    struct hd_connect_result client = {0}, server = {0};
    assert_ok(pair_connect(pair->a, pair->b, pair->fds, &client, &server));
    assert_int_equal(client.outcome, HD_LINKED);
    assert_int_equal(server.outcome, HD_LINKED);
    pair->client = client.link;
    pair->server = server.link;
}

void pair_open(struct pair *pair, const char *const *options)
{
    pair_make(pair, options);
    pair_link(pair);
}

void pair_close(struct pair *pair)
{
    hd_link_put(pair->client);
    hd_link_put(pair->server);
    hd_queue_destroy(pair->queue);
    hd_engine_destroy(pair->a);
    if (pair->b != pair->a)
        hd_engine_destroy(pair->b);
    close(pair->fds[0]);
    close(pair->fds[1]);
}

struct hd_event next_event(hd_queue *queue, enum hd_event_type type)
{
    struct hd_event event = {0};
    assert_ok(hd_queue_wait(queue, &event, 1, PATIENCE));
    assert_int_equal(event.type, type);
    return event;
}

void pair_stream(struct pair *pair, const struct hd_stream_params *params, hd_stream **client, hd_stream **server)
{
    assert_ok(hd_stream_open(pair->client, "test", params, client));
    struct hd_event event = next_event(pair->queue, HD_EVENT_STREAM);
    assert_int_equal(event.user, 42);
    *server = event.stream;
}

static uint64_t pattern(uint64_t seed, uint64_t word)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15ULL + word * 0xd1342543de82ef95ULL;
    return z ^ (z >> 29);
}

void fill(void *data, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = pattern(seed, i);
        memcpy((char *)data + i, &word, length - i < 8 ? length - i : 8);
    }
}

bool filled(const void *data, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = pattern(seed, i);
        if (memcmp((const char *)data + i, &word, length - i < 8 ? length - i : 8) != 0)
            return false;
    }
    return true;
}

void send_filled(hd_stream *stream, size_t length, uint64_t seed)
{
    char *data = calloc(1, length + 1); /* not malloc(): gcc does not see that fill() writes all of it */
    assert_non_null(data);
    fill(data, length, seed);
    assert_ok(hd_send(stream, data, length, PATIENCE));
    free(data);
}

void recv_filled(hd_stream *stream, size_t length, uint64_t seed)
{
    hd_buf *msg;
    int end = hd_recv(stream, &msg, PATIENCE);
    assert_ok(end);
    assert_int_equal(end, 0);
    assert_int_equal(hd_buf_length(msg), length);
    assert_true(filled(hd_buf_data(msg), length, seed));
    hd_buf_unref(msg);
}

void exchange(hd_stream *from, hd_stream *to, size_t length, uint64_t seed)
{
    send_filled(from, length, seed);
    recv_filled(to, length, seed);
}

void set_interface(const char *how)
{
    const char *interface = getenv("HOWDAH_VM_INTERFACE");
    char command[128];
    assert_non_null(interface);
    snprintf(command, sizeof(command), "ip link set %s %s", interface, how);
    assert_int_equal(system(command), 0);
}

uint64_t counter(hd_engine *engine, const char *name)
{
    uint64_t value;
    assert_ok(hd_stats_get(engine, name, &value));
    return value;
}

uint64_t timed(hd_link *link, const struct hd_times *times, size_t most)
{
    uint64_t total = 0;
    hd_link_lock(link);
    for (size_t i = 0; i <= most; i++)
        total += times->counts[i];
    hd_link_unlock(link);
    return total;
}

/* A sanitizer's, where there is one: the name of what an address lies in. */
__attribute__((weak)) void __sanitizer_symbolize_pc(void *pc, const char *format, char *name, size_t size);

/* The first report, and be it suppressed, starts a process that finds names, with a pipe each way. They shall be there
 * before anybody counts. */
static void start_symbolizer(void)
{
    static bool started;
    char name[128];
    if (!started && __sanitizer_symbolize_pc)
        __sanitizer_symbolize_pc(__builtin_return_address(0), "%f", name, sizeof(name));
    started = true;
}

int open_descriptors(void)
{
    start_symbolizer();
    int count = -1; /* the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char target[64] = "";
        if (entry->d_name[0] == '.' || readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) < 0)
            continue;
        count += !strstr(target, "howdah-slab");
    }
    closedir(folder);
    return count;
}

void expect_descriptors(int count)
{
    int found = open_descriptors();
    if (found == count)
        return;
    for (int fd = 0; fd < 4096; fd++) {
        char path[32], target[128] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof(target) - 1) > 0)
            fprintf(stderr, "descriptor %d: %s\n", fd, target);
    }
    fail_msg("%d descriptors are open, not %d", found, count);
}

unsigned from_environment(const char *name, unsigned fallback)
{
    const char *value = getenv(name);
    return value ? (unsigned)strtoul(value, NULL, 10) : fallback;
}

int test_rounds(int rounds)
{
    int divisor = (int)from_environment("HOWDAH_TEST_DIVISOR", 1);
    return divisor > 1 ? (rounds + divisor - 1) / divisor : rounds;
}

int test_rounds_least(int rounds, int least)
{
    int fewer = test_rounds(rounds);
    return fewer > least ? fewer : least;
}

void await_counter(hd_engine *engine, const char *name, uint64_t value)
{
    struct timespec pause = {.tv_nsec = 2000000};
    uint64_t seen = counter(engine, name);
    /* Read once a turn: a value that was reached may be left again, by work that is still on its way. */
    for (int i = 0; i < 5000 && seen != value; i++) {
        nanosleep(&pause, NULL);
        seen = counter(engine, name);
    }
    if (seen != value)
        fail_msg("%s is %llu, not %llu", name, (unsigned long long)seen, (unsigned long long)value);
}

int64_t context_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

#if defined(__SANITIZE_ADDRESS__)
#define STAYS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STAYS 1
#endif
#endif
#ifdef STAYS
/* libdat2 unloads a provider with its last adapter. The sanitizer then takes what the provider's variables pointed to
 * for lost, and can name nobody: so libraries stay. */
__attribute__((visibility("default"))) int dlclose(void *library);

int dlclose(void *library)
{
    (void)library;
    return 0;
}
#endif
