/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rendezvous: how messages and blocks above the eager threshold move.
 *
 *   READ    RTS ->          the receiver reads our memory in chunks         <- FIN
 *   WRITE   RTS ->  <- CTS  we write the receiver's memory in chunks, DONE ->
 *   COPY    RTS ->  <- CTS  we send frames with the bytes,            DONE ->
 *
 * The sender wishes, the receiver decides: it falls back to COPY when the transport or a slab that could not be
 * registered leaves nothing else.
 */

#include "proto/rendezvous.h"

#include <stdlib.h>

#include "base/trace.h"

struct hd_rndv *hd_rndv_create(struct hd_link *link, enum hd_rndv_side side)
{
    struct hd_rndv *rndv = calloc(1, sizeof(*rndv));
    if (!rndv || hd_table_add(&link->rndv.table, rndv, &rndv->handle)) {
        free(rndv);
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    rndv->side = side;
    hd_list_init(&rndv->node);
    hd_list_init(&rndv->siblings);
    return rndv;
}

void hd_sent_end(struct hd_sent *sent, int status)
{
    hd_queue *queue = sent->queue;
    sent->event.event.status = status;
    if (!hd_queue_post(queue, &sent->event)) /* else it is the queue's now */
        free(sent);
    hd_queue_unref(queue);
}

static struct hd_rma rndv_peers_memory(const struct hd_rndv *rndv)
{
    return (struct hd_rma){.length = rndv->length, .key = rndv->key, .address = rndv->address};
}

void hd_rndv_free(struct hd_link *link, struct hd_rndv *rndv)
{
    if (rndv->held) {
        struct hd_rma rma = rndv_peers_memory(rndv);
        link->ep->ops->unhold(link->ep, &rma);
    }
    if (rndv->sent)
        hd_sent_end(rndv->sent, link->error ? link->error : -ECANCELED);
    hd_list_remove(&rndv->node);
    hd_list_remove(&rndv->siblings);
    hd_table_remove(&link->rndv.table, rndv->handle);
    hd_buf_unref(rndv->buf);
    free(rndv);
    link->comm.idle_since = hd_now();
}

/* ---- chunks ---- */

static struct hd_op *rndv_op_create(struct hd_link *link)
{
    struct hd_op *op;
    if (hd_list_empty(&link->rndv.free_ops)) {
        op = calloc(1, sizeof(*op));
    } else {
        op = hd_container(link->rndv.free_ops.next, struct hd_op, node);
        hd_list_remove(&op->node);
    }
    if (op && hd_table_add(&link->rndv.ops, op, &op->handle)) {
        free(op);
        op = NULL;
    }
    return op;
}

static void rndv_op_free(struct hd_link *link, struct hd_op *op)
{
    hd_table_remove(&link->rndv.ops, op->handle);
    hd_list_add_tail(&link->rndv.free_ops, &op->node);
}

void hd_rndv_free_kept(struct hd_link *link)
{
    struct hd_list *kept[] = {&link->rndv.todo, &link->rndv.free_ops};
    for (size_t i = 0; i < HD_COUNT(kept); i++)
        while (!hd_list_empty(kept[i])) {
            struct hd_op *op = hd_container(kept[i]->next, struct hd_op, node);
            hd_list_remove(&op->node);
            free(op);
        }
}

void hd_rndv_destroy_all(struct hd_link *link)
{
    for (uint32_t i = 0; i < link->rndv.table.room; i++)
        if (hd_table_at(&link->rndv.table, i))
            hd_rndv_free(link, hd_table_at(&link->rndv.table, i));
    for (uint32_t i = 0; i < link->rndv.ops.room; i++) {
        struct hd_op *op = hd_table_at(&link->rndv.ops, i);
        if (!op)
            continue;
        hd_list_remove(&op->node);
        rndv_op_free(link, op);
    }
}

/* Queues chunks up to the depth. */
static void rndv_issue(struct hd_link *link, struct hd_rndv *rndv)
{
    const struct hd_conf *conf = &link->engine->conf;
    while (rndv->issued < rndv->length && rndv->inflight < (unsigned)conf->chunk_depth) {
        size_t left = rndv->length - rndv->issued;
        struct hd_op *op = rndv_op_create(link);
        if (!op) {
            hd_link_doom(link, -ECONNRESET, "out of memory");
            return;
        }
        op->rndv = rndv;
        op->put = rndv->side == HD_RNDV_TX;
        op->rma = (struct hd_rma){.buf = rndv->buf,
                                  .offset = rndv->offset + rndv->issued,
                                  .length = left < conf->chunk_size ? left : conf->chunk_size,
                                  .key = rndv->key,
                                  .address = rndv->address + rndv->issued,
                                  .cookie = op->handle};
        rndv->issued += op->rma.length;
        rndv->inflight++;
        hd_list_add_tail(&link->rndv.todo, &op->node);
    }
}

static void rndv_chunk_done(struct hd_link *link, struct hd_op *op, int status);

static void rndv_access_failed(struct hd_link *link, int status)
{
    hd_link_doom(link, status == -EPROTO ? status : -ECONNRESET, "remote memory access failed: %s",
                 status == -EIO ? "transport error" : hd_last_error());
}

void hd_rndv_op_done(void *arg, uint64_t cookie, int status)
{
    struct hd_link *link = arg;
    struct hd_op *op = cookie <= UINT32_MAX ? hd_table_get(&link->rndv.ops, (uint32_t)cookie) : NULL;
    if (!op) { /* reported before: the transport stutters, the program shall not notice */
        hd_count(link->engine->stats, spurious, 1);
        return;
    }
    rndv_chunk_done(link, op, status);
}

/* One chunk. @return false if the transport has no room now. */
static bool rndv_run_one(struct hd_link *link, struct hd_op *op)
{
    struct hd_ep *ep = link->ep;
    hd_list_remove(&op->node);
    int err = op->put ? ep->ops->put(ep, &op->rma) : ep->ops->get(ep, &op->rma);
    if (err == -EAGAIN) {
        hd_list_add_tail(&link->rndv.todo, &op->node);
        hd_link_hurry(link);
        return false;
    }
    if (err != HD_IN_PROGRESS)
        rndv_chunk_done(link, op, err);
    return true;
}

bool hd_rndv_run(struct hd_link *link, unsigned chunks)
{
    bool did = false;
    while (chunks-- && hd_link_usable(link) && !hd_list_empty(&link->rndv.todo)) {
        if (!rndv_run_one(link, hd_container(link->rndv.todo.next, struct hd_op, node)))
            break;
        did = true;
    }
    return did;
}

/* ---- the sender ---- */

static bool rndv_registered(const struct hd_link *link, const hd_buf *buf)
{
    return buf->slab->device[link->ep->device->index].registered;
}

/* Whether get() and put() of ours work with it: what a processor copies need not be known to anybody. */
static bool rndv_usable(const struct hd_link *link, const hd_buf *buf)
{
    return (link->ep->caps & HD_CAP_COPY) || rndv_registered(link, buf);
}

int hd_rndv_wish(const struct hd_link *link, size_t length)
{
    const struct hd_conf *conf = &link->engine->conf;
    if (conf->rendezvous_protocol) /* auto, read, write, copy */
        return conf->rendezvous_protocol;
    return length <= conf->rendezvous_write_max ? HD_MODE_WRITE : HD_MODE_READ;
}

void hd_rndv_describe(struct hd_link *link, struct hd_rndv *rndv, int wish, struct hd_rts *rts)
{
    *rts = (struct hd_rts){.length = rndv->length, .mode = (uint32_t)wish};
    if (wish == HD_MODE_READ && (!(link->ep->caps & HD_CAP_GET) ||
                                 link->ep->ops->locate(link->ep, rndv->buf, rndv->offset, &rts->key, &rts->address)))
        rts->mode =
            rndv->buf->slab->foreign ? HD_MODE_WRITE : HD_MODE_COPY; /* we can write what the peer cannot read */
    if (rts->mode == HD_MODE_WRITE && (!(link->ep->caps & HD_CAP_PUT) || !rndv_usable(link, rndv->buf)))
        rts->mode = HD_MODE_COPY;
}

static void rndv_end(struct hd_link *link, struct hd_rndv *rndv, int error)
{
    const struct hd_rndv_owner *ops = rndv->ops;
    void *owner = rndv->owner, *part = rndv->part;
    size_t length = rndv->length;
    hd_rndv_free(link, rndv);
    if (ops)
        ops->done(owner, part, length, error);
}

/* The peer has the bytes, or does not want them. */
static void rndv_sent(struct hd_link *link, struct hd_rndv *rndv, int error)
{
    if (rndv->sent)
        hd_sent_end(rndv->sent, error);
    rndv->sent = NULL;
    switch (rndv->mode) {
    case HD_MODE_WRITE:
        hd_count(link->engine->stats, messages_write, 1);
        break;
    case HD_MODE_COPY:
        hd_count(link->engine->stats, messages_copy, 1);
        break;
    default:
        hd_count(link->engine->stats, messages_read, 1);
    }
    rndv_end(link, rndv, error);
}

int hd_rndv_on_cts(struct hd_link *link, uint32_t handle, const struct hd_cts *cts)
{
    struct hd_rndv *rndv = hd_table_get(&link->rndv.table, handle);
    bool sends = rndv && rndv->side == HD_RNDV_TX && !rndv->mode;
    bool writes = sends && cts->mode == HD_MODE_WRITE && (link->ep->caps & HD_CAP_PUT) && rndv_usable(link, rndv->buf);
    if (!sends || (!writes && cts->mode != HD_MODE_COPY))
        return hd_error(-EPROTO, "a clear-to-send that does not fit anything");
    rndv->mode = (int)cts->mode;
    rndv->peer_handle = cts->handle;
    rndv->key = cts->key;
    rndv->address = cts->address;
    if (writes)
        rndv_issue(link, rndv);
    else
        hd_list_add_tail(&link->rndv.tx_frags, &rndv->node);
    return 0;
}

int hd_rndv_on_fin(struct hd_link *link, uint32_t handle, uint64_t error)
{
    struct hd_rndv *rndv = hd_table_get(&link->rndv.table, handle);
    if (!rndv || rndv->side != HD_RNDV_TX || rndv->mode)
        return hd_error(-EPROTO, "the end of a transfer that is not under way");
    rndv->mode = HD_MODE_READ;
    link->tally.bytes_sent += error ? 0 : rndv->length;
    rndv_sent(link, rndv, error ? -ECANCELED : 0);
    return 0;
}

/* The next piece of a copied transfer. @return false without credits. */
static bool rndv_send_frag(struct hd_link *link, struct hd_rndv *rndv)
{
    size_t left = rndv->length - rndv->issued, n = left < link->ep->frame_tx ? left : link->ep->frame_tx;
    if (!hd_link_can_send(link) || hd_link_post(link, HD_FRAME_FRAG, rndv->peer_handle, rndv->issued,
                                                rndv->buf->base + rndv->offset + rndv->issued, n))
        return false;
    rndv->issued += n;
    hd_list_remove(&rndv->node);
    if (rndv->issued < rndv->length) {
        hd_list_add_tail(&link->rndv.tx_frags, &rndv->node); /* the others' turn */
    } else {
        hd_link_control(link, HD_FRAME_DONE, rndv->peer_handle, 0, NULL, 0);
        rndv_sent(link, rndv, 0);
    }
    return true;
}

void hd_rndv_transmit(struct hd_link *link)
{
    while (hd_link_usable(link) && !hd_list_empty(&link->rndv.tx_frags))
        if (!rndv_send_frag(link, hd_container(link->rndv.tx_frags.next, struct hd_rndv, node)))
            return;
}

/* ---- the receiver ---- */

int hd_rndv_accept(struct hd_link *link, struct hd_rndv *rndv, uint64_t handle, const struct hd_rts *rts)
{
    bool readable = link->ep->caps & HD_CAP_GET;
    if (handle == 0 || handle > UINT32_MAX || rts->length == 0 || rts->length > link->mine.message_max ||
        rts->reserved || rts->mode < HD_MODE_READ || rts->mode > HD_MODE_COPY ||
        (rts->mode == HD_MODE_READ && !readable))
        return hd_error(-EPROTO, "a request-to-send that makes no sense");
    rndv->peer_handle = (uint32_t)handle;
    rndv->length = rts->length;
    rndv->key = rts->key;
    rndv->address = rts->address;
    rndv->mode = -(int)rts->mode; /* a wish, until it starts */
    return 0;
}

/* Whether the peer may write there. Not into memory that goes back to the program at the end of a fetch if nobody but
 * the peer can say that it has stopped: a peer process that was stopped itself would write once it goes on. */
static bool rndv_writable(const struct hd_link *link, const struct hd_rndv *rndv)
{
    unsigned caps = link->ep->caps;
    return (caps & HD_CAP_PUT) && ((caps & HD_CAP_ENDS) || !rndv->lent);
}

static void rndv_clear_to_send(struct hd_link *link, struct hd_rndv *rndv)
{
    struct hd_cts cts = {.handle = rndv->handle, .mode = HD_MODE_COPY};
    if (rndv->mode == -HD_MODE_WRITE && rndv_writable(link, rndv) && rndv_registered(link, rndv->buf) &&
        link->ep->ops->locate(link->ep, rndv->buf, rndv->offset, &cts.key, &cts.address) == 0)
        cts.mode = HD_MODE_WRITE;
    rndv->mode = (int)cts.mode;
    hd_link_control(link, HD_FRAME_CTS, rndv->peer_handle, 0, &cts, sizeof(cts));
}

static void rndv_wait_for_memory(struct hd_link *link, struct hd_rndv *rndv)
{
    if (!rndv->starved)
        HD_TRACE3(stall_begin, link, HD_STALL_MEMORY, rndv->stream_id);
    rndv->starved = true;
    hd_link_stalled(link, memory_stalls);
    hd_list_add_tail(&link->rndv.memory_wait, &rndv->node);
    hd_link_hurry(link);
}

static void rndv_end_stall(struct hd_link *link, struct hd_rndv *rndv)
{
    rndv->starved = false;
    HD_TRACE3(stall_end, link, HD_STALL_MEMORY, rndv->stream_id);
    (void)link;
}

void hd_rndv_start(struct hd_link *link, struct hd_rndv *rndv)
{
    int err = rndv->buf ? 0 : rndv->ops->memory(link, rndv);
    hd_list_remove(&rndv->node);
    if (err == -ENOBUFS || err == -ENOMEM) {
        rndv_wait_for_memory(link, rndv);
        return;
    }
    if (rndv->starved)
        rndv_end_stall(link, rndv);
    if (err) {
        hd_link_doom(link, -ECONNRESET, "%s", hd_last_error());
        return;
    }
    if (rndv->mode == -HD_MODE_READ && rndv_usable(link, rndv->buf)) {
        rndv->mode = HD_MODE_READ;
        rndv_issue(link, rndv);
    } else {
        rndv_clear_to_send(link, rndv);
    }
}

void hd_rndv_retry_memory(struct hd_link *link)
{
    struct hd_list waiting;
    hd_list_init(&waiting);
    while (!hd_list_empty(&link->rndv.memory_wait)) {
        struct hd_list *node = link->rndv.memory_wait.next;
        hd_list_remove(node);
        hd_list_add_tail(&waiting, node);
    }
    while (!hd_list_empty(&waiting))
        hd_rndv_start(link, hd_container(waiting.next, struct hd_rndv, node));
}

void hd_rndv_refuse(struct hd_link *link, struct hd_rndv *rndv, int error)
{
    hd_link_control(link, HD_FRAME_FIN, rndv->peer_handle, (uint64_t)-error, NULL, 0);
    hd_rndv_free(link, rndv);
}

int hd_rndv_leave(struct hd_link *link, struct hd_rndv *rndv)
{
    if (rndv->mode != -HD_MODE_READ || !(link->ep->caps & HD_CAP_COPY))
        return 0;
    struct hd_rma rma = rndv_peers_memory(rndv);
    int err = link->ep->ops->hold(link->ep, &rma);
    rndv->held = !err;
    return err;
}

void hd_rndv_take(struct hd_link *link, struct hd_rndv *rndv, size_t offset, const struct hd_copier *copier, size_t at,
                  size_t length)
{
    struct hd_rma rma = {
        .copier = copier, .offset = at, .length = length, .key = rndv->key, .address = rndv->address + offset};
    int err = link->ep->ops->get(link->ep, &rma);
    if (err)
        rndv_access_failed(link, err);
}

void hd_rndv_taken(struct hd_link *link, struct hd_rndv *rndv)
{
    hd_link_control(link, HD_FRAME_FIN, rndv->peer_handle, 0, NULL, 0);
    link->tally.bytes_received += rndv->length;
    HD_TRACE4(message_received, link, rndv->stream_id, rndv->length, rndv->handle);
    hd_rndv_free(link, rndv);
}

/* All bytes are here. */
static void rndv_received(struct hd_link *link, struct hd_rndv *rndv)
{
    if (rndv->stream_id)
        HD_TRACE4(message_received, link, rndv->stream_id, rndv->length, rndv->handle);
    if (rndv->mode == HD_MODE_READ)
        hd_link_control(link, HD_FRAME_FIN, rndv->peer_handle, 0, NULL, 0);
    link->tally.bytes_received += rndv->mode == HD_MODE_COPY ? 0 : rndv->length; /* its frames counted */
    rndv_end(link, rndv, 0);
}

static void rndv_chunk_done(struct hd_link *link, struct hd_op *op, int status)
{
    struct hd_rndv *rndv = op->rndv;
    size_t length = op->rma.length;
    rndv_op_free(link, op);
    rndv->inflight--;
    if (status || !hd_link_usable(link)) {
        rndv_access_failed(link, status);
        return;
    }
    rndv->completed += length;
    if (rndv->completed < rndv->length) {
        rndv_issue(link, rndv);
    } else if (rndv->side == HD_RNDV_RX) {
        rndv_received(link, rndv);
    } else {
        link->tally.bytes_sent += rndv->length;
        hd_link_control(link, HD_FRAME_DONE, rndv->peer_handle, 0, NULL, 0);
        rndv_sent(link, rndv, 0);
    }
}

int hd_rndv_on_frag(struct hd_link *link, uint32_t handle, uint64_t offset, const void *payload, size_t length)
{
    struct hd_rndv *rndv = hd_table_get(&link->rndv.table, handle);
    if (!rndv || rndv->side != HD_RNDV_RX || rndv->mode != HD_MODE_COPY || offset != rndv->completed ||
        length > rndv->length - rndv->completed)
        return hd_error(-EPROTO, "a fragment that does not fit its transfer");
    memcpy(rndv->buf->base + rndv->offset + rndv->completed, payload, length);
    rndv->completed += length;
    return 0;
}

int hd_rndv_on_done(struct hd_link *link, uint32_t handle)
{
    struct hd_rndv *rndv = hd_table_get(&link->rndv.table, handle);
    bool fits = rndv && rndv->side == HD_RNDV_RX &&
                (rndv->mode == HD_MODE_WRITE || (rndv->mode == HD_MODE_COPY && rndv->completed == rndv->length));
    if (!fits)
        return hd_error(-EPROTO, "the end of a transfer that is not under way");
    rndv_received(link, rndv);
    return 0;
}
