/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_STREAM_H
#define HD_STREAM_H

/* What the files about streams share. All of it under the link's lock. */

#include "link.h"

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

/* A message became ready, or its rendezvous failed to. */
static inline void hd_stream_message_ready(struct hd_stream *stream, struct hd_msg *msg)
{
    stream->rx_ready_bytes += msg->length - (msg == stream->rx_first ? stream->rx_offset : 0);
    if (msg == stream->rx_first)
        hd_stream_tell_reader(stream);
}

/* Whether a reader can take the first message now. */
static inline bool hd_stream_first_is_ready(const struct hd_stream *stream)
{
    return stream->rx_first && !stream->rx_first->rndv && !stream->taking;
}

/* Keeps a message's node for the next one. */
void hd_msg_give(struct hd_link *link, struct hd_msg *msg);
/* Frees the first message; its buffer is the caller's. */
void hd_stream_drop_first(struct hd_stream *stream);

#endif
