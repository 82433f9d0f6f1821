/* SPDX-License-Identifier: Apache-2.0 */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void allocate(struct ends *e, hd_buf **bufs, int count, size_t size)
{
    for (int i = 0; i < count; i++) {
        must(hd_buf_alloc(e->engine, size, &bufs[i]));
        memset(hd_buf_data(bufs[i]), i + 1, size);
    }
}

static void release(hd_buf **bufs, int count)
{
    for (int i = 0; i < count; i++)
        hd_buf_unref(bufs[i]);
}

/* Fresh contents, as real messages have: else large ones would never leave the receiver's cache. */
static void touch(char *data, size_t size, uint32_t round)
{
    for (size_t i = 0; i < size; i += 64)
        data[i] = (char)round;
}

static int by_length(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void ping_streams(struct worker *w)
{
    struct ends *e = w->e;
    hd_buf *buf;
    allocate(e, &buf, 1, w->size);
    workers_ready(w);
    double last = now_us();
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t s = w->first; s < e->stream_count; s += e->threads) {
            touch(hd_buf_data(buf), w->size, i);
            must(hd_send_buf(e->streams[s], buf, 0, w->size, PERF_WAIT));
            take_message(e->streams[s], w->size);
            double now = now_us();
            w->trips[w->taken++] = now - last;
            last = now;
        }
    hd_buf_unref(buf);
}

static void ping_tcp(const struct ends *e, size_t size, uint32_t count, double *trips)
{
    double last = now_us();
    for (uint32_t i = 0; i < count; i++) {
        touch(e->memory, size, i);
        tcp_all(e->tcp, e->memory, size, true);
        tcp_all(e->tcp, e->memory, size, false);
        double now = now_us();
        trips[i] = now - last;
        last = now;
    }
}

static struct trips summary(double *trips, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += trips[i];
    qsort(trips, count, sizeof(*trips), by_length);
    return (struct trips){.typical = trips[count / 2] / 2,
                          .mean = sum / (double)count / 2,
                          .least = trips[0] / 2,
                          .p90 = trips[count * 900 / 1000] / 2,
                          .p99 = trips[count * 990 / 1000] / 2,
                          .p999 = trips[count * 999 / 1000] / 2,
                          .most = trips[count - 1] / 2};
}

struct trips measure_ping(struct ends *e, bool tcp, size_t size, uint32_t count)
{
    uint32_t each = tcp ? count : workers_share(count, e->stream_count);
    size_t all = (size_t)each * (tcp ? 1 : e->stream_count);
    double *trips = malloc(all * sizeof(*trips));
    if (!trips)
        perf_die("memory for the figures");
    struct worker worker = {.count = each, .size = size, .trips = trips};
    ends_tell(e, tcp ? PING_TCP : PING_ENGINE, each, size);
    if (tcp)
        ping_tcp(e, size, each, trips);
    else
        workers_run(e, &worker, ping_streams);
    ends_told(e);
    struct trips result = summary(trips, all);
    free(trips);
    return result;
}

static void send_streams(struct worker *w)
{
    struct ends *e = w->e;
    hd_buf *bufs[PERF_BUFFERS];
    uint32_t sent = 0;
    allocate(e, bufs, PERF_BUFFERS, w->size);
    workers_ready(w);
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t s = w->first; s < e->stream_count; s += e->threads)
            must(hd_send_buf(e->streams[s], bufs[sent++ % PERF_BUFFERS], 0, w->size, PERF_WAIT));
    release(bufs, PERF_BUFFERS);
}

double measure_flow(struct ends *e, bool tcp, size_t size, uint32_t count)
{
    uint32_t streams = tcp ? 1 : e->stream_count, each = workers_share(count, streams);
    struct worker worker = {.count = each, .size = size};
    ends_tell(e, tcp ? STREAM_TCP : STREAM_ENGINE, each, size);
    double start = now_us();
    if (!tcp)
        start = workers_run(e, &worker, send_streams);
    for (uint32_t i = 0; tcp && i < each; i++)
        tcp_all(e->tcp, e->memory, size, true);
    ends_told(e); /* the last byte has been received */
    return (double)size * each * streams / (now_us() - start);
}

static void pull_one(struct ends *e, hd_queue *queue, hd_buf *into, size_t size, uint64_t slot)
{
    struct hd_fetch_params params = {.size = sizeof(params),
                                     .name = "block",
                                     .name_length = 5,
                                     .length = size,
                                     .into = into,
                                     .queue = queue,
                                     .user = slot};
    hd_fetch *fetch;
    must(hd_fetch_start(e->link, "perf", &params, &fetch));
}

static void pull_blocks(struct worker *w)
{
    struct ends *e = w->e;
    hd_buf *bufs[PERF_BUFFERS];
    struct hd_event events[PERF_BUFFERS];
    hd_queue *queue;
    uint32_t started = 0;
    must(hd_queue_create(e->engine, &queue));
    allocate(e, bufs, PERF_BUFFERS, w->size);
    workers_ready(w);
    for (; started < PERF_BUFFERS && started < w->count; started++)
        pull_one(e, queue, bufs[started], w->size, started);
    for (uint32_t done = 0; done < w->count;) {
        int n = hd_queue_wait(queue, events, PERF_BUFFERS, PERF_WAIT);
        must(n);
        for (int i = 0; i < n; i++, done++) {
            if (events[i].status < 0) {
                fprintf(stderr, "hd-perf: fetching: %s\n", hd_fetch_error(events[i].fetch));
                exit(1);
            }
            hd_fetch_release(events[i].fetch);
            if (started < w->count) {
                pull_one(e, queue, bufs[events[i].user], w->size, events[i].user);
                started++;
            }
        }
    }
    release(bufs, PERF_BUFFERS);
    hd_queue_destroy(queue);
}

double measure_pull(struct ends *e, size_t size, uint32_t count)
{
    uint32_t each = workers_share(count, e->threads), all = each * e->threads;
    struct worker worker = {.count = each, .size = size};
    ends_tell(e, PULL_ENGINE, all, size);
    double start = workers_run(e, &worker, pull_blocks);
    double rate = (double)size * all / (now_us() - start);
    ends_told(e);
    return rate;
}

double measure_copy(struct ends *e, size_t size, uint32_t count)
{
    hd_buf *from[PERF_BUFFERS], *to[PERF_BUFFERS]; /* the same kind of memory, the same working set */
    allocate(e, from, PERF_BUFFERS, size);
    allocate(e, to, PERF_BUFFERS, size);
    double start = now_us();
    for (uint32_t i = 0; i < count; i++)
        memcpy(hd_buf_data(to[i % PERF_BUFFERS]), hd_buf_data(from[i % PERF_BUFFERS]), size);
    double rate = (double)size * count / (now_us() - start);
    release(from, PERF_BUFFERS);
    release(to, PERF_BUFFERS);
    return rate;
}
