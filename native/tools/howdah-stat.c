/* SPDX-License-Identifier: Apache-2.0 */

/* Shows the counters of running engines, by process or file (/dev/shm/howdah-PID-N.stats). It goes by what a file says
 * of itself, so it also reads files of other versions. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- which files ---- */

static const char *folder(void)
{
    const char *given = getenv("HOWDAH_STATS_DIR");
    return given && given[0] ? given : "/dev/shm";
}

/* Whether a name is that of a counter file, of process `pid` or, with 0, of any. */
static bool is_counters(const char *name, long pid)
{
    long owner, number;
    int length = 0;
    return sscanf(name, "howdah-%ld-%ld.stats%n", &owner, &number, &length) == 2 && length > 0 && !name[length] &&
           (pid == 0 || owner == pid);
}

static long pid_wanted; /* scandir() takes no argument */

static int wanted(const struct dirent *entry)
{
    return is_counters(entry->d_name, pid_wanted);
}

/* Shows the files of one process, or of all. A process may have several engines. */
static int show_processes(long pid)
{
    struct dirent **entries;
    char path[600];
    pid_wanted = pid;
    int count = scandir(folder(), &entries, wanted, versionsort), status = 0;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder(), entries[i]->d_name);
        status |= show_file(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (count > 0)
        return status;
    if (count < 0)
        fprintf(stderr, "howdah-stat: %s: %s\n", folder(), strerror(errno));
    else if (pid)
        fprintf(stderr, "howdah-stat: process %ld has no engine with a file of counters in %s\n", pid, folder());
    else
        fprintf(stderr, "howdah-stat: no engine has a file of counters in %s\n", folder());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 2 || (argv[1][0] == '-' && (argc > 2 || strcmp(argv[1], "--all") != 0))) {
        bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr,
                "usage: howdah-stat PID|FILE...\n"
                "       howdah-stat --all\n"
                "Shows the counters of engines: of a process, of a file, or of all processes of this node.\n"
                "Counters are looked for in HOWDAH_STATS_DIR, else in /dev/shm.\n");
        return help ? 0 : 2;
    }
    int status = 0;
    for (int i = 1; i < argc; i++) {
        char *end;
        long pid = strtol(argv[i], &end, 10);
        if (strcmp(argv[i], "--all") == 0)
            status |= show_processes(0);
        else
            status |= !*end && pid > 0 ? show_processes(pid) : show_file(argv[i]);
    }
    return status;
}
