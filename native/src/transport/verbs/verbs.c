/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Traffic over verbs.
 *
 * Frames are copied into a registered ring (or into the work request, if the device takes data inline), so send() keeps
 * nothing of its caller's; large ones are sent from the buffer that they are in. Completions of one queue pair come in
 * order; only every few sends ask for one, which frees all before it. Reads and writes of memory each ask for one, and
 * what is sent from a buffer, which would be kept else until more is sent.
 *
 * Whoever polls the completion queue puts what is ours into our inbox, and progress() takes it from there. The queue is
 * polled by one thread at a time, so the order is kept. Reports of sends are taken before what arrived, but for those
 * that failed: the link ends with them.
 */

#include <stdio.h>
#include <stdlib.h>

#include "transport/verbs/cq.h"

#define RING_STEP 64 /* frames in the send ring begin at multiples of it */

static struct verbs_ep *of(struct hd_ep *ep)
{
    return (struct verbs_ep *)ep;
}

/* ---- failures ---- */

/* Keeps the first cause; progress() reports it when what came before has been taken. */
static void fail(struct verbs_ep *ep, const char *text)
{
    if (atomic_load(&ep->failed))
        return;
    snprintf(ep->failure, sizeof(ep->failure), "%s", text);
    atomic_store(&ep->failed, true);
}

static const char *advice(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
        return "; the peer's process or host is gone, or the network between the ports is broken";
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        return "; the peer has not registered that memory";
    default:
        return "";
    }
}

static void fail_by_completion(struct verbs_ep *ep, const char *what, enum ibv_wc_status status, uint32_t vendor_error)
{
    char text[sizeof(ep->failure)];
    snprintf(text, sizeof(text), "verbs device %s: %s failed: %s (vendor error 0x%x)%s", ep->dev->name, what,
             ep->dev->api->wc_status_str(status), vendor_error, advice(status));
    fail(ep, text);
}

static void fail_by_send(struct verbs_ep *ep)
{
    static const char *const names[] = {"a send", "a remote read", "a remote write", "the end of the link"};
    const struct verbs_inbox *in = &ep->inbox;
    fail_by_completion(ep, names[ep->tx[atomic_load(&in->tx_failed) & ep->tx_mask].kind], in->tx_status, in->tx_vendor);
}

static void fail_by_event(struct verbs_ep *ep)
{
    char text[sizeof(ep->failure)];
    enum ibv_event_type type = (enum ibv_event_type)(atomic_load(&ep->event) - 1);
    if (type == IBV_EVENT_PORT_ERR)
        snprintf(text, sizeof(text), "port %u of verbs device %s went down; check cable, switch and interface",
                 ep->dev->port, ep->dev->name);
    else
        snprintf(text, sizeof(text), "verbs device %s reports: %s", ep->dev->name, ep->dev->api->event_type_str(type));
    fail(ep, text);
}

/* ---- completions ---- */

void hd_verbs_repost_now(struct verbs_ep *ep, uint32_t due)
{
    int err = hd_verbs_pool_post(ep->dev, ep->pool, due - 1);
    atomic_store_explicit(&ep->repost, 0, memory_order_release);
    if (err)
        atomic_store(&ep->event, (int)IBV_EVENT_SRQ_ERR + 1);
}

void hd_verbs_repost(struct verbs_ep *ep)
{
    hd_verbs_cq_seize(ep->cq);
    hd_verbs_repost_due(ep);
    hd_unlock(&ep->cq->lock);
}

static inline void repost_later(struct verbs_ep *ep, uint32_t index)
{
    if (atomic_load_explicit(&ep->repost, memory_order_acquire))
        hd_verbs_repost(ep);
    atomic_store_explicit(&ep->repost, index + 1, memory_order_release);
}

/* Looks into the queue, unless another thread does: that one puts what is ours into the inbox. @return whether there
 * may be more. */
static inline bool look_for_mail(struct verbs_ep *ep)
{
    struct verbs_cq *cq = ep->cq;
    if (!hd_trylock(&cq->lock))
        return false;
    bool more = hd_verbs_cq_poll(cq, NULL);
    hd_unlock(&cq->lock);
    return more;
}

static void retire_one(struct verbs_ep *ep, bool upcall, int status)
{
    struct verbs_tx *tx = &ep->tx[ep->tx_done & ep->tx_mask];
    ep->tx_done++;
    ep->ring_head = tx->ring_end;
    hd_buf_unref(tx->buf);
    tx->buf = NULL;
    switch (tx->kind) {
    case VERBS_TX_FRAME:
        ep->frames--;
        return;
    case VERBS_TX_BYE:
        ep->frames--;
        ep->bye_done = status == 0;
        return;
    case VERBS_TX_READ:
        ep->reads--;
        break;
    case VERBS_TX_WRITE:
        ep->writes--;
        break;
    }
    if (upcall) {
        if (status)
            hd_error(status, "%s", ep->failure);
        ep->base.sink.done(ep->base.sink.arg, tx->cookie, status);
    }
}

/* A report stands for everything that was posted before it. */
static void retire_up_to(struct verbs_ep *ep, uint64_t end, bool upcall, int status)
{
    while (ep->tx_done < end)
        retire_one(ep, upcall, status);
    atomic_store_explicit(&ep->inbox.tx_taken, end, memory_order_relaxed);
    if (ep->tx_done == ep->tx_posted) /* nothing under way: back to where the ring is warm */
        ep->ring_head = ep->ring_tail = 0;
}

static int take_reports(struct verbs_ep *ep, uint64_t end, bool upcall)
{
    if (end < ep->tx_done || end > ep->tx_posted)
        return hd_error(-EIO, "verbs device %s reports work that was not given to it", ep->dev->name);
    uint64_t failed = atomic_load_explicit(&ep->inbox.tx_failed, memory_order_relaxed);
    if (failed >= end) {
        retire_up_to(ep, end, upcall, 0);
        return 0;
    }
    if (failed > ep->tx_done)
        retire_up_to(ep, failed, upcall, 0);
    fail_by_send(ep);
    retire_up_to(ep, end, upcall, -ECONNRESET);
    return 0;
}

static inline bool has_report(const struct verbs_ep *ep)
{
    return atomic_load_explicit(&ep->inbox.tx_put, memory_order_acquire) !=
           atomic_load_explicit(&ep->inbox.tx_taken, memory_order_relaxed);
}

/* Whether it is of a send that failed: then what arrived before it is taken first. */
static inline bool report_is_bad(const struct verbs_ep *ep)
{
    return atomic_load_explicit(&ep->inbox.tx_failed, memory_order_relaxed) != VERBS_NONE;
}

static inline int take_report(struct verbs_ep *ep, bool upcall)
{
    return take_reports(ep, atomic_load_explicit(&ep->inbox.tx_put, memory_order_acquire), upcall);
}

/* ---- frames that arrive ---- */

static int hold(struct verbs_ep *ep, const struct hd_frame *frame, const void *payload)
{
    if (ep->held_count > 2 * ep->mine.credits)
        return hd_error(-EPROTO, "the peer sends more than its credits allow");
    struct verbs_held *held = malloc(sizeof(*held) + frame->length);
    if (!held)
        return hd_error(-ENOMEM, "out of memory");
    held->next = NULL;
    held->frame = *frame;
    memcpy(held->payload, payload, frame->length);
    *ep->held_last = held;
    ep->held_last = &held->next;
    atomic_store(&ep->held, ++ep->held_count);
    return 0;
}

/* @return how many were taken, or an error. */
static int give_held(struct verbs_ep *ep)
{
    int count = 0;
    while (ep->held_first) {
        struct verbs_held *held = ep->held_first;
        int err = ep->base.sink.frame(ep->base.sink.arg, &held->frame, held->payload, NULL);
        if (err)
            return err == -ENOBUFS ? count : err;
        ep->held_first = held->next;
        if (!ep->held_first)
            ep->held_last = &ep->held_first;
        atomic_store(&ep->held, --ep->held_count);
        free(held);
        count++;
    }
    return count;
}

/* What takes the buffer's place if it is handed up, or NULL: then the frame is copied. A message that fills most of its
 * buffer always goes up in it. Smaller ones would tie up too much memory: they go up while what went up last has come
 * back, so that a reader that keeps up spares the copy and one that does not holds one large buffer, not many. Nobody
 * keeps what other frames carry. */
static inline hd_buf *spare_for(struct verbs_ep *ep, const struct verbs_rx *rx, const struct hd_frame *frame)
{
    if (rx->own || frame->type != HD_FRAME_DATA || frame->length == 0)
        return NULL;
    if (frame->length >= rx->buf->capacity / 2)
        return hd_verbs_pool_spare(ep->dev);
    return hd_verbs_pool_lend(ep->dev, &ep->lent);
}

/* Hands a frame up. */
static inline int give(struct verbs_ep *ep, const struct hd_frame *frame, const char *payload, struct verbs_rx *rx)
{
    if (ep->held_first)
        return hold(ep, frame, payload);
    hd_buf *spare = spare_for(ep, rx, frame);
    int err = ep->base.sink.frame(ep->base.sink.arg, frame, payload, spare ? rx->buf : NULL);
    if (err == -ENOBUFS)
        err = hold(ep, frame, payload);
    if (spare && spare == ep->lent)
        hd_verbs_pool_lent(ep->dev, rx, &ep->lent);
    else if (spare)
        hd_verbs_pool_handed(ep->dev, rx, spare);
    return err;
}

HD_INLINE int on_arrived(struct verbs_ep *ep, const struct verbs_arrival *arrival)
{
    const uint32_t *word = arrival->has_word ? &arrival->word : NULL;
    struct verbs_rx *rx = &ep->pool->entries[arrival->index];
    struct hd_frame frame;
    int head = verbs_unpack(&ep->framing, word, rx->at, arrival->length, ep->base.frame_rx, &frame);
    int err = head < 0 ? head : 0;
    if (head > 0 && frame.type == VERBS_BYE) {
        atomic_store(&ep->peer_closed, true);
    } else if (!err) {
        verbs_received(&ep->framing, word);
        err = give(ep, &frame, rx->at + head, rx);
    }
    repost_later(ep, arrival->index);
    return err;
}

static inline bool has_arrival(const struct verbs_ep *ep)
{
    return atomic_load_explicit(&ep->inbox.rx_put, memory_order_acquire) !=
           atomic_load_explicit(&ep->inbox.rx_taken, memory_order_relaxed);
}

/* The next receive that ended, which there is. */
static inline struct verbs_arrival next_arrival(struct verbs_ep *ep)
{
    struct verbs_inbox *in = &ep->inbox;
    uint32_t taken = atomic_load_explicit(&in->rx_taken, memory_order_relaxed);
    struct verbs_arrival arrival = in->arrivals[taken & in->mask];
    atomic_store_explicit(&in->rx_taken, taken + 1, memory_order_release);
    return arrival;
}

static int on_failed_receive(struct verbs_ep *ep, const struct verbs_arrival *arrival)
{
    fail_by_completion(ep, "a receive", (enum ibv_wc_status)arrival->status, arrival->word);
    return hd_verbs_pool_post(ep->dev, ep->pool, arrival->index);
}

HD_INLINE int take_arrival(struct verbs_ep *ep)
{
    struct verbs_arrival arrival = next_arrival(ep);
    return arrival.status == IBV_WC_SUCCESS ? on_arrived(ep, &arrival) : on_failed_receive(ep, &arrival);
}

static int why_over(struct verbs_ep *ep)
{
    if (atomic_load(&ep->inbox.overrun))
        return hd_error(-EPROTO, "the peer sends more than its credits allow");
    if (atomic_load(&ep->event))
        fail_by_event(ep);
    return atomic_load(&ep->failed) ? hd_error(-ECONNRESET, "%s", ep->failure)
                                    : hd_error(-EPIPE, "the peer closed the link");
}

/* Takes one of what is in the inbox. */
HD_INLINE int take(struct verbs_ep *ep)
{
    if (has_report(ep) && !report_is_bad(ep))
        return take_report(ep, true);
    return has_arrival(ep) ? take_arrival(ep) : take_report(ep, true);
}

/* Looks into the queue if there is nothing in the inbox, and again after a full batch. @return how much was taken */
HD_INLINE int take_mail(struct verbs_ep *ep, int budget)
{
    bool more = !hd_verbs_has_mail(ep);
    int count = 0;
    for (; count < budget; count++) {
        if (!hd_verbs_has_mail(ep)) {
            if (more || count >= VERBS_BATCH)
                more = look_for_mail(ep);
            if (!hd_verbs_has_mail(ep))
                break;
        }
        int err = take(ep);
        if (err)
            return err;
    }
    return count;
}

static int verbs_progress(struct hd_ep *base, int budget)
{
    struct verbs_ep *ep = of(base);
    int held = ep->held_first ? give_held(ep) : 0;
    int taken = held < 0 ? held : take_mail(ep, budget - held);
    if (taken < 0)
        return taken;
    if (atomic_load_explicit(&ep->pool->shortage, memory_order_relaxed))
        hd_verbs_pool_fill(ep->dev, ep->pool);
    if (!hd_verbs_over(ep) || held + taken >= budget || (ep->held_first && !atomic_load(&ep->event)))
        return held + taken;
    return why_over(ep);
}

void hd_verbs_discard(struct verbs_ep *ep)
{
    if (ep->listed) {
        hd_verbs_cq_seize(ep->cq);
        hd_verbs_cq_poll_all(ep->cq, ep);
        hd_unlock(&ep->cq->lock);
    }
    while (has_arrival(ep)) {
        struct verbs_arrival arrival = next_arrival(ep);
        hd_verbs_pool_post(ep->dev, ep->pool, arrival.index);
    }
    if (has_report(ep) && take_report(ep, false))
        fail(ep, hd_last_error());
}

/* ---- sending ---- */

/* In one piece: Soft-RoCE's driver sends nothing of ibv_wr_set_inline_data_list() (rdma-core until June 2026). */
static void post_inline(struct ibv_qp_ex *qp, const struct ibv_sge *sge, int count)
{
    char whole[VERBS_INLINE_MAX];
    void *at = count == 1 ? (void *)(uintptr_t)sge->addr : whole;
    size_t length = count == 1 ? sge->length : 0;
    for (int i = 0; at == whole && i < count; length += sge[i++].length)
        memcpy(whole + length, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
    ibv_wr_set_inline_data(qp, at, length);
}

/* ibv_post_send() by ibv_wr_*. A driver that looks at the flag for inline data, which is said by the call, finds it. */
static int post_extended(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
    const struct ibv_sge *sge = wr->sg_list;
    ibv_wr_start(qp);
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags;
    if (wr->opcode == IBV_WR_SEND)
        ibv_wr_send(qp);
    else if (wr->opcode == IBV_WR_SEND_WITH_IMM)
        ibv_wr_send_imm(qp, wr->imm_data);
    else if (wr->opcode == IBV_WR_RDMA_READ)
        ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
    else
        ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
    if (wr->send_flags & IBV_SEND_INLINE)
        post_inline(qp, sge, wr->num_sge);
    else
        ibv_wr_set_sge(qp, sge->lkey, sge->addr, sge->length);
    int err = ibv_wr_complete(qp);
    return err == ENOSPC ? ENOMEM : err; /* drivers call a full queue either */
}

static inline int post_request(struct verbs_ep *ep, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    return ep->extended ? post_extended(ep->extended, wr) : ibv_post_send(ep->qp, wr, &bad);
}

static inline int post(struct verbs_ep *ep, struct ibv_send_wr *wr, struct verbs_tx tx)
{
    wr->wr_id = ep->tx_posted;
    int err = post_request(ep, wr);
    if (err == ENOMEM)
        return -EAGAIN;
    if (err)
        return hd_error(-ECONNRESET, "verbs device %s does not take work: %s", ep->dev->name, strerror(err));
    tx.ring_end = ep->ring_tail;
    if (tx.buf) {
        hd_buf_ref(tx.buf);
        hd_count(ep->dev->device->stats, messages_zero_copy, 1);
    }
    ep->tx[ep->tx_posted & ep->tx_mask] = tx;
    ep->tx_posted++;
    return 0;
}

static inline bool usable(const struct verbs_ep *ep)
{
    return !ep->closed && ep->qp && !atomic_load_explicit(&ep->failed, memory_order_relaxed);
}

static int unusable(const struct verbs_ep *ep)
{
    if (ep->closed || !ep->qp)
        return hd_error(-ECONNRESET, "the link is closed");
    return hd_error(-ECONNRESET, "%s", ep->failure);
}

/* Room for `size` bytes in one piece. @return its place, or NULL. */
static char *ring_room(struct verbs_ep *ep, size_t size, uint64_t *end)
{
    size_t to_end = ep->ring_size - (ep->ring_tail & (ep->ring_size - 1));
    uint64_t begin = size > to_end ? ep->ring_tail + to_end : ep->ring_tail;
    if (begin + size - ep->ring_head > ep->ring_size)
        return NULL;
    *end = begin + size;
    return ep->ring + (begin & (ep->ring_size - 1));
}

/* Whether this frame should be reported: now and then, and early enough for a full ring to have one to wait for. */
static inline bool wants_report(const struct verbs_ep *ep, size_t size)
{
    return ep->silent + 1 >= ep->report_every || ep->silent_bytes + size >= ep->ring_size / 4;
}

/* Copies a frame into the ring; *before is where that ended. @return where, or NULL if there is no room. */
static char *into_ring(struct verbs_ep *ep, const struct hd_frame *frame, const void *payload, size_t head,
                       uint64_t *before)
{
    size_t room = hd_align(head + frame->length, RING_STEP);
    *before = ep->ring_tail;
    char *at = ring_room(ep, room, &ep->ring_tail);
    if (!at && hd_verbs_ring_widen(ep)) {
        *before = ep->ring_tail;
        at = ring_room(ep, room, &ep->ring_tail);
    }
    if (!at)
        return NULL;
    if (head)
        memcpy(at, frame, sizeof(*frame));
    if (payload)
        memcpy(at + head, payload, frame->length);
    return at;
}

/* Inside the work request. @return how many pieces */
static inline int from_here(const struct hd_frame *frame, const void *payload, size_t head, struct ibv_sge *sge)
{
    int count = 0;
    if (head)
        sge[count++] = (struct ibv_sge){.addr = (uintptr_t)frame, .length = (uint32_t)head};
    if (frame->length)
        sge[count++] = (struct ibv_sge){.addr = (uintptr_t)payload, .length = frame->length};
    return count;
}

HD_INLINE int send_frame(struct verbs_ep *ep, const struct hd_frame *frame, const void *payload, hd_buf *owner,
                         enum verbs_tx_kind kind)
{
    uint32_t word;
    enum verbs_form form = verbs_form(&ep->framing, frame, &word);
    size_t head = form == VERBS_FORM_WHOLE ? sizeof(*frame) : 0, size = head + frame->length;
    size_t room = hd_align(size, RING_STEP);
    bool fits = size <= ep->inline_max;
    bool in_place = owner && !fits && !head && size >= ep->zcopy_min && hd_verbs_reaches(ep->dev, owner);
    bool report = kind == VERBS_TX_BYE || in_place || wants_report(ep, room);
    struct ibv_sge sge[2];
    struct ibv_send_wr wr; /* what a send does not use of it is not set */
    wr.next = NULL;
    wr.sg_list = sge;
    wr.num_sge = 1;
    wr.opcode = form == VERBS_FORM_BARE ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
    wr.imm_data = htonl(word);
    uint64_t before = ep->ring_tail;
    if (fits) {
        wr.num_sge = from_here(frame, payload, head, sge);
    } else if (in_place) {
        sge[0] = (struct ibv_sge){
            .addr = (uintptr_t)payload, .length = frame->length, .lkey = hd_verbs_key_of(ep->dev, owner)};
    } else {
        char *at = into_ring(ep, frame, payload, head, &before);
        if (!at)
            return -EAGAIN;
        sge[0] = (struct ibv_sge){.addr = (uintptr_t)at, .length = (uint32_t)size, .lkey = ep->ring_key};
        report |= ep->ring_size == ep->own.size; /* so small that any frame may be the one to wait for */
    }
    wr.send_flags = (fits ? IBV_SEND_INLINE : 0) | (report ? IBV_SEND_SIGNALED : 0);
    int err = post(ep, &wr, (struct verbs_tx){.kind = kind, .buf = in_place ? owner : NULL});
    if (err) {
        ep->ring_tail = before;
        return err;
    }
    ep->frames++;
    verbs_sent(&ep->framing, form, word);
    ep->silent = report ? 0 : ep->silent + 1;
    ep->silent_bytes = report ? 0 : ep->silent_bytes + room;
    return 0;
}

static int verbs_send(struct hd_ep *base, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    struct verbs_ep *ep = of(base);
    if (!usable(ep))
        return unusable(ep);
    if (ep->frames >= ep->frames_max)
        return -EAGAIN;
    return send_frame(ep, frame, payload, owner, VERBS_TX_FRAME);
}

int hd_verbs_post_bye(struct verbs_ep *ep)
{
    struct hd_frame bye = {.type = VERBS_BYE};
    hd_verbs_discard(ep);
    return send_frame(ep, &bye, NULL, NULL, VERBS_TX_BYE);
}

/* ---- memory of the peer ---- */

static int verbs_locate(struct hd_ep *base, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    unsigned index = base->device->index;
    if (!hd_verbs_reaches(of(base)->dev, buf))
        return -EOPNOTSUPP;
    *key = buf->slab->device[index].key;
    *address = (uint64_t)(uintptr_t)(buf->base + offset);
    return 0;
}

static int access_memory(struct verbs_ep *ep, const struct hd_rma *rma, bool read)
{
    if (!usable(ep))
        return unusable(ep);
    if (!hd_verbs_reaches(ep->dev, rma->buf))
        return hd_error(-EOPNOTSUPP, "this buffer's memory is not registered with verbs device %s", ep->dev->name);
    if (rma->key > UINT32_MAX)
        return hd_error(-EPROTO, "the peer named memory by an impossible key");
    if (ep->reads + ep->writes >= VERBS_RMA_MAX || (read && ep->reads >= ep->reads_max))
        return -EAGAIN;
    struct ibv_sge sge = {.addr = (uintptr_t)(rma->buf->base + rma->offset),
                          .length = (uint32_t)rma->length,
                          .lkey = hd_verbs_key_of(ep->dev, rma->buf)};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {.remote_addr = rma->address, .rkey = (uint32_t)rma->key}};
    int err = post(ep, &wr, (struct verbs_tx){.kind = read ? VERBS_TX_READ : VERBS_TX_WRITE, .cookie = rma->cookie});
    if (err)
        return err;
    ep->silent = 0; /* this one is reported, so those before it are too */
    ep->silent_bytes = 0;
    ep->reads += read;
    ep->writes += !read;
    return HD_IN_PROGRESS;
}

static int verbs_get(struct hd_ep *base, const struct hd_rma *rma)
{
    return access_memory(of(base), rma, true);
}

static int verbs_put(struct hd_ep *base, const struct hd_rma *rma)
{
    return access_memory(of(base), rma, false);
}

static uint32_t verbs_number(struct hd_ep *base)
{
    return of(base)->qp ? of(base)->qp->qp_num : 0;
}

const struct hd_transport_ops hd_verbs_ops = {
    .size = sizeof(struct hd_transport_ops),
    .name = "verbs",
    .probe = hd_verbs_probe,
    .device_open = hd_verbs_open,
    .device_close = hd_verbs_close,
    .hardware = hd_verbs_hardware,
    .slab_add = hd_verbs_slab_add,
    .slab_remove = hd_verbs_slab_remove,
    .describe = hd_verbs_describe,
    .reachable = hd_verbs_reachable,
    .cost = hd_verbs_cost,
    .ep_create = hd_verbs_create,
    .offer = hd_verbs_offer,
    .answer = hd_verbs_answer,
    .reply = hd_verbs_offer,
    .learn = hd_verbs_learn,
    .finish = hd_verbs_finish,
    .locate = verbs_locate,
    .send = verbs_send,
    .get = verbs_get,
    .put = verbs_put,
    .progress = verbs_progress,
    .pending = hd_verbs_pending,
    .woken = hd_verbs_woken,
    .look = hd_verbs_look,
    .wait = hd_verbs_wait,
    .wake = hd_verbs_wake,
    .arm = hd_verbs_arm,
    .disarm = hd_verbs_disarm,
    .source = hd_verbs_source,
    .number = verbs_number,
    .close = hd_verbs_ep_close,
    .retire = hd_verbs_retire,
    .quiet = hd_verbs_quiet,
    .destroy = hd_verbs_destroy,
};
