/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A connected endpoint: frames by send and receive, memory by RDMA read and write, polling and sleeping.
 *
 * Everything posted gets a cookie: receives the number of their slot, requests their running number. Requests complete
 * in order, so that of the sends only every few report, and the report of a request says that those before it are done.
 *
 * The provider notifies through a CNO with an agent: a function that it calls, on a thread of its own, once. While
 * somebody polls, the event dispatcher is disabled and arrivals cost nothing but themselves.
 */

#include "transport/udapl/udapl.h"

#include <stdio.h>
#include <unistd.h>

#define RECEIVE (1ULL << 63) /* in a cookie */
#define BATCH   64           /* events taken under the mutex in one go */

/* What an event amounts to, for handling outside of the mutex. */
struct finished {
    uint64_t cookie;
    int status;
};

static int lost(struct udapl_ep *ep)
{
    hd_lock(ep->mutex);
    int err = hd_error(-ECONNRESET, "uDAPL %s: %s", ep->device->provider, ep->why[0] ? ep->why : "the link is closed");
    hd_unlock(ep->mutex);
    return err;
}

void udapl_break(struct udapl_ep *ep, const char *why)
{
    uint64_t one = 1;
    int none = 0;
    hd_lock(ep->mutex);
    if (!ep->why[0])
        snprintf(ep->why, sizeof(ep->why), "%s", why);
    atomic_compare_exchange_strong(&ep->broken, &none, -ECONNRESET);
    hd_unlock(ep->mutex);
    udapl_wake(&ep->base);
    if (write(ep->event_fd, &one, sizeof(one)) < 0) {
        /* full: it is readable anyway */
    }
}

/* ---- posting ---- */

DAT_RETURN udapl_post_slot(struct udapl_ep *ep, uint32_t slot)
{
    DAT_LMR_TRIPLET iov = {.virtual_address = (DAT_VADDR)(uintptr_t)(ep->memory + slot * ep->slot_size),
                           .segment_length = (DAT_SEG_LENGTH)ep->slot_size,
                           .lmr_context = ep->key};
    DAT_DTO_COOKIE cookie = {.as_64 = RECEIVE | slot};
    return udapl.ep_post_recv(ep->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* @return 0 when connected, -EAGAIN when not yet. */
static int check_up(struct udapl_ep *ep)
{
    int state = atomic_load_explicit(&ep->state, memory_order_relaxed);
    if (state == UDAPL_CONNECTING)
        state = udapl_look(ep);
    if (state == UDAPL_CONNECTING)
        return -EAGAIN;
    return state == UDAPL_UP && !ep->closed ? 0 : lost(ep);
}

/* Under *mutex: remembers a request that was posted. */
static void note_request(struct udapl_ep *ep, enum udapl_kind kind, uint64_t cookie)
{
    ep->requests[ep->request_head & (ep->request_room - 1)] = (struct udapl_request){.cookie = cookie, .kind = kind};
    ep->request_head++;
}

/* What a refused post means. The provider may have less room than it said. */
static int refused(struct udapl_ep *ep, const char *call, DAT_RETURN ret)
{
    if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES && ep->request_head != ep->request_tail)
        return -EAGAIN;
    if (udapl_look(ep) == UDAPL_OVER)
        return lost(ep);
    return udapl_error(-ECONNRESET, ep->device->provider, call, ret, "the link is given up; it can be connected again");
}

/* Under *mutex: what sending a frame changes. */
static void note_frame(struct udapl_ep *ep, const struct hd_frame *frame, bool bare, bool reports)
{
    note_request(ep, UDAPL_SEND, 0);
    ep->tx_head++;
    ep->tx_next = ep->tx_next + 1 == ep->tx_slots ? 0 : ep->tx_next + 1;
    ep->unsignalled = reports ? 0 : ep->unsignalled + 1;
    udapl_packed(&ep->framing, frame, bare);
}

int udapl_send(struct hd_ep *base, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    (void)owner; /* each frame has a header in front of it, in one piece */
    struct udapl_ep *ep = udapl_ep_of(base);
    int err = check_up(ep);
    if (err)
        return err;
    hd_lock(ep->mutex);
    if (ep->tx_head - ep->tx_tail == ep->tx_slots) {
        hd_unlock(ep->mutex);
        return -EAGAIN;
    }
    char *slot = ep->memory + ep->rx_slots * ep->slot_size + ep->tx_next * ep->tx_slot_size;
    bool bare, reports = ep->unsignalled + 1 >= ep->tx_slots / 4;
    size_t size = udapl_pack(&ep->framing, frame, payload, slot, &bare);
    DAT_LMR_TRIPLET iov = {
        .virtual_address = (DAT_VADDR)(uintptr_t)slot, .segment_length = (DAT_SEG_LENGTH)size, .lmr_context = ep->key};
    DAT_DTO_COOKIE cookie = {.as_64 = ep->request_head};
    DAT_RETURN ret = udapl.ep_post_send(ep->ep, 1, &iov, cookie,
                                        reports ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG);
    if (ret == DAT_SUCCESS)
        note_frame(ep, frame, bare, reports);
    hd_unlock(ep->mutex);
    return ret == DAT_SUCCESS ? 0 : refused(ep, "dat_ep_post_send", ret);
}

DAT_RETURN udapl_post_farewell(struct udapl_ep *ep)
{
    if (ep->tx_head - ep->tx_tail == ep->tx_slots)
        return DAT_INSUFFICIENT_RESOURCES;
    ep->farewell = ep->request_head;
    DAT_LMR_TRIPLET iov = {.virtual_address = (DAT_VADDR)(uintptr_t)ep->memory, .lmr_context = ep->key};
    DAT_DTO_COOKIE cookie = {.as_64 = ep->request_head};
    DAT_RETURN ret = udapl.ep_post_send(ep->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
    if (ret == DAT_SUCCESS) {
        note_request(ep, UDAPL_SEND, 0);
        ep->tx_head++; /* and no other frame comes after it */
    }
    return ret;
}

int udapl_locate(struct hd_ep *base, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    unsigned index = base->device->index;
    if (!buf->slab->device[index].registered || atomic_load(&base->device->local_only))
        return -EOPNOTSUPP;
    *key = buf->slab->device[index].key >> 32;
    *address = (uint64_t)(uintptr_t)buf->base + offset;
    return 0;
}

static int transfer(struct udapl_ep *ep, const struct hd_rma *rma, bool reads)
{
    unsigned index = ep->base.device->index;
    if (rma->key > UINT32_MAX || rma->length > ep->device->rdma_max)
        return hd_error(-EPROTO, "the peer named memory that cannot be");
    if (!rma->buf->slab->device[index].registered)
        return hd_error(-EPROTO, "memory that the adapter does not know cannot be transferred");
    int err = check_up(ep);
    if (err)
        return err;
    DAT_LMR_TRIPLET iov = {.virtual_address = (DAT_VADDR)(uintptr_t)(rma->buf->base + rma->offset),
                           .segment_length = (DAT_SEG_LENGTH)rma->length,
                           .lmr_context = (DAT_LMR_CONTEXT)rma->buf->slab->device[index].key};
    DAT_RMR_TRIPLET remote = {.virtual_address = rma->address,
                              .segment_length = (DAT_SEG_LENGTH)rma->length,
                              .rmr_context = (DAT_RMR_CONTEXT)rma->key};
    hd_lock(ep->mutex);
    if (ep->rma == ep->rma_max || (reads && ep->reads == ep->reads_max)) {
        hd_unlock(ep->mutex);
        return -EAGAIN;
    }
    DAT_DTO_COOKIE cookie = {.as_64 = ep->request_head};
    DAT_RETURN ret = (reads ? udapl.ep_post_rdma_read : udapl.ep_post_rdma_write)(ep->ep, 1, &iov, cookie, &remote,
                                                                                  DAT_COMPLETION_DEFAULT_FLAG);
    if (ret == DAT_SUCCESS) {
        note_request(ep, reads ? UDAPL_GET : UDAPL_PUT, rma->cookie);
        ep->rma++;
        ep->reads += reads;
        ep->unsignalled = 0;
    }
    hd_unlock(ep->mutex);
    return ret == DAT_SUCCESS ? HD_IN_PROGRESS
                              : refused(ep, reads ? "dat_ep_post_rdma_read" : "dat_ep_post_rdma_write", ret);
}

int udapl_get(struct hd_ep *base, const struct hd_rma *rma)
{
    return transfer(udapl_ep_of(base), rma, true);
}

int udapl_put(struct hd_ep *base, const struct hd_rma *rma)
{
    return transfer(udapl_ep_of(base), rma, false);
}

/* ---- events ---- */

static void count_waiting(struct udapl_ep *ep)
{
    atomic_store_explicit(&ep->waiting, (uint32_t)(ep->arrival_head - ep->arrival_tail), memory_order_release);
}

/* Under *mutex. The first failure is the one that tells something; the others follow from it. */
static void fail(struct udapl_ep *ep, int error, const char *what, DAT_DTO_COMPLETION_STATUS status)
{
    if (!atomic_load(&ep->broken) && !ep->why[0] && status != DAT_DTO_ERR_FLUSHED)
        snprintf(ep->why, sizeof(ep->why), "%s failed: %s", what, udapl_status_name(status));
    int none = 0;
    atomic_compare_exchange_strong(&ep->broken, &none, error);
}

static const char *kind_name(enum udapl_kind kind)
{
    return kind == UDAPL_SEND ? "a send" : kind == UDAPL_GET ? "an RDMA read" : "an RDMA write";
}

/* Under *mutex: the request `number` is done, and those before it. @return false if there was no such request. */
static bool retire(struct udapl_ep *ep, uint64_t number, DAT_DTO_COMPLETION_STATUS status, struct finished *done)
{
    if (number - ep->request_tail >= ep->request_head - ep->request_tail)
        return false;
    for (;; ep->request_tail++) {
        const struct udapl_request *r = &ep->requests[ep->request_tail & (ep->request_room - 1)];
        bool last = ep->request_tail == number;
        if (r->kind == UDAPL_SEND) {
            ep->tx_tail++;
        } else {
            ep->rma--;
            ep->reads -= r->kind == UDAPL_GET;
            if (last)
                *done = (struct finished){.cookie = r->cookie, .status = status == DAT_DTO_SUCCESS ? 0 : -EIO};
        }
        if (last && status != DAT_DTO_SUCCESS)
            fail(ep, -ECONNRESET, kind_name(r->kind), status);
        if (last)
            break;
    }
    ep->request_tail++;
    return true;
}

/* Under *mutex: sorts an event. @return whether `done` was filled. */
static bool sort_event(struct udapl_ep *ep, const DAT_EVENT *event, struct finished *done)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    uint64_t cookie = dto->user_cookie.as_64;
    done->cookie = 0;
    done->status = 1; /* no get or put */
    if (event->event_number != DAT_DTO_COMPLETION_EVENT) {
        /* DAPL takes what was flushed for operations of its extension: the connection's own event knows why. */
        fail(ep, -ECONNRESET, "an operation", DAT_DTO_ERR_FLUSHED);
    } else if (!(cookie & RECEIVE)) {
        if (!retire(ep, cookie, dto->status, done))
            fail(ep, -EPROTO, "a request that was not under way", DAT_DTO_ERR_LOCAL_EP);
    } else if (dto->status != DAT_DTO_SUCCESS) {
        fail(ep, -ECONNRESET, "a receive", dto->status);
    } else if ((cookie & ~RECEIVE) >= ep->rx_slots || ep->arrival_head - ep->arrival_tail >= ep->rx_slots) {
        fail(ep, -EPROTO, "a receive that was not posted", DAT_DTO_ERR_LOCAL_EP);
    } else {
        ep->arrivals[ep->arrival_head & (ep->arrival_room - 1)] =
            (struct udapl_arrival){(uint32_t)(cookie & ~RECEIVE), dto->transfered_length};
        ep->arrival_head++;
    }
    return done->status != 1;
}

/* Takes up to `budget` events from the dispatcher; arrivals are queued. If pending() found one, it is the only one most
 * of the time, and another look costs as much as all the rest: the next pending() takes it. @return number of `done`.
 */
static int take_events(struct udapl_ep *ep, int budget, struct finished *done)
{
    int count = 0;
    hd_lock(ep->mutex);
    if (ep->enabled && atomic_load_explicit(&ep->rung, memory_order_relaxed)) {
        udapl.evd_disable(ep->dto_evd); /* or every event would ring again */
        ep->enabled = false;
    }
    bool found = atomic_load_explicit(&ep->stashed, memory_order_relaxed);
    if (found) {
        count = sort_event(ep, &ep->stash, done);
        atomic_store_explicit(&ep->stashed, false, memory_order_relaxed);
    }
    for (int i = 0; !found && i < budget; i++) {
        DAT_EVENT event;
        if (udapl.evd_dequeue(ep->dto_evd, &event) != DAT_SUCCESS)
            break;
        count += sort_event(ep, &event, &done[count]);
    }
    count_waiting(ep);
    hd_unlock(ep->mutex);
    return count;
}

void udapl_drain(struct udapl_ep *ep)
{
    struct finished done[BATCH];
    ep->arrival_tail = ep->arrival_head; /* nobody takes them any more */
    take_events(ep, BATCH, done);
}

/* Under *mutex. Posting a receive takes as long as a small message's way up, so it waits until there is nothing else to
 * do, or until the next arrival; there are more slots than credits. */
static void repost(struct udapl_ep *ep)
{
    if (ep->repost == 0 || !ep->ep)
        return;
    DAT_RETURN ret = udapl_post_slot(ep, ep->repost - 1);
    ep->repost = 0;
    if (ret == DAT_SUCCESS)
        return;
    ep->repost_error = ret;
    fail(ep, -ECONNRESET, "a receive", DAT_DTO_ERR_FLUSHED); /* the end of the connection knows better why */
}

static void repost_later(struct udapl_ep *ep, uint32_t slot)
{
    hd_lock(ep->mutex);
    repost(ep);
    ep->repost = slot + 1;
    hd_unlock(ep->mutex);
}

/* Hands the oldest arrival up. @return 1, 0 if it has to stay, or an error. */
static int deliver(struct udapl_ep *ep)
{
    const struct udapl_arrival *a = &ep->arrivals[ep->arrival_tail & (ep->arrival_room - 1)];
    const char *slot = ep->memory + a->slot * ep->slot_size;
    struct hd_frame frame;
    if (a->length == 0) {
        ep->arrival_tail++;
        hd_lock(ep->mutex);
        snprintf(ep->why, sizeof(ep->why), "the peer closed the link");
        hd_unlock(ep->mutex);
        lost(ep);
        return -EPIPE;
    }
    const char *payload;
    int err = udapl_unpack(&ep->framing, slot, a->length, ep->base.frame_rx, &frame, &payload);
    if (err)
        return err;
    err = ep->base.sink.frame(ep->base.sink.arg, &frame, payload, NULL);
    if (err)
        return err == -ENOBUFS ? 0 : err;
    udapl_unpacked(&ep->framing, &frame);
    repost_later(ep, a->slot);
    ep->arrival_tail++;
    count_waiting(ep);
    return 1;
}

int udapl_progress(struct hd_ep *base, int budget)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    struct finished done[BATCH];
    int count = 0, n = take_events(ep, budget < BATCH ? budget : BATCH, done);
    for (int i = 0; i < n; i++) {
        if (done[i].status == 0)
            base->sink.done(base->sink.arg, done[i].cookie, 0);
        count++;
    }
    while (count < budget && ep->arrival_head != ep->arrival_tail) {
        int err = deliver(ep);
        if (err < 0)
            return err;
        if (err == 0)
            break;
        count++;
    }
    int broken = atomic_load(&ep->broken);
    if (!broken || count || ep->arrival_head != ep->arrival_tail)
        return count;
    udapl_look(ep); /* may know why */
    if (ep->repost_error && !ep->why[0])
        return udapl_error(broken, ep->device->provider, "dat_ep_post_recv", ep->repost_error, "the link is given up");
    lost(ep);
    return broken;
}

/* Looks whether there is an event, and keeps it. If not, there is time for what was put off. */
static bool peek(struct udapl_ep *ep)
{
    hd_lock(ep->mutex);
    bool found = atomic_load_explicit(&ep->stashed, memory_order_relaxed);
    if (!found && ep->ep) {
        found = udapl.evd_dequeue(ep->dto_evd, &ep->stash) == DAT_SUCCESS;
        if (found)
            atomic_store_explicit(&ep->stashed, true, memory_order_release);
        else
            repost(ep);
    }
    hd_unlock(ep->mutex);
    return found;
}

bool udapl_pending(struct hd_ep *base)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    return atomic_load_explicit(&ep->waiting, memory_order_acquire) ||
           atomic_load_explicit(&ep->stashed, memory_order_relaxed) ||
           atomic_load_explicit(&ep->broken, memory_order_relaxed) || peek(ep);
}

/* ---- sleeping ---- */

void udapl_ring(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    (void)evd;
    struct udapl_ep *ep = instance;
    atomic_store(&ep->rung, 1);
    uint32_t wanted = atomic_exchange(&ep->wanted, 0);
    if (wanted & UDAPL_WAKE_THREAD) {
        atomic_fetch_add(&ep->word, 1);
        hd_futex_wake(&ep->word, 1, false);
    }
    if (wanted & UDAPL_WAKE_EVENT) {
        uint64_t one = 1;
        if (write(ep->event_fd, &one, sizeof(one)) < 0) {
            /* full: it is readable anyway */
        }
    }
}

/* Asks for a call of udapl_ring() at the next event. What came before is for the caller to find by udapl_pending(). */
static void enable(struct udapl_ep *ep, uint32_t whom)
{
    atomic_fetch_or(&ep->wanted, whom);
    hd_lock(ep->mutex);
    if (ep->ep && (!ep->enabled || atomic_load(&ep->rung))) {
        DAT_OS_WAIT_PROXY_AGENT agent = {.instance_data = ep, .proxy_agent_func = udapl_ring};
        DAT_EVD_HANDLE evd;
        if (atomic_exchange(&ep->rung, 0)) {
            udapl.cno_modify_agent(ep->cno, agent);
            udapl.cno_wait(ep->cno, 0, &evd); /* forgets that it was triggered, or it would not be again */
        }
        udapl.evd_enable(ep->dto_evd);
        ep->enabled = true;
    }
    hd_unlock(ep->mutex);
}

static void disable(struct udapl_ep *ep, uint32_t whom)
{
    atomic_fetch_and(&ep->wanted, ~whom);
    hd_lock(ep->mutex);
    /* Looked at under the lock: whoever asks meanwhile finds out by `enabled` that it has to be done again. */
    if (atomic_load(&ep->wanted) == 0) {
        if (ep->ep && ep->enabled)
            udapl.evd_disable(ep->dto_evd);
        ep->enabled = false;
    }
    hd_unlock(ep->mutex);
}

void udapl_wait(struct hd_ep *base, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    uint32_t bell = atomic_load(&ep->word);
    enable(ep, UDAPL_WAKE_THREAD);
    if (!udapl_pending(base) && atomic_load(word) == seen)
        hd_futex_wait(&ep->word, bell, timeout, false);
    disable(ep, UDAPL_WAKE_THREAD);
}

void udapl_wake(struct hd_ep *base)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    atomic_fetch_add(&ep->word, 1);
    hd_futex_wake(&ep->word, 1, false);
}

bool udapl_woken(struct hd_ep *base)
{
    return atomic_load(&udapl_ep_of(base)->wanted) == 0;
}

bool udapl_arm(struct hd_ep *base)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    if (udapl_pending(base))
        return false;
    enable(ep, UDAPL_WAKE_EVENT);
    if (!udapl_pending(base))
        return true;
    udapl_disarm(base);
    return false;
}

void udapl_disarm(struct hd_ep *base)
{
    disable(udapl_ep_of(base), UDAPL_WAKE_EVENT);
}

int udapl_event_fd(struct hd_ep *base)
{
    return udapl_ep_of(base)->event_fd;
}
