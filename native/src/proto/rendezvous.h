/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_RENDEZVOUS_H
#define HD_RENDEZVOUS_H

/* Transfers by rendezvous. All of it under the link's lock. */

#include "core/queue.h"
#include "link/link.h"

enum hd_rndv_side { HD_RNDV_TX, HD_RNDV_RX };

#define HD_RNDV_UNSENT (-1) /* a sender's mode before it is announced: the peer cannot speak of it yet */

struct hd_rndv;

/* What a transfer belongs to: a stream's message, or a piece of a block. */
struct hd_rndv_owner {
    /* Receiver: sets `buf` and `offset` for the bytes. -ENOBUFS or -ENOMEM: there is no memory now. */
    int (*memory)(struct hd_link *link, struct hd_rndv *rndv);
    /* The transfer has ended and is freed. `error`: the peer did not want the bytes; 0 at the receiver. */
    void (*done)(void *owner, void *part, size_t length, int error);
};

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
    bool held;                       /* the peer's memory */
    bool starved;                    /* a receiver's: it waits for memory */
    bool lent;                       /* a receiver's buffer is the program's, who has it back when the block is there */
    const struct hd_rndv_owner *ops; /* NULL: it belongs to nobody any more */
    void *owner, *part;              /* what is told */
    uint32_t stream_id;              /* in tracepoints; 0: of a block, or nobody's */
    struct hd_sent *sent;            /* sender: to be told when the bytes are not needed any more; NULL: nobody */
    struct hd_list node;             /* link->rndv.tx_frags or link->rndv.memory_wait */
    struct hd_list siblings;         /* stream->tx_rndvs */
};

/* A promise to tell the program when its bytes are not needed any more. */
struct hd_sent {
    struct hd_event_node event;
    hd_queue *queue; /* a reference */
};

/* Posts the event, with 0 or an error. */
void hd_sent_end(struct hd_sent *sent, int status);

/* One chunk of a rendezvous. */
struct hd_op {
    struct hd_list node;
    uint32_t handle;
    struct hd_rndv *rndv;
    struct hd_rma rma;
    bool put;
};

struct hd_rndv *hd_rndv_create(struct hd_link *link, enum hd_rndv_side side);
/* The owner goes, and is told nothing. */
static inline void hd_rndv_disown(struct hd_rndv *rndv)
{
    rndv->ops = NULL;
    rndv->owner = rndv->part = NULL;
    rndv->stream_id = 0;
}
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
/* Frees the nodes kept for chunks. */
void hd_rndv_free_kept(struct hd_link *link);

#endif
