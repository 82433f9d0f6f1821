/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN_UNITS 4
#define HUGE_PAGE  ((size_t)2 << 20)

size_t hd_class_size(int size_class)
{
    return ((size_t)(4 + size_class % 4) * HD_CLASS_MIN / 4) << (size_class / 4);
}

int hd_class_of(size_t size)
{
    if (size <= HD_CLASS_MIN)
        return 0;
    int log = 63 - __builtin_clzll(size - 1);               /* size is in (2^log, 2^(log+1)] */
    int quarter = (int)(((size - 1) >> (log - 2)) & 3) + 1; /* rounded up within the doubling */
    return (log - 8) * 4 + quarter;
}

/* ---- slabs ---- */

static int slab_memfd(size_t size, bool huge)
{
    int fd = memfd_create("howdah-slab", MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB : 0));
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

static int slab_map(struct hd_slab *slab, bool huge)
{
    int fd = slab_memfd(slab->size, huge);
    if (fd < 0)
        return fd;
    void *base = mmap(NULL, slab->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        int err = -errno;
        close(fd);
        return err;
    }
    slab->base = base;
    slab->fd = fd;
    slab->huge = huge;
    return 0;
}

static int slab_map_any(struct hd_arena *arena, struct hd_slab *slab)
{
    int err = -ENOMEM;
    if (arena->huge != HD_HUGE_NEVER && slab->size % HUGE_PAGE == 0)
        err = slab_map(slab, true);
    if (!err)
        return 0;
    if (arena->huge == HD_HUGE_ALWAYS)
        return hd_error(err, "no huge pages for %zu bytes of buffers (%s); reserve some or set %s to auto", slab->size,
                        strerror(-err), HD_KEY_PREFIX "memory.huge.pages");
    err = slab_map(slab, false);
    return err ? hd_error(err, "no memory for %zu bytes of buffers: %s", slab->size, strerror(-err)) : 0;
}

static void slab_destroy(struct hd_slab *slab)
{
    if (slab->foreign) {
        free(slab);
        return;
    }
    /* A peer may keep its mapping for a while; take the pages back all the same. */
    if (fallocate(slab->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)slab->size)) {
        /* then they go with the last mapping */
    }
    munmap(slab->base, slab->size);
    close(slab->fd);
    free(slab->busy);
    free(slab);
}

int hd_slab_fits(struct hd_arena *arena, size_t size)
{
    size_t limit = arena->limit;
    return size <= limit - arena->taken ? 0
                                        : hd_error(-ENOBUFS, "buffers would need %zu bytes more than %s=%zu allows",
                                                   size - (limit - arena->taken), HD_KEY_PREFIX "memory.limit", limit);
}

void hd_slab_enter(struct hd_arena *arena, struct hd_slab *slab)
{
    slab->id = arena->next_id++;
    arena->taken += slab->pinned;
    if (arena->taken > arena->most) {
        hd_count(arena->stats, memory_peak, arena->taken - arena->most);
        arena->most = arena->taken;
    }
    hd_count(arena->stats, memory_pinned, slab->pinned);
    hd_count(arena->stats, memory_huge, slab->huge ? slab->pinned : 0);
    hd_count(arena->stats, memory_registered, slab->foreign ? slab->pinned : 0);
    hd_list_add_tail(&arena->slabs, &slab->link);
}

/* Under arena->lock. */
static int slab_create(struct hd_arena *arena, size_t size, bool own, struct hd_slab **out)
{
    int err = hd_slab_fits(arena, size);
    if (err)
        return err;
    struct hd_slab *slab = calloc(1, sizeof(*slab));
    uint32_t units = (uint32_t)(size / arena->unit);
    if (!slab || !(slab->busy = calloc(units, 1))) {
        free(slab);
        return hd_error(-ENOMEM, "out of memory");
    }
    slab->size = slab->pinned = size;
    slab->own = own;
    slab->units = slab->units_free = units;
    err = slab_map_any(arena, slab);
    if (err) {
        free(slab->busy);
        free(slab);
        return err;
    }
    hd_slab_enter(arena, slab);
    for (unsigned i = 0; i < arena->user_count; i++)
        slab->device[i].registered = arena->users[i].add(arena->users[i].arg, slab) == 0;
    *out = slab;
    return 0;
}

void hd_slab_leave(struct hd_arena *arena, struct hd_slab *slab)
{
    for (unsigned i = 0; i < arena->user_count; i++)
        if (slab->device[i].registered)
            arena->users[i].remove(arena->users[i].arg, slab);
    hd_list_remove(&slab->link);
    arena->taken -= slab->pinned;
    hd_count(arena->stats, memory_pinned, -slab->pinned);
    hd_count(arena->stats, memory_huge, slab->huge ? -slab->pinned : 0);
    hd_count(arena->stats, memory_registered, slab->foreign ? -slab->pinned : 0);
    slab_destroy(slab);
}

/* First run of `count` free units. Under arena->lock. */
static bool slab_find(const struct hd_slab *slab, uint32_t count, uint32_t *unit)
{
    for (uint32_t i = 0, run = 0; i < slab->units; i++) {
        run = slab->busy[i] ? 0 : run + 1;
        if (run == count) {
            *unit = i + 1 - count;
            return true;
        }
    }
    return false;
}

/* Under arena->lock. */
static int units_take(struct hd_arena *arena, uint32_t count, struct hd_slab **out, uint32_t *unit)
{
    size_t size = (size_t)count * arena->unit;
    bool own = size > arena->slab_size;
    if (!own) {
        for (struct hd_list *n = arena->slabs.next; n != &arena->slabs; n = n->next) {
            struct hd_slab *slab = hd_container(n, struct hd_slab, link);
            if (!slab->own && slab->units_free >= count && slab_find(slab, count, unit)) {
                *out = slab;
                goto found;
            }
        }
    }
    int err = slab_create(arena, own ? size : arena->slab_size, own, out);
    if (err)
        return err;
    *unit = 0;
found:
    memset((*out)->busy + *unit, 1, count);
    (*out)->units_free -= count;
    return 0;
}

/* Under arena->lock. */
static void units_give(struct hd_arena *arena, struct hd_slab *slab, uint32_t unit, uint32_t count)
{
    memset(slab->busy + unit, 0, count);
    slab->units_free += count;
    if (slab->own)
        hd_slab_leave(arena, slab);
}

/* ---- small buffers ---- */

static struct hd_span *span_create(struct hd_arena *arena, int size_class)
{
    size_t size = hd_class_size(size_class);
    uint32_t total = (uint32_t)(SPAN_UNITS * arena->unit / size);
    struct hd_span *span = calloc(1, sizeof(*span));
    if (!span || !(span->bufs = calloc(total, sizeof(*span->bufs)))) {
        free(span);
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    pthread_mutex_lock(&arena->lock);
    int err = units_take(arena, SPAN_UNITS, &span->slab, &span->unit);
    pthread_mutex_unlock(&arena->lock);
    if (err) {
        free(span->bufs);
        free(span);
        return NULL;
    }
    atomic_fetch_add_explicit(&arena->live, 1, memory_order_relaxed);
    hd_list_init(&span->link);
    span->total = span->available = total;
    char *base = span->slab->base + span->unit * arena->unit;
    for (uint32_t i = total; i-- > 0;) {
        struct hd_buf *buf = &span->bufs[i];
        *buf = (struct hd_buf){.size_class = size_class,
                               .base = base + i * size,
                               .capacity = size,
                               .slab = span->slab,
                               .span = span,
                               .arena = arena,
                               .next = span->free};
        span->free = buf;
    }
    return span;
}

/* May free the arena: it goes with the last span. */
static void span_destroy(struct hd_arena *arena, struct hd_span *span)
{
    pthread_mutex_lock(&arena->lock);
    units_give(arena, span->slab, span->unit, SPAN_UNITS);
    pthread_mutex_unlock(&arena->lock);
    free(span->bufs);
    free(span);
    hd_arena_drop(arena);
}

static int small_alloc(struct hd_arena *arena, int size_class, hd_buf **out)
{
    struct hd_list *spans = &arena->classes[size_class].spans;
    pthread_mutex_lock(&arena->classes[size_class].lock);
    if (hd_list_empty(spans)) {
        struct hd_span *fresh = span_create(arena, size_class);
        if (!fresh) {
            pthread_mutex_unlock(&arena->classes[size_class].lock);
            return -ENOBUFS;
        }
        hd_list_add_tail(spans, &fresh->link);
    }
    struct hd_span *span = hd_container(spans->next, struct hd_span, link);
    struct hd_buf *buf = span->free;
    span->free = buf->next;
    if (--span->available == 0)
        hd_list_remove(&span->link);
    pthread_mutex_unlock(&arena->classes[size_class].lock);
    hd_count(arena->stats, memory_used, buf->capacity);
    *out = buf;
    return 0;
}

static void small_free(struct hd_arena *arena, struct hd_buf *buf)
{
    struct hd_span *span = buf->span, *dead = NULL;
    hd_count(arena->stats, memory_used, -buf->capacity);
    struct hd_list *spans = &arena->classes[buf->size_class].spans;
    pthread_mutex_t *lock = &arena->classes[buf->size_class].lock;
    pthread_mutex_lock(lock);
    buf->next = span->free;
    span->free = buf;
    if (span->available++ == 0)
        hd_list_add_tail(spans, &span->link);
    /* One empty span stays, so that a lone buffer going in and out costs little. */
    if (span->available == span->total && (spans->next != spans->prev || atomic_load(&arena->released))) {
        hd_list_remove(&span->link);
        dead = span;
    }
    pthread_mutex_unlock(lock);
    if (dead)
        span_destroy(arena, dead);
}

/* ---- the buffer that each class keeps warm ---- */

/* What the place holds while nobody wants buffers kept warm: then nothing can be put there, however late. */
static struct hd_buf closed;

static hd_buf *warm_take(struct hd_arena *arena, int size_class)
{
    _Atomic(struct hd_buf *) *place = &arena->classes[size_class].warm;
    struct hd_buf *buf = atomic_load_explicit(place, memory_order_relaxed);
    return buf && buf != &closed && atomic_compare_exchange_strong(place, &buf, NULL) ? buf : NULL;
}

/* @return false if the place is taken. After that it may be anybody's, and the arena gone. */
static bool warm_give(struct hd_arena *arena, hd_buf *buf)
{
    _Atomic(struct hd_buf *) *place = &arena->classes[buf->size_class].warm;
    struct hd_buf *expected = NULL;
    return !atomic_load_explicit(place, memory_order_relaxed) && atomic_compare_exchange_strong(place, &expected, buf);
}

void hd_arena_settle(struct hd_arena *arena)
{
    for (int i = 0; i < HD_CLASS_COUNT; i++) {
        hd_buf *buf = warm_take(arena, i);
        if (buf)
            small_free(arena, buf);
    }
}

void hd_arena_warm(struct hd_arena *arena, bool more)
{
    struct hd_buf *left[HD_CLASS_COUNT] = {NULL};
    pthread_mutex_lock(&arena->lock);
    if (more && arena->warmers++ == 0) {
        for (int i = 0; i < HD_CLASS_COUNT; i++)
            atomic_store(&arena->classes[i].warm, NULL);
    } else if (!more && --arena->warmers == 0) {
        for (int i = 0; i < HD_CLASS_COUNT; i++)
            left[i] = atomic_exchange(&arena->classes[i].warm, &closed);
    }
    pthread_mutex_unlock(&arena->lock);
    for (int i = 0; i < HD_CLASS_COUNT; i++)
        if (left[i])
            small_free(arena, left[i]);
}

/* ---- large buffers ---- */

static int large_alloc(struct hd_arena *arena, size_t size, hd_buf **out)
{
    size_t limit = arena->limit;
    if (size > limit)
        return hd_error(-ENOBUFS, "a buffer of %zu bytes is above %s=%zu", size, HD_KEY_PREFIX "memory.limit", limit);
    uint32_t count = (uint32_t)((size + arena->unit - 1) / arena->unit);
    struct hd_slab *slab;
    uint32_t unit;
    pthread_mutex_lock(&arena->lock);
    struct hd_buf *buf = arena->spare;
    if (buf)
        arena->spare = buf->next;
    else
        buf = malloc(sizeof(*buf));
    int err = buf ? units_take(arena, count, &slab, &unit) : hd_error(-ENOMEM, "out of memory");
    if (err && buf) {
        buf->next = arena->spare;
        arena->spare = buf;
    }
    pthread_mutex_unlock(&arena->lock);
    if (err)
        return err;
    *buf = (struct hd_buf){.size_class = HD_BUF_UNITS,
                           .base = slab->base + unit * arena->unit,
                           .capacity = (size_t)count * arena->unit,
                           .slab = slab,
                           .arena = arena};
    atomic_fetch_add_explicit(&arena->live, 1, memory_order_relaxed);
    hd_count(arena->stats, memory_used, buf->capacity);
    *out = buf;
    return 0;
}

static void large_free(struct hd_arena *arena, struct hd_buf *buf)
{
    hd_count(arena->stats, memory_used, -buf->capacity);
    pthread_mutex_lock(&arena->lock);
    uint32_t unit = (uint32_t)((size_t)(buf->base - buf->slab->base) / arena->unit);
    units_give(arena, buf->slab, unit, (uint32_t)(buf->capacity / arena->unit));
    buf->next = arena->spare;
    arena->spare = buf;
    pthread_mutex_unlock(&arena->lock);
    hd_arena_drop(arena);
}

/* ---- the arena ---- */

int hd_arena_create(const struct hd_conf *conf, struct hd_stats *stats, struct hd_arena **out)
{
    struct hd_arena *arena = calloc(1, sizeof(*arena));
    if (!arena)
        return hd_error(-ENOMEM, "out of memory");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    arena->unit = page > 65536 ? page : 65536;
    atomic_init(&arena->limit, conf->memory_limit);
    arena->slab_size = hd_align(conf->memory_slab_size, arena->unit);
    if (arena->slab_size > arena->limit)
        arena->slab_size = arena->limit & ~(arena->unit - 1);
    arena->huge = conf->memory_huge_pages;
    arena->stats = stats;
    hd_count(stats, memory_limit, arena->limit);
    atomic_init(&arena->live, 1);
    pthread_mutex_init(&arena->lock, NULL);
    hd_list_init(&arena->slabs);
    for (int i = 0; i < HD_CLASS_COUNT; i++) {
        pthread_mutex_init(&arena->classes[i].lock, NULL);
        hd_list_init(&arena->classes[i].spans);
        atomic_init(&arena->classes[i].warm, &closed);
    }
    *out = arena;
    return 0;
}

int hd_arena_raise(struct hd_arena *arena, size_t limit)
{
    pthread_mutex_lock(&arena->lock);
    size_t before = arena->limit;
    if (limit >= before) {
        arena->limit = limit;
        hd_count(arena->stats, memory_limit, limit - before);
    }
    pthread_mutex_unlock(&arena->lock);
    return limit >= before ? 0 : hd_error(-EOPNOTSUPP, "it can be raised from %zu bytes, not lowered", before);
}

unsigned hd_arena_add_user(struct hd_arena *arena, const struct hd_slab_user *user)
{
    arena->users[arena->user_count] = *user;
    return arena->user_count++;
}

void hd_arena_drop_users(struct hd_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    for (struct hd_list *n = arena->slabs.next; n != &arena->slabs; n = n->next) {
        struct hd_slab *slab = hd_container(n, struct hd_slab, link);
        for (unsigned i = 0; i < arena->user_count; i++)
            if (slab->device[i].registered)
                arena->users[i].remove(arena->users[i].arg, slab);
    }
    arena->user_count = 0;
    pthread_mutex_unlock(&arena->lock);
}

void hd_arena_drop(struct hd_arena *arena)
{
    if (atomic_fetch_sub_explicit(&arena->live, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < HD_CLASS_COUNT; i++)
        pthread_mutex_destroy(&arena->classes[i].lock);
    while (!hd_list_empty(&arena->slabs))
        hd_slab_leave(arena, hd_container(arena->slabs.next, struct hd_slab, link));
    while (arena->spare) {
        struct hd_buf *buf = arena->spare;
        arena->spare = buf->next;
        free(buf);
    }
    pthread_mutex_destroy(&arena->lock);
    hd_stats_close(arena->stats);
    free(arena->stats);
    free(arena);
}

/* The empty span that a class kept; from now on none is. */
static struct hd_span *take_empty(struct hd_arena *arena, int size_class)
{
    struct hd_list *spans = &arena->classes[size_class].spans;
    struct hd_span *empty = NULL;
    pthread_mutex_lock(&arena->classes[size_class].lock);
    for (struct hd_list *n = spans->next; n != spans && !empty; n = n->next) {
        struct hd_span *span = hd_container(n, struct hd_span, link);
        if (span->available == span->total)
            empty = span;
    }
    if (empty)
        hd_list_remove(&empty->link);
    pthread_mutex_unlock(&arena->classes[size_class].lock);
    return empty;
}

void hd_arena_release(struct hd_arena *arena)
{
    atomic_store(&arena->released, true);
    for (int i = 0; i < HD_CLASS_COUNT; i++)
        for (struct hd_span *span; (span = take_empty(arena, i));)
            span_destroy(arena, span);
    hd_arena_drop(arena);
}

static int allocate(struct hd_arena *arena, size_t size, hd_buf **out)
{
    return size <= HD_SMALL_MAX ? small_alloc(arena, hd_class_of(size), out) : large_alloc(arena, size, out);
}

static int allocate_or_settle(struct hd_arena *arena, size_t size, hd_buf **out)
{
    if (size == 0)
        return hd_error(-EINVAL, "a buffer needs at least one byte");
    int err = allocate(arena, size, out);
    if (err) { /* what is kept warm may be what is missing */
        hd_arena_settle(arena);
        err = allocate(arena, size, out);
    }
    if (err)
        hd_count(arena->stats, memory_refused, 1);
    return err;
}

int hd_arena_alloc(struct hd_arena *arena, size_t size, hd_buf **out)
{
    hd_buf *buf = size - 1 < HD_SMALL_MAX ? warm_take(arena, hd_class_of(size)) : NULL;
    int err = buf ? 0 : allocate_or_settle(arena, size, &buf);
    if (err)
        return err;
    atomic_store_explicit(&buf->refs, 1, memory_order_relaxed);
    buf->data = buf->base;
    buf->length = size;
    buf->next = NULL;
    *out = buf;
    return 0;
}

bool hd_arena_may_have(struct hd_arena *arena, size_t size)
{
    pthread_mutex_lock(&arena->lock);
    size_t stays = 0;
    for (struct hd_list *n = arena->slabs.next; n != &arena->slabs; n = n->next) {
        const struct hd_slab *slab = hd_container(n, struct hd_slab, link);
        stays += slab->own && !slab->foreign ? 0 : slab->pinned;
    }
    bool may = size <= arena->slab_size || size <= arena->limit - stays;
    pthread_mutex_unlock(&arena->lock);
    return may;
}

hd_buf *hd_buf_ref(hd_buf *buf)
{
    atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);
    return buf;
}

void hd_buf_unref(hd_buf *buf)
{
    if (!buf)
        return;
    /* Whoever has the only reference need not share the count with anybody. */
    uint32_t refs = atomic_load_explicit(&buf->refs, memory_order_acquire);
    if (refs != 1)
        refs = atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel);
    if (refs == 0)
        abort(); /* one release too many: the memory may be somebody else's by now */
    if (refs != 1)
        return;
    atomic_store_explicit(&buf->refs, 0, memory_order_relaxed);
    struct hd_arena *arena = buf->arena;
    if (buf->size_class == HD_BUF_UNITS)
        large_free(arena, buf);
    else if (buf->size_class < 0)
        hd_buf_free_lent(buf);
    else if (!warm_give(arena, buf))
        small_free(arena, buf);
}

void *hd_buf_data(hd_buf *buf)
{
    return buf->data;
}

size_t hd_buf_length(const hd_buf *buf)
{
    return buf->length;
}

size_t hd_buf_capacity(const hd_buf *buf)
{
    return buf->capacity - (size_t)(buf->data - buf->base);
}

int hd_buf_set_length(hd_buf *buf, size_t length)
{
    if (length > hd_buf_capacity(buf))
        return hd_error(-EINVAL, "length %zu is above the buffer's capacity %zu", length, hd_buf_capacity(buf));
    buf->length = length;
    return 0;
}
