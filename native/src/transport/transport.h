/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TRANSPORT_H
#define HD_TRANSPORT_H

/*
 * What the engine asks of a transport. A transport is one const table of operations, registered by name in transport.c.
 * Operations that a transport leaves out are filled in by hd_transport_find() with ones that say "not supported", so no
 * caller tests for NULL.
 *
 * A device is a transport opened by an engine. An endpoint is one end of a link. Operations on an endpoint are called
 * with the link's lock held, except where it says otherwise; upcalls through the sink come from inside progress() or
 * get()/put() only.
 */

#include <howdah/stream.h>

#include "base/log.h"
#include "memory/memory.h"
#include "transport/wire.h"

struct hd_device;
struct hd_engine;
struct hd_ep;
struct hd_transport_ops;

enum {
    HD_CAP_GET = 1,  /* can read the peer's memory */
    HD_CAP_PUT = 2,  /* can write the peer's memory */
    HD_CAP_COPY = 4, /* get() and put() are copies by a processor: memory of this end need not be registered */
    HD_CAP_ENDS =
        8, /* once closed, quiet() comes soon, whatever the peer does: its access to our memory can be ended */
};

#define HD_IN_PROGRESS 1 /* of get() and put() */

/* Where an endpoint hands what arrives. */
struct hd_sink {
    /* A frame. The header was copied; the payload is only valid during the call and a hostile peer may change it
     * meanwhile. `owner`, if not NULL, is a buffer around the payload that may be kept by taking a reference; there
     * is only one, the transport's. -ENOBUFS: not taken, to be given again by a later progress(); other errors end the
     * link. */
    int (*frame)(void *arg, const struct hd_frame *frame, const void *payload, hd_buf *owner);
    /* A get() or put() that was in progress ended. */
    void (*done)(void *arg, uint64_t cookie, int status);
    /* Give up the link's lock and take it again: around a copy in get() or put(), which takes long. The endpoint stays
     * meanwhile, though it may be closed. */
    void (*unlock)(void *arg);
    void (*lock)(void *arg);
    /* Something came for an endpoint that is armed and has a source; once for each arm(). From any thread, with locks
     * of the transport's held. */
    void (*ring)(void *arg);
    void *arg;
};

/* What endpoints of one communication thread wait for together: a completion queue of theirs, say. The thread watches
 * the descriptor for as long as there is an endpoint that uses the source. */
struct hd_source {
    struct hd_list node; /* the thread's own */
    int fd;
    _Atomic unsigned users; /* endpoints */
    atomic_bool watched;
    /* Rings for what came. On the communication thread; `readable`: the descriptor is. @return when to call it again
     * though the descriptor is not, INT64_MAX for never. */
    int64_t (*take)(struct hd_source *source, bool readable, int64_t now);
    /* A caller comes to poll in the thread's place, does so, which rings for what came, and leaves: then the thread is
     * to listen again, at once if the caller goes to sleep. */
    void (*enter)(struct hd_source *source);
    void (*poll)(struct hd_source *source);
    void (*leave)(struct hd_source *source, bool to_sleep);
    _Atomic unsigned held; /* by such callers: it is not ended */
    /* Frees a source that the thread does not watch any more. @return false: there are users again, and it must. */
    bool (*end)(struct hd_source *source);

    /* The thread's, set before `watched`: asks for a take() soon, from any thread. */
    void (*call)(struct hd_source *source);
    void *owner;
    atomic_bool called;
    bool readable;
    int64_t due;
};

struct hd_ep {
    const struct hd_transport_ops *ops;
    struct hd_device *device;
    struct hd_sink sink;
    unsigned caps;   /* HD_CAP_*, what this very pair of endpoints can do */
    size_t frame_tx; /* largest payload that send() takes */
    size_t frame_rx; /* largest that may arrive */
};

/* Remote memory access: `length` bytes between our buffer and the peer's address. */
struct hd_rma {
    hd_buf *buf;
    size_t offset;                  /* from buf->base, or what the copier is told */
    const struct hd_copier *copier; /* takes the bytes in place of a buffer: get() with HD_CAP_COPY only, else NULL */
    size_t length;
    uint64_t key, address;
    uint64_t cookie;
};

/* get() of a transport that copies. */
static inline void hd_rma_copy(const struct hd_rma *rma, const void *from)
{
    if (rma->copier)
        rma->copier->copy(rma->copier->arg, rma->offset, from, rma->length);
    else
        memcpy(rma->buf->base + rma->offset, from, rma->length);
}

struct hd_ep_params {
    struct hd_limits mine, peers;
    struct hd_sink sink;
    uint8_t token[HD_ID_LENGTH];
    unsigned thread; /* the number of the communication thread that will serve it */
    pid_t thread_id; /* that thread's number in the system; 0: it has not begun to run */
    int guard_fd;    /* the peer's death ends it; not to be read from, and not the endpoint's to close */
};

struct hd_transport_ops {
    size_t size;
    const char *name;

    /* Whether it can work in this process at all: NULL, or why not in words. */
    const char *(*probe)(void);

    int (*device_open)(struct hd_device *device);
    void (*device_close)(struct hd_device *device);
    /* The system's name of the adapter that it uses (mlx5_0, say), or NULL if there is none. */
    const char *(*hardware)(struct hd_device *device);
    int (*slab_add)(struct hd_device *device, struct hd_slab *slab);
    void (*slab_remove)(struct hd_device *device, struct hd_slab *slab);
    /* What a peer must know to tell whether it can reach us. @return bytes written, at most HD_BLOB_MAX. */
    size_t (*describe)(struct hd_device *device, uint8_t *blob);
    /* Whether the peer that described itself so can be reached: NULL, or why not. */
    const char *(*reachable)(struct hd_device *device, const uint8_t *blob, size_t length);

    /* Bytes that an endpoint takes besides buffers of the arena, and what the system keeps for it. */
    size_t (*cost)(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers);
    /* Server, after answer(): the user at the other end, if that can be told. @return whether it can. */
    bool (*user)(struct hd_ep *ep, uid_t *uid);

    /* Set-up, without the lock: client offers; server answers, and may have something to say in turn (reply); client
     * learns that and finishes. What both ends must agree on and the client knows only then it says in confirm(), and
     * the server takes it in confirmed(); an older client says nothing (length 0). answer() and finish() return by
     * their deadline, which leaves time to tell the peer that there is no link. */
    int (*ep_create)(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **ep);
    int (*offer)(struct hd_ep *ep, uint8_t *address, uint16_t *length);
    int (*answer)(struct hd_ep *ep, const uint8_t *address, size_t length, int64_t deadline);
    int (*reply)(struct hd_ep *ep, uint8_t *address, uint16_t *length);
    /* Client, while it waits for the answer: the descriptor on which the server comes, and whoever else; -1: none.
     * meet(), called when it is readable, takes them in, so that nobody can stand in the server's way for long. */
    int (*meeting_fd)(struct hd_ep *ep);
    void (*meet)(struct hd_ep *ep);
    int (*learn)(struct hd_ep *ep, const uint8_t *address, size_t length);
    int (*finish)(struct hd_ep *ep, int64_t deadline);
    int (*confirm)(struct hd_ep *ep, uint8_t *address, uint16_t *length);
    int (*confirmed)(struct hd_ep *ep, const uint8_t *address, size_t length);

    /* What this peer must be told to access `buf->base + offset`. Fails if it cannot (the slab is not registered, say).
     */
    int (*locate)(struct hd_ep *ep, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address);

    /* 0; -EAGAIN: no room now; other errors: the link is lost. `owner`, if not NULL, is a buffer around the payload
     * whose bytes nobody changes before the peer has them: it may be sent from, with a reference until that is over. */
    int (*send)(struct hd_ep *ep, const struct hd_frame *frame, const void *payload, hd_buf *owner);
    /* 0: done; HD_IN_PROGRESS: sink.done() follows; -EAGAIN: no room now; other errors: it failed. */
    int (*get)(struct hd_ep *ep, const struct hd_rma *rma);
    int (*put)(struct hd_ep *ep, const struct hd_rma *rma);

    /* The peer's memory at key, address and length stays within get()'s reach until unhold(), however many other pieces
     * come and go. */
    int (*hold)(struct hd_ep *ep, const struct hd_rma *rma);
    void (*unhold)(struct hd_ep *ep, const struct hd_rma *rma);

    /* Delivers up to `budget` frames and completions. @return how many, or an error: the link is lost; -EPIPE: the peer
     * closed it, and everything that it had sent was delivered. */
    int (*progress)(struct hd_ep *ep, int budget);
    /* Whether progress() would find something. Cheap, without the lock. */
    bool (*pending)(struct hd_ep *ep);
    /* Asks pending() once and then at most so many times more until it is true or `*word` is not `seen`, which is what
     * it returns. Without the lock. */
    bool (*look)(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, unsigned times);
    /* pending() is next to nothing, so a thread that spins on it should let the processor breathe in between. */
    bool relaxes;
    /* Sleeps until something is pending, wake() or the timeout, or `*word` is not `seen`. Without the lock, one thread
     * at a time. */
    void (*wait)(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout);
    void (*wake)(struct hd_ep *ep);
    /* Whether the thread in wait() has been woken since it lay down, and event_fd() or the source have told since
     * arm(): then who is to come only has to run. True also if nobody waits. */
    bool (*woken)(struct hd_ep *ep);
    /* Asks for event_fd() to become readable, or for the source to ring, with the next arrival. @return false:
     * something is pending, not armed. */
    bool (*arm)(struct hd_ep *ep);
    void (*disarm)(struct hd_ep *ep); /* also called for each time that one did */
    int (*event_fd)(struct hd_ep *ep);
    /* What rings for the endpoint in place of an event_fd() of its own; NULL: nothing. */
    struct hd_source *(*source)(struct hd_ep *ep);
    /* The number that the fabric's own tools show for the connection at this end; 0: it has none. */
    uint32_t (*number)(struct hd_ep *ep);

    /* The end comes in four steps, of which none waits. close(): the peer shall notice; nothing is posted any more.
     * retire(): called once no get() or put() of ours runs; the peer may then reuse its memory. quiet(): whether
     * neither the peer nor an adapter will touch our memory any more; asked again and again. destroy(). */
    void (*close)(struct hd_ep *ep);
    void (*retire)(struct hd_ep *ep);
    bool (*quiet)(struct hd_ep *ep);
    void (*destroy)(struct hd_ep *ep);
};

struct hd_device {
    const struct hd_transport_ops *ops;
    const struct hd_conf *conf;
    struct hd_log *log;
    struct hd_arena *arena;
    struct hd_stats *stats;
    const uint8_t *engine_id;
    unsigned index;          /* in hd_slab.device[] */
    void *data;              /* the transport's */
    struct hd_device *inner; /* of an interceptor */
    /* No peer gets a key to memory any more: set at the start, or by hd_engine_set(). */
    atomic_bool local_only;
};

/* Transports in order of preference; NULL behind the last. */
const struct hd_transport_ops *hd_transport_at(size_t i);

/* Opens a device; with fault.* options in force, behind the fault interceptor. */
int hd_device_open(const struct hd_transport_ops *ops, const struct hd_device *common, struct hd_device **device);
void hd_device_close(struct hd_device *device);

extern const struct hd_transport_ops hd_self_ops, hd_shm_ops, hd_verbs_ops, hd_udapl_ops, hd_fault_ops;

/* Fills the gaps of a table with operations that say "not supported". */
void hd_transport_complete(struct hd_transport_ops *complete, const struct hd_transport_ops *ops);

#endif
