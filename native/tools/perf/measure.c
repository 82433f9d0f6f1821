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

struct trips measure_ping(struct ends *e, bool tcp, size_t size, uint32_t count)
{
    hd_buf *buf = NULL;
    double *trips = malloc(count * sizeof(*trips));
    if (!trips)
        perf_die("memory for the figures");
    allocate(e, &buf, tcp ? 0 : 1, size);
    ends_tell(e, tcp ? PING_TCP : PING_ENGINE, count, size);
    double start = now_us(), last = start;
    for (uint32_t i = 0; i < count; i++) {
        touch(tcp ? e->memory : hd_buf_data(buf), size, i);
        if (tcp) {
            tcp_all(e->tcp, e->memory, size, true);
            tcp_all(e->tcp, e->memory, size, false);
        } else {
            must(hd_send_buf(e->stream, buf, 0, size, PERF_WAIT));
            take_message(e, size);
        }
        double now = now_us();
        trips[i] = now - last;
        last = now;
    }
    ends_told(e);
    hd_buf_unref(buf);
    qsort(trips, count, sizeof(*trips), by_length);
    struct trips result = {.typical = trips[count / 2] / 2,
                           .mean = (last - start) / count / 2,
                           .least = trips[0] / 2,
                           .p90 = trips[(uint64_t)count * 900 / 1000] / 2,
                           .p99 = trips[(uint64_t)count * 990 / 1000] / 2,
                           .p999 = trips[(uint64_t)count * 999 / 1000] / 2,
                           .most = trips[count - 1] / 2};
    free(trips);
    return result;
}

double measure_flow(struct ends *e, bool tcp, size_t size, uint32_t count)
{
    hd_buf *bufs[PERF_BUFFERS];
    int buffers = tcp ? 0 : PERF_BUFFERS;
    allocate(e, bufs, buffers, size);
    ends_tell(e, tcp ? STREAM_TCP : STREAM_ENGINE, count, size);
    double start = now_us();
    for (uint32_t i = 0; i < count; i++) {
        if (tcp)
            tcp_all(e->tcp, e->memory, size, true);
        else
            must(hd_send_buf(e->stream, bufs[i % PERF_BUFFERS], 0, size, PERF_WAIT));
    }
    ends_told(e); /* the last byte has been received */
    double rate = (double)size * count / (now_us() - start);
    release(bufs, buffers);
    return rate;
}

static void pull_one(struct ends *e, hd_buf *into, size_t size, uint64_t slot)
{
    struct hd_fetch_params params = {.size = sizeof(params),
                                     .name = "block",
                                     .name_length = 5,
                                     .length = size,
                                     .into = into,
                                     .queue = e->queue,
                                     .user = slot};
    hd_fetch *fetch;
    must(hd_fetch_start(e->link, "perf", &params, &fetch));
}

double measure_pull(struct ends *e, size_t size, uint32_t count)
{
    hd_buf *bufs[PERF_BUFFERS];
    struct hd_event events[PERF_BUFFERS];
    allocate(e, bufs, PERF_BUFFERS, size);
    ends_tell(e, PULL_ENGINE, count, size);
    double start = now_us();
    uint32_t started = 0;
    for (; started < PERF_BUFFERS && started < count; started++)
        pull_one(e, bufs[started], size, started);
    for (uint32_t done = 0; done < count;) {
        int n = hd_queue_wait(e->queue, events, PERF_BUFFERS, PERF_WAIT);
        must(n);
        for (int i = 0; i < n; i++, done++) {
            if (events[i].status < 0) {
                fprintf(stderr, "hd-perf: fetching: %s\n", hd_fetch_error(events[i].fetch));
                exit(1);
            }
            hd_fetch_release(events[i].fetch);
            if (started < count) {
                pull_one(e, bufs[events[i].user], size, events[i].user);
                started++;
            }
        }
    }
    double rate = (double)size * count / (now_us() - start);
    ends_told(e);
    release(bufs, PERF_BUFFERS);
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
