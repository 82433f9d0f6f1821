/* SPDX-License-Identifier: Apache-2.0 */

/* Counters for programs. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

/* A text that ends after so many bytes, if not before. Names of peers are cut off anywhere. */
static void put_text(const char *text, size_t most)
{
    putchar('"');
    for (size_t i = 0; i < most && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            fputs(c < 0x7f ? (char[2]){(char)c} : "\\ufffd", stdout);
    }
    putchar('"');
}

static void put_number(const char *between, const char *name, size_t most, uint64_t value)
{
    fputs(between, stdout);
    put_text(name, most);
    printf(": %" PRIu64, value);
}

/* "32us" as "32" */
static size_t number_length(const char *limit)
{
    return strspn(limit, "0123456789.");
}

static void put_times(const struct stat_group *group, const struct stat_times *times)
{
    uint64_t longer = 0;
    const char *between = "";
    fputs(", ", stdout);
    put_text(stat_name(group, times->first), (size_t)times->name_length);
    printf(": {\"count\": %" PRIu64 ", \"below_us\": {", times->total);
    for (uint32_t i = times->first; i < times->first + times->count; i++) {
        const char *limit = stat_limit(group, times, i);
        if (limit) {
            put_number(between, limit, number_length(limit), stat_value(group, i));
            between = ", ";
        } else {
            longer = stat_value(group, i);
        }
    }
    printf("}, \"longer\": %" PRIu64 "}", longer);
}

/* The plain ones of a group as "counters", and its histograms beside them. */
static void put_group(const struct stat_group *group)
{
    struct stat_times times;
    const char *between = "";
    fputs("\"counters\": {", stdout);
    for (uint32_t i = 0; i < group->count; i++) {
        if (stat_times_at(group, i, &times)) {
            i += times.count - 1;
            continue;
        }
        put_number(between, stat_name(group, i), HD_STATS_NAME, stat_value(group, i));
        between = ", ";
    }
    putchar('}');
    for (uint32_t i = 0; i < group->count; i++)
        if (stat_times_at(group, i, &times)) {
            put_times(group, &times);
            i += times.count - 1;
        }
}

static void put_links(const struct stat_file *file)
{
    uint32_t slot = 0;
    const char *between = "";
    fputs("\"links\": [", stdout);
    for (char *link; stat_has_links(file) && (link = stat_next_link(file, &slot)); between = ", ") {
        struct stat_group group = stat_link_group(file, link);
        printf("%s{\"peer\": ", between);
        put_text(link, HD_STATS_PEER);
        fputs(", \"transport\": ", stdout);
        put_text(link + HD_STATS_PEER, HD_STATS_TRANSPORT);
        fputs(", ", stdout);
        put_group(&group);
        putchar('}');
        free(link);
    }
    putchar(']');
}

static void put_counters(const struct hd_stats_header *h)
{
    const char *map = (const char *)h, *between = "";
    struct stat_group engine = {map + h->names_offset, map + h->values_offset, h->counters};
    put_group(&engine);
    fputs(", \"peers\": [", stdout);
    for (uint32_t i = 0; i < h->peer_slots; i++) {
        const char *slot = map + h->peers_offset + (size_t)i * h->peer_stride;
        struct stat_group peer = {map + h->peer_names_offset, slot + HD_STATS_PEER, h->peer_counters};
        if (!slot[0])
            continue;
        printf("%s{\"peer\": ", between);
        put_text(slot, HD_STATS_PEER);
        fputs(", ", stdout);
        put_group(&peer);
        putchar('}');
        between = ", ";
    }
    putchar(']');
}

void stat_print_json(const struct stat_file *file, bool links)
{
    const struct hd_stats_header *h = file->header;
    fputs("{\"engine\": ", stdout);
    put_text(h->engine, sizeof(h->engine));
    printf(", \"process\": %" PRIu32 ", ", h->pid);
    if (links)
        put_links(file);
    else
        put_counters(h);
    putchar('}');
}
