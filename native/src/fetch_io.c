/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that read file ranges for fetches, piece by piece. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fetch.h"

void hd_fetch_read_ahead(struct hd_fetch *f)
{
    struct hd_engine *engine = f->link->engine;
    if (f->io_busy || f->chunk || f->inflight >= (unsigned)engine->conf.chunk_depth)
        return;
    if (f->cancelled || f->file < 0) {
        if (hd_list_empty(&f->node))
            hd_list_add_tail(&f->link->tx_replies, &f->node); /* to be told so */
        return;
    }
    f->io_busy = true;
    pthread_mutex_lock(&engine->io_lock);
    hd_list_add_tail(&engine->io_jobs, &f->io_node);
    pthread_cond_signal(&engine->io_work);
    pthread_mutex_unlock(&engine->io_lock);
}

static int read_piece(struct hd_fetch *f, size_t length, hd_buf **out)
{
    struct timespec pause = {.tv_nsec = 1000000};
    int err;
    while ((err = hd_arena_alloc(f->link->engine->arena, length, out)) == -ENOBUFS) {
        if (f->link->error || atomic_load(&f->link->engine->closing))
            return err;
        nanosleep(&pause, NULL); /* memory comes back as clients take what they asked for */
    }
    if (err)
        return err;
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(f->file, (*out)->data + done, length - done, (off_t)(f->file_offset + f->sent + done));
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

static void io_job(struct hd_fetch *f)
{
    struct hd_link *link = hd_link_ref(f->link);
    size_t left = f->total - f->sent, step = link->engine->conf.chunk_size, length = left < step ? left : step;
    hd_buf *buf = NULL;
    int err = read_piece(f, length, &buf);
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
        hd_fetch_answer(f);
    }
    hd_link_unlock(link);
    if (!up) {
        hd_buf_unref(buf);
        hd_fetch_destroy(f);
    }
    hd_link_put(link);
}

static void *io_run(void *arg)
{
    struct hd_engine *engine = arg;
    pthread_mutex_lock(&engine->io_lock);
    for (;;) {
        while (hd_list_empty(&engine->io_jobs) && !engine->io_stop)
            pthread_cond_wait(&engine->io_work, &engine->io_lock);
        if (hd_list_empty(&engine->io_jobs))
            break;
        struct hd_fetch *f = hd_container(engine->io_jobs.next, struct hd_fetch, io_node);
        hd_list_remove(&f->io_node);
        pthread_mutex_unlock(&engine->io_lock);
        io_job(f);
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
