/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_STATS_H
#define HD_STATS_H

/* Counters in a mapped file; the layout is in <howdah/stats.h>. */

#include <pthread.h>
#include <stdatomic.h>

#include <howdah/stats.h>

#define HD_COUNTER(field, name) _Atomic uint64_t field;
struct hd_counters {
#include "stats/counters.def"
};

/* Of all links over one transport; a part of struct hd_counters. */
struct hd_transport_counters {
    _Atomic uint64_t links, messages_sent, messages_received, bytes_sent, bytes_received;
};

#define HD_PEER_COUNTER(field, name) _Atomic uint64_t field;
struct hd_peer_counters {
    char peer[HD_STATS_PEER];
#include "stats/counters.def"
};

#define HD_LINK_COUNTER(field, name) _Atomic uint64_t field;
struct hd_link_counters {
    char peer[HD_STATS_PEER], transport[HD_STATS_TRANSPORT];
#include "stats/counters.def"
};

/* A histogram: how often something took less than a quarter of a microsecond, less than twice that, and so on, and
 * longer than all of these. */
#define HD_TIMES 27
struct hd_times {
    uint64_t counts[HD_TIMES];
};

struct hd_stats {
    struct hd_counters *now;
    struct hd_peer_counters *peers;
    struct hd_link_counters *links;
    unsigned peer_slots;  /* and slots for links */
    pthread_mutex_t lock; /* naming of peer slots, taking of link slots */
    uint64_t link_number; /* the last one */
    void *map;
    size_t map_size;
    int fd; /* of the file, with the lock that says that its owner lives; -1 for none */
    char path[320];
};

#define hd_count(stats, field, n)     atomic_fetch_add_explicit(&(stats)->now->field, (uint64_t)(n), memory_order_relaxed)
#define hd_peer_count(peer, field, n) atomic_fetch_add_explicit(&(peer)->field, (uint64_t)(n), memory_order_relaxed)

/* Where no file can be made the counters are in a memfd, and *why has the cause; without a directory ("") they are
 * private memory. */
int hd_stats_open(struct hd_stats *stats, const char *dir, const char *engine, unsigned peers, char *why, size_t size);
/* Removes the file; counting goes on. */
void hd_stats_unlink(struct hd_stats *stats);
void hd_stats_close(struct hd_stats *stats);

/* The slot of a peer, for as long as the engine lives. */
struct hd_peer_counters *hd_stats_peer(struct hd_stats *stats, const char *peer);

/* A slot for a link that is up, or NULL: all are taken. */
struct hd_link_counters *hd_stats_link(struct hd_stats *stats, const char *peer, const char *transport);
/* Shows a histogram in the counters from offset `at` on. */
void hd_stats_show_times(struct hd_link_counters *link, size_t at, const struct hd_times *times);
/* Gives it back; NULL: nothing to do. */
void hd_stats_link_end(struct hd_link_counters *link);

/* The share of a transport, for as long as the engine lives. */
struct hd_transport_counters *hd_stats_transport(struct hd_stats *stats, const char *transport);

int hd_stats_read(struct hd_stats *stats, const char *name, uint64_t *value);
/* Whether counter `i` is kept elsewhere and carried over now and then. */
bool hd_stats_lags(size_t i);
int hd_stats_read_at(struct hd_stats *stats, size_t i, const char **name, uint64_t *value);

#endif
