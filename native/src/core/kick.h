/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_KICK_H
#define HD_KICK_H

/* How a communication thread is asked to look at its links; part of the thread's struct hd_comm. */

#include <stdatomic.h>
#include <stdbool.h>

struct hd_kick {
    int fd;            /* an eventfd that the thread watches */
    atomic_bool quick; /* the thread looks at its links every millisecond or so */
    bool soon;         /* the thread's own: something wants another look within poll.handover */
};

int hd_kick_open(struct hd_kick *kick);
void hd_kick_close(struct hd_kick *kick);
/* Marks the calling thread as the one that is kicked. */
void hd_kick_enter(struct hd_kick *kick);
/* Wakes the thread. */
void hd_kick_now(struct hd_kick *kick);
/* Asks for a look soon. NULL: no thread serves the link yet. */
void hd_kick_soon(struct hd_kick *kick);

#endif
