/* SPDX-License-Identifier: Apache-2.0 */

/* The server's end of fetches: requests and answers. */

#include <fcntl.h>
#include <stdio.h>

#include "base/trace.h"
#include "proto/fetch/fetch.h"
#include "proto/rendezvous.h"

/* ---- requests ---- */

void hd_fetch_end_served(struct hd_fetch *f)
{
    if (f->in_table) {
        f->in_table = false;
        HD_TRACE4(serve_end, f->link, f->handle, f->error, f->total);
        hd_list_remove(&f->in_served);
        f->link->fetch.served_count--;
        f->link->comm.idle_since = hd_now();
    }
    hd_list_remove(&f->node);
    hd_list_remove(&f->waits);
    hd_fetch_give_back(f, f->piece_bytes);
}

/* Everything is out and nothing is being read: the request is done with. */
static void serve_finish_if_done(struct hd_fetch *f)
{
    if (f->state == FETCH_COMPLETE && f->inflight == 0 && !f->io_busy) {
        hd_fetch_end_served(f);
        hd_fetch_destroy_locked(f);
    }
}

static void serve_refuse(struct hd_link *link, uint32_t handle, int error, const char *cause)
{
    hd_link_control(link, HD_FRAME_REPLY, handle, (uint64_t)-error, cause, strnlen(cause, HD_CAUSE_MAX));
}

int hd_fetch_on_request(struct hd_link *link, uint32_t handle, const void *payload, size_t length)
{
    struct hd_fetch_wire wire;
    memcpy(&wire, payload, sizeof(wire));
    if (wire.service_length == 0 || wire.service_length > HD_SERVICE_MAX || wire.name_length == 0 ||
        wire.name_length > HD_FETCH_NAME_MAX || wire.reserved || handle == 0 ||
        length != sizeof(wire) + wire.service_length + wire.name_length)
        return hd_error(-EPROTO, "a malformed fetch");
    if (link->fetch.served_count >= link->mine.fetch_max)
        return hd_error(-EPROTO, "more than %u fetches at a time", link->mine.fetch_max);
    const char *service = (const char *)payload + sizeof(wire);
    struct hd_fetch *f =
        hd_fetch_create(link, false, service, wire.service_length, service + wire.service_length, wire.name_length);
    if (!f)
        return -ENOBUFS;
    f->handle = handle;
    f->offset = wire.offset;
    f->length = wire.length;
    uint64_t user = 0;
    if (hd_service_find(link->engine, service, wire.service_length, &f->queue, &user)) {
        f->event.event.user = user;
        f->in_table = true;
        link->used = true;
        hd_list_add_tail(&link->fetch.served, &f->in_served);
        link->fetch.served_count++;
        HD_TRACE4(serve_begin, link, handle, f->offset, f->length);
        if (hd_queue_post(f->queue, &f->event))
            return 0;
        hd_fetch_end_served(f);
    }
    serve_refuse(link, handle, -ENOENT, "no such service");
    hd_fetch_destroy_locked(f);
    return 0;
}

void hd_fetch_on_cancel(struct hd_link *link, uint32_t handle)
{
    for (struct hd_list *n = link->fetch.served.next; n != &link->fetch.served; n = n->next) {
        struct hd_fetch *f = hd_container(n, struct hd_fetch, in_served);
        if (f->handle == handle) {
            f->cancelled = true;
            if (!hd_list_empty(&f->waits))
                hd_fetch_read_ahead(f);
            return;
        }
    } /* answered already: nothing to do */
}

const void *hd_fetch_name(hd_fetch *f, size_t *length)
{
    *length = f->name_length;
    return f->text + f->service_length + 1;
}

void hd_fetch_range(hd_fetch *f, uint64_t *offset, uint64_t *length)
{
    *offset = f->offset;
    *length = f->length;
}

hd_link *hd_fetch_link(hd_fetch *f)
{
    return f->link;
}

/* ---- answers ---- */

/* Announces the piece in f->chunk, which moves by rendezvous. */
static int serve_post_segment(struct hd_link *link, struct hd_fetch *f)
{
    struct hd_segment segment = {.total = f->total, .offset = f->sent};
    struct hd_rndv *rndv = hd_rndv_create(link, HD_RNDV_TX);
    if (!rndv)
        return -ENOMEM;
    rndv->buf = hd_buf_ref(f->chunk);
    rndv->offset = f->chunk_offset;
    rndv->length = f->chunk_length;
    hd_rndv_describe(link, rndv, hd_rndv_wish(link, (size_t)f->total), &segment.rts);
    int err = hd_link_post(link, HD_FRAME_SEGMENT, f->handle, rndv->handle, &segment, sizeof(segment));
    if (err) {
        hd_rndv_free(link, rndv);
        return err;
    }
    rndv->ops = &hd_fetch_pieces;
    rndv->owner = f;
    f->inflight++;
    f->sent += f->chunk_length;
    if (f->sent == f->total)
        f->state = FETCH_COMPLETE;
    return 0;
}

/* The next piece that is ready. @return false without credits; else f may be gone. */
static bool serve_transmit(struct hd_link *link, struct hd_fetch *f)
{
    if (!hd_link_can_send(link))
        return false;
    if (f->cancelled && !f->error && f->sent < f->total) {
        f->error = -ECANCELED;
        snprintf(f->cause, sizeof(f->cause), "cancelled");
    }
    int err;
    bool goes_on = false; /* the piece stays until the client has taken it */
    if (f->error) {
        err = hd_link_post(link, HD_FRAME_REPLY, f->handle, (uint64_t)-f->error, f->cause, strlen(f->cause));
        if (!err)
            f->state = FETCH_COMPLETE;
    } else if (f->sent == 0 && f->chunk_length == f->total && f->total <= link->eager_max) {
        err = hd_link_post(link, HD_FRAME_REPLY, f->handle, 0, f->chunk ? f->chunk->base + f->chunk_offset : NULL,
                           f->total);
        if (!err)
            f->state = FETCH_COMPLETE;
    } else {
        err = serve_post_segment(link, f);
        goes_on = true;
    }
    if (err)
        return false;
    size_t unused = f->chunk && !goes_on ? f->chunk_length : 0;
    hd_list_remove(&f->node);
    hd_buf_unref(f->chunk);
    f->chunk = NULL;
    f->chunk_length = 0;
    hd_fetch_give_back(f, unused);
    if (f->state != FETCH_COMPLETE)
        hd_fetch_read_ahead(f);
    else
        hd_count(link->engine->stats, fetches_served, 1);
    serve_finish_if_done(f);
    return true;
}

void hd_fetch_transmit_replies(struct hd_link *link)
{
    while (hd_link_usable(link) && !hd_list_empty(&link->fetch.tx_replies))
        if (!serve_transmit(link, hd_container(link->fetch.tx_replies.next, struct hd_fetch, node)))
            return;
}

void hd_fetch_sent(struct hd_fetch *f, size_t length, int error)
{
    f->inflight--;
    hd_fetch_give_back(f, length);
    if (error)
        f->cancelled = true;
    else
        atomic_store(&f->landed, true);
    if (f->state == FETCH_MOVING && hd_list_empty(&f->node) && !f->io_busy)
        hd_fetch_read_ahead(f);
    serve_finish_if_done(f);
}

/* Under the lock. The handle is not the program's any more. @return false if the link is gone, and f with it. */
static bool serve_begin_answer(struct hd_fetch *f)
{
    f->state = FETCH_MOVING;
    if (hd_link_usable(f->link))
        return true;
    hd_fetch_end_served(f);
    return false;
}

void hd_fetch_answer(struct hd_fetch *f)
{
    hd_list_add_tail(&f->link->fetch.tx_replies, &f->node);
    hd_fetch_transmit(f->link);
}

/* Runs `how` (which may end f) under the lock of f's link. */
static int serve_reply(struct hd_fetch *f, void (*how)(struct hd_fetch *f))
{
    struct hd_link *link = hd_link_ref(f->link);
    hd_enter(link->engine);
    hd_link_lock(link);
    bool up = serve_begin_answer(f);
    if (up)
        how(f);
    hd_link_unlock(link);
    if (!up)
        hd_fetch_destroy(f);
    hd_link_put(link);
    return 0;
}

static int serve_check_answer(const struct hd_fetch *f, uint64_t length)
{
    if (f->client || f->state != FETCH_ASKED)
        return hd_error(-EINVAL, "this fetch cannot be answered");
    return length <= f->link->peers.message_max
               ? 0
               : hd_error(-EMSGSIZE, "%s takes at most %llu bytes in one fetch", f->link->peer,
                          (unsigned long long)f->link->peers.message_max);
}

int hd_fetch_reply_buf(hd_fetch *f, hd_buf *buf, size_t offset, size_t length)
{
    if (offset > buf->length || length > buf->length - offset)
        return hd_buf_no_range(buf, offset, length);
    int err = serve_check_answer(f, length);
    if (err)
        return err;
    f->chunk = hd_buf_ref(buf);
    f->chunk_offset = (size_t)(buf->data - buf->base) + offset;
    f->chunk_length = f->total = length;
    return serve_reply(f, hd_fetch_answer);
}

int hd_fetch_reply_error(hd_fetch *f, int error, const char *cause)
{
    if (error >= 0 || f->client || f->state != FETCH_ASKED)
        return hd_error(-EINVAL, "this fetch cannot be answered so");
    f->error = error;
    snprintf(f->cause, sizeof(f->cause), "%s", cause ? cause : strerror(-error));
    return serve_reply(f, hd_fetch_answer);
}

int hd_fetch_reply_file(hd_fetch *f, int fd, uint64_t offset, uint64_t length)
{
    int err = serve_check_answer(f, length);
    if (err)
        return err;
    if (length == 0) {
        f->total = 0;
        return serve_reply(f, hd_fetch_answer);
    }
    f->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (f->file < 0)
        return hd_error(-errno, "no descriptor: %s", strerror(errno));
    hd_io_add_file(f->link->engine);
    f->file_offset = offset;
    f->total = length;
    return serve_reply(f, hd_fetch_read_ahead);
}
