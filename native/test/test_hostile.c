/* SPDX-License-Identifier: Apache-2.0 */

/* What a peer can do to others and to us: nothing beyond its own link. */

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "proto/stream/stream.h"
#include "support.h"

/* ---- a peer that sends without end ---- */

/*
 * The transport under test with one endpoint whose frames never end. Whoever serves it calls us, again and again; that
 * is when a ping is sent over another link, and when we count how often we are called before it arrives. So turns are
 * counted and no clock decides.
 */
#define GIVE_UP 100000 /* calls: then the flood ends, and the test has failed */

static struct {
    struct hd_transport_ops ops;
    const struct hd_transport_ops *real;
    _Atomic(struct hd_ep *) flooded, pinged;
    atomic_bool endless;
    _Atomic unsigned calls; /* of the flooded endpoint, while a ping is on its way */
    _Atomic unsigned longest, pings, delivered;
    hd_stream *_Atomic ping;
    _Atomic(struct hd_link *) pinged_link;
    atomic_bool only_waiters;        /* count calls of threads that wait on a queue only */
    hd_stream *_Atomic interrupted;  /* to be interrupted by the flood */
    _Atomic(struct hd_ep *) stopped; /* takes nothing, as if its process stood still */
    atomic_bool put_waits, putting;  /* writes into the peer's memory wait; one does */
    _Atomic unsigned puts;
} flood;

static bool floods(const struct hd_ep *ep)
{
    return atomic_load(&flood.endless) && ep == atomic_load(&flood.flooded) && atomic_load(&flood.calls) < GIVE_UP;
}

static _Thread_local bool waits_on_queue;

/* Whether the thread that calls could serve the pinged link. It could not while another one does; and one that the
 * system has stopped after it took over that link, and before it took over the flooded one, is not held up by a flood.
 */
static bool could_serve(void)
{
    struct hd_link *link = atomic_load(&flood.pinged_link);
    if (atomic_load(&flood.only_waiters) && !waits_on_queue)
        return false;
    if (link && !hd_trylock(&link->lock))
        return false;
    if (link)
        hd_unlock(&link->lock);
    return true;
}

static void called(void)
{
    hd_stream *ping = atomic_load(&flood.ping), *interrupted = atomic_exchange(&flood.interrupted, NULL);
    if (interrupted)
        atomic_store(&interrupted->waiter.interrupted, true); /* as hd_stream_wake(), whose lock is held */
    if (ping && atomic_load(&flood.delivered) == atomic_load(&flood.pings)) {
        if (hd_send(ping, "p", 1, 0) == 0) /* or there are no credits yet */
            atomic_fetch_add(&flood.pings, 1);
        atomic_store(&flood.calls, 0);
        return;
    }
    if (!could_serve())
        return;
    unsigned calls = atomic_fetch_add(&flood.calls, 1) + 1;
    if (calls > atomic_load(&flood.longest))
        atomic_store(&flood.longest, calls);
}

static int flood_progress(struct hd_ep *ep, int budget)
{
    if (ep == atomic_load(&flood.stopped))
        return 0;
    int count = flood.real->progress(ep, budget);
    if (ep == atomic_load(&flood.pinged) && count > 0)
        atomic_fetch_add(&flood.delivered, (unsigned)count);
    if (count < 0 || !floods(ep))
        return count;
    called();
    return budget;
}

static int flood_get(struct hd_ep *ep, const struct hd_rma *rma)
{
    if (ep == atomic_load(&flood.flooded))
        called();
    return flood.real->get(ep, rma);
}

static int flood_put(struct hd_ep *ep, const struct hd_rma *rma)
{
    bool copies = ep->caps & HD_CAP_COPY;
    atomic_fetch_add(&flood.puts, 1);
    if (copies)
        ep->sink.unlock(ep->sink.arg);
    for (; atomic_load(&flood.put_waits); usleep(1000))
        atomic_store(&flood.putting, true);
    if (copies)
        ep->sink.lock(ep->sink.arg);
    return flood.real->put(ep, rma);
}

static bool flood_pending(struct hd_ep *ep)
{
    return floods(ep) || (ep != atomic_load(&flood.stopped) && flood.real->pending(ep));
}

static bool flood_look(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, unsigned times)
{
    return floods(ep) || (ep != atomic_load(&flood.stopped) && flood.real->look(ep, word, seen, times));
}

static bool flood_arm(struct hd_ep *ep)
{
    return !floods(ep) && (ep == atomic_load(&flood.stopped) || flood.real->arm(ep));
}

/* Two links between two engines; the second one's server end is where pings arrive. */
struct links {
    struct pair pair;
    struct hd_connect_result client, server;
    int fds[2];
    hd_stream *from, *to, *ping, *pong;
};

/* Endpoints take the device's operations when they are made, so this comes before there are any. */
static void put_in_front(hd_engine *engine)
{
    struct hd_device *device = engine->devices[0];
    if (device->ops == &flood.ops)
        return;
    flood.real = device->ops;
    flood.ops = *device->ops;
    flood.ops.progress = flood_progress;
    flood.ops.get = flood_get;
    flood.ops.put = flood_put;
    flood.ops.pending = flood_pending;
    flood.ops.look = flood_look;
    flood.ops.arm = flood_arm;
    device->ops = &flood.ops;
}

static void forget(hd_link *link)
{
    hd_link_lock(link);
    memset(link->peer_id, 0xff, sizeof(link->peer_id)); /* or the next connection would share it */
    hd_link_unlock(link);
}

static void links_open(struct links *l, const char *const *options)
{
    memset(l, 0, sizeof(*l));
    memset(&flood, 0, sizeof(flood));
    pair_make(&l->pair, options);
    put_in_front(l->pair.b);
    pair_link(&l->pair);
    pair_stream(&l->pair, NULL, &l->from, &l->to);
    forget(l->pair.client);
    forget(l->pair.server);
    test_sockets(l->fds);
    assert_ok(pair_connect(l->pair.a, l->pair.b, l->fds, &l->client, &l->server));
    assert_int_equal(l->client.outcome, HD_LINKED);
    assert_false(l->client.shared);
    assert_ok(hd_stream_open(l->client.link, "test", NULL, &l->ping));
    l->pong = next_event(l->pair.queue, HD_EVENT_STREAM).stream;
    atomic_store(&flood.pinged, l->server.link->ep);
    atomic_store(&flood.pinged_link, l->server.link);
    for (bool armed = false; !armed; usleep(1000)) { /* it is after poll.handover; nothing is to depend on that */
        hd_link_lock(l->server.link);
        armed = l->server.link->comm.armed;
        hd_link_unlock(l->server.link);
    }
}

static void links_close(struct links *l)
{
    atomic_store(&flood.endless, false);
    atomic_store(&flood.ping, NULL);
    atomic_store(&flood.pinged_link, NULL);
    hd_stream *streams[] = {l->from, l->to, l->ping, l->pong};
    for (int i = 0; i < 4; i++)
        hd_stream_close(streams[i]);
    hd_link_put(l->client.link);
    hd_link_put(l->server.link);
    pair_close(&l->pair);
    close(l->fds[0]);
    close(l->fds[1]);
}

/* From now on; the message makes somebody look at the link. */
static void start_flood(struct links *l)
{
    atomic_store(&flood.delivered, 0);
    atomic_store(&flood.ping, l->ping);
    atomic_store(&flood.flooded, l->pair.server->ep);
    atomic_store(&flood.endless, true);
    assert_ok(hd_send(l->from, "x", 1, PATIENCE));
}

static void await_pings(unsigned count)
{
    for (int64_t end = hd_now() + PATIENCE; atomic_load(&flood.delivered) < count && hd_now() < end;)
        usleep(1000);
    assert_true(atomic_load(&flood.delivered) >= count);
    assert_in_range(atomic_load(&flood.longest), 0, 32); /* calls between a ping and its arrival */
}

static void a_flood_does_not_hold_up_other_links(void **state)
{
    (void)state;
    struct links l;
    links_open(&l, (const char *const[]){"poll.spin=0", NULL});
    start_flood(&l);
    await_pings(200);
    links_close(&l);
}

static void a_flood_does_not_hold_up_links_of_a_thread_that_lingers(void **state)
{
    (void)state;
    struct links l;
    links_open(&l, (const char *const[]){"poll.spin=1s", NULL});
    start_flood(&l);
    await_pings(200);
    links_close(&l);
}

static void *wait_for_event(void *arg)
{
    struct hd_event event;
    waits_on_queue = true;
    hd_queue_wait(arg, &event, 1, PATIENCE);
    return NULL;
}

static void a_flood_does_not_hold_up_who_waits_on_a_queue(void **state)
{
    (void)state;
    struct links l;
    pthread_t thread;
    hd_queue *queue;
    links_open(&l, (const char *const[]){"poll.spin=1s", NULL});
    assert_ok(hd_queue_create(l.pair.b, &queue));
    atomic_store(&flood.only_waiters, true);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_event, queue), 0);
    start_flood(&l);
    await_pings(200);
    hd_queue_wake(queue);
    pthread_join(thread, NULL);
    hd_queue_destroy(queue);
    links_close(&l);
}

static void a_flood_does_not_hold_up_who_waits_on_its_link(void **state)
{
    (void)state;
    struct links l;
    hd_buf *msg;
    links_open(&l, NULL);
    assert_ok(hd_send(l.from, "x", 1, PATIENCE));
    assert_ok(hd_recv(l.to, &msg, PATIENCE));
    hd_buf_unref(msg);
    atomic_store(&flood.interrupted, l.to);
    atomic_store(&flood.flooded, l.pair.server->ep);
    atomic_store(&flood.endless, true);
    assert_int_equal(hd_recv(l.to, &msg, PATIENCE), -EINTR);
    assert_true(atomic_load(&flood.longest) < GIVE_UP / 10);
    links_close(&l);
}

/* A block of 4 MB in chunks of 4 KB: copying it is the receiver's work. */
static void a_large_transfer_does_not_hold_up_other_links(void **state)
{
    (void)state;
    struct links l;
    links_open(&l, (const char *const[]){"poll.spin=0", "chunk.size=4k", NULL});
    if (!(l.pair.server->ep->caps & HD_CAP_COPY)) {
        links_close(&l);
        return; /* no copying here: the adapter's work */
    }
    atomic_store(&flood.ping, l.ping);
    atomic_store(&flood.flooded, l.pair.server->ep);
    send_filled(l.from, 4 << 20, 1);
    for (bool there = false; !there; usleep(1000)) { /* whoever asks by the API copies by himself */
        hd_link_lock(l.pair.server);
        there = l.to->rx_ready_bytes > 0;
        hd_link_leave(l.pair.server);
    }
    atomic_store(&flood.ping, NULL);
    recv_filled(l.to, 4 << 20, 1);
    assert_true(atomic_load(&flood.pings) > 8);
    assert_in_range(atomic_load(&flood.longest), 0, 32);
    links_close(&l);
}

/* ---- a peer that stands still ---- */

#define BLOCK ((size_t)1 << 20)

static hd_fetch *ask(hd_link *link, hd_queue *done, hd_buf *into)
{
    struct hd_fetch_params params = {
        .size = sizeof(params), .name = "block", .name_length = 5, .length = HD_FETCH_ALL, .into = into, .queue = done};
    hd_fetch *fetch;
    assert_ok(hd_fetch_start(link, "test", &params, &fetch));
    return fetch;
}

static void answer(struct pair *pair, int file)
{
    assert_ok(hd_fetch_reply_file(next_event(pair->queue, HD_EVENT_FETCH).fetch, file, 0, BLOCK));
}

static int file_of_one_block(void)
{
    char *data = calloc(1, BLOCK);
    int file = memfd_create("block", MFD_CLOEXEC);
    fill(data, BLOCK, 7);
    assert_int_equal(write(file, data, BLOCK), BLOCK);
    free(data);
    return file;
}

static void take_block(hd_queue *done)
{
    struct hd_event event = next_event(done, HD_EVENT_FETCHED);
    assert_int_equal(event.status, 0);
    assert_true(filled(hd_buf_data(hd_fetch_data(event.fetch)), BLOCK, 7));
    hd_fetch_release(event.fetch);
}

/* It asked for much more than the server has memory for. */
static void a_client_that_stands_still_leaves_memory_to_others(void **state)
{
    (void)state;
    enum { COUNT = 32 };
    const char *const options[] = {"memory.limit=8m", "memory.slab.size=1m", "chunk.size=128k", "link.credits=256",
                                   NULL};
    struct pair pair;
    memset(&flood, 0, sizeof(flood));
    pair_make(&pair, options);
    if (pair.a == pair.b) { /* with itself, an engine shares its memory */
        hd_queue_destroy(pair.queue);
        hd_engine_destroy(pair.a);
        return;
    }
    put_in_front(pair.a);
    pair_link(&pair);
    hd_engine *other = test_engine(options);
    struct hd_connect_result link;
    hd_queue *done, *others_done;
    int fds[2], file = file_of_one_block();
    assert_ok(hd_queue_create(pair.a, &done));
    assert_ok(hd_queue_create(other, &others_done));
    atomic_store(&flood.stopped, pair.client->ep);
    for (int i = 0; i < COUNT; i++)
        ask(pair.client, done, NULL);
    for (int i = 0; i < COUNT; i++)
        answer(&pair, file);
    test_sockets(fds);
    assert_ok(pair_connect(other, pair.b, fds, &link, NULL));
    for (int i = 0; i < 4; i++) {
        ask(link.link, others_done, NULL);
        answer(&pair, file);
        take_block(others_done);
    }
    assert_true(counter(pair.b, "memory.used.now") <= (4 << 20));
    atomic_store(&flood.stopped, NULL);
    for (int i = 0; i < COUNT; i++) /* it goes on, and misses nothing */
        take_block(done);
    await_counter(pair.b, "memory.used.now", 0);
    hd_link_put(link.link);
    hd_queue_destroy(done);
    hd_queue_destroy(others_done);
    hd_engine_destroy(other);
    pair_close(&pair);
    close(fds[0]);
    close(fds[1]);
    close(file);
}

/* ---- memory that goes back to the program ---- */

/* The link ends while the peer is about to write a block: the program hears of it when that is over. */
static void a_fetch_does_not_end_while_its_block_may_be_written(void **state)
{
    (void)state;
    struct pair pair;
    hd_queue *done;
    hd_buf *into;
    int file = file_of_one_block();
    memset(&flood, 0, sizeof(flood));
    pair_make(&pair, (const char *const[]){"rendezvous.protocol=write", NULL});
    put_in_front(pair.b);
    pair_link(&pair);
    assert_ok(hd_queue_create(pair.a, &done));
    assert_ok(hd_buf_alloc(pair.a, BLOCK, &into));
    bool ends = pair.client->ep->caps & HD_CAP_ENDS, copies = pair.client->ep->caps & HD_CAP_COPY;
    atomic_store(&flood.put_waits, ends);
    hd_fetch *fetch = ask(pair.client, done, into);
    answer(&pair, file);
    while (ends && !atomic_load(&flood.putting))
        usleep(1000);
    if (ends) {
        hd_link_close(pair.client);
        /* Elsewhere the adapter of this end refuses what comes later. */
        usleep(copies ? 100000 : 0);
        assert_false(copies &&
                     atomic_load(&done->filled)); /* who waits on a queue would serve the link, and stand there, too */
        atomic_store(&flood.put_waits, !copies);
        assert_int_equal(next_event(done, HD_EVENT_FETCHED).status, -ESHUTDOWN);
        atomic_store(&flood.put_waits, false);
        hd_fetch_release(fetch);
    } else { /* nobody but the peer itself could end that: it does not write there */
        take_block(done);
        assert_int_equal(atomic_load(&flood.puts), 0);
        ask(pair.client, done, NULL); /* but into memory that waits for it */
        answer(&pair, file);
        take_block(done);
        assert_true(atomic_load(&flood.puts) > 0);
    }
    hd_buf_unref(into);
    await_counter(pair.a, "memory.used.now", 0);
    hd_queue_destroy(done);
    pair_close(&pair);
    close(file);
}

/* ---- frames out of measure ---- */

/* As a peer could: around all checks of our own end. */
static void send_raw(hd_link *link, enum hd_frame_type type, uint16_t credits)
{
    hd_link_lock(link);
    struct hd_frame frame = {.type = (uint8_t)type, .credits = credits, .sequence = link->flow.tx_sequence++};
    assert_ok(link->ep->ops->send(link->ep, &frame, NULL, NULL));
    hd_link_unlock(link);
}

static void frames_that_cost_no_credits_are_limited(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    send_raw(pair.client, HD_FRAME_CREDIT, 0);
    assert_int_equal(hd_recv(server, &msg, PATIENCE), -EPROTO);
    assert_non_null(strstr(hd_last_error(), "credit frame"));
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_does_not_hold_up_other_links),
        cmocka_unit_test(a_flood_does_not_hold_up_links_of_a_thread_that_lingers),
        cmocka_unit_test(a_flood_does_not_hold_up_who_waits_on_a_queue),
        cmocka_unit_test(a_flood_does_not_hold_up_who_waits_on_its_link),
        cmocka_unit_test(a_large_transfer_does_not_hold_up_other_links),
        cmocka_unit_test(a_client_that_stands_still_leaves_memory_to_others),
        cmocka_unit_test(a_fetch_does_not_end_while_its_block_may_be_written),
        cmocka_unit_test(frames_that_cost_no_credits_are_limited),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
