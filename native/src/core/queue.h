/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_QUEUE_H
#define HD_QUEUE_H

/* Event queues and services: posting, taking, waking. Waiting is above: queue_wait.c. */

#include <howdah/queue.h>

#include "core/context.h"
#include "core/spin.h"

/* An event that an object can post; part of the object. At most one is in a queue. */
struct hd_event_node {
    struct hd_list link;
    bool posted; /* under the queue's lock */
    struct hd_event event;
    void (*discard)(
        struct hd_event *event); /* of a queue that is destroyed, when nobody took it; NULL: nothing to do */
    bool allocated;              /* of no object: freed when it is taken */
};

struct hd_queue {
    _Atomic int refs;
    struct hd_engine *engine;
    struct hd_list in_engine; /* engine->queues */
    pthread_mutex_t lock;
    struct hd_list events;
    bool destroyed;
    _Atomic uint32_t word; /* futex: counts posts and wakes */
    _Atomic int sleepers;
    atomic_bool woken, filled;
    int fd;        /* of hd_queue_fd(), or -1 */
    bool readable; /* it is */
    struct hd_spin spin;
};

hd_queue *hd_queue_ref(hd_queue *queue);
void hd_queue_unref(hd_queue *queue);
/* Both do nothing without a queue. @return false if the queue was destroyed: nobody will take the event. */
bool hd_queue_post(hd_queue *queue, struct hd_event_node *node);
void hd_queue_cancel(hd_queue *queue, struct hd_event_node *node);
/* Takes up to `max` events. @return how many */
int hd_queue_take(hd_queue *queue, struct hd_event *events, size_t max);
/* Makes the descriptor say what there is, after `woken` or the engine's state changed. */
void hd_queue_signal(hd_queue *queue);
/* Lets all waiting threads look at the engine's state. */
void hd_queue_wake_all(hd_queue *queue);
/* Sleeps until something is posted, unless `word` is not `seen` any more; the caller looks again. */
void hd_queue_sleep(hd_queue *queue, uint32_t seen, int64_t deadline);

/* The queue (a reference) and user of a service. @return false if there is none of that name. */
bool hd_service_find(struct hd_engine *engine, const char *name, size_t length, hd_queue **queue, uint64_t *user);

#endif
