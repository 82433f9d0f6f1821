/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_STATS_H
#define HOWDAH_STATS_H

/** @file
 * Counters. An engine keeps them in a small file (stats.dir/howdah-PID-N.stats) that it maps; any process may map it
 * too and read while the engine runs. The file describes itself: names are in it, so a reader of another version still
 * shows every counter. All numbers are in the machine's byte order, each counter is one aligned 64-bit word.
 *
 *   struct hd_stats_header
 *   char names[counters][32], then char peer_names[peer_counters][32]
 *   uint64_t values[counters]
 *   peer_slots times: char peer[80], then uint64_t values[peer_counters]
 *   char link_names[link_counters][32]
 *   link_slots times: char peer[80], char transport[16], then uint64_t values[link_counters]
 *
 * The engine holds a lock (flock) on its file: a file that nobody has locked is of a process that was killed, and goes
 * when the next engine starts.
 *
 * Where no file can be made the same lies in an anonymous one (memfd) named howdah-stats, which those who may look into
 * the process find in /proc/PID/fd, and the header says why.
 *
 * The header's offsets say where each part begins. A slot whose peer name is empty is free; the last slot sums up the
 * peers that found no free one. Counters only grow, except those whose name ends in ".now".
 *
 * A link that is up has a slot of its own while there are free ones; there are as many as for peers. Its first value is
 * the link's number, which is written last when the slot is taken, and is 0 again before it is given back: a reader
 * that sees the same number before and after has read one link. Values follow within a second.
 *
 * Counters named NAME.below.TIME, each for twice the time of the one before, and NAME.longer behind them are a
 * histogram: how often something took less than that, and not less than the one before.
 *
 * Frames, bytes and eager messages are counted by each link for itself and reach the file within a second, or when the
 * link ends; a few freed buffers (one of each size, 48 KB at most) may stay in memory.used.now as long. What the
 * functions below return is exact.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HD_STATS_MAGIC     0x31545354534448ULL /* "HDSTST1" */
#define HD_STATS_NAME      32
#define HD_STATS_PEER      80
#define HD_STATS_TRANSPORT 16
/** Name of the memfd. */
#define HD_STATS_ANONYMOUS "howdah-stats"

struct hd_stats_header {
    uint64_t magic; /**< written last: a reader that sees it sees everything else */
    uint32_t header_size;
    uint32_t pid;
    uint64_t start_time; /**< of the process, clock ticks after boot as in /proc/PID/stat: tells a reused PID */
    uint32_t counters;
    uint32_t peer_counters;
    uint32_t peer_slots;
    uint32_t names_offset;
    uint32_t peer_names_offset;
    uint32_t values_offset;
    uint32_t peers_offset;
    uint32_t peer_stride;
    char engine[64];
    char why[192]; /**< why there is no file, "" if there is one */
    /* Since 0.1 with `howdah stat --links`: only where header_size covers them. */
    uint32_t link_counters;
    uint32_t link_slots;
    uint32_t link_names_offset;
    uint32_t links_offset;
    uint32_t link_stride;
    uint32_t unused;
};

/** Reads one of this engine's counters by name. @return -ENOENT if there is none of that name. */
HD_API int hd_stats_get(hd_engine *engine, const char *name, uint64_t *value);

/** Counter number `i` of this engine. The name lives as long as the library; `name` and `value` may be NULL.
 *  @return -ENOENT behind the last. */
HD_API int hd_stats_at(hd_engine *engine, size_t i, const char **name, uint64_t *value);

/** Path of this engine's counter file; "" if it has none. */
HD_API const char *hd_stats_path(hd_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
