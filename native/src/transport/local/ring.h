/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_RING_H
#define HD_RING_H

/*
 * A pair of frame rings in memory that both ends of a link see: the common part of the self and shm transports.
 *
 * Each direction has one producer and one consumer (the link locks see to that). Positions count bytes and never wrap;
 * a record is a struct hd_frame, its payload, and padding to 32 bytes, and does not cross the end of the ring. The
 * other end may be hostile: positions and lengths read from shared memory are copied once, then checked.
 *
 * Waking the consumer costs the producer a fence and a load unless the consumer asked for it in `notify`.
 */

#include "transport/transport.h"

enum { HD_NOTIFY_FUTEX = 1, HD_NOTIFY_EVENT = 2 };

struct hd_channel {
    _Alignas(HD_CACHE_LINE) _Atomic uint64_t tail; /* written by the producer */
    _Alignas(HD_CACHE_LINE) _Atomic uint64_t head; /* written by the consumer */
    _Alignas(HD_CACHE_LINE) _Atomic uint32_t notify;
    _Atomic uint32_t word;    /* futex: the consumer sleeps on it */
    _Atomic uint32_t closed;  /* the producer's end is closed */
    _Atomic uint32_t retired; /* the producer's end will not touch the consumer's memory any more */
};

struct hd_ring_segment {
    struct hd_channel channels[2]; /* 0: client to server */
    /* the rings follow */
};

struct hd_ring_ep {
    struct hd_ep base;
    struct hd_channel *tx, *rx;
    char *tx_data, *rx_data;
    size_t tx_size, rx_size;
    uint64_t tx_tail, tx_head_seen, rx_head;
    int event_fd, peer_event_fd;
    bool shared; /* with another process */
};

#define HD_RING_MAX ((size_t)64 << 20) /* a peer names our ring's measure: this bounds what that costs us */

/* Bytes of a ring that has room for the frames that credits allow, and of a segment with two of them. Where that would
 * be more than HD_RING_MAX, a send may find the ring full. */
size_t hd_ring_size(const struct hd_limits *consumer);
size_t hd_ring_segment_size(const struct hd_limits *client, const struct hd_limits *server);

/* The same, for a table of transports. */
size_t hd_ring_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers);

/* Lays an endpoint over a zeroed segment. */
void hd_ring_attach(struct hd_ring_ep *ep, void *segment, bool is_client, const struct hd_ep_params *params);

bool hd_ring_peer_closed(const struct hd_ring_ep *ep);

/* Operations for tables of transports. */
int hd_ring_send(struct hd_ep *ep, const struct hd_frame *frame, const void *payload, hd_buf *owner);
int hd_ring_progress(struct hd_ep *ep, int budget);
bool hd_ring_pending(struct hd_ep *ep);
void hd_ring_wait(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout);
void hd_ring_wake(struct hd_ep *ep);
bool hd_ring_woken(struct hd_ep *ep);
bool hd_ring_arm(struct hd_ep *ep);
void hd_ring_disarm(struct hd_ep *ep);
int hd_ring_event_fd(struct hd_ep *ep);
void hd_ring_close(struct hd_ep *ep);

/* What a transport over rings has of them in its table. */
#define HD_RING_OPERATIONS                                                                                             \
    .cost = hd_ring_cost, .send = hd_ring_send, .progress = hd_ring_progress, .pending = hd_ring_pending,              \
    .relaxes = true, .wait = hd_ring_wait, .wake = hd_ring_wake, .woken = hd_ring_woken, .arm = hd_ring_arm,           \
    .disarm = hd_ring_disarm, .event_fd = hd_ring_event_fd

#endif
