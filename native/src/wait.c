/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that wait for a stream, and what wakes them. */

#include "wait.h"

#include <limits.h>
#include <sched.h>

#include "link_path.h"
#include "stream.h"

#define STARVED_NAP ((int64_t)1000000)

/* Whoever is woken wants the lock at once: it is woken when the lock is free. */
static void wake_later(struct hd_stream *stream)
{
    struct hd_link *link = stream->link;
    if (stream->waking)
        return;
    if (link->wake_count == HD_COUNT(link->wakes)) {
        hd_futex_wake(&stream->event, INT_MAX, false);
        return;
    }
    stream->waking = true;
    link->wakes[link->wake_count++] = stream;
}

void hd_link_release_and_wake(struct hd_link *link)
{
    struct hd_stream *streams[HD_COUNT(link->wakes)];
    unsigned count = link->wake_count;
    for (unsigned i = 0; i < count; i++) {
        streams[i] = link->wakes[i];
        streams[i]->waking = false;
        atomic_fetch_add_explicit(&streams[i]->wakers, 1, memory_order_relaxed); /* it stays for hd_stream_close() */
    }
    link->wake_count = 0;
    hd_unlock(&link->lock);
    for (unsigned i = 0; i < count; i++) {
        hd_futex_wake(&streams[i]->event, INT_MAX, false);
        atomic_fetch_sub_explicit(&streams[i]->wakers, 1, memory_order_release);
    }
}

void hd_stream_wake_waiters(struct hd_stream *stream)
{
    struct hd_link *link = stream->link;
    if (stream->sleepers)
        wake_later(stream);
    if (link->poller != stream || !link->poller_away)
        return;
    atomic_thread_fence(memory_order_seq_cst); /* our event before its sleep, or its sleep before our look */
    if (atomic_load(&link->poller_asleep) && link->ep)
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

/* `every`: after so many times 64 looks the processor is given up for a moment, 0 never. After misses the peer may be
 * waiting for this very one, and while both want it, the system has a reason to move one of them to another. *now is
 * when the clock was read last: whoever has something to do does not read it once more. */
static bool spin(struct hd_link *link, struct hd_stream *stream, uint32_t seen, int64_t end, unsigned every,
                 int64_t *now)
{
    for (unsigned turn = 1; !link->ep->ops->look(link->ep, &stream->event, seen, 64); turn++) {
        *now = hd_now();
        if (*now >= end)
            return false;
        if (every && turn % every == 0)
            sched_yield();
    }
    return true;
}

/* Less often if waits have just been longer than usual: what comes during a system call is found after it. */
static unsigned courtesy(const struct hd_link *link, int64_t time)
{
    if (time <= link->engine->conf.poll_spin)
        return 0;
    return hd_spin_is_longer(&link->spin) ? 4 : 1;
}

/* Nothing came at once: spins if that may help, then sleeps. */
static void spin_and_sleep(struct hd_link *link, struct hd_stream *stream, uint32_t seen, struct hd_patience *patience)
{
    struct hd_ep *ep = link->ep;
    int64_t start = hd_now(), deadline = hd_due(patience), time = hd_spin_begin(link->engine, &link->spin);
    if (time) {
        int64_t end = deadline != HD_FOREVER && deadline < start + time ? deadline : start + time;
        int64_t last = start;
        bool came = spin(link, stream, seen, end, courtesy(link, time), &last);
        hd_spin_end(link->engine);
        if (came) {
            hd_spin_came(link->engine, &link->spin, last - start);
            return;
        }
    }
    if (arrived(ep, stream, seen))
        return;
    atomic_store(&link->asleep_since, hd_now());
    atomic_store(&link->poller_asleep, 1);
    ep->ops->wait(ep, &stream->event, seen, time_left(deadline));
    atomic_store(&link->poller_asleep, 0);
    if (time)
        hd_spin_learn_wait(link->engine, &link->spin, hd_now() - start);
}

/* One turn of the thread that polls. The lock is held on entry and return. */
static inline void poll_turn(struct hd_link *link, struct hd_stream *stream, uint32_t seen,
                             struct hd_patience *patience)
{
    link->poller = stream;
    link->heir = NULL;
    link->poller_away = true;
    if (link->armed)
        hd_link_disarm(link);
    unsigned looks = hd_spin_looks(link->engine, &link->spin);
    hd_link_unlock(link);
    if (link->ep->ops->look(link->ep, &stream->event, seen, looks))
        hd_spin_hit(&link->spin);
    else
        spin_and_sleep(link, stream, seen, patience);
    hd_link_lock(link);
    link->poller_away = false;
    hd_link_take(link);
}

/* Sleeps until something is delivered to the stream: another thread polls, or polling is of no use. */
static void sleep_turn(struct hd_link *link, struct hd_stream *stream, uint32_t seen, int64_t time)
{
    if (stream->sleepers++ == 0)
        hd_list_add_tail(&link->sleeping, &stream->sleep_node);
    stream->slept = seen;
    hd_link_unlock(link);
    hd_futex_wait(&stream->event, seen, time, false);
    hd_link_lock(link);
    if (--stream->sleepers == 0)
        hd_list_remove(&stream->sleep_node);
}

/* A frame cannot be taken for want of memory: it will be there at every look. */
static void starve_turn(struct hd_link *link, struct hd_stream *stream, uint32_t seen, struct hd_patience *patience)
{
    int64_t time = time_left(hd_due(patience));
    sleep_turn(link, stream, seen, time == HD_FOREVER || time > STARVED_NAP ? STARVED_NAP : time);
    hd_link_progress(link);
}

/* Who sleeps and was not woken yet, the latest: what it waits for comes last, so it polls for the others meanwhile. Who
 * was woken is on its way: it takes its own, or polls by itself. */
static struct hd_stream *next_poller(struct hd_link *link)
{
    for (struct hd_list *node = link->sleeping.prev; node != &link->sleeping; node = node->prev) {
        struct hd_stream *stream = hd_container(node, struct hd_stream, sleep_node);
        if (atomic_load_explicit(&stream->event, memory_order_relaxed) == stream->slept)
            return stream;
    }
    return NULL;
}

/* Nobody polls: another that waits takes over, or in a while the communication thread. */
static inline void hand_over(struct hd_link *link)
{
    link->heir = hd_list_empty(&link->sleeping) ? NULL : next_poller(link); /* mostly nobody: no call for that */
    if (!link->heir)
        return;
    atomic_fetch_add(&link->heir->event, 1);
    wake_later(link->heir);
}

/* The polling thread leaves. */
static inline void leave(struct hd_link *link)
{
    link->poller = NULL;
    link->polls++;
    if (link->unattended) {
        link->unattended = false;
        hd_comm_hurry(link);
    }
    hand_over(link);
}

static inline bool interrupted(struct hd_stream *stream)
{
    return atomic_load_explicit(&stream->interrupted, memory_order_relaxed) &&
           atomic_exchange(&stream->interrupted, false);
}

/* hd_stream_wait(), for a `ready` that is known where it is called. */
HD_INLINE int wait_until(struct hd_stream *stream, hd_ready_fn ready, void *arg, struct hd_patience *patience)
{
    struct hd_link *link = stream->link;
    bool polling = false, waited = false;
    int result;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&stream->event, memory_order_relaxed); /* written under our lock */
        if (!polling && hd_link_usable(link) && link->ep->ops->pending(link->ep))
            hd_link_progress(link);
        result = ready(stream, arg);
        if (result)
            break;
        if (interrupted(stream)) {
            result = hd_error(-EINTR, "%s: the wait was interrupted", link->peer);
            break;
        }
        if (patience->timeout == 0 || (waited && hd_expired(hd_due(patience)))) {
            result = patience->timeout == 0 ? -EAGAIN : hd_error(-ETIMEDOUT, "%s did not respond in time", link->peer);
            break;
        }
        bool may_poll = (!link->poller || polling) && hd_link_usable(link);
        if (may_poll && link->memory_stalled) {
            starve_turn(link, stream, seen, patience);
        } else if (may_poll) {
            polling = true;
            poll_turn(link, stream, seen, patience);
        } else {
            sleep_turn(link, stream, seen, time_left(hd_due(patience)));
        }
        waited = true;
    }
    if (polling)
        leave(link);
    else if (link->heir == stream && !link->poller)
        hand_over(link); /* it was to poll, but has what it wants */
    return result > 0 ? 0 : result;
}

int hd_stream_wait(struct hd_stream *stream, hd_ready_fn ready, void *arg, struct hd_patience *patience)
{
    return wait_until(stream, ready, arg, patience);
}

static inline int readable(struct hd_stream *stream, void *arg)
{
    (void)arg;
    if (stream->rx_first)
        return hd_stream_first_is_ready(stream);
    if (stream->remote_finished)
        return 1;
    return hd_stream_is_lost(stream) || stream->remote_error ? hd_stream_failure(stream) : 0;
}

int hd_stream_wait_readable(struct hd_stream *stream, struct hd_patience *patience)
{
    return wait_until(stream, readable, NULL, patience);
}

void hd_stream_wake(hd_stream *stream)
{
    hd_link_lock(stream->link);
    atomic_store(&stream->interrupted, true);
    hd_stream_notify(stream);
    hd_link_unlock(stream->link);
}
