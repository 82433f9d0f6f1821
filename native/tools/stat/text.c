/* SPDX-License-Identifier: Apache-2.0 */

/* Counters for people. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat.h"

#define NAME_WIDTH 24

/* Prints below which time so many hundredths of all are. */
static void print_share(const struct stat_group *group, const struct stat_times *times, unsigned hundredths,
                        const char *words)
{
    uint64_t seen = 0;
    uint32_t i = times->first, end = times->first + times->count;
    while (i < end && (seen += stat_value(group, i)) * 100 < times->total * hundredths)
        i++;
    const char *limit = i < end ? stat_limit(group, times, i) : NULL;
    printf(limit ? ", %s below %.*s" : ", %s longer", words, HD_STATS_NAME, limit);
}

static void print_times(const struct stat_group *group, const struct stat_times *times)
{
    printf("  %-*.*s %" PRIu64, NAME_WIDTH, times->name_length, stat_name(group, times->first), times->total);
    if (times->total) {
        print_share(group, times, 50, "half of them");
        print_share(group, times, 99, "99 of 100");
    }
    puts("");
    for (uint32_t i = times->first; i < times->first + times->count; i++) {
        const char *limit = stat_limit(group, times, i);
        if (stat_value(group, i))
            printf(limit ? "    below %-*.16s %" PRIu64 "\n" : "    longer%-*.0s %" PRIu64 "\n", NAME_WIDTH - 8,
                   limit ? limit : "", stat_value(group, i));
    }
}

/* `zeros`: also counters that are 0. */
static void print_group(const struct stat_group *group, bool zeros)
{
    struct stat_times times;
    for (uint32_t i = 0; i < group->count; i++) {
        if (stat_times_at(group, i, &times)) {
            print_times(group, &times);
            i += times.count - 1;
        } else if (stat_value(group, i) || zeros) {
            printf("  %-*.*s %" PRIu64 "\n", NAME_WIDTH, HD_STATS_NAME, stat_name(group, i), stat_value(group, i));
        }
    }
}

static void print_links(const struct stat_file *file)
{
    uint32_t slot = 0, shown = 0;
    if (!stat_has_links(file)) {
        puts("  (this engine's version does not tell of its links)");
        return;
    }
    for (char *link; (link = stat_next_link(file, &slot)); shown++) {
        struct stat_group group = stat_link_group(file, link);
        printf("link to %.*s over %.*s\n", HD_STATS_PEER, link, HD_STATS_TRANSPORT, link + HD_STATS_PEER);
        print_group(&group, true);
        free(link);
    }
    if (shown == file->header->link_slots)
        printf("  (%" PRIu32 " links are all that it can tell of: hadoop.rdma.stats.peers)\n", shown);
    else if (shown == 0)
        puts("  (no link is up)");
}

static void print_counters(const struct hd_stats_header *h)
{
    const char *map = (const char *)h;
    struct stat_group engine = {map + h->names_offset, map + h->values_offset, h->counters};
    print_group(&engine, false);
    for (uint32_t i = 0; i < h->peer_slots; i++) {
        const char *slot = map + h->peers_offset + (size_t)i * h->peer_stride;
        struct stat_group peer = {map + h->peer_names_offset, slot + HD_STATS_PEER, h->peer_counters};
        if (!slot[0])
            continue;
        printf("peer %.*s\n", HD_STATS_PEER, slot);
        print_group(&peer, false);
    }
}

void stat_print(const struct stat_file *file, bool links)
{
    const struct hd_stats_header *h = file->header;
    printf("engine %.*s, process %" PRIu32 "\n", (int)sizeof(h->engine), h->engine, h->pid);
    /* Why it has no file; nothing of earlier versions, whose header ends before. */
    if (h->header_size >= offsetof(struct hd_stats_header, why) + sizeof(h->why) && h->why[0])
        printf("  (%.*s)\n", (int)sizeof(h->why), h->why);
    if (links)
        print_links(file);
    else
        print_counters(h);
}
