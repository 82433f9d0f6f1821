/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that read file ranges for fetches, piece by piece. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/fetch/fetch.h"

#define SPARE_SHARE    16 /* of the memory that there may be at all, the spare buffer takes at most this part */
#define TRIES_IN_A_ROW 8  /* jobs that are tried before a pause, where memory is short */

/* ---- what a link may hold ----
 *
 * Pieces stay in memory until the client has them. A client that takes nothing must not hold all of it: a link may hold
 * half as much as is free beside. So however many links stand still, some memory is left, and who takes what he asked
 * for gets more of it. One piece a link may always have, and one of a block for which the client has its memory: such
 * blocks end, and where memory is full of blocks that have begun, nothing else makes room.
 */

static bool io_one_has_landed(const struct hd_link *link)
{
    for (const struct hd_list *n = link->fetch.served.next; n != &link->fetch.served; n = n->next) {
        const struct hd_fetch *f = hd_container(n, struct hd_fetch, in_served);
        if (f->piece_bytes && atomic_load(&f->landed))
            return true;
    }
    return false;
}

static bool io_may_hold(const struct hd_fetch *f, size_t length)
{
    const struct hd_link *link = f->link;
    struct hd_arena *arena = link->engine->arena;
    if (link->fetch.piece_bytes == 0)
        return true;
    const struct hd_counters *now = arena->stats->now;
    uint64_t limit = arena->limit, used = atomic_load_explicit(&now->memory_used, memory_order_relaxed) +
                                          atomic_load_explicit(&now->memory_receive, memory_order_relaxed) +
                                          atomic_load(&link->engine->io_promised);
    if (link->fetch.piece_bytes + length <= (used < limit ? limit - used : 0) / 2)
        return true;
    return atomic_load(&f->landed) && !io_one_has_landed(link);
}

void hd_fetch_give_back(struct hd_fetch *f, size_t length)
{
    struct hd_link *link = f->link;
    size_t had = length < f->piece_bytes ? length : f->piece_bytes; /* 0: the piece is of no file */
    f->piece_bytes -= had;
    link->fetch.piece_bytes -= had;
    if (!had || !hd_link_usable(link))
        return;
    for (struct hd_list *n = link->fetch.tx_pieces.next, *after; n != &link->fetch.tx_pieces; n = after) {
        after = n->next;
        hd_fetch_read_ahead(hd_container(n, struct hd_fetch, waits)); /* takes it out, if it may go on */
    }
}

void hd_fetch_read_ahead(struct hd_fetch *f)
{
    struct hd_engine *engine = f->link->engine;
    size_t left = f->total - f->sent, step = engine->conf.chunk_size, length = left < step ? left : step;
    if (f->io_busy || f->chunk || f->inflight >= (unsigned)engine->conf.chunk_depth)
        return;
    if (f->cancelled || f->file < 0) {
        hd_list_remove(&f->waits);
        if (hd_list_empty(&f->node))
            hd_list_add_tail(&f->link->fetch.tx_replies, &f->node); /* to be told so */
        return;
    }
    if (!io_may_hold(f, length)) {
        if (hd_list_empty(&f->waits))
            hd_list_add_tail(&f->link->fetch.tx_pieces, &f->waits);
        return;
    }
    hd_list_remove(&f->waits);
    f->reading = length;
    atomic_fetch_add(&engine->io_promised, length);
    f->piece_bytes += length;
    f->link->fetch.piece_bytes += length;
    f->io_busy = true;
    pthread_mutex_lock(&engine->io_lock);
    hd_list_add_tail(&engine->io_jobs, &f->io_node);
    pthread_cond_signal(&engine->io_work);
    pthread_mutex_unlock(&engine->io_lock);
}

/* ---- memory for pieces ----
 *
 * A client needs memory for a whole block when its first piece comes, and holds it until the last one has. Should the
 * memory of this process be full, of such blocks perhaps, the pieces that they wait for would find none; two processes
 * that fetch from each other would wait for ever. So no block is begun before there is a spare buffer, which only
 * pieces of blocks for which the client has its memory may use: one block after the other ends, and gives back what it
 * held.
 */

void hd_io_add_file(struct hd_engine *engine)
{
    pthread_mutex_lock(&engine->io_lock);
    engine->io_files++;
    pthread_mutex_unlock(&engine->io_lock);
}

void hd_io_remove_file(struct hd_engine *engine)
{
    pthread_mutex_lock(&engine->io_lock);
    if (--engine->io_files == 0) {
        hd_buf_unref(engine->io_spare);
        engine->io_spare = NULL;
    }
    pthread_mutex_unlock(&engine->io_lock);
}

static size_t io_spare_size(const struct hd_conf *conf)
{
    size_t most = (size_t)conf->memory_limit / SPARE_SHARE, size = (size_t)conf->chunk_size;
    return size < most ? size : most;
}

static bool io_has_spare(struct hd_engine *engine)
{
    pthread_mutex_lock(&engine->io_lock);
    if (!engine->io_spare)
        hd_arena_alloc(engine->arena, io_spare_size(&engine->conf), &engine->io_spare);
    bool has = engine->io_spare;
    pthread_mutex_unlock(&engine->io_lock);
    return has;
}

static hd_buf *io_take_spare(struct hd_engine *engine)
{
    hd_buf *spare = NULL;
    pthread_mutex_lock(&engine->io_lock);
    if (engine->io_spare && atomic_load_explicit(&engine->io_spare->refs, memory_order_acquire) == 1)
        spare = hd_buf_ref(engine->io_spare);
    pthread_mutex_unlock(&engine->io_lock);
    return spare;
}

/* @return -EAGAIN: later. *length: what fits into it. */
static int io_find_memory(struct hd_fetch *f, size_t *length, hd_buf **out)
{
    struct hd_engine *engine = f->link->engine;
    bool landed = atomic_load(&f->landed);
    int err = io_has_spare(engine) || landed ? hd_arena_alloc(engine->arena, *length, out) : -ENOBUFS;
    if (err != -ENOBUFS || f->link->error || atomic_load(&engine->closing))
        return err;
    *out = landed ? io_take_spare(engine) : NULL;
    if (!*out)
        return -EAGAIN;
    if (*length > (*out)->length)
        *length = (*out)->length;
    return 0;
}

/* ---- reading ---- */

static int io_read_piece(struct hd_fetch *f, size_t *length, hd_buf **out)
{
    int err = io_find_memory(f, length, out);
    if (err)
        return err;
    for (size_t done = 0; done < *length;) {
        ssize_t n = pread(f->file, (*out)->data + done, *length - done, (off_t)(f->file_offset + f->sent + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            err = n < 0 ? hd_error(-EIO, "reading the file failed: %s", strerror(errno))
                        : hd_error(-EIO, "the file ends before the range does");
            hd_buf_unref(*out);
            *out = NULL;
            return err;
        }
        done += (size_t)n;
    }
    return 0;
}

/* @return false if there is no memory for it now */
static bool io_job(struct hd_fetch *f)
{
    size_t length = f->reading;
    hd_buf *buf = NULL;
    int err = io_read_piece(f, &length, &buf);
    if (err == -EAGAIN)
        return false;
    atomic_fetch_sub(&f->link->engine->io_promised, f->reading);
    struct hd_link *link = hd_link_ref(f->link);
    hd_link_lock(link);
    f->io_busy = false;
    bool up = hd_link_usable(link);
    if (!up) {
        hd_fetch_end_served(f);
    } else {
        f->chunk = buf;
        f->chunk_offset = buf ? (size_t)(buf->data - buf->base) : 0;
        f->chunk_length = length;
        f->error = err;
        snprintf(f->cause, sizeof(f->cause), "%s", err ? hd_last_error() : "");
        hd_fetch_give_back(f, f->reading - (err ? 0 : length));
        hd_fetch_answer(f);
    }
    hd_link_unlock(link);
    if (!up) {
        hd_buf_unref(buf);
        hd_fetch_destroy(f);
    }
    hd_link_put(link);
    return true;
}

/* Where memory is short, a block that has begun comes first: its end gives some back. */
static struct hd_fetch *io_next_job(struct hd_engine *engine, bool short_of_memory)
{
    struct hd_list *first = engine->io_jobs.next;
    for (struct hd_list *n = first; short_of_memory && n != &engine->io_jobs; n = n->next)
        if (atomic_load(&hd_container(n, struct hd_fetch, io_node)->landed)) {
            first = n;
            break;
        }
    hd_list_remove(first);
    return hd_container(first, struct hd_fetch, io_node);
}

static void io_put_back(struct hd_engine *engine, struct hd_fetch *f, unsigned vain)
{
    struct timespec pause = {.tv_nsec = 1000000};
    if (vain % TRIES_IN_A_ROW == 0)
        nanosleep(&pause, NULL); /* memory comes back as clients take what they asked for */
    pthread_mutex_lock(&engine->io_lock);
    hd_list_add_tail(&engine->io_jobs, &f->io_node);
    pthread_mutex_unlock(&engine->io_lock);
}

static void *io_run(void *arg)
{
    struct hd_engine *engine = arg;
    unsigned vain = 0;
    pthread_mutex_lock(&engine->io_lock);
    for (;;) {
        while (hd_list_empty(&engine->io_jobs) && !engine->io_stop)
            pthread_cond_wait(&engine->io_work, &engine->io_lock);
        if (hd_list_empty(&engine->io_jobs))
            break;
        struct hd_fetch *f = io_next_job(engine, vain > 0);
        pthread_mutex_unlock(&engine->io_lock);
        if (io_job(f))
            vain = 0;
        else
            io_put_back(engine, f, ++vain);
        pthread_mutex_lock(&engine->io_lock);
    }
    pthread_mutex_unlock(&engine->io_lock);
    return NULL;
}

int hd_io_start(struct hd_engine *engine)
{
    engine->io_threads = calloc((size_t)engine->conf.fetch_io_threads, sizeof(*engine->io_threads));
    if (!engine->io_threads)
        return hd_error(-ENOMEM, "out of memory");
    for (int64_t i = 0; i < engine->conf.fetch_io_threads; i++) {
        int err = hd_thread_start(&engine->io_threads[i], "howdah-io", io_run, engine);
        if (err)
            return err;
        engine->io_count++;
    }
    return 0;
}

void hd_io_stop(struct hd_engine *engine)
{
    pthread_mutex_lock(&engine->io_lock);
    engine->io_stop = true;
    pthread_cond_broadcast(&engine->io_work);
    pthread_mutex_unlock(&engine->io_lock);
    for (unsigned i = 0; i < engine->io_count; i++)
        pthread_join(engine->io_threads[i], NULL);
    free(engine->io_threads);
    engine->io_threads = NULL;
    engine->io_count = 0;
}
