/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_WAIT_PATH_H
#define HD_WAIT_PATH_H

/* hd_wait(), to be repeated where the `ready` function is known, which spares calls on the way of every message.
 * Everybody else calls hd_wait(). */

#include "link/link_path.h"
#include "progress/wait.h"

/* Nobody polls: another thread that waits takes over, or in a while the communication thread. */
static inline void hd_wait_hand_over(struct hd_link *link)
{
    bool nobody = hd_list_empty(&link->poll.sleeping); /* as mostly: no call */
    link->poll.heir = nobody ? NULL : hd_wait_next_poller(link);
    if (!link->poll.heir)
        return;
    atomic_fetch_add(&link->poll.heir->event, 1);
    hd_waiter_wake_later(link, link->poll.heir);
}

/* The polling thread leaves. */
static inline void hd_wait_leave(struct hd_link *link)
{
    link->poll.poller = NULL;
    link->poll.ends++;
    if (link->poll.unattended) {
        link->poll.unattended = false;
        hd_link_hurry(link);
    }
    hd_wait_hand_over(link);
}

/* One turn of the thread that polls. The lock is held on entry and return. */
static inline void hd_wait_poll(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen,
                                struct hd_patience *patience)
{
    link->poll.poller = waiter;
    link->poll.heir = NULL;
    link->poll.away = true;
    if (link->comm.armed)
        hd_link_disarm(link);
    unsigned looks = hd_spin_looks(link->engine, &link->poll.spin);
    hd_link_unlock(link);
    if (link->ep->ops->look(link->ep, &waiter->event, seen, looks))
        hd_spin_hit(&link->poll.spin);
    else
        hd_wait_spin_and_sleep(link, waiter, seen, patience);
    hd_link_lock(link);
    link->poll.away = false;
    hd_link_take(link);
}

static inline bool hd_wait_interrupted(struct hd_waiter *waiter)
{
    return atomic_load_explicit(&waiter->interrupted, memory_order_relaxed) &&
           atomic_exchange(&waiter->interrupted, false);
}

HD_INLINE int hd_wait_until(struct hd_link *link, struct hd_waiter *waiter, hd_ready_fn ready, void *arg,
                            struct hd_patience *patience)
{
    bool polling = false, waited = false;
    int result;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&waiter->event, memory_order_relaxed); /* written under our lock */
        if (!polling && hd_link_usable(link) && link->ep->ops->pending(link->ep))
            hd_link_progress(link);
        result = ready(arg);
        if (result)
            break;
        if (hd_wait_interrupted(waiter)) {
            result = hd_error(-EINTR, "%s: the wait was interrupted", link->peer);
            break;
        }
        if (patience->timeout == 0 || (waited && hd_expired(hd_due(patience)))) {
            result = patience->timeout == 0 ? -EAGAIN : hd_error(-ETIMEDOUT, "%s did not respond in time", link->peer);
            break;
        }
        bool may_poll = (!link->poll.poller || polling) && hd_link_usable(link);
        if (may_poll && link->flow.memory_stalled) {
            hd_wait_starved(link, waiter, seen, patience);
        } else if (may_poll) {
            polling = true;
            hd_wait_poll(link, waiter, seen, patience);
        } else {
            hd_wait_sleep(link, waiter, seen, patience);
        }
        waited = true;
    }
    if (polling)
        hd_wait_leave(link);
    else if (link->poll.heir == waiter && !link->poll.poller)
        hd_wait_hand_over(link); /* it was to poll, but has what it wants */
    return result > 0 ? 0 : result;
}

#endif
