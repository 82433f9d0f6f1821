/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_STREAM_H
#define HOWDAH_STREAM_H

/** @file
 * Streams: ordered, reliable sequences of messages in both directions. Opening one costs no round trip. A reader that
 * lags holds up its own stream only. The byte functions (hd_read, hd_write) ignore the borders of messages
 * and may be mixed with the message functions.
 *
 * One thread may send and another receive at the same time; several senders (or receivers) are served one message at a
 * time in no particular order.
 */
#include <sys/uio.h>

#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a message larger than the eager threshold moves. */
enum hd_protocol {
    HD_PROTOCOL_DEFAULT, /**< the option rendezvous.protocol */
    HD_PROTOCOL_READ,    /**< the receiver reads it from our memory: best for bulk that is pulled */
    HD_PROTOCOL_WRITE,   /**< we write it into the receiver's memory: best for pushes and ping-pong */
    HD_PROTOCOL_COPY     /**< through frames, copied at both ends; works everywhere */
};

struct hd_stream_params {
    size_t size;
    hd_queue *queue;           /**< READABLE and WRITABLE events go here; NULL: none */
    uint64_t user;             /**< given back in events */
    enum hd_protocol protocol; /**< falls back to COPY where the transport has no such operation */
    /** Messages that come by READ between processes of one host stay in the sender's memory until hd_read() copies
     * their bytes to where they are wanted, once instead of twice. For readers that come soon: if the sender exits
     * first, unread data is lost. */
    bool deferred;
};

/** Opens a stream to a service of the peer. `params` may be NULL. If the peer has no such service, later calls fail
 * with -ENOENT. @return -ESHUTDOWN: the link was retired while idle, connect again; -EMFILE: too many streams. */
HD_API int hd_stream_open(hd_link *link, const char *service, const struct hd_stream_params *params,
                          hd_stream **stream);

/** Changes queue, user, protocol and deferred; for accepted streams. If something waits to be taken, READABLE is
 * posted. */
HD_API int hd_stream_configure(hd_stream *stream, const struct hd_stream_params *params);

/** Sends one message (0 to message.max bytes). The bytes may be reused on return: a message that does not go at once is
 * copied, and if memory.limit leaves no room for that, waits for some. @return -ENOBUFS: there never will be. */
HD_API int hd_send(hd_stream *stream, const void *data, size_t length, int64_t timeout);

/** Sends `length` bytes of a buffer from `offset` as one message without copying large ones. They must stay as they
 *  are until the peer has them. Takes a reference of its own; once hd_buf_unref() by the caller leaves none, the buffer
 *  is reused after the peer has the bytes. */
HD_API int hd_send_buf(hd_stream *stream, hd_buf *buf, size_t offset, size_t length, int64_t timeout);

/** hd_send_buf() whose end is told: HD_EVENT_SENT with `user` in the stream's queue, once, when the engine does not
 * need the bytes any more. Small messages are copied, so theirs comes at once. Not after an error.
 *  @return -EINVAL: the stream has no queue. */
HD_API int hd_send_buf_event(hd_stream *stream, hd_buf *buf, size_t offset, size_t length, uint64_t user,
                             int64_t timeout);

/** Sends `count` pieces, one after the other, as one message. The bytes may be reused on return: they are gathered in a
 * buffer of the engine's, which large messages move from without another copy. */
HD_API int hd_sendv(hd_stream *stream, const struct iovec *pieces, size_t count, int64_t timeout);

/** Takes the next message; the buffer is the caller's to release. @return 0, or 1 at the peer's end of the stream
 *  (`msg` is not set then). A stream that was lost (-ECONNRESET ...) first gives what had arrived whole. */
HD_API int hd_recv(hd_stream *stream, hd_buf **msg, int64_t timeout);

/** Reads 1 to `length` bytes. @return the number, 0 at the end of the stream. */
HD_API ssize_t hd_read(hd_stream *stream, void *data, size_t length, int64_t timeout);

/** Takes bytes that are not to be copied by memcpy(): into a garbage collector's heap, say. */
struct hd_copier {
    /** `length` bytes, which are those from `at` of the ones that are read. They may change under its hands and count
     * only once the read has returned. Must not call the engine. */
    void (*copy)(void *arg, size_t at, const void *from, size_t length);
    void *arg;
};

/** The same through a copier, which may be called several times. */
HD_API ssize_t hd_read_through(hd_stream *stream, const struct hd_copier *copier, size_t length, int64_t timeout);

/** Writes all bytes, in messages of the engine's choice. @return the number written, less than `length` if the timeout
 * or hd_stream_wake() came in between; an error only if nothing was written. */
HD_API ssize_t hd_write(hd_stream *stream, const void *data, size_t length, int64_t timeout);

/** Bytes that hd_read() can take without waiting. */
HD_API size_t hd_available(hd_stream *stream);

/** Bytes of the next message if they are in the sender's memory yet (hd_stream_params.deferred): hd_read() is the
 * better way to take them, while hd_recv() moves the message first, and finds none without waiting. Else 0. */
HD_API size_t hd_offered(hd_stream *stream);

/** Says that nothing more will be sent; receiving goes on. */
HD_API int hd_stream_finish(hd_stream *stream);

/** Closes the stream and releases the handle; waiting calls of other threads must have ended (hd_stream_wake() helps).
 *  Messages already sent are still delivered if the peer reads them, and then the end of the stream. If something that
 * the peer sent was not taken, or it sends more, it gets -ECONNRESET. */
HD_API void hd_stream_close(hd_stream *stream);

/** Makes one current or the next waiting call on the stream return -EINTR. Async-signal unsafe. */
HD_API void hd_stream_wake(hd_stream *stream);

/** The link that carries the stream; no new reference, valid as long as the stream. */
HD_API hd_link *hd_stream_link(hd_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
