/* SPDX-License-Identifier: Apache-2.0 */

/* What a file of counters says of itself, and finding one's way in it. */

#include <stdlib.h>
#include <string.h>

#include "stat.h"

#define LINK_TEXT (HD_STATS_PEER + HD_STATS_TRANSPORT)

bool stat_has_links(const struct stat_file *file)
{
    const struct hd_stats_header *h = file->header;
    return h->header_size >= sizeof(*h) && h->link_counters > 0 && h->link_counters < 1000 &&
           h->link_names_offset + (uint64_t)h->link_counters * HD_STATS_NAME <= file->size &&
           h->links_offset + (uint64_t)h->link_slots * h->link_stride <= file->size && h->links_offset % 8 == 0 &&
           h->link_stride >= LINK_TEXT + (uint64_t)h->link_counters * 8 && h->link_stride % 8 == 0;
}

/* The first value of a slot is the link's number. Another one after the copy, and the slot went to another link. */
static bool copy_link(const struct hd_stats_header *h, const char *slot, char *copy)
{
    const uint64_t *number = (const void *)(slot + LINK_TEXT);
    uint64_t before = __atomic_load_n(number, __ATOMIC_ACQUIRE);
    memcpy(copy, slot, h->link_stride);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return before && __atomic_load_n(number, __ATOMIC_RELAXED) == before;
}

char *stat_next_link(const struct stat_file *file, uint32_t *slot)
{
    const struct hd_stats_header *h = file->header;
    char *copy = malloc(h->link_stride);
    while (copy && *slot < h->link_slots)
        if (copy_link(h, (const char *)h + h->links_offset + (size_t)(*slot)++ * h->link_stride, copy))
            return copy;
    free(copy);
    return NULL;
}

struct stat_group stat_link_group(const struct stat_file *file, const char *link)
{
    const struct hd_stats_header *h = file->header;
    return (struct stat_group){(const char *)h + h->link_names_offset, link + LINK_TEXT, h->link_counters};
}

/* Length of what a name has before `end`, or before the first `end` and anything; 0 if that is not in it. */
static int length_before(const char *name, const char *end)
{
    char copy[HD_STATS_NAME + 1] = {0};
    memcpy(copy, name, HD_STATS_NAME);
    const char *at = strstr(copy, end);
    return at ? (int)(at - copy) : 0;
}

bool stat_times_at(const struct stat_group *group, uint32_t i, struct stat_times *times)
{
    int length = length_before(stat_name(group, i), ".below.");
    if (!length)
        return false;
    *times = (struct stat_times){.first = i, .name_length = length};
    for (; i < group->count && strncmp(stat_name(group, i), stat_name(group, times->first), (size_t)length) == 0; i++) {
        times->count++;
        times->total += stat_value(group, i);
        if (length_before(stat_name(group, i), ".longer") == length)
            break;
    }
    return true;
}

const char *stat_limit(const struct stat_group *group, const struct stat_times *times, uint32_t i)
{
    const char *name = stat_name(group, i);
    return length_before(name, ".below.") == times->name_length ? name + times->name_length + sizeof(".below.") - 1
                                                                : NULL;
}
