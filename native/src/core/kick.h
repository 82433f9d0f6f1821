/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_KICK_H
#define HD_KICK_H

/* How a communication thread is asked to look at its links; part of the thread's struct hd_comm. */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"
#include "base/util.h"

struct hd_kick {
    int fd;            /* an eventfd that the thread watches */
    atomic_bool look;  /* it is to look at once at what is due */
    atomic_bool quick; /* the thread looks every poll.handover at what is due soon */
    bool soon;         /* the thread's own: something was hurried since its last look */
    struct hd_lock lock;
    struct hd_list rung;    /* nodes of what is to be served now; under `lock` */
    struct hd_list hurried; /* nodes of what is to be looked at soon; under `lock` */
    _Atomic unsigned rung_count;
    _Atomic unsigned helpers; /* callers that take what is rung, so that the thread need not be woken */
};

int hd_kick_open(struct hd_kick *kick);
void hd_kick_close(struct hd_kick *kick);
/* Marks the calling thread as the one that is kicked. */
void hd_kick_enter(struct hd_kick *kick);
/* Wakes the thread, which then looks at what is due. */
void hd_kick_now(struct hd_kick *kick);
/* Wakes the thread, unless it is the calling one, for no more than what it was told otherwise. */
void hd_kick_call(struct hd_kick *kick);
/* Asks for a look at the owner of this node within poll.handover. NULL: no thread serves it yet. */
void hd_kick_soon(struct hd_kick *kick, struct hd_list *node);
/* Takes the node that was hurried first, or NULL. On the thread. */
struct hd_list *hd_kick_next_hurried(struct hd_kick *kick);

/* Has the thread serve the owner of this node, which may be rung already. NULL: no thread serves it yet. */
void hd_kick_ring(struct hd_kick *kick, struct hd_list *node);
/* Takes the node that was rung first, or NULL. Callers that help give `hold`, which keeps the owner from going. */
struct hd_list *hd_kick_next(struct hd_kick *kick, void (*hold)(struct hd_list *node));
/* A caller comes to take what is rung, or leaves. */
void hd_kick_help(struct hd_kick *kick, bool begins);
/* The owner goes: nobody rings it or hurries it any more. */
void hd_kick_forget(struct hd_kick *kick, struct hd_list *rung, struct hd_list *hurried);
/* How many nodes are rung. */
static inline unsigned hd_kick_rung(struct hd_kick *kick)
{
    return atomic_load_explicit(&kick->rung_count, memory_order_acquire);
}

#endif
