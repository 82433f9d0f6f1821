/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/local/ring.h"

#include <unistd.h>

#define RECORD 32
#define PAD    0xff /* frame type of a record that fills the ring up to its end */

static size_t record_size(size_t payload)
{
    return sizeof(struct hd_frame) + hd_align(payload, RECORD);
}

size_t hd_ring_size(const struct hd_limits *consumer)
{
    /* Credits, some credit frames on top, and what padding at the end may waste. */
    size_t bytes = (consumer->credits + 8) * record_size(consumer->frame_max), size = 65536;
    while (size < bytes && size < HD_RING_MAX)
        size *= 2;
    return size;
}

size_t hd_ring_segment_size(const struct hd_limits *client, const struct hd_limits *server)
{
    return sizeof(struct hd_ring_segment) + hd_ring_size(client) + hd_ring_size(server);
}

size_t hd_ring_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers)
{
    (void)device;
    return hd_ring_segment_size(peers, mine);
}

void hd_ring_attach(struct hd_ring_ep *ep, void *memory, bool is_client, const struct hd_ep_params *params)
{
    struct hd_ring_segment *segment = memory;
    const struct hd_limits *server = is_client ? &params->peers : &params->mine;
    const struct hd_limits *client = is_client ? &params->mine : &params->peers;
    char *to_server = (char *)(segment + 1), *to_client = to_server + hd_ring_size(server);
    ep->tx = &segment->channels[is_client ? 0 : 1];
    ep->rx = &segment->channels[is_client ? 1 : 0];
    ep->tx_data = is_client ? to_server : to_client;
    ep->rx_data = is_client ? to_client : to_server;
    ep->tx_size = hd_ring_size(is_client ? server : client);
    ep->rx_size = hd_ring_size(is_client ? client : server);
    ep->tx_tail = ep->tx_head_seen = ep->rx_head = 0;
}

bool hd_ring_peer_closed(const struct hd_ring_ep *ep)
{
    return atomic_load_explicit(&ep->rx->closed, memory_order_acquire) != 0;
}

static void wake_consumer(struct hd_ring_ep *ep)
{
    uint32_t wanted = atomic_exchange(&ep->tx->notify, 0);
    if (wanted & HD_NOTIFY_FUTEX) {
        atomic_fetch_add(&ep->tx->word, 1);
        hd_futex_wake(&ep->tx->word, 1, ep->shared);
    }
    if (wanted & HD_NOTIFY_EVENT) {
        uint64_t one = 1;
        if (write(ep->peer_event_fd, &one, sizeof(one)) < 0) {
            /* full: it is readable anyway */
        }
    }
}

/* Wakes the consumer at the other end if it asked for that. */
static void ring_bell(struct hd_ring_ep *ep)
{
    atomic_thread_fence(memory_order_seq_cst); /* our tail before its notify; its notify before its look at the tail */
    if (atomic_load_explicit(&ep->tx->notify, memory_order_relaxed))
        wake_consumer(ep);
}

/* Room for `size` contiguous bytes, after a pad record if need be. (A ring's size is a power of two.) */
static int make_room(struct hd_ring_ep *ep, size_t size)
{
    size_t to_end = ep->tx_size - (ep->tx_tail & (ep->tx_size - 1));
    size_t need = size > to_end ? to_end + size : size;
    if (ep->tx_size - (ep->tx_tail - ep->tx_head_seen) < need) {
        uint64_t head = atomic_load_explicit(&ep->tx->head, memory_order_acquire);
        if (ep->tx_tail - head > ep->tx_size)
            return hd_error(-EPROTO, "the peer damaged the ring");
        ep->tx_head_seen = head;
        if (ep->tx_size - (ep->tx_tail - head) < need)
            return -EAGAIN;
    }
    if (size > to_end) {
        struct hd_frame pad = {.type = PAD};
        memcpy(ep->tx_data + (ep->tx_tail & (ep->tx_size - 1)), &pad, sizeof(pad));
        ep->tx_tail += to_end;
    }
    return 0;
}

int hd_ring_send(struct hd_ep *base, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    (void)owner; /* the ring is what the peer reads */
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    size_t size = record_size(frame->length);
    int err = make_room(ep, size);
    if (err)
        return err;
    char *at = ep->tx_data + (ep->tx_tail & (ep->tx_size - 1));
    memcpy(at, frame, sizeof(*frame));
    if (frame->length)
        memcpy(at + sizeof(*frame), payload, frame->length);
    ep->tx_tail += size;
    atomic_store_explicit(&ep->tx->tail, ep->tx_tail, memory_order_release);
    ring_bell(ep);
    return 0;
}

/* Takes the record at rx_head. @return its size, 0 if it has to stay, or an error. */
static ssize_t take(struct hd_ring_ep *ep, uint64_t available)
{
    size_t at = ep->rx_head & (ep->rx_size - 1), to_end = ep->rx_size - at;
    struct hd_frame frame;
    memcpy(&frame, ep->rx_data + at, sizeof(frame));
    if (frame.type == PAD && to_end <= available)
        return (ssize_t)to_end;
    size_t size = record_size(frame.length);
    if (frame.length > ep->base.frame_rx || size > available || size > to_end)
        return hd_error(-EPROTO, "a frame in the ring has an impossible length");
    int err = ep->base.sink.frame(ep->base.sink.arg, &frame, ep->rx_data + at + sizeof(frame), NULL);
    return err == -ENOBUFS ? 0 : err ? err : (ssize_t)size;
}

int hd_ring_progress(struct hd_ep *base, int budget)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    bool closed = hd_ring_peer_closed(ep); /* before the tail: what was sent before closing is still taken */
    uint64_t tail = atomic_load_explicit(&ep->rx->tail, memory_order_acquire);
    if (tail - ep->rx_head > ep->rx_size || (tail & (RECORD - 1)))
        return hd_error(-EPROTO, "the peer damaged the ring");
    uint64_t first = ep->rx_head;
    int count = 0;
    ssize_t n = 0;
    while (count < budget && ep->rx_head != tail && (n = take(ep, tail - ep->rx_head)) > 0) {
        __atomic_store_n(&ep->rx_head, ep->rx_head + (uint64_t)n, __ATOMIC_RELAXED); /* for hd_ring_pending() */
        count++;
    }
    if (ep->rx_head != first)
        atomic_store_explicit(&ep->rx->head, ep->rx_head, memory_order_release);
    if (n < 0)
        return (int)n;
    if (closed && count == 0 && ep->rx_head == tail)
        return hd_error(-EPIPE, "the peer closed the link");
    return count;
}

bool hd_ring_pending(struct hd_ep *base)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    /* rx_head belongs to whoever holds the link's lock; a stale look only costs or saves a turn */
    return atomic_load_explicit(&ep->rx->tail, memory_order_acquire) !=
               __atomic_load_n(&ep->rx_head, __ATOMIC_RELAXED) ||
           hd_ring_peer_closed(ep);
}

void hd_ring_wait(struct hd_ep *base, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    uint32_t bell = atomic_load(&ep->rx->word);
    atomic_fetch_or(&ep->rx->notify, HD_NOTIFY_FUTEX);
    if (!hd_ring_pending(base) && atomic_load(word) == seen)
        hd_futex_wait(&ep->rx->word, bell, timeout, ep->shared);
    atomic_fetch_and(&ep->rx->notify, ~(uint32_t)HD_NOTIFY_FUTEX);
}

void hd_ring_wake(struct hd_ep *base)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    atomic_fetch_add(&ep->rx->word, 1);
    hd_futex_wake(&ep->rx->word, 1, ep->shared);
}

/* Who rings the bell takes the request for it away. */
bool hd_ring_woken(struct hd_ep *base)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    return atomic_load(&ep->rx->notify) == 0;
}

bool hd_ring_arm(struct hd_ep *base)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    atomic_fetch_or(&ep->rx->notify, HD_NOTIFY_EVENT);
    if (!hd_ring_pending(base))
        return true;
    hd_ring_disarm(base);
    return false;
}

void hd_ring_disarm(struct hd_ep *base)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    atomic_fetch_and(&ep->rx->notify, ~(uint32_t)HD_NOTIFY_EVENT);
}

int hd_ring_event_fd(struct hd_ep *base)
{
    return ((struct hd_ring_ep *)base)->event_fd;
}

void hd_ring_close(struct hd_ep *base)
{
    struct hd_ring_ep *ep = (struct hd_ring_ep *)base;
    atomic_store_explicit(&ep->tx->closed, 1, memory_order_release);
    ring_bell(ep);
}
