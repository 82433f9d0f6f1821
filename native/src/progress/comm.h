/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_PROGRESS_H
#define HD_PROGRESS_H

/* Communication threads. */

#include "core/kick.h"
#include "link/link.h"

#define HD_COMM_SLOTS 16

struct hd_comm {
    struct hd_engine *engine;
    pthread_t thread;
    int epoll_fd;
    struct hd_kick kick;
    struct hd_list soon;                 /* the thread's own: links to look at every poll.handover */
    struct hd_list later[HD_COMM_SLOTS]; /* the thread's own: the other links, by the slot of time of their next look */
    int64_t slot;                        /* of time: the next one whose links are to be looked at */
    struct hd_list busy; /* the thread's own: links that have more to do, for which the others do not wait */
    pthread_mutex_t lock;
    struct hd_list sources; /* what the thread watches for several links; others read it under `lock` */
    _Atomic uint64_t rounds, links_looked_at; /* so far, for tests */
    atomic_bool stop;
};

int hd_comm_start(struct hd_engine *engine);
void hd_comm_stop(struct hd_engine *engine);
/* Gives a link to a thread, which takes over a reference. */
void hd_comm_adopt(struct hd_link *link);
/* A turn of a link that callers do not poll, and then arms its event descriptor. The link's lock is held. @return
 * whether there is more to take */
bool hd_comm_serve(struct hd_link *link);

#endif
