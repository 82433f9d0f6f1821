/* SPDX-License-Identifier: Apache-2.0 */

/* Waiting on streams, for messages, room, memory and events, over any transport. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "link/link.h"
#include "support.h"

static void timeouts_and_refusals_to_block(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    assert_int_equal(hd_recv(server, &msg, 0), -EAGAIN);
    assert_int_equal(hd_recv(server, &msg, MILLI), -ETIMEDOUT);
    assert_int_equal(hd_recv(server, &msg, 20 * MILLI), -ETIMEDOUT);
    hd_stream_wake(server);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), -EINTR);
    assert_int_equal(hd_recv(server, &msg, 0), -EAGAIN);
    exchange(client, server, 7, 7);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void *wake_run(void *arg)
{
    usleep(30000);
    hd_stream_wake(arg);
    return NULL;
}

static void a_sleeping_thread_can_be_woken(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pthread_t thread;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, NULL, wake_run, server);
        assert_int_equal(hd_recv(server, &msg, HD_FOREVER), -EINTR);
        pthread_join(thread, NULL);
    }
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* ---- descriptors of queues ---- */

static bool is_readable(int fd, int milliseconds)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, milliseconds) == 1 && (p.revents & POLLIN);
}

static void a_queue_can_be_slept_on_by_its_descriptor(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    struct hd_event event;
    int patience = (int)(PATIENCE / MILLI);
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    int fd = hd_queue_fd(pair.queue);
    assert_ok(fd);
    assert_int_equal(hd_queue_fd(pair.queue), fd);
    struct hd_stream_params params = {.size = sizeof(params), .queue = pair.queue, .user = 7};
    assert_ok(hd_stream_configure(server, &params));
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(hd_queue_wait(pair.queue, &event, 1, 0), -EAGAIN);
        assert_false(is_readable(fd, 0));
        send_filled(client, 100, i);
        assert_true(is_readable(fd, patience));
        assert_true(is_readable(fd, 0)); /* until it is taken */
        assert_int_equal(hd_queue_wait(pair.queue, &event, 1, 0), 1);
        assert_int_equal(event.type, HD_EVENT_READABLE);
        recv_filled(server, 100, i);
        hd_buf *none;
        assert_int_equal(hd_recv(server, &none, 0), -EAGAIN);
    }
    hd_queue_wake(pair.queue);
    assert_true(is_readable(fd, 0));
    assert_int_equal(hd_queue_wait(pair.queue, &event, 1, 0), -EINTR);
    assert_false(is_readable(fd, 0));
    send_filled(client, 100, 1); /* an event that is taken back */
    assert_true(is_readable(fd, patience));
    hd_stream_close(server);
    assert_false(is_readable(fd, 0));
    hd_engine_stop(pair.b);
    assert_true(is_readable(fd, 0));
    assert_int_equal(hd_queue_wait(pair.queue, &event, 1, 0), -ESHUTDOWN);
    hd_stream_close(client);
    pair_close(&pair);
}

static void *close_engine_run(void *arg)
{
    usleep(30000);
    hd_engine_destroy(arg);
    return NULL;
}

static void closing_the_engine_ends_every_wait(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pthread_t thread;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    pthread_create(&thread, NULL, close_engine_run, pair.b);
    assert_int_equal(hd_recv(server, &msg, HD_FOREVER), -ESHUTDOWN);
    struct hd_event event;
    assert_int_equal(hd_queue_wait(pair.queue, &event, 1, HD_FOREVER), -ESHUTDOWN);
    pthread_join(thread, NULL);
    assert_true(hd_recv(client, &msg, PATIENCE) < 0);
    hd_stream_close(client);
    hd_stream_close(server);
    hd_link_put(pair.client);
    hd_link_put(pair.server);
    hd_queue_destroy(pair.queue);
    if (pair.a != pair.b)
        hd_engine_destroy(pair.a);
    close(pair.fds[0]);
    close(pair.fds[1]);
}

static void events_tell_when_to_read_and_write(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    char data[4096] = {0};
    const char *const options[] = {"stream.window=64k", NULL};
    pair_open(&pair, options);
    hd_queue *events;
    assert_ok(hd_queue_create(pair.a, &events));
    struct hd_stream_params params = {.size = sizeof(params), .queue = events, .user = 7};
    pair_stream(&pair, &params, &client, &server);
    for (int round = 0; round < 50; round++) {
        assert_ok(hd_send(server, "hello", 5, PATIENCE));
        struct hd_event event = next_event(events, HD_EVENT_READABLE);
        assert_ptr_equal(event.stream, client);
        assert_int_equal(event.user, 7);
        assert_ok(hd_recv(client, &msg, 0));
        hd_buf_unref(msg);
        assert_int_equal(hd_recv(client, &msg, 0), -EAGAIN);
    }
    int sent = 0;
    while (hd_send(client, data, sizeof(data), 0) == 0)
        sent++;
    while (sent--) {
        assert_ok(hd_recv(server, &msg, PATIENCE));
        hd_buf_unref(msg);
    }
    next_event(events, HD_EVENT_WRITABLE);
    assert_ok(hd_send(client, data, sizeof(data), 0));
    hd_stream_close(server);
    next_event(events, HD_EVENT_READABLE);
    hd_stream_close(client);
    hd_queue_destroy(events);
    pair_close(&pair);
}

/* ---- memory ---- */

#define HOARD 32

/* Takes all of an engine's memory; the small pieces go last. @return how many buffers. */
static int hoard(hd_engine *engine, hd_buf *bufs[HOARD])
{
    int count = 0;
    while (count < HOARD && hd_buf_alloc(engine, 1 << 20, &bufs[count]) == 0)
        count++;
    while (count < HOARD && hd_buf_alloc(engine, 65536, &bufs[count]) == 0)
        count++;
    assert_true(count > 2 && count < HOARD);
    return count;
}

static void *send_a_large_one(void *arg)
{
    char *data = malloc(1000000);
    fill(data, 1000000, 3);
    int err = hd_send(arg, data, 1000000, PATIENCE);
    free(data);
    return err ? (void *)1 : NULL;
}

static void a_sender_waits_for_memory(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_queue *events;
    hd_buf *bufs[HOARD];
    char *data = calloc(1, 1000000);
    pthread_t thread;
    void *failed;
    pair_open(&pair, (const char *const[]){"memory.limit=16m", "memory.slab.size=1m", NULL});
    assert_ok(hd_queue_create(pair.a, &events));
    struct hd_stream_params params = {.size = sizeof(params), .queue = events};
    pair_stream(&pair, &params, &client, &server);
    int count = hoard(pair.a, bufs);
    assert_int_equal(hd_send(client, data, 1000000, MILLI), -ETIMEDOUT);
    assert_non_null(strstr(hd_last_error(), "memory.limit"));
    assert_int_equal(hd_send(client, data, 17 << 20, 0), -ENOBUFS); /* waiting would not help */
    assert_int_equal(hd_send(client, data, 1000000, 0), -EAGAIN);
    for (int i = 0; i < 2; i++) /* over `self` the receiver needs one, too */
        hd_buf_unref(bufs[--count]);
    for (int i = 0; i < 4; i++)
        hd_buf_unref(bufs[i]);
    next_event(events, HD_EVENT_WRITABLE);
    assert_ok(hd_send(client, data, 1000000, 0));
    hd_buf *msg;
    assert_ok(hd_recv(server, &msg, PATIENCE));
    hd_buf_unref(msg);
    await_counter(pair.a, "messages.read", 1); /* its copy is given back */
    for (int i = 4; i < count; i++)
        hd_buf_unref(bufs[i]);

    count = hoard(pair.a, bufs);
    uint64_t waits = counter(pair.a, "stalls.memory");
    pthread_create(&thread, NULL, send_a_large_one, client);
    await_counter(pair.a, "stalls.memory", waits + 1); /* now it waits */
    while (count)
        hd_buf_unref(bufs[--count]);
    pthread_join(thread, &failed);
    assert_null(failed);
    recv_filled(server, 1000000, 3);
    free(data);
    hd_stream_close(client);
    hd_stream_close(server);
    hd_queue_destroy(events);
    pair_close(&pair);
}

static void a_transfer_without_memory_is_not_tried_in_a_loop(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *bufs[HOARD], *buf;
    pair_open(&pair, (const char *const[]){"memory.limit=16m", "memory.slab.size=1m", NULL});
    pair_stream(&pair, NULL, &client, &server);
    assert_ok(hd_buf_alloc(pair.a, 1 << 20, &buf));
    fill(hd_buf_data(buf), 1 << 20, 4);
    int count = hoard(pair.b, bufs);
    assert_ok(hd_send_buf(client, buf, 0, 1 << 20, PATIENCE));
    usleep(500000);
    assert_true(counter(pair.b, "stalls.memory") < 5000); /* one a millisecond, or fewer on a busy machine */
    while (count)
        hd_buf_unref(bufs[--count]);
    recv_filled(server, 1 << 20, 4);
    hd_buf_unref(buf);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* The second is there when the first has been taken, whatever the window. */
static void two_large_messages_are_announced_at_once(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *buf;
    pair_open(&pair, (const char *const[]){"stream.window=64k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    assert_ok(hd_buf_alloc(pair.a, 4 << 20, &buf));
    fill(hd_buf_data(buf), 4 << 20, 1);
    for (int i = 0, rounds = test_rounds_least(20, 2); i < rounds; i++) {
        assert_ok(hd_send_buf(client, buf, 0, 4 << 20, PATIENCE));
        assert_ok(hd_send_buf(client, buf, 0, 4 << 20, 0));
        recv_filled(server, 4 << 20, 1);
        recv_filled(server, 4 << 20, 1);
        await_counter(pair.a, "messages.read", 2 * (uint64_t)i + 2);
    }
    hd_buf_unref(buf);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* Nothing wakes up but for the engine's look once a second. The bound is far from both sides: whoever polled, even once
 * a millisecond, would be counted in thousands. */
static void a_blocked_receiver_sleeps(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    assert_ok(hd_send(client, "x", 1, PATIENCE));
    assert_int_equal(hd_recv(server, &msg, PATIENCE), 0);
    hd_buf_unref(msg);
    assert_int_equal(hd_recv(client, &msg, SECOND / 2), -ETIMEDOUT); /* it settles */
    int64_t before = context_switches();
    assert_int_equal(hd_recv(client, &msg, 3 * SECOND), -ETIMEDOUT);
    int64_t count = context_switches() - before;
    if (count > 500)
        fail_msg("%lld context switches in three idle seconds", (long long)count);
    assert_ok(hd_send(server, "y", 1, PATIENCE)); /* and wakes up */
    assert_int_equal(hd_recv(client, &msg, PATIENCE), 0);
    hd_buf_unref(msg);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static bool is_armed(hd_link *link)
{
    hd_link_lock(link);
    bool armed = link->comm.armed;
    hd_link_unlock(link);
    return armed;
}

static bool armed_becomes(hd_link *link, bool armed, int64_t time)
{
    for (int64_t end = hd_now() + time; is_armed(link) != armed; usleep(100))
        if (hd_now() >= end)
            return false;
    return true;
}

/* A caller polls a link for which the communication thread was just woken, and leaves. @return whether that thread
 * watches the link again long before it looks at all links anyway, a second after it last did; false also if this
 * thread was too late to come in between */
static bool is_watched_after_a_caller_left(const char *const *options)
{
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    hd_link_lock(pair.server);
    hd_link_hurry(pair.server); /* it looks now */
    hd_link_unlock(pair.server);
    usleep(30000);
    assert_true(armed_becomes(pair.server, true, PATIENCE));
    assert_ok(hd_send(client, "x", 1, PATIENCE));
    /* until the communication thread has it, which lingers then; who looks too late finds the link armed again */
    bool seen = armed_becomes(pair.server, false, SECOND / 2);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), 0);
    hd_buf_unref(msg);
    assert_int_equal(hd_recv(server, &msg, 20 * MILLI), -ETIMEDOUT);
    bool watched = armed_becomes(pair.server, true, SECOND / 2);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
    return seen && watched;
}

/* Nobody told the communication thread that the caller left, so the next stream was not noticed for up to a second. A
 * machine that stands still for a while may be late once; a mistake is late each time. */
static void a_link_that_a_caller_took_over_is_watched_again(void **state)
{
    (void)state;
    const char *const options[] = {"poll.spin=100ms", NULL};
    int tries = 0;
    while (!is_watched_after_a_caller_left(options))
        assert_int_not_equal(++tries, 5);
}

/* ---- threads that do not run ---- */

static atomic_bool held, released;

/* As on a machine that has no processor for the thread. */
static void hold(int signal)
{
    (void)signal;
    atomic_store(&held, true);
    while (!atomic_load(&released))
        usleep(1000);
}

static void *receive_run(void *arg)
{
    hd_buf *msg = NULL;
    intptr_t err = hd_recv(arg, &msg, PATIENCE);
    if (msg)
        hd_buf_unref(msg);
    return (void *)err; // NOLINT(performance-no-int-to-ptr)
}

static void a_thread_that_was_woken_and_does_not_run_has_lost_nothing(void **state)
{
    (void)state;
    const char *const options[] = {"poll.spin=0", NULL};
    struct sigaction action = {.sa_handler = hold}, before;
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    void *result;
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    atomic_store(&held, false);
    atomic_store(&released, false);
    assert_ok(sigaction(SIGUSR1, &action, &before));
    assert_ok(pthread_create(&thread, NULL, receive_run, server));
    while (!atomic_load(&pair.server->poll.asleep))
        usleep(1000);
    usleep(20000); /* it may be on its way still */
    assert_ok(pthread_kill(thread, SIGUSR1));
    while (!atomic_load(&held))
        usleep(1000);
    assert_ok(hd_send(client, "x", 1, PATIENCE));
    usleep(3500000); /* the regular look comes each second, and the second one in a row would count */
    uint64_t lost = counter(pair.b, "wakeups.lost");
    atomic_store(&released, true);
    assert_ok(pthread_join(thread, &result));
    assert_ok(sigaction(SIGUSR1, &before, NULL));
    assert_null(result);
    assert_int_equal(lost, 0);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_and_refusals_to_block),
        cmocka_unit_test(a_sleeping_thread_can_be_woken),
        cmocka_unit_test(a_queue_can_be_slept_on_by_its_descriptor),
        cmocka_unit_test(closing_the_engine_ends_every_wait),
        cmocka_unit_test(events_tell_when_to_read_and_write),
        cmocka_unit_test(a_sender_waits_for_memory),
        cmocka_unit_test(a_transfer_without_memory_is_not_tried_in_a_loop),
        cmocka_unit_test(two_large_messages_are_announced_at_once),
        cmocka_unit_test(a_blocked_receiver_sleeps),
        cmocka_unit_test(a_link_that_a_caller_took_over_is_watched_again),
        cmocka_unit_test(a_thread_that_was_woken_and_does_not_run_has_lost_nothing),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
