/* SPDX-License-Identifier: Apache-2.0 */

/* Sending messages, and waiting for what that takes: credits, window, memory. */

#include <sched.h>
#include <stdlib.h>

#include "base/trace.h"
#include "link/link_path.h"
#include "proto/stream/stream.h"
#include "progress/wait.h"

#define PAIR_MAX ((size_t)8 << 20)

/* Bytes that may be announced and not taken yet. At least two messages, as long as they are not huge: else the peer has
 * nothing to do while its answer to the first one is on its way, and we often sleep by then. */
static size_t send_most_announced(const struct hd_link *link, size_t length)
{
    size_t least = length <= PAIR_MAX / 2 ? 2 * length : length;
    return link->mine.window > least ? link->mine.window : least;
}

/* 1: a message of this size may go now; 0: later; or an error. */
static int send_sendable(struct hd_stream *stream, size_t length, bool eager)
{
    struct hd_link *link = stream->link;
    if (hd_stream_is_lost(stream) || stream->remote_error)
        return hd_stream_failure(stream);
    if (stream->finished)
        return hd_error(-ESHUTDOWN, "the stream was finished on this side");
    if (stream->tx_window <= 0)
        return 0;
    if (!eager && stream->rndv_out && stream->rndv_out + length > send_most_announced(link, length))
        return 0;
    return hd_link_can_send(link);
}

struct sending {
    struct hd_stream *stream;
    size_t length;
    bool eager;
    hd_buf *owner; /* of what is sent, NULL if it is not in a buffer */
};

static int send_wait_sendable(void *arg)
{
    const struct sending *s = arg;
    struct hd_stream *stream = s->stream;
    int ready = send_sendable(stream, s->length, s->eager);
    if (ready == 0 && stream->tx_window > 0 && hd_list_empty(&stream->tx_node))
        hd_list_add_tail(&stream->link->streams.tx_stalled, &stream->tx_node);
    return ready;
}

static int send_check_length(struct hd_stream *stream, size_t length)
{
    return length <= stream->link->peers.message_max
               ? 0
               : hd_error(-EMSGSIZE, "a message of %zu bytes; %s takes at most %llu", length, stream->link->peer,
                          (unsigned long long)stream->link->peers.message_max);
}

/* Under the lock: waits until the message may go. */
static int send_await_send(struct hd_stream *stream, size_t length, bool eager, struct hd_patience *patience)
{
    struct sending s = {.stream = stream, .length = length, .eager = eager};
    int ready = send_sendable(stream, length, eager);
    if (ready > 0)
        return 0;
    if (ready < 0)
        return ready;
    int stall = stream->tx_window > 0 ? HD_STALL_CREDITS : HD_STALL_WINDOW;
    if (stall == HD_STALL_CREDITS)
        hd_link_stalled(stream->link, credit_stalls);
    else
        hd_link_stalled(stream->link, window_stalls);
    HD_TRACE3(stall_begin, stream->link, stall, stream->id);
    stream->senders++;
    int err = hd_wait(stream->link, &stream->waiter, send_wait_sendable, &s, patience);
    stream->senders--;
    HD_TRACE3(stall_end, stream->link, stall, stream->id);
    if (err != -EAGAIN && !hd_list_empty(&stream->tx_node) && stream->waiter.sleepers == 0)
        hd_list_remove(&stream->tx_node);
    if (err == -EAGAIN)
        stream->writable_wanted = true;
    return err;
}

/* A refusal by the transport in spite of credits is rare; then it is tried again like a lack of credits. */
static int send_post_when_ready(struct hd_stream *stream, enum hd_frame_type type, uint64_t arg, const void *payload,
                                size_t length, const struct sending *s, struct hd_patience *patience)
{
    for (;;) {
        int err = send_await_send(stream, s->length, s->eager, patience);
        if (!err)
            err = hd_link_post_from(stream->link, type, stream->id, arg, payload, length, s->owner);
        if (err == -ECONNRESET && hd_stream_is_lost(stream))
            return hd_stream_failure(stream);
        if (err != -EAGAIN)
            return err;
        if (patience->timeout == 0) {
            stream->writable_wanted = true;
            if (hd_list_empty(&stream->tx_node))
                hd_list_add_tail(&stream->link->streams.tx_stalled, &stream->tx_node);
            return err;
        }
        hd_link_progress(stream->link);
        hd_link_unlock(stream->link); /* others need the link meanwhile, its end among them */
        sched_yield();
        hd_link_lock(stream->link);
        if (hd_expired(hd_due(patience)))
            return hd_error(-ETIMEDOUT, "%s: no room to send in time", stream->link->peer);
    }
}

/* What send_sendable() looks at, where nothing is in the way: the usual case. */
static inline bool send_free_to_go(const struct hd_stream *stream)
{
    return hd_link_usable(stream->link) && !stream->remote_error && !stream->finished && stream->tx_window > 0 &&
           hd_link_can_send(stream->link);
}

/* Not at once: out of the way of those that can. */
static __attribute__((noinline)) int send_later(struct hd_stream *stream, const void *data, size_t length,
                                                hd_buf *owner, int64_t timeout)
{
    struct sending s = {stream, length, true, owner};
    struct hd_patience patience = hd_patience(timeout);
    return send_post_when_ready(stream, HD_FRAME_DATA, 0, data, length, &s, &patience);
}

static inline int send_eager(struct hd_stream *stream, const void *data, size_t length, hd_buf *owner, int64_t timeout)
{
    struct hd_link *link = stream->link;
    hd_link_lock(link);
    uint64_t asked = hd_stream_asks(stream);
    int err = send_free_to_go(stream) ? hd_link_give(link, HD_FRAME_DATA, stream->id, 0, data, length, owner) : -EAGAIN;
    if (err)
        err = send_later(stream, data, length, owner, timeout);
    if (!err) {
        stream->tx_window -= (int64_t)length + HD_MESSAGE_COST;
        stream->asked = asked;
        link->tally.messages_eager++;
        HD_TRACE4(message_sent, link, stream->id, length, 0);
    }
    hd_link_unlock(link);
    return err;
}

static int send_wish_of(const struct hd_stream *stream, size_t length)
{
    return stream->protocol != HD_PROTOCOL_DEFAULT ? (int)stream->protocol : hd_rndv_wish(stream->link, length);
}

/* The peer has the message, or does not want it. */
static void send_rndv_done(void *owner, void *part, size_t length, int error)
{
    struct hd_stream *stream = owner;
    (void)part, (void)error;
    stream->rndv_out -= length;
    hd_stream_tell_writer(stream);
}

static const struct hd_rndv_owner send_owner = {.done = send_rndv_done};

static int send_rndv(struct hd_stream *stream, hd_buf *buf, size_t offset, size_t length, struct hd_sent *sent,
                     struct hd_patience *patience)
{
    struct hd_link *link = stream->link;
    struct sending s = {.stream = stream, .length = length};
    struct hd_rts rts;
    hd_link_lock(link);
    uint64_t asked = hd_stream_asks(stream);
    int err = send_await_send(stream, length, false, patience);
    struct hd_rndv *rndv = err ? NULL : hd_rndv_create(link, HD_RNDV_TX);
    if (!err && !rndv)
        err = -ENOMEM;
    if (rndv) {
        rndv->buf = hd_buf_ref(buf);
        rndv->offset = (size_t)(buf->data - buf->base) + offset;
        rndv->length = length;
        rndv->mode = HD_RNDV_UNSENT;
        uint32_t handle = rndv->handle;
        hd_rndv_describe(link, rndv, send_wish_of(stream, length), &rts);
        err = send_post_when_ready(stream, HD_FRAME_RTS, handle, &rts, sizeof(rts), &s, patience);
        if (err) {
            if (hd_table_get(&link->rndv.table, handle)) /* a link that ended while we waited took it along */
                hd_rndv_free(link, rndv);
        } else {
            rndv->mode = 0;
            rndv->ops = &send_owner;
            rndv->owner = stream;
            rndv->stream_id = stream->id;
            rndv->sent = sent;
            hd_list_add_tail(&stream->tx_rndvs, &rndv->siblings);
            stream->rndv_out += length;
            stream->tx_window -= HD_MESSAGE_COST;
            stream->asked = asked;
            link->tally.messages_large++;
            HD_TRACE4(message_sent, link, stream->id, length, handle);
        }
    }
    hd_link_unlock(link);
    return err;
}

/* ---- memory for a copy ---- */

struct wanting {
    struct hd_stream *stream;
    size_t length;
    hd_buf **buf;
};

static int send_wait_memory(void *arg)
{
    const struct wanting *w = arg;
    struct hd_stream *stream = w->stream;
    struct hd_link *link = stream->link;
    if (hd_stream_is_lost(stream) || stream->remote_error)
        return hd_stream_failure(stream);
    int err = hd_arena_alloc(link->engine->arena, w->length, w->buf);
    if (err != -ENOBUFS)
        return err ? err : 1;
    if (hd_list_empty(&stream->memory_node)) {
        hd_list_add_tail(&link->streams.memory_senders, &stream->memory_node);
        stream->memory_wanted = w->length;
    } else if (w->length < stream->memory_wanted) {
        stream->memory_wanted = w->length;
    }
    hd_link_hurry(link);
    return 0;
}

/* Waits for a buffer. What ends on this link wakes us at once, what others give back within a millisecond. */
static int send_await_memory(struct hd_stream *stream, size_t length, struct hd_patience *patience, hd_buf **buf)
{
    struct wanting w = {stream, length, buf};
    hd_link_lock(stream->link);
    hd_link_stalled(stream->link, memory_stalls);
    HD_TRACE3(stall_begin, stream->link, HD_STALL_MEMORY, stream->id);
    stream->memory_waiters++;
    stream->senders++;
    int err = hd_wait(stream->link, &stream->waiter, send_wait_memory, &w, patience);
    stream->senders--;
    HD_TRACE3(stall_end, stream->link, HD_STALL_MEMORY, stream->id);
    stream->memory_waiters--;
    if (err == -EAGAIN)
        stream->writable_wanted = true;
    else if (stream->memory_waiters == 0)
        hd_list_remove(&stream->memory_node);
    hd_link_unlock(stream->link);
    return err == -ETIMEDOUT ? hd_error(err, "no memory for a message of %zu bytes in time; raise %s", length,
                                        HD_KEY_PREFIX "memory.limit")
                             : err;
}

void hd_stream_retry_memory(struct hd_link *link)
{
    struct hd_list tried;
    hd_list_init(&tried);
    while (!hd_list_empty(&link->streams.memory_senders)) {
        struct hd_stream *stream = hd_container(link->streams.memory_senders.next, struct hd_stream, memory_node);
        hd_buf *buf;
        hd_list_remove(&stream->memory_node);
        if (hd_arena_alloc(link->engine->arena, stream->memory_wanted, &buf)) {
            hd_list_add_tail(&tried, &stream->memory_node);
        } else {
            hd_buf_unref(buf); /* whoever waits lines up again if it was taken meanwhile */
            hd_stream_tell_writer(stream);
        }
    }
    while (!hd_list_empty(&tried)) {
        struct hd_list *node = tried.next;
        hd_list_remove(node);
        hd_list_add_tail(&link->streams.memory_senders, node);
    }
}

/* As many streams as there are credits: the rest would find none. */
void hd_stream_wake_stalled(struct hd_link *link)
{
    uint32_t room = link->flow.tx_credits;
    while (room-- && hd_link_can_send(link) && !hd_list_empty(&link->streams.tx_stalled)) {
        struct hd_stream *stream = hd_container(link->streams.tx_stalled.next, struct hd_stream, tx_node);
        hd_list_remove(&stream->tx_node);
        hd_stream_notify(stream);
        if (stream->writable_wanted && hd_queue_post(stream->queue, &stream->writable))
            stream->writable_wanted = false;
    }
}

static int send_get_memory(struct hd_stream *stream, size_t length, struct hd_patience *patience, hd_buf **buf)
{
    struct hd_arena *arena = stream->link->engine->arena;
    int err = hd_arena_alloc(arena, length, buf);
    return err == -ENOBUFS && hd_arena_may_have(arena, length) ? send_await_memory(stream, length, patience, buf) : err;
}

/* Whether the range is in the buffer, and not too much for the peer. */
static inline int send_check_range(struct hd_stream *stream, const hd_buf *buf, size_t offset, size_t length)
{
    if (offset > buf->length || length > buf->length - offset)
        return hd_buf_no_range(buf, offset, length);
    return send_check_length(stream, length);
}

int hd_send_buf(hd_stream *stream, hd_buf *buf, size_t offset, size_t length, int64_t timeout)
{
    hd_enter(stream->link->engine);
    int err = send_check_range(stream, buf, offset, length);
    if (err)
        return err;
    if (length <= stream->link->eager_max)
        return send_eager(stream, buf->data + offset, length, buf, timeout);
    struct hd_patience patience = hd_patience(timeout);
    return send_rndv(stream, buf, offset, length, NULL, &patience);
}

int hd_send(hd_stream *stream, const void *data, size_t length, int64_t timeout)
{
    hd_enter(stream->link->engine);
    int err = send_check_length(stream, length);
    if (err)
        return err;
    if (length <= stream->link->eager_max)
        return send_eager(stream, data, length, NULL, timeout);
    struct hd_patience patience = hd_patience(timeout);
    hd_buf *buf;
    err = send_get_memory(stream, length, &patience, &buf);
    if (err)
        return err;
    memcpy(buf->data, data, length);
    err = send_rndv(stream, buf, 0, length, NULL, &patience);
    hd_buf_unref(buf);
    return err;
}

/* ---- sends whose end is told ---- */

static int send_promise(struct hd_stream *stream, uint64_t user, struct hd_sent **out)
{
    struct hd_sent *sent = calloc(1, sizeof(*sent));
    if (!sent)
        return hd_error(-ENOMEM, "out of memory");
    hd_list_init(&sent->event.link);
    sent->event.allocated = true;
    sent->event.event = (struct hd_event){.type = HD_EVENT_SENT, .user = user};
    hd_link_lock(stream->link);
    sent->queue = stream->queue ? hd_queue_ref(stream->queue) : NULL;
    hd_link_unlock(stream->link);
    if (!sent->queue) {
        free(sent);
        return hd_error(-EINVAL, "a stream without a queue has nowhere to tell that a message was sent");
    }
    *out = sent;
    return 0;
}

int hd_send_buf_event(hd_stream *stream, hd_buf *buf, size_t offset, size_t length, uint64_t user, int64_t timeout)
{
    hd_enter(stream->link->engine);
    struct hd_sent *sent = NULL;
    int err = send_check_range(stream, buf, offset, length);
    if (!err)
        err = send_promise(stream, user, &sent);
    if (err)
        return err;
    bool eager = length <= stream->link->eager_max;
    if (eager) { /* without an owner: copied */
        err = send_eager(stream, buf->data + offset, length, NULL, timeout);
    } else {
        struct hd_patience patience = hd_patience(timeout);
        err = send_rndv(stream, buf, offset, length, sent, &patience);
    }
    if (err) {
        hd_queue_unref(sent->queue);
        free(sent);
    } else if (eager) {
        hd_sent_end(sent, 0);
    }
    return err;
}

/* ---- pieces ---- */

#define GATHERED_ON_STACK 1024

static void send_gather(char *to, const struct iovec *pieces, size_t count)
{
    for (size_t i = 0; i < count; to += pieces[i++].iov_len)
        if (pieces[i].iov_len)
            memcpy(to, pieces[i].iov_base, pieces[i].iov_len);
}

static int send_gathered(struct hd_stream *stream, const struct iovec *pieces, size_t count, size_t length,
                         int64_t timeout)
{
    struct hd_patience patience = hd_patience(timeout);
    hd_buf *buf;
    int err = send_get_memory(stream, length, &patience, &buf);
    if (err)
        return err;
    send_gather(buf->data, pieces, count);
    buf->length = length;
    err = length <= stream->link->eager_max ? send_eager(stream, buf->data, length, buf, timeout)
                                            : send_rndv(stream, buf, 0, length, NULL, &patience);
    hd_buf_unref(buf);
    return err;
}

int hd_sendv(hd_stream *stream, const struct iovec *pieces, size_t count, int64_t timeout)
{
    hd_enter(stream->link->engine);
    char small[GATHERED_ON_STACK];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].iov_len > SIZE_MAX - length)
            return hd_error(-EMSGSIZE, "the lengths of the pieces add up to more than there is memory");
        length += pieces[i].iov_len;
    }
    int err = send_check_length(stream, length);
    if (err)
        return err;
    if (length > sizeof(small) || length > stream->link->eager_max)
        return send_gathered(stream, pieces, count, length, timeout);
    send_gather(small, pieces, count);
    return send_eager(stream, small, length, NULL, timeout);
}

ssize_t hd_write(hd_stream *stream, const void *data, size_t length, int64_t timeout)
{
    int64_t deadline = hd_deadline(timeout), left = timeout;
    size_t piece_max = stream->link->engine->conf.chunk_size, done = 0;
    if (piece_max < stream->link->eager_max)
        piece_max = stream->link->eager_max;
    while (done < length) {
        size_t n = length - done < piece_max ? length - done : piece_max;
        if (deadline > 0)
            left = deadline - hd_now();
        int err = deadline > 0 && left <= 0
                      ? hd_error(-ETIMEDOUT, "%s: not all was written in time", stream->link->peer)
                      : hd_send(stream, (const char *)data + done, n, left);
        if (err)
            return done ? (ssize_t)done : err;
        done += n;
    }
    return (ssize_t)done;
}
