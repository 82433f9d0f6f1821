/* SPDX-License-Identifier: Apache-2.0 */

/* Meeting on a TCP connection: with each other, with peers that speak something else, and with peers that misbehave. */

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static void a_foreign_client_loses_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {"hrpc\x09", "GET / HTTP/1.1\r\n", "\x8eHOWDA!", "\x8eX", "\x8e"};
    hd_engine *engine = test_engine(NULL);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        int fds[2];
        char rest[32] = {0};
        test_sockets(fds);
        assert_int_equal(send(fds[0], words[i], strlen(words[i]), 0), strlen(words[i]));
        shutdown(fds[0], SHUT_WR);
        struct hd_connect_result result = {.size = sizeof(result)};
        assert_ok(hd_accept(engine, fds[1], NULL, 0, PATIENCE, &result));
        assert_int_equal(result.outcome, HD_FALLBACK);
        ssize_t n = recv(fds[1], rest, sizeof(rest) - 1, 0);
        char all[64] = {0};
        memcpy(all, result.unread, result.unread_length);
        memcpy(all + result.unread_length, rest, n > 0 ? (size_t)n : 0);
        assert_string_equal(all, words[i]);
        close(fds[0]);
        close(fds[1]);
    }
    assert_int_equal(counter(engine, "fallbacks.foreign"), 5);
    hd_engine_destroy(engine);
}

static void bytes_that_were_read_before_come_back(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    int fds[2];
    test_sockets(fds);
    struct hd_connect_result result = {.size = sizeof(result)};
    assert_ok(hd_accept(engine, fds[1], "hrpc", 4, PATIENCE, &result));
    assert_int_equal(result.outcome, HD_FALLBACK);
    assert_int_equal(result.unread_length, 4);
    assert_memory_equal(result.unread, "hrpc", 4);
    close(fds[0]);
    close(fds[1]);
    hd_engine_destroy(engine);
}

static void a_foreign_server_is_recognised(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    int fds[2];
    test_sockets(fds);
    assert_true(send(fds[1], "HTTP/1.1 404 Not Found\r\n\r\n", 26, 0) == 26);
    struct hd_connect_result result = {.size = sizeof(result)};
    assert_int_equal(hd_connect(engine, fds[0], "web:80", PATIENCE, &result), -EPROTO);
    assert_non_null(strstr(hd_last_error(), "web:80"));
    close(fds[0]);
    close(fds[1]);
    test_sockets(fds); /* or it just hangs up */
    close(fds[1]);
    assert_int_equal(hd_connect(engine, fds[0], "web:80", PATIENCE, &result), -ECONNRESET);
    close(fds[0]);
    hd_engine_destroy(engine);
}

static void silence_ends_with_a_timeout(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    int fds[2];
    test_sockets(fds);
    struct hd_connect_result result = {.size = sizeof(result)};
    assert_int_equal(hd_connect(engine, fds[0], "silent:1", 50 * MILLI, &result), -ETIMEDOUT);
    assert_non_null(strstr(hd_last_error(), "silent:1"));
    close(fds[0]);
    close(fds[1]);
    test_sockets(fds);
    assert_int_equal(hd_accept(engine, fds[1], NULL, 0, 50 * MILLI, &result), -ETIMEDOUT);
    close(fds[0]);
    close(fds[1]);
    hd_engine_destroy(engine);
}

/* After this the two ends must be able to talk over the connection as if nothing had been. */
static void expect_untouched(int fds[2])
{
    char byte;
    assert_int_equal(send(fds[0], "a", 1, 0), 1);
    assert_int_equal(recv(fds[1], &byte, 1, 0), 1);
    assert_int_equal(byte, 'a');
    assert_int_equal(send(fds[1], "b", 1, 0), 1);
    assert_int_equal(recv(fds[0], &byte, 1, 0), 1);
    assert_int_equal(byte, 'b');
}

static void without_a_common_transport_both_go_on_over_tcp(void **state)
{
    (void)state;
    static const char *const ways[][2] = {{"transport=auto", "transport=tcp"}, {"transport=tcp", "transport=auto"}};
    for (int i = 0; i < 2; i++) {
        hd_engine *a = test_engine((const char *const[]){ways[i][0], NULL});
        hd_engine *b = test_engine((const char *const[]){ways[i][1], NULL});
        int fds[2];
        struct hd_connect_result client = {0}, server = {0};
        test_sockets(fds);
        if (i == 1) { /* this client does not even try: the server sees an ordinary one */
            client.size = server.size = sizeof(client);
            assert_ok(hd_connect(a, fds[0], "testhost:1", PATIENCE, &client));
            assert_int_equal(client.outcome, HD_FALLBACK);
            expect_untouched(fds);
        } else {
            assert_ok(pair_connect(a, b, fds, &client, &server));
            assert_int_equal(client.outcome, HD_FALLBACK);
            assert_int_equal(server.outcome, HD_FALLBACK);
            assert_non_null(strstr(client.reason, "no transport"));
            assert_string_equal(client.reason, server.reason);
            expect_untouched(fds);
        }
        assert_int_equal(counter(a, "fallbacks"), 1);
        close(fds[0]);
        close(fds[1]);
        hd_engine_destroy(a);
        hd_engine_destroy(b);
    }
}

/* ---- set-ups that do not come to an end ---- */

#define SQUATTERS_MAX 200
#define NAME_LENGTH   39 /* howdah- and 32 digits */

/* Stands between client and server, and comes to the client's Unix socket before the server can. */
struct squatter {
    int client, server; /* our ends of the two connections */
    int wanted, count;
    int sockets[SQUATTERS_MAX];
};

static void squat(struct squatter *s, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, NAME_LENGTH);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + NAME_LENGTH);
    while (s->count < s->wanted) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, length)) { /* as many as there is room for */
            close(fd);
            return;
        }
        s->sockets[s->count++] = fd;
    }
}

/* @return false at the end. */
static bool pass_on(struct squatter *s, int from, int to)
{
    char bytes[8192];
    ssize_t n = recv(from, bytes, sizeof(bytes), 0);
    if (n <= 0)
        return false;
    const char *name = memmem(bytes, (size_t)n, "howdah-", 7);
    if (from == s->client && name && name + NAME_LENGTH <= bytes + n)
        squat(s, name);
    return send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *stand_between(void *arg)
{
    struct squatter *s = arg;
    for (;;) {
        struct pollfd ends[2] = {{.fd = s->client, .events = POLLIN}, {.fd = s->server, .events = POLLIN}};
        poll(ends, 2, -1);
        if ((ends[0].revents && !pass_on(s, s->client, s->server)) ||
            (ends[1].revents && !pass_on(s, s->server, s->client)))
            return NULL;
    }
}

struct acceptance {
    hd_engine *engine;
    int fd, err;
    int64_t timeout;
    struct hd_connect_result result;
};

static void *accept_one(void *arg)
{
    struct acceptance *a = arg;
    a->result.size = sizeof(a->result);
    a->err = hd_accept(a->engine, a->fd, NULL, 0, a->timeout, &a->result);
    return NULL;
}

/* Client and server with the same patience, which is the worst case. */
static int meet(hd_engine *a, hd_engine *b, int client_fd, int server_fd, int64_t timeout,
                struct hd_connect_result *client, struct acceptance *server)
{
    pthread_t thread;
    *server = (struct acceptance){.engine = b, .fd = server_fd, .timeout = timeout};
    client->size = sizeof(*client);
    assert_int_equal(pthread_create(&thread, NULL, accept_one, server), 0);
    int err = hd_connect(a, client_fd, "testhost:1", timeout, client);
    pthread_join(thread, NULL);
    return err;
}

static void meet_with_squatters(int squatters)
{
    hd_engine *a = test_engine((const char *const[]){"transport=auto", NULL});
    hd_engine *b = test_engine((const char *const[]){"transport=auto", NULL});
    int left[2], right[2];
    struct hd_connect_result client = {0};
    struct acceptance server;
    pthread_t thread;
    test_sockets(left);
    test_sockets(right);
    struct squatter squatter = {.client = left[1], .server = right[0], .wanted = squatters};
    assert_int_equal(pthread_create(&thread, NULL, stand_between, &squatter), 0);
    assert_ok(meet(a, b, left[0], right[1], PATIENCE, &client, &server));
    assert_ok(server.err);
    assert_true(squatter.count > 0);
    if (client.outcome != HD_LINKED)
        fail_msg("with %d of %d squatters: %s", squatter.count, squatters, client.reason);
    assert_int_equal(server.result.outcome, HD_LINKED);
    hd_link_put(client.link);
    hd_link_put(server.result.link);
    hd_engine_destroy(a);
    hd_engine_destroy(b);
    shutdown(left[0], SHUT_RDWR);
    shutdown(right[1], SHUT_RDWR);
    pthread_join(thread, NULL);
    for (int i = 0; i < squatter.count; i++)
        close(squatter.sockets[i]);
    for (int i = 0; i < 2; i++) {
        close(left[i]);
        close(right[i]);
    }
}

static void squatters_on_the_unix_socket_are_passed_by(void **state)
{
    (void)state;
    meet_with_squatters(1);
    meet_with_squatters(20);
    meet_with_squatters(SQUATTERS_MAX); /* more than fit in front of the socket, or are listened to at a time */
}

static void an_adapter_that_gets_stuck_leaves_a_live_socket(void **state)
{
    (void)state;
    for (int who = 0; who < 3; who++) {
        hd_engine *a = test_engine(who != 1 ? (const char *const[]){"transport=auto", "fault.stuck.rate=1", NULL}
                                            : (const char *const[]){"transport=auto", NULL});
        hd_engine *b = test_engine(who != 0 ? (const char *const[]){"transport=auto", "fault.stuck.rate=1", NULL}
                                            : (const char *const[]){"transport=auto", NULL});
        int fds[2];
        struct hd_connect_result client = {0};
        struct acceptance server;
        test_sockets(fds);
        assert_ok(meet(a, b, fds[0], fds[1], PATIENCE / 10, &client, &server));
        assert_ok(server.err);
        assert_int_equal(client.outcome, HD_FALLBACK);
        assert_int_equal(server.result.outcome, HD_FALLBACK);
        assert_non_null(strstr(client.reason, "did not get ready"));
        assert_string_equal(client.reason, server.result.reason);
        expect_untouched(fds);
        assert_true(counter(a, "faults.stuck") + counter(b, "faults.stuck") == 1);
        close(fds[0]);
        close(fds[1]);
        hd_engine_destroy(a);
        hd_engine_destroy(b);
    }
}

static void a_named_transport_does_not_fall_back(void **state)
{
    (void)state;
    hd_engine *a = test_engine((const char *const[]){"transport=self", NULL});
    hd_engine *b = test_engine(NULL);
    int fds[2];
    struct hd_connect_result client = {0}, server = {0};
    test_sockets(fds);
    assert_int_equal(pair_connect(a, b, fds, &client, &server), -EOPNOTSUPP);
    assert_non_null(strstr(hd_last_error(), "another process"));
    close(fds[0]);
    close(fds[1]);
    hd_engine_destroy(a);
    hd_engine_destroy(b);
}

static void the_server_says_what_streams_are_meant_for(void **state)
{
    (void)state;
    struct pair pair;
    char longest[HD_SERVICE_MAX + 1] = {0};
    memset(longest, 's', HD_SERVICE_MAX);
    pair_open(&pair, NULL);
    for (int i = 0; i < 3; i++) {
        int fds[2];
        struct hd_connect_result client = {.service = "left over"}, server = {.service = "hadoop.rpc.8020.1"};
        if (i > 0)
            memset(server.service, i == 1 ? 's' : 0, sizeof(server.service)); /* too long by its end, or nothing */
        test_sockets(fds);
        assert_ok(pair_connect(pair.a, pair.b, fds, &client, &server));
        assert_string_equal(client.service, i == 0 ? "hadoop.rpc.8020.1" : i == 1 ? longest : "");
        hd_link_put(client.link);
        hd_link_put(server.link);
        close(fds[0]);
        close(fds[1]);
    }
    pair_close(&pair);
}

static void noise_on_the_guard_ends_the_link(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *stream;
    hd_buf *msg;
    pair_open(&pair, NULL);
    assert_ok(hd_stream_open(pair.client, "test", NULL, &stream));
    assert_int_equal(send(pair.fds[1], "!", 1, 0), 1);
    assert_int_equal(hd_recv(stream, &msg, PATIENCE), -EPROTO);
    assert_non_null(strstr(hd_last_error(), "guard"));
    hd_stream_close(stream);
    pair_close(&pair);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    struct hd_connect_result result = {0};
    assert_int_equal(hd_connect(engine, -1, "x:1", PATIENCE, &result), -EINVAL);
    result.size = sizeof(result);
    assert_int_equal(hd_accept(engine, -1, "123456789", 9, PATIENCE, &result), -EINVAL);
    assert_int_equal(hd_connect(engine, -1, "x:1", PATIENCE, &result), -ECONNRESET);
    hd_engine_destroy(engine);
}

struct stopped {
    hd_engine *engine;
    hd_queue *queue;
    hd_stream *stream; /* NULL: the thread is in a greeting */
    int fd;
    int err;
};

static void *stopped_run(void *arg)
{
    struct stopped *s = arg;
    struct hd_connect_result result = {.size = sizeof(result)};
    struct hd_event event;
    hd_buf *msg;
    if (s->queue)
        s->err = hd_queue_wait(s->queue, &event, 1, PATIENCE);
    else if (s->stream)
        s->err = hd_recv(s->stream, &msg, PATIENCE);
    else
        s->err = hd_accept(s->engine, s->fd, NULL, 0, PATIENCE, &result);
    return NULL;
}

static void stopping_sends_everybody_out(void **state)
{
    (void)state;
    struct pair pair;
    struct stopped waits[3] = {{0}};
    pthread_t threads[3];
    hd_stream *server;
    hd_queue *queue;
    int fds[2];
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &waits[0].stream, &server);
    assert_ok(hd_queue_create(pair.a, &queue));
    waits[1].queue = queue;
    test_sockets(fds);
    waits[2] = (struct stopped){.engine = pair.a, .fd = fds[1]};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, stopped_run, &waits[i]);
    usleep(20000);
    hd_engine_stop(pair.a);
    hd_engine_stop(pair.a);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(waits[i].err, -ESHUTDOWN);
    }
    assert_int_equal(hd_send(waits[0].stream, "x", 1, PATIENCE), -ESHUTDOWN); /* it is all still there */
    assert_true(counter(pair.a, "links.opened") > 0);
    hd_stream_close(waits[0].stream);
    hd_stream_close(server);
    hd_queue_destroy(queue);
    close(fds[0]);
    close(fds[1]);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_client_loses_nothing),
        cmocka_unit_test(bytes_that_were_read_before_come_back),
        cmocka_unit_test(a_foreign_server_is_recognised),
        cmocka_unit_test(silence_ends_with_a_timeout),
        cmocka_unit_test(without_a_common_transport_both_go_on_over_tcp),
        cmocka_unit_test(squatters_on_the_unix_socket_are_passed_by),
        cmocka_unit_test(an_adapter_that_gets_stuck_leaves_a_live_socket),
        cmocka_unit_test(a_named_transport_does_not_fall_back),
        cmocka_unit_test(the_server_says_what_streams_are_meant_for),
        cmocka_unit_test(noise_on_the_guard_ends_the_link),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(stopping_sends_everybody_out),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
