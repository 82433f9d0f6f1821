/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_STREAM_H
#define HD_STREAM_H

/* What the files about streams share. All of it under the link's lock. */

#include <howdah/stream.h>

#include "link/link.h"
#include "core/queue.h"
#include "proto/rendezvous.h"

#define HD_MESSAGE_COST 64 /* bytes of window that a message takes besides its own */

/* One message in a stream's receive queue. */
struct hd_msg {
    struct hd_msg *next;
    hd_buf *buf; /* NULL until a rendezvous has one */
    size_t length;
    struct hd_rndv *rndv;  /* under way; NULL: ready */
    struct hd_rndv *offer; /* its bytes are in the peer's memory until somebody reads them: ready, too */
    bool rendezvous;       /* came by one: its bytes did not count against the window */
};

struct hd_stream {
    struct hd_link *link; /* a reference */
    struct hd_stream *next_in_bucket;
    uint32_t id;
    bool by_peer, in_table;
    char service[HD_SERVICE_MAX + 1];
    enum hd_protocol protocol;
    bool deferred;

    struct hd_msg *rx_first, **rx_last;
    size_t rx_offset;            /* taken of the first message */
    bool taking;                 /* a reader copies of it, without the lock: the others wait */
    size_t rx_ready_bytes;       /* of messages that are ready, for hd_available() */
    size_t rx_held;              /* bytes of buffers held for messages of the queue, rendezvous only */
    int64_t rx_window, rx_taken; /* what the peer may still send; what we took and did not tell */
    int64_t tx_window;
    size_t rndv_out; /* bytes of rendezvous under way */
    uint64_t asked;  /* hd_ticks() of the first message since the peer's last one; 0: none, or a stream of the peer's */
    struct hd_list tx_rndvs;
    bool finished, remote_finished;
    int remote_error; /* the peer reset the stream */

    struct hd_list tx_node;     /* link->streams.tx_stalled */
    struct hd_list memory_node; /* link->streams.memory_senders */
    size_t memory_wanted;       /* the least that a sender of this stream waits for */
    int memory_waiters;
    struct hd_waiter waiter;
    int senders; /* threads that wait to send */

    hd_queue *queue;
    uint64_t user;
    bool readable_wanted, writable_wanted;
    struct hd_event_node readable, writable, accepted;
    hd_queue *accept_queue; /* while `accepted` may be in it */
};

struct hd_stream *hd_stream_lookup(struct hd_link *link, uint32_t id);

/* Something changed that a thread on the stream may wait for. */
static inline void hd_stream_notify(struct hd_stream *stream)
{
    hd_waiter_notify(stream->link, &stream->waiter);
}

/* Tells senders that wait for memory that there is some. */
void hd_stream_retry_memory(struct hd_link *link);
/* There are credits: wakes as many senders as can use them. */
void hd_stream_wake_stalled(struct hd_link *link);
void hd_stream_start_rndvs(struct hd_stream *stream);
void hd_stream_lost(struct hd_link *link); /* tells all streams that the link is gone */
int hd_stream_on_open(struct hd_link *link, uint32_t id, const void *service, size_t length);
/* hd_link_hooks.frame */
int hd_stream_on_data(struct hd_link *link, const struct hd_frame *frame, const void *payload, hd_buf *owner);
int hd_stream_on_window(struct hd_link *link, uint32_t id, uint64_t bytes);
int hd_stream_on_close(struct hd_link *link, uint32_t id);
int hd_stream_on_reset(struct hd_link *link, uint32_t id, uint64_t error);
int hd_stream_on_rts(struct hd_link *link, uint32_t id, uint64_t handle, const struct hd_rts *rts);

static inline bool hd_stream_is_lost(const struct hd_stream *stream)
{
    return !hd_link_usable(stream->link);
}

/* Why the stream is of no use any more, as hd_last_error() and result: the peer reset it, or the link ended. */
int hd_stream_failure(struct hd_stream *stream);

/* Something to take: a whole message, the end, or an error behind them. */
static inline bool hd_stream_readable(const struct hd_stream *stream)
{
    if (stream->rx_first)
        return !stream->rx_first->rndv;
    return stream->remote_finished || stream->remote_error || hd_stream_is_lost(stream);
}

/* Tells the stream's queue, if it was asked for, that there is. */
void hd_stream_post_readable(struct hd_stream *stream);

/* Something changed that a reader, or a writer, may wait for. */
static inline void hd_stream_tell_reader(struct hd_stream *stream)
{
    hd_stream_notify(stream);
    if (stream->queue && hd_stream_readable(stream))
        hd_stream_post_readable(stream);
}
void hd_stream_tell_writer(struct hd_stream *stream);

/* When the peer is asked for an answer, if a message goes now. At its end the next message would say how long its
 * program thinks. */
static inline uint64_t hd_stream_asks(const struct hd_stream *stream)
{
    return stream->asked || stream->by_peer ? stream->asked : hd_ticks();
}

static inline void hd_stream_answered(struct hd_stream *stream)
{
    hd_link_time(stream->link, &stream->link->times.answers, stream->asked);
    stream->asked = 0;
}

/* A message became ready, or its rendezvous failed to. */
static inline void hd_stream_message_ready(struct hd_stream *stream, struct hd_msg *msg)
{
    if (stream->asked)
        hd_stream_answered(stream);
    stream->rx_ready_bytes += msg->length - (msg == stream->rx_first ? stream->rx_offset : 0);
    if (msg == stream->rx_first)
        hd_stream_tell_reader(stream);
}

/* Whether a reader can take the first message now. */
static inline bool hd_stream_first_is_ready(const struct hd_stream *stream)
{
    return stream->rx_first && !stream->rx_first->rndv && !stream->taking;
}

/* Frees the nodes kept for messages. */
void hd_msg_free_kept(struct hd_link *link);
/* Keeps a message's node for the next one. */
void hd_msg_give(struct hd_link *link, struct hd_msg *msg);
/* Frees the first message; its buffer is the caller's. */
void hd_stream_drop_first(struct hd_stream *stream);

#endif
