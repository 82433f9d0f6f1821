/* SPDX-License-Identifier: Apache-2.0 */

/* Waiting for what comes: by looking, by sleeping on the completion channel, by being woken. cq.h says who listens. */

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/verbs/cq.h"

#define SHORTAGE_NAP ((int64_t)1000000) /* how soon to look for memory again */

static struct verbs_ep *wait_ep(struct hd_ep *ep)
{
    return (struct verbs_ep *)ep;
}

/* ---- looking ---- */

bool hd_verbs_pending(struct hd_ep *base)
{
    struct verbs_ep *ep = wait_ep(base);
    if (hd_verbs_known_pending(ep))
        return true;
    if (!hd_trylock(&ep->cq->lock)) /* somebody else looks, also for us */
        return false;
    hd_verbs_cq_poll(ep->cq, NULL); /* the link may be armed: then it is rung */
    bool found = hd_verbs_has_mail(ep);
    if (!found)
        hd_verbs_repost_due(ep);
    hd_unlock(&ep->cq->lock);
    return found;
}

/* Whoever does nothing but look keeps the queue's lock from one look to the next, unless somebody else wants it. */
bool hd_verbs_look(struct hd_ep *base, const _Atomic uint32_t *word, uint32_t seen, unsigned times)
{
    struct verbs_ep *ep = wait_ep(base);
    struct verbs_cq *cq = ep->cq;
    bool found = false, mine = false;
    for (unsigned i = 0; i <= times; i++) {
        bool wanted = atomic_load_explicit(&cq->wanted, memory_order_relaxed) != 0;
        if (mine && wanted)
            hd_unlock(&cq->lock);
        mine = !wanted && (mine || hd_trylock(&cq->lock));
        found = hd_verbs_known_pending(ep) || atomic_load_explicit(word, memory_order_relaxed) != seen;
        if (found)
            break;
        if (!mine) {
            hd_cpu_relax();
            continue;
        }
        hd_verbs_cq_poll(cq, NULL);
        found = hd_verbs_has_mail(ep);
        if (found)
            break;
        hd_verbs_repost_due(ep);
    }
    if (mine)
        hd_unlock(&cq->lock);
    return found;
}

/* ---- callers that sleep ---- */

/* Whether memory is short: nothing that arrives will say when that is over. */
static bool wait_starved(struct verbs_ep *ep)
{
    return atomic_load_explicit(&ep->held, memory_order_relaxed) ||
           atomic_load_explicit(&ep->pool->shortage, memory_order_relaxed);
}

/* What comes from here on wakes the caller. @return whether something is there already */
static bool wait_lie_down(struct verbs_ep *ep, bool *watches)
{
    struct verbs_cq *cq = ep->cq;
    hd_verbs_cq_seize(cq);
    if (!ep->asleep)
        hd_list_add_tail(&cq->sleepers, &ep->sleeper);
    ep->asleep = true;
    ep->told = false;
    if (!cq->watcher)
        cq->watcher = ep;
    *watches = cq->watcher == ep;
    if (*watches)
        hd_verbs_cq_listen(cq, false);
    hd_verbs_cq_poll_all(cq, ep);
    bool found = hd_verbs_known_pending(ep);
    if (!found)
        hd_verbs_repost_due(ep);
    hd_unlock(&cq->lock);
    return found;
}

/* Another caller that sleeps listens, or the communication thread. */
static void wait_pass_on(struct verbs_cq *cq)
{
    cq->watcher = NULL;
    if (!hd_list_empty(&cq->sleepers)) {
        cq->watcher = hd_container(cq->sleepers.next, struct verbs_ep, sleeper);
        atomic_store(&cq->watcher->promoted, true);
        hd_verbs_wake(&cq->watcher->base);
    } else if (cq->armed && !cq->called && atomic_load(&cq->source.watched)) {
        cq->called = true;
        cq->source.call(&cq->source);
    }
}

static void wait_get_up(struct verbs_ep *ep)
{
    struct verbs_cq *cq = ep->cq;
    hd_verbs_cq_seize(cq);
    ep->asleep = false;
    atomic_store(&ep->promoted, false);
    hd_list_remove(&ep->sleeper);
    if (cq->watcher == ep)
        wait_pass_on(cq);
    hd_unlock(&cq->lock);
}

static void wait_heard(struct verbs_cq *cq)
{
    hd_verbs_cq_seize(cq);
    hd_verbs_cq_heard(cq);
    hd_unlock(&cq->lock);
}

/* @return whether to go on sleeping: the thread was woken for nothing but to listen from now on, or for others. */
static bool wait_asleep(struct verbs_ep *ep, bool watches, int64_t deadline)
{
    struct pollfd fds[2] = {{.fd = ep->wake_fd, .events = POLLIN},
                            {.fd = watches ? ep->cq->channel->fd : -1, .events = POLLIN}};
    int64_t left = deadline == HD_FOREVER ? 0 : deadline - hd_now();
    struct timespec ts = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    if (left < 0 || ppoll(fds, 2, deadline == HD_FOREVER ? NULL : &ts, NULL) <= 0)
        return false;
    uint64_t count = 0;
    bool woken = (fds[0].revents & POLLIN) && read(ep->wake_fd, &count, sizeof(count)) > 0;
    if (fds[1].revents & POLLIN)
        wait_heard(ep->cq);
    bool promoted = atomic_exchange(&ep->promoted, false);
    return !woken || count == promoted;
}

void hd_verbs_wait(struct hd_ep *base, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout)
{
    struct verbs_ep *ep = wait_ep(base);
    bool watches = false;
    if (wait_starved(ep) && (timeout == HD_FOREVER || timeout > SHORTAGE_NAP))
        timeout = SHORTAGE_NAP;
    int64_t deadline = hd_deadline(timeout);
    while (!wait_lie_down(ep, &watches) && atomic_load(word) == seen && wait_asleep(ep, watches, deadline))
        continue;
    wait_get_up(ep);
}

void hd_verbs_wake(struct hd_ep *base)
{
    uint64_t one = 1;
    if (write(wait_ep(base)->wake_fd, &one, sizeof(one)) < 0) {
        /* full: it is readable anyway */
    }
}

bool hd_verbs_woken(struct hd_ep *base)
{
    struct verbs_ep *ep = wait_ep(base);
    hd_verbs_cq_seize(ep->cq);
    bool woken = (!ep->asleep || ep->told) && !atomic_load(&ep->armed);
    hd_unlock(&ep->cq->lock);
    return woken;
}

/* ---- the communication thread ---- */

bool hd_verbs_arm(struct hd_ep *base)
{
    struct verbs_ep *ep = wait_ep(base);
    struct verbs_cq *cq = ep->cq;
    if (wait_starved(ep))
        return false;
    hd_verbs_pool_take_back(ep->dev, &ep->lent); /* nobody polls: the next message may be long in coming */
    hd_verbs_ring_narrow(ep);
    hd_verbs_cq_seize(cq);
    cq->armed += !atomic_exchange(&ep->armed, true);
    if (!cq->watcher && !cq->comm_watches && !cq->called && !cq->helpers)
        hd_verbs_cq_listen(cq, true);
    hd_verbs_cq_poll_all(cq, ep);
    bool found = hd_verbs_known_pending(ep);
    if (found)
        cq->armed -= atomic_exchange(&ep->armed, false);
    else
        hd_verbs_repost_due(ep);
    hd_unlock(&cq->lock);
    return !found;
}

void hd_verbs_disarm(struct hd_ep *base)
{
    struct verbs_ep *ep = wait_ep(base);
    if (!atomic_load_explicit(&ep->armed, memory_order_relaxed)) /* it was rung */
        return;
    struct verbs_cq *cq = ep->cq;
    hd_verbs_cq_seize(cq);
    cq->armed -= atomic_exchange(&ep->armed, false);
    if (cq->armed == 0 && cq->comm_watches)
        hd_verbs_cq_ignore(cq);
    hd_unlock(&cq->lock);
}

struct hd_source *hd_verbs_source(struct hd_ep *base)
{
    return &wait_ep(base)->cq->source;
}

void hd_verbs_rouse(struct verbs_ep *ep)
{
    hd_verbs_wake(&ep->base);
    ep->base.sink.ring(ep->base.sink.arg);
}
