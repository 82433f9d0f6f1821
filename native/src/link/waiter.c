/* SPDX-License-Identifier: Apache-2.0 */

/* Waking the threads that wait for something on a link. How they wait is in wait.c. */

#include <limits.h>
#include <sched.h>

#include "link/link.h"

/* A thread that is woken wants the lock at once: it is woken when the lock is free. */
void hd_waiter_wake_later(struct hd_link *link, struct hd_waiter *waiter)
{
    if (waiter->waking)
        return;
    if (link->poll.wake_count == HD_COUNT(link->poll.wakes)) {
        hd_futex_wake(&waiter->event, INT_MAX, false);
        return;
    }
    waiter->waking = true;
    link->poll.wakes[link->poll.wake_count++] = waiter;
}

void hd_link_release_and_wake(struct hd_link *link)
{
    struct hd_waiter *waiters[HD_COUNT(link->poll.wakes)];
    unsigned count = link->poll.wake_count;
    for (unsigned i = 0; i < count; i++) {
        waiters[i] = link->poll.wakes[i];
        waiters[i]->waking = false;
        atomic_fetch_add_explicit(&waiters[i]->wakers, 1, memory_order_relaxed); /* it stays: hd_waiter_end() */
    }
    link->poll.wake_count = 0;
    hd_unlock(&link->lock);
    for (unsigned i = 0; i < count; i++) {
        hd_futex_wake(&waiters[i]->event, INT_MAX, false);
        atomic_fetch_sub_explicit(&waiters[i]->wakers, 1, memory_order_release);
    }
}

void hd_waiter_wake(struct hd_link *link, struct hd_waiter *waiter)
{
    if (waiter->sleepers)
        hd_waiter_wake_later(link, waiter);
    if (link->poll.poller != waiter || !link->poll.away)
        return;
    atomic_thread_fence(memory_order_seq_cst); /* our event before its sleep, or its sleep before our look */
    if (atomic_load(&link->poll.asleep) && link->ep)
        link->ep->ops->wake(link->ep);
}

void hd_waiter_end(struct hd_waiter *waiter)
{
    while (atomic_load_explicit(&waiter->wakers, memory_order_acquire))
        sched_yield();
}
