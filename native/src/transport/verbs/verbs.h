/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_VERBS_H
#define HD_VERBS_H

/*
 * The verbs transport: reliable connections over InfiniBand and RoCE.
 *
 *   load.c      libibverbs, loaded at run time
 *   device.c    device, port and GID; registration; what a peer must know; asynchronous events
 *   receive.c   the shared receive queue and its buffers
 *   ring.c      registered memory that frames are sent from
 *   connect.c   endpoints: set-up and end
 *   frame.h     what a frame looks like on the wire
 *   cq.h, cq.c  completion queues, which links share
 *   wait.c      waiting for one's completions
 *   extended.c  what only newer drivers have; which locks of a driver's are left out
 *   vector.c    which processors a completion interrupts
 *   verbs.c     traffic
 *
 * An endpoint is a queue pair. Endpoints of one communication thread share a completion queue. Whoever polls that puts
 * each completion into the inbox of its endpoint, under the queue's lock; the inbox is emptied under the link's lock.
 *
 * Locks: the link's; then the device's; then the completion queue's; then the arena's.
 */

#include <infiniband/verbs.h>

#include "base/lock.h"
#include "transport/transport.h"
#include "transport/verbs/frame.h"

/* verbs.h turns these into inline functions that need newer symbols than we ask for. */
#undef ibv_reg_mr
#undef ibv_query_port

/* What we call of the library; the calls that matter for speed go through tables of the context and need no symbol. */
struct verbs_api {
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attr);
    int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
    int (*query_pkey)(struct ibv_context *context, uint8_t port, int index, __be16 *key);
    int (*query_gid)(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *pd);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t length, int access);
    int (*dereg_mr)(struct ibv_mr *mr);
    struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
    int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int depth, void *arg, struct ibv_comp_channel *channel,
                                int vector);
    int (*resize_cq)(struct ibv_cq *cq, int depth);
    int (*destroy_cq)(struct ibv_cq *cq);
    int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg);
    void (*ack_cq_events)(struct ibv_cq *cq, unsigned count);
    struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
    int (*destroy_srq)(struct ibv_srq *srq);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    int (*destroy_qp)(struct ibv_qp *qp);
    int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
    void (*ack_async_event)(struct ibv_async_event *event);
    const char *(*wc_status_str)(enum ibv_wc_status status);
    const char *(*event_type_str)(enum ibv_event_type type);
    /* NULL in an older library. */
    struct ibv_qp_ex *(*qp_to_qp_ex)(struct ibv_qp *qp);
    struct ibv_mr *(*reg_mr_iova2)(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned access);
};

/* The library's functions, or NULL with hd_last_error() set. */
const struct verbs_api *hd_verbs_load(void);

/* How two ports can talk to each other; goes over the wire. */
enum verbs_network { VERBS_INFINIBAND = 1, VERBS_ROCE_V1, VERBS_ROCE_V2 };

/* A GID in the order of the network's bytes. */
struct verbs_gid {
    uint8_t bytes[16];
};

struct verbs_pool;

/* What a port was like when somebody asked. */
struct verbs_port {
    struct ibv_port_attr attr;
    enum verbs_network network;
    struct verbs_gid gid;
    int gid_index;
    uint16_t partition; /* key: number, and VERBS_FULL_MEMBER */
    uint16_t partition_index;
};

#define VERBS_FULL_MEMBER 0x8000U /* two members of which neither is one do not talk to each other */

struct verbs_device {
    struct hd_device *device;
    const struct verbs_api *api;
    struct ibv_context *context;
    struct ibv_pd *pd;
    char name[IBV_SYSFS_NAME_MAX];
    uint8_t port;
    struct ibv_device_attr attr;
    size_t frame_max; /* of the receive buffers */
    pthread_mutex_t lock;
    struct verbs_port now;    /* as of the last hd_verbs_look_at_port() that found it usable; under `lock` */
    unsigned now_as_of;       /* `changes` before that; under `lock` */
    _Atomic unsigned changes; /* events so far that may have changed GIDs or partitions */
    struct hd_list eps;
    struct hd_list cqs;       /* struct verbs_cq; under `lock` as what follows */
    struct verbs_pool *pool;  /* for new endpoints */
    struct verbs_ring *rings; /* wide ones that nobody has; these three under `lock` */
    unsigned rings_kept;
    size_t rings_lent;
    atomic_bool told_of_rings;
    unsigned first_vector;         /* whose turn comes first among completion vectors that fit */
    _Atomic uint32_t inline_below; /* so many bytes are more than a work request takes; 0: not known */
    _Atomic unsigned missing;      /* bits of enum verbs_feature */
    _Atomic unsigned domains;      /* thread domains of endpoints */
    pthread_t watcher;
    int stop_fd;
    bool watched;
    atomic_bool told; /* that a slab could not be registered */
    int numa_node;    /* that memory for it is taken from; -1: any */
    atomic_bool told_of_node;
};

const char *hd_verbs_probe(void);
int hd_verbs_open(struct hd_device *device);
void hd_verbs_close(struct hd_device *device);
int hd_verbs_slab_add(struct hd_device *device, struct hd_slab *slab);
void hd_verbs_slab_remove(struct hd_device *device, struct hd_slab *slab);
size_t hd_verbs_describe(struct hd_device *device, uint8_t *blob);
const char *hd_verbs_reachable(struct hd_device *device, const uint8_t *blob, size_t length);
const char *hd_verbs_hardware(struct hd_device *device);

/* Asks the device for its port's state, and for GID and partition if they may have changed since they were looked up.
 * Without the device's lock. */
int hd_verbs_look_at_port(struct verbs_device *dev, struct verbs_port *port);
/* The next look does not trust what the last one found. */
void hd_verbs_port_changed(struct verbs_device *dev);
void hd_verbs_take_event(struct verbs_device *dev, const struct ibv_async_event *event);

/* Registers memory. @return NULL with hd_last_error() set. */
struct ibv_mr *hd_verbs_register(struct verbs_device *dev, void *base, size_t size, int access);

/* What not every adapter and driver has. */
enum verbs_feature { VERBS_WR, VERBS_CQ_EX, VERBS_DOMAINS, VERBS_RELAXED };

/* Whether to try it: verbs.extended, and it was not refused. */
bool hd_verbs_may(struct verbs_device *dev, enum verbs_feature feature);
/* It was refused: nobody tries again, and the log says so once. */
void hd_verbs_lacks(struct verbs_device *dev, enum verbs_feature feature, int err);

/* Whether the device can reach a buffer, and by what key. */
static inline bool hd_verbs_reaches(const struct verbs_device *dev, const hd_buf *buf)
{
    return buf->slab->device[dev->device->index].registered;
}
static inline uint32_t hd_verbs_key_of(const struct verbs_device *dev, const hd_buf *buf)
{
    return ((struct ibv_mr *)buf->slab->device[dev->device->index].handle)->lkey;
}

/* ---- receiving ---- */

struct verbs_rx {
    hd_buf *buf;
    char *at;           /* where in it frames arrive */
    struct ibv_mr *own; /* if the buffer's slab is not registered */
    uint32_t lkey;
};

/* A shared receive queue. What is sent to any endpoint that uses it lands in its buffers. */
struct verbs_pool {
    struct ibv_srq *srq;
    struct verbs_rx *entries;
    uint32_t room, posted, wanted; /* wanted: what the credits of all users allow */
    unsigned users, suspects;      /* suspects: buffers that may have gone down with a queue pair */
    atomic_bool shortage;
};

/* Lets an endpoint of ours use the pool, with buffers for `frames` more. */
int hd_verbs_pool_join(struct verbs_device *dev, uint32_t frames, struct verbs_pool **pool);
/* `clean`: nothing can have been lost. The queue pair must be gone. */
void hd_verbs_pool_leave(struct verbs_device *dev, struct verbs_pool *pool, uint32_t frames, bool clean);
/* Takes up to what is wanted. */
void hd_verbs_pool_fill(struct verbs_device *dev, struct verbs_pool *pool);
/* Gives an entry to the device again. */
int hd_verbs_pool_post(struct verbs_device *dev, struct verbs_pool *pool, uint32_t index);
/* A buffer to put in the place of one that is handed up. */
hd_buf *hd_verbs_pool_spare(struct verbs_device *dev);
/* A first buffer to lend. */
hd_buf *hd_verbs_pool_lend_first(struct verbs_device *dev, hd_buf **lent);
/* The buffer that a link lent to the program, if it has come back (a new one the first time): a buffer to put in the
 * place of the next. It counts as waiting for frames all the time. */
static inline hd_buf *hd_verbs_pool_lend(struct verbs_device *dev, hd_buf **lent)
{
    if (!*lent)
        return hd_verbs_pool_lend_first(dev, lent);
    /* Nobody else can take a reference if there is only ours. */
    return atomic_load_explicit(&(*lent)->refs, memory_order_acquire) == 1 ? *lent : NULL;
}
/* After upcall: if the entry's buffer was kept, changes places with `*lent`. */
static inline void hd_verbs_pool_lent(struct verbs_device *dev, struct verbs_rx *rx, hd_buf **lent)
{
    hd_buf *back = *lent, *away = rx->buf;
    if (atomic_load_explicit(&away->refs, memory_order_acquire) == 1) /* nobody kept it */
        return;
    rx->at = back->base + (rx->at - away->base); /* both are of one size */
    rx->lkey = hd_verbs_key_of(dev, back);
    rx->buf = back;
    *lent = away;
}
/* Gives it up until the next message that asks for one, unless the program still has it. */
void hd_verbs_pool_take_back(struct verbs_device *dev, hd_buf **lent);
/* With the link: the program may still have it. */
void hd_verbs_pool_unlend(struct verbs_device *dev, hd_buf **lent);
/* After upcall: puts `spare` in the entry's place if the buffer was kept, else frees `spare`. */
void hd_verbs_pool_handed(struct verbs_device *dev, struct verbs_rx *rx, hd_buf *spare);

/* ---- send rings ---- */

#define VERBS_RING_OWN ((size_t)65536)

struct verbs_ring {
    char *base;
    struct ibv_mr *mr;
    size_t size; /* a power of two */
    struct verbs_ring *next;
};

/* Bytes of a link's own ring, if its largest frame takes so many. */
size_t hd_verbs_ring_own(size_t frame);
int hd_verbs_ring_open(struct verbs_device *dev, size_t size, struct verbs_ring *ring);
void hd_verbs_ring_close(struct verbs_device *dev, struct verbs_ring *ring);
/* With the device: the wide rings that nobody has. */
void hd_verbs_rings_close(struct verbs_device *dev);

struct verbs_ep;
/* From here on frames go through this ring. */
void hd_verbs_ring_use(struct verbs_ep *ep, const struct verbs_ring *ring);
/* A frame found no room. @return whether it may now: the ring begins anew, or a wide one was borrowed. */
bool hd_verbs_ring_widen(struct verbs_ep *ep);
/* Nothing is to be sent for now: gives a borrowed ring back, as soon as no frame is in it any more. */
void hd_verbs_ring_narrow(struct verbs_ep *ep);
/* The queue pair must be gone. */
void hd_verbs_ring_end(struct verbs_ep *ep);

/* ---- endpoints ---- */

#define VERBS_RX_TAG     (1ULL << 63) /* in a work request's id: a receive; the rest is the index */
#define VERBS_BATCH      16
#define VERBS_RMA_MAX    64
#define VERBS_INLINE_MAX 4096 /* bytes: what verbs.inline allows */
#define VERBS_BYE        0xfe /* frame type: the sender closed the link */

enum verbs_tx_kind { VERBS_TX_FRAME, VERBS_TX_READ, VERBS_TX_WRITE, VERBS_TX_BYE };

struct verbs_tx {
    enum verbs_tx_kind kind;
    uint64_t ring_end; /* the ring is free up to here when this is done */
    uint64_t cookie;
    hd_buf *buf; /* a reference to what a frame is sent from, NULL for the ring */
};

/* A frame for which there was no memory; a copy, so that the receive buffers stay in turn for other links. */
struct verbs_held {
    struct verbs_held *next;
    struct hd_frame frame;
    unsigned char payload[];
};

/* A receive that ended. */
struct verbs_arrival {
    uint32_t index; /* of the pool's entry */
    uint32_t length;
    uint32_t word; /* what came aside, or if it failed the vendor's error */
    bool has_word;
    uint8_t status; /* enum ibv_wc_status */
};

/* What the completion queue had for an endpoint. Written under the queue's lock, read under the link's. Of sends the
 * last report stands for all before it; of receives there are no more than the peer has credits for, or it is hostile:
 * then `overrun` is set, and what does not fit goes back to the pool. */
struct verbs_inbox {
    struct verbs_arrival *arrivals;
    uint32_t mask;
    _Atomic uint32_t rx_put, rx_taken; /* ever */
    _Atomic uint64_t tx_put, tx_taken; /* sends that are over: those with lower numbers */
    _Atomic uint64_t tx_failed;        /* the first that failed; VERBS_NONE: none did */
    enum ibv_wc_status tx_status;      /* of that one, set before */
    uint32_t tx_vendor;
    atomic_bool overrun;
};

#define VERBS_NONE UINT64_MAX

/* What the ends tell each other; little endian. */
struct verbs_address {
    uint8_t version, network, mtu, responder; /* responder: reads accepted at a time */
    uint32_t qp, psn;
    uint16_t lid;
    uint16_t caps; /* HD_CAP_*: what this end allows and can do; both must agree */
    struct verbs_gid gid;
};

struct verbs_ep {
    struct hd_ep base;
    struct verbs_device *dev;
    struct verbs_pool *pool;
    struct hd_list node; /* dev->eps */
    struct hd_limits mine, peers;
    struct verbs_cq *cq;
    struct ibv_qp *qp;
    struct ibv_qp_ex *extended;   /* the same for ibv_wr_*, or NULL */
    struct ibv_td *thread_domain; /* of this queue pair only: extended.c says why; NULL: the driver locks it */
    struct ibv_pd *domain;        /* with it */
    uint32_t number;              /* the queue pair's, also when that is gone */
    struct verbs_ep *same_place;  /* in the table of the completion queue, as all that follows under its lock */
    bool listed;
    bool asleep;            /* a thread is in wait() */
    bool told;              /* and was woken */
    struct hd_list sleeper; /* verbs_cq.sleepers, if asleep */
    atomic_bool promoted;   /* that thread was woken to watch the channel */
    atomic_bool armed;      /* the communication thread is to be rung; read without the lock */
    struct verbs_inbox inbox;
    struct verbs_port port; /* as of the set-up: others look at the port meanwhile */
    uint32_t psn;
    uint8_t responder;
    struct verbs_address peer;
    bool local_only; /* as of the set-up: this peer gets no key */
    bool connected, closed, said_bye, bye_done;
    int64_t linger;
    int64_t flushed_by; /* the queue pair is in the error state and may be destroyed then; 0: it is not */

    /* sending: work requests are numbered; their completions come in order */
    char *ring; /* the one in use: its own or the wide one */
    uint32_t ring_key;
    size_t ring_size;
    uint64_t ring_head, ring_tail;
    uint64_t ring_from; /* the number of the first send since it is in use */
    struct verbs_ring own, *wide;
    size_t wide_size;
    int64_t ask_again;
    struct verbs_tx *tx;
    uint32_t tx_depth, frames_max, reads_max;
    uint64_t tx_mask; /* sizes of ring and tx are powers of two: dividing costs more than all the rest */
    uint64_t tx_posted, tx_done;
    uint32_t frames, reads, writes; /* under way */
    struct verbs_framing framing;
    uint32_t silent, report_every; /* frames since the last one that will be reported; at most so many */
    size_t silent_bytes;
    uint32_t inline_max;
    size_t zcopy_min; /* least payload that is sent from its own buffer */

    _Atomic uint32_t repost; /* 1 + entry of the pool that the last arrival used, to be posted when there is time */

    hd_buf *lent; /* what the program has, or had, of the receive buffers: hd_verbs_pool_lend() */
    struct verbs_held *held_first, **held_last;
    uint32_t held_count;
    _Atomic uint32_t held; /* held_count for those without the lock */

    atomic_bool failed, peer_closed;
    char failure[256];
    _Atomic int event; /* 1 + enum ibv_event_type of an event that ends the endpoint */
    atomic_bool last_wqe;

    int wake_fd;
};

size_t hd_verbs_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers);
int hd_verbs_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **ep);
int hd_verbs_offer(struct hd_ep *ep, uint8_t *address, uint16_t *length);
int hd_verbs_answer(struct hd_ep *ep, const uint8_t *address, size_t length, int64_t deadline);
int hd_verbs_learn(struct hd_ep *ep, const uint8_t *address, size_t length);
int hd_verbs_finish(struct hd_ep *ep, int64_t deadline);
void hd_verbs_ep_close(struct hd_ep *ep);
void hd_verbs_retire(struct hd_ep *ep);
bool hd_verbs_quiet(struct hd_ep *ep);
void hd_verbs_destroy(struct hd_ep *ep);

/* ---- extended.c ---- */

void hd_verbs_domain_open(struct verbs_ep *ep);
/* The queue pair must be gone. */
void hd_verbs_domain_close(struct verbs_ep *ep);
/* A queue pair of the endpoint's completion queue, with ibv_wr_* where hd_verbs_may() says so afterwards. */
struct ibv_qp *hd_verbs_create_qp(struct verbs_ep *ep, struct ibv_qp_init_attr *init);
void hd_verbs_destroy_qp(struct verbs_ep *ep, struct ibv_qp *qp);

/* Traffic, for the end of an endpoint. */
int hd_verbs_post_bye(struct verbs_ep *ep);
/* Gives the pool what the endpoint still has of it. */
void hd_verbs_repost(struct verbs_ep *ep);
/* Takes completions without telling anyone. */
void hd_verbs_discard(struct verbs_ep *ep);

/* ---- wait.c ---- */

bool hd_verbs_pending(struct hd_ep *ep);
bool hd_verbs_look(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, unsigned times);
void hd_verbs_wait(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout);
void hd_verbs_wake(struct hd_ep *ep);
bool hd_verbs_woken(struct hd_ep *ep);
bool hd_verbs_arm(struct hd_ep *ep);
void hd_verbs_disarm(struct hd_ep *ep);
struct hd_source *hd_verbs_source(struct hd_ep *ep);
/* Makes whoever serves or polls the endpoint look at it. */
void hd_verbs_rouse(struct verbs_ep *ep);

#endif
