/* SPDX-License-Identifier: Apache-2.0 */

/* Streams over any transport. */

#include <errno.h>
#include <unistd.h>

#include "core/context.h"
#include "link/link.h"
#include "support.h"

static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4096, 16383, 16384, 16385, 40000, 524288, 524289, 3000000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void sizes_over(enum hd_protocol protocol, const char *const *options)
{
    struct pair pair;
    hd_stream *client, *server;
    struct hd_stream_params params = {.size = sizeof(params), .protocol = protocol};
    pair_open(&pair, options);
    pair_stream(&pair, &params, &client, &server);
    assert_ok(hd_stream_configure(server, &params));
    for (size_t i = 0; i < SIZES; i++) {
        exchange(client, server, sizes[i], i);
        exchange(server, client, sizes[i], i + 100);
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

/* What may go without a header and what may not, in turn: sizes around multiples of 64 on two streams, with few
 * credits. */
static void streams_take_turns_at_all_lengths(void **state)
{
    (void)state;
    static const size_t lengths[] = {64, 128, 32, 96, 1024, 1024, 1, 4096, 63, 64, 65, 160, 0};
    struct pair pair;
    hd_stream *client[2], *server[2];
    pair_open(&pair, (const char *const[]){"link.credits=16", NULL});
    for (int i = 0; i < 2; i++)
        pair_stream(&pair, NULL, &client[i], &server[i]);
    for (unsigned round = 0; round < (unsigned)test_rounds(200); round++) {
        unsigned which = round % 7 / 4, many = round % 3 + 1;
        size_t length = lengths[round % (sizeof(lengths) / sizeof(lengths[0]))];
        for (unsigned i = 0; i < many; i++)
            send_filled(client[which], length, round + i);
        for (unsigned i = 0; i < many; i++)
            recv_filled(server[which], length, round + i);
        if (round % 50 < 25) /* in the other half credits come back by themselves */
            exchange(server[which], client[which], length, round);
    }
    for (int i = 0; i < 2; i++) {
        hd_stream_close(client[i]);
        hd_stream_close(server[i]);
    }
    pair_close(&pair);
}

static void the_protocol_is_counted(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 100, 1);
    assert_int_equal(counter(pair.a, "messages.eager"), 1);
    exchange(client, server, 1000000, 2);
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
    exchange(client, server, 100000, 1);
    await_counter(pair.a, "messages.write", 1);
    exchange(client, server, 100001, 2);
    await_counter(pair.a, "messages.read", 1);
    assert_int_equal(counter(pair.a, "messages.write"), 1);
    hd_stream_close(client);
    hd_stream_close(server);
    struct hd_stream_params params = {.size = sizeof(params), .protocol = HD_PROTOCOL_READ};
    pair_stream(&pair, &params, &client, &server); /* who asks for one gets it */
    exchange(client, server, 100000, 3);
    await_counter(pair.a, "messages.read", 2);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* ---- messages that stay with the sender until they are read ---- */

static bool stays_with_the_sender(void)
{
    return strcmp(test_transport, "self") == 0 || strcmp(test_transport, "shm") == 0;
}

static void deferred_pair(struct pair *pair, const char *const *options, hd_stream **client, hd_stream **server)
{
    struct hd_stream_params params = {.size = sizeof(params), .protocol = HD_PROTOCOL_READ, .deferred = true};
    pair_open(pair, options);
    pair_stream(pair, &params, client, server);
    assert_ok(hd_stream_configure(*server, &params));
}

static void read_filled(hd_stream *stream, size_t length, size_t piece, uint64_t seed)
{
    char *data = calloc(1, length + 1);
    assert_non_null(data);
    for (size_t done = 0; done < length;) {
        ssize_t n = hd_read(stream, data + done, piece < length - done ? piece : length - done, PATIENCE);
        assert_ok(n);
        assert_true(n > 0);
        done += (size_t)n;
    }
    assert_true(filled(data, length, seed));
    free(data);
}

static void deferred_messages_of_all_sizes(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    deferred_pair(&pair, (const char *const[]){"chunk.size=64k", NULL}, &client, &server);
    for (size_t i = 0; i < SIZES; i++) {
        send_filled(client, sizes[i], i);
        if (sizes[i] == 0) { /* nothing to read of it */
            recv_filled(server, 0, i);
            continue;
        }
        read_filled(server, sizes[i], i % 2 ? 1 << 20 : 5000, i);
        exchange(server, client, sizes[i], i + 100); /* whole, by those who want a buffer */
    }
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void a_deferred_message_takes_no_memory_before_it_is_read(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    deferred_pair(&pair, NULL, &client, &server);
    send_filled(client, 1000000, 7);
    send_filled(client, 100, 8);
    uint8_t begin[16];
    assert_int_equal(hd_read(server, begin, sizeof(begin), PATIENCE), sizeof(begin));
    assert_true(filled(begin, sizeof(begin), 7));
    if (stays_with_the_sender()) {
        assert_int_equal(hd_offered(server), 1000000 - sizeof(begin));
        assert_true(hd_available(server) >= 1000000 - sizeof(begin));
        assert_int_equal(counter(pair.a, "messages.read"), 0); /* the sender holds it */
    } else {
        assert_int_equal(hd_offered(server), 0);
    }
    /* The rest is wanted whole after all. */
    hd_buf *rest;
    assert_int_equal(hd_recv(server, &rest, PATIENCE), 0);
    assert_int_equal(hd_buf_length(rest), 1000000 - sizeof(begin));
    char *all = calloc(1, 1000000);
    assert_non_null(all);
    memcpy(all, begin, sizeof(begin));
    memcpy(all + sizeof(begin), hd_buf_data(rest), 1000000 - sizeof(begin));
    assert_true(filled(all, 1000000, 7));
    free(all);
    hd_buf_unref(rest);
    recv_filled(server, 100, 8);
    assert_int_equal(hd_available(server), 0);
    await_counter(pair.a, "messages.read", 1);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* Without waiting there is nothing yet of what has to be moved first; an event says when. */
static void a_deferred_message_is_received_without_waiting(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    deferred_pair(&pair, NULL, &client, &server);
    struct hd_stream_params params = {.size = sizeof(params), .queue = pair.queue, .user = 5, .deferred = true};
    assert_ok(hd_stream_configure(server, &params));
    send_filled(client, 300000, 1);
    int err;
    do {
        struct hd_event event = next_event(pair.queue, HD_EVENT_READABLE);
        assert_int_equal(event.user, 5);
        err = hd_recv(server, &msg, 0);
    } while (err == -EAGAIN);
    assert_ok(err);
    assert_true(filled(hd_buf_data(msg), 300000, 1));
    hd_buf_unref(msg);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void a_deferred_message_that_nobody_reads_is_given_back(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    char begin[10];
    deferred_pair(&pair, NULL, &client, &server);
    for (int part = 0; part < 2; part++) {
        send_filled(client, 500000, 1);
        send_filled(client, 500000, 2);
        if (part)
            assert_int_equal(hd_read(server, begin, sizeof(begin), PATIENCE), sizeof(begin));
        hd_stream_close(server);
        hd_stream_close(client);
        struct hd_stream_params params = {.size = sizeof(params), .protocol = HD_PROTOCOL_READ, .deferred = true};
        pair_stream(&pair, &params, &client, &server);
        assert_ok(hd_stream_configure(server, &params));
    }
    exchange(client, server, 400000, 3);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair); /* the engine counts what was not given back */
}

static void a_lost_link_takes_deferred_messages_along(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    char begin[1000];
    hd_buf *msg;
    deferred_pair(&pair, NULL, &client, &server);
    send_filled(client, 200, 1);
    send_filled(client, 500000, 2);
    send_filled(client, 300, 3);
    recv_filled(server, 200, 1);
    assert_int_equal(hd_read(server, begin, sizeof(begin), PATIENCE), sizeof(begin));
    hd_link_close(pair.client);
    ssize_t n;
    while ((n = hd_read(server, begin, sizeof(begin), PATIENCE)) > 0)
        continue; /* over other transports the message had arrived */
    assert_true(n < 0);
    assert_true(hd_recv(server, &msg, PATIENCE) < 0);
    assert_int_equal(hd_available(server), 0);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* More messages than mappings of large buffers are kept, read in the opposite order. */
static void many_large_deferred_messages_stay_within_reach(void **state)
{
    (void)state;
    if (!stays_with_the_sender()) {
        puts("skipped: many_large_deferred_messages_stay_within_reach: nothing stays with the sender over an adapter");
        skip();
    }
    enum { STREAMS = 40, LENGTH = 1100000 };
    struct pair pair;
    hd_stream *client[STREAMS], *server[STREAMS];
    struct hd_stream_params params = {.size = sizeof(params), .protocol = HD_PROTOCOL_READ, .deferred = true};
    pair_open(&pair, (const char *const[]){"memory.slab.size=1m", NULL});
    for (unsigned i = 0; i < STREAMS; i++) {
        pair_stream(&pair, &params, &client[i], &server[i]);
        assert_ok(hd_stream_configure(server[i], &params));
        send_filled(client[i], LENGTH, i);
    }
    for (unsigned i = STREAMS; i-- > 0;)
        read_filled(server[i], LENGTH, LENGTH, i);
    for (unsigned i = 0; i < STREAMS; i++) {
        hd_stream_close(client[i]);
        hd_stream_close(server[i]);
    }
    pair_close(&pair);
}

struct slow_copy {
    hd_stream *stream;
    pthread_t other;
    char data[600];
    _Atomic bool link_went_on;
};

static void *use_link(void *arg)
{
    struct slow_copy *copy = arg;
    hd_available(copy->stream);
    copy->link_went_on = true;
    return NULL;
}

/* As one that waits for a garbage collector, which waits for a thread that is in the engine. */
static void copy_slowly(void *arg, size_t at, const void *from, size_t length)
{
    struct slow_copy *copy = arg;
    assert_int_equal(pthread_create(&copy->other, NULL, use_link, copy), 0);
    for (int i = 0; i < 5000 && !copy->link_went_on; i++)
        usleep(1000);
    memcpy(copy->data + at, from, length);
}

static void a_copier_that_waits_does_not_hold_the_link_up(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    send_filled(client, 600, 3);
    struct slow_copy copy = {.stream = server};
    struct hd_copier copier = {.copy = copy_slowly, .arg = &copy};
    assert_int_equal(hd_read_through(server, &copier, sizeof(copy.data), PATIENCE), sizeof(copy.data));
    assert_true(filled(copy.data, sizeof(copy.data), 3));
    assert_true(copy.link_went_on);
    pthread_join(copy.other, NULL);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

struct share {
    hd_stream *stream;
    _Atomic size_t *total;
    uint64_t sum;
};

/* Sums up what it reads, until the end. */
static void *share_run(void *arg)
{
    struct share *share = arg;
    unsigned char data[7000];
    ssize_t n;
    while ((n = hd_read(share->stream, data, sizeof(data), PATIENCE)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            share->sum += data[i];
        *share->total += (size_t)n;
    }
    return n ? (void *)1 : NULL;
}

static void readers_share_deferred_messages(void **state)
{
    (void)state;
    if (!stays_with_the_sender()) {
        puts("skipped: readers_share_deferred_messages: nothing stays with the sender over an adapter");
        skip();
    }
    struct pair pair;
    hd_stream *client, *server;
    enum { READERS = 3 };
    size_t length = 200000, count = (size_t)test_rounds(200);
    _Atomic size_t total = 0;
    uint64_t sum = 0, expected = 0;
    pthread_t threads[READERS];
    struct share shares[READERS];
    deferred_pair(&pair, NULL, &client, &server);
    for (int i = 0; i < READERS; i++) {
        shares[i] = (struct share){.stream = server, .total = &total};
        assert_int_equal(pthread_create(&threads[i], NULL, share_run, &shares[i]), 0);
    }
    unsigned char *data = calloc(1, length);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        fill(data, length, i);
        for (size_t k = 0; k < length; k++)
            expected += data[k];
        assert_ok(hd_send(client, data, length, PATIENCE));
    }
    free(data);
    assert_ok(hd_stream_finish(client));
    for (int i = 0; i < READERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
        sum += shares[i].sum;
    }
    assert_int_equal(total, length * count);
    assert_true(sum == expected);
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
    const char *const options[] = {"stream.window=16k", "link.credits=64", NULL};
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
    exchange(other, other_server, 3000, 5);
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
    for (int round = 0, rounds = test_rounds_least(20, 4); round < rounds;
         round++) { /* sometimes a transfer is under way, sometimes it waits */
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

/* ---- bytes ---- */

/* ---- pieces, and sends whose end is told ---- */

static void pieces_arrive_as_one_message(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 5, 1000, 1024, 1025, 5000, 40000, 3 << 20};
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    char *bytes = malloc(3 << 20);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t length = lengths[i], a = length / 3, b = length / 7;
        fill(bytes, length, i);
        struct iovec pieces[] = {{bytes, a}, {NULL, 0}, {bytes + a, b}, {bytes + a + b, length - a - b}};
        assert_ok(hd_sendv(client, pieces, 4, PATIENCE));
        memset(bytes, 0, length); /* ours again */
        recv_filled(server, length, i);
    }
    assert_ok(hd_sendv(client, NULL, 0, PATIENCE));
    recv_filled(server, 0, 0);
    struct iovec huge[] = {{bytes, SIZE_MAX}, {bytes, 2}};
    assert_int_equal(hd_sendv(client, huge, 2, PATIENCE), -EMSGSIZE);
    assert_int_equal(hd_sendv(client, huge, 1, PATIENCE), -EMSGSIZE);
    free(bytes);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void the_end_of_a_send_is_told(void **state)
{
    (void)state;
    static const enum hd_protocol protocols[] = {HD_PROTOCOL_READ, HD_PROTOCOL_WRITE, HD_PROTOCOL_COPY};
    struct pair pair;
    hd_stream *client, *server;
    hd_queue *queue;
    hd_buf *buf;
    struct hd_event event;
    pair_open(&pair, NULL);
    assert_ok(hd_queue_create(pair.a, &queue));
    pair_stream(&pair, NULL, &client, &server);
    assert_ok(hd_buf_alloc(pair.a, 1 << 20, &buf));
    fill(hd_buf_data(buf), 1 << 20, 1);
    assert_int_equal(hd_send_buf_event(client, buf, 0, 100, 9, PATIENCE), -EINVAL); /* no queue */
    for (uint64_t i = 0; i < 3; i++) {
        struct hd_stream_params params = {.size = sizeof(params), .queue = queue, .protocol = protocols[i]};
        assert_ok(hd_stream_configure(client, &params));
        assert_ok(hd_send_buf_event(client, buf, 0, 1 << 20, 10 + i, PATIENCE));
        recv_filled(server, 1 << 20, 1);
        event = next_event(queue, HD_EVENT_SENT);
        assert_int_equal(event.status, 0);
        assert_int_equal(event.user, 10 + i);
        assert_null(event.stream);
        assert_ok(hd_send_buf_event(client, buf, 0, 64, 20 + i, PATIENCE));
        assert_int_equal(next_event(queue, HD_EVENT_SENT).user, 20 + i);
        recv_filled(server, 64, 1);
    }
    assert_int_equal(hd_send_buf_event(client, buf, 1, 1 << 20, 9, PATIENCE), -EINVAL);
    assert_int_equal(hd_queue_wait(queue, &event, 1, 0), -EAGAIN); /* none of those that failed */
    hd_stream_close(client);
    hd_stream_close(server);
    hd_buf_unref(buf);
    hd_queue_destroy(queue);
    pair_close(&pair);
}

/* How many sends are told to be over until nothing comes any more, the first one within the usual patience. */
static int sends_told(hd_queue *queue, uint64_t user)
{
    struct hd_event event;
    int told = 0;
    while (hd_queue_wait(queue, &event, 1, told ? 0 : PATIENCE) == 1) {
        if (event.type != HD_EVENT_SENT)
            continue; /* the stream's end */
        assert_int_equal(event.user, user);
        told++;
    }
    return told;
}

/* Of a stream that is up, with a queue that is or that is gone. */
static void a_lost_link_ends_sends_once(void **state)
{
    (void)state;
    for (int without_queue = 0; without_queue < 2; without_queue++) {
        struct pair pair;
        hd_stream *client, *server;
        hd_queue *queue;
        hd_buf *buf;
        pair_open(&pair, NULL);
        assert_ok(hd_queue_create(pair.a, &queue));
        struct hd_stream_params read = {.size = sizeof(read), .queue = queue, .protocol = HD_PROTOCOL_READ};
        struct hd_stream_params deferred = {.size = sizeof(deferred), .deferred = true};
        pair_stream(&pair, &read, &client, &server);
        assert_ok(hd_stream_configure(server, &deferred));
        assert_ok(hd_buf_alloc(pair.a, 1 << 20, &buf));
        fill(hd_buf_data(buf), 1 << 20, 3);
        assert_ok(hd_send_buf_event(client, buf, 0, 1 << 20, 5, PATIENCE));
        if (without_queue)
            hd_queue_destroy(queue);
        hd_link_close(pair.client);
        if (!without_queue)
            assert_int_equal(sends_told(queue, 5), 1);
        hd_stream_close(client);
        hd_stream_close(server);
        hd_buf_unref(buf);
        if (!without_queue)
            hd_queue_destroy(queue);
        pair_close(&pair);
    }
}

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

static void answers_are_timed_where_the_stream_was_opened(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    const size_t below_16ms = 16, all = HD_TIMES - 1;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 64, 1);
    exchange(client, server, 64, 2);
    assert_int_equal(timed(pair.client, &pair.client->times.answers, all), 0);
    usleep(20000);
    exchange(server, client, 64, 3); /* since the first of the two */
    assert_int_equal(timed(pair.client, &pair.client->times.answers, all), 1);
    assert_int_equal(timed(pair.client, &pair.client->times.answers, below_16ms), 0);
    exchange(server, client, 64, 4); /* to no question */
    assert_int_equal(timed(pair.client, &pair.client->times.answers, all), 1);
    exchange(client, server, 600000, 5);
    exchange(server, client, 600000, 6);
    assert_int_equal(timed(pair.client, &pair.client->times.answers, all), 2);
    assert_int_equal(timed(pair.server, &pair.server->times.answers, all), 0);
    assert_int_equal(counter(pair.a, "links.failed"), 0); /* and what is shown is up to date */
    uint64_t shown = 0;
    const _Atomic uint64_t *first = (void *)((char *)pair.client->shown + offsetof(struct hd_link_counters, answers));
    for (size_t i = 0; i < HD_TIMES; i++)
        shown += atomic_load(first + i);
    assert_int_equal(shown, 2);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
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
    assert_ptr_equal(client.link, pair.a == pair.b ? pair.client : pair.server);
    hd_link_put(client.link);
    hd_link_put(server.link);
    close(fds[0]);
    close(fds[1]);
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

static void a_transports_share_is_counted(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    static const char *const all[] = {"self", "shm", "verbs", "udapl"};
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 100, 1);
    exchange(client, server, 1000000, 2);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        bool used = strcmp(all[i], test_transport) == 0;
        char name[64];
        snprintf(name, sizeof(name), "%s.links.opened", all[i]);
        assert_int_equal(counter(pair.a, name) > 0, used);
        snprintf(name, sizeof(name), "%s.messages.sent", all[i]);
        await_counter(pair.a, name, used ? 2 : 0);
        snprintf(name, sizeof(name), "%s.messages.received", all[i]);
        await_counter(pair.b, name, used ? 2 : 0);
        snprintf(name, sizeof(name), "%s.bytes.received", all[i]);
        assert_true(used ? counter(pair.b, name) >= 1000100 : counter(pair.b, name) == 0);
    }
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transports_share_is_counted),
        cmocka_unit_test(messages_of_all_sizes_by_read),
        cmocka_unit_test(messages_of_all_sizes_by_write),
        cmocka_unit_test(messages_of_all_sizes_by_copy),
        cmocka_unit_test(messages_with_smallest_limits),
        cmocka_unit_test(streams_take_turns_at_all_lengths),
        cmocka_unit_test(the_protocol_is_counted),
        cmocka_unit_test(what_links_count_is_added_up),
        cmocka_unit_test(auto_goes_by_size),
        cmocka_unit_test(deferred_messages_of_all_sizes),
        cmocka_unit_test(a_deferred_message_takes_no_memory_before_it_is_read),
        cmocka_unit_test(a_deferred_message_is_received_without_waiting),
        cmocka_unit_test(a_deferred_message_that_nobody_reads_is_given_back),
        cmocka_unit_test(a_lost_link_takes_deferred_messages_along),
        cmocka_unit_test(many_large_deferred_messages_stay_within_reach),
        cmocka_unit_test(a_copier_that_waits_does_not_hold_the_link_up),
        cmocka_unit_test(readers_share_deferred_messages),
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
        cmocka_unit_test(pieces_arrive_as_one_message),
        cmocka_unit_test(the_end_of_a_send_is_told),
        cmocka_unit_test(a_lost_link_ends_sends_once),
        cmocka_unit_test(answers_are_timed_where_the_stream_was_opened),
        cmocka_unit_test(bytes_ignore_message_borders),
        cmocka_unit_test(a_second_connection_shares_the_link),
        cmocka_unit_test(an_idle_link_is_closed),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
