/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Set-up and end of endpoints. The ends tell each other number and first sequence number of their queue pairs over the
 * greeting; a reliable connection then takes packets of the other one only.
 *
 * The end: close() sends a last frame, so that the peer learns of it and so that we learn when everything before it has
 * arrived. quiet(), asked again and again, allows a moment for that, then ends the queue pair: first by the error
 * state, which flushes what is under way, then by destroying it. After this the adapter neither answers the peer's
 * reads and writes nor goes on with ours, so the peer's cooperation is not needed. If reads or writes of ours are under
 * way, close() begins with the error state. Neither waits: they are called with the link's lock, by a thread that
 * serves other links.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "transport/verbs/cq.h"

#define ADDRESS_VERSION 2
#define SPARE_FRAMES    8                    /* frames that need no credit, the last one */
#define LINGER          ((int64_t)500000000) /* for what was sent before the end to arrive */
#define DRAIN           ((int64_t)20000000)  /* for an ended queue pair to give its buffers back */
#define NUMBER_MAX      0xffffffU            /* of queue pairs and of sequence numbers: 24 bits */
#define REQUEST_COST    256                  /* bytes of a driver's queues, about: see docs/design/scaling.md */
#define COMPLETION_COST 64

static_assert(sizeof(struct verbs_address) == 32 && sizeof(struct verbs_address) <= HD_BLOB_MAX, "address");

static struct verbs_ep *of(struct hd_ep *ep)
{
    return (struct verbs_ep *)ep;
}

/* ---- creating ---- */

static uint32_t smaller(uint64_t a, int b)
{
    return b > 0 && (uint64_t)b < a ? (uint32_t)b : (uint32_t)a;
}

/* Frames of the peer that may have come and not been taken: those that need no credit are bounded, too. */
static uint32_t arrivals_most(const struct hd_limits *mine)
{
    return mine->credits + SPARE_FRAMES;
}

static int open_inbox(struct verbs_ep *ep)
{
    struct verbs_inbox *in = &ep->inbox;
    in->mask = (uint32_t)hd_power_of_two(arrivals_most(&ep->mine)) - 1;
    in->arrivals = calloc(in->mask + 1, sizeof(*in->arrivals));
    if (!in->arrivals)
        return hd_error(-ENOMEM, "out of memory");
    ep->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return ep->wake_fd < 0
               ? hd_error(-errno, "no descriptor for a link: %s; raise the limit (ulimit -n)", strerror(errno))
               : 0;
}

/* What a frame takes of a ring. */
static size_t room_of(size_t frame_tx)
{
    return hd_align(sizeof(struct hd_frame) + frame_tx, HD_CACHE_LINE);
}

static size_t wide_size(const struct hd_device *device, size_t frame_tx)
{
    size_t least = 8 * room_of(frame_tx);
    size_t wanted = device->conf->verbs_send_buffer;
    return hd_power_of_two(wanted > least ? wanted : least);
}

/* The largest frame to send: the peer's word never makes us take more memory for it than our own frames would need. */
static size_t largest_frame(const struct hd_limits *mine, const struct hd_limits *peers)
{
    return mine->frame_max < peers->frame_max ? mine->frame_max : peers->frame_max;
}

/* Work requests for sends. Frames under way are bounded by credits, but the last ones may not have been reported yet.
 */
static uint32_t tx_depth(const struct verbs_device *dev, const struct hd_limits *peers)
{
    return smaller(2 * peers->credits + SPARE_FRAMES + VERBS_RMA_MAX, dev->attr.max_qp_wr);
}

size_t hd_verbs_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers)
{
    size_t requests = hd_power_of_two(tx_depth(device->data, peers));
    return hd_verbs_ring_own(room_of(largest_frame(mine, peers))) +
           requests * (sizeof(struct verbs_tx) + REQUEST_COST + COMPLETION_COST) +
           hd_power_of_two(arrivals_most(mine)) * sizeof(struct verbs_arrival);
}

static int open_send_ring(struct verbs_ep *ep)
{
    struct verbs_device *dev = ep->dev;
    size_t room = room_of(ep->base.frame_tx);
    ep->wide_size = wide_size(dev->device, ep->base.frame_tx);
    ep->tx_mask = hd_power_of_two(ep->tx_depth) - 1;
    ep->tx = calloc(ep->tx_mask + 1, sizeof(*ep->tx));
    if (!ep->tx)
        return hd_error(-ENOMEM, "out of memory");
    int err = hd_verbs_ring_open(dev, hd_verbs_ring_own(room), &ep->own);
    if (!err)
        hd_verbs_ring_use(ep, &ep->own);
    return err;
}

static struct ibv_qp *try_inline(struct verbs_ep *ep, struct ibv_qp_init_attr *init, uint32_t bytes)
{
    init->cap.max_inline_data = bytes;
    return hd_verbs_create_qp(ep, init);
}

/* A queue pair that takes as much inline as the device has, which is less than `most`; it does not say how much. */
static struct ibv_qp *search_inline(struct verbs_ep *ep, struct ibv_qp_init_attr *init, uint32_t most)
{
    struct ibv_qp *best = try_inline(ep, init, 0);
    struct ibv_qp_cap cap = init->cap;
    uint32_t least = cap.max_inline_data;
    while (best && least + 1 < most) {
        uint32_t middle = least + (most - least) / 2;
        struct ibv_qp *better = try_inline(ep, init, middle);
        if (!better) {
            most = middle;
            continue;
        }
        hd_verbs_destroy_qp(ep, best);
        best = better;
        cap = init->cap;
        least = cap.max_inline_data > middle ? cap.max_inline_data : middle;
    }
    init->cap = cap;
    return best;
}

static struct ibv_qp *create_queue_pair(struct verbs_ep *ep, struct ibv_qp_init_attr *init)
{
    struct verbs_device *dev = ep->dev;
    uint32_t wanted = (uint32_t)dev->device->conf->verbs_inline, most = atomic_load(&dev->inline_below);
    struct ibv_qp *qp = try_inline(ep, init, most && most <= wanted ? most - 1 : wanted);
    if (qp || init->cap.max_inline_data == 0)
        return qp;
    qp = search_inline(ep, init, init->cap.max_inline_data);
    if (qp)
        atomic_store(&dev->inline_below, init->cap.max_inline_data + 1);
    return qp;
}

static int open_queue_pair(struct verbs_ep *ep)
{
    struct verbs_device *dev = ep->dev;
    struct ibv_qp_init_attr init = {.qp_context = ep,
                                    .send_cq = ep->cq->cq,
                                    .recv_cq = ep->cq->cq,
                                    .srq = ep->pool->srq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = ep->tx_depth, .max_send_sge = 2}};
    hd_verbs_domain_open(ep);
    ep->qp = create_queue_pair(ep, &init);
    if (!ep->qp)
        return hd_error(-errno, "verbs device %s gives no queue pair for %u sends: %s", dev->name, ep->tx_depth,
                        strerror(errno));
    ep->extended = hd_verbs_may(dev, VERBS_WR) ? dev->api->qp_to_qp_ex(ep->qp) : NULL;
    hd_verbs_cq_enter(ep);
    ep->inline_max = init.cap.max_inline_data < VERBS_INLINE_MAX ? init.cap.max_inline_data : VERBS_INLINE_MAX;
    ep->zcopy_min = (size_t)dev->device->conf->verbs_zcopy_threshold;
    ep->framing = VERBS_FRAMING;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = dev->port,
                               .pkey_index = ep->port.partition_index,
                               .qp_access_flags =
                                   ep->local_only ? 0 : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
    int err = dev->api->modify_qp(ep->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    return err ? hd_error(-err, "verbs device %s does not initialise a queue pair: %s", dev->name, strerror(err)) : 0;
}

static int set_up(struct verbs_ep *ep, const struct hd_ep_params *params)
{
    struct verbs_device *dev = ep->dev;
    const struct hd_conf *conf = dev->device->conf;
    int err = hd_verbs_look_at_port(dev, &ep->port);
    if (err)
        return err;
    ep->responder = (uint8_t)smaller((uint64_t)conf->verbs_read_depth, dev->attr.max_qp_rd_atom);
    ep->reads_max = smaller((uint64_t)conf->verbs_read_depth, dev->attr.max_qp_init_rd_atom);
    ep->tx_depth = tx_depth(dev, &ep->peers);
    if (ep->tx_depth < VERBS_RMA_MAX + 2 * SPARE_FRAMES)
        return hd_error(-EOPNOTSUPP, "verbs device %s takes only %u work requests", dev->name, ep->tx_depth);
    ep->frames_max = ep->tx_depth - VERBS_RMA_MAX - 1; /* 1: the last frame */
    ep->report_every = smaller((uint64_t)conf->verbs_signal_interval, (int)(ep->frames_max / 2));
    err = hd_verbs_pool_join(dev, arrivals_most(&ep->mine), &ep->pool);
    if (!err)
        err = hd_verbs_cq_join(dev, params, ep->pool, ep->tx_depth, &ep->cq);
    if (!err)
        err = open_inbox(ep);
    if (!err)
        err = open_send_ring(ep);
    if (!err)
        err = open_queue_pair(ep);
    if (!err)
        err = hd_random_bytes(&ep->psn, sizeof(ep->psn));
    ep->psn &= NUMBER_MAX;
    return err;
}

int hd_verbs_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **out)
{
    struct verbs_device *dev = device->data;
    if (params->mine.frame_max > dev->frame_max)
        return hd_error(-EINVAL, "frames of %u bytes are above the receive buffers' %zu", params->mine.frame_max,
                        dev->frame_max);
    struct verbs_ep *ep = calloc(1, sizeof(*ep));
    if (!ep)
        return hd_error(-ENOMEM, "out of memory");
    ep->base = (struct hd_ep){.ops = device->ops,
                              .device = device,
                              .sink = params->sink,
                              .frame_tx = largest_frame(&params->mine, &params->peers),
                              .frame_rx = params->mine.frame_max};
    ep->dev = dev;
    ep->local_only = atomic_load(&dev->device->local_only);
    ep->mine = params->mine;
    ep->peers = params->peers;
    ep->wake_fd = -1;
    ep->inbox.tx_failed = VERBS_NONE;
    ep->held_last = &ep->held_first;
    hd_list_init(&ep->node);
    hd_list_init(&ep->sleeper);
    int err = set_up(ep, params);
    if (err) {
        char why[512];
        snprintf(why, sizeof(why), "%s", hd_last_error());
        hd_verbs_destroy(&ep->base);
        return hd_error(err, "%s", why);
    }
    pthread_mutex_lock(&dev->lock);
    hd_list_add_tail(&dev->eps, &ep->node);
    pthread_mutex_unlock(&dev->lock);
    *out = &ep->base;
    return 0;
}

/* ---- meeting ---- */

static unsigned own_caps(const struct verbs_ep *ep)
{
    if (ep->local_only)
        return 0;
    return HD_CAP_PUT | (ep->reads_max && ep->responder ? HD_CAP_GET : 0);
}

int hd_verbs_offer(struct hd_ep *base, uint8_t *bytes, uint16_t *length)
{
    struct verbs_ep *ep = of(base);
    struct verbs_address mine = {.version = ADDRESS_VERSION,
                                 .network = (uint8_t)ep->port.network,
                                 .mtu = (uint8_t)ep->port.attr.active_mtu,
                                 .responder = ep->responder,
                                 .qp = ep->qp->qp_num,
                                 .psn = ep->psn,
                                 .lid = ep->port.attr.lid,
                                 .caps = (uint16_t)own_caps(ep),
                                 .gid = ep->port.gid};
    memcpy(bytes, &mine, sizeof(mine));
    *length = sizeof(mine);
    return 0;
}

int hd_verbs_learn(struct hd_ep *base, const uint8_t *bytes, size_t length)
{
    struct verbs_ep *ep = of(base);
    struct verbs_address *peer = &ep->peer;
    if (length < sizeof(*peer))
        return hd_error(-EPROTO, "the peer's verbs address has %zu bytes", length);
    memcpy(peer, bytes, sizeof(*peer));
    if (peer->version != ADDRESS_VERSION)
        return hd_error(-EOPNOTSUPP, "the peer's verbs address is of version %u, this is %d", peer->version,
                        ADDRESS_VERSION);
    bool sane = peer->network == ep->port.network && peer->mtu >= IBV_MTU_256 && peer->mtu <= IBV_MTU_4096 &&
                peer->qp > 0 && peer->qp <= NUMBER_MAX && peer->psn <= NUMBER_MAX &&
                (peer->network != VERBS_INFINIBAND || peer->lid);
    return sane ? 0 : hd_error(-EPROTO, "the peer's verbs address makes no sense");
}

/* The time of 4.096 us * 2^n that is not below. */
static uint8_t timeout_exponent(int64_t ns)
{
    uint8_t n = 1;
    while (n < 31 && (int64_t)4096 << n < ns)
        n++;
    return n;
}

static void route(struct verbs_ep *ep, struct ibv_ah_attr *ah)
{
    struct verbs_device *dev = ep->dev;
    const struct hd_conf *conf = dev->device->conf;
    ah->port_num = dev->port;
    ah->sl = (uint8_t)conf->verbs_service_level;
    ah->dlid = ep->peer.lid;
    ah->is_global = ep->peer.network != VERBS_INFINIBAND || (ep->port.attr.flags & IBV_QPF_GRH_REQUIRED) != 0;
    if (!ah->is_global)
        return;
    memcpy(ah->grh.dgid.raw, ep->peer.gid.bytes, sizeof(ah->grh.dgid.raw));
    ah->grh.sgid_index = (uint8_t)ep->port.gid_index;
    ah->grh.hop_limit = 64;
    ah->grh.traffic_class = (uint8_t)conf->verbs_traffic_class;
}

static int modify(struct verbs_ep *ep, struct ibv_qp_attr *attr, int mask, const char *to)
{
    int err = ep->dev->api->modify_qp(ep->qp, attr, mask);
    return err ? hd_error(-err,
                          "verbs device %s does not make a queue pair %s: %s; check that both hosts' ports are in one "
                          "network and their addresses up",
                          ep->dev->name, to, strerror(err))
               : 0;
}

static int connect_queue_pair(struct verbs_ep *ep)
{
    const struct hd_conf *conf = ep->dev->device->conf;
    uint8_t mtu = (uint8_t)ep->port.attr.active_mtu;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = (enum ibv_mtu)(ep->peer.mtu < mtu ? ep->peer.mtu : mtu),
                               .dest_qp_num = ep->peer.qp,
                               .rq_psn = ep->peer.psn,
                               .max_dest_rd_atomic = ep->responder,
                               .min_rnr_timer = 12 /* 0.64 ms */};
    route(ep, &attr.ah_attr);
    int err = modify(ep, &attr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                     "ready to receive");
    if (err) { /* the GID may be gone, and its event on the way */
        hd_verbs_port_changed(ep->dev);
        return err;
    }
    ep->connected = true;
    ep->base.caps = (own_caps(ep) & ep->peer.caps & (HD_CAP_GET | HD_CAP_PUT)) | HD_CAP_ENDS;
    ep->reads_max = smaller(ep->reads_max, ep->peer.responder);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .sq_psn = ep->psn,
                                .timeout = timeout_exponent(conf->verbs_timeout),
                                .retry_cnt = (uint8_t)conf->verbs_retry_count,
                                .rnr_retry = 7 /* without end: a receiver without buffers is slow, not broken */,
                                .max_rd_atomic = (uint8_t)ep->reads_max};
    return modify(ep, &attr,
                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  "ready to send");
}

int hd_verbs_answer(struct hd_ep *base, const uint8_t *bytes, size_t length, int64_t deadline)
{
    (void)deadline; /* nothing here waits */
    int err = hd_verbs_learn(base, bytes, length);
    return err ? err : connect_queue_pair(of(base));
}

int hd_verbs_finish(struct hd_ep *base, int64_t deadline)
{
    (void)deadline;
    return connect_queue_pair(of(base));
}

/* ---- the end ---- */

/* Whether the adapter has given back everything that went to the queue pair. */
static bool drained(struct verbs_ep *ep)
{
    bool last = atomic_load(&ep->last_wqe);
    hd_verbs_discard(ep);
    return last;
}

/* Has the adapter flush what is under way. */
static void flush_queue_pair(struct verbs_ep *ep)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    if (!ep->qp || ep->flushed_by)
        return;
    bool flushes = ep->connected && ep->dev->api->modify_qp(ep->qp, &attr, IBV_QP_STATE) == 0;
    ep->flushed_by = hd_now() + (flushes ? DRAIN : 0);
}

static void destroy_queue_pair(struct verbs_ep *ep)
{
    hd_verbs_discard(ep);
    hd_verbs_destroy_qp(ep, ep->qp);
    ep->qp = NULL;
    ep->extended = NULL;
    hd_verbs_cq_remove(ep);
    hd_verbs_discard(ep);
    for (uint64_t i = ep->tx_done; i < ep->tx_posted; i++) { /* the adapter will not say so any more */
        struct verbs_tx *tx = &ep->tx[i & ep->tx_mask];
        hd_buf_unref(tx->buf);
        tx->buf = NULL;
    }
}

void hd_verbs_ep_close(struct hd_ep *base)
{
    struct verbs_ep *ep = of(base);
    if (ep->closed)
        return;
    ep->closed = true;
    bool broken = !ep->connected || atomic_load(&ep->failed) || atomic_load(&ep->event);
    if (broken || ep->reads || ep->writes || hd_verbs_post_bye(ep))
        flush_queue_pair(ep);
}

void hd_verbs_retire(struct hd_ep *base)
{
    of(base)->linger = hd_now() + LINGER;
}

/* The next step of the queue pair's end. @return whether it is gone. */
static bool end_queue_pair(struct verbs_ep *ep)
{
    if (!ep->qp)
        return true;
    flush_queue_pair(ep);
    if (!drained(ep) && hd_now() < ep->flushed_by)
        return false;
    destroy_queue_pair(ep);
    return true;
}

bool hd_verbs_quiet(struct hd_ep *base)
{
    struct verbs_ep *ep = of(base);
    if (ep->qp && !ep->flushed_by) {
        hd_verbs_discard(ep);
        bool heard = ep->bye_done || atomic_load(&ep->peer_closed) || atomic_load(&ep->failed);
        if (!heard && hd_now() < ep->linger)
            return false;
    }
    return end_queue_pair(ep);
}

static void drop_held(struct verbs_ep *ep)
{
    while (ep->held_first) {
        struct verbs_held *held = ep->held_first;
        ep->held_first = held->next;
        free(held);
    }
}

void hd_verbs_destroy(struct hd_ep *base)
{
    struct verbs_ep *ep = of(base);
    struct verbs_device *dev = ep->dev;
    pthread_mutex_lock(&dev->lock);
    hd_list_remove(&ep->node);
    pthread_mutex_unlock(&dev->lock);
    bool clean = !ep->connected || ep->bye_done;
    struct timespec pause = {.tv_nsec = 1000000};
    while (!end_queue_pair(ep)) /* of a set-up that failed: a link is destroyed once it is quiet */
        nanosleep(&pause, NULL);
    hd_verbs_domain_close(ep);
    if (ep->cq) {
        hd_verbs_repost(ep);
        hd_verbs_cq_leave(ep->cq, ep->tx_depth);
    }
    if (ep->pool) {
        hd_verbs_pool_unlend(dev, &ep->lent);
        hd_verbs_pool_leave(dev, ep->pool, arrivals_most(&ep->mine), clean);
    }
    hd_verbs_ring_end(ep);
    if (ep->wake_fd >= 0)
        close(ep->wake_fd);
    drop_held(ep);
    free(ep->inbox.arrivals);
    free(ep->tx);
    free(ep);
}
