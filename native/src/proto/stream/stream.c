/* SPDX-License-Identifier: Apache-2.0 */

/* Streams: opening, closing, and telling the program. Messages are in send.c and receive.c, waiting in wait.c. */

#include <stdlib.h>

#include "proto/stream/stream.h"

/* ---- the link's streams by id ---- */

/* Their number is a power of two. */
static uint32_t stream_bucket_of(const struct hd_link *link, uint32_t id)
{
    return id / 2 & (link->streams.bucket_count - 1);
}

struct hd_stream *hd_stream_lookup(struct hd_link *link, uint32_t id)
{
    struct hd_stream *stream = link->streams.buckets[stream_bucket_of(link, id)];
    while (stream && stream->id != id)
        stream = stream->next_in_bucket;
    return stream;
}

static void stream_rehash(struct hd_link *link)
{
    uint32_t count = 2 * link->streams.bucket_count;
    struct hd_stream **buckets = calloc(count, sizeof(*buckets));
    if (!buckets)
        return; /* longer chains, nothing worse */
    for (uint32_t i = 0; i < link->streams.bucket_count; i++)
        for (struct hd_stream *s = link->streams.buckets[i], *next; s; s = next) {
            next = s->next_in_bucket;
            s->next_in_bucket = buckets[s->id / 2 & (count - 1)];
            buckets[s->id / 2 & (count - 1)] = s;
        }
    free(link->streams.buckets);
    link->streams.buckets = buckets;
    link->streams.bucket_count = count;
}

static void stream_insert(struct hd_link *link, struct hd_stream *stream)
{
    if (link->streams.count >= link->streams.bucket_count)
        stream_rehash(link);
    struct hd_stream **bucket = &link->streams.buckets[stream_bucket_of(link, stream->id)];
    stream->next_in_bucket = *bucket;
    *bucket = stream;
    stream->in_table = true;
    link->used = true;
    link->streams.count++;
    link->streams.peers_count += stream->by_peer;
    hd_count(link->engine->stats, streams_now, 1);
    hd_count(link->engine->stats, streams_opened, 1);
}

static void stream_take_out(struct hd_link *link, struct hd_stream *stream)
{
    struct hd_stream **at = &link->streams.buckets[stream_bucket_of(link, stream->id)];
    while (*at != stream)
        at = &(*at)->next_in_bucket;
    *at = stream->next_in_bucket;
    if (link->streams.last_found == stream)
        link->streams.last_found = NULL;
    stream->in_table = false;
    link->streams.count--;
    link->streams.peers_count -= stream->by_peer;
    link->comm.idle_since = hd_now();
    hd_count(link->engine->stats, streams_now, -1);
}

/* Nobody accepts the stream. */
static void stream_discard_accepted(struct hd_event *event)
{
    hd_stream_close(event->stream);
}

static struct hd_stream *stream_create(struct hd_link *link, uint32_t id, bool by_peer)
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
    struct hd_list *lists[] = {&stream->tx_rndvs,     &stream->tx_node,       &stream->waiter.node,
                               &stream->memory_node,  &stream->readable.link, &stream->writable.link,
                               &stream->accepted.link};
    for (size_t i = 0; i < HD_COUNT(lists); i++)
        hd_list_init(lists[i]);
    stream->readable.event = (struct hd_event){.type = HD_EVENT_READABLE, .stream = stream};
    stream->writable.event = (struct hd_event){.type = HD_EVENT_WRITABLE, .stream = stream};
    stream->accepted.event = (struct hd_event){.type = HD_EVENT_STREAM, .stream = stream};
    stream->accepted.discard = stream_discard_accepted;
    stream_insert(link, stream);
    return stream;
}

/* ---- telling the program ---- */

void hd_stream_post_readable(struct hd_stream *stream)
{
    if (stream->readable_wanted && hd_queue_post(stream->queue, &stream->readable))
        stream->readable_wanted = false;
}

void hd_stream_tell_writer(struct hd_stream *stream)
{
    if (stream->senders) /* a thread that waits for an answer is not woken for what its request did */
        hd_stream_notify(stream);
    if (stream->writable_wanted && hd_queue_post(stream->queue, &stream->writable))
        stream->writable_wanted = false;
}

int hd_stream_failure(struct hd_stream *stream)
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

static void stream_configure(struct hd_stream *stream, const struct hd_stream_params *params)
{
    hd_queue_cancel(stream->queue, &stream->readable);
    hd_queue_cancel(stream->queue, &stream->writable);
    hd_queue *old = stream->queue;
    stream->queue = params->queue ? hd_queue_ref(params->queue) : NULL;
    if (old)
        hd_queue_unref(old);
    stream->user = stream->readable.event.user = stream->writable.event.user = params->user;
    stream->protocol = params->protocol;
    stream->deferred = params->deferred;
    stream->readable_wanted = true;
    if (hd_stream_readable(stream))
        hd_stream_post_readable(stream);
}

/* NULL: none are given. */
static int stream_take_params(struct hd_stream_params *params, const struct hd_stream_params *given)
{
    int err = hd_params_take(params, sizeof(*params), given, 0, "stream parameters");
    if (!err && params->protocol > HD_PROTOCOL_COPY)
        err = hd_error(-EINVAL, "a stream has no protocol %d", (int)params->protocol);
    return err;
}

int hd_stream_configure(hd_stream *stream, const struct hd_stream_params *given)
{
    struct hd_stream_params params;
    int err = given ? stream_take_params(&params, given) : hd_error(-EINVAL, "stream parameters are missing");
    if (err)
        return err;
    hd_link_lock(stream->link);
    stream_configure(stream, &params);
    hd_link_unlock(stream->link);
    return 0;
}

static int stream_may_open(struct hd_link *link)
{
    if (link->state == HD_LINK_RETIRING || link->state == HD_LINK_RETIRED)
        return hd_error(-ESHUTDOWN, "the idle link to %s is being closed; connect again", link->peer);
    if (!hd_link_usable(link))
        return hd_link_failure(link);
    if (link->streams.count - link->streams.peers_count >= link->peers.stream_max)
        return hd_error(-EMFILE, "%s accepts no more than %u streams", link->peer, link->peers.stream_max);
    return link->streams.next_id > UINT32_MAX - 2
               ? hd_error(-EMFILE, "stream numbers of the link are used up; connect again")
               : 0;
}

int hd_stream_open(hd_link *link, const char *service, const struct hd_stream_params *given, hd_stream **out)
{
    struct hd_stream_params params;
    hd_enter(link->engine);
    size_t length = service ? strlen(service) : 0;
    if (length == 0 || length > HD_SERVICE_MAX)
        return hd_error(-EINVAL, "a service name has 1 to %d bytes", HD_SERVICE_MAX);
    int err = stream_take_params(&params, given);
    if (err)
        return err;
    hd_link_lock(link);
    err = stream_may_open(link);
    struct hd_stream *stream = err ? NULL : stream_create(link, link->streams.next_id, false);
    if (stream) {
        link->streams.next_id += 2;
        memcpy(stream->service, service, length + 1);
        if (given)
            stream_configure(stream, &params);
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
    if (!peers || id == 0 || id <= link->streams.last_peer_id)
        return hd_error(-EPROTO, "stream %u cannot be opened by the peer", id);
    link->streams.last_peer_id = id;
    hd_queue *queue = NULL;
    uint64_t user;
    if (link->streams.peers_count >= link->mine.stream_max) {
        hd_link_control(link, HD_FRAME_RESET, id, EMFILE, NULL, 0);
        return 0;
    }
    if (!hd_service_find(link->engine, service, length, &queue, &user)) {
        hd_link_control(link, HD_FRAME_RESET, id, ENOENT, NULL, 0);
        return 0;
    }
    struct hd_stream *stream = stream_create(link, id, true);
    if (stream) {
        memcpy(stream->service, service, length);
        stream->accepted.event.user = user;
        stream->accept_queue = queue;
    }
    if (!stream || !hd_queue_post(queue, &stream->accepted)) {
        hd_link_control(link, HD_FRAME_RESET, id, ENOENT, NULL, 0);
        if (stream) { /* its queue went away just now; free without the lock games of hd_stream_close() */
            stream_take_out(link, stream);
            atomic_fetch_sub(&link->refs, 1); /* never the last: we run on this link */
            free(stream);
        }
        hd_queue_unref(queue);
    }
    return 0;
}

/* ---- the end ---- */

int hd_stream_finish(hd_stream *stream)
{
    struct hd_link *link = stream->link;
    int err = 0;
    hd_link_lock(link);
    if (!stream->finished) {
        stream->finished = true;
        if (hd_stream_is_lost(stream) || stream->remote_error)
            err = hd_stream_failure(stream);
        else
            hd_link_control(link, HD_FRAME_CLOSE, stream->id, 0, NULL, 0);
        hd_stream_notify(stream);
    }
    hd_link_unlock(link);
    return err;
}

/* That the message still needs; NULL: it is here. */
static struct hd_rndv *stream_transfer_of(const struct hd_msg *msg)
{
    return msg->rndv ? msg->rndv : msg->offer;
}

static void stream_forget_transfer(const struct hd_msg *msg)
{
    struct hd_rndv *rndv = stream_transfer_of(msg);
    if (rndv)
        hd_rndv_disown(rndv);
}

void hd_stream_lost(struct hd_link *link)
{
    for (uint32_t i = 0; i < link->streams.bucket_count; i++)
        for (struct hd_stream *s = link->streams.buckets[i]; s; s = s->next_in_bucket) {
            for (struct hd_msg **at = &s->rx_first; *at;) { /* what did not arrive whole does not arrive */
                struct hd_msg *msg = *at;
                if (!stream_transfer_of(msg)) {
                    at = &msg->next;
                    continue;
                }
                while ((msg = *at)) { /* and nothing behind it: order */
                    size_t taken = msg == s->rx_first ? s->rx_offset : 0;
                    if (!msg->rndv)
                        s->rx_ready_bytes -= msg->length - taken;
                    if (taken)
                        s->rx_offset = 0;
                    *at = msg->next;
                    stream_forget_transfer(msg);
                    hd_buf_unref(msg->buf);
                    hd_msg_give(link, msg);
                }
                s->rx_last = at;
                s->remote_finished = false; /* this is not the end that the peer meant */
            }
            hd_stream_tell_reader(s);
            hd_stream_tell_writer(s);
        }
}

/* Under the lock: forgets everything that points to the stream. */
static void stream_detach(struct hd_stream *stream)
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
        hd_rndv_disown(rndv);
        hd_list_remove(&rndv->siblings);
    }
    while (stream->rx_first) {
        struct hd_rndv *rndv = stream_transfer_of(stream->rx_first);
        stream_forget_transfer(stream->rx_first);
        hd_buf_unref(stream->rx_first->buf);
        hd_stream_drop_first(stream);
        if (rndv && up && rndv->mode < 0)
            hd_rndv_refuse(link, rndv, -ECANCELED);
    }
    hd_list_remove(&stream->tx_node);
    hd_list_remove(&stream->memory_node);
    hd_list_remove(&stream->waiter.node);
    stream_take_out(link, stream);
}

void hd_stream_close(hd_stream *stream)
{
    struct hd_link *link = stream->link;
    hd_link_lock(link);
    stream_detach(stream);
    hd_queue_cancel(stream->queue, &stream->readable);
    hd_queue_cancel(stream->queue, &stream->writable);
    hd_queue_cancel(stream->accept_queue, &stream->accepted);
    hd_link_unlock(link);
    if (stream->queue)
        hd_queue_unref(stream->queue);
    if (stream->accept_queue)
        hd_queue_unref(stream->accept_queue);
    hd_waiter_end(&stream->waiter);
    free(stream);
    hd_link_put(link);
}

void hd_stream_wake(hd_stream *stream)
{
    hd_link_lock(stream->link);
    atomic_store(&stream->waiter.interrupted, true);
    hd_stream_notify(stream);
    hd_link_unlock(stream->link);
}

hd_link *hd_stream_link(hd_stream *stream)
{
    return stream->link;
}
