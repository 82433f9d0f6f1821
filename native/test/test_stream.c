/* SPDX-License-Identifier: Apache-2.0 */

/* Streams over any transport. */

#include <errno.h>
#include <unistd.h>

#include "engine.h"
#include "support.h"

static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4096, 16383, 16384, 16385, 40000, 524288, 524289, 3000000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void send_filled(hd_stream *stream, size_t length, uint64_t seed)
{
    char *data = malloc(length + 1);
    fill(data, length, seed);
    assert_ok(hd_send(stream, data, length, PATIENCE));
    free(data);
}

static void recv_filled(hd_stream *stream, size_t length, uint64_t seed)
{
    hd_buf *msg;
    int end = hd_recv(stream, &msg, PATIENCE);
    assert_ok(end);
    assert_int_equal(end, 0);
    assert_int_equal(hd_buf_length(msg), length);
    assert_true(filled(hd_buf_data(msg), length, seed));
    hd_buf_unref(msg);
}

static void sizes_over(enum hd_protocol protocol, const char *const *options)
{
    struct pair pair;
    hd_stream *client, *server;
    struct hd_stream_params params = {.size = sizeof(params), .protocol = protocol};
    pair_open(&pair, options);
    pair_stream(&pair, &params, &client, &server);
    assert_ok(hd_stream_configure(server, &params));
    for (size_t i = 0; i < SIZES; i++) {
        send_filled(client, sizes[i], i);
        recv_filled(server, sizes[i], i);
        send_filled(server, sizes[i], i + 100);
        recv_filled(client, sizes[i], i + 100);
    }
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void messages_of_all_sizes_by_read(void **state)
{
    (void)state;
    sizes_over(HD_PROTOCOL_READ, NULL);
}

static void messages_of_all_sizes_by_write(void **state)
{
    (void)state;
    sizes_over(HD_PROTOCOL_WRITE, NULL);
}

static void messages_of_all_sizes_by_copy(void **state)
{
    (void)state;
    const char *const options[] = {"frame.checksum=true", NULL};
    sizes_over(HD_PROTOCOL_COPY, options);
}

static void messages_with_smallest_limits(void **state)
{
    (void)state;
    const char *const options[] = {"link.credits=16", "stream.window=4k", "shm.eager.threshold=256",
                                   "chunk.size=4k",   "chunk.depth=1",    NULL};
    sizes_over(HD_PROTOCOL_DEFAULT, options);
    sizes_over(HD_PROTOCOL_WRITE, options);
    sizes_over(HD_PROTOCOL_COPY, options);
}

static void the_protocol_is_counted(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 100, 1);
    recv_filled(server, 100, 1);
    assert_int_equal(counter(pair.a, "messages.eager"), 1);
    send_filled(client, 1000000, 2);
    recv_filled(server, 1000000, 2);
    await_counter(pair.a, "messages.read", 1);
    /* whoever moves the bytes, each end counts them once */
    assert_in_range(counter(pair.a, "bytes.sent"), 1000100, 1001000);
    assert_in_range(counter(pair.b, "bytes.received"), 1000100, 1001000);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* Links count for themselves; asked, the engine adds up exactly, and its file follows. */
static void what_links_count_is_added_up(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    uint64_t bytes = counter(pair.a, "bytes.sent");
    for (uint64_t i = 0; i < 10; i++) {
        send_filled(client, 100, i);
        assert_int_equal(counter(pair.a, "messages.eager"), i + 1);
        recv_filled(server, 100, i);
    }
    assert_int_equal(counter(pair.a, "bytes.sent"), bytes + 1000);
    send_filled(client, 100, 10);
    struct hd_stats *stats = pair.a->stats;
    for (int i = 0; i < 2000 && atomic_load(&stats->now->messages_eager) != 11; i++)
        usleep(10000); /* a second, on a machine that is not busy */
    assert_int_equal(atomic_load(&stats->now->messages_eager), 11);
    send_filled(client, 100, 11);
    hd_link_close(pair.client); /* the link's last word */
    assert_int_equal(counter(pair.a, "messages.eager"), 12);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void auto_goes_by_size(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"rendezvous.protocol=auto", "rendezvous.write.max=100000", NULL});
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 100000, 1);
    recv_filled(server, 100000, 1);
    await_counter(pair.a, "messages.write", 1);
    send_filled(client, 100001, 2);
    recv_filled(server, 100001, 2);
    await_counter(pair.a, "messages.read", 1);
    assert_int_equal(counter(pair.a, "messages.write"), 1);
    hd_stream_close(client);
    hd_stream_close(server);
    struct hd_stream_params params = {.size = sizeof(params), .protocol = HD_PROTOCOL_READ};
    pair_stream(&pair, &params, &client, &server); /* who asks for one gets it */
    send_filled(client, 100000, 3);
    recv_filled(server, 100000, 3);
    await_counter(pair.a, "messages.read", 2);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* ---- order and flow control ---- */

struct flood {
    hd_stream *stream;
    unsigned count;
};

static size_t flood_size(unsigned i)
{
    return (i * 2654435761U) % (i % 50 == 0 ? 200000 : 2000);
}

static void *flood_run(void *arg)
{
    struct flood *flood = arg;
    char *data = malloc(200000);
    for (unsigned i = 0; i < flood->count; i++) {
        fill(data, flood_size(i), i);
        int err = hd_send(flood->stream, data, flood_size(i), PATIENCE);
        if (err) {
            fprintf(stderr, "message %u: %d %s\n", i, err, hd_last_error());
            free(data);
            return (void *)1;
        }
    }
    free(data);
    return NULL;
}

static void many_messages_keep_their_order(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    void *failed;
    const char *const options[] = {"stream.window=64k", "link.credits=32", NULL};
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    struct flood flood = {client, (unsigned)test_rounds(20000)};
    pthread_create(&thread, NULL, flood_run, &flood);
    for (unsigned i = 0; i < flood.count; i++)
        recv_filled(server, flood_size(i), i);
    pthread_join(thread, &failed);
    assert_null(failed);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void *send_big(void *arg)
{
    struct flood *flood = arg;
    char *data = malloc(1000000);
    int err = 0;
    for (unsigned i = 0; i < flood->count && err == 0; i++) {
        fill(data, 1000000, i);
        err = hd_send(flood->stream, data, 1000000, PATIENCE);
    }
    if (err)
        fprintf(stderr, "%d %s\n", err, hd_last_error());
    free(data);
    return err ? (void *)1 : NULL;
}

/* Credits for 4 GB of frames, which no ring is made for, and memory for a few of them only. */
static void a_full_ring_holds_senders_up(void **state)
{
    (void)state;
    if (strcmp(test_transport, "self") != 0 && strcmp(test_transport, "shm") != 0) {
        puts("skipped: a_full_ring_holds_senders_up: this transport has no ring");
        skip();
    }
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    void *failed;
    const char *const options[] = {"shm.eager.threshold=1m", "link.credits=4096",   "stream.window=1g",
                                   "memory.limit=32m",       "memory.slab.size=4m", NULL};
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    struct flood flood = {client, (unsigned)test_rounds(200)};
    pthread_create(&thread, NULL, send_big, &flood);
    usleep(100000); /* enough for it to fill up, which is not what the test depends on */
    for (unsigned i = 0; i < flood.count; i++)
        recv_filled(server, 1000000, i);
    pthread_join(thread, &failed);
    assert_null(failed);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void a_full_window_stops_only_its_stream(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server, *other, *other_server;
    char data[1000] = {0};
    const char *const options[] = {"stream.window=16k", NULL};
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    pair_stream(&pair, NULL, &other, &other_server);
    unsigned sent = 0;
    int err;
    while ((err = hd_send(client, data, sizeof(data), 0)) == 0)
        sent++;
    assert_int_equal(err, -EAGAIN);
    assert_int_equal(sent, 16); /* a message costs 64 bytes besides its own */
    assert_int_equal(hd_send(client, data, sizeof(data), 10 * MILLI), -ETIMEDOUT);
    send_filled(other, 3000, 5);
    recv_filled(other_server, 3000, 5);
    hd_buf *msg;
    for (unsigned i = 0; i < sent; i++) {
        assert_ok(hd_recv(server, &msg, PATIENCE));
        hd_buf_unref(msg);
    }
    assert_ok(hd_send(client, data, sizeof(data), PATIENCE));
    hd_stream *streams[] = {client, server, other, other_server};
    for (int i = 0; i < 4; i++)
        hd_stream_close(streams[i]);
    pair_close(&pair);
}

static void *echo_run(void *arg)
{
    hd_stream *stream = arg;
    hd_buf *msg;
    int err;
    while ((err = hd_recv(stream, &msg, PATIENCE)) == 0) {
        err = hd_send_buf(stream, msg, 0, hd_buf_length(msg), PATIENCE);
        hd_buf_unref(msg);
        if (err)
            break;
    }
    hd_stream_close(stream);
    return err < 0 ? (void *)1 : NULL;
}

static void *ask_run(void *arg)
{
    hd_stream *stream = arg;
    unsigned rounds = (unsigned)test_rounds(300);
    for (unsigned i = 0; i < rounds; i++) {
        size_t length = flood_size(i) + 1;
        char *data = malloc(length);
        fill(data, length, i);
        hd_buf *msg = NULL;
        bool good = hd_send(stream, data, length, PATIENCE) == 0 && hd_recv(stream, &msg, PATIENCE) == 0 &&
                    hd_buf_length(msg) == length && filled(hd_buf_data(msg), length, i);
        hd_buf_unref(msg);
        free(data);
        if (!good) {
            fprintf(stderr, "round %u: %s\n", i, hd_last_error());
            return (void *)1;
        }
    }
    hd_stream_close(stream);
    return NULL;
}

static void threads_with_streams_of_their_own_share_a_link(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    struct pair pair;
    pthread_t threads[2 * COUNT];
    pair_open(&pair, NULL);
    for (int i = 0; i < COUNT; i++) {
        hd_stream *client, *server;
        pair_stream(&pair, NULL, &client, &server);
        pthread_create(&threads[2 * i], NULL, echo_run, server);
        pthread_create(&threads[2 * i + 1], NULL, ask_run, client);
    }
    for (int i = 0; i < 2 * COUNT; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    await_counter(pair.a, "streams.now", 0);
    pair_close(&pair);
}

static void thousands_of_streams(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct pair pair;
    static hd_stream *client[COUNT], *server[COUNT];
    int count = test_rounds(COUNT);
    pair_open(&pair, NULL);
    for (int i = 0; i < count; i++)
        pair_stream(&pair, NULL, &client[i], &server[i]);
    for (int i = 0; i < count; i++)
        send_filled(client[i], 100, (uint64_t)i);
    for (int i = count; i-- > 0;)
        recv_filled(server[i], 100, (uint64_t)i);
    for (int i = 0; i < count; i++) {
        hd_stream_close(client[i]);
        hd_stream_close(server[i]);
    }
    pair_close(&pair);
}

/* ---- ends ---- */

static void the_end_comes_after_the_last_message(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 100000, 1);
    send_filled(client, 10, 2);
    assert_ok(hd_stream_finish(client));
    assert_int_equal(hd_send(client, "x", 1, 0), -ESHUTDOWN);
    recv_filled(server, 100000, 1);
    recv_filled(server, 10, 2);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), 1);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), 1);
    send_filled(server, 10, 3); /* the other direction goes on */
    recv_filled(client, 10, 3);
    hd_stream_close(server);
    assert_int_equal(hd_recv(client, &msg, PATIENCE), 1);
    hd_stream_close(client);
    await_counter(pair.a, "streams.now", 0);
    pair_close(&pair);
}

static void what_was_sent_before_closing_arrives(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 500000, 1);
    send_filled(client, 10, 2);
    hd_stream_close(client);
    recv_filled(server, 500000, 1);
    recv_filled(server, 10, 2);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), 1);
    int err;
    while ((err = hd_send(server, "x", 1, PATIENCE)) == 0) /* nobody is there: this comes back */
        usleep(1000);
    assert_int_equal(err, -ECONNRESET);
    assert_non_null(strstr(hd_last_error(), "closed the stream"));
    hd_stream_close(server);
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 10, 3);
    send_filled(client, 300000, 3);
    while (hd_available(server) == 0)
        usleep(1000);
    hd_stream_close(server); /* with something not taken */
    assert_int_equal(hd_recv(client, &msg, PATIENCE), -ECONNRESET);
    hd_stream_close(client);
    assert_int_equal(hd_link_status(pair.client), 0);
    pair_close(&pair);
}

static void closing_gives_memory_back(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    for (int round = 0; round < 20; round++) { /* sometimes a transfer is under way, sometimes it waits */
        pair_stream(&pair, NULL, &client, &server);
        for (int i = 0; i < 3; i++)
            send_filled(client, 300000, 1);
        send_filled(client, 100, 1);
        hd_stream_close(round % 2 ? client : server);
        hd_stream_close(round % 2 ? server : client);
    }
    await_counter(pair.a, "memory.used.now", 0);
    await_counter(pair.b, "memory.used.now", 0);
    assert_int_equal(hd_link_status(pair.client), 0);
    pair_close(&pair);
}

static void an_unknown_service_is_refused(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *stream;
    hd_buf *msg;
    pair_open(&pair, NULL);
    assert_ok(hd_stream_open(pair.client, "nonsense", NULL, &stream));
    assert_int_equal(hd_recv(stream, &msg, PATIENCE), -ENOENT);
    assert_non_null(strstr(hd_last_error(), "nonsense"));
    hd_stream_close(stream);
    pair_close(&pair);
}

static void a_lost_link_ends_its_streams(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 10, 1);
    hd_link_close(pair.client);
    assert_int_equal(hd_send(client, "x", 1, PATIENCE), -ESHUTDOWN);
    recv_filled(server, 10, 1);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), -ECONNRESET);
    assert_int_equal(hd_link_status(pair.server), -ECONNRESET);
    hd_stream_close(client);
    hd_stream_close(server);
    await_counter(pair.a, "links.now", 0);
    await_counter(pair.a, "memory.used.now", 0);
    pair_close(&pair);
}

/* ---- waiting ---- */

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
    send_filled(client, 7, 7);
    recv_filled(server, 7, 7);
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
    for (int i = 0; i < 20; i++) {
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

/* ---- bytes ---- */

static void *write_run(void *arg)
{
    char *data = malloc(5000000);
    fill(data, 5000000, 9);
    size_t step = 1, done = 0;
    while (done < 5000000) {
        size_t n = step < 5000000 - done ? step : 5000000 - done;
        if (hd_write(arg, data + done, n, PATIENCE) != (ssize_t)n)
            break;
        done += n;
        step = step * 3 % 700001 + 1;
    }
    free(data);
    hd_stream_finish(arg);
    return NULL;
}

static void bytes_ignore_message_borders(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    pthread_create(&thread, NULL, write_run, client);
    char *data = malloc(5000000);
    size_t done = 0, step = 1;
    ssize_t n;
    while ((n = hd_read(server, data + done, step < 5000000 - done ? step : 5000000 - done + (done == 5000000),
                        PATIENCE)) > 0) {
        done += (size_t)n;
        step = step * 5 % 300007 + 1;
    }
    assert_int_equal(n, 0);
    assert_int_equal(done, 5000000);
    assert_true(filled(data, done, 9));
    pthread_join(thread, NULL);
    free(data);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* ---- links ---- */

static void a_second_connection_shares_the_link(void **state)
{
    (void)state;
    struct pair pair;
    struct hd_connect_result client = {0}, server = {0};
    int fds[2];
    hd_link *found;
    pair_open(&pair, NULL);
    assert_ok(hd_link_find(pair.a, "testhost:1", &found));
    assert_ptr_equal(found, pair.client);
    hd_link_put(found);
    assert_int_equal(hd_link_find(pair.a, "testhost:2", &found), -ENOENT);
    if (pair.a != pair.b) {
        test_sockets(fds);
        assert_ok(pair_connect(pair.a, pair.b, fds, &client, &server));
        assert_true(client.shared);
        assert_true(server.shared);
        assert_ptr_equal(client.link, pair.client);
        assert_ptr_equal(server.link, pair.server);
        hd_link_put(client.link);
        hd_link_put(server.link);
        close(fds[0]);
        close(fds[1]);
        test_sockets(fds); /* the other way round as well */
        assert_ok(pair_connect(pair.b, pair.a, fds, &client, &server));
        assert_ptr_equal(client.link, pair.server);
        hd_link_put(client.link);
        hd_link_put(server.link);
        close(fds[0]);
        close(fds[1]);
    }
    assert_string_equal(hd_link_transport(pair.client), test_transport);
    pair_close(&pair);
}

static void an_idle_link_is_closed(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    const char *const options[] = {"link.idle.timeout=150ms", NULL};
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    usleep(300000);
    assert_int_equal(hd_link_status(pair.client), 0); /* a stream keeps it */
    hd_stream_close(client);
    hd_stream_close(server);
    await_counter(pair.a, "links.now", 0);
    await_counter(pair.b, "links.now", 0);
    assert_int_equal(hd_link_status(pair.client), -ESHUTDOWN);
    assert_int_equal(hd_stream_open(pair.client, "test", NULL, &client), -ESHUTDOWN);
    assert_int_equal(counter(pair.a, "links.failed"), 0);
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes_by_read),
        cmocka_unit_test(messages_of_all_sizes_by_write),
        cmocka_unit_test(messages_of_all_sizes_by_copy),
        cmocka_unit_test(messages_with_smallest_limits),
        cmocka_unit_test(the_protocol_is_counted),
        cmocka_unit_test(what_links_count_is_added_up),
        cmocka_unit_test(auto_goes_by_size),
        cmocka_unit_test(many_messages_keep_their_order),
        cmocka_unit_test(a_full_ring_holds_senders_up),
        cmocka_unit_test(a_full_window_stops_only_its_stream),
        cmocka_unit_test(threads_with_streams_of_their_own_share_a_link),
        cmocka_unit_test(thousands_of_streams),
        cmocka_unit_test(the_end_comes_after_the_last_message),
        cmocka_unit_test(what_was_sent_before_closing_arrives),
        cmocka_unit_test(closing_gives_memory_back),
        cmocka_unit_test(an_unknown_service_is_refused),
        cmocka_unit_test(a_lost_link_ends_its_streams),
        cmocka_unit_test(timeouts_and_refusals_to_block),
        cmocka_unit_test(a_sleeping_thread_can_be_woken),
        cmocka_unit_test(closing_the_engine_ends_every_wait),
        cmocka_unit_test(events_tell_when_to_read_and_write),
        cmocka_unit_test(a_sender_waits_for_memory),
        cmocka_unit_test(a_transfer_without_memory_is_not_tried_in_a_loop),
        cmocka_unit_test(two_large_messages_are_announced_at_once),
        cmocka_unit_test(bytes_ignore_message_borders),
        cmocka_unit_test(a_second_connection_shares_the_link),
        cmocka_unit_test(an_idle_link_is_closed),
        cmocka_unit_test(a_blocked_receiver_sleeps),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
