/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fetch: named blocks on request. The server's answer is either one REPLY (an error, or a small block), or SEGMENTs
 * that together cover the block, each of which moves by rendezvous. A file range is read segment by segment by the I/O
 * threads, a few of them ahead of what the client has taken. The final answer (REPLY, or the SEGMENT that completes the
 * block) is sent exactly once.
 *
 * Here is the client's end, and how both end with their link; the server's is in serve.c, file ranges in fetch_io.c.
 */

#include "proto/fetch/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/trace.h"
#include "proto/rendezvous.h"

/* Nobody answers the request. */
static void fetch_discard_request(struct hd_event *event)
{
    hd_fetch_reply_error(event->fetch, -ENOENT, "the service was closed");
}

struct hd_fetch *hd_fetch_create(struct hd_link *link, bool client, const void *service, size_t service_length,
                                 const void *name, size_t name_length)
{
    struct hd_fetch *f = calloc(1, sizeof(*f) + service_length + 1 + name_length);
    if (!f) {
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    f->link = hd_link_ref(link);
    f->client = client;
    f->file = -1;
    hd_list_init(&f->node);
    hd_list_init(&f->in_served);
    hd_list_init(&f->io_node);
    hd_list_init(&f->waits);
    hd_list_init(&f->event.link);
    f->event.event = (struct hd_event){.type = client ? HD_EVENT_FETCHED : HD_EVENT_FETCH, .fetch = f};
    f->event.discard = client ? NULL : fetch_discard_request;
    f->service_length = (uint16_t)service_length;
    f->name_length = (uint16_t)name_length;
    memcpy(f->text, service, service_length);
    memcpy(f->text + service_length + 1, name, name_length);
    return f;
}

void hd_fetch_destroy(struct hd_fetch *f)
{
    if (f->queue)
        hd_queue_unref(f->queue);
    hd_buf_unref(f->into);
    hd_buf_unref(f->chunk);
    if (f->file >= 0) {
        close(f->file);
        hd_io_remove_file(f->link->engine);
    }
    hd_link_put(f->link);
    free(f);
}

void hd_fetch_destroy_locked(struct hd_fetch *f)
{
    hd_link_ref(f->link);
    struct hd_link *link = f->link;
    hd_fetch_destroy(f);
    atomic_fetch_sub(&link->refs, 1);
}

/* ---- client ---- */

static void fetch_complete(struct hd_fetch *f, int error, const char *cause)
{
    if (f->state == FETCH_COMPLETE)
        return;
    f->state = FETCH_COMPLETE;
    f->error = error;
    if (error && cause != f->cause)
        snprintf(f->cause, sizeof(f->cause), "%s", cause);
    hd_count(f->link->engine->stats, fetches_failed, error != 0);
    HD_TRACE4(fetch_end, f->link, f->handle, error, f->total);
    if (!error)
        hd_link_time(f->link, &f->link->times.blocks, f->started);
    f->event.event.status = error;
    if (!f->released)
        hd_queue_post(f->queue, &f->event);
}

/* The final answer is here. */
static void fetch_forget(struct hd_fetch *f)
{
    if (f->in_table) {
        hd_table_remove(&f->link->fetch.table, f->handle);
        f->in_table = false;
        f->link->comm.idle_since = hd_now();
    }
    hd_list_remove(&f->node);
    if (f->released && !f->moving)
        hd_fetch_destroy_locked(f);
}

static bool fetch_send_request(struct hd_fetch *f)
{
    uint8_t payload[sizeof(struct hd_fetch_wire) + HD_SERVICE_MAX + HD_FETCH_NAME_MAX];
    struct hd_fetch_wire wire = {
        .offset = f->offset, .length = f->length, .service_length = f->service_length, .name_length = f->name_length};
    memcpy(payload, &wire, sizeof(wire));
    memcpy(payload + sizeof(wire), f->text, f->service_length);
    memcpy(payload + sizeof(wire) + f->service_length, f->text + f->service_length + 1, f->name_length);
    return hd_link_post(f->link, HD_FRAME_FETCH, f->handle, 0, payload,
                        sizeof(wire) + f->service_length + f->name_length) == 0;
}

static int fetch_take_params(const char *service, const struct hd_fetch_params *given, struct hd_fetch_params *p)
{
    int err = hd_params_take(p, sizeof(*p), given, offsetof(struct hd_fetch_params, user), "fetch parameters");
    if (err)
        return err;
    if (!p->queue || !p->name || p->name_length == 0 || p->name_length > HD_FETCH_NAME_MAX)
        return hd_error(-EINVAL, "a fetch needs a queue and a name of 1 to %d bytes", HD_FETCH_NAME_MAX);
    if (!service || !service[0] || strlen(service) > HD_SERVICE_MAX)
        return hd_error(-EINVAL, "a service name has 1 to %d bytes", HD_SERVICE_MAX);
    if (p->into && hd_buf_is_gone(p->into))
        return hd_buf_no_range(p->into, 0, 0);
    if (p->into && p->length != HD_FETCH_ALL && p->length > p->into->length)
        return hd_error(-EINVAL, "%llu bytes are asked for and the buffer holds %zu", (unsigned long long)p->length,
                        p->into->length);
    return 0;
}

static int fetch_may_fetch(struct hd_link *link)
{
    if (!hd_link_usable(link))
        return hd_link_failure(link);
    if (link->state != HD_LINK_UP)
        return hd_error(-ESHUTDOWN, "the idle link to %s is being closed; connect again", link->peer);
    if (link->fetch.table.used >= link->peers.fetch_max)
        return hd_error(-EAGAIN, "%s takes no more than %u fetches at a time", link->peer, link->peers.fetch_max);
    return 0;
}

int hd_fetch_start(hd_link *link, const char *service, const struct hd_fetch_params *given, hd_fetch **out)
{
    struct hd_fetch_params p;
    hd_enter(link->engine);
    int err = fetch_take_params(service, given, &p);
    struct hd_fetch *f = err ? NULL : hd_fetch_create(link, true, service, strlen(service), p.name, p.name_length);
    if (!f)
        return err ? err : -ENOMEM;
    f->queue = hd_queue_ref(p.queue);
    f->event.event.user = p.user;
    f->offset = p.offset;
    f->length = p.length;
    f->into = p.into ? hd_buf_ref(p.into) : NULL;
    f->lent = p.into != NULL;
    f->started = hd_ticks();
    hd_link_lock(link);
    err = fetch_may_fetch(link);
    if (!err)
        err = hd_table_add(&link->fetch.table, f, &f->handle);
    if (!err) {
        f->in_table = link->used = true;
        hd_count(link->engine->stats, fetches, 1);
        HD_TRACE4(fetch_begin, link, f->handle, f->offset, f->length);
        if (!hd_list_empty(&link->fetch.tx_ours) || !hd_link_can_send(link) || !fetch_send_request(f))
            hd_list_add_tail(&link->fetch.tx_ours, &f->node);
    }
    hd_link_unlock(link);
    if (err)
        hd_fetch_destroy(f);
    else
        *out = f;
    return err;
}

hd_buf *hd_fetch_data(hd_fetch *fetch)
{
    return fetch->into;
}

const char *hd_fetch_error(hd_fetch *fetch)
{
    return fetch->cause;
}

void hd_fetch_cancel(hd_fetch *f)
{
    struct hd_link *link = f->link;
    hd_link_lock(link);
    if (f->state != FETCH_COMPLETE && !f->cancelled) {
        f->cancelled = true;
        if (!hd_list_empty(&f->node)) { /* not even sent */
            fetch_complete(f, -ECANCELED, "cancelled");
            fetch_forget(f);
        } else {
            hd_link_control(link, HD_FRAME_CANCEL, f->handle, 0, NULL, 0);
            if (!f->moving)
                fetch_complete(f, -ECANCELED, "cancelled");
        }
    }
    hd_link_unlock(link);
}

void hd_fetch_release(hd_fetch *f)
{
    struct hd_link *link = hd_link_ref(f->link);
    hd_link_lock(link);
    hd_queue_cancel(f->queue, &f->event);
    f->released = true;
    bool gone = !f->in_table && !f->moving;
    if (!gone && f->state != FETCH_COMPLETE && !f->cancelled && hd_link_usable(link)) {
        f->cancelled = true;
        hd_link_control(link, HD_FRAME_CANCEL, f->handle, 0, NULL, 0);
    }
    hd_link_unlock(link);
    if (gone)
        hd_fetch_destroy(f);
    hd_link_put(link);
}

/* The block's length is known: memory for all of it, once. */
static int fetch_memory(struct hd_fetch *f, hd_buf **buf, size_t *offset)
{
    if (!f->into) {
        int err = hd_arena_alloc(f->link->engine->arena, f->total ? f->total : 1, &f->into);
        if (err)
            return err;
        f->into->length = f->total;
    }
    *buf = hd_buf_ref(f->into);
    *offset += (size_t)(f->into->data - f->into->base);
    return 0;
}

static bool fetch_fits(const struct hd_fetch *f, uint64_t total)
{
    return total <= f->link->mine.message_max && (f->length == HD_FETCH_ALL || total <= f->length) &&
           (!f->into || f->state == FETCH_MOVING || total <= f->into->length);
}

int hd_fetch_on_reply(struct hd_link *link, uint32_t handle, uint64_t error, const void *payload, size_t length)
{
    struct hd_fetch *f = hd_table_get(&link->fetch.table, handle);
    if (!f || !hd_list_empty(&f->node))
        return hd_error(-EPROTO, "a reply to something that was not asked");
    if (error) {
        char cause[HD_CAUSE_MAX];
        hd_copy_text(cause, sizeof(cause), payload, length);
        f->error = error < 4096 ? -(int)error : -EIO;
        snprintf(f->cause, sizeof(f->cause), "%s", cause);
        if (!f->moving)
            fetch_complete(f, f->error, cause);
        fetch_forget(f);
        return 0;
    }
    if (f->state == FETCH_MOVING)
        return hd_error(-EPROTO, "a block comes in two ways at once");
    if (!f->cancelled && f->state == FETCH_ASKED) {
        if (!fetch_fits(f, length)) {
            fetch_complete(f, -EMSGSIZE, "the block is larger than what was asked for or than message.max");
        } else {
            hd_buf *buf;
            size_t offset = 0;
            f->total = length;
            if (fetch_memory(f, &buf, &offset))
                return -ENOBUFS;
            if (length)
                memcpy(buf->base + offset, payload, length);
            f->into->length = length;
            hd_buf_unref(buf);
            fetch_complete(f, 0, "");
        }
    } else {
        fetch_complete(f, -ECANCELED, "cancelled");
    }
    fetch_forget(f);
    return 0;
}

static void fetch_received(struct hd_fetch *f, size_t length)
{
    f->moving--;
    f->received += length;
    if (f->moving == 0) {
        if (f->received == f->total)
            fetch_complete(f, 0, "");
        else if (f->error)
            fetch_complete(f, f->error, f->cause);
        else if (f->cancelled)
            fetch_complete(f, -ECANCELED, "cancelled");
    }
    if (f->released && !f->in_table && !f->moving)
        hd_fetch_destroy_locked(f);
}

static int fetch_piece_memory(struct hd_link *link, struct hd_rndv *rndv)
{
    struct hd_fetch *f = rndv->owner;
    (void)link;
    rndv->lent = f->lent;
    return fetch_memory(f, &rndv->buf, &rndv->offset);
}

static void fetch_piece_done(void *owner, void *part, size_t length, int error)
{
    struct hd_fetch *f = owner;
    (void)part;
    if (f->client)
        fetch_received(f, length);
    else
        hd_fetch_sent(f, length, error);
}

const struct hd_rndv_owner hd_fetch_pieces = {.memory = fetch_piece_memory, .done = fetch_piece_done};

int hd_fetch_on_segment(struct hd_link *link, uint32_t handle, uint64_t server_handle, const struct hd_segment *s)
{
    struct hd_fetch *f = hd_table_get(&link->fetch.table, handle);
    struct hd_rndv *rndv = f && hd_list_empty(&f->node) ? hd_rndv_create(link, HD_RNDV_RX) : NULL;
    if (!rndv)
        return f ? -ENOBUFS : hd_error(-EPROTO, "a segment of something that was not asked");
    int err = hd_rndv_accept(link, rndv, server_handle, &s->rts);
    bool first = f->announced == 0;
    if (!err && (s->total == 0 || s->total > INT64_MAX || s->offset != f->announced ||
                 s->rts.length > s->total - s->offset || (!first && s->total != f->total)))
        err = hd_error(-EPROTO, "a segment that does not fit its block");
    if (err) {
        hd_rndv_free(link, rndv);
        return err;
    }
    bool last = s->offset + s->rts.length == s->total;
    f->total = s->total;
    f->announced += s->rts.length;
    if (!f->cancelled && f->state == FETCH_ASKED && !fetch_fits(f, s->total)) {
        fetch_complete(f, -EMSGSIZE, "the block is larger than what was asked for or than message.max");
        f->cancelled = true;
    }
    if (f->cancelled || f->state == FETCH_COMPLETE) {
        hd_rndv_refuse(link, rndv, -ECANCELED);
    } else {
        if (first && f->into)
            f->into->length = s->total;
        f->state = FETCH_MOVING;
        f->moving++;
        rndv->ops = &hd_fetch_pieces;
        rndv->owner = f;
        rndv->offset = s->offset;
        hd_rndv_start(link, rndv);
    }
    if (last)
        fetch_forget(f);
    return 0;
}

void hd_fetch_transmit(struct hd_link *link)
{
    while (hd_link_usable(link) && hd_link_can_send(link) && !hd_list_empty(&link->fetch.tx_ours)) {
        struct hd_fetch *f = hd_container(link->fetch.tx_ours.next, struct hd_fetch, node);
        if (!fetch_send_request(f))
            return;
        hd_list_remove(&f->node);
    }
    hd_fetch_transmit_replies(link);
}

/* ---- the end of a link ---- */

/* Whether the peer or an adapter may write into memory that the program has back with the event. That is over when the
 * endpoint is quiet. (A transport whose end takes the peer's part has no such transfers: hd_rndv_start().) */
static bool fetch_still_written(const struct hd_fetch *f)
{
    return f->moving && f->lent && (f->link->ep->caps & HD_CAP_ENDS);
}

/* `quiet`: nobody writes any more. */
static void fetch_end_all(struct hd_link *link, bool quiet)
{
    char cause[HD_CAUSE_MAX];
    snprintf(cause, sizeof(cause), "%.70s: %.86s", link->peer, link->cause);
    for (uint32_t i = 0; i < link->rndv.table.room; i++) { /* transfers end without a word to their fetches */
        struct hd_rndv *rndv = hd_table_at(&link->rndv.table, i);
        if (!rndv || rndv->ops != &hd_fetch_pieces)
            continue;
        struct hd_fetch *f = rndv->owner;
        if (f->client && !quiet && fetch_still_written(f))
            continue;
        hd_rndv_disown(rndv);
        if (!f->client) {
            f->inflight--;
            continue;
        }
        f->moving--;
        if (!f->in_table && f->moving == 0) {
            fetch_complete(f, link->error, cause);
            if (f->released)
                hd_fetch_destroy_locked(f);
        }
    }
    for (uint32_t i = 0; i < link->fetch.table.room; i++) {
        struct hd_fetch *f = hd_table_at(&link->fetch.table, i);
        if (f && (quiet || !fetch_still_written(f))) {
            fetch_complete(f, link->error, cause);
            fetch_forget(f);
        }
    }
}

void hd_fetch_quiet(struct hd_link *link)
{
    fetch_end_all(link, true);
}

void hd_fetch_lost(struct hd_link *link)
{
    fetch_end_all(link, false);
    for (struct hd_list *n = link->fetch.served.next, *after; n != &link->fetch.served; n = after) {
        struct hd_fetch *f = hd_container(n, struct hd_fetch, in_served);
        after = n->next;
        hd_list_remove(&f->node);
        if (f->state != FETCH_ASKED && !f->io_busy) { /* else the program, or the I/O thread, still has it */
            hd_fetch_end_served(f);
            hd_fetch_destroy_locked(f);
        }
    }
}
