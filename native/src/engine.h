/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_ENGINE_H
#define HD_ENGINE_H

/*
 * The engine and what belongs to it: devices, services, event queues, threads.
 *
 * Locks, in the order in which they may be taken: a link's lock; then any one of: engine->lock (list of links),
 * services_lock, a queue's lock, a communication thread's lock, io_lock; then the arena's. Nothing is called back under
 * a lock.
 */

#include <pthread.h>

#include <howdah/engine.h>
#include <howdah/queue.h>

#include "admit.h"
#include "affinity/affinity.h"
#include "log.h"
#include "predict.h"
#include "spin.h"
#include "transport.h"

struct hd_engine {
    _Atomic int refs; /* the program's, each link's, each queue's */
    struct hd_conf conf;
    char name[HD_NAME_MAX];
    uint8_t id[HD_ID_LENGTH];
    struct hd_log log;
    struct hd_stats *stats; /* the arena's */
    struct hd_arena *arena;
    struct hd_predict predict;
    struct hd_device *devices[HD_DEVICES_MAX];
    char obstacles[HD_DEVICES_MAX][256]; /* why a transport that was wanted is not open; by its place in the list */
    unsigned device_count;
    hd_affinity *affinity;
    hd_affinity *binds; /* the same, or NULL if it has no sets: then entering costs one comparison */
    char affinity_text[256];
    atomic_bool closing;

    pthread_mutex_t lock;
    struct hd_list links;
    pthread_cond_t link_gone; /* a link ended, or a set-up failed: what it had is given back */
    struct hd_list parties;   /* struct hd_party: who has links here, and how many; under `lock` as what follows */
    unsigned admitted_links;
    size_t admitted_bytes;
    atomic_bool told_of_links; /* that one was refused */

    pthread_mutex_t services_lock;
    struct hd_list services;
    struct hd_list queues;

    struct hd_comm *comms;
    unsigned comm_count;
    _Atomic unsigned next_comm;

    pthread_mutex_t io_lock;
    pthread_cond_t io_work;
    struct hd_list io_jobs;
    pthread_t *io_threads;
    unsigned io_count, io_files;
    struct hd_buf *io_spare;
    _Atomic size_t io_promised; /* bytes of pieces that have no buffer yet */
    bool io_stop;

    _Atomic int spinners;
    int spinners_max;
    int load_fd; /* /proc/loadavg, or -1 */
    long processors_online;
};

/* At the beginning of every call in which a thread may work for the engine. */
static inline void hd_enter(struct hd_engine *engine)
{
    if (engine->binds)
        hd_affinity_enter(engine->binds);
}

struct hd_engine *hd_engine_ref(struct hd_engine *engine);
void hd_engine_unref(struct hd_engine *engine);

/* The queue (a reference) and user of a service. @return false if there is none of that name. */
bool hd_service_find(struct hd_engine *engine, const char *name, size_t length, hd_queue **queue, uint64_t *user);

/* ---- events ---- */

/* An event that an object can post; part of the object. At most one is in a queue. */
struct hd_event_node {
    struct hd_list link;
    bool posted; /* under the queue's lock */
    struct hd_event event;
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
    struct hd_spin spin;
};

hd_queue *hd_queue_ref(hd_queue *queue);
void hd_queue_unref(hd_queue *queue);
/* Both do nothing without a queue. @return false if the queue was destroyed: nobody will take the event. */
bool hd_queue_post(hd_queue *queue, struct hd_event_node *node);
void hd_queue_cancel(hd_queue *queue, struct hd_event_node *node);

/* ---- communication threads (progress.c) ---- */

struct hd_comm {
    struct hd_engine *engine;
    pthread_t thread;
    int epoll_fd, kick_fd;
    pthread_mutex_t lock;
    struct hd_list fresh; /* links to adopt */
    struct hd_list links; /* the thread's own */
    struct hd_list busy;  /* the thread's own: links that have more to do, for which the others do not wait */
    bool soon;            /* the thread's own: something wants another look within poll.handover */
    atomic_bool quick;    /* looks at its links every millisecond or so */
    atomic_bool stop;
};

struct hd_link;

int hd_comm_start(struct hd_engine *engine);
void hd_comm_stop(struct hd_engine *engine);
/* Gives a link to a thread, which takes over a reference. */
void hd_comm_adopt(struct hd_link *link);
/* Asks the link's thread to look at it soon. */
void hd_comm_hurry(struct hd_link *link);
/* Polls a few links on behalf of a thread that waits for events since `start`, until `queue->filled`, an interruption
 * or the end of the spin time. @return whether it did and nothing came: the caller says when something did */
bool hd_comm_spin(struct hd_queue *queue, int64_t start, int64_t deadline);

/* ---- I/O threads (fetch_io.c) ---- */

int hd_io_start(struct hd_engine *engine);
void hd_io_stop(struct hd_engine *engine);

#endif
