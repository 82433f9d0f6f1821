/* SPDX-License-Identifier: Apache-2.0 */

/* Shows the counters of running engines, by process or file (/dev/shm/howdah-PID-N.stats). It goes by what a file says
 * of itself, so it also reads files of other versions. Where a process has no file in the usual folder, what it has
 * open says where its counters are, or why there are none. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stat.h"

static bool sane(const struct hd_stats_header *h, size_t size)
{
    uint64_t peers_end = h->peers_offset + (uint64_t)h->peer_slots * h->peer_stride;
    return h->magic == HD_STATS_MAGIC && h->names_offset + (uint64_t)h->counters * HD_STATS_NAME <= size &&
           h->peer_names_offset + (uint64_t)h->peer_counters * HD_STATS_NAME <= size &&
           h->values_offset + (uint64_t)h->counters * 8 <= size && peers_end <= size &&
           h->peer_stride >= HD_STATS_PEER + (uint64_t)h->peer_counters * 8 && h->values_offset % 8 == 0 &&
           h->peers_offset % 8 == 0 && h->peer_stride % 8 == 0;
}

static struct stat_wish wish;
static unsigned engines_shown;

static void show_engine(const struct stat_file *file)
{
    if (wish.json) {
        fputs(engines_shown ? ",\n" : "\n", stdout);
        stat_print_json(file, wish.links);
    } else {
        stat_print(file, wish.links);
    }
    engines_shown++;
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
    show_engine(&(struct stat_file){h, size});
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

/* Whether a file in the folder belongs to somebody who lets nobody else read it. */
static bool is_locked_away(const char *path)
{
    return access(path, R_OK) != 0 && errno == EACCES;
}

/* Shows the files of one process, or of all that can be read. A process may have several engines.
 * @return how many were shown, with those that cannot be read in *hidden, or -1 without the folder. */
static int show_files(long pid, int *hidden, int *status)
{
    struct dirent **entries;
    char path[600];
    pid_wanted = pid;
    int count = scandir(folder(), &entries, wanted, versionsort), shown = 0;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder(), entries[i]->d_name);
        if (is_locked_away(path)) {
            ++*hidden;
        } else {
            *status |= show_file(path);
            shown++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count < 0 ? -1 : shown;
}

/* ---- a process without a file in the folder ---- */

/* Shows counters that a process has open: in another folder, or in memory only. @return how many, or -1 with errno. */
static int show_open(long pid, int *status)
{
    char path[64], target[600];
    snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    DIR *dir = opendir(path);
    int shown = 0;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        const char *name = strrchr(target, '/');
        name = name ? name + 1 : target;
        bool anonymous = strncmp(name, "memfd:" HD_STATS_ANONYMOUS " ", sizeof("memfd:" HD_STATS_ANONYMOUS)) == 0;
        if (!anonymous && !is_counters(name, 0))
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/fd/%.20s", pid, entry->d_name);
        *status |= show_file(path);
        shown++;
    }
    int err = errno;
    if (dir)
        closedir(dir);
    errno = err;
    return dir ? shown : -1;
}

static bool has_library(long pid)
{
    char path[64], line[600];
    snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
    FILE *maps = fopen(path, "re");
    bool found = false;
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, "/libhowdah") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static int no_engine(long pid, const char *why)
{
    fprintf(stderr, "howdah-stat: process %ld has no engine with a file of counters in %s: %s\n", pid, folder(), why);
    return 1;
}

static int show_process(long pid)
{
    char path[64];
    int hidden = 0, status = 0;
    if (show_files(pid, &hidden, &status) > 0)
        return status;
    snprintf(path, sizeof(path), "/proc/%ld", pid);
    if (access(path, F_OK))
        return no_engine(pid, "there is no such process");
    int shown = hidden ? -1 : show_open(pid, &status);
    if (shown > 0)
        return status;
    if (shown < 0)
        return no_engine(pid, "it belongs to another user; ask that user, or root");
    if (has_library(pid))
        return no_engine(
            pid, "it has loaded libhowdah, but its engine is closed, or was told to keep no counters (stats.dir)");
    return no_engine(pid, "it has not loaded libhowdah; its log says why, if it was to use RDMA");
}

static int show_all(void)
{
    int hidden = 0, status = 0, shown = show_files(0, &hidden, &status);
    if (shown < 0)
        fprintf(stderr, "howdah-stat: %s: %s\n", folder(), strerror(errno));
    else if (shown == 0 && hidden == 0)
        fprintf(stderr, "howdah-stat: no engine has a file of counters in %s\n", folder());
    if (hidden)
        fprintf(stderr, "howdah-stat: %d engines of other users cannot be read; root can\n", hidden);
    return shown > 0 ? status : 1;
}

static int usage(FILE *out, int status)
{
    fputs(
        "usage: howdah-stat [--links] [--json] PID|FILE...\n"
        "       howdah-stat [--links] [--json] --all\n"
        "Shows the counters of engines: of a process, of a file, or of all processes of this node.\n"
        "  --links    the links that are up, in place of the counters: peer, transport, queue pair, credits, window,\n"
        "             stalls, and how long answers and blocks took\n"
        "  --json     as JSON\n"
        "Counters are looked for in HOWDAH_STATS_DIR, else in /dev/shm. Those of links follow within a second.\n",
        out);
    return status;
}

static int show_all_of(char **named, int count)
{
    int status = 0;
    for (int i = 0; i < count; i++) {
        char *end;
        long pid = strtol(named[i], &end, 10);
        status |= !*end && pid > 0 ? show_process(pid) : show_file(named[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    int asked = 0;
    bool all = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--links") == 0)
            wish.links = true;
        else if (strcmp(argv[i], "--json") == 0)
            wish.json = true;
        else if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (argv[i][0] == '-')
            return usage(stderr, 2);
        else
            argv[asked++] = argv[i];
    }
    if (all ? asked > 0 : asked == 0)
        return usage(stderr, 2);
    if (wish.json)
        fputs("{\"engines\": [", stdout);
    int status = all ? show_all() : show_all_of(argv, asked);
    if (wish.json)
        puts("]}");
    return status;
}
