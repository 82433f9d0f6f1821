/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define NAMES 64 /* tried for one file */

static const char counter_names[][HD_STATS_NAME] = {
#define HD_COUNTER(field, name) name,
#include "stats/counters.def"
};

static const char peer_counter_names[][HD_STATS_NAME] = {
#define HD_PEER_COUNTER(field, name) name,
#include "stats/counters.def"
};

static const char link_counter_names[][HD_STATS_NAME] = {
#define HD_LINK_COUNTER(field, name) name,
#include "stats/counters.def"
};

_Static_assert(sizeof(struct hd_counters) == HD_COUNT(counter_names) * 8, "one word per counter");
_Static_assert(sizeof(struct hd_peer_counters) == HD_STATS_PEER + HD_COUNT(peer_counter_names) * 8, "likewise");
_Static_assert(sizeof(struct hd_link_counters) == HD_STATS_PEER + HD_STATS_TRANSPORT + HD_COUNT(link_counter_names) * 8,
               "likewise");

_Static_assert(offsetof(struct hd_link_counters, blocks) - offsetof(struct hd_link_counters, answers) == HD_TIMES * 8,
               "as many counters as a histogram has");

/* Field 22 of /proc/PID/stat; 0 if there is no such process. */
static uint64_t process_start(long pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    line[n] = '\0';
    const char *p = strrchr(line, ')'); /* the name before it may contain anything */
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* Whether a counter file has lost its owner. The owner keeps a lock on it: a process number says nothing in another PID
 * namespace, and containers of one node may share /dev/shm. Earlier versions lock nothing, so the number counts as
 * well. */
static bool orphaned(int fd, long pid)
{
    struct hd_stats_header header;
    return read(fd, &header, sizeof(header)) == sizeof(header) && header.magic == HD_STATS_MAGIC &&
           process_start(pid) != header.start_time && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Removes what killed processes left behind; foreign or living ones stay. */
static void sweep(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d)) {
        long pid;
        int number, length = 0;
        if (sscanf(entry->d_name, "howdah-%ld-%d.stats%n", &pid, &number, &length) != 2 || entry->d_name[length] ||
            !length)
            continue;
        int fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
            continue;
        if (orphaned(fd, pid))
            unlinkat(dirfd(d), entry->d_name, 0); /* fails for those of other users */
        close(fd);
    }
    if (d)
        closedir(d);
}

/* A name that is taken belongs to another user, or to a process with our number in another PID namespace. */
static int open_new(struct hd_stats *stats, const char *dir)
{
    static atomic_int counter;
    int fd = -1;
    errno = EEXIST;
    for (int tries = 0; fd < 0 && errno == EEXIST && tries < NAMES; tries++) {
        snprintf(stats->path, sizeof(stats->path), "%s/howdah-%d-%d.stats", dir, (int)getpid(),
                 atomic_fetch_add(&counter, 1));
        fd = open(stats->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    }
    return fd;
}

static int create_file(struct hd_stats *stats, const char *dir, char *why, size_t size)
{
    int fd = open_new(stats, dir);
    /* posix_fallocate and not ftruncate: a full file system must be an error here, not a SIGBUS later */
    int err = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)stats->map_size);
    if (!err) {
        /* A file system may have no locks (Lustre without its mount option flock): nobody gets one to sweep with, then.
         */
        (void)flock(fd, LOCK_SH | LOCK_NB);
        return fd;
    }
    snprintf(why, size, "no counter file %s: %s", stats->path, strerror(err));
    if (fd >= 0) {
        unlink(stats->path);
        close(fd);
    }
    return -1;
}

static void describe(struct hd_stats *stats, const struct hd_stats_header *layout)
{
    struct hd_stats_header *header = stats->map;
    *header = *layout;
    memcpy((char *)stats->map + layout->names_offset, counter_names, sizeof(counter_names));
    memcpy((char *)stats->map + layout->peer_names_offset, peer_counter_names, sizeof(peer_counter_names));
    memcpy((char *)stats->map + layout->link_names_offset, link_counter_names, sizeof(link_counter_names));
    stats->now = (void *)((char *)stats->map + layout->values_offset);
    stats->peers = (void *)((char *)stats->map + layout->peers_offset);
    stats->links = (void *)((char *)stats->map + layout->links_offset);
    atomic_thread_fence(memory_order_release);
    header->magic = HD_STATS_MAGIC;
}

/* In place of a file: who may look into this process finds it. */
static int create_anonymous(const struct hd_stats *stats)
{
    int fd = memfd_create(HD_STATS_ANONYMOUS, MFD_CLOEXEC);
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)stats->map_size)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int hd_stats_open(struct hd_stats *stats, const char *dir, const char *engine, unsigned peers, char *why, size_t size)
{
    struct hd_stats_header h = {.header_size = sizeof(h),
                                .pid = (uint32_t)getpid(),
                                .start_time = process_start(getpid()),
                                .counters = HD_COUNT(counter_names),
                                .peer_counters = HD_COUNT(peer_counter_names),
                                .peer_slots = peers,
                                .peer_stride = sizeof(struct hd_peer_counters),
                                .link_counters = HD_COUNT(link_counter_names),
                                .link_slots = peers,
                                .link_stride = sizeof(struct hd_link_counters)};
    h.names_offset = (uint32_t)hd_align(sizeof(h), 64);
    h.peer_names_offset = h.names_offset + (uint32_t)sizeof(counter_names);
    h.values_offset = (uint32_t)hd_align(h.peer_names_offset + sizeof(peer_counter_names), HD_CACHE_LINE);
    h.peers_offset = (uint32_t)hd_align(h.values_offset + sizeof(struct hd_counters), HD_CACHE_LINE);
    size_t peers_end = h.peers_offset + (size_t)peers * sizeof(struct hd_peer_counters);
    h.link_names_offset = (uint32_t)hd_align(peers_end, 64);
    h.links_offset = (uint32_t)hd_align(h.link_names_offset + sizeof(link_counter_names), HD_CACHE_LINE);
    snprintf(h.engine, sizeof(h.engine), "%s", engine);

    memset(stats, 0, sizeof(*stats));
    pthread_mutex_init(&stats->lock, NULL);
    stats->peer_slots = peers;
    stats->map_size = h.links_offset + (size_t)peers * sizeof(struct hd_link_counters);
    why[0] = '\0';
    int fd = -1;
    if (dir[0]) {
        sweep(dir);
        fd = create_file(stats, dir, why, size);
        if (fd < 0) {
            stats->path[0] = '\0';
            snprintf(h.why, sizeof(h.why), "%s", why);
            fd = create_anonymous(stats);
        }
    }
    stats->fd = fd;
    stats->map =
        mmap(NULL, stats->map_size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (stats->map == MAP_FAILED) {
        int err = errno;
        hd_stats_unlink(stats);
        return hd_error(-err, "no memory for counters: %s", strerror(err));
    }
    describe(stats, &h);
    return 0;
}

void hd_stats_unlink(struct hd_stats *stats)
{
    if (stats->path[0])
        unlink(stats->path);
    stats->path[0] = '\0';
    if (stats->fd >= 0)
        close(stats->fd); /* and the lock goes with it */
    stats->fd = -1;
}

void hd_stats_close(struct hd_stats *stats)
{
    hd_stats_unlink(stats);
    munmap(stats->map, stats->map_size);
    pthread_mutex_destroy(&stats->lock);
}

struct hd_peer_counters *hd_stats_peer(struct hd_stats *stats, const char *peer)
{
    pthread_mutex_lock(&stats->lock);
    struct hd_peer_counters *slot = stats->peers;
    struct hd_peer_counters *last = &stats->peers[stats->peer_slots - 1];
    while (slot < last && slot->peer[0] && strncmp(slot->peer, peer, HD_STATS_PEER - 1) != 0)
        slot++;
    if (!slot->peer[0])
        snprintf(slot->peer, HD_STATS_PEER, "%s", slot == last ? "(others)" : peer);
    pthread_mutex_unlock(&stats->lock);
    return slot;
}

struct hd_link_counters *hd_stats_link(struct hd_stats *stats, const char *peer, const char *transport)
{
    pthread_mutex_lock(&stats->lock);
    struct hd_link_counters *slot = stats->links, *end = slot + stats->peer_slots;
    while (slot < end && atomic_load_explicit(&slot->number, memory_order_acquire))
        slot++;
    if (slot < end) {
        memset((char *)slot, 0, sizeof(*slot));
        snprintf(slot->peer, sizeof(slot->peer), "%s", peer);
        snprintf(slot->transport, sizeof(slot->transport), "%s", transport);
        atomic_store_explicit(&slot->number, ++stats->link_number, memory_order_release);
    }
    pthread_mutex_unlock(&stats->lock);
    return slot < end ? slot : NULL;
}

void hd_stats_show_times(struct hd_link_counters *link, size_t at, const struct hd_times *times)
{
    _Atomic uint64_t *shown = (void *)((char *)link + at);
    for (size_t i = 0; i < HD_TIMES; i++)
        atomic_store_explicit(&shown[i], times->counts[i], memory_order_relaxed);
}

void hd_stats_link_end(struct hd_link_counters *link)
{
    if (link)
        atomic_store_explicit(&link->number, 0, memory_order_release);
}

struct hd_transport_counters *hd_stats_transport(struct hd_stats *stats, const char *transport)
{
    static const struct {
        const char *name;
        size_t at;
    } shares[] = {{"self", offsetof(struct hd_counters, self_links)},
                  {"shm", offsetof(struct hd_counters, shm_links)},
                  {"verbs", offsetof(struct hd_counters, verbs_links)},
                  {"udapl", offsetof(struct hd_counters, udapl_links)}};
    size_t i = 0;
    while (i < HD_COUNT(shares) - 1 && strcmp(shares[i].name, transport) != 0)
        i++;
    return (void *)((char *)stats->now + shares[i].at);
}

int hd_stats_read(struct hd_stats *stats, const char *name, uint64_t *value)
{
    for (size_t i = 0; i < HD_COUNT(counter_names); i++)
        if (strcmp(counter_names[i], name) == 0) {
            *value = atomic_load_explicit((_Atomic uint64_t *)stats->now + i, memory_order_relaxed);
            return 0;
        }
    return hd_error(-ENOENT, "no counter is named %s", name);
}

bool hd_stats_lags(size_t i)
{
    size_t first = offsetof(struct hd_counters, frames_sent) / 8,
           last = offsetof(struct hd_counters, udapl_bytes_received) / 8;
    return (i >= first && i <= last) || i == offsetof(struct hd_counters, memory_used) / 8;
}

int hd_stats_read_at(struct hd_stats *stats, size_t i, const char **name, uint64_t *value)
{
    if (i >= HD_COUNT(counter_names))
        return hd_error(-ENOENT, "there are %zu counters", HD_COUNT(counter_names));
    if (name)
        *name = counter_names[i];
    if (value)
        *value = atomic_load_explicit((_Atomic uint64_t *)stats->now + i, memory_order_relaxed);
    return 0;
}
