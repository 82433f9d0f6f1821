/* SPDX-License-Identifier: Apache-2.0 */

/* Shows the counters of a running engine: howdah-stat FILE, where FILE is /dev/shm/howdah-PID-N.stats. It goes by what
 * the file says of itself, so it also reads files of other versions. */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <howdah/stats.h>

static bool sane(const struct hd_stats_header *h, size_t size)
{
    uint64_t peers_end = h->peers_offset + (uint64_t)h->peer_slots * h->peer_stride;
    return h->magic == HD_STATS_MAGIC && h->names_offset + (uint64_t)h->counters * HD_STATS_NAME <= size &&
           h->peer_names_offset + (uint64_t)h->peer_counters * HD_STATS_NAME <= size &&
           h->values_offset + (uint64_t)h->counters * 8 <= size && peers_end <= size &&
           h->peer_stride >= HD_STATS_PEER + (uint64_t)h->peer_counters * 8 && h->values_offset % 8 == 0 &&
           h->peers_offset % 8 == 0 && h->peer_stride % 8 == 0;
}

static void show(const char *names, const void *values, uint32_t count, const char *indent)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = __atomic_load_n((const uint64_t *)values + i, __ATOMIC_RELAXED);
        if (value)
            printf("%s%-24.*s %" PRIu64 "\n", indent, HD_STATS_NAME, names + (size_t)i * HD_STATS_NAME, value);
    }
}

static int show_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        perror(path);
        return 1;
    }
    size_t size = (size_t)st.st_size;
    const char *map =
        size < sizeof(struct hd_stats_header) ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    const struct hd_stats_header *h = (const void *)map;
    if (map == MAP_FAILED || !sane(h, size)) {
        fprintf(stderr, "%s: not a file of counters\n", path);
        return 1;
    }
    printf("engine %.*s, process %" PRIu32 "\n", (int)sizeof(h->engine), h->engine, h->pid);
    show(map + h->names_offset, map + h->values_offset, h->counters, "  ");
    for (uint32_t i = 0; i < h->peer_slots; i++) {
        const char *slot = map + h->peers_offset + (size_t)i * h->peer_stride;
        if (!slot[0])
            continue;
        printf("peer %.*s\n", HD_STATS_PEER, slot);
        show(map + h->peer_names_offset, slot + HD_STATS_PEER, h->peer_counters, "  ");
    }
    munmap((void *)(uintptr_t)map, size);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: howdah-stat FILE...\n");
        return 2;
    }
    int status = 0;
    for (int i = 1; i < argc; i++)
        status |= show_file(argv[i]);
    return status;
}
