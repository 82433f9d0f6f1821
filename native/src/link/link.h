/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_LINK_H
#define HD_LINK_H

/*
 * A link: frames, credits, its life, and what the layers above keep on it. Everything in here is guarded by the link's
 * lock, unless a comment says otherwise. What runs on links is told through struct hd_link_hooks.
 *
 * An error found deep in a call marks the link as doomed and lets the call unwind; hd_link_unlock() then tears it down,
 * when no function on the stack holds pointers into it.
 */

#include <howdah/fetch.h>
#include <howdah/link.h>
#include <howdah/stream.h>

#include "link/admit.h"
#include "core/context.h"
#include "core/kick.h"
#include "base/lock.h"
#include "core/spin.h"
#include "base/table.h"
#include "base/ticks.h"
#include "transport/transport.h"

#define HD_LAST_STREAM (UINT32_MAX - 2) /* ids are not used again: then a new link is due */

enum hd_link_state {
    HD_LINK_UP,
    HD_LINK_RETIRING, /* we asked the peer to close the idle link */
    HD_LINK_RETIRED,  /* agreed: nothing new starts */
    HD_LINK_DOWN      /* torn down; waits for the peer to let go of our memory */
};

/* What every message counts, without sharing a word with other links; hd_link_publish() carries it over. */
struct hd_tally {
    uint64_t frames_sent, frames_received, bytes_sent, bytes_received, messages_eager, messages_large,
        messages_received;
};

struct hd_fetch;
struct hd_link;
struct hd_msg;
struct hd_stream;

/* Times that something had to wait. */
struct hd_stalls {
    uint64_t credit_stalls, window_stalls, memory_stalls;
};

/* What tracepoints say that something waits for. */
enum { HD_STALL_CREDITS = 1, HD_STALL_WINDOW, HD_STALL_MEMORY };

/* Counts one of hd_stalls, for the link and for the engine. Under the link's lock. */
#define hd_link_stalled(link, kind) (hd_count((link)->engine->stats, kind, 1), (void)(link)->stalls.kind++)

/* The layers above the link, as the link knows them. Called under the link's lock. */
struct hd_link_hooks {
    /* Takes a frame that was checked, by type; NULL: the link's own. The payload is only valid during the call, and a
     * hostile peer may change it meanwhile. @return as hd_sink.frame */
    int (*frame[HD_FRAME_TYPES])(struct hd_link *link, const struct hd_frame *frame, const void *payload,
                                 hd_buf *owner);
    void (*done)(void *link, uint64_t cookie, int status); /* hd_sink.done */
    /* Starts up to so many chunks of link->rndv.todo; may drop the lock meanwhile. @return whether it did something */
    bool (*run)(struct hd_link *link, unsigned chunks);
    void (*room)(struct hd_link *link);           /* frames with data may go */
    void (*memory)(struct hd_link *link);         /* there may be memory for link->rndv.memory_wait */
    void (*senders_memory)(struct hd_link *link); /* and for link->streams.memory_senders */
    void (*started)(struct hd_link *link);        /* takes over a reference, and serves the link from now on */
    void (*lost)(struct hd_link *link);           /* ends what may end yet */
    void (*quiet)(struct hd_link *link);          /* nobody writes into our memory any more: ends the rest */
    void (*freed)(struct hd_link *link);          /* frees what was kept for later use; without the lock */
};

/* Threads that wait for the same thing on a link. */
struct hd_waiter {
    struct hd_list node;    /* link->poll.sleeping */
    _Atomic uint32_t event; /* futex: counts what a waiting thread should look at */
    int sleepers;
    bool waking;             /* in link->poll.wakes */
    _Atomic unsigned wakers; /* threads that wake its sleepers, without the lock */
    uint32_t slept;          /* `event` when the last of them went to sleep */
    atomic_bool interrupted;
};

/* Frames. */
struct hd_link_flow {
    uint32_t tx_credits, rx_owed; /* frames we may send; frames received and not yet given back */
    uint32_t tx_sequence, rx_sequence;
    struct hd_list controls, free_controls; /* struct hd_control that wait for credits */
    unsigned control_count;
    bool memory_stalled; /* a frame waits for buffer memory */
};

struct hd_link_streams {
    struct hd_stream **buckets;
    uint32_t bucket_count, count, peers_count;
    struct hd_stream *last_found; /* the stream of the last frame: the next one is often for it too */
    uint32_t next_id, last_peer_id;
    struct hd_list tx_stalled;     /* streams that wait for credits */
    struct hd_list memory_senders; /* streams with messages that wait for buffer memory */
    struct hd_msg *free_msgs;      /* kept for the next messages: the usual case allocates nothing */
    unsigned free_msg_count;
};

/* Rendezvous, and the chunks that it reads and writes. */
struct hd_link_rndv {
    struct hd_table table; /* struct hd_rndv */
    struct hd_table ops;   /* struct hd_op under way */
    struct hd_list todo;   /* struct hd_op to be started */
    struct hd_list free_ops;
    struct hd_list tx_frags;    /* rndvs with frames to send */
    struct hd_list memory_wait; /* rndvs that wait for buffer memory */
    unsigned copying;           /* get() and put() that copy without the lock */
};

struct hd_link_fetch {
    struct hd_table table;     /* ours, by handle */
    struct hd_list tx_ours;    /* ours, not sent yet */
    struct hd_list served;     /* the peer's */
    struct hd_list tx_replies; /* the peer's, with something to send */
    struct hd_list tx_pieces;  /* the peer's, whose next piece waits until the link may hold more */
    size_t piece_bytes;        /* of files, read or being read for the peer, which it does not have yet */
    uint32_t served_count;
};

/* What the communication thread does with it. */
struct hd_link_comm {
    struct hd_kick *_Atomic kick; /* NULL before the thread has it */
    unsigned thread;              /* its number */
    struct hd_list node;          /* hd_comm.soon or one of hd_comm.later: the thread's own, as `watched` */
    bool watched;                 /* its descriptors are in the thread's set */
    struct hd_list busy_node;     /* hd_comm.busy: the thread's own */
    struct hd_list rung_node;     /* hd_kick.rung */
    struct hd_list hurried_node;  /* hd_kick.hurried */
    bool hurried;                 /* the thread looks at it within poll.handover, or is asked to */
    int64_t linger_until;         /* the thread polls until then */
    bool lingers;
    bool handed;       /* by a caller that goes to sleep: to be served at the next look */
    atomic_bool armed; /* written under the lock */
    bool overlooked_said;
    int64_t overlooked_since;     /* something is there though everybody sleeps; 0: no */
    uint32_t overlooked_sequence; /* flow.rx_sequence at that time */
    int64_t idle_since;
};

/* Callers that poll it. */
struct hd_link_poll {
    struct hd_waiter *poller; /* one of its threads polls */
    struct hd_waiter *heir;   /* woken to poll, and has not run yet. Identity only; may dangle. */
    bool away;                /* it polls or sleeps, without the lock */
    _Atomic uint32_t asleep;
    _Atomic int64_t asleep_since; /* if asleep */
    bool unattended;              /* the communication thread looks away: the poller has slept for long */
    struct hd_list sleeping;      /* struct hd_waiter, with threads that wait for another one to poll */
    struct hd_waiter *wakes[16];  /* to be woken when the lock is given up */
    unsigned wake_count;
    _Atomic int queue_pollers;
    struct hd_spin spin;
    uint32_t ends, ends_seen; /* times that a caller's polling ended; as the communication thread saw it */
    int64_t last_poll;        /* when it saw that change */
};

/* The connection whose end is the peer's. */
struct hd_link_guard {
    int fd;
    bool ending; /* it ended: what the peer sent before is still taken */
    int error;
    uint32_t last_sequence; /* if `ending`: no frame beyond can have been under way */
    unsigned last_turns;
};

/* How long the peer lets us wait. */
struct hd_link_times {
    uint64_t scale;          /* of hd_ticks() */
    struct hd_times answers; /* from a message to the next one of the peer on the same stream, which we opened */
    struct hd_times blocks;  /* from a fetch to its end */
};

struct hd_link {
    _Atomic int refs; /* engine's, program's, each stream's and fetch's */
    struct hd_engine *engine;
    const struct hd_link_hooks *hooks;
    struct hd_list in_engine, by_peer, by_address; /* engine->links and places of registry.c, under engine->lock */
    struct hd_admission admission;
    struct hd_lock lock;

    struct hd_ep *ep;
    enum hd_link_state state;
    _Atomic int error; /* 0 while up */
    bool doomed;
    bool peer_ended; /* the peer closed the link, or its process ended */
    char cause[256];
    char address[HD_NAME_MAX]; /* what the client connected to; "" at the server */
    char peer[2 * HD_NAME_MAX + 16];
    uint8_t peer_id[HD_ID_LENGTH], token[HD_ID_LENGTH];
    bool initiator, local; /* local: both ends are on one host */
    bool used;             /* there was a stream or a fetch to a service */
    bool checksum;
    struct hd_limits mine, peers;
    size_t eager_max;
    struct hd_peer_counters *counters;
    struct hd_transport_counters *by_transport;
    struct hd_link_counters *shown; /* while it is up; NULL: no slot was free */
    struct hd_stalls stalls;
    struct hd_tally tally;

    struct hd_link_flow flow;
    struct hd_link_streams streams;
    struct hd_link_rndv rndv;
    struct hd_link_fetch fetch;
    struct hd_link_comm comm;
    struct hd_link_poll poll;
    struct hd_link_guard guard;
    struct hd_link_times times;
    bool told;      /* hooks->lost() was called */
    bool retire_ep; /* ep->retire() was called */
};

/* Something that began at `start` has ended: counts how long it took. */
static inline void hd_link_time(const struct hd_link *link, struct hd_times *times, uint64_t start)
{
    times->counts[hd_ticks_doublings(hd_ticks() - start, link->times.scale, HD_TIMES - 1)]++;
}

struct hd_control {
    struct hd_list node;
    struct hd_frame frame;
    uint8_t payload[HD_CAUSE_MAX];
};

struct hd_link_params {
    const char *address, *peer_name;
    const uint8_t *peer_id, *token;
    bool initiator, local;
    struct hd_limits mine, peers;
    int guard_fd; /* taken over on success */
};

/* A link without an endpoint yet; sink for it in *sink. */
int hd_link_create(struct hd_engine *engine, const struct hd_link_params *params, struct hd_link **link,
                   struct hd_sink *sink);
/* Takes over the endpoint and starts serving the link. */
void hd_link_start(struct hd_link *link, struct hd_ep *ep);
/* For a link that was not started. */
void hd_link_discard(struct hd_link *link);

static inline void hd_link_lock(struct hd_link *link)
{
    hd_lock(&link->lock);
}

void hd_link_release_and_wake(struct hd_link *link);

/* Releases the lock and wakes the waiters that something was delivered to. */
static inline void hd_link_release(struct hd_link *link)
{
    if (link->poll.wake_count)
        hd_link_release_and_wake(link);
    else
        hd_unlock(&link->lock);
}

/* Runs deferred RMA operations and teardown before the lock is released. */
void hd_link_settle(struct hd_link *link);

static inline void hd_link_unlock(struct hd_link *link)
{
    if (!hd_list_empty(&link->rndv.todo) || link->doomed)
        hd_link_settle(link);
    hd_link_release(link);
}

/* After hd_link_turn(): chunks that wait for the next one are left. */
static inline void hd_link_leave(struct hd_link *link)
{
    if (link->doomed)
        hd_link_settle(link);
    hd_link_release(link);
}

/* Adds what the link counted to the counters that others see: at least once a second, at its end, and when they are
 * asked for. */
void hd_link_publish(struct hd_link *link);
/* That of all links; takes their locks. */
void hd_links_publish(struct hd_engine *engine);

/* Marks the link as lost. The first cause stays. */
void hd_link_doom(struct hd_link *link, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Sets hd_last_error() to why the link ended and returns its error. */
int hd_link_failure(struct hd_link *link);
static inline bool hd_link_usable(const struct hd_link *link)
{
    return !link->doomed && link->state != HD_LINK_DOWN;
}
bool hd_link_idle(const struct hd_link *link);
/* Whether new streams and fetches may start on it; takes the lock. */
bool hd_link_open_for_more(struct hd_link *link);
/* Tears down what is left of a link that is down. @return true if the endpoint is gone. */
bool hd_link_reap(struct hd_link *link);

/* Sends a frame now. `owner`: NULL, or a buffer around the payload that nobody changes before the peer has it.
 * @return -EAGAIN without credits or room; -ECONNRESET, with the link doomed. */
int hd_link_post_from(struct hd_link *link, enum hd_frame_type type, uint32_t id, uint64_t arg, const void *payload,
                      size_t length, hd_buf *owner);
static inline int hd_link_post(struct hd_link *link, enum hd_frame_type type, uint32_t id, uint64_t arg,
                               const void *payload, size_t length)
{
    return hd_link_post_from(link, type, id, arg, payload, length, NULL);
}
/* Sends a frame now or as soon as there are credits; at most HD_CAUSE_MAX bytes of payload. */
void hd_link_control(struct hd_link *link, enum hd_frame_type type, uint32_t id, uint64_t arg, const void *payload,
                     size_t length);
/* Whether a frame with data may go now: credits beyond the reserve for control frames, and none of those waiting. */
static inline bool hd_link_can_send(const struct hd_link *link)
{
    return link->flow.tx_credits > link->peers.credits / 8 && hd_list_empty(&link->flow.controls);
}
/* Whether something is left that hd_link_progress() could do without anything arriving: memory was short, or the
 * transport had no room. Nobody will say when that is over, so the communication thread looks again. */
bool hd_link_has_work(const struct hd_link *link);
/* Takes what arrived, starts and finishes what can be. Some stays if the peer sends faster than it is taken. */
void hd_link_progress(struct hd_link *link);
/* The same for a thread that serves several links: a bounded number of frames and chunks. @return whether there may be
 * more to do at once. */
bool hd_link_turn(struct hd_link *link);
/* Moves what waited for credits. */
void hd_link_transmit(struct hd_link *link);
/* Takes the link from the communication thread for a while. */
void hd_link_disarm(struct hd_link *link);
/* Asks the communication thread to look at the link soon. */
static inline void hd_link_hurry(struct hd_link *link)
{
    if (link->comm.hurried)
        return;
    link->comm.hurried = true;
    hd_kick_soon(link->comm.kick, &link->comm.hurried_node);
}
/* Sink. */
void hd_link_ring(void *arg);
void hd_link_copies(void *arg);
void hd_link_copied(void *arg);
int hd_link_frame(void *arg, const struct hd_frame *frame, const void *payload, hd_buf *owner);

/* ---- waiter.c ---- */

/* Wakes the sleepers when the lock is given up. */
void hd_waiter_wake_later(struct hd_link *link, struct hd_waiter *waiter);
/* Wakes the sleepers, and the poller if it is this one. */
void hd_waiter_wake(struct hd_link *link, struct hd_waiter *waiter);

/* Whoever delivers something calls this under the link's lock; the event word is read before a waiting thread looks, so
 * that nothing that happens in between is slept over. The lock orders it all but for a poller, which reads the word
 * while it is away. */
static inline void hd_waiter_notify(struct hd_link *link, struct hd_waiter *waiter)
{
    uint32_t event = atomic_load_explicit(&waiter->event, memory_order_relaxed) + 1;
    atomic_store_explicit(&waiter->event, event, memory_order_release);
    if (waiter->sleepers || link->poll.away)
        hd_waiter_wake(link, waiter);
}

/* Before the waiter's memory goes: waits until nobody wakes it any more, a system call at most. Without the lock. */
void hd_waiter_end(struct hd_waiter *waiter);

#endif
