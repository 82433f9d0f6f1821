/* SPDX-License-Identifier: Apache-2.0 */

/* Completion queues that endpoints share: their life, the table, handing out what comes. cq.h says how. */

#include "transport/verbs/cq.h"
#include "transport/verbs/vector.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ENDPOINTS 16 /* that a new queue has room for */
#define LISTENS   3  /* in each poll.handover, without having had anything to do */

/* ---- the table ---- */

static struct verbs_ep **cq_place(struct verbs_cq *cq, uint32_t number)
{
    return &cq->table[number & cq->table_mask];
}

static struct verbs_ep *cq_find(struct verbs_cq *cq, uint32_t number)
{
    struct verbs_ep *ep = cq->last_found;
    if (ep && ep->number == number)
        return ep;
    for (ep = *cq_place(cq, number); ep && ep->number != number; ep = ep->same_place)
        continue;
    cq->last_found = ep;
    return ep;
}

static void cq_unlist(struct verbs_cq *cq, struct verbs_ep *ep)
{
    struct verbs_ep **at = cq_place(cq, ep->number);
    while (*at != ep)
        at = &(*at)->same_place;
    *at = ep->same_place;
    ep->listed = false;
    cq->last_found = NULL;
}

/* A place for each endpoint, about. Without memory for a larger table the places are shared by more. */
static void cq_widen_table(struct verbs_cq *cq, unsigned endpoints)
{
    struct verbs_ep **old = cq->table;
    uint32_t places = (uint32_t)hd_power_of_two(endpoints), had = old ? cq->table_mask + 1 : 0;
    struct verbs_ep **table = places > had ? calloc(places, sizeof(*table)) : NULL;
    if (!table)
        return;
    hd_verbs_cq_seize(cq);
    cq->table = table;
    cq->table_mask = places - 1;
    for (uint32_t i = 0; i < had; i++)
        for (struct verbs_ep *ep = old[i], *next; ep; ep = next) {
            next = ep->same_place;
            ep->same_place = *cq_place(cq, ep->number);
            *cq_place(cq, ep->number) = ep;
        }
    hd_unlock(&cq->lock);
    free(old);
}

void hd_verbs_cq_enter(struct verbs_ep *ep)
{
    struct verbs_cq *cq = ep->cq;
    ep->number = ep->qp->qp_num;
    hd_verbs_cq_seize(cq);
    struct verbs_ep *before = cq_find(cq, ep->number);
    if (before) { /* it is destroyed, or its number would not have been given away */
        hd_verbs_cq_poll_all(cq, NULL);
        cq_unlist(cq, before);
    }
    ep->same_place = *cq_place(cq, ep->number);
    *cq_place(cq, ep->number) = ep;
    ep->listed = true;
    cq->last_found = NULL;
    hd_unlock(&cq->lock);
}

void hd_verbs_cq_remove(struct verbs_ep *ep)
{
    struct verbs_cq *cq = ep->cq;
    hd_verbs_cq_seize(cq);
    hd_verbs_cq_poll_all(cq, NULL); /* what there is of it: nothing comes any more */
    if (ep->listed)
        cq_unlist(cq, ep);
    cq->armed -= atomic_exchange(&ep->armed, false);
    hd_unlock(&cq->lock);
}

/* ---- handing out ---- */

static void cq_put_arrival(struct verbs_cq *cq, struct verbs_ep *ep, const struct ibv_wc *wc)
{
    struct verbs_inbox *in = &ep->inbox;
    uint32_t index = (uint32_t)(wc->wr_id & ~VERBS_RX_TAG);
    uint32_t put = atomic_load_explicit(&in->rx_put, memory_order_relaxed);
    if (put - atomic_load_explicit(&in->rx_taken, memory_order_acquire) > in->mask) {
        atomic_store(&in->overrun, true);
        hd_verbs_pool_post(cq->dev, cq->pool, index);
        return;
    }
    bool good = wc->status == IBV_WC_SUCCESS;
    in->arrivals[put & in->mask] = (struct verbs_arrival){.index = index,
                                                          .length = wc->byte_len,
                                                          .word = good ? ntohl(wc->imm_data) : wc->vendor_err,
                                                          .has_word = good && wc->wc_flags & IBV_WC_WITH_IMM,
                                                          .status = (uint8_t)wc->status};
    atomic_store_explicit(&in->rx_put, put + 1, memory_order_release);
}

static void cq_put_report(struct verbs_ep *ep, const struct ibv_wc *wc)
{
    struct verbs_inbox *in = &ep->inbox;
    if (wc->status != IBV_WC_SUCCESS && atomic_load_explicit(&in->tx_failed, memory_order_relaxed) == VERBS_NONE) {
        in->tx_status = wc->status;
        in->tx_vendor = wc->vendor_err;
        atomic_store_explicit(&in->tx_failed, wc->wr_id, memory_order_release);
    }
    atomic_store_explicit(&in->tx_put, wc->wr_id + 1, memory_order_release);
}

/* Wakes whoever waits for an endpoint. Of several completions the first does it. */
static void cq_tell(struct verbs_cq *cq, struct verbs_ep *ep)
{
    if (ep->asleep) {
        if (!ep->told)
            hd_verbs_wake(&ep->base);
        ep->told = true;
    } else if (atomic_load_explicit(&ep->armed, memory_order_relaxed)) {
        atomic_store_explicit(&ep->armed, false, memory_order_relaxed);
        cq->armed--;
        cq->rung++;
        ep->base.sink.ring(ep->base.sink.arg);
    }
}

void hd_verbs_cq_broke(struct verbs_cq *cq)
{
    for (uint32_t i = 0; i <= cq->table_mask; i++)
        for (struct verbs_ep *ep = cq->table[i]; ep; ep = ep->same_place)
            if (atomic_load(&ep->event) == 0) {
                atomic_store(&ep->event, (int)IBV_EVENT_CQ_ERR + 1);
                hd_verbs_rouse(ep);
            }
}

void hd_verbs_cq_deliver(struct verbs_cq *cq, int count, struct verbs_ep *own)
{
    if (count < 0)
        hd_verbs_cq_broke(cq);
    for (int i = 0; i < count; i++) {
        const struct ibv_wc *wc = &cq->wcs[i];
        bool arrival = wc->wr_id & VERBS_RX_TAG;
        struct verbs_ep *ep = cq_find(cq, wc->qp_num);
        if (!ep) { /* of a queue pair that is gone */
            if (arrival)
                hd_verbs_pool_post(cq->dev, cq->pool, (uint32_t)(wc->wr_id & ~VERBS_RX_TAG));
            continue;
        }
        if (arrival)
            cq_put_arrival(cq, ep, wc);
        else
            cq_put_report(ep, wc);
        if (ep != own)
            cq_tell(cq, ep);
    }
}

/* ---- the channel ---- */

static void cq_switch(struct verbs_cq *cq, bool on)
{
    struct epoll_event event = {.events = on ? EPOLLIN : 0};
    if (cq->listening != on)
        epoll_ctl(cq->epoll_fd, EPOLL_CTL_MOD, cq->channel->fd, &event);
    cq->listening = on;
}

void hd_verbs_cq_listen(struct verbs_cq *cq, bool comm)
{
    cq_switch(cq, comm);
    cq->comm_watches = comm;
    if (cq->notified) /* and what it told was not heard: it would wake at once, for nothing */
        hd_verbs_cq_heard(cq);
    cq->notified = true;
    if (ibv_req_notify_cq(cq->cq, 0))
        hd_verbs_cq_broke(cq);
}

void hd_verbs_cq_ignore(struct verbs_cq *cq)
{
    cq->comm_watches = false;
    cq_switch(cq, false);
}

/* What is taken must be acknowledged, or the queue cannot be destroyed. */
void hd_verbs_cq_heard(struct verbs_cq *cq)
{
    struct ibv_cq *told;
    void *context;
    cq->notified = false;
    if (cq->dev->api->get_cq_event(cq->channel, &told, &context) == 0)
        cq->dev->api->ack_cq_events(cq->cq, 1);
}

/* The communication thread has nothing to do for this queue. Callers that poll take what it is woken for: so it does
 * not listen more than a few times, but looks again after a while. @return when */
static int64_t cq_rest(struct verbs_cq *cq, int64_t now)
{
    int64_t handover = cq->dev->device->conf->poll_handover;
    cq->comm_watches = false;
    if (cq->armed == 0)
        return INT64_MAX;
    if (now - cq->window >= handover) {
        cq->window = now;
        cq->listens = 0;
    }
    if (cq->helpers || cq->listens++ >= LISTENS)
        return cq->window + handover;
    unsigned rung = cq->rung;
    hd_verbs_cq_listen(cq, true);
    hd_verbs_cq_poll_all(cq, NULL);
    return cq->rung != rung ? now : INT64_MAX;
}

static int64_t cq_take(struct hd_source *source, bool readable, int64_t now)
{
    struct verbs_cq *cq = hd_container(source, struct verbs_cq, source);
    int64_t next = INT64_MAX;
    hd_verbs_cq_seize(cq);
    unsigned rung = cq->rung;
    if (readable && !cq->watcher)
        hd_verbs_cq_heard(cq);
    hd_verbs_cq_poll_all(cq, NULL);
    if (!cq->watcher && cq->rung != rung) {
        cq->comm_watches = false; /* not while it serves them */
        cq->listens = 0;
        next = now;
    } else if (!cq->watcher) {
        next = cq_rest(cq, now);
    }
    cq->called = next != INT64_MAX;
    hd_unlock(&cq->lock);
    return next;
}

static void cq_enter(struct hd_source *source)
{
    struct verbs_cq *cq = hd_container(source, struct verbs_cq, source);
    hd_verbs_cq_seize(cq);
    cq->helpers++;
    hd_unlock(&cq->lock);
}

static void cq_help(struct hd_source *source)
{
    struct verbs_cq *cq = hd_container(source, struct verbs_cq, source);
    if (!hd_trylock(&cq->lock)) /* somebody else looks */
        return;
    hd_verbs_cq_poll(cq, NULL);
    hd_unlock(&cq->lock);
}

static void cq_leave(struct hd_source *source, bool to_sleep)
{
    struct verbs_cq *cq = hd_container(source, struct verbs_cq, source);
    hd_verbs_cq_seize(cq);
    bool nobody = --cq->helpers == 0 && cq->armed && !cq->watcher && !cq->comm_watches;
    if (nobody && to_sleep) {
        hd_verbs_cq_listen(cq, true);
        hd_verbs_cq_poll_all(cq, NULL);
    } else if (nobody && !cq->called) {
        cq->called = true;
        source->call(source);
    }
    hd_unlock(&cq->lock);
}

/* ---- life ---- */

static void cq_free(struct verbs_cq *cq)
{
    const struct verbs_api *api = cq->dev->api;
    if (cq->cq)
        api->destroy_cq(cq->cq);
    if (cq->channel)
        api->destroy_comp_channel(cq->channel);
    if (cq->epoll_fd >= 0)
        close(cq->epoll_fd);
    free(cq->table);
    free(cq);
}

static bool cq_end(struct hd_source *source)
{
    struct verbs_cq *cq = hd_container(source, struct verbs_cq, source);
    struct verbs_device *dev = cq->dev;
    pthread_mutex_lock(&dev->lock);
    bool unused = atomic_load(&source->users) == 0;
    if (unused)
        hd_list_remove(&cq->node);
    pthread_mutex_unlock(&dev->lock);
    if (unused) /* without the lock: the watcher may need it to finish with an event of this queue */
        cq_free(cq);
    return unused;
}

static int cq_open_channel(struct verbs_cq *cq)
{
    struct verbs_device *dev = cq->dev;
    struct epoll_event nothing = {0};
    cq->channel = dev->api->create_comp_channel(dev->context);
    if (!cq->channel)
        return hd_error(-errno, "verbs device %s gives no completion channel: %s", dev->name, strerror(errno));
    cq->source.fd = cq->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int flags = fcntl(cq->channel->fd, F_GETFL);
    if (cq->epoll_fd < 0 || flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK) ||
        epoll_ctl(cq->epoll_fd, EPOLL_CTL_ADD, cq->channel->fd, &nothing))
        return hd_error(-errno, "no descriptors for a completion queue: %s; raise the limit (ulimit -n)",
                        strerror(errno));
    return 0;
}

static uint32_t cq_most(const struct verbs_device *dev)
{
    return dev->attr.max_cqe > 0 ? (uint32_t)dev->attr.max_cqe : UINT16_MAX;
}

static int cq_create_queue(struct verbs_cq *cq, int vector)
{
    struct verbs_device *dev = cq->dev;
    cq->extended = hd_verbs_create_cq_ex(cq, vector);
    int err = errno;
    if (cq->extended)
        cq->cq = ibv_cq_ex_to_cq(cq->extended);
    else
        cq->cq = dev->api->create_cq(dev->context, (int)cq->room, cq, cq->channel, vector);
    if (cq->cq && !cq->extended && hd_verbs_may(dev, VERBS_CQ_EX))
        hd_verbs_lacks(dev, VERBS_CQ_EX, err);
    return cq->cq ? 0 : errno;
}

static int cq_open(struct verbs_cq *cq, pid_t thread_id, uint32_t sends)
{
    struct verbs_device *dev = cq->dev;
    uint64_t wanted = cq->pool->room + (uint64_t)sends * ENDPOINTS, least = (uint64_t)cq->pool->room + sends;
    if (least > cq_most(dev))
        return hd_error(-EOPNOTSUPP, "verbs device %s has completion queues of %u entries, but needs %llu; lower %s",
                        dev->name, cq_most(dev), (unsigned long long)least, HD_KEY_PREFIX "verbs.receive.buffers");
    cq->room = wanted < cq_most(dev) ? (uint32_t)wanted : cq_most(dev);
    cq->reserved = cq->pool->room;
    int err = cq_open_channel(cq);
    if (err)
        return err;
    unsigned vectors = dev->context->num_comp_vectors > 1 ? (unsigned)dev->context->num_comp_vectors : 1;
    unsigned vector = hd_verbs_vector(dev->name, vectors, thread_id, dev->first_vector + cq->thread);
    err = cq_create_queue(cq, (int)vector);
    if (err)
        return hd_error(-err, "verbs device %s gives no completion queue for %u entries: %s", dev->name, cq->room,
                        strerror(err));
    cq_widen_table(cq, ENDPOINTS);
    return cq->table ? 0 : hd_error(-ENOMEM, "out of memory");
}

static int cq_create(struct verbs_device *dev, const struct hd_ep_params *params, struct verbs_pool *pool,
                     uint32_t sends, struct verbs_cq **out)
{
    struct verbs_cq *cq = calloc(1, sizeof(*cq));
    if (!cq)
        return hd_error(-ENOMEM, "out of memory");
    *cq = (struct verbs_cq){
        .source = {.fd = -1, .take = cq_take, .enter = cq_enter, .poll = cq_help, .leave = cq_leave, .end = cq_end},
        .dev = dev,
        .pool = pool,
        .thread = params->thread,
        .epoll_fd = -1};
    hd_list_init(&cq->sleepers);
    hd_list_init(&cq->source.node);
    int err = cq_open(cq, params->thread_id, sends);
    if (err) {
        cq_free(cq);
        return err;
    }
    hd_list_add_tail(&dev->cqs, &cq->node);
    *out = cq;
    return 0;
}

/* Makes the queue larger, where the device can. */
static bool cq_grow(struct verbs_cq *cq, uint32_t least)
{
    uint64_t wanted = 2 * (uint64_t)cq->room;
    uint32_t most = cq_most(cq->dev), room = wanted < most ? (uint32_t)wanted : most;
    if (room < least)
        return false;
    hd_verbs_cq_seize(cq);
    bool grown = cq->dev->api->resize_cq(cq->cq, (int)room) == 0;
    hd_unlock(&cq->lock);
    if (grown)
        cq->room = room;
    return grown;
}

static bool cq_has_room(struct verbs_cq *cq, uint32_t sends)
{
    uint32_t needed = cq->reserved + sends;
    return needed <= cq->room || cq_grow(cq, needed);
}

/* Nobody uses it any more, and the communication thread has not ended it yet. */
static void cq_change_pool(struct verbs_cq *cq, struct verbs_pool *pool)
{
    hd_verbs_cq_seize(cq);
    cq->pool = pool;
    hd_unlock(&cq->lock);
    cq->reserved = pool->room;
}

/* A queue that takes one more endpoint, or NULL. */
static struct verbs_cq *cq_that_fits(struct verbs_device *dev, unsigned thread, struct verbs_pool *pool, uint32_t sends)
{
    for (struct hd_list *n = dev->cqs.next; n != &dev->cqs; n = n->next) {
        struct verbs_cq *cq = hd_container(n, struct verbs_cq, node);
        if (cq->thread != thread)
            continue;
        if (atomic_load(&cq->source.users) == 0)
            cq_change_pool(cq, pool);
        if (cq->pool == pool && cq_has_room(cq, sends))
            return cq;
    }
    return NULL;
}

int hd_verbs_cq_join(struct verbs_device *dev, const struct hd_ep_params *params, struct verbs_pool *pool,
                     uint32_t sends, struct verbs_cq **out)
{
    pthread_mutex_lock(&dev->lock);
    struct verbs_cq *cq = cq_that_fits(dev, params->thread, pool, sends);
    int err = cq ? 0 : cq_create(dev, params, pool, sends, &cq);
    if (!err) {
        cq->reserved += sends;
        cq_widen_table(cq, atomic_fetch_add(&cq->source.users, 1) + 1);
        *out = cq;
    }
    pthread_mutex_unlock(&dev->lock);
    return err;
}

void hd_verbs_cq_leave(struct verbs_cq *cq, uint32_t sends)
{
    struct verbs_device *dev = cq->dev;
    pthread_mutex_lock(&dev->lock);
    cq->reserved -= sends;
    /* The communication thread ends it if it watches it; it began to while there was an endpoint. */
    bool last = atomic_fetch_sub(&cq->source.users, 1) == 1 && !atomic_load(&cq->source.watched);
    if (last)
        hd_list_remove(&cq->node);
    pthread_mutex_unlock(&dev->lock);
    if (last)
        cq_free(cq);
}

void hd_verbs_cqs_close(struct verbs_device *dev)
{
    while (!hd_list_empty(&dev->cqs)) {
        struct verbs_cq *cq = hd_container(dev->cqs.next, struct verbs_cq, node);
        hd_list_remove(&cq->node);
        cq_free(cq);
    }
}
