/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that wait for a stream, and what wakes them. */

#include "wait.h"

#include <limits.h>

/* Whoever delivers something calls this under the link's lock; the event word is read before a waiter looks at the
 * stream, so that nothing that happens in between is slept over. */
void hd_stream_notify(struct hd_stream *stream)
{
    struct hd_link *link = stream->link;
    atomic_fetch_add(&stream->event, 1);
    if (stream->sleepers)
        hd_futex_wake(&stream->event, INT_MAX, false);
    if (link->poller == stream && atomic_load(&link->poller_asleep) && link->ep)
        link->ep->ops->wake(link->ep);
}

static int64_t time_left(int64_t deadline)
{
    if (deadline == HD_FOREVER)
        return HD_FOREVER;
    int64_t left = deadline - hd_now();
    return left > 0 ? left : 0;
}

static bool arrived(struct hd_ep *ep, struct hd_stream *stream, uint32_t seen)
{
    return ep->ops->pending(ep) || atomic_load_explicit(&stream->event, memory_order_relaxed) != seen;
}

/* @return whether something came. */
static bool spin(struct hd_link *link, struct hd_stream *stream, uint32_t seen, int64_t start, int64_t deadline)
{
    int64_t end = start + link->engine->conf.poll_spin;
    if (deadline != HD_FOREVER && deadline < end)
        end = deadline;
    for (unsigned i = 1; !arrived(link->ep, stream, seen); i++) {
        hd_cpu_relax();
        if (i % 64 == 0 && hd_now() >= end)
            return false;
    }
    return true;
}

/* One turn of the thread that polls. The lock is held on entry and return. */
static void poll_turn(struct hd_link *link, struct hd_stream *stream, uint32_t seen, int64_t deadline)
{
    struct hd_ep *ep = link->ep;
    link->poller = stream;
    hd_link_disarm(link);
    hd_link_unlock(link);
    int64_t start = 0;
    bool came = false, spun = hd_spin_begin(link->engine, &link->spin);
    if (spun) {
        start = hd_now();
        came = spin(link, stream, seen, start, deadline);
        hd_spin_end(link->engine);
        if (came)
            hd_spin_learn(&link->spin, true);
    }
    if (!came && !arrived(ep, stream, seen)) {
        atomic_store(&link->poller_asleep, 1);
        ep->ops->wait(ep, &stream->event, seen, time_left(deadline));
        atomic_store(&link->poller_asleep, 0);
        if (spun && hd_now() - start < HD_SPIN_LONG)
            hd_spin_learn(&link->spin, false);
    }
    hd_link_lock(link);
    hd_link_progress(link);
}

/* Another thread polls: sleep until there is something, or until it is our turn to poll. */
static void sleep_turn(struct hd_link *link, struct hd_stream *stream, uint32_t seen, int64_t deadline)
{
    if (stream->sleepers++ == 0)
        hd_list_add_tail(&link->sleeping, &stream->sleep_node);
    hd_link_unlock(link);
    hd_futex_wait(&stream->event, seen, time_left(deadline), false);
    hd_link_lock(link);
    if (--stream->sleepers == 0)
        hd_list_remove(&stream->sleep_node);
}

/* The polling thread leaves: another waiting one takes over, or in a while the communication thread. */
static void leave(struct hd_link *link)
{
    link->poller = NULL;
    link->last_poll = hd_now();
    if (hd_list_empty(&link->sleeping))
        return;
    struct hd_stream *next = hd_container(link->sleeping.next, struct hd_stream, sleep_node);
    hd_list_remove(&next->sleep_node); /* to the end: everyone's turn comes */
    hd_list_add_tail(&link->sleeping, &next->sleep_node);
    atomic_fetch_add(&next->event, 1);
    hd_futex_wake(&next->event, 1, false);
}

int hd_stream_wait(struct hd_stream *stream, hd_ready_fn ready, void *arg, int64_t deadline)
{
    struct hd_link *link = stream->link;
    bool polling = false, waited = false;
    int result;
    for (;;) {
        uint32_t seen = atomic_load(&stream->event);
        if (!polling && hd_link_usable(link) && link->ep->ops->pending(link->ep))
            hd_link_progress(link);
        result = ready(stream, arg);
        if (result)
            break;
        if (atomic_exchange(&stream->interrupted, false)) {
            result = hd_error(-EINTR, "%s: the wait was interrupted", link->peer);
            break;
        }
        if (deadline == 0 || (waited && hd_expired(deadline))) { /* the clock is read only if nothing came */
            result = deadline == 0 ? -EAGAIN : hd_error(-ETIMEDOUT, "%s did not respond in time", link->peer);
            break;
        }
        if ((!link->poller || polling) && hd_link_usable(link)) {
            polling = true;
            poll_turn(link, stream, seen, deadline);
        } else {
            sleep_turn(link, stream, seen, deadline);
        }
        waited = true;
    }
    if (polling)
        leave(link);
    return result > 0 ? 0 : result;
}

void hd_stream_wake(hd_stream *stream)
{
    hd_link_lock(stream->link);
    atomic_store(&stream->interrupted, true);
    hd_stream_notify(stream);
    hd_link_unlock(stream->link);
}
