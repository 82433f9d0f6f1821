/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STAT_H
#define STAT_H

#include <howdah/stats.h>

/* What is asked for. */
struct stat_wish {
    bool links; /* those that are up, in place of counters and peers */
    bool json;
};

/* One file of counters, mapped, whose header was checked. */
struct stat_file {
    const struct hd_stats_header *header;
    size_t size;
};

/* Names and values that belong together: of the engine, of a peer or of a link. */
struct stat_group {
    const char *names; /* HD_STATS_NAME bytes each */
    const void *values;
    uint32_t count;
};

/* A histogram within a group: names that end in ".below.TIME", and one in ".longer". */
struct stat_times {
    uint32_t first, count; /* in the group; the last one is ".longer" */
    int name_length;       /* of what is before ".below" */
    uint64_t total;
};

static inline const char *stat_name(const struct stat_group *group, uint32_t i)
{
    return group->names + (size_t)i * HD_STATS_NAME;
}

static inline uint64_t stat_value(const struct stat_group *group, uint32_t i)
{
    return __atomic_load_n((const uint64_t *)group->values + i, __ATOMIC_RELAXED);
}

/* Whether a histogram begins with this counter. */
bool stat_times_at(const struct stat_group *group, uint32_t i, struct stat_times *times);
/* A histogram's limit, "32us", of counter `i` in the group; NULL: longer than all. */
const char *stat_limit(const struct stat_group *group, const struct stat_times *times, uint32_t i);

/* The next link that is up, from slot *slot on, as a copy that the caller frees; NULL behind the last. */
char *stat_next_link(const struct stat_file *file, uint32_t *slot);
/* Whether the file tells of links; those of earlier versions do not. */
bool stat_has_links(const struct stat_file *file);
struct stat_group stat_link_group(const struct stat_file *file, const char *link);

/* Prints all that is asked for of one engine, for people and as one JSON object. */
void stat_print(const struct stat_file *file, bool links);
void stat_print_json(const struct stat_file *file, bool links);

#endif
