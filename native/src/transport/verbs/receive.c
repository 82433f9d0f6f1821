/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The shared receive queue: one for all links of an engine, so that its memory follows what links may send at a time,
 * up to verbs.receive.buffers, rather than their number. Should it run dry all the same, the device tells the sender to
 * try again, without end: nothing is lost.
 *
 * Buffers come from the arena. What is in the queue is counted as memory.receive.now, not as memory.used.now. A frame
 * that fills most of its buffer is handed up in it, and another buffer takes its place; if there is none, the frame is
 * copied, so the queue never shrinks.
 *
 * A queue pair that ends in the middle of a message may keep the buffer it was writing to, and not every device says
 * so. Such a buffer comes back when the queue is destroyed: with its last user. New links get a new queue when some may
 * be missing, so that the old one goes in time.
 */

#include <stdlib.h>

#include "transport/verbs/verbs.h"

#define POOL_MIN     16 /* buffers without which a link does not start */
#define SUSPECTS_MAX 16
#define SPREAD       ((size_t)1024)

static size_t buffer_size(const struct verbs_device *dev)
{
    return sizeof(struct hd_frame) + dev->frame_max;
}

/* Memory that waits for frames is not in use by anyone. */
static void count_as_waiting(struct verbs_device *dev, const hd_buf *buf, bool waiting)
{
    size_t n = buf->capacity;
    hd_count(dev->device->stats, memory_used, waiting ? -n : n);
    hd_count(dev->device->stats, memory_receive, waiting ? n : -n);
}

/* Buffers of one size lie so that the same bytes of all of them fall on few lines of a cache: there is room in them to
 * spread that. */
static size_t spread(const struct verbs_device *dev, const hd_buf *buf, uint32_t index)
{
    return index % ((buf->capacity - buffer_size(dev)) / SPREAD + 1) * SPREAD;
}

static int rx_init(struct verbs_device *dev, struct verbs_rx *rx, uint32_t index)
{
    *rx = (struct verbs_rx){0};
    int err = hd_arena_alloc(dev->device->arena, buffer_size(dev), &rx->buf);
    if (err)
        return err;
    rx->at = rx->buf->base;
    if (hd_verbs_reaches(dev, rx->buf)) {
        rx->lkey = hd_verbs_key_of(dev, rx->buf);
        rx->at += spread(dev, rx->buf, index);
    } else { /* the slab could not be, but so little may */
        rx->own = hd_verbs_register(dev, rx->buf->base, buffer_size(dev), IBV_ACCESS_LOCAL_WRITE);
        if (!rx->own) {
            hd_buf_unref(rx->buf);
            return -ENOMEM;
        }
        rx->lkey = rx->own->lkey;
    }
    count_as_waiting(dev, rx->buf, true);
    return 0;
}

static void rx_free(struct verbs_device *dev, struct verbs_rx *rx)
{
    if (rx->own)
        dev->api->dereg_mr(rx->own);
    count_as_waiting(dev, rx->buf, false);
    hd_buf_unref(rx->buf);
}

int hd_verbs_pool_post(struct verbs_device *dev, struct verbs_pool *pool, uint32_t index)
{
    struct verbs_rx *rx = &pool->entries[index];
    struct ibv_sge sge = {.addr = (uintptr_t)rx->at, .length = (uint32_t)buffer_size(dev), .lkey = rx->lkey};
    struct ibv_recv_wr wr = {.wr_id = VERBS_RX_TAG | index, .sg_list = &sge, .num_sge = 1}, *bad;
    int err = ibv_post_srq_recv(pool->srq, &wr, &bad);
    return err ? hd_error(-err, "verbs device %s takes no receive buffer: %s", dev->name, strerror(err)) : 0;
}

/* Under dev->lock. */
static int fill(struct verbs_device *dev, struct verbs_pool *pool)
{
    uint32_t target = pool->wanted < pool->room ? pool->wanted : pool->room;
    int err = 0;
    while (pool->posted < target && !err) {
        err = rx_init(dev, &pool->entries[pool->posted], pool->posted);
        if (err)
            break;
        err = hd_verbs_pool_post(dev, pool, pool->posted);
        if (err)
            rx_free(dev, &pool->entries[pool->posted]);
        else
            pool->posted++;
    }
    atomic_store(&pool->shortage, pool->posted < target);
    return err;
}

void hd_verbs_pool_fill(struct verbs_device *dev, struct verbs_pool *pool)
{
    pthread_mutex_lock(&dev->lock);
    fill(dev, pool);
    pthread_mutex_unlock(&dev->lock);
}

/* At most half of what the engine may take: what arrives has to go somewhere else, too. */
static uint32_t most_buffers(const struct verbs_device *dev)
{
    const struct hd_conf *conf = dev->device->conf;
    uint64_t room = (uint64_t)conf->verbs_receive_buffers,
             half = (uint64_t)dev->device->arena->limit / 2 / buffer_size(dev);
    if (dev->attr.max_srq_wr > 0 && room > (uint64_t)dev->attr.max_srq_wr)
        room = (uint64_t)dev->attr.max_srq_wr;
    if (room > half)
        room = half > POOL_MIN ? half : POOL_MIN;
    return (uint32_t)room;
}

static struct verbs_pool *pool_create(struct verbs_device *dev)
{
    struct verbs_pool *pool = calloc(1, sizeof(*pool));
    if (!pool) {
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    pool->room = most_buffers(dev);
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = pool->room, .max_sge = 1}};
    pool->entries = calloc(pool->room, sizeof(*pool->entries));
    pool->srq = pool->entries ? dev->api->create_srq(dev->pd, &attr) : NULL;
    if (!pool->srq) {
        hd_error(-ENOMEM, "verbs device %s gives no receive queue for %u buffers: %s; lower %s", dev->name, pool->room,
                 strerror(errno), HD_KEY_PREFIX "verbs.receive.buffers");
        free(pool->entries);
        free(pool);
        return NULL;
    }
    return pool;
}

static void pool_destroy(struct verbs_device *dev, struct verbs_pool *pool)
{
    dev->api->destroy_srq(pool->srq);
    for (uint32_t i = 0; i < pool->posted; i++)
        rx_free(dev, &pool->entries[i]);
    free(pool->entries);
    free(pool);
}

int hd_verbs_pool_join(struct verbs_device *dev, uint32_t frames, struct verbs_pool **out)
{
    int err = 0;
    pthread_mutex_lock(&dev->lock);
    if (!dev->pool)
        dev->pool = pool_create(dev);
    struct verbs_pool *pool = dev->pool;
    if (pool) {
        pool->users++;
        pool->wanted += frames;
        err = fill(dev, pool);
        if (pool->posted >= POOL_MIN)
            err = 0; /* enough to begin with; the rest comes when there is memory */
        *out = pool;
    } else {
        err = -ENOMEM;
    }
    pthread_mutex_unlock(&dev->lock);
    if (pool && err) {
        hd_verbs_pool_leave(dev, pool, frames, true);
        *out = NULL;
    }
    return err;
}

void hd_verbs_pool_leave(struct verbs_device *dev, struct verbs_pool *pool, uint32_t frames, bool clean)
{
    pthread_mutex_lock(&dev->lock);
    pool->wanted -= frames;
    pool->suspects += !clean;
    bool last = --pool->users == 0;
    if (dev->pool == pool && (last || pool->suspects >= SUSPECTS_MAX))
        dev->pool = NULL;
    pthread_mutex_unlock(&dev->lock);
    if (last) /* without the lock: the watcher may need it to finish with an event of this queue */
        pool_destroy(dev, pool);
}

hd_buf *hd_verbs_pool_spare(struct verbs_device *dev)
{
    hd_buf *buf;
    if (hd_arena_alloc(dev->device->arena, buffer_size(dev), &buf))
        return NULL;
    if (hd_verbs_reaches(dev, buf))
        return buf;
    hd_buf_unref(buf);
    return NULL;
}

hd_buf *hd_verbs_pool_lend_first(struct verbs_device *dev, hd_buf **lent)
{
    *lent = hd_verbs_pool_spare(dev);
    if (*lent)
        count_as_waiting(dev, *lent, true);
    return *lent;
}

void hd_verbs_pool_take_back(struct verbs_device *dev, hd_buf **lent)
{
    if (*lent && atomic_load_explicit(&(*lent)->refs, memory_order_acquire) == 1)
        hd_verbs_pool_unlend(dev, lent);
}

void hd_verbs_pool_unlend(struct verbs_device *dev, hd_buf **lent)
{
    if (!*lent)
        return;
    count_as_waiting(dev, *lent, false);
    hd_buf_unref(*lent);
    *lent = NULL;
}

void hd_verbs_pool_handed(struct verbs_device *dev, struct verbs_rx *rx, hd_buf *spare)
{
    if (atomic_load_explicit(&rx->buf->refs, memory_order_acquire) == 1) { /* nobody kept it */
        hd_buf_unref(spare);
        return;
    }
    count_as_waiting(dev, rx->buf, false);
    count_as_waiting(dev, spare, true);
    rx->at = spare->base + (rx->at - rx->buf->base); /* both are of one size */
    hd_buf_unref(rx->buf);
    rx->buf = spare;
    rx->lkey = hd_verbs_key_of(dev, spare);
}
