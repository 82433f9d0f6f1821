/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_UTIL_H
#define HD_UTIL_H

/* Small things that everything uses: errors in words, clock, lists, checksums, random numbers. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <howdah/base.h>

#define HD_CACHE_LINE 128 /* POWER's; twice x86's, which also keeps adjacent-line prefetch apart */

#define hd_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define HD_COUNT(array)                 (sizeof(array) / sizeof((array)[0]))

/* For a function that every message passes and that the compiler would rather call than repeat. */
#define HD_INLINE static inline __attribute__((always_inline))

/* Sets hd_last_error() and returns `error`, so that a function can end with `return hd_error(-EINVAL, ...)`. */
int hd_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Puts words in front of what hd_last_error() says now. */
int hd_error_context(int error, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

static inline int64_t hd_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Absolute deadline of a timeout as the API gives it; HD_FOREVER stays HD_FOREVER. */
static inline int64_t hd_deadline(int64_t timeout)
{
    if (timeout <= 0)
        return timeout < 0 ? HD_FOREVER : 0;
    int64_t now = hd_now();
    return timeout > INT64_MAX - now ? HD_FOREVER : now + timeout;
}

static inline bool hd_expired(int64_t deadline)
{
    return deadline != HD_FOREVER && (deadline == 0 || hd_now() >= deadline);
}

/* How long a call may take. The clock is read only once it really waits. */
struct hd_patience {
    int64_t timeout; /* as the API gives it */
    int64_t deadline;
    bool known;
};

static inline struct hd_patience hd_patience(int64_t timeout)
{
    return (struct hd_patience){.timeout = timeout, .deadline = timeout < 0 ? HD_FOREVER : 0, .known = timeout <= 0};
}

static inline int64_t hd_due(struct hd_patience *patience)
{
    if (!patience->known)
        patience->deadline = hd_deadline(patience->timeout);
    patience->known = true;
    return patience->deadline;
}

static inline void hd_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__powerpc64__)
    __asm__ volatile("or 27,27,27" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* The least that is not below `n`, and at least 64. */
static inline size_t hd_power_of_two(size_t n)
{
    size_t power = 64;
    while (power < n)
        power *= 2;
    return power;
}

static inline size_t hd_align(size_t n, size_t alignment)
{
    return (n + alignment - 1) & ~(alignment - 1);
}

/* Doubly linked list with a sentinel; a node that is in no list points to itself. */
struct hd_list {
    struct hd_list *next, *prev;
};

static inline void hd_list_init(struct hd_list *node)
{
    node->next = node->prev = node;
}

static inline bool hd_list_empty(const struct hd_list *node)
{
    return node->next == node;
}

static inline void hd_list_add_tail(struct hd_list *head, struct hd_list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void hd_list_remove(struct hd_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    hd_list_init(node);
}

/* Futex words. `shared` when another process maps the word too. Returns at wake-up, change, signal or timeout
 * (relative, HD_FOREVER never); the caller looks again. */
void hd_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout, bool shared);
void hd_futex_wake(_Atomic uint32_t *word, int count, bool shared);

uint32_t hd_crc32c(uint32_t crc, const void *data, size_t length);

int hd_random_bytes(void *data, size_t length);

/* Small fast generator for fault schedules: the same seed gives the same sequence everywhere. */
static inline uint64_t hd_random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* Starts a thread of ours: named, and with signals left to the program's own threads (a JVM's, say). @return 0 or
 * -errno. */
int hd_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/* Number of processors that this process may use. */
int hd_processors(void);

/* Takes over a caller's structure, which begins with its size, into one of `size` bytes here. Members that the caller's
 * header does not have are 0 then. `theirs` may be NULL if nothing is required. @return -EINVAL if it ends before
 * `least`, the end of what is required, or has something behind ours that is not 0. */
int hd_params_take(void *ours, size_t size, const void *theirs, size_t least, const char *what);
/* Gives the caller's structure, which was taken before, the members that it has. */
void hd_params_give(void *theirs, const void *ours, size_t size);

/* Memory in whole pages, whatever their size: what is registered with an adapter shares no page with anything else. For
 * free(). */
void *hd_alloc_pages(size_t size);

#endif
