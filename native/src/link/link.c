/* SPDX-License-Identifier: Apache-2.0 */

/* Links: life, frames, credits. */

#include "link/link.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/trace.h"
#include "link/link_path.h"
#include "link/registry.h"

#define CONTROLS_MAX 65536 /* replies that a peer can provoke without taking them */

/* ---- life ---- */

int hd_link_create(struct hd_engine *engine, const struct hd_link_params *params, struct hd_link **out,
                   struct hd_sink *sink)
{
    struct hd_link *link = calloc(1, sizeof(*link));
    if (!link || !(link->streams.buckets = calloc(16, sizeof(*link->streams.buckets)))) {
        free(link);
        return hd_error(-ENOMEM, "out of memory");
    }
    atomic_init(&link->refs, 1);
    link->engine = hd_engine_ref(engine);
    link->hooks = engine->link_hooks;
    struct hd_list *lists[] = {
        &link->in_engine,       &link->flow.controls,          &link->flow.free_controls, &link->streams.tx_stalled,
        &link->rndv.todo,       &link->rndv.free_ops,          &link->rndv.tx_frags,      &link->rndv.memory_wait,
        &link->fetch.tx_ours,   &link->fetch.served,           &link->fetch.tx_replies,   &link->comm.node,
        &link->poll.sleeping,   &link->streams.memory_senders, &link->comm.busy_node,     &link->admission.node,
        &link->fetch.tx_pieces, &link->comm.rung_node,         &link->comm.hurried_node,  &link->by_peer,
        &link->by_address};
    for (size_t i = 0; i < HD_COUNT(lists); i++)
        hd_list_init(lists[i]);
    link->streams.bucket_count = 16;
    link->mine = params->mine;
    link->peers = params->peers;
    link->initiator = params->initiator;
    link->local = params->local;
    link->checksum = params->mine.checksum || params->peers.checksum;
    link->flow.tx_credits = params->peers.credits;
    link->streams.next_id = params->initiator ? 1 : 2;
    link->guard.fd = params->guard_fd;
    memcpy(link->peer_id, params->peer_id, HD_ID_LENGTH);
    memcpy(link->token, params->token, HD_ID_LENGTH);
    snprintf(link->address, sizeof(link->address), "%s", params->address);
    snprintf(link->peer, sizeof(link->peer), "%s%s(%s)", params->address, params->address[0] ? " " : "",
             params->peer_name);
    link->comm.thread = atomic_fetch_add(&engine->next_comm, 1) % (engine->comm_count ? engine->comm_count : 1);
    *sink = (struct hd_sink){.frame = hd_link_frame,
                             .done = link->hooks->done,
                             .unlock = hd_link_copies,
                             .lock = hd_link_copied,
                             .ring = hd_link_ring,
                             .arg = link};
    *out = link;
    return 0;
}

static void link_free(struct hd_link *link)
{
    struct hd_list *pools[] = {&link->flow.controls, &link->flow.free_controls};
    for (size_t i = 0; i < HD_COUNT(pools); i++)
        while (!hd_list_empty(pools[i])) {
            struct hd_list *node = pools[i]->next;
            hd_list_remove(node);
            free(node); /* a control begins with its node */
        }
    link->hooks->freed(link);
    hd_table_destroy(&link->rndv.table);
    hd_table_destroy(&link->rndv.ops);
    hd_table_destroy(&link->fetch.table);
    free(link->streams.buckets);
    if (link->guard.fd >= 0)
        close(link->guard.fd);
    hd_engine_unref(link->engine);
    free(link);
}

void hd_link_discard(struct hd_link *link)
{
    link->guard.fd = -1; /* stays the caller's */
    link_free(link);
}

hd_link *hd_link_ref(hd_link *link)
{
    atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
    return link;
}

void hd_link_put(hd_link *link)
{
    if (link && atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) == 1)
        link_free(link);
}

static size_t link_eager_limit(const struct hd_link *link, const struct hd_ep *ep)
{
    size_t threshold = link->local ? link->engine->conf.shm_eager_threshold : link->engine->conf.eager_threshold;
    return threshold < ep->frame_tx ? threshold : ep->frame_tx;
}

#define link_show(link, field, value)                                                                                  \
    atomic_store_explicit(&(link)->shown->field, (uint64_t)(value), memory_order_relaxed)

/* Takes a slot for what howdah stat --links shows. Without one the link works as well. */
static void link_take_slot(struct hd_link *link)
{
    const char *transport = hd_link_transport(link);
    uint32_t queue_pair = link->ep->ops->number(link->ep);
    link->shown = hd_stats_link(link->engine->stats, link->peer, transport);
    if (link->shown)
        link_show(link, queue_pair, queue_pair);
    HD_TRACE4(link_up, link, &link->peer[0], transport, queue_pair);
}

void hd_link_start(struct hd_link *link, struct hd_ep *ep)
{
    struct hd_engine *engine = link->engine;
    link->ep = ep;
    link->eager_max = link_eager_limit(link, ep);
    link->comm.idle_since = link->poll.last_poll = hd_now();
    link->times.scale = hd_ticks_scale();
    link->counters = hd_stats_peer(engine->stats, link->peer);
    link->by_transport = hd_stats_transport(engine->stats, hd_link_transport(link));
    link_take_slot(link);
    hd_arena_warm(engine->arena, true);
    hd_count(engine->stats, links_now, 1);
    hd_count(engine->stats, links_opened, 1);
    hd_peer_count(link->counters, links, 1);
    hd_peer_count(link->by_transport, links, 1);
    hd_registry_add(link);
    hd_log(&engine->log, HD_LOG_INFO, "link to %s over %s is up", link->peer, ep->device->ops->name);
    link->hooks->started(hd_link_ref(link));
}

/* ---- the end of a link ---- */

void hd_link_doom(struct hd_link *link, int error, const char *format, ...)
{
    if (!hd_link_usable(link))
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(link->cause, sizeof(link->cause), format, args);
    va_end(args);
    if (atomic_load(&link->engine->closing)) { /* whatever it looks like from here */
        error = -ESHUTDOWN;
        snprintf(link->cause, sizeof(link->cause), "the engine was closed");
    }
    link->doomed = true;
    atomic_store_explicit(&link->error, error, memory_order_release);
}

/* A transfer or fetch that does not come to its end. Open streams are not: a client that ends leaves them open. */
static bool link_work_is_lost(const struct hd_link *link)
{
    return link->rndv.table.used || link->fetch.table.used || link->fetch.served_count;
}

/* What is noticed first may be that the adapter gets no answer, or that a copy failed. */
static bool link_hung_up(const struct hd_link *link)
{
    char byte;
    return recv(link->guard.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void link_count_end(struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    if (link->state == HD_LINK_RETIRED) {
        hd_count(engine->stats, links_idle, 1);
    } else if (link->error == -ECONNRESET && !link_work_is_lost(link) && (link->peer_ended || link_hung_up(link))) {
        hd_count(engine->stats, links_ended, 1);
        hd_log(&engine->log, HD_LOG_INFO, "link to %s ended: %s", link->peer, link->cause);
    } else if (link->error != -ESHUTDOWN) {
        hd_count(engine->stats, links_failed, 1);
        hd_peer_count(link->counters, failures, 1);
        hd_log(&engine->log, hd_link_idle(link) ? HD_LOG_INFO : HD_LOG_WARN, "link to %s is lost: %s", link->peer,
               link->cause);
    }
}

/* The first half of the end: everyone is told, but for fetches into memory of the program's that the peer or an adapter
 * may still write. They wait, as all memory that the peer may touch, for hd_link_reap(). */
static void link_tear_down(struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    link_count_end(link);
    HD_TRACE4(link_down, link, &link->peer[0], atomic_load(&link->error), &link->cause[0]);
    link->state = HD_LINK_DOWN;
    link->ep->ops->close(link->ep);
    /* At most a chunk each; then nobody writes into memory that we are about to give back. */
    while (link->rndv.copying) {
        hd_link_release(link);
        sched_yield();
        hd_lock(&link->lock);
    }
    hd_count(engine->stats, links_now, -1);
    if (link->error == -EPROTO)
        hd_count(engine->stats, protocol_errors, 1);
    link->hooks->lost(link);
    link->told = true;
    if (atomic_load(&link->poll.asleep))
        link->ep->ops->wake(link->ep);
    hd_link_publish(link);
    hd_stats_link_end(link->shown);
    link->shown = NULL;
    hd_arena_warm(engine->arena, false);
    hd_link_hurry(link);
}

void hd_link_settle(struct hd_link *link)
{
    /* Chunks that the caller brought about: nobody else may come by for a while. */
    if (!hd_list_empty(&link->rndv.todo))
        link->hooks->run(link, UINT_MAX);
    if (link->doomed && link->state != HD_LINK_DOWN)
        link_tear_down(link);
}

/* What howdah stat --links shows. */
static void link_show_state(struct hd_link *link)
{
    link_show(link, credits, link->flow.tx_credits);
    link_show(link, credits_limit, link->peers.credits);
    link_show(link, owed, link->flow.rx_owed);
    link_show(link, window, link->peers.window);
    link_show(link, streams, link->streams.count);
    link_show(link, transfers, link->rndv.table.used);
    link_show(link, fetches, link->fetch.table.used);
    link_show(link, served, link->fetch.served_count);
    link_show(link, credit_stalls, link->stalls.credit_stalls);
    link_show(link, window_stalls, link->stalls.window_stalls);
    link_show(link, memory_stalls, link->stalls.memory_stalls);
    hd_stats_show_times(link->shown, offsetof(struct hd_link_counters, answers), &link->times.answers);
    hd_stats_show_times(link->shown, offsetof(struct hd_link_counters, blocks), &link->times.blocks);
    hd_peer_count(link->shown, frames_sent, link->tally.frames_sent);
    hd_peer_count(link->shown, frames_received, link->tally.frames_received);
    hd_peer_count(link->shown, bytes_sent, link->tally.bytes_sent);
    hd_peer_count(link->shown, bytes_received, link->tally.bytes_received);
    hd_peer_count(link->shown, messages_sent, link->tally.messages_eager + link->tally.messages_large);
    hd_peer_count(link->shown, messages_received, link->tally.messages_received);
}

void hd_link_publish(struct hd_link *link)
{
    if (link->shown && link->counters)
        link_show_state(link);
    struct hd_stats *stats = link->engine->stats;
    struct hd_tally t = link->tally;
    if (!link->counters || !(t.frames_sent | t.frames_received | t.bytes_sent | t.bytes_received))
        return; /* no message without a frame */
    link->tally = (struct hd_tally){0};
    hd_count(stats, frames_sent, t.frames_sent);
    hd_count(stats, frames_received, t.frames_received);
    hd_count(stats, bytes_sent, t.bytes_sent);
    hd_count(stats, bytes_received, t.bytes_received);
    hd_count(stats, messages_eager, t.messages_eager);
    hd_peer_count(link->counters, frames_sent, t.frames_sent);
    hd_peer_count(link->counters, frames_received, t.frames_received);
    hd_peer_count(link->counters, bytes_sent, t.bytes_sent);
    hd_peer_count(link->counters, bytes_received, t.bytes_received);
    hd_peer_count(link->by_transport, messages_sent, t.messages_eager + t.messages_large);
    hd_peer_count(link->by_transport, messages_received, t.messages_received);
    hd_peer_count(link->by_transport, bytes_sent, t.bytes_sent);
    hd_peer_count(link->by_transport, bytes_received, t.bytes_received);
}

int hd_link_failure(struct hd_link *link)
{
    return hd_error(link->error, "%s: %s", link->peer, link->cause);
}

bool hd_link_reap(struct hd_link *link)
{
    if (link->rndv.copying || !link->told) /* link_tear_down() gives the lock up while it waits for copies */
        return false;
    if (!link->retire_ep) {
        link->ep->ops->retire(link->ep);
        link->retire_ep = true;
    }
    if (link->poll.poller || atomic_load(&link->poll.queue_pollers) || !link->ep->ops->quiet(link->ep))
        return false;
    link->hooks->quiet(link);
    link->ep->ops->destroy(link->ep);
    link->ep = NULL;
    return true;
}

bool hd_link_idle(const struct hd_link *link)
{
    return link->streams.count == 0 && link->fetch.table.used == 0 && link->fetch.served_count == 0 &&
           link->rndv.table.used == 0 && hd_list_empty(&link->flow.controls);
}

bool hd_link_open_for_more(struct hd_link *link)
{
    hd_link_lock(link);
    bool open = hd_link_usable(link) && link->state == HD_LINK_UP && link->streams.next_id < HD_LAST_STREAM;
    hd_link_unlock(link);
    return open;
}

void hd_link_close(hd_link *link)
{
    hd_link_lock(link);
    hd_link_doom(link, -ESHUTDOWN, "closed on this side");
    hd_link_unlock(link);
}

int hd_link_status(hd_link *link)
{
    if (atomic_load_explicit(&link->error, memory_order_acquire) == 0)
        return 0;
    hd_link_lock(link);
    int err = hd_link_failure(link);
    hd_link_unlock(link);
    return err;
}

const char *hd_link_peer(hd_link *link)
{
    return link->peer;
}

const char *hd_link_transport(hd_link *link)
{
    hd_lock(&link->lock);
    const char *name = "none";
    if (link->ep) {
        const struct hd_device *device = link->ep->device;
        name = device->inner ? device->inner->ops->name : device->ops->name;
    }
    hd_unlock(&link->lock);
    return name;
}

/* ---- sending ---- */

int hd_link_post_from(struct hd_link *link, enum hd_frame_type type, uint32_t id, uint64_t arg, const void *payload,
                      size_t length, hd_buf *owner)
{
    return hd_link_give(link, type, id, arg, payload, length, owner);
}

void hd_link_control(struct hd_link *link, enum hd_frame_type type, uint32_t id, uint64_t arg, const void *payload,
                     size_t length)
{
    if (hd_list_empty(&link->flow.controls) && hd_link_post(link, type, id, arg, payload, length) != -EAGAIN)
        return;
    if (!hd_link_usable(link))
        return;
    struct hd_control *control;
    if (!hd_list_empty(&link->flow.free_controls)) {
        control = hd_container(link->flow.free_controls.next, struct hd_control, node);
        hd_list_remove(&control->node);
    } else {
        control = link->flow.control_count < CONTROLS_MAX ? malloc(sizeof(*control)) : NULL;
        if (!control) {
            hd_link_doom(link, -EPROTO, "the peer does not take our replies");
            return;
        }
    }
    link->flow.control_count++;
    control->frame = (struct hd_frame){.type = (uint8_t)type, .id = id, .arg = arg, .length = (uint32_t)length};
    if (length)
        memcpy(control->payload, payload, length);
    hd_list_add_tail(&link->flow.controls, &control->node);
}

static void link_send_controls(struct hd_link *link)
{
    while (!hd_list_empty(&link->flow.controls)) {
        struct hd_control *control = hd_container(link->flow.controls.next, struct hd_control, node);
        const struct hd_frame *f = &control->frame;
        if (hd_link_post(link, f->type, f->id, f->arg, control->payload, f->length))
            return;
        hd_list_remove(&control->node);
        link->flow.control_count--;
        hd_list_add_tail(&link->flow.free_controls, &control->node);
    }
}

void hd_link_transmit(struct hd_link *link)
{
    if (!hd_list_empty(&link->flow.controls))
        link_send_controls(link);
    if (hd_link_can_send(link))
        link->hooks->room(link);
    if (link->flow.rx_owed >= link->mine.credits / 2)
        hd_link_post(link, HD_FRAME_CREDIT, 0, 0, NULL, 0);
}

bool hd_link_has_work(const struct hd_link *link)
{
    bool sendable = !hd_list_empty(&link->fetch.tx_ours) || !hd_list_empty(&link->fetch.tx_replies) ||
                    !hd_list_empty(&link->rndv.tx_frags) || !hd_list_empty(&link->streams.tx_stalled);
    return !hd_list_empty(&link->rndv.memory_wait) || !hd_list_empty(&link->streams.memory_senders) ||
           !hd_list_empty(&link->flow.controls) || !hd_list_empty(&link->rndv.todo) || link->flow.memory_stalled ||
           link->flow.rx_owed >= link->mine.credits / 2 || (sendable && hd_link_can_send(link));
}

/* ---- receiving ---- */

static int link_on_retire(struct hd_link *link, uint64_t step)
{
    bool peer_decides = link->initiator == (step == 0); /* only the initiator asks, only the other one answers */
    if (step > 2 || peer_decides || (step && link->state != HD_LINK_RETIRING))
        return hd_error(-EPROTO, "a peer's request to close the link makes no sense");
    if (step == 0) {
        bool idle = hd_link_idle(link);
        if (idle)
            link->state = HD_LINK_RETIRED;
        hd_link_control(link, HD_FRAME_RETIRE, 0, idle ? 1 : 2, NULL, 0);
    } else if (step == 1) {
        link->state = HD_LINK_RETIRED;
        hd_link_doom(link, -ESHUTDOWN, "closed because it was idle");
    } else {
        link->state = HD_LINK_UP;
        link->comm.idle_since = hd_now();
    }
    return 0;
}

static int link_dispatch(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    if (f->type == HD_FRAME_CREDIT)
        return 0;
    if (f->type == HD_FRAME_RETIRE)
        return link_on_retire(link, f->arg);
    return link->hooks->frame[f->type](link, f, payload, owner);
}

/* A frame found no memory, and is given again later. */
static void link_stall_for_memory(struct hd_link *link)
{
    if (!link->flow.memory_stalled)
        HD_TRACE3(stall_begin, link, HD_STALL_MEMORY, 0);
    link->flow.memory_stalled = true;
    hd_link_stalled(link, memory_stalls);
}

static void link_end_stall(struct hd_link *link)
{
    link->flow.memory_stalled = false;
    HD_TRACE3(stall_end, link, HD_STALL_MEMORY, 0);
}

/* Whether the frame may come now. */
static int link_check(const struct hd_link *link, const struct hd_frame *f, const void *payload)
{
    if (!hd_frame_valid(f, link->ep->frame_rx))
        return hd_error(-EPROTO, "a frame of type %u, %u bytes makes no sense", f->type, f->length);
    if (f->checksum != (link->checksum ? hd_frame_checksum(f, payload) : 0))
        return hd_error(-EPROTO, "a frame was damaged on the way");
    if (f->sequence != link->flow.rx_sequence)
        return hd_error(-EPROTO, "frame %u came where %u was due", f->sequence, link->flow.rx_sequence);
    if (f->credits > link->peers.credits - link->flow.tx_credits)
        return hd_error(-EPROTO, "the peer gives back more credits than it got");
    if (f->type != HD_FRAME_CREDIT)
        return link->flow.rx_owed < link->mine.credits
                   ? 0
                   : hd_error(-EPROTO, "the peer sends more than its credits allow");
    /* These need no credit. A peer sends one when it owes half of its credits: so ours bound their number. */
    return f->credits >= link->peers.credits / 2
               ? 0
               : hd_error(-EPROTO, "a credit frame gives back %u of %u credits, less than half", f->credits,
                          link->peers.credits);
}

int hd_link_frame(void *arg, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    struct hd_link *link = arg;
    if (!hd_link_usable(link))
        return -ECONNRESET;
    int err = link_check(link, f, payload);
    if (err)
        return err;
    err = f->type == HD_FRAME_DATA ? link->hooks->frame[HD_FRAME_DATA](link, f, payload, owner)
                                   : link_dispatch(link, f, payload, owner);
    if (err) {
        if (err == -ENOBUFS)
            link_stall_for_memory(link);
        return err;
    }
    if (link->flow.memory_stalled)
        link_end_stall(link);
    link->flow.rx_sequence++;
    link->flow.rx_owed += f->type != HD_FRAME_CREDIT;
    link->flow.tx_credits += f->credits;
    link->tally.frames_received++;
    link->tally.bytes_received += f->length;
    return 0;
}

void hd_link_ring(void *arg)
{
    struct hd_link *link = arg;
    hd_kick_ring(atomic_load(&link->comm.kick), &link->comm.rung_node);
}

/* A copy of a chunk takes long enough for others to want the lock. The endpoint stays: hd_link_reap(). */
void hd_link_copies(void *arg)
{
    struct hd_link *link = arg;
    link->rndv.copying++;
    hd_link_release(link);
}

void hd_link_copied(void *arg)
{
    struct hd_link *link = arg;
    hd_lock(&link->lock);
    link->rndv.copying--;
}

void hd_link_progress(struct hd_link *link)
{
    hd_link_take(link);
}

#define TURN_GOES   2
#define TURN_CHUNKS 1 /* a go: copying one takes as long as hundreds of frames */

bool hd_link_turn(struct hd_link *link)
{
    return hd_link_take_some(link, TURN_GOES, TURN_CHUNKS) && hd_link_usable(link);
}

void hd_link_disarm(struct hd_link *link)
{
    if (!link->comm.armed || !link->ep)
        return;
    link->ep->ops->disarm(link->ep);
    link->comm.armed = false;
    hd_link_hurry(link);
}

/* ---- all links ---- */

/* Without memory for the list, the counters follow within a second. */
void hd_links_publish(struct hd_engine *engine)
{
    size_t count = 0, room = 0;
    pthread_mutex_lock(&engine->lock);
    for (struct hd_list *n = engine->links.next; n != &engine->links; n = n->next)
        room++;
    struct hd_link **links = room ? calloc(room, sizeof(*links)) : NULL;
    for (struct hd_list *n = engine->links.next; links && n != &engine->links; n = n->next)
        links[count++] = hd_link_ref(hd_container(n, struct hd_link, in_engine));
    pthread_mutex_unlock(&engine->lock);
    for (size_t i = 0; i < count; i++) {
        hd_link_lock(links[i]);
        hd_link_publish(links[i]);
        hd_link_unlock(links[i]);
        hd_link_put(links[i]);
    }
    free(links);
}

int hd_link_find(hd_engine *engine, const char *address, hd_link **out)
{
    struct hd_link *link = hd_registry_by_address(engine, address);
    if (link && hd_link_open_for_more(link)) {
        *out = link;
        return 0;
    }
    hd_link_put(link);
    return hd_error(-ENOENT, "no link to %s", address);
}
