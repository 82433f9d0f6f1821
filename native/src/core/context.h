/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_CONTEXT_H
#define HD_CONTEXT_H

/*
 * What the parts of an engine share: options, log, counters, memory, identity, and one part's own lists and locks each.
 *
 * Locks, in the order in which they may be taken: a link's lock; then any one of: engine->lock (list of links),
 * services_lock, a queue's lock, a communication thread's lock, io_lock; then the arena's. Nothing is called back under
 * a lock.
 */

#include <pthread.h>

#include <howdah/engine.h>

#include "affinity/affinity.h"
#include "config/conf.h"
#include "base/log.h"
#include "memory/memory.h"
#include "memory/predict.h"
#include "transport/wire.h"

#define HD_COMMS_MAX 64 /* what communication.threads allows */

struct hd_comm;
struct hd_device;
struct hd_link_hooks;

#define HD_LINK_PLACES 512

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

    /* links */
    const struct hd_link_hooks *link_hooks;
    pthread_mutex_t lock;
    struct hd_list links;
    struct hd_list links_by_peer[HD_LINK_PLACES], links_by_address[HD_LINK_PLACES]; /* of registry.c */
    pthread_cond_t link_gone; /* a link ended, or a set-up failed: what it had is given back */
    struct hd_list parties;   /* struct hd_party: who has links here, and how many; under `lock` as what follows */
    unsigned admitted_links;
    size_t admitted_bytes;
    atomic_bool told_of_links; /* that one was refused */

    /* queues */
    pthread_mutex_t services_lock;
    struct hd_list services;
    struct hd_list queues;

    /* communication threads */
    struct hd_comm *comms;
    unsigned comm_count;
    _Atomic pid_t comm_ids[HD_COMMS_MAX]; /* the threads' numbers in the system, once they are where they run */
    _Atomic unsigned next_comm;

    /* I/O threads of fetches */
    pthread_mutex_t io_lock;
    pthread_cond_t io_work;
    struct hd_list io_jobs;
    pthread_t *io_threads;
    unsigned io_count, io_files;
    struct hd_buf *io_spare;
    _Atomic size_t io_promised; /* bytes of pieces that have no buffer yet */
    bool io_stop;

    /* spinning */
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

#endif
