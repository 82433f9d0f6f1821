/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SECTION    "limits"
#define COUNTERS   ((off_t)256 * 1024) /* room for the counters of a daemon and a few tools */
#define FEW_FILES  4096
#define CAP_OF_IPC 14 /* CAP_IPC_LOCK */

static bool may_lock_everything(void)
{
    char line[256];
    unsigned long long capabilities = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "CapEff:", 7) == 0)
            capabilities = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return capabilities >> CAP_OF_IPC & 1;
}

/* Locks as much as a slab. @return 0 or errno. */
static int lock_really(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    int error = mlock(memory, size) ? errno : 0;
    munmap(memory, size);
    return error;
}

static void check_memlock(struct doctor *d)
{
    struct rlimit limit;
    char a[32], b[32], c[32];
    uint64_t need = option_bytes(d, "memory.limit"), slab = option_bytes(d, "memory.slab.size");
    bool exempt = may_lock_everything();
    if (getrlimit(RLIMIT_MEMLOCK, &limit) || need == 0)
        return;
    int error = lock_really(slab);
    bool enough = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= need;
    bool serious = d->devices && !exempt;
    find(d,
         enough && !error ? HEALTHY
         : serious        ? PROBLEM
                          : WARNING,
         SECTION, "locked memory", "ulimit -l is %s, buffers may take %s; locking %s %s%s%s",
         limit.rlim_cur == RLIM_INFINITY ? "unlimited" : bytes(limit.rlim_cur, a), bytes(need, b), bytes(slab, c),
         error ? "fails: " : "works", error ? strerror(error) : "",
         !error && exempt && !enough ? " (CAP_IPC_LOCK)" : "");
    if (!enough || error)
        advise(d, "RDMA needs locked memory: set memlock to unlimited for the daemons' users "
                  "(/etc/security/limits.d, LimitMEMLOCK=infinity in systemd units, the batch system's own limits)");
}

static void check_shm(struct doctor *d)
{
    char folder[300], path[400], a[32], b[32];
    struct statvfs fs;
    if (!option(d, "stats.dir", folder, sizeof(folder))[0])
        return;
    snprintf(path, sizeof(path), "%s/howdah-doctor-%d", folder, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error = fd < 0 ? errno : 0;
    if (!error) {
        error = posix_fallocate(fd, 0, COUNTERS);
        close(fd);
        unlink(path);
    }
    if (statvfs(folder, &fs)) {
        find(d, PROBLEM, SECTION, folder, "is not there: %s", strerror(errno));
        advise(d, "mount it (mount -t tmpfs tmpfs %s), or name another folder by hadoop.rdma.stats.dir", folder);
        return;
    }
    find(d, error ? PROBLEM : HEALTHY, SECTION, folder, "%s of %s free; a file of counters %s%s",
         bytes((uint64_t)fs.f_bavail * fs.f_frsize, a), bytes((uint64_t)fs.f_blocks * fs.f_frsize, b),
         error ? "cannot be made: " : "can be made", error ? strerror(error) : "");
    if (error == ENOSPC)
        advise(d, "make room, or make it larger (mount -o remount,size=1g %s; docker run --shm-size=1g)", folder);
    else if (error)
        advise(d, "give this user the right to make files there (mode 1777), or set hadoop.rdma.stats.dir");
}

/* A number of /proc/meminfo, in its own unit. */
static uint64_t meminfo(const char *name)
{
    char line[128];
    uint64_t value = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            value = strtoull(line + strlen(name) + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static bool huge_page_works(uint64_t size)
{
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (page == MAP_FAILED)
        return false;
    *(volatile char *)page = 1;
    munmap(page, size);
    return true;
}

static void check_pages(struct doctor *d)
{
    char a[32], b[32];
    uint64_t size = meminfo("Hugepagesize") * 1024, total = meminfo("HugePages_Total"),
             unused = meminfo("HugePages_Free");
    bool must = option_is(d, "memory.huge.pages", "always"), works = size && unused && huge_page_works(size);
    find(d, HEALTHY, SECTION, "page size", "%s", bytes((uint64_t)sysconf(_SC_PAGESIZE), a));
    if (works) {
        find(d, HEALTHY, SECTION, "huge pages", "%llu of %llu free, of %s each", (unsigned long long)unused,
             (unsigned long long)total, bytes(size, a));
        return;
    }
    find(d, must ? PROBLEM : HEALTHY, SECTION, "huge pages", "none can be had (%llu of %llu free)%s",
         (unsigned long long)unused, (unsigned long long)total, must ? "" : "; ordinary pages are used");
    if (must)
        advise(d, "reserve some (sysctl vm.nr_hugepages=%llu for all of %s), or set hadoop.rdma.memory.huge.pages=auto",
               (unsigned long long)(size ? option_bytes(d, "memory.limit") / size : 0),
               bytes(option_bytes(d, "memory.limit"), b));
}

static void check_memory(struct doctor *d)
{
    char a[32], b[32], c[32];
    uint64_t total = meminfo("MemTotal") * 1024, need = option_bytes(d, "memory.limit");
    bool much = need > total / 2;
    find(d, much ? WARNING : HEALTHY, SECTION, "memory", "%s, %s available; buffers of one process may take %s",
         bytes(total, a), bytes(meminfo("MemAvailable") * 1024, b), bytes(need, c));
    if (much)
        advise(d, "every process with an engine may take that much: lower hadoop.rdma.memory.limit");
}

static void check_files(struct doctor *d)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    bool few = limit.rlim_cur < FEW_FILES;
    find(d, few ? WARNING : HEALTHY, SECTION, "open files", "ulimit -n is %llu", (unsigned long long)limit.rlim_cur);
    if (few)
        advise(d,
               "a link takes a few descriptors beside those of Hadoop itself: allow at least %d (nofile in "
               "/etc/security/limits.d, LimitNOFILE= in systemd units)",
               FEW_FILES);
}

void check_limits(struct doctor *d)
{
    check_memlock(d);
    check_shm(d);
    check_pages(d);
    check_memory(d);
    check_files(d);
}
