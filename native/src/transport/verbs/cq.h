/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_VERBS_CQ_H
#define HD_VERBS_CQ_H

/*
 * Completion queues. The endpoints of a communication thread share one, with a completion channel and a table from
 * queue pair number to endpoint. Any thread may poll it: completions of other endpoints go into their inboxes, and
 * whoever waits for those is woken.
 *
 * Size. The queue has room for everything that can be under way: all sends of its endpoints, and all buffers of the
 * receive queue that they use (which is one, so that a new receive queue means a new completion queue). It grows with
 * its endpoints; where the device cannot make it larger the next ones get another queue.
 *
 * Channel. It tells once after each ibv_req_notify_cq(), and one thread listens: a caller that sleeps (`watcher`), or
 * the communication thread (`comm_watches`). A caller that gets up makes another one that sleeps the watcher, or leaves
 * the channel to the communication thread. The channel is in an epoll set of the queue's own, which the communication
 * thread sleeps on, and switched off in it while a caller listens. The communication thread does not listen while it is
 * about to come by anyway (`called`): it is serving what came, or callers have woken it for nothing too often.
 *
 * Numbers. A queue pair stays in the table until it is destroyed and the queue was polled empty after that. The system
 * may give its number to another one before: then the queue is polled empty when that one is entered.
 */

#include "transport/verbs/verbs.h"

struct verbs_cq {
    struct hd_source source;
    struct verbs_device *dev;
    struct hd_list node;     /* dev->cqs */
    struct verbs_pool *pool; /* of all its endpoints */
    unsigned thread;
    uint32_t room, reserved; /* completions; under dev->lock */
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_cq_ex *extended; /* the same, without a lock of the driver's; NULL: it has one */
    int epoll_fd;

    struct hd_lock lock;
    _Atomic unsigned wanted; /* threads that wait for the lock: who keeps it while looking lets them have it */
    struct ibv_wc wcs[VERBS_BATCH];
    struct verbs_ep **table, *last_found;
    uint32_t table_mask;
    struct verbs_ep *watcher;
    bool comm_watches, called, listening;
    unsigned helpers; /* callers that poll in the place of the communication thread, which does not listen then */
    bool notified;    /* the channel is to tell, or has told and was not heard */
    struct hd_list sleepers;
    unsigned armed;   /* endpoints that are */
    unsigned rung;    /* of those, ever */
    int64_t window;   /* since when the next one counts */
    unsigned listens; /* times that the communication thread began to listen without having had anything to do */
};

/* Lets an endpoint of a communication thread use a queue: `sends` completions, and those of the pool's buffers. */
int hd_verbs_cq_join(struct verbs_device *dev, const struct hd_ep_params *params, struct verbs_pool *pool,
                     uint32_t sends, struct verbs_cq **cq);
/* The queue pair must be gone. */
void hd_verbs_cq_leave(struct verbs_cq *cq, uint32_t sends);
/* With the device. */
void hd_verbs_cqs_close(struct verbs_device *dev);
/* Enters the endpoint's queue pair into the table, and takes it out when it is destroyed. */
void hd_verbs_cq_enter(struct verbs_ep *ep);
void hd_verbs_cq_remove(struct verbs_ep *ep);

/* Takes the lock from a thread that looks for long, too, which would always be quicker than one that has to wake up. */
static inline void hd_verbs_cq_seize(struct verbs_cq *cq)
{
    if (hd_trylock(&cq->lock))
        return;
    atomic_fetch_add(&cq->wanted, 1);
    hd_lock(&cq->lock);
    atomic_fetch_sub(&cq->wanted, 1);
}

/* Without a lock of the driver's, or NULL. */
struct ibv_cq_ex *hd_verbs_create_cq_ex(struct verbs_cq *cq, int vector);
/* ibv_poll_cq() of an extended queue, into cq->wcs, of which it sets what hd_verbs_cq_deliver() reads. */
int hd_verbs_poll_extended(struct verbs_cq *cq);
/* Its endpoints end. Under the lock. */
void hd_verbs_cq_broke(struct verbs_cq *cq);

/* Puts so many completions of cq->wcs where they belong; < 0: the queue is broken. `own`: the endpoint that is not to
 * be told of its own, or NULL. */
void hd_verbs_cq_deliver(struct verbs_cq *cq, int count, struct verbs_ep *own);

/* Takes a batch, under the lock. @return whether there may be more. */
static inline bool hd_verbs_cq_poll(struct verbs_cq *cq, struct verbs_ep *own)
{
    int n = cq->extended ? hd_verbs_poll_extended(cq) : ibv_poll_cq(cq->cq, VERBS_BATCH, cq->wcs);
    if (n)
        hd_verbs_cq_deliver(cq, n, own);
    return n == VERBS_BATCH;
}

/* Takes all there are, under the lock. */
static inline void hd_verbs_cq_poll_all(struct verbs_cq *cq, struct verbs_ep *own)
{
    while (hd_verbs_cq_poll(cq, own))
        continue;
}

/* The next completion is to be told on the channel, to the communication thread if not to a caller. Under the lock. */
void hd_verbs_cq_listen(struct verbs_cq *cq, bool comm);
/* The communication thread need not listen: no endpoint is armed. Under the lock. */
void hd_verbs_cq_ignore(struct verbs_cq *cq);
/* Takes what the channel told. Under the lock. */
void hd_verbs_cq_heard(struct verbs_cq *cq);

/* ---- inboxes ---- */

static inline bool hd_verbs_has_mail(const struct verbs_ep *ep)
{
    const struct verbs_inbox *in = &ep->inbox;
    return atomic_load_explicit(&in->rx_put, memory_order_acquire) !=
               atomic_load_explicit(&in->rx_taken, memory_order_relaxed) ||
           atomic_load_explicit(&in->tx_put, memory_order_acquire) !=
               atomic_load_explicit(&in->tx_taken, memory_order_relaxed);
}

/* Whether the link is to end when what came before has been taken. */
static inline bool hd_verbs_over(const struct verbs_ep *ep)
{
    return atomic_load_explicit(&ep->failed, memory_order_relaxed) ||
           atomic_load_explicit(&ep->peer_closed, memory_order_relaxed) ||
           atomic_load_explicit(&ep->event, memory_order_relaxed) ||
           atomic_load_explicit(&ep->inbox.overrun, memory_order_relaxed);
}

/* Whether progress() has something to do even if the queue is empty. */
static inline bool hd_verbs_known_pending(const struct verbs_ep *ep)
{
    return hd_verbs_has_mail(ep) || (hd_verbs_over(ep) && !atomic_load_explicit(&ep->held, memory_order_relaxed));
}

/* Posting a receive takes as long as half of a small message's way up, so it waits until there is nothing else to do,
 * or until the next arrival. One buffer of a link's credits is missing meanwhile: the device makes senders wait if that
 * should ever matter. ep->repost is written under the link's lock while it is 0 and emptied under the queue's, so
 * neither needs the other's. */
void hd_verbs_repost_now(struct verbs_ep *ep, uint32_t due);
static inline void hd_verbs_repost_due(struct verbs_ep *ep)
{
    uint32_t due = atomic_load_explicit(&ep->repost, memory_order_acquire);
    if (due)
        hd_verbs_repost_now(ep, due);
}

#endif
