/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_AFFINITY_H
#define HD_AFFINITY_H

/* For the engine: opening by options, and counters that live in its mapped file. */

#include <stdatomic.h>

#include <howdah/affinity.h>

struct hd_affinity_words {
    _Atomic uint64_t *hits, *misses, *bound_now, *refused;
};

/* Counts in these words from now on; to be called before any thread enters. A thread adds its hits every
 * HD_AFFINITY_BATCH entries and when it leaves, so that entering does not share a cache line with other
 * threads: the words lag behind by less than that per thread, hd_affinity_count() does not. */
void hd_affinity_count_in(hd_affinity *affinity, const struct hd_affinity_words *words);

/* Sets that threads are dealt to; 0: nobody is ever bound. */
unsigned hd_affinity_sets(const hd_affinity *affinity);

/* What hd_affinity_destroy() does, but threads may be in calls and the object stays: from now on nobody is bound. */
void hd_affinity_close(hd_affinity *affinity);

#define HD_AFFINITY_BATCH 1024

/* What the engine's options and transports say. Texts may be "" or NULL for their defaults. */
struct hd_affinity_setup {
    const char *policy, *device, *socket, *topology;
    bool rdma; /* `device` is an HCA that the engine has opened */
    enum hd_affinity_threads threads;
    hd_affinity_say_fn say;
    void *say_arg;
    const struct hd_affinity_words *words; /* NULL: own ones */
    char *text;                            /* NULL, or where to put what became of it, in words */
    size_t text_size;
};

/* Topology, plan and affinity in one step. The topology is not even read if nothing will be bound. auto gives
 * way to none here too, when there is no topology to be had, and says so; everything else is an error. */
int hd_affinity_open(const struct hd_affinity_setup *setup, hd_affinity **affinity);

#endif
