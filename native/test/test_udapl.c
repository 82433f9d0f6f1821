/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What only the uDAPL transport has to do. The refusals need libdat2 and no adapter (`test_udapl refusals`); the rest
 * runs in the virtual machine of ci/rdma-vm. libdat2 reads its configuration once in a process, so every refusal has
 * its own.
 */

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/context.h"
#include "support.h"
#include "transport/udapl/udapl.h"

/* ---- refusals ---- */

struct refusal {
    const char *file;     /* contents of dat.conf, NULL: there is none */
    const char *provider; /* or NULL */
    const char *words;    /* that the refusal must have */
};

#define LINE(name, library) name " u2.0 nonthreadsafe default " library " dapl.2.0 \"none 0\" \"\"\n"

static int write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    return !file || fputs(text, file) < 0 || fclose(file);
}

/* Whether an engine that takes what there is says the same of udapl. */
static bool told_by_auto(hd_conf *conf, const char *words)
{
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    const char *name, *why = "";
    hd_engine *engine;
    hd_conf_set(conf, "hadoop.rdma.transport", "auto", "test");
    if (hd_engine_create(&params, &engine))
        return false;
    for (size_t i = 0; (name = hd_engine_transport(engine, i, &why)); i++)
        if (strcmp(name, "udapl") == 0)
            break;
    bool told = name && strstr(why, words);
    if (!told)
        fprintf(stderr, "of %s: \"%s\" does not say \"%s\"\n", name ? name : "nothing", why, words);
    hd_engine_destroy(engine);
    return told;
}

/* In a process of its own. @return 0: refused in those words. */
static int refuse(const struct refusal *refusal, const char *path)
{
    hd_conf *conf = hd_conf_create();
    hd_engine *engine;
    if (refusal->file && write_file(path, refusal->file))
        return 1;
    setenv("DAT_OVERRIDE", path, 1);
    hd_conf_set(conf, "hadoop.rdma.transport", "udapl", "test");
    if (refusal->provider)
        hd_conf_set(conf, "hadoop.rdma.udapl.provider", refusal->provider, "test");
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    int err = hd_engine_create(&params, &engine);
    if (err == -EINVAL && strstr(hd_last_error(), refusal->words))
        return told_by_auto(conf, refusal->words) ? 0 : 3;
    fprintf(stderr, "%d \"%s\" does not say \"%s\"\n", err, err ? hd_last_error() : "", refusal->words);
    return 2;
}

static void refusals_say_what_to_do(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {NULL, NULL, "set DAT_OVERRIDE to a dat.conf"},
        {"# nothing\n", NULL, "lists no provider; add a line"},
        {LINE("one", "libdaplnone.so.2"), "two", "does not list the provider two; its first is one; correct"},
        {LINE("one", "libdaplnone.so.2"), "one", "uDAPL one: dat_ia_openv: DAT_PROVIDER_NOT_FOUND"},
    };
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        char path[] = "/tmp/howdah-dat-XXXXXX";
        int status = -1, fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        unlink(path);
        pid_t pid = fork();
        if (pid == 0)
            _exit(refuse(&refusals[i], path));
        waitpid(pid, &status, 0);
        unlink(path);
        assert_int_equal(status, 0);
    }
}

/* Every command would pay for it. */
static void nothing_is_loaded_in_vain(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        char line[512];
        unsetenv("DAT_OVERRIDE");
        test_transport = "auto";
        hd_engine *engine = test_engine(NULL);
        FILE *maps = fopen("/proc/self/maps", "r");
        bool adapter = access("/sys/class/infiniband", F_OK) == 0, loaded = false;
        while (maps && fgets(line, sizeof(line), maps))
            loaded = loaded || strstr(line, "/libdat2") || strstr(line, "/libibverbs");
        hd_engine_destroy(engine);
        _exit(loaded && !adapter);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

/* ---- with an adapter ---- */

static void exchange_over(const char *const *options, const char *counted)
{
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, options);
    assert_string_equal(hd_link_transport(pair.client), "udapl");
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 100000, 1);
    await_counter(pair.a, counted, 1);
    exchange(server, client, 10, 2);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void a_provider_by_name(void **state)
{
    (void)state;
    char option[96];
    assert_non_null(getenv("HOWDAH_VM_PROVIDER"));
    snprintf(option, sizeof(option), "udapl.provider=%s", getenv("HOWDAH_VM_PROVIDER"));
    exchange_over((const char *const[]){option, NULL}, "messages.read");
}

/* The threads of the provider stay, also when the last engine is gone; a child has none of them. */
static void a_child_without_the_threads_is_refused(void **state)
{
    (void)state;
    int status = -1;
    exchange_over(NULL, "messages.read");
    pid_t pid = fork();
    if (pid == 0) {
        hd_conf *conf = hd_conf_create();
        hd_engine *engine;
        hd_conf_set(conf, "hadoop.rdma.transport", "udapl", "test");
        struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
        int err = hd_engine_create(&params, &engine);
        _exit(err != 0 && strstr(hd_last_error(), "forked from one that has used a provider") ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

/* DAPL's threads may still be in its code when it says that they ended (and nobody knows when they left it). */
static void the_provider_stays_loaded(void **state)
{
    (void)state;
    exchange_over(NULL, "messages.read");
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        found = found || strstr(line, "libdaplofa");
    fclose(maps);
    assert_true(found);
}

static void the_three_protocols(void **state)
{
    (void)state;
    exchange_over((const char *const[]){"rendezvous.protocol=write", NULL}, "messages.write");
    exchange_over((const char *const[]){"rendezvous.protocol=auto", NULL}, "messages.write");
    exchange_over((const char *const[]){"rendezvous.protocol=auto", "rendezvous.write.max=64k", NULL}, "messages.read");
    exchange_over((const char *const[]){"rendezvous.protocol=copy", NULL}, "messages.copy");
    exchange_over((const char *const[]){"udapl.remote.access=false", NULL}, "messages.copy");
    exchange_over((const char *const[]){"udapl.remote.access=false", "rendezvous.protocol=write", NULL},
                  "messages.copy");
}

/* The other direction of test_death: the one that dies is the one that connected. */
static void victim(int fd)
{
    hd_engine *engine = test_engine(NULL);
    struct hd_connect_result result = {.size = sizeof(result)};
    hd_stream *stream;
    static char data[200000];
    if (hd_connect(engine, fd, "survivor:1", PATIENCE, &result) || hd_stream_open(result.link, "test", NULL, &stream))
        _exit(1);
    for (size_t i = 1;; i = i * 7 % 199999)
        if (hd_send(stream, data, i, HD_FOREVER))
            _exit(1);
}

static const struct test_peer dying_client = {"victim", victim};

static void a_killed_client_ends_its_link(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        int fds[2], status, err, killer = 10 + 20 * round;
        hd_queue *queue;
        hd_buf *msg;
        test_sockets(fds);
        pid_t pid = test_fork(&dying_client, fds[0]);
        close(fds[0]);
        hd_engine *engine = test_engine(NULL);
        assert_ok(hd_queue_create(engine, &queue));
        assert_ok(hd_engine_listen(engine, "test", queue, 0));
        struct hd_connect_result result = {.size = sizeof(result)};
        assert_ok(hd_accept(engine, fds[1], NULL, 0, PATIENCE, &result));
        struct hd_event event = next_event(queue, HD_EVENT_STREAM);
        while ((err = hd_recv(event.stream, &msg, PATIENCE)) == 0) {
            hd_buf_unref(msg);
            if (killer-- == 0)
                kill(pid, SIGKILL);
        }
        assert_int_equal(err, -ECONNRESET);
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
        hd_stream_close(event.stream);
        await_counter(engine, "links.now", 0);
        await_counter(engine, "memory.used.now", 0);
        hd_link_put(result.link);
        hd_queue_destroy(queue);
        hd_engine_destroy(engine);
        close(fds[1]);
    }
}

/* Nobody waits on the link: nothing wakes up but for the engine's look once a second. A bound far from both sides:
 * whoever polled, even once a millisecond, would be counted in thousands. */
static void an_idle_link_sleeps(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 100, 1);
    assert_int_equal(hd_recv(client, &msg, SECOND), -ETIMEDOUT); /* it settles */
    int64_t before = context_switches();
    sleep(3);
    int64_t after = context_switches();
    if (after - before > 500)
        fail_msg("%lld context switches in three idle seconds", (long long)(after - before));
    exchange(client, server, 100, 2);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static pthread_mutex_t *reaction_of(hd_engine *engine)
{
    return &((struct udapl_device *)engine->devices[0]->data)->eps_lock;
}

/* The engines get to react only once the port is up again: the management queue pair of Soft-RoCE breaks by whatever it
 * sends while the port is down, as the farewell of a connection, and nobody on this host could connect any more. */
static void a_port_that_goes_down_ends_idle_links(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 10, 1);
    pthread_mutex_lock(reaction_of(pair.a));
    pthread_mutex_lock(reaction_of(pair.b));
    set_interface("down");
    set_interface("up");
    pthread_mutex_unlock(reaction_of(pair.a));
    pthread_mutex_unlock(reaction_of(pair.b));
    assert_int_equal(hd_recv(client, &msg, PATIENCE), -ECONNRESET);
    const char *words = hd_last_error();
    if (!strstr(words, "adapter rxe0: its port went down"))
        fail_msg("\"%s\" does not say that the port went down", words);
    await_counter(pair.a, "links.now", 0); /* DAPL tells the first of the engines in a process; the other one follows */
    await_counter(pair.b, "links.now", 0);
    hd_stream_close(client);
    hd_stream_close(server);
    struct hd_connect_result ends[2] = {{0}};
    int fds[2];
    usleep(500000); /* the address comes back */
    test_sockets(fds);
    assert_ok(pair_connect(pair.a, pair.b, fds, &ends[0], &ends[1]));
    hd_link_put(ends[0].link);
    hd_link_put(ends[1].link);
    close(fds[0]);
    close(fds[1]);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest refusals[] = {cmocka_unit_test(refusals_say_what_to_do),
                                          cmocka_unit_test(nothing_is_loaded_in_vain)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_what_to_do), /* before anything loads libdat2 here */
        cmocka_unit_test(a_provider_by_name),
        cmocka_unit_test(the_provider_stays_loaded),
        cmocka_unit_test(a_child_without_the_threads_is_refused),
        cmocka_unit_test(the_three_protocols),
        cmocka_unit_test(a_killed_client_ends_its_link),
        cmocka_unit_test(an_idle_link_sleeps),
        cmocka_unit_test(a_port_that_goes_down_ends_idle_links),
    };
    test_peers(argc, argv, &dying_client, 1);
    if (argc > 1 && strcmp(argv[1], "refusals") == 0)
        return test_run(argc, argv, refusals, 2);
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
