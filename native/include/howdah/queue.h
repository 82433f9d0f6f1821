/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_QUEUE_H
#define HOWDAH_QUEUE_H

/** @file
 * Event queues: how asynchronous results reach the program. Each object has at most one event of a kind in a queue, so
 * a queue needs no memory of its own and never overflows.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hd_event_type {
    HD_EVENT_STREAM = 1, /**< a peer opened a stream to a service; `stream` is the program's to close */
    HD_EVENT_READABLE,   /**< a stream has a message, its end, or an error to take; posted anew only after hd_recv()
                              or hd_read() returned -EAGAIN */
    HD_EVENT_WRITABLE,   /**< a stream that refused a send with -EAGAIN has room, or failed */
    HD_EVENT_FETCH,      /**< a peer wants a block; answer `fetch` with one of the hd_fetch_reply functions */
    HD_EVENT_FETCHED,    /**< a fetch of ours ended; `status` is 0 or a negative errno */
    HD_EVENT_SENT /**< the bytes of hd_send_buf_event() may be changed; `status` is 0, or why the peer does not have
                       them; `stream` is NULL, as it may be closed by now */
};

struct hd_event {
    uint32_t type;
    int32_t status;
    uint64_t user; /**< what the program gave with the service, stream or fetch */
    hd_stream *stream;
    hd_fetch *fetch;
};

HD_API int hd_queue_create(hd_engine *engine, hd_queue **queue);

/** Frees the queue. Services, streams and fetches that still post to it lose their events. No thread may be waiting. */
HD_API void hd_queue_destroy(hd_queue *queue);

/** Takes up to `max` events, waiting for the first one. The waiting thread drives the engine while it spins.
 *  @return number of events (>= 1), or -EAGAIN, -ETIMEDOUT, -EINTR, -ESHUTDOWN. */
HD_API int hd_queue_wait(hd_queue *queue, struct hd_event *events, size_t max, int64_t timeout);

/** A descriptor for poll(), epoll and selectors: it is readable while the queue has events, after hd_queue_wake(), and
 * when the engine is closed. Before a program sleeps on it, it calls hd_queue_wait() with a timeout of 0 until that
 * returns -EAGAIN; each such call also drives the engine. The descriptor is the queue's, which closes it.
 *  @return the descriptor, always the same, or -errno. */
HD_API int hd_queue_fd(hd_queue *queue);

/** Makes one current or the next hd_queue_wait() return -EINTR. */
HD_API void hd_queue_wake(hd_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
