/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that wait for something on a link: who polls, who sleeps. */

#include "progress/wait.h"

#include <sched.h>

#include "progress/wait_path.h"

#define STARVED_NAP ((int64_t)1000000)

static int64_t wait_left(int64_t deadline)
{
    if (deadline == HD_FOREVER)
        return HD_FOREVER;
    int64_t left = deadline - hd_now();
    return left > 0 ? left : 0;
}

static bool wait_arrived(struct hd_ep *ep, struct hd_waiter *waiter, uint32_t seen)
{
    return ep->ops->pending(ep) || atomic_load_explicit(&waiter->event, memory_order_relaxed) != seen;
}

/* `every`: after so many times 64 looks the processor is given up for a moment, 0 never. After misses the peer may be
 * waiting for this very one, and while both want it, the system has a reason to move one of them to another. *now is
 * when the clock was read last: whoever has something to do does not read it once more. */
static bool wait_spin(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, int64_t end, unsigned every,
                      int64_t *now)
{
    for (unsigned turn = 1; !link->ep->ops->look(link->ep, &waiter->event, seen, 64); turn++) {
        *now = hd_now();
        if (*now >= end)
            return false;
        if (every && turn % every == 0)
            sched_yield();
    }
    return true;
}

/* Less often if waits have just been longer than usual: what comes during a system call is found after it. */
static unsigned wait_courtesy(const struct hd_link *link, int64_t time)
{
    if (time <= link->engine->conf.poll_spin)
        return 0;
    return hd_spin_is_longer(&link->poll.spin) ? 4 : 1;
}

void hd_wait_spin_and_sleep(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, struct hd_patience *patience)
{
    struct hd_ep *ep = link->ep;
    int64_t start = hd_now(), deadline = hd_due(patience), time = hd_spin_begin(link->engine, &link->poll.spin);
    if (time) {
        int64_t end = deadline != HD_FOREVER && deadline < start + time ? deadline : start + time;
        int64_t last = start;
        bool came = wait_spin(link, waiter, seen, end, wait_courtesy(link, time), &last);
        hd_spin_end(link->engine);
        if (came) {
            hd_spin_came(link->engine, &link->poll.spin, last - start);
            return;
        }
    }
    if (wait_arrived(ep, waiter, seen))
        return;
    atomic_store(&link->poll.asleep_since, hd_now());
    atomic_store(&link->poll.asleep, 1);
    ep->ops->wait(ep, &waiter->event, seen, wait_left(deadline));
    atomic_store(&link->poll.asleep, 0);
    if (time)
        hd_spin_learn_wait(link->engine, &link->poll.spin, hd_now() - start);
}

static void wait_asleep(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, int64_t time)
{
    if (waiter->sleepers++ == 0)
        hd_list_add_tail(&link->poll.sleeping, &waiter->node);
    waiter->slept = seen;
    hd_link_unlock(link);
    hd_futex_wait(&waiter->event, seen, time, false);
    hd_link_lock(link);
    if (--waiter->sleepers == 0)
        hd_list_remove(&waiter->node);
}

void hd_wait_sleep(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, struct hd_patience *patience)
{
    wait_asleep(link, waiter, seen, wait_left(hd_due(patience)));
}

void hd_wait_starved(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, struct hd_patience *patience)
{
    int64_t time = wait_left(hd_due(patience));
    wait_asleep(link, waiter, seen, time == HD_FOREVER || time > STARVED_NAP ? STARVED_NAP : time);
    hd_link_progress(link);
}

/* The latest sleeper's answer comes last, so it polls for the others meanwhile. A thread that was woken takes its own
 * answer, or polls by itself. */
struct hd_waiter *hd_wait_next_poller(struct hd_link *link)
{
    for (struct hd_list *node = link->poll.sleeping.prev; node != &link->poll.sleeping; node = node->prev) {
        struct hd_waiter *waiter = hd_container(node, struct hd_waiter, node);
        if (atomic_load_explicit(&waiter->event, memory_order_relaxed) == waiter->slept)
            return waiter;
    }
    return NULL;
}

int hd_wait(struct hd_link *link, struct hd_waiter *waiter, hd_ready_fn ready, void *arg, struct hd_patience *patience)
{
    return hd_wait_until(link, waiter, ready, arg, patience);
}
