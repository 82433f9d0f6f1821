/* SPDX-License-Identifier: Apache-2.0 */

/* What arrives for streams, and taking it. */

#include "proto/stream/stream.h"

#include <stdlib.h>

#include "base/trace.h"
#include "progress/wait_path.h"

#define MSGS_KEPT 64 /* on each link */

static inline struct hd_msg *receive_msg_take(struct hd_link *link)
{
    struct hd_msg *msg = link->streams.free_msgs;
    if (!msg)
        return malloc(sizeof(*msg));
    link->streams.free_msgs = msg->next;
    link->streams.free_msg_count--;
    return msg;
}

void hd_msg_free_kept(struct hd_link *link)
{
    while (link->streams.free_msgs) {
        struct hd_msg *msg = link->streams.free_msgs;
        link->streams.free_msgs = msg->next;
        free(msg);
    }
}

void hd_msg_give(struct hd_link *link, struct hd_msg *msg)
{
    if (link->streams.free_msg_count >= MSGS_KEPT) {
        free(msg);
        return;
    }
    msg->next = link->streams.free_msgs;
    link->streams.free_msgs = msg;
    link->streams.free_msg_count++;
}

static inline struct hd_msg *receive_append(struct hd_stream *stream, size_t length)
{
    struct hd_msg *msg = receive_msg_take(stream->link);
    if (!msg)
        return NULL;
    *msg = (struct hd_msg){.length = length};
    *stream->rx_last = msg;
    stream->rx_last = &msg->next;
    stream->link->tally.messages_received++;
    return msg;
}

void hd_stream_drop_first(struct hd_stream *stream)
{
    struct hd_msg *msg = stream->rx_first;
    stream->rx_first = msg->next;
    if (!stream->rx_first)
        stream->rx_last = &stream->rx_first;
    stream->rx_offset = 0;
    hd_msg_give(stream->link, msg);
}

/* The stream that a frame of the peer is for. False with *err set if there never was one, or *err 0 if it was closed
 * here. */
static bool receive_expect(struct hd_link *link, uint32_t id, struct hd_stream **stream, int *err)
{
    *err = 0;
    *stream = hd_stream_lookup(link, id);
    if (*stream && !(*stream)->remote_error)
        return true;
    bool ours = (id & 1) == (link->initiator ? 1U : 0U);
    if (!*stream && (id == 0 || (ours ? id >= link->streams.next_id : id > link->streams.last_peer_id)))
        *err = hd_error(-EPROTO, "a frame for stream %u, which was never opened", id);
    if (*stream && (*stream)->remote_error)
        *err = hd_error(-EPROTO, "a frame for stream %u after its reset", id);
    return false;
}

static inline int receive_take_window(struct hd_stream *stream, size_t length)
{
    if (stream->remote_finished)
        return hd_error(-EPROTO, "a message on stream %u after its end", stream->id);
    if (stream->rx_window <= 0)
        return hd_error(-EPROTO, "a message on stream %u beyond its window", stream->id);
    stream->rx_window -= (int64_t)length + HD_MESSAGE_COST;
    return 0;
}

int hd_stream_on_data(struct hd_link *link, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    struct hd_stream *stream = link->streams.last_found;
    uint32_t id = frame->id;
    size_t length = frame->length;
    int err;
    if (!stream || stream->id != id || stream->remote_error) {
        if (!receive_expect(link, id, &stream, &err)) {
            if (!err)
                hd_link_control(link, HD_FRAME_RESET, id, ECONNRESET, NULL, 0);
            return err;
        }
        link->streams.last_found = stream;
    }
    hd_buf *buf;
    if (owner) {
        buf = hd_buf_ref_mine(owner);
        buf->data = (char *)payload;
        buf->length = length;
    } else {
        err = hd_arena_alloc(link->engine->arena, length ? length : 1, &buf);
        if (err)
            return -ENOBUFS;
        buf->length = length;
        memcpy(buf->data, payload, length);
    }
    err = receive_take_window(stream, length);
    struct hd_msg *msg = err ? NULL : receive_append(stream, length);
    if (!msg) {
        hd_buf_unref(buf);
        return err ? err : -ENOBUFS;
    }
    msg->buf = buf;
    HD_TRACE4(message_received, link, id, length, 0);
    hd_stream_message_ready(stream, msg);
    return 0;
}

/* Begins transfers in order, as far as the window allows their memory; the first one always may. */
void hd_stream_start_rndvs(struct hd_stream *stream)
{
    size_t held = 0;
    for (struct hd_msg *msg = stream->rx_first; msg; msg = msg->next) {
        if (msg->offer) /* takes no memory of ours */
            continue;
        if (msg != stream->rx_first && held + msg->length > stream->link->mine.window)
            return;
        held += msg->length;
        if (msg->rndv && msg->rndv->mode < 0 && hd_list_empty(&msg->rndv->node))
            hd_rndv_start(stream->link, msg->rndv);
    }
}

static int receive_rndv_memory(struct hd_link *link, struct hd_rndv *rndv)
{
    struct hd_msg *msg = rndv->part;
    int err = hd_arena_alloc(link->engine->arena, rndv->length, &rndv->buf);
    if (!err)
        msg->buf = hd_buf_ref(rndv->buf);
    return err;
}

static void receive_rndv_done(void *owner, void *part, size_t length, int error)
{
    struct hd_msg *msg = part;
    (void)length, (void)error;
    msg->rndv = NULL;
    hd_stream_message_ready(owner, msg);
}

static const struct hd_rndv_owner receive_owner = {.memory = receive_rndv_memory, .done = receive_rndv_done};

int hd_stream_on_rts(struct hd_link *link, uint32_t id, uint64_t handle, const struct hd_rts *rts)
{
    struct hd_stream *stream;
    int err;
    struct hd_rndv *rndv = hd_rndv_create(link, HD_RNDV_RX);
    if (!rndv)
        return -ENOBUFS;
    err = hd_rndv_accept(link, rndv, handle, rts);
    bool wanted = !err && receive_expect(link, id, &stream, &err);
    if (wanted)
        err = receive_take_window(stream, 0);
    if (wanted && !err && stream->deferred)
        err = hd_rndv_leave(link, rndv);
    if (err) {
        hd_rndv_free(link, rndv);
        return err;
    }
    if (!wanted) {
        hd_rndv_refuse(link, rndv, -ECANCELED);
        hd_link_control(link, HD_FRAME_RESET, id, ECONNRESET, NULL, 0);
        return 0;
    }
    struct hd_msg *msg = receive_append(stream, rts->length);
    if (!msg) {
        hd_rndv_refuse(link, rndv, -ENOMEM);
        hd_link_doom(link, -ECONNRESET, "out of memory");
        return 0;
    }
    msg->rendezvous = true;
    rndv->ops = &receive_owner;
    rndv->owner = stream;
    rndv->part = msg;
    rndv->stream_id = stream->id;
    if (rndv->held) {
        msg->offer = rndv;
        hd_stream_message_ready(stream, msg);
    } else {
        msg->rndv = rndv;
        hd_stream_start_rndvs(stream);
    }
    return 0;
}

int hd_stream_on_window(struct hd_link *link, uint32_t id, uint64_t bytes)
{
    struct hd_stream *stream;
    int err;
    if (!receive_expect(link, id, &stream, &err))
        return err;
    if (bytes == 0 || bytes > 1ULL << 40 || stream->tx_window + (int64_t)bytes > (int64_t)link->peers.window)
        return hd_error(-EPROTO, "the peer opens the window of stream %u beyond its size", id);
    stream->tx_window += (int64_t)bytes;
    hd_stream_tell_writer(stream);
    return 0;
}

int hd_stream_on_close(struct hd_link *link, uint32_t id)
{
    struct hd_stream *stream;
    int err;
    if (!receive_expect(link, id, &stream, &err))
        return err;
    if (stream->remote_finished)
        return hd_error(-EPROTO, "stream %u ends twice", id);
    stream->remote_finished = true;
    hd_stream_tell_reader(stream);
    return 0;
}

int hd_stream_on_reset(struct hd_link *link, uint32_t id, uint64_t error)
{
    struct hd_stream *stream;
    int err;
    bool known = receive_expect(link, id, &stream, &err);
    if (stream && stream->remote_error)
        return 0; /* each frame that found the stream gone was answered so */
    if (!known)
        return err;
    stream->remote_error = error > 0 && error < 4096 ? (int)error : ECONNRESET;
    hd_stream_tell_reader(stream);
    hd_stream_tell_writer(stream);
    return 0;
}

/* Gives window back in steps of half a window, so that it costs few frames. */
static inline void receive_took(struct hd_stream *stream, size_t bytes)
{
    struct hd_link *link = stream->link;
    stream->rx_taken += (int64_t)bytes;
    if (stream->rx_taken * 2 < (int64_t)link->mine.window || stream->remote_finished || stream->remote_error ||
        !hd_link_usable(link))
        return;
    stream->rx_window += stream->rx_taken;
    hd_link_control(link, HD_FRAME_WINDOW, stream->id, (uint64_t)stream->rx_taken, NULL, 0);
    stream->rx_taken = 0;
}

/* Something to read: a message that nobody is taking, or the end. */
static inline int receive_readable(void *arg)
{
    struct hd_stream *stream = arg;
    if (stream->rx_first)
        return hd_stream_first_is_ready(stream);
    if (stream->remote_finished)
        return 1;
    return hd_stream_is_lost(stream) || stream->remote_error ? hd_stream_failure(stream) : 0;
}

/* hd_wait() with `receive_readable` known here: out of the way of reads that find something. */
static __attribute__((noinline)) int receive_wait_readable(struct hd_stream *stream, struct hd_patience *patience)
{
    return hd_wait_until(stream->link, &stream->waiter, receive_readable, stream, patience);
}

/* Under the lock: 0 with a message at the front, 1 at the end, or an error. */
static inline int receive_await_message(struct hd_stream *stream, struct hd_patience *patience)
{
    int err = hd_stream_first_is_ready(stream) ? 0 : receive_wait_readable(stream, patience);
    if (err == -EAGAIN)
        stream->readable_wanted = true;
    return err ? err : stream->rx_first ? 0 : 1;
}

/* The first message is used up: its cost goes back, transfers behind it may begin. */
static inline void receive_finish_first(struct hd_stream *stream)
{
    size_t length = stream->rx_first->length;
    bool rendezvous = stream->rx_first->rendezvous;
    hd_stream_drop_first(stream);
    receive_took(stream, HD_MESSAGE_COST + (rendezvous ? 0 : length));
    if (stream->rx_first && hd_link_usable(stream->link))
        hd_stream_start_rndvs(stream);
}

/* What the peer offered is wanted in a buffer: an ordinary transfer. */
static void receive_move_first(struct hd_stream *stream)
{
    struct hd_msg *msg = stream->rx_first;
    msg->rndv = msg->offer;
    msg->offer = NULL;
    stream->rx_ready_bytes -= msg->length - stream->rx_offset;
    hd_stream_start_rndvs(stream);
}

int hd_recv(hd_stream *stream, hd_buf **out, int64_t timeout)
{
    hd_enter(stream->link->engine);
    struct hd_patience patience = hd_patience(timeout);
    hd_link_lock(stream->link);
    int err;
    while ((err = receive_await_message(stream, &patience)) == 0 && stream->rx_first->offer)
        receive_move_first(stream);
    if (!err) {
        struct hd_msg *msg = stream->rx_first;
        hd_buf *buf = msg->buf;
        stream->rx_ready_bytes -= msg->length - stream->rx_offset;
        buf->data += stream->rx_offset; /* what hd_read() left of it */
        buf->length = msg->length - stream->rx_offset;
        receive_finish_first(stream);
        *out = buf;
    }
    hd_link_unlock(stream->link);
    return err;
}

static void receive_copy_to_memory(void *arg, size_t at, const void *from, size_t length)
{
    memcpy((char *)arg + at, from, length);
}

/* A copier may have to wait: for a garbage collector, say. The link goes on meanwhile. */
static void receive_copy_unlocked(struct hd_link *link, const struct hd_copier *copier, size_t at, const void *from,
                                  size_t length)
{
    hd_link_release(link);
    copier->copy(copier->arg, at, from, length);
    hd_lock(&link->lock);
}

/* Copies of the first message. @return 0 or why the stream was lost meanwhile */
static int receive_take(struct hd_stream *stream, const struct hd_copier *copier, size_t at, size_t length)
{
    struct hd_link *link = stream->link;
    struct hd_msg *msg = stream->rx_first;
    bool offered = msg->offer;
    if (!offered && copier->copy == receive_copy_to_memory) {
        receive_copy_to_memory(copier->arg, at, msg->buf->data + stream->rx_offset, length);
        return 0;
    }
    stream->taking = true;
    if (offered)
        hd_rndv_take(link, msg->offer, stream->rx_offset, copier, at, length);
    else
        receive_copy_unlocked(link, copier, at, msg->buf->data + stream->rx_offset, length);
    stream->taking = false;
    if (stream->waiter.sleepers)
        hd_stream_notify(stream);
    return !offered || hd_link_usable(link) ? 0 : hd_stream_failure(stream);
}

/* All of the first message was read. */
static void receive_drop_read(struct hd_stream *stream)
{
    hd_buf *buf = stream->rx_first->buf;
    if (stream->rx_first->offer)
        hd_rndv_taken(stream->link, stream->rx_first->offer);
    receive_finish_first(stream);
    hd_buf_unref(buf);
}

ssize_t hd_read(hd_stream *stream, void *data, size_t length, int64_t timeout)
{
    struct hd_copier copier = {.copy = receive_copy_to_memory, .arg = data};
    return hd_read_through(stream, &copier, length, timeout);
}

ssize_t hd_read_through(hd_stream *stream, const struct hd_copier *copier, size_t length, int64_t timeout)
{
    hd_enter(stream->link->engine);
    if (length == 0)
        return 0;
    struct hd_patience patience = hd_patience(timeout), none = hd_patience(0);
    size_t done = 0, chunk = stream->link->engine->conf.chunk_size;
    int err;
    hd_link_lock(stream->link);
    while (done < length && (err = receive_await_message(stream, done ? &none : &patience)) == 0) {
        struct hd_msg *msg = stream->rx_first;
        size_t left = msg->length - stream->rx_offset, n = left < length - done ? left : length - done;
        if (msg->offer && n > chunk)
            n = chunk;
        err = receive_take(stream, copier, done, n);
        if (err)
            break;
        done += n;
        stream->rx_offset += n;
        stream->rx_ready_bytes -= n;
        if (stream->rx_offset == msg->length)
            receive_drop_read(stream);
    }
    hd_link_unlock(stream->link);
    return done ? (ssize_t)done : err < 0 ? err : 0;
}

size_t hd_offered(hd_stream *stream)
{
    hd_link_lock(stream->link);
    const struct hd_msg *msg = stream->rx_first;
    size_t bytes = msg && msg->offer ? msg->length - stream->rx_offset : 0;
    hd_link_unlock(stream->link);
    return bytes;
}

size_t hd_available(hd_stream *stream)
{
    hd_link_lock(stream->link);
    struct hd_link *link = stream->link;
    if (hd_link_usable(link) && link->ep->ops->pending(link->ep))
        hd_link_progress(link);
    size_t bytes = stream->rx_ready_bytes;
    hd_link_unlock(stream->link);
    return bytes;
}
