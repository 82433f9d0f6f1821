/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What newer adapters and their drivers have: tried with the first link, and left out from then on where it is refused.
 *
 * ibv_wr_*. A work request is written where the adapter reads it, in place of a structure that the driver copies.
 *
 * Locks. A driver locks what several threads may use. Where a lock of ours sees to that already, the driver's is left
 * out:
 *
 * - A queue pair is posted to under its link's lock only: send(), get(), put(), close(). Two links of one communication
 *   thread may be posted to at the same time, by two callers. The queue pairs of a thread domain write to one doorbell
 *   of the adapter without a lock, so each queue pair gets a domain of its own, and none shares one. An adapter has few
 *   doorbells: links beyond DOMAINS_MAX use the driver's locks.
 * - A completion queue is polled, asked to tell and resized under verbs_cq.lock only. A driver that destroys a queue
 *   pair takes its completions out of the completion queue, so queue pairs are destroyed under that lock, too.
 * - The shared receive queue is posted to by whoever polls any completion queue, and by set-ups under dev->lock. It
 *   belongs to the plain protection domain and keeps the driver's lock.
 */

#include "transport/verbs/cq.h"

#define DOMAINS_MAX 64 /* thread domains of a device at a time */

/* ---- what is left out ---- */

bool hd_verbs_may(struct verbs_device *dev, enum verbs_feature feature)
{
    return dev->device->conf->verbs_extended &&
           !(atomic_load_explicit(&dev->missing, memory_order_relaxed) & 1U << feature);
}

void hd_verbs_lacks(struct verbs_device *dev, enum verbs_feature feature, int err)
{
    static const char *const names[] = {
        [VERBS_WR] = "ibv_wr_*",
        [VERBS_CQ_EX] = "completion queues without locks of the driver's",
        [VERBS_DOMAINS] = "queue pairs without locks of the driver's (thread domains)",
        [VERBS_RELAXED] = "relaxed ordering of what is written to memory",
    };
    unsigned bit = 1U << feature;
    if (!(atomic_fetch_or(&dev->missing, bit) & bit))
        hd_log(dev->device->log, HD_LOG_INFO, "verbs device %s goes without %s: %s", dev->name, names[feature],
               strerror(err));
}

/* ---- queue pairs ---- */

static bool extended_alloc_domain(struct verbs_ep *ep)
{
    struct verbs_device *dev = ep->dev;
    struct ibv_td_init_attr attr = {0};
    ep->thread_domain = ibv_alloc_td(dev->context, &attr);
    struct ibv_parent_domain_init_attr parent = {.pd = dev->pd, .td = ep->thread_domain};
    ep->domain = ep->thread_domain ? ibv_alloc_parent_domain(dev->context, &parent) : NULL;
    if (ep->domain)
        return true;
    hd_verbs_lacks(dev, VERBS_DOMAINS, errno);
    if (ep->thread_domain)
        ibv_dealloc_td(ep->thread_domain);
    ep->thread_domain = NULL;
    return false;
}

void hd_verbs_domain_open(struct verbs_ep *ep)
{
    struct verbs_device *dev = ep->dev;
    if (!hd_verbs_may(dev, VERBS_DOMAINS))
        return;
    if (atomic_fetch_add(&dev->domains, 1) >= DOMAINS_MAX || !extended_alloc_domain(ep))
        atomic_fetch_sub(&dev->domains, 1);
}

void hd_verbs_domain_close(struct verbs_ep *ep)
{
    if (!ep->domain)
        return;
    ep->dev->api->dealloc_pd(ep->domain);
    ibv_dealloc_td(ep->thread_domain);
    ep->domain = NULL;
    ep->thread_domain = NULL;
    atomic_fetch_sub(&ep->dev->domains, 1);
}

/* One that takes ibv_wr_*. ibv_create_qp_ex() would need a symbol. */
static struct ibv_qp *extended_create_qp(struct verbs_device *dev, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct verbs_context *calls = verbs_get_ctx_op(dev->context, create_qp_ex);
    if (!calls || !dev->api->qp_to_qp_ex) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_qp_init_attr_ex attr = {.qp_context = init->qp_context,
                                       .send_cq = init->send_cq,
                                       .recv_cq = init->recv_cq,
                                       .srq = init->srq,
                                       .cap = init->cap,
                                       .qp_type = init->qp_type,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = pd,
                                       .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                                         IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE};
    struct ibv_qp *qp = calls->create_qp_ex(dev->context, &attr);
    if (qp)
        init->cap = attr.cap;
    return qp;
}

struct ibv_qp *hd_verbs_create_qp(struct verbs_ep *ep, struct ibv_qp_init_attr *init)
{
    struct verbs_device *dev = ep->dev;
    struct ibv_pd *pd = ep->domain ? ep->domain : dev->pd;
    bool tried = hd_verbs_may(dev, VERBS_WR);
    struct ibv_qp *qp = tried ? extended_create_qp(dev, pd, init) : NULL;
    int err = errno;
    if (qp)
        return qp;
    qp = dev->api->create_qp(pd, init);
    if (qp && tried) /* else it is refused for what both have in common */
        hd_verbs_lacks(dev, VERBS_WR, err);
    return qp;
}

void hd_verbs_destroy_qp(struct verbs_ep *ep, struct ibv_qp *qp)
{
    struct verbs_cq *cq = ep->cq;
    if (cq->extended)
        hd_verbs_cq_seize(cq);
    ep->dev->api->destroy_qp(qp);
    if (cq->extended)
        hd_unlock(&cq->lock);
}

/* ---- completion queues ---- */

struct ibv_cq_ex *hd_verbs_create_cq_ex(struct verbs_cq *cq, int vector)
{
    struct verbs_device *dev = cq->dev;
    struct ibv_cq_init_attr_ex attr = {.cqe = cq->room,
                                       .cq_context = cq,
                                       .channel = cq->channel,
                                       .comp_vector = (uint32_t)vector,
                                       .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM,
                                       .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
                                       .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
    return hd_verbs_may(dev, VERBS_CQ_EX) ? ibv_create_cq_ex(dev->context, &attr) : NULL;
}

/* Of a report only the number is needed, if it is a good one. */
static void extended_read(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
    wc->wr_id = cq->wr_id;
    wc->status = cq->status;
    wc->qp_num = ibv_wc_read_qp_num(cq);
    if (wc->status != IBV_WC_SUCCESS) {
        wc->vendor_err = ibv_wc_read_vendor_err(cq);
        return;
    }
    if (!(wc->wr_id & VERBS_RX_TAG))
        return;
    wc->byte_len = ibv_wc_read_byte_len(cq);
    wc->wc_flags = ibv_wc_read_wc_flags(cq);
    if (wc->wc_flags & IBV_WC_WITH_IMM)
        wc->imm_data = ibv_wc_read_imm_data(cq);
}

/* Without ibv_next_poll(): Soft-RoCE's driver takes one too many where that finds nothing (rdma-core until June 2025).
 */
int hd_verbs_poll_extended(struct verbs_cq *cq)
{
    struct ibv_poll_cq_attr attr = {0};
    int err = 0, count = 0;
    while (count < VERBS_BATCH && (err = ibv_start_poll(cq->extended, &attr)) == 0) {
        extended_read(cq->extended, &cq->wcs[count++]);
        ibv_end_poll(cq->extended);
    }
    if (err && err != ENOENT)
        hd_verbs_cq_broke(cq);
    return count;
}
