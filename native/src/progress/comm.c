/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Communication threads. Each owns a share of the links: it watches their guards, serves them while no program thread
 * polls them, and buries them. A thread sleeps in epoll_wait() and is woken by guards, by transports' event
 * descriptors, and by its kick.
 *
 * A link is in one of two lists. Links that need attention are in `soon` and looked at every poll.handover: callers
 * poll them, memory or room is short, or they end. hd_link_hurry() moves a link there. All others are in `later` and
 * looked at once a second, together with those of the same eighth of it.
 *
 * A program thread that polls a link disarms its event descriptor, so that the peer need not ring; the communication
 * thread is told once, and then looks every poll.handover whether the link was left alone and must be armed again. The
 * communication thread stops ticking a link whose poller sleeps longer than poll.handover; the poller kicks it on exit.
 *
 * No link holds up the others: a link gets a turn of bounded length (hd_link_turn(), and LINGER), and if there is more
 * to do, another one after all others that have something to do have had theirs.
 */

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/registry.h"
#include "progress/comm.h"

#define IDLE_LOOK  ((int64_t)1000000000)
#define IDLE_SLOT  (IDLE_LOOK / 8) /* less than HD_COMM_SLOTS of them are planned ahead */
#define GUARD_TAG  1ULL
#define SOURCE_TAG 2ULL
#define TAGS       (GUARD_TAG | SOURCE_TAG)

static void comm_watch(struct hd_comm *comm, int fd, uint64_t data, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = data};
    if (fd >= 0 && epoll_ctl(comm->epoll_fd, EPOLL_CTL_ADD, fd, &event))
        hd_log(&comm->engine->log, HD_LOG_ERROR, "cannot watch a descriptor: %s", strerror(errno));
}

static void comm_unwatch(struct hd_comm *comm, int fd)
{
    if (fd >= 0)
        epoll_ctl(comm->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void comm_drain(int fd)
{
    uint64_t count;
    if (read(fd, &count, sizeof(count)) < 0) {
        /* somebody else was faster */
    }
}

void hd_comm_adopt(struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    struct hd_comm *comm = &engine->comms[link->comm.thread];
    hd_lock(&link->lock);
    link->comm.kick = &comm->kick;
    link->comm.hurried = true;
    hd_unlock(&link->lock);
    hd_kick_soon(&comm->kick, &link->comm.hurried_node);
    hd_kick_now(&comm->kick);
}

/* ---- what several links wait for ---- */

static void comm_call(struct hd_source *source)
{
    struct hd_comm *comm = source->owner;
    if (!atomic_exchange(&source->called, true))
        hd_kick_call(&comm->kick);
}

/* The lock is held. */
static void comm_watch_source(struct hd_comm *comm, struct hd_source *source)
{
    if (!source || atomic_load(&source->watched))
        return;
    source->owner = comm;
    source->call = comm_call;
    source->due = INT64_MAX;
    atomic_store(&source->watched, true);
    hd_list_add_tail(&comm->sources, &source->node);
    comm_watch(comm, source->fd, (uint64_t)(uintptr_t)source | SOURCE_TAG, EPOLLIN);
}

/* Those that nobody uses any more. Other threads read the list under the lock. */

static void comm_end_sources(struct hd_comm *comm)
{
    for (struct hd_list *n = comm->sources.next, *after; n != &comm->sources; n = after) {
        struct hd_source *source = hd_container(n, struct hd_source, node);
        after = n->next;
        if (atomic_load(&source->users))
            continue;
        pthread_mutex_lock(&comm->lock);
        bool held = atomic_load(&source->held);
        if (!held)
            hd_list_remove(&source->node);
        pthread_mutex_unlock(&comm->lock);
        if (held)
            continue;
        comm_unwatch(comm, source->fd);
        if (source->end(source))
            continue;
        pthread_mutex_lock(&comm->lock);
        hd_list_add_tail(&comm->sources, &source->node);
        pthread_mutex_unlock(&comm->lock);
        comm_watch(comm, source->fd, (uint64_t)(uintptr_t)source | SOURCE_TAG, EPOLLIN);
    }
}

/* Has the sources ring for what came. @return whether something is rung. */
static bool comm_take_sources(struct hd_comm *comm)
{
    int64_t now = hd_list_empty(&comm->sources) ? 0 : hd_now();
    for (struct hd_list *n = comm->sources.next; n != &comm->sources; n = n->next) {
        struct hd_source *source = hd_container(n, struct hd_source, node);
        bool called = atomic_exchange(&source->called, false);
        if (!source->readable && !called && now < source->due)
            continue;
        source->due = source->take(source, source->readable, now);
        source->readable = false;
    }
    return hd_kick_rung(&comm->kick) > 0;
}

/* When the first of them is to be taken from again. */
static int64_t comm_sources_due(const struct hd_comm *comm)
{
    int64_t due = INT64_MAX;
    for (const struct hd_list *n = comm->sources.next; n != &comm->sources; n = n->next) {
        struct hd_source *source = hd_container(n, struct hd_source, node);
        if (atomic_load(&source->called))
            return 0;
        due = source->due < due ? source->due : due;
    }
    return due;
}

static void comm_watch_link(struct hd_comm *comm, struct hd_link *link)
{
    link->comm.watched = true;
    comm_watch(comm, link->guard.fd, (uint64_t)(uintptr_t)link | GUARD_TAG, EPOLLIN | EPOLLRDHUP);
    comm_watch(comm, link->ep->ops->event_fd(link->ep), (uint64_t)(uintptr_t)link, EPOLLIN);
    pthread_mutex_lock(&comm->lock);
    comm_watch_source(comm, link->ep->ops->source(link->ep));
    pthread_mutex_unlock(&comm->lock);
}

/* Moves hurried links to those that are looked at soon. Links that are new are among them. */
static void comm_take_hurried(struct hd_comm *comm)
{
    for (struct hd_list *node; (node = hd_kick_next_hurried(&comm->kick));) {
        struct hd_link *link = hd_container(node, struct hd_link, comm.hurried_node);
        if (!link->comm.watched)
            comm_watch_link(comm, link);
        hd_list_remove(&link->comm.node);
        hd_list_add_tail(&comm->soon, &link->comm.node);
    }
}

static struct hd_comm *comm_of(const struct hd_link *link)
{
    return hd_container(atomic_load(&link->comm.kick), struct hd_comm, kick);
}

/* The link gets another turn when the others have had theirs. On its communication thread. */
static void comm_requeue(struct hd_link *link)
{
    if (hd_list_empty(&link->comm.busy_node))
        hd_list_add_tail(&comm_of(link)->busy, &link->comm.busy_node);
}

#define LAST_TURNS    4096 /* a turn need not take all that there is */
#define LAST_CONTROLS 16   /* frames under way that needed no credits */

/* The guard has ended. Takes what the peer sent before, turn by turn, and then ends the link: also if the peer goes on
 * sending. */
static void comm_take_last_words(struct hd_link *link)
{
    bool more = hd_link_turn(link);
    more = more || (hd_link_usable(link) && !link->flow.memory_stalled && link->ep->ops->pending(link->ep));
    if (more && (int32_t)(link->guard.last_sequence - link->flow.rx_sequence) > 0 && link->guard.last_turns-- > 0) {
        comm_requeue(link);
        return;
    }
    bool retired = link->state == HD_LINK_RETIRED;
    link->peer_ended = link->peer_ended || !link->guard.error;
    hd_link_doom(link, retired ? -ESHUTDOWN : -ECONNRESET, "the peer is gone (guard connection: %s)",
                 link->guard.error ? strerror(link->guard.error) : "closed");
}

/* Nothing may come on the guard but its end. */
static void comm_guard_event(struct hd_comm *comm, struct hd_link *link)
{
    char byte;
    ssize_t n = recv(link->guard.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int err = n < 0 ? errno : 0;
    comm_unwatch(comm, link->guard.fd);
    hd_link_lock(link);
    if (n > 0) {
        hd_link_doom(link, -EPROTO, "the peer sent something on the guard connection");
    } else if (hd_link_usable(link)) {
        link->guard.ending = true;
        link->guard.error = err;
        link->guard.last_sequence = link->flow.rx_sequence + link->mine.credits + LAST_CONTROLS;
        link->guard.last_turns = LAST_TURNS;
        comm_take_last_words(link);
    }
    hd_link_leave(link);
}

static bool comm_polled_by_callers(const struct hd_link *link)
{
    return link->poll.poller || atomic_load(&link->poll.queue_pollers);
}

#define LINGER ((int64_t)50000) /* nanoseconds of a turn */

/* Polls for poll.spin since the last arrival, since one is often followed by another. @return whether that has to go on
 * in the next turn. */
static bool comm_linger(struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    bool resumed = link->comm.lingers, hit = false, more = false;
    link->comm.lingers = false;
    if (hd_spin_begin(engine, &link->poll.spin) == 0)
        return false;
    int64_t now = hd_now(), end = now + LINGER;
    if (!resumed)
        link->comm.linger_until = now + engine->conf.poll_spin;
    for (unsigned i = 1; hd_link_usable(link) && !comm_polled_by_callers(link) && !more && now < end; i++) {
        if (hd_kick_rung(&comm_of(link)->kick)) /* another link has something to do */
            break;
        if (link->ep->ops->pending(link->ep)) {
            hit = true;
            more = hd_link_turn(link);
            now = hd_now();
            link->comm.linger_until = now + engine->conf.poll_spin;
        }
        hd_link_release(link);
        hd_cpu_relax();
        hd_lock(&link->lock);
        if (i % 16 == 0)
            now = hd_now();
        if (now >= link->comm.linger_until)
            break;
    }
    link->comm.lingers =
        hd_link_usable(link) && !comm_polled_by_callers(link) && (more || now < link->comm.linger_until);
    if (hit)
        hd_spin_learn_hit(&link->poll.spin);
    else if (!resumed && !link->comm.lingers)
        hd_spin_learn_miss(engine, &link->poll.spin, HD_FOREVER);
    hd_spin_end(engine);
    return link->comm.lingers;
}

bool hd_comm_serve(struct hd_link *link)
{
    if (!hd_link_usable(link) || comm_polled_by_callers(link))
        return false;
    if (hd_link_turn(link))
        return true;
    if (!hd_link_usable(link))
        return false;
    bool armed = link->ep->ops->arm(link->ep);
    link->comm.armed = armed;
    return !armed && !link->flow.memory_stalled && link->ep->ops->pending(link->ep); /* else later, by comm_tick() */
}

static void comm_serve_or_requeue(struct hd_link *link)
{
    if (hd_comm_serve(link))
        comm_requeue(link);
}

/* One turn of a link that has, or had, something to do. `alone`: no other one has. The lock is held. */
static void comm_take_turn(struct hd_link *link, bool alone)
{
    if (!hd_link_usable(link))
        return;
    if (link->guard.ending) {
        comm_take_last_words(link);
        return;
    }
    if (comm_polled_by_callers(link)) {
        link->comm.lingers = false;
        if (!hd_list_empty(&link->rndv.todo) && hd_link_turn(link))
            comm_requeue(link);
    } else if (hd_link_turn(link) || (alone && comm_linger(link))) {
        comm_requeue(link);
    } else {
        link->comm.lingers = false;
        comm_serve_or_requeue(link);
    }
    if (hd_link_usable(link) && !link->comm.armed && hd_list_empty(&link->comm.busy_node))
        hd_link_hurry(link); /* callers poll it, and found it disarmed: they will not say so, nor that they left */
}

/* The link was rung, or its event descriptor is readable. */
static void comm_link_event(struct hd_link *link, bool alone)
{
    hd_link_lock(link);
    link->ep->ops->disarm(link->ep);
    link->comm.armed = false;
    if (hd_link_usable(link))
        hd_count(link->engine->stats, wakeups, 1);
    comm_take_turn(link, alone);
    hd_link_leave(link);
}

/* @return whether there was one. */
static bool comm_serve_rung(struct hd_comm *comm, bool alone)
{
    unsigned count = hd_kick_rung(&comm->kick);
    for (unsigned i = 0; i < count; i++) {
        struct hd_list *node = hd_kick_next(&comm->kick, NULL);
        if (node)
            comm_link_event(hd_container(node, struct hd_link, comm.rung_node), alone && count == 1);
    }
    return count > 0;
}

#define ROUNDS 16 /* then descriptors are looked at again */

/* Serves links for which something came, until nothing more does. @return whether there was one. */
static bool comm_serve_sources(struct hd_comm *comm, bool alone)
{
    bool served = false;
    for (unsigned i = 0; i < ROUNDS && comm_take_sources(comm); i++)
        served = comm_serve_rung(comm, alone) || served;
    return served;
}

/* A turn for each link that had more to do. */
static void comm_serve_busy(struct hd_comm *comm, bool alone)
{
    for (struct hd_list *node, *last = comm->busy.prev; !hd_list_empty(&comm->busy);) {
        node = comm->busy.next;
        struct hd_link *link = hd_container(node, struct hd_link, comm.busy_node);
        hd_list_remove(node);
        hd_link_lock(link);
        comm_take_turn(link, alone && node == last && hd_list_empty(&comm->busy));
        hd_link_leave(link);
        if (node == last)
            return;
    }
}

/* ---- the regular look at a link ---- */

static int64_t comm_idle_look(struct hd_link *link, int64_t now)
{
    int64_t timeout = link->engine->conf.link_idle_timeout;
    if (timeout == 0 || !link->initiator || link->state != HD_LINK_UP || !hd_link_idle(link))
        return IDLE_LOOK;
    if (now - link->comm.idle_since >= timeout) {
        link->state = HD_LINK_RETIRING;
        hd_link_control(link, HD_FRAME_RETIRE, 0, 0, NULL, 0);
        return IDLE_LOOK;
    }
    return timeout - (now - link->comm.idle_since);
}

/* A thread that sleeps on the transport takes what comes. Until it leaves, which it then tells, nobody need look. */
static bool comm_poller_sleeps(struct hd_link *link, int64_t now)
{
    return link->poll.poller && atomic_load(&link->poll.asleep) && !hd_link_has_work(link) &&
           now - atomic_load(&link->poll.asleep_since) >= link->engine->conf.poll_handover;
}

/* Whether no caller has polled for poll.handover. They only count: reading the clock costs more than a message. */
static bool comm_left_alone(struct hd_link *link, int64_t now)
{
    if (link->poll.ends != link->poll.ends_seen) {
        link->poll.ends_seen = link->poll.ends;
        link->poll.last_poll = now;
    }
    return !comm_polled_by_callers(link) && !link->comm.armed &&
           now - link->poll.last_poll >= link->engine->conf.poll_handover;
}

static void comm_say_overlooked(struct hd_link *link, int64_t ms)
{
    hd_count(link->engine->stats, wakeups_lost, 1);
    if (!link->comm.overlooked_said)
        hd_log(
            &link->engine->log, HD_LOG_WARN,
            "link to %s over %s: nobody was woken for what came %lld ms ago: a notification was lost, by the adapter's "
            "driver, its library or this engine, or the machine is starved. Later ones are only counted (wakeups.lost)",
            link->peer, link->ep->device->ops->name, (long long)ms);
    link->comm.overlooked_said = true;
}

/* Whoever sleeps relies on the transport to wake it. Should a notification get lost, below us or by a mistake of ours,
 * the call would stand until its timeout; so the regular look asks, and wakes the sleeper if at two looks there is
 * something and nothing was taken in between. What was woken and has not run since has lost nothing. */
static void comm_look_for_overlooked(struct hd_link *link, int64_t now)
{
    bool asleep = link->comm.armed || (link->poll.poller && atomic_load(&link->poll.asleep));
    if (!asleep || !link->ep->ops->pending(link->ep)) {
        link->comm.overlooked_since = 0;
        return;
    }
    if (!link->comm.overlooked_since || link->comm.overlooked_sequence != link->flow.rx_sequence) {
        link->comm.overlooked_since = now;
        link->comm.overlooked_sequence = link->flow.rx_sequence;
        return;
    }
    if (now - link->comm.overlooked_since < IDLE_LOOK - IDLE_SLOT)
        return;
    if (!link->ep->ops->woken(link->ep))
        comm_say_overlooked(link, (now - link->comm.overlooked_since) / 1000000);
    link->comm.overlooked_since = 0;
    if (!link->comm.armed) {
        link->ep->ops->wake(link->ep);
        return;
    }
    link->ep->ops->disarm(link->ep);
    link->comm.armed = false;
    comm_serve_or_requeue(link);
}

/* @return nanoseconds until the next look, or -1 if the link is no more. */
static int64_t comm_tick(struct hd_comm *comm, struct hd_link *link, int64_t now)
{
    int64_t handover = comm->engine->conf.poll_handover, next = IDLE_LOOK;
    hd_link_lock(link);
    if (link->state == HD_LINK_DOWN) {
        int event_fd = link->ep->ops->event_fd(link->ep);
        comm_unwatch(comm, event_fd); /* before it is closed */
        next = hd_link_reap(link) ? -1 : handover;
    } else if (hd_link_usable(link)) {
        if (hd_link_has_work(link) && hd_link_turn(link)) /* a caller that polls may be asleep */
            comm_requeue(link);
        if (!hd_list_empty(&link->streams.memory_senders))
            link->hooks->senders_memory(link);
        if (comm_left_alone(link, now) || link->comm.handed)
            comm_serve_or_requeue(link);
        link->comm.handed = false;
        comm_look_for_overlooked(link, now);
        int64_t idle = comm_idle_look(link, now);
        link->poll.unattended = !link->comm.armed && comm_poller_sleeps(link, now);
        bool soon = (!link->comm.armed && !link->poll.unattended) || hd_link_has_work(link);
        next = soon ? handover : idle < IDLE_LOOK ? idle : IDLE_LOOK;
    }
    if (link->doomed && next > handover)
        next = handover;
    link->comm.hurried = next <= handover; /* one that is gone is hurried no more */
    hd_link_publish(link);
    hd_link_leave(link);
    return next;
}

static void comm_bury(struct hd_comm *comm, struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    comm_unwatch(comm, link->guard.fd);
    hd_kick_forget(&comm->kick, &link->comm.rung_node, &link->comm.hurried_node);
    hd_list_remove(&link->comm.node);
    hd_list_remove(&link->comm.busy_node);
    pthread_mutex_lock(&engine->lock);
    hd_registry_remove(link);
    hd_admit_end(engine, &link->admission);
    pthread_cond_broadcast(&engine->link_gone);
    pthread_mutex_unlock(&engine->lock);
    shutdown(link->guard.fd, SHUT_RDWR); /* tells the peer, even if the program still has its own descriptor open */
    close(link->guard.fd);
    link->guard.fd = -1;
    hd_link_put(link); /* the engine's */
    hd_link_put(link); /* this thread's */
}

/* The slot of the next look. Closing an idle link may come late by a slot. A regular look goes to the nearest slot: one
 * that comes a bit late does not move those after it. */
static int64_t comm_slot_of(int64_t now, int64_t next)
{
    return next < IDLE_LOOK ? (now + next + IDLE_SLOT - 1) / IDLE_SLOT : (now + IDLE_LOOK + IDLE_SLOT / 2) / IDLE_SLOT;
}

/* @return whether the link is buried. */
static bool comm_look_at(struct hd_comm *comm, struct hd_link *link, int64_t now)
{
    int64_t next = comm_tick(comm, link, now);
    if (next < 0) {
        comm_bury(comm, link);
        return true;
    }
    hd_list_remove(&link->comm.node);
    if (next <= comm->engine->conf.poll_handover)
        hd_list_add_tail(&comm->soon, &link->comm.node);
    else
        hd_list_add_tail(&comm->later[comm_slot_of(now, next) % HD_COMM_SLOTS], &link->comm.node);
    return false;
}

/* Moves links whose look is due to those that are looked at soon. */
static void comm_take_due(struct hd_comm *comm, int64_t now)
{
    int64_t last = now / IDLE_SLOT;
    if (comm->slot <= last - HD_COMM_SLOTS)
        comm->slot = last - HD_COMM_SLOTS + 1;
    for (; comm->slot <= last; comm->slot++)
        for (struct hd_list *slot = &comm->later[comm->slot % HD_COMM_SLOTS], *node; !hd_list_empty(slot);) {
            node = slot->next;
            hd_list_remove(node);
            hd_list_add_tail(&comm->soon, node);
        }
}

/* When the first of the others is due. */
static int64_t comm_later_due(const struct hd_comm *comm)
{
    for (int64_t slot = comm->slot; slot < comm->slot + HD_COMM_SLOTS; slot++)
        if (!hd_list_empty(&comm->later[slot % HD_COMM_SLOTS]))
            return slot * IDLE_SLOT;
    return INT64_MAX;
}

#define BURIALS 16 /* in a row: an adapter takes its time to give up a link, and the links that live wait meanwhile */

/* Looks once at each link that is due. @return whether there are more to bury */
static bool comm_look_at_soon(struct hd_comm *comm, int64_t now)
{
    unsigned looks = 0, buried = 0;
    bool left = false, end = hd_list_empty(&comm->soon);
    for (struct hd_list *node = comm->soon.next, *last = comm->soon.prev; !end;) {
        struct hd_link *link = hd_container(node, struct hd_link, comm.node);
        end = node == last;
        node = node->next;
        if (buried == BURIALS && atomic_load(&link->error)) {
            left = true;
            continue;
        }
        buried += comm_look_at(comm, link, now);
        looks++;
    }
    atomic_fetch_add_explicit(&comm->links_looked_at, looks, memory_order_relaxed);
    atomic_fetch_add_explicit(&comm->rounds, 1, memory_order_relaxed);
    return left;
}

/* Looks at the links that are due. @return when to do so again */
static int64_t comm_look_around(struct hd_comm *comm)
{
    int64_t now = hd_now();
    atomic_store(&comm->kick.quick, false);
    comm->kick.soon = false;
    comm_take_hurried(comm);
    comm_take_due(comm, now);
    bool left = comm_look_at_soon(comm, now), soon = comm->kick.soon || !hd_list_empty(&comm->soon);
    if (soon)
        atomic_store(&comm->kick.quick, true);
    comm_end_sources(comm);
    hd_arena_settle(comm->engine->arena);
    int64_t due = left ? 0 : comm_later_due(comm), next = hd_now() + comm->engine->conf.poll_handover;
    return soon && due > next ? next : due;
}

static int comm_to_milliseconds(int64_t ns)
{
    return ns == INT64_MAX ? -1 : ns / 1000000 >= INT_MAX ? INT_MAX : (int)((ns + 999999) / 1000000);
}

/* @return whether the thread is to look around at once. */
static bool comm_take_event(struct hd_comm *comm, uint64_t data, bool alone)
{
    struct hd_link *link = (struct hd_link *)(uintptr_t)(data & ~TAGS);
    if (data & SOURCE_TAG) {
        ((struct hd_source *)link)->readable = true;
        return false;
    }
    if (data & GUARD_TAG) {
        comm_guard_event(comm, link);
        return true;
    }
    if (link) {
        comm_drain(link->ep->ops->event_fd(link->ep));
        comm_link_event(link, alone);
        return false;
    }
    comm_drain(comm->kick.fd);
    return atomic_exchange(&comm->kick.look, false);
}

/* Until when there is nothing to do. */
static int64_t comm_sleep(struct hd_comm *comm, int64_t next_look)
{
    if (!hd_list_empty(&comm->busy) || hd_kick_rung(&comm->kick))
        return 0;
    int64_t due = comm_sources_due(comm), now = hd_now();
    due = next_look < due ? next_look : due;
    return due == INT64_MAX ? INT64_MAX : due > now ? due - now : 0;
}

static void *comm_run(void *arg)
{
    struct hd_comm *comm = arg;
    int64_t next_look = 0;
    hd_kick_enter(&comm->kick);
    if (comm->engine->binds)
        hd_affinity_enter_communication(comm->engine->binds);
    atomic_store(&comm->engine->comm_ids[comm - comm->engine->comms], (pid_t)syscall(SYS_gettid));
    while (!atomic_load(&comm->stop)) {
        struct epoll_event events[64];
        int timeout = comm_to_milliseconds(comm_sleep(comm, next_look));
        bool busy = !hd_list_empty(&comm->busy);
        int n = epoll_wait(comm->epoll_fd, events, HD_COUNT(events), timeout);
        for (int i = 0; i < n; i++)
            if (comm_take_event(comm, events[i].data.u64, n == 1 && !busy))
                next_look = 0;
        bool served = comm_serve_sources(comm, n <= 1 && !busy);
        if (busy)
            comm_serve_busy(comm, n <= 0 && !served);
        int64_t now = hd_now();
        if (comm->kick.soon && next_look > now + comm->engine->conf.poll_handover)
            next_look = now + comm->engine->conf.poll_handover;
        comm->kick.soon = false;
        if (now < next_look)
            continue;
        next_look = comm_look_around(comm);
    }
    return NULL;
}

/* ---- start and stop ---- */

static int comm_open(struct hd_engine *engine, struct hd_comm *comm)
{
    comm->engine = engine;
    pthread_mutex_init(&comm->lock, NULL);
    hd_list_init(&comm->soon);
    for (int i = 0; i < HD_COMM_SLOTS; i++)
        hd_list_init(&comm->later[i]);
    hd_list_init(&comm->busy);
    hd_list_init(&comm->sources);
    comm->epoll_fd = -1;
    int err = hd_kick_open(&comm->kick);
    if (err)
        return err;
    comm->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (comm->epoll_fd < 0)
        return hd_error(-errno, "no descriptor for a communication thread: %s", strerror(errno));
    comm_watch(comm, comm->kick.fd, 0, EPOLLIN);
    return hd_thread_start(&comm->thread, "howdah-comm", comm_run, comm);
}

static void comm_close(struct hd_comm *comm)
{
    if (comm->epoll_fd >= 0)
        close(comm->epoll_fd);
    hd_kick_close(&comm->kick);
    pthread_mutex_destroy(&comm->lock);
}

int hd_comm_start(struct hd_engine *engine)
{
    engine->comms = calloc((size_t)engine->conf.communication_threads, sizeof(*engine->comms));
    if (!engine->comms)
        return hd_error(-ENOMEM, "out of memory");
    for (int64_t i = 0; i < engine->conf.communication_threads; i++) {
        int err = comm_open(engine, &engine->comms[i]);
        if (err) {
            comm_close(&engine->comms[i]);
            return err;
        }
        engine->comm_count++;
    }
    return 0;
}

void hd_comm_stop(struct hd_engine *engine)
{
    for (unsigned i = 0; i < engine->comm_count; i++) {
        atomic_store(&engine->comms[i].stop, true);
        hd_kick_now(&engine->comms[i].kick);
    }
    for (unsigned i = 0; i < engine->comm_count; i++)
        pthread_join(engine->comms[i].thread, NULL);
    pthread_mutex_lock(&engine->lock);
    struct hd_comm *comms = engine->comms;
    unsigned count = engine->comm_count;
    engine->comms = NULL;
    engine->comm_count = 0;
    bool left = !hd_list_empty(&engine->links);
    pthread_mutex_unlock(&engine->lock);
    for (unsigned i = 0; i < count; i++)
        while (atomic_load(&comms[i].kick.helpers))
            sched_yield(); /* callers find out that the engine was closed */
    if (left)
        return; /* links are left to the end of the process, and may still ring */
    for (unsigned i = 0; i < count; i++)
        comm_close(&comms[i]);
    free(comms);
}
