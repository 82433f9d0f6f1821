/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_LINK_H
#define HD_LINK_H

/*
 * A link and what runs on it. Everything in here is guarded by the link's lock, unless a comment says otherwise.
 *
 * An error found deep in a call marks the link as doomed and lets the call unwind; hd_link_unlock() then tears it down,
 * when no function on the stack holds pointers into it.
 */

#include <howdah/fetch.h>
#include <howdah/link.h>
#include <howdah/stream.h>

#include "engine.h"
#include "lock.h"
#include "table.h"

#define HD_LAST_STREAM  (UINT32_MAX - 2) /* ids are not used again: then a new link is due */
#define HD_MESSAGE_COST 64               /* bytes of window that a message takes besides its own */

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

struct hd_link {
    _Atomic int refs; /* engine's, program's, each stream's and fetch's */
    struct hd_engine *engine;
    struct hd_list in_engine; /* engine->links, under engine->lock */
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
    struct hd_tally tally;

    /* frames */
    uint32_t tx_credits, rx_owed; /* frames we may send; frames received and not yet given back */
    uint32_t tx_sequence, rx_sequence;
    struct hd_list controls, controls_free; /* struct hd_control that wait for credits */
    unsigned control_count;
    bool memory_stalled; /* a frame waits for buffer memory */

    /* streams */
    struct hd_stream **buckets;
    uint32_t bucket_count, stream_count, peer_stream_count;
    struct hd_stream *last_found; /* the stream of the last frame: the next one is often for it too */
    uint32_t next_id, last_peer_id;
    struct hd_list tx_stalled;     /* streams that wait for credits */
    struct hd_list memory_senders; /* streams with messages that wait for buffer memory */
    struct hd_msg *msgs_free;      /* kept for the next messages: the usual case allocates nothing */
    unsigned msgs_free_count;

    /* rendezvous */
    struct hd_table rndvs; /* struct hd_rndv */
    struct hd_table ops;   /* struct hd_op under way */
    struct hd_list todo;   /* struct hd_op to be started */
    struct hd_list ops_free;
    struct hd_list tx_frags;    /* rndvs with frames to send */
    struct hd_list memory_wait; /* rndvs that wait for buffer memory */
    unsigned copying;           /* synchronous operations running without the lock */

    /* fetches */
    struct hd_table fetches;   /* ours, by handle */
    struct hd_list tx_fetches; /* ours, not sent yet */
    struct hd_list served;     /* the peer's */
    struct hd_list tx_replies; /* the peer's, with something to send */
    struct hd_list tx_pieces;  /* the peer's, whose next piece waits until the link may hold more */
    size_t piece_bytes;        /* of files, read or being read for the peer, which it does not have yet */
    uint32_t served_count;

    /* progress */
    struct hd_comm *comm;
    struct hd_list in_comm;
    struct hd_list in_busy; /* comm->busy: the communication thread's own */
    int64_t linger_until;   /* the communication thread polls until then */
    bool lingers;
    bool handed; /* by a caller that goes to sleep: to be served at the next look */
    bool ending; /* the guard ended: what the peer sent before is still taken */
    int guard_error;
    uint32_t last_sequence; /* if `ending`: no frame beyond can have been under way */
    unsigned last_turns;
    struct hd_stream *poller; /* the stream whose waiting thread polls */
    struct hd_stream *heir;   /* whose thread was woken to poll, and has not run yet; to compare, never to follow */
    bool poller_away;         /* it polls or sleeps, without the lock */
    _Atomic uint32_t poller_asleep;
    _Atomic int64_t asleep_since; /* if poller_asleep */
    bool unattended;              /* the communication thread looks away: the poller has slept for long */
    struct hd_list sleeping;      /* streams with threads that wait for another one to poll */
    struct hd_stream *wakes[16];  /* whose waiters are woken when the lock is given up */
    unsigned wake_count;
    _Atomic int queue_pollers;
    struct hd_spin spin;
    bool armed;
    int64_t overlooked_since;     /* something is there though everybody sleeps; 0: no */
    uint32_t overlooked_sequence; /* rx_sequence at that time */
    bool overlooked_said;
    uint32_t polls, polls_seen; /* times that a caller's polling ended; as the communication thread saw it */
    int64_t last_poll;          /* when it saw that change */
    int64_t idle_since;
    int guard_fd;
    bool retire_ep; /* ep->retire() was called */
};

/* One message in a stream's receive queue. */
struct hd_msg {
    struct hd_msg *next;
    hd_buf *buf; /* NULL until a rendezvous has one */
    size_t length;
    struct hd_rndv *rndv;  /* under way; NULL: ready */
    struct hd_rndv *offer; /* its bytes are in the peer's memory until somebody reads them: ready, too */
    bool rendezvous;       /* came by one: its bytes did not count against the window */
};

struct hd_stream {
    struct hd_link *link; /* a reference */
    struct hd_stream *next_in_bucket;
    uint32_t id;
    bool by_peer, in_table;
    char service[HD_SERVICE_MAX + 1];
    enum hd_protocol protocol;
    bool deferred;

    struct hd_msg *rx_first, **rx_last;
    size_t rx_offset;            /* taken of the first message */
    bool taking;                 /* a reader copies of it, without the lock: the others wait */
    size_t rx_ready_bytes;       /* of messages that are ready, for hd_available() */
    size_t rx_held;              /* bytes of buffers held for messages of the queue, rendezvous only */
    int64_t rx_window, rx_taken; /* what the peer may still send; what we took and did not tell */
    int64_t tx_window;
    size_t rndv_out; /* bytes of rendezvous under way */
    struct hd_list tx_rndvs;
    bool finished, remote_finished;
    int remote_error; /* the peer reset the stream */

    struct hd_list tx_node;     /* link->tx_stalled */
    struct hd_list memory_node; /* link->memory_senders */
    size_t memory_wanted;       /* the least that a sender of this stream waits for */
    int memory_waiters;
    struct hd_list sleep_node;
    _Atomic uint32_t event; /* futex: counts what a waiting thread should look at */
    int sleepers;
    int senders;             /* threads that wait to send */
    bool waking;             /* in link->wakes */
    _Atomic unsigned wakers; /* threads that wake its sleepers, without the lock */
    uint32_t slept;          /* `event` when the last of them went to sleep */
    atomic_bool interrupted;

    hd_queue *queue;
    uint64_t user;
    bool readable_wanted, writable_wanted;
    struct hd_event_node readable, writable, accepted;
    hd_queue *accept_queue; /* while `accepted` may be in it */
};

enum hd_rndv_side { HD_RNDV_TX, HD_RNDV_RX };

#define HD_RNDV_UNSENT (-1) /* a sender's mode before it is announced: the peer cannot speak of it yet */

/* A transfer by rendezvous, at either end. */
struct hd_rndv {
    uint32_t handle, peer_handle;
    enum hd_rndv_side side;
    int mode; /* HD_MODE_*; 0 until decided; a receiver's is the negative of the sender's wish until it starts */
    hd_buf *buf;
    size_t offset, length; /* where in the buffer (from base), how much */
    uint64_t key, address; /* of the peer's memory */
    size_t issued, completed;
    unsigned inflight;
    bool held;                /* the peer's memory */
    struct hd_stream *stream; /* NULL once it does not matter to a stream any more */
    struct hd_msg *msg;
    struct hd_fetch *fetch;
    struct hd_list node;     /* link->tx_frags or link->memory_wait */
    struct hd_list siblings; /* stream->tx_rndvs */
};

/* One chunk of a rendezvous. */
struct hd_op {
    struct hd_list node;
    uint32_t handle;
    struct hd_rndv *rndv;
    struct hd_rma rma;
    bool put;
};

struct hd_control {
    struct hd_list node;
    struct hd_frame frame;
    uint8_t payload[HD_CAUSE_MAX];
};

/* ---- link.c ---- */

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

/* Gives the lock up and wakes whom something was delivered to. */
static inline void hd_link_release(struct hd_link *link)
{
    if (link->wake_count)
        hd_link_release_and_wake(link);
    else
        hd_unlock(&link->lock);
}

/* What there is to do before the lock is given up. */
void hd_link_settle(struct hd_link *link);

static inline void hd_link_unlock(struct hd_link *link)
{
    if (!hd_list_empty(&link->todo) || link->doomed)
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
    return link->tx_credits > link->peers.credits / 8 && hd_list_empty(&link->controls);
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
/* Sink. */
int hd_link_frame(void *arg, const struct hd_frame *frame, const void *payload, hd_buf *owner);

/* ---- stream.c, send.c, receive.c ---- */

struct hd_stream *hd_stream_lookup(struct hd_link *link, uint32_t id);
void hd_stream_wake_waiters(struct hd_stream *stream);

/* Whoever delivers something calls this under the link's lock; the event word is read before a waiter looks at the
 * stream, so that nothing that happens in between is slept over. The lock orders it all but for a poller, who reads
 * the word while he is away. */
static inline void hd_stream_notify(struct hd_stream *stream)
{
    uint32_t event = atomic_load_explicit(&stream->event, memory_order_relaxed) + 1;
    atomic_store_explicit(&stream->event, event, memory_order_release);
    if (stream->sleepers || stream->link->poller_away)
        hd_stream_wake_waiters(stream);
}

/* Tells senders that wait for memory that there is some. */
void hd_stream_retry_memory(struct hd_link *link);
void hd_stream_start_rndvs(struct hd_stream *stream);
void hd_stream_lost(struct hd_link *link); /* tells all streams that the link is gone */
int hd_stream_on_open(struct hd_link *link, uint32_t id, const void *service, size_t length);
int hd_stream_on_data(struct hd_link *link, uint32_t id, const void *payload, size_t length, hd_buf *owner);
int hd_stream_on_window(struct hd_link *link, uint32_t id, uint64_t bytes);
int hd_stream_on_close(struct hd_link *link, uint32_t id);
int hd_stream_on_reset(struct hd_link *link, uint32_t id, uint64_t error);
int hd_stream_on_rts(struct hd_link *link, uint32_t id, uint64_t handle, const struct hd_rts *rts);

/* ---- rendezvous.c ---- */

struct hd_rndv *hd_rndv_create(struct hd_link *link, enum hd_rndv_side side);
void hd_rndv_free(struct hd_link *link, struct hd_rndv *rndv);
/* Sender: how a message of this length should move, as an HD_MODE_*. */
int hd_rndv_wish(const struct hd_link *link, size_t length);
/* Sender: fills what the peer must know; `wish` is an HD_MODE_*. */
void hd_rndv_describe(struct hd_link *link, struct hd_rndv *rndv, int wish, struct hd_rts *rts);
/* Receiver: what the peer offers. -EPROTO if it makes no sense. */
int hd_rndv_accept(struct hd_link *link, struct hd_rndv *rndv, uint64_t handle, const struct hd_rts *rts);
/* Receiver: gets memory if there is none yet and begins; waits for memory if need be. */
void hd_rndv_start(struct hd_link *link, struct hd_rndv *rndv);
/* Receiver: refuses the transfer before it began. */
void hd_rndv_refuse(struct hd_link *link, struct hd_rndv *rndv, int error);
/* Receiver: leaves it in the peer's memory until hd_rndv_take(), if that is possible: `held` says so.
 * @return -EPROTO if there is no such memory */
int hd_rndv_leave(struct hd_link *link, struct hd_rndv *rndv);
/* Receiver: gives a piece of what stayed to a copier, as its bytes from `at`. Drops the lock meanwhile; the caller sees
 * to it that the transfer stays. The link may be lost afterwards. */
void hd_rndv_take(struct hd_link *link, struct hd_rndv *rndv, size_t offset, const struct hd_copier *copier, size_t at,
                  size_t length);
/* Receiver: all of it was taken. */
void hd_rndv_taken(struct hd_link *link, struct hd_rndv *rndv);
int hd_rndv_on_cts(struct hd_link *link, uint32_t handle, const struct hd_cts *cts);
int hd_rndv_on_frag(struct hd_link *link, uint32_t handle, uint64_t offset, const void *payload, size_t length);
int hd_rndv_on_done(struct hd_link *link, uint32_t handle);
int hd_rndv_on_fin(struct hd_link *link, uint32_t handle, uint64_t error);
void hd_rndv_op_done(void *arg, uint64_t cookie, int status); /* sink */
/* Runs waiting chunks; may drop the lock for a while. @return whether it did something. */
bool hd_rndv_run(struct hd_link *link, unsigned chunks);
/* Sends frames of copied transfers while there are credits; retries those that wait for memory. */
void hd_rndv_transmit(struct hd_link *link);
void hd_rndv_retry_memory(struct hd_link *link);
void hd_rndv_destroy_all(struct hd_link *link);

/* ---- fetch.c, serve.c ---- */

int hd_fetch_on_request(struct hd_link *link, uint32_t handle, const void *payload, size_t length);
int hd_fetch_on_reply(struct hd_link *link, uint32_t handle, uint64_t error, const void *payload, size_t length);
int hd_fetch_on_segment(struct hd_link *link, uint32_t handle, uint64_t server_handle,
                        const struct hd_segment *segment);
void hd_fetch_on_cancel(struct hd_link *link, uint32_t handle);
/* Gets memory for the block. */
int hd_fetch_memory(struct hd_fetch *fetch, hd_buf **buf, size_t *offset);
/* A transfer of ours came in (client) or went out (server). */
void hd_fetch_received(struct hd_fetch *fetch, size_t length);
void hd_fetch_sent(struct hd_fetch *fetch, size_t length, int error);
void hd_fetch_transmit(struct hd_link *link);
/* Whether its block goes into memory that the program has back when the fetch ends. NULL: no. */
bool hd_fetch_fills_lent_memory(const struct hd_fetch *fetch);
/* The link is lost: ends what may end yet. */
void hd_fetch_lost(struct hd_link *link);
/* Nobody writes into our memory any more: ends the rest. */
void hd_fetch_quiet(struct hd_link *link);

#endif
