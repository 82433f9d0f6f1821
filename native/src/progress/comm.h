/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_PROGRESS_H
#define HD_PROGRESS_H

/* Communication threads. */

#include "core/kick.h"
#include "link/link.h"

struct hd_comm {
    struct hd_engine *engine;
    pthread_t thread;
    int epoll_fd;
    struct hd_kick kick;
    pthread_mutex_t lock;
    struct hd_list fresh;   /* links to adopt */
    struct hd_list links;   /* the thread's own */
    struct hd_list sources; /* the thread's own: what it watches for several links */
    struct hd_list busy;    /* the thread's own: links that have more to do, for which the others do not wait */
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
