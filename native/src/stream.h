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

/* Something changed that a reader, or a writer, may wait for. */
void hd_stream_tell_reader(struct hd_stream *stream);
void hd_stream_tell_writer(struct hd_stream *stream);

/* Keeps a message's node for the next one. */
void hd_msg_give(struct hd_link *link, struct hd_msg *msg);
/* Frees the first message; its buffer is the caller's. */
void hd_stream_drop_first(struct hd_stream *stream);

#endif
