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
    atomic_bool look;  /* it is to look at all its links */
    atomic_bool quick; /* the thread looks at its links every millisecond or so */
    bool soon;         /* the thread's own: something wants another look within poll.handover */
    struct hd_lock lock;
    struct hd_list rung; /* nodes of what is to be served now; under `lock` */
    _Atomic unsigned rung_count;
    _Atomic unsigned helpers; /* callers that take what is rung, so that the thread need not be woken */
};

int hd_kick_open(struct hd_kick *kick);
void hd_kick_close(struct hd_kick *kick);
/* Marks the calling thread as the one that is kicked. */
void hd_kick_enter(struct hd_kick *kick);
/* Wakes the thread, which then looks at all its links. */
void hd_kick_now(struct hd_kick *kick);
/* Wakes the thread, unless it is the calling one, for no more than what it was told otherwise. */
void hd_kick_call(struct hd_kick *kick);
/* Asks for a look soon. NULL: no thread serves the link yet. */
void hd_kick_soon(struct hd_kick *kick);

/* Has the thread serve the owner of this node, which may be rung already. NULL: no thread serves it yet. */
void hd_kick_ring(struct hd_kick *kick, struct hd_list *node);
/* Takes the node that was rung first, or NULL. Callers that help give `hold`, which keeps the owner from going. */
struct hd_list *hd_kick_next(struct hd_kick *kick, void (*hold)(struct hd_list *node));
/* A caller comes to take what is rung, or leaves. */
void hd_kick_help(struct hd_kick *kick, bool begins);
/* The owner goes: nobody rings it any more. */
void hd_kick_forget(struct hd_kick *kick, struct hd_list *node);
/* How many nodes are rung. */
static inline unsigned hd_kick_rung(struct hd_kick *kick)
{
    return atomic_load_explicit(&kick->rung_count, memory_order_acquire);
}

#endif
