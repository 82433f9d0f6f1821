/* SPDX-License-Identifier: Apache-2.0 */

/* Memory of the program's, which transports know like a slab, and parts of buffers. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory/memory.h"

#define NAP 200000 /* ns; what uses the memory does not know that somebody waits for its end */

/* Where a handle points to whose memory is the program's again: no device knows it. */
static struct hd_slab registered_nowhere = {.fd = -1};

/* ---- the range ---- */

/* Of /proc/self/maps: rows are in the order of their addresses. @return where [at, end) is not mapped, to be read and
 * written, any more */
static uintptr_t registered_mapped_until(FILE *maps, uintptr_t at, uintptr_t end)
{
    char *line = NULL;
    size_t room = 0;
    while (at < end && getline(&line, &room, maps) > 0) {
        uintptr_t first, behind;
        char access[5];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &first, &behind, access) != 3 || behind <= at)
            continue;
        if (first > at || access[0] != 'r' || access[1] != 'w')
            break;
        at = behind;
    }
    free(line);
    return at;
}

static int registered_check(const void *address, size_t length, size_t page)
{
    uintptr_t start = (uintptr_t)address;
    if (length == 0 || length > UINTPTR_MAX - page - start)
        return hd_error(-EINVAL, "%zu bytes at %p are no range of memory", length, address);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return hd_error(-errno, "cannot tell what memory this process has: /proc/self/maps: %s", strerror(errno));
    uintptr_t until = registered_mapped_until(maps, start, start + length);
    fclose(maps);
    return until >= start + length
               ? 0
               : hd_error(-EFAULT, "of %zu bytes at %p those from %#" PRIxPTR " on cannot be read and written", length,
                          address, until);
}

/* Under arena->lock. */
static int registered_check_overlap(struct hd_arena *arena, const struct hd_slab *slab)
{
    for (struct hd_list *n = arena->slabs.next; n != &arena->slabs; n = n->next) {
        const struct hd_slab *other = hd_container(n, struct hd_slab, link);
        if (slab->base < other->base + other->size && other->base < slab->base + slab->size)
            return hd_error(-EEXIST, "%zu bytes at %p overlap %zu bytes at %p, which %s", slab->size,
                            (void *)slab->base, other->size, (void *)other->base,
                            other->foreign ? "are registered already" : "are the engine's");
    }
    return 0;
}

static int registered_enter(struct hd_arena *arena, struct hd_slab *slab)
{
    pthread_mutex_lock(&arena->lock);
    int err = registered_check_overlap(arena, slab);
    if (!err)
        err = hd_slab_fits(arena, slab->pinned);
    if (!err)
        hd_slab_enter(arena, slab);
    pthread_mutex_unlock(&arena->lock);
    return err;
}

/* ---- registering ---- */

int hd_arena_register(struct hd_arena *arena, void *address, size_t length, hd_buf **out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int err = registered_check(address, length, page);
    if (err)
        return err;
    struct hd_slab *slab = calloc(1, sizeof(*slab));
    struct hd_buf *buf = calloc(1, sizeof(*buf));
    if (!slab || !buf) {
        free(slab);
        free(buf);
        return hd_error(-ENOMEM, "out of memory");
    }
    uintptr_t first = (uintptr_t)address & ~(page - 1);
    *slab = (struct hd_slab){.base = address,
                             .size = length,
                             .pinned = hd_align((uintptr_t)address + length - first, page),
                             .fd = -1,
                             .own = true,
                             .foreign = true};
    err = registered_enter(arena, slab);
    if (err) {
        hd_count(arena->stats, memory_refused, err == -ENOBUFS);
        free(slab);
        free(buf);
        return err;
    }
    /* Without the lock, since it takes long for much memory; nobody has a buffer in it yet. */
    for (unsigned i = 0; i < arena->user_count; i++)
        slab->device[i].registered = arena->users[i].add(arena->users[i].arg, slab) == 0;
    atomic_fetch_add_explicit(&arena->live, 1, memory_order_relaxed);
    *buf = (struct hd_buf){.size_class = HD_BUF_REGISTERED,
                           .data = address,
                           .base = address,
                           .length = length,
                           .capacity = length,
                           .slab = slab,
                           .arena = arena};
    atomic_init(&buf->refs, 1);
    *out = buf;
    return 0;
}

/* From now on the handle is of no memory, and whatever is asked of it is refused. */
static int registered_leave(hd_buf *buf)
{
    struct hd_arena *arena = buf->arena;
    pthread_mutex_lock(&arena->lock);
    struct hd_slab *slab = buf->slab;
    bool registered = slab->foreign;
    buf->slab = &registered_nowhere;
    buf->data = buf->base = NULL;
    buf->length = buf->capacity = 0;
    if (registered)
        hd_slab_leave(arena, slab);
    pthread_mutex_unlock(&arena->lock);
    return registered ? 0 : hd_error(-EINVAL, "this memory was deregistered before");
}

static int registered_in_use(const hd_buf *buf, int64_t timeout)
{
    unsigned others = atomic_load(&buf->refs) - 1;
    return hd_error(timeout == 0 ? -EAGAIN : -ETIMEDOUT,
                    "registered memory is in use: by %u sends, fetches, replies, parts or references", others);
}

int hd_buf_deregister(hd_buf *buf, int64_t timeout)
{
    const struct timespec nap = {.tv_nsec = NAP};
    int64_t deadline = hd_deadline(timeout);
    if (buf->size_class != HD_BUF_REGISTERED)
        return hd_error(-EINVAL, "this buffer is not memory that was registered");
    while (atomic_load_explicit(&buf->refs, memory_order_acquire) != 1) {
        if (hd_expired(deadline))
            return registered_in_use(buf, timeout);
        nanosleep(&nap, NULL);
    }
    return registered_leave(buf);
}

/* ---- parts ---- */

int hd_buf_slice(hd_buf *buf, size_t offset, size_t length, hd_buf **out)
{
    size_t capacity = hd_buf_capacity(buf);
    if (length == 0 || offset > capacity || length > capacity - offset)
        return hd_buf_no_range(buf, offset, length);
    struct hd_buf *slice = malloc(sizeof(*slice));
    if (!slice)
        return hd_error(-ENOMEM, "out of memory");
    *slice = (struct hd_buf){.size_class = HD_BUF_SLICE,
                             .data = buf->data + offset,
                             .base = buf->data + offset,
                             .length = length,
                             .capacity = length,
                             .slab = buf->slab,
                             .whole = hd_buf_ref(buf),
                             .arena = buf->arena};
    atomic_init(&slice->refs, 1);
    *out = slice;
    return 0;
}

int hd_buf_no_range(const hd_buf *buf, size_t offset, size_t length)
{
    return hd_buf_is_gone(buf)
               ? hd_error(-EINVAL, "this memory was deregistered")
               : hd_error(-EINVAL, "bytes %zu to %zu are not in a buffer of %zu", offset, offset + length, buf->length);
}

void hd_buf_free_lent(hd_buf *buf)
{
    struct hd_arena *arena = buf->arena;
    if (buf->size_class == HD_BUF_SLICE) {
        hd_buf_unref(buf->whole);
        free(buf);
        return;
    }
    if (buf->slab->foreign)
        registered_leave(buf);
    free(buf);
    hd_arena_drop(arena);
}
