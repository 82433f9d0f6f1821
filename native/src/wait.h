/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_WAIT_H
#define HD_WAIT_H

#include "link.h"

/* Says, under the link's lock, whether a thread may go on: 1 yes, 0 not yet, or an error. */
typedef int (*hd_ready_fn)(struct hd_stream *stream, void *arg);

/* Waits for something on a stream, under its link's lock, which is given up meanwhile. One waiting thread of a link
 * polls it: it spins for a while, then sleeps on the transport itself, so that what arrives wakes it without a
 * hand-over. The others sleep until it delivers something to them or leaves.
 * @return 0, an error of `ready`, -EAGAIN, -ETIMEDOUT or -EINTR. */
int hd_stream_wait(struct hd_stream *stream, hd_ready_fn ready, void *arg, struct hd_patience *patience);

/* The same for something to read: a message that nobody is taking, or the end. */
int hd_stream_wait_readable(struct hd_stream *stream, struct hd_patience *patience);

#endif
