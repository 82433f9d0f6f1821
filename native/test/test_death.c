/* SPDX-License-Identifier: Apache-2.0 */

/* Peers that die without a word: one side runs in a process of its own and is killed at a random moment. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define STATS_DIR "HOWDAH_STATS_DIR"

static void *accept_link(void *arg)
{
    struct {
        hd_engine *engine;
        int fd;
        struct hd_connect_result result;
    } *a = arg;
    a->result.size = sizeof(a->result);
    assert_ok(hd_accept(a->engine, a->fd, NULL, 0, PATIENCE, &a->result));
    return NULL;
}

/* The victim: serves or asks for data as fast as it can, until it is killed. */
static void be_victim(int fd, bool serves)
{
    hd_engine *engine = test_engine(NULL);
    struct {
        hd_engine *engine;
        int fd;
        struct hd_connect_result result;
    } a = {.engine = engine, .fd = fd};
    hd_queue *queue;
    if (hd_queue_create(engine, &queue) || hd_engine_listen(engine, "test", queue, 0))
        _exit(1);
    accept_link(&a);
    hd_stream *stream;
    static char data[400000];
    if (!serves) {
        if (hd_stream_open(a.result.link, "test", NULL, &stream))
            _exit(1);
        for (size_t i = 1;; i = i * 7 % 399989)
            if (hd_send(stream, data, i, HD_FOREVER))
                _exit(1);
    }
    for (;;) {
        struct hd_event event;
        hd_buf *buf;
        if (hd_queue_wait(queue, &event, 1, HD_FOREVER) != 1)
            _exit(1);
        if (event.type == HD_EVENT_STREAM)
            hd_stream_close(event.stream);
        if (event.type != HD_EVENT_FETCH)
            continue;
        if (hd_buf_alloc(engine, sizeof(data), &buf))
            _exit(1);
        hd_fetch_reply_buf(event.fetch, buf, 0, sizeof(data));
        hd_buf_unref(buf);
    }
}

static void serve(int fd)
{
    be_victim(fd, true);
}

static void ask(int fd)
{
    be_victim(fd, false);
}

/* An engine with its counter file in the folder that the environment names: a peer may be another program. */
static hd_engine *counting_engine(void)
{
    char option[256];
    snprintf(option, sizeof(option), "stats.dir=%s", getenv(STATS_DIR));
    const char *options[] = {option, NULL};
    return test_engine(options);
}

/* Its counter file and nothing more. */
static void count(int fd)
{
    hd_engine *engine = counting_engine();
    const char *path = hd_stats_path(engine);
    if (write(fd, path, strlen(path) + 1) < 0)
        _exit(1);
    pause();
    _exit(1);
}

/* One message and its answer, as a command; then the process ends, whatever is open. */
static void visit(int fd)
{
    hd_engine *engine = test_engine(NULL);
    struct hd_connect_result result = {.size = sizeof(result)};
    hd_stream *stream;
    hd_buf *msg;
    if (hd_connect(engine, fd, "server:1", PATIENCE, &result) || hd_stream_open(result.link, "test", NULL, &stream) ||
        hd_send(stream, "x", 1, PATIENCE) || hd_recv(stream, &msg, PATIENCE))
        _exit(1);
    _exit(0);
}

/* The same, by one that puts everything away. */
static void visit_politely(int fd)
{
    hd_engine *engine = test_engine(NULL);
    struct hd_connect_result result = {.size = sizeof(result)};
    hd_stream *stream;
    hd_buf *msg;
    if (hd_connect(engine, fd, "server:1", PATIENCE, &result) || hd_stream_open(result.link, "test", NULL, &stream) ||
        hd_send(stream, "x", 1, PATIENCE) || hd_recv(stream, &msg, PATIENCE))
        _exit(1);
    hd_buf_unref(msg);
    hd_stream_close(stream);
    hd_link_put(result.link);
    hd_engine_destroy(engine);
    _exit(0);
}

static const struct test_peer server = {"serve", serve}, client = {"ask", ask}, counter_file = {"count", count},
                              visitor = {"visit", visit}, polite = {"visit_politely", visit_politely};

static pid_t start_victim(int fd, const struct test_peer *peer)
{
    pid_t pid = test_fork(peer, fd);
    close(fd);
    return pid;
}

static hd_engine *survivor(int fd, hd_queue **queue, hd_link **link)
{
    hd_engine *engine = test_engine(NULL);
    assert_ok(hd_queue_create(engine, queue));
    assert_ok(hd_engine_listen(engine, "test", *queue, 0));
    struct hd_connect_result result = {.size = sizeof(result)};
    assert_ok(hd_connect(engine, fd, "victim:1", PATIENCE, &result));
    assert_int_equal(result.outcome, HD_LINKED);
    *link = result.link;
    return engine;
}

static void bury(hd_engine *engine, hd_queue *queue, hd_link *link, pid_t pid, int fd)
{
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(hd_link_status(link), -ECONNRESET);
    assert_non_null(strstr(hd_last_error(), "victim:1"));
    await_counter(engine, "links.now", 0);
    assert_int_equal(counter(engine, "links.ended") + counter(engine, "links.failed"), 1);
    await_counter(engine, "memory.used.now", 0);
    hd_link_put(link);
    hd_queue_destroy(queue);
    hd_engine_destroy(engine);
    close(fd);
}

static void a_killed_sender_ends_the_stream(void **state)
{
    (void)state;
    for (int round = 0, rounds = test_rounds_least(8, 2); round < rounds; round++) {
        int fds[2];
        hd_queue *queue;
        hd_link *link;
        hd_buf *msg;
        test_sockets(fds);
        pid_t pid = start_victim(fds[1], &client);
        hd_engine *engine = survivor(fds[0], &queue, &link);
        struct hd_event event = next_event(queue, HD_EVENT_STREAM);
        int err = 0, killer = 20 + round * 13;
        while ((err = hd_recv(event.stream, &msg, PATIENCE)) == 0) {
            hd_buf_unref(msg);
            if (killer-- == 0)
                kill(pid, SIGKILL);
        }
        assert_int_equal(err, -ECONNRESET);
        hd_stream_close(event.stream);
        bury(engine, queue, link, pid, fds[0]);
    }
}

static void a_killed_server_ends_every_fetch(void **state)
{
    (void)state;
    for (int round = 0, rounds = test_rounds_least(8, 2); round < rounds; round++) {
        int fds[2], started = 0, failed = 0;
        hd_queue *queue;
        hd_link *link;
        test_sockets(fds);
        pid_t pid = start_victim(fds[1], &server);
        hd_engine *engine = survivor(fds[0], &queue, &link);
        for (int i = 0; i < 100; i++) {
            struct hd_fetch_params params = {
                .size = sizeof(params), .name = "x", .name_length = 1, .length = HD_FETCH_ALL, .queue = queue};
            hd_fetch *fetch;
            started += hd_fetch_start(link, "test", &params, &fetch) == 0;
        }
        for (int i = 0; i < started; i++) {
            if (i == round * 5)
                kill(pid, SIGKILL);
            struct hd_event event = next_event(queue, HD_EVENT_FETCHED);
            failed += event.status != 0;
            assert_true(event.status == 0 || event.status == -ECONNRESET);
            hd_fetch_release(event.fetch);
        }
        assert_true(failed <= started);
        while (hd_link_status(link) == 0)
            usleep(1000);
        bury(engine, queue, link, pid, fds[0]);
    }
}

static void a_thread_that_sleeps_learns_of_it(void **state)
{
    (void)state;
    int fds[2];
    hd_queue *queue;
    hd_link *link;
    hd_stream *stream;
    hd_buf *msg;
    test_sockets(fds);
    pid_t pid = start_victim(fds[1], &server);
    hd_engine *engine = survivor(fds[0], &queue, &link);
    struct hd_fetch_params params = {
        .size = sizeof(params), .name = "x", .name_length = 1, .length = 10, .queue = queue};
    hd_fetch *fetch;
    assert_ok(hd_fetch_start(link, "test", &params, &fetch)); /* the victim is awake now */
    next_event(queue, HD_EVENT_FETCHED);
    hd_fetch_release(fetch);
    assert_ok(hd_stream_open(link, "test", NULL, &stream));
    assert_int_equal(hd_recv(stream, &msg, PATIENCE), 1); /* it closes streams */
    hd_stream_close(stream);
    kill(pid, SIGSTOP); /* alive, but silent: nothing happens */
    assert_ok(hd_stream_open(link, "test", NULL, &stream));
    assert_int_equal(hd_recv(stream, &msg, 200 * MILLI), -ETIMEDOUT);
    kill(pid, SIGKILL);
    assert_int_equal(hd_recv(stream, &msg, PATIENCE), -ECONNRESET);
    assert_non_null(strstr(hd_last_error(), "gone"));
    hd_stream_close(stream);
    bury(engine, queue, link, pid, fds[0]);
}

/* The visitor is forked before there is an engine: the thread sanitizer follows no fork of a program with threads. */
static void receive(const struct test_peer *peer)
{
    int fds[2], status;
    hd_queue *queue;
    hd_buf *msg;
    test_sockets(fds);
    pid_t pid = start_victim(fds[0], peer);
    hd_engine *engine = test_engine(NULL);
    assert_ok(hd_queue_create(engine, &queue));
    assert_ok(hd_engine_listen(engine, "test", queue, 0));
    struct hd_connect_result result = {.size = sizeof(result)};
    assert_ok(hd_accept(engine, fds[1], NULL, 0, PATIENCE, &result));
    struct hd_event event = next_event(queue, HD_EVENT_STREAM);
    assert_ok(hd_recv(event.stream, &msg, PATIENCE));
    hd_buf_unref(msg);
    assert_ok(hd_send(event.stream, "y", 1, PATIENCE));
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_true(hd_recv(event.stream, &msg, PATIENCE) != 0);
    hd_stream_close(event.stream);
    hd_link_put(result.link);
    close(fds[1]);
    await_counter(engine, "links.now", 0);
    assert_int_equal(counter(engine, "links.ended"), 1);
    assert_int_equal(counter(engine, "links.failed"), 0);
    hd_queue_destroy(queue);
    hd_engine_destroy(engine);
}

static void a_client_that_ends_is_no_failure(void **state)
{
    (void)state;
    receive(&visitor);
    receive(&polite);
}

static void counter_files_of_the_dead_are_swept(void **state)
{
    (void)state;
    char dir[] = "/tmp/howdah-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    setenv(STATS_DIR, dir, 1);
    pid_t pid = start_victim(ready[1], &counter_file);
    char path[256] = "";
    assert_true(read(ready[0], path, sizeof(path) - 1) > 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_ptr_equal(strstr(path, dir), path);
    assert_int_equal(access(path, F_OK), 0);
    hd_engine *engine = counting_engine();
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(hd_stats_path(engine), R_OK), 0);
    hd_engine_destroy(engine);
    unsetenv(STATS_DIR);
    assert_int_equal(rmdir(dir), 0); /* nothing is left */
    close(ready[0]);
}

int main(int argc, char **argv)
{
    const struct test_peer peers[] = {server, client, counter_file, visitor, polite};
    test_peers(argc, argv, peers, sizeof(peers) / sizeof(peers[0]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_sender_ends_the_stream),     cmocka_unit_test(a_killed_server_ends_every_fetch),
        cmocka_unit_test(a_thread_that_sleeps_learns_of_it),   cmocka_unit_test(a_client_that_ends_is_no_failure),
        cmocka_unit_test(counter_files_of_the_dead_are_swept),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
