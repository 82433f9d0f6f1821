/* SPDX-License-Identifier: Apache-2.0 */

/* Streams: opening, sending, receiving, flow control, and what arrives for them. Waiting is in wait.c. */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "link.h"
#include "wait.h"

/* ---- the link's streams by id ---- */

struct hd_stream *hd_stream_lookup(struct hd_link *link, uint32_t id)
{
    struct hd_stream *stream = link->buckets[id / 2 % link->bucket_count];
    while (stream && stream->id != id)
        stream = stream->next_in_bucket;
    return stream;
}

static void rehash(struct hd_link *link)
{
    uint32_t count = 2 * link->bucket_count;
    struct hd_stream **buckets = calloc(count, sizeof(*buckets));
    if (!buckets)
        return; /* longer chains, nothing worse */
    for (uint32_t i = 0; i < link->bucket_count; i++)
        for (struct hd_stream *s = link->buckets[i], *next; s; s = next) {
            next = s->next_in_bucket;
            s->next_in_bucket = buckets[s->id / 2 % count];
            buckets[s->id / 2 % count] = s;
        }
    free(link->buckets);
    link->buckets = buckets;
    link->bucket_count = count;
}

static void insert(struct hd_link *link, struct hd_stream *stream)
{
    if (link->stream_count >= link->bucket_count)
        rehash(link);
    struct hd_stream **bucket = &link->buckets[stream->id / 2 % link->bucket_count];
    stream->next_in_bucket = *bucket;
    *bucket = stream;
    stream->in_table = true;
    link->stream_count++;
    link->peer_stream_count += stream->by_peer;
    hd_count(link->engine->stats, streams_now, 1);
    hd_count(link->engine->stats, streams_opened, 1);
}

static void take_out(struct hd_link *link, struct hd_stream *stream)
{
    struct hd_stream **at = &link->buckets[stream->id / 2 % link->bucket_count];
    while (*at != stream)
        at = &(*at)->next_in_bucket;
    *at = stream->next_in_bucket;
    stream->in_table = false;
    link->stream_count--;
    link->peer_stream_count -= stream->by_peer;
    link->idle_since = hd_now();
    hd_count(link->engine->stats, streams_now, -1);
}

static struct hd_stream *create(struct hd_link *link, uint32_t id, bool by_peer)
{
    struct hd_stream *stream = calloc(1, sizeof(*stream));
    if (!stream) {
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    stream->link = hd_link_ref(link);
    stream->id = id;
    stream->by_peer = by_peer;
    stream->rx_last = &stream->rx_first;
    stream->rx_window = (int64_t)link->mine.window;
    stream->tx_window = (int64_t)link->peers.window;
    stream->readable_wanted = true;
    struct hd_list *lists[] = {&stream->tx_rndvs,      &stream->tx_node,       &stream->sleep_node,
                               &stream->readable.link, &stream->writable.link, &stream->accepted.link};
    for (size_t i = 0; i < HD_COUNT(lists); i++)
        hd_list_init(lists[i]);
    stream->readable.event = (struct hd_event){.type = HD_EVENT_READABLE, .stream = stream};
    stream->writable.event = (struct hd_event){.type = HD_EVENT_WRITABLE, .stream = stream};
    stream->accepted.event = (struct hd_event){.type = HD_EVENT_STREAM, .stream = stream};
    insert(link, stream);
    return stream;
}

/* ---- telling the program ---- */

static void post_readable(struct hd_stream *stream)
{
    if (stream->readable_wanted && hd_queue_post(stream->queue, &stream->readable))
        stream->readable_wanted = false;
}

static bool lost(const struct hd_stream *stream)
{
    return !hd_link_usable(stream->link);
}

/* Something to take: a whole message, the end, or an error behind them. */
static bool readable(const struct hd_stream *stream)
{
    if (stream->rx_first)
        return !stream->rx_first->rndv;
    return stream->remote_finished || stream->remote_error || lost(stream);
}

static void tell_reader(struct hd_stream *stream)
{
    hd_stream_notify(stream);
    if (readable(stream))
        post_readable(stream);
}

static void tell_writer(struct hd_stream *stream)
{
    hd_stream_notify(stream);
    if (stream->writable_wanted && hd_queue_post(stream->queue, &stream->writable))
        stream->writable_wanted = false;
}

void hd_stream_message_ready(struct hd_stream *stream, struct hd_msg *msg)
{
    stream->rx_ready_bytes += msg->length;
    if (msg == stream->rx_first)
        tell_reader(stream);
}

static int failure(struct hd_stream *stream)
{
    if (stream->remote_error) {
        const char *why = stream->remote_error == ENOENT   ? "has no such service"
                          : stream->remote_error == EMFILE ? "does not accept more streams"
                                                           : "closed the stream";
        return hd_error(stream->remote_error == ENOENT || stream->remote_error == EMFILE ? -stream->remote_error
                                                                                         : -ECONNRESET,
                        "%s %s (%s)", stream->link->peer, why, stream->service);
    }
    return hd_link_failure(stream->link);
}

/* ---- opening ---- */

static void configure(struct hd_stream *stream, const struct hd_stream_params *params)
{
    hd_queue_cancel(stream->queue, &stream->readable);
    hd_queue_cancel(stream->queue, &stream->writable);
    hd_queue *old = stream->queue;
    stream->queue = params->queue ? hd_queue_ref(params->queue) : NULL;
    if (old)
        hd_queue_unref(old);
    stream->user = stream->readable.event.user = stream->writable.event.user = params->user;
    stream->protocol = params->protocol;
    stream->readable_wanted = true;
    if (readable(stream))
        post_readable(stream);
}

int hd_stream_configure(hd_stream *stream, const struct hd_stream_params *params)
{
    if (!params || params->size < sizeof(*params) || params->protocol > HD_PROTOCOL_COPY)
        return hd_error(-EINVAL, "stream parameters are missing or of another version");
    hd_link_lock(stream->link);
    configure(stream, params);
    hd_link_unlock(stream->link);
    return 0;
}

static int may_open(struct hd_link *link)
{
    if (link->state == HD_LINK_RETIRING || link->state == HD_LINK_RETIRED)
        return hd_error(-ESHUTDOWN, "the idle link to %s is being closed; connect again", link->peer);
    if (!hd_link_usable(link))
        return hd_link_failure(link);
    if (link->stream_count - link->peer_stream_count >= link->peers.stream_max)
        return hd_error(-EMFILE, "%s accepts no more than %u streams", link->peer, link->peers.stream_max);
    return link->next_id > UINT32_MAX - 2 ? hd_error(-EMFILE, "stream numbers of the link are used up; connect again")
                                          : 0;
}

int hd_stream_open(hd_link *link, const char *service, const struct hd_stream_params *params, hd_stream **out)
{
    hd_enter(link->engine);
    size_t length = service ? strlen(service) : 0;
    if (length == 0 || length > HD_SERVICE_MAX)
        return hd_error(-EINVAL, "a service name has 1 to %d bytes", HD_SERVICE_MAX);
    if (params && (params->size < sizeof(*params) || params->protocol > HD_PROTOCOL_COPY))
        return hd_error(-EINVAL, "stream parameters are of another version");
    hd_link_lock(link);
    int err = may_open(link);
    struct hd_stream *stream = err ? NULL : create(link, link->next_id, false);
    if (stream) {
        link->next_id += 2;
        memcpy(stream->service, service, length + 1);
        if (params)
            configure(stream, params);
        hd_link_control(link, HD_FRAME_OPEN, stream->id, 0, service, length);
    } else if (!err) {
        err = -ENOMEM;
    }
    hd_link_unlock(link);
    if (!err)
        *out = stream;
    return err;
}

int hd_stream_on_open(struct hd_link *link, uint32_t id, const void *service, size_t length)
{
    bool peers = (id & 1) != (link->initiator ? 1U : 0U);
    if (!peers || id == 0 || id <= link->last_peer_id)
        return hd_error(-EPROTO, "stream %u cannot be opened by the peer", id);
    link->last_peer_id = id;
    hd_queue *queue = NULL;
    uint64_t user;
    if (link->peer_stream_count >= link->mine.stream_max) {
        hd_link_control(link, HD_FRAME_RESET, id, EMFILE, NULL, 0);
        return 0;
    }
    if (!hd_service_find(link->engine, service, length, &queue, &user)) {
        hd_link_control(link, HD_FRAME_RESET, id, ENOENT, NULL, 0);
        return 0;
    }
    struct hd_stream *stream = create(link, id, true);
    if (stream) {
        memcpy(stream->service, service, length);
        stream->accepted.event.user = user;
        stream->accept_queue = queue;
    }
    if (!stream || !hd_queue_post(queue, &stream->accepted)) {
        hd_link_control(link, HD_FRAME_RESET, id, ENOENT, NULL, 0);
        if (stream) { /* its queue went away just now; free without the lock games of hd_stream_close() */
            take_out(link, stream);
            atomic_fetch_sub(&link->refs, 1); /* never the last: we run on this link */
            free(stream);
        }
        hd_queue_unref(queue);
    }
    return 0;
}

/* ---- sending ---- */

/* 1: a message of this size may go now; 0: later; or an error. */
static int sendable(struct hd_stream *stream, size_t length, bool eager)
{
    struct hd_link *link = stream->link;
    if (lost(stream) || stream->remote_error)
        return failure(stream);
    if (stream->finished)
        return hd_error(-ESHUTDOWN, "the stream was finished on this side");
    if (stream->tx_window <= 0)
        return 0;
    size_t limit = link->mine.window > length ? link->mine.window : length;
    if (!eager && stream->rndv_out && stream->rndv_out + length > limit)
        return 0;
    return hd_link_can_send(link);
}

struct sending {
    size_t length;
    bool eager;
};

static int wait_sendable(struct hd_stream *stream, void *arg)
{
    const struct sending *s = arg;
    int ready = sendable(stream, s->length, s->eager);
    if (ready == 0 && stream->tx_window > 0 && hd_list_empty(&stream->tx_node))
        hd_list_add_tail(&stream->link->tx_stalled, &stream->tx_node);
    return ready;
}

static int check_length(struct hd_stream *stream, size_t length)
{
    return length <= stream->link->peers.message_max
               ? 0
               : hd_error(-EMSGSIZE, "a message of %zu bytes; %s takes at most %llu", length, stream->link->peer,
                          (unsigned long long)stream->link->peers.message_max);
}

/* Under the lock: waits until the message may go. */
static int await_send(struct hd_stream *stream, size_t length, bool eager, int64_t deadline)
{
    struct sending s = {length, eager};
    int ready = sendable(stream, length, eager);
    if (ready > 0)
        return 0;
    if (ready < 0)
        return ready;
    hd_count(stream->link->engine->stats, credit_stalls, stream->tx_window > 0);
    hd_count(stream->link->engine->stats, window_stalls, stream->tx_window <= 0);
    int err = hd_stream_wait(stream, wait_sendable, &s, deadline);
    if (err != -EAGAIN && !hd_list_empty(&stream->tx_node) && stream->sleepers == 0)
        hd_list_remove(&stream->tx_node);
    if (err == -EAGAIN)
        stream->writable_wanted = true;
    return err;
}

/* A refusal by the transport in spite of credits is rare; then it is tried again like a lack of credits. */
static int post_when_ready(struct hd_stream *stream, enum hd_frame_type type, uint64_t arg, const void *payload,
                           size_t length, const struct sending *s, int64_t deadline)
{
    for (;;) {
        int err = await_send(stream, s->length, s->eager, deadline);
        if (!err)
            err = hd_link_post(stream->link, type, stream->id, arg, payload, length);
        if (err == -ECONNRESET && lost(stream))
            return failure(stream);
        if (err == -EAGAIN && deadline == 0)
            stream->writable_wanted = true;
        if (err == -EAGAIN && deadline == 0 && hd_list_empty(&stream->tx_node))
            hd_list_add_tail(&stream->link->tx_stalled, &stream->tx_node);
        if (err != -EAGAIN || deadline == 0)
            return err;
        hd_link_progress(stream->link);
        hd_link_unlock(stream->link); /* others need the link meanwhile, its end among them */
        sched_yield();
        hd_link_lock(stream->link);
        if (hd_expired(deadline))
            return hd_error(-ETIMEDOUT, "%s: no room to send in time", stream->link->peer);
    }
}

static int send_eager(struct hd_stream *stream, const void *data, size_t length, int64_t deadline)
{
    struct hd_link *link = stream->link;
    struct sending s = {length, true};
    hd_link_lock(link);
    int err = post_when_ready(stream, HD_FRAME_DATA, 0, data, length, &s, deadline);
    if (!err) {
        stream->tx_window -= (int64_t)length + HD_MESSAGE_COST;
        link->tally.messages_eager++;
    }
    hd_link_unlock(link);
    return err;
}

static int wish_of(const struct hd_stream *stream, size_t length)
{
    return stream->protocol != HD_PROTOCOL_DEFAULT ? (int)stream->protocol : hd_rndv_wish(stream->link, length);
}

static int send_rndv(struct hd_stream *stream, hd_buf *buf, size_t offset, size_t length, int64_t deadline)
{
    struct hd_link *link = stream->link;
    struct sending s = {length, false};
    struct hd_rts rts;
    hd_link_lock(link);
    int err = await_send(stream, length, false, deadline);
    struct hd_rndv *rndv = err ? NULL : hd_rndv_create(link, HD_RNDV_TX);
    if (!err && !rndv)
        err = -ENOMEM;
    if (rndv) {
        rndv->buf = hd_buf_ref(buf);
        rndv->offset = (size_t)(buf->data - buf->base) + offset;
        rndv->length = length;
        rndv->mode = HD_RNDV_UNSENT;
        uint32_t handle = rndv->handle;
        hd_rndv_describe(link, rndv, wish_of(stream, length), &rts);
        err = post_when_ready(stream, HD_FRAME_RTS, handle, &rts, sizeof(rts), &s, deadline);
        if (err) {
            if (hd_table_get(&link->rndvs, handle)) /* a link that ended while we waited took it along */
                hd_rndv_free(link, rndv);
        } else {
            rndv->mode = 0;
            rndv->stream = stream;
            hd_list_add_tail(&stream->tx_rndvs, &rndv->siblings);
            stream->rndv_out += length;
            stream->tx_window -= HD_MESSAGE_COST;
        }
    }
    hd_link_unlock(link);
    return err;
}

int hd_send_buf(hd_stream *stream, hd_buf *buf, size_t offset, size_t length, int64_t timeout)
{
    hd_enter(stream->link->engine);
    if (offset > buf->length || length > buf->length - offset)
        return hd_error(-EINVAL, "bytes %zu to %zu are not in a buffer of %zu", offset, offset + length, buf->length);
    int err = check_length(stream, length);
    if (err)
        return err;
    if (length <= stream->link->eager_max)
        return send_eager(stream, buf->data + offset, length, hd_deadline(timeout));
    return send_rndv(stream, buf, offset, length, hd_deadline(timeout));
}

int hd_send(hd_stream *stream, const void *data, size_t length, int64_t timeout)
{
    hd_enter(stream->link->engine);
    int err = check_length(stream, length);
    if (err)
        return err;
    if (length <= stream->link->eager_max)
        return send_eager(stream, data, length, hd_deadline(timeout));
    hd_buf *buf;
    err = hd_arena_alloc(stream->link->engine->arena, length, &buf);
    if (err)
        return err;
    memcpy(buf->data, data, length);
    err = send_rndv(stream, buf, 0, length, hd_deadline(timeout));
    hd_buf_unref(buf);
    return err;
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

int hd_stream_finish(hd_stream *stream)
{
    struct hd_link *link = stream->link;
    int err = 0;
    hd_link_lock(link);
    if (!stream->finished) {
        stream->finished = true;
        if (lost(stream) || stream->remote_error)
            err = failure(stream);
        else
            hd_link_control(link, HD_FRAME_CLOSE, stream->id, 0, NULL, 0);
        hd_stream_notify(stream);
    }
    hd_link_unlock(link);
    return err;
}

/* ---- receiving ---- */

#define MSGS_KEPT 64 /* on each link */

static struct hd_msg *msg_take(struct hd_link *link)
{
    struct hd_msg *msg = link->msgs_free;
    if (!msg)
        return malloc(sizeof(*msg));
    link->msgs_free = msg->next;
    link->msgs_free_count--;
    return msg;
}

static void msg_give(struct hd_link *link, struct hd_msg *msg)
{
    if (link->msgs_free_count >= MSGS_KEPT) {
        free(msg);
        return;
    }
    msg->next = link->msgs_free;
    link->msgs_free = msg;
    link->msgs_free_count++;
}

static struct hd_msg *append(struct hd_stream *stream, size_t length)
{
    struct hd_msg *msg = msg_take(stream->link);
    if (!msg)
        return NULL;
    *msg = (struct hd_msg){.length = length};
    *stream->rx_last = msg;
    stream->rx_last = &msg->next;
    return msg;
}

/* Frees the first message; its buffer is the caller's. */
static void drop_first(struct hd_stream *stream)
{
    struct hd_msg *msg = stream->rx_first;
    stream->rx_first = msg->next;
    if (!stream->rx_first)
        stream->rx_last = &stream->rx_first;
    stream->rx_offset = 0;
    msg_give(stream->link, msg);
}

/* The stream that a frame of the peer is for. False with *err set if there never was one, or *err 0 if it was closed
 * here. */
static bool expect(struct hd_link *link, uint32_t id, struct hd_stream **stream, int *err)
{
    *err = 0;
    *stream = hd_stream_lookup(link, id);
    bool ours = (id & 1) == (link->initiator ? 1U : 0U);
    if (!*stream && (id == 0 || (ours ? id >= link->next_id : id > link->last_peer_id)))
        *err = hd_error(-EPROTO, "a frame for stream %u, which was never opened", id);
    if (*stream && (*stream)->remote_error)
        *err = hd_error(-EPROTO, "a frame for stream %u after its reset", id);
    return *stream && !*err;
}

static int take_window(struct hd_stream *stream, size_t length)
{
    if (stream->remote_finished)
        return hd_error(-EPROTO, "a message on stream %u after its end", stream->id);
    if (stream->rx_window <= 0)
        return hd_error(-EPROTO, "a message on stream %u beyond its window", stream->id);
    stream->rx_window -= (int64_t)length + HD_MESSAGE_COST;
    return 0;
}

int hd_stream_on_data(struct hd_link *link, uint32_t id, const void *payload, size_t length, hd_buf *owner)
{
    struct hd_stream *stream;
    int err;
    if (!expect(link, id, &stream, &err)) {
        if (!err)
            hd_link_control(link, HD_FRAME_RESET, id, ECONNRESET, NULL, 0);
        return err;
    }
    hd_buf *buf;
    if (owner) {
        buf = hd_buf_ref(owner);
        buf->data = (char *)payload;
        buf->length = length;
    } else {
        err = hd_arena_alloc(link->engine->arena, length ? length : 1, &buf);
        if (err)
            return -ENOBUFS;
        buf->length = length;
        memcpy(buf->data, payload, length);
    }
    err = take_window(stream, length);
    struct hd_msg *msg = err ? NULL : append(stream, length);
    if (!msg) {
        hd_buf_unref(buf);
        return err ? err : -ENOBUFS;
    }
    msg->buf = buf;
    hd_stream_message_ready(stream, msg);
    return 0;
}

/* Begins transfers in order, as far as the window allows their memory; the first one always may. */
void hd_stream_start_rndvs(struct hd_stream *stream)
{
    size_t held = 0;
    for (struct hd_msg *msg = stream->rx_first; msg; msg = msg->next) {
        if (msg != stream->rx_first && held + msg->length > stream->link->mine.window)
            return;
        held += msg->length;
        if (msg->rndv && msg->rndv->mode < 0 && hd_list_empty(&msg->rndv->node))
            hd_rndv_start(stream->link, msg->rndv);
    }
}

int hd_stream_on_rts(struct hd_link *link, uint32_t id, uint64_t handle, const struct hd_rts *rts)
{
    struct hd_stream *stream;
    int err;
    struct hd_rndv *rndv = hd_rndv_create(link, HD_RNDV_RX);
    if (!rndv)
        return -ENOBUFS;
    err = hd_rndv_accept(link, rndv, handle, rts);
    bool wanted = !err && expect(link, id, &stream, &err);
    if (wanted)
        err = take_window(stream, 0);
    if (err) {
        hd_rndv_free(link, rndv);
        return err;
    }
    if (!wanted) {
        hd_rndv_refuse(link, rndv, -ECANCELED);
        hd_link_control(link, HD_FRAME_RESET, id, ECONNRESET, NULL, 0);
        return 0;
    }
    struct hd_msg *msg = append(stream, rts->length);
    if (!msg) {
        hd_rndv_refuse(link, rndv, -ENOMEM);
        hd_link_doom(link, -ECONNRESET, "out of memory");
        return 0;
    }
    msg->rndv = rndv;
    msg->rendezvous = true;
    rndv->msg = msg;
    rndv->stream = stream;
    hd_stream_start_rndvs(stream);
    return 0;
}

int hd_stream_on_window(struct hd_link *link, uint32_t id, uint64_t bytes)
{
    struct hd_stream *stream;
    int err;
    if (!expect(link, id, &stream, &err))
        return err;
    if (bytes == 0 || bytes > 1ULL << 40 || stream->tx_window + (int64_t)bytes > (int64_t)link->peers.window)
        return hd_error(-EPROTO, "the peer opens the window of stream %u beyond its size", id);
    stream->tx_window += (int64_t)bytes;
    tell_writer(stream);
    return 0;
}

int hd_stream_on_close(struct hd_link *link, uint32_t id)
{
    struct hd_stream *stream;
    int err;
    if (!expect(link, id, &stream, &err))
        return err;
    if (stream->remote_finished)
        return hd_error(-EPROTO, "stream %u ends twice", id);
    stream->remote_finished = true;
    tell_reader(stream);
    return 0;
}

int hd_stream_on_reset(struct hd_link *link, uint32_t id, uint64_t error)
{
    struct hd_stream *stream;
    int err;
    bool known = expect(link, id, &stream, &err);
    if (stream && stream->remote_error)
        return 0; /* each frame that found the stream gone was answered so */
    if (!known)
        return err;
    stream->remote_error = error > 0 && error < 4096 ? (int)error : ECONNRESET;
    tell_reader(stream);
    tell_writer(stream);
    return 0;
}

/* Gives window back in steps of half a window, so that it costs few frames. */
static void took(struct hd_stream *stream, size_t bytes)
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

static int wait_readable(struct hd_stream *stream, void *arg)
{
    (void)arg;
    if (stream->rx_first)
        return !stream->rx_first->rndv;
    if (stream->remote_finished)
        return 1;
    return lost(stream) || stream->remote_error ? failure(stream) : 0;
}

/* Under the lock: 0 with a message at the front, 1 at the end, or an error. */
static int await_message(struct hd_stream *stream, int64_t deadline)
{
    int ready = wait_readable(stream, NULL);
    int err = ready < 0 ? ready : ready ? 0 : hd_stream_wait(stream, wait_readable, NULL, deadline);
    if (err == -EAGAIN)
        stream->readable_wanted = true;
    return err ? err : stream->rx_first ? 0 : 1;
}

/* The first message is used up: its cost goes back, transfers behind it may begin. */
static void finish_first(struct hd_stream *stream)
{
    size_t length = stream->rx_first->length;
    bool rendezvous = stream->rx_first->rendezvous;
    drop_first(stream);
    took(stream, HD_MESSAGE_COST + (rendezvous ? 0 : length));
    if (stream->rx_first && hd_link_usable(stream->link))
        hd_stream_start_rndvs(stream);
}

int hd_recv(hd_stream *stream, hd_buf **out, int64_t timeout)
{
    hd_enter(stream->link->engine);
    hd_link_lock(stream->link);
    /* The clock is not read for what is there already. */
    int err = await_message(stream, wait_readable(stream, NULL) ? 0 : hd_deadline(timeout));
    if (!err) {
        struct hd_msg *msg = stream->rx_first;
        hd_buf *buf = msg->buf;
        stream->rx_ready_bytes -= msg->length - stream->rx_offset;
        buf->data += stream->rx_offset; /* what hd_read() left of it */
        buf->length = msg->length - stream->rx_offset;
        finish_first(stream);
        *out = buf;
    }
    hd_link_unlock(stream->link);
    return err;
}

ssize_t hd_read(hd_stream *stream, void *data, size_t length, int64_t timeout)
{
    hd_enter(stream->link->engine);
    if (length == 0)
        return 0;
    int64_t deadline = hd_deadline(timeout);
    size_t done = 0;
    int err;
    hd_link_lock(stream->link);
    while (done < length && (err = await_message(stream, done ? 0 : deadline)) == 0) {
        struct hd_msg *msg = stream->rx_first;
        size_t left = msg->length - stream->rx_offset, n = left < length - done ? left : length - done;
        memcpy((char *)data + done, msg->buf->data + stream->rx_offset, n);
        done += n;
        stream->rx_offset += n;
        stream->rx_ready_bytes -= n;
        if (stream->rx_offset == msg->length) {
            hd_buf *buf = msg->buf;
            finish_first(stream);
            hd_buf_unref(buf);
        }
    }
    hd_link_unlock(stream->link);
    return done ? (ssize_t)done : err < 0 ? err : 0;
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

/* ---- the end ---- */

void hd_stream_lost(struct hd_link *link)
{
    for (uint32_t i = 0; i < link->bucket_count; i++)
        for (struct hd_stream *s = link->buckets[i]; s; s = s->next_in_bucket) {
            for (struct hd_msg **at = &s->rx_first; *at;) { /* what did not arrive whole does not arrive */
                struct hd_msg *msg = *at;
                if (!msg->rndv) {
                    at = &msg->next;
                    continue;
                }
                while ((msg = *at)) { /* and nothing behind it: order */
                    *at = msg->next;
                    if (msg->rndv) {
                        msg->rndv->msg = NULL;
                        msg->rndv->stream = NULL;
                    } else {
                        s->rx_ready_bytes -= msg->length;
                    }
                    hd_buf_unref(msg->buf);
                    msg_give(link, msg);
                }
                s->rx_last = at;
                s->remote_finished = false; /* this is not the end that the peer meant */
            }
            tell_reader(s);
            tell_writer(s);
        }
}

/* Under the lock: forgets everything that points to the stream. */
static void detach(struct hd_stream *stream)
{
    struct hd_link *link = stream->link;
    bool up = hd_link_usable(link);
    if (up && !stream->remote_error) {
        if (stream->rx_first) /* the peer shall know that not all of it was taken */
            hd_link_control(link, HD_FRAME_RESET, stream->id, ECONNRESET, NULL, 0);
        else if (!stream->finished)
            hd_link_control(link, HD_FRAME_CLOSE, stream->id, 0, NULL, 0);
    }
    while (!hd_list_empty(&stream->tx_rndvs)) {
        struct hd_rndv *rndv = hd_container(stream->tx_rndvs.next, struct hd_rndv, siblings);
        rndv->stream = NULL;
        hd_list_remove(&rndv->siblings);
    }
    while (stream->rx_first) {
        struct hd_rndv *rndv = stream->rx_first->rndv;
        hd_buf_unref(stream->rx_first->buf);
        drop_first(stream);
        if (!rndv)
            continue;
        rndv->msg = NULL;
        rndv->stream = NULL;
        if (up && rndv->mode < 0)
            hd_rndv_refuse(link, rndv, -ECANCELED);
    }
    hd_list_remove(&stream->tx_node);
    hd_list_remove(&stream->sleep_node);
    take_out(link, stream);
}

void hd_stream_close(hd_stream *stream)
{
    struct hd_link *link = stream->link;
    hd_link_lock(link);
    detach(stream);
    hd_queue_cancel(stream->queue, &stream->readable);
    hd_queue_cancel(stream->queue, &stream->writable);
    hd_queue_cancel(stream->accept_queue, &stream->accepted);
    hd_link_unlock(link);
    if (stream->queue)
        hd_queue_unref(stream->queue);
    if (stream->accept_queue)
        hd_queue_unref(stream->accept_queue);
    free(stream);
    hd_link_put(link);
}

hd_link *hd_stream_link(hd_stream *stream)
{
    return stream->link;
}
