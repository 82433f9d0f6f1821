/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_MEMORY_H
#define HD_MEMORY_H

/*
 * Buffer memory. An arena takes slabs (memfd mappings, so that other processes can map them too) from the system up to
 * a hard limit. A slab is divided into units of 64 KB (or a page, if that is larger). Small buffers share a span of
 * four units and have four size classes per doubling; larger ones are runs of units; those above a slab get one of
 * their own.
 *
 * All bookkeeping is outside the slabs: a peer process that maps them may scribble over data, never over lists.
 *
 * Each class has a place for one buffer that was just freed, which the next allocation takes without a lock: messages
 * that are answered one by one live in it. It is used while there are links, and emptied about once a second, when
 * memory is short and when counters are asked for; until then its buffer counts as in use.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <howdah/buffer.h>

#include "config/conf.h"
#include "stats/stats.h"
#include "base/util.h"

#define HD_SMALL_MAX   (48 * 1024)
#define HD_CLASS_MIN   256
#define HD_CLASS_COUNT 33 /* 256, 320, 384, 448, 512, 640, ... 48k: see class_size() */
#define HD_DEVICES_MAX 8

struct hd_slab {
    struct hd_list link;
    char *base;
    size_t size;
    int fd;
    uint32_t id;    /* never used again after the slab is gone */
    bool huge, own; /* own: holds one large buffer */
    bool foreign;   /* the program's own memory (registered.c): any range of bytes, without a descriptor */
    size_t pinned;  /* what counts against the limit */
    uint32_t units, units_free;
    /* Per device: its registration. A device that could not register the slab leaves `registered` false; buffers in it
     * then move by copy. */
    struct {
        bool registered;
        uint64_t key;
        void *handle;
    } device[HD_DEVICES_MAX];
    unsigned char *busy; /* one byte per unit */
};

struct hd_span {
    struct hd_list link; /* in its class, while it has free buffers */
    struct hd_slab *slab;
    uint32_t unit, total, available;
    struct hd_buf *free;
    struct hd_buf *bufs;
};

enum { HD_BUF_UNITS = -1, HD_BUF_REGISTERED = -2, HD_BUF_SLICE = -3 };

struct hd_buf {
    _Atomic uint32_t refs;
    int size_class; /* or HD_BUF_UNITS: a run of units; HD_BUF_REGISTERED: a foreign slab; HD_BUF_SLICE: of `whole` */
    char *data;
    size_t length, capacity;
    char *base;
    struct hd_slab *slab;
    union {
        struct hd_span *span;
        hd_buf *whole; /* a reference */
    };
    struct hd_arena *arena;
    struct hd_buf *next;
};

/* What a transport does with a new or dying slab. */
struct hd_slab_user {
    int (*add)(void *arg, struct hd_slab *slab);
    void (*remove)(void *arg, struct hd_slab *slab);
    void *arg;
};

struct hd_arena {
    pthread_mutex_t lock; /* slabs, units, spare descriptors */
    struct hd_list slabs;
    _Atomic size_t limit; /* only raised */
    size_t slab_size, unit, taken, most;
    int huge;
    uint32_t next_id;
    struct hd_buf *spare;
    struct {
        pthread_mutex_t lock;
        struct hd_list spans; /* with at least one free buffer */
        _Atomic(struct hd_buf *) warm;
    } classes[HD_CLASS_COUNT];
    struct hd_slab_user users[HD_DEVICES_MAX];
    unsigned user_count;
    struct hd_stats *stats; /* the arena's: it must live as long as the last buffer */
    _Atomic uint64_t live;  /* spans and large buffers, plus one for the engine */
    unsigned warmers;       /* links: freed buffers are kept warm for them; under `lock` */
    atomic_bool released;   /* the engine is gone: what is empty goes at once */
};

/* Takes over `stats` (from malloc) on success. */
int hd_arena_create(const struct hd_conf *conf, struct hd_stats *stats, struct hd_arena **arena);

/* Raises the limit. -EOPNOTSUPP for less than it is. */
int hd_arena_raise(struct hd_arena *arena, size_t limit);

/* Drops the engine's hold: the memory goes when the last buffer does. Slab users must be gone before. */
void hd_arena_release(struct hd_arena *arena);

/* Adds a user; its index is the device index in hd_slab. Before any allocation. */
unsigned hd_arena_add_user(struct hd_arena *arena, const struct hd_slab_user *user);

/* Calls `remove` for every slab and forgets the users. */
void hd_arena_drop_users(struct hd_arena *arena);

/* hd_buf_ref() for one who knows that it has the only reference: then nobody else counts at the same time. */
static inline hd_buf *hd_buf_ref_mine(hd_buf *buf)
{
    atomic_store_explicit(&buf->refs, 2, memory_order_relaxed);
    return buf;
}

int hd_arena_alloc(struct hd_arena *arena, size_t size, hd_buf **buf);

/* hd_buf_register() */
int hd_arena_register(struct hd_arena *arena, void *address, size_t length, hd_buf **buf);

/* Whether a buffer is the handle of memory that was deregistered. */
static inline bool hd_buf_is_gone(const hd_buf *buf)
{
    return buf->capacity == 0;
}
/* Why a range is refused: -EINVAL. */
int hd_buf_no_range(const hd_buf *buf, size_t offset, size_t length) __attribute__((cold));

/* For registered.c. The first three under arena->lock: whether the limit has room; a slab that was made joins the
 * others; leaves them and its devices, and is freed. */
int hd_slab_fits(struct hd_arena *arena, size_t size);
void hd_slab_enter(struct hd_arena *arena, struct hd_slab *slab);
void hd_slab_leave(struct hd_arena *arena, struct hd_slab *slab);
/* One less that is live: may free the arena. */
void hd_arena_drop(struct hd_arena *arena);
/* The last reference to registered memory, or to a slice, is gone. */
void hd_buf_free_lent(hd_buf *buf);

/* Whether a buffer of this size can be had once others come back: it fits what the limit leaves besides the slabs that
 * stay. */
bool hd_arena_may_have(struct hd_arena *arena, size_t size);

/* One more, or one less, for whom freed buffers are kept warm. */
void hd_arena_warm(struct hd_arena *arena, bool more);
/* Puts away what is kept warm: then memory.used.now is exact. */
void hd_arena_settle(struct hd_arena *arena);

/* Size classes, for tests. */
int hd_class_of(size_t size);
size_t hd_class_size(int size_class);

#endif
