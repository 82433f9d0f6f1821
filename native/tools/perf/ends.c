/* SPDX-License-Identifier: Apache-2.0 */
#include "perf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct order { /* client to server, in front of each measurement */
    uint32_t kind;
    uint32_t count;
    uint64_t size;
    uint32_t which, protocol; /* enum hd_protocol */
    uint32_t streams, threads;
};

_Noreturn void perf_die(const char *what)
{
    fprintf(stderr, "hd-perf: %s: %s\n", what, hd_last_error());
    exit(1);
}

double now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

void tcp_all(int fd, void *data, size_t length, bool out)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = out ? write(fd, (char *)data + done, length - done) : read(fd, (char *)data + done, length - done);
        if (n <= 0)
            exit(1); /* the other end has gone and said why */
        done += (size_t)n;
    }
}

void ends_connect(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &length) ||
        connect(fds[0], (struct sockaddr *)&address, length)) {
        perror("hd-perf: a TCP connection over loopback");
        exit(1);
    }
    fds[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    close(listener);
}

char *tcp_memory(void)
{
    char *memory = malloc(PERF_LARGEST);
    if (!memory)
        perf_die("memory for TCP");
    return memset(memory, 1, PERF_LARGEST);
}

/* The client's, one after the other; the server takes them when it is told of them. */
static void ends_open(struct ends *e)
{
    struct hd_stream_params params = {.size = sizeof(params), .protocol = e->protocol};
    for (uint32_t i = 0; i < e->stream_count; i++) {
        must(hd_stream_open(e->link, "perf", &params, &e->streams[i]));
        must(hd_send(e->streams[i], "hello", 5, PERF_WAIT));
    }
}

static void ends_take(struct ends *e, uint32_t count)
{
    struct hd_event event;
    for (; e->stream_count < count; e->stream_count++) {
        must(hd_queue_wait(e->queue, &event, 1, PERF_WAIT));
        e->streams[e->stream_count] = event.stream;
        take_message(event.stream, 5);
    }
}

void ends_begin(struct ends *e, int guard, const char *server)
{
    struct hd_connect_result result = {.size = sizeof(result)};
    struct hd_engine_params params = {.size = sizeof(params), .conf = e->conf};
    must(hd_engine_create(&params, &e->engine));
    must(hd_queue_create(e->engine, &e->queue));
    if (server) {
        must(hd_connect(e->engine, guard, server, PERF_WAIT, &result));
    } else {
        must(hd_engine_listen(e->engine, "perf", e->queue, 0));
        must(hd_accept(e->engine, guard, NULL, 0, PERF_WAIT, &result));
    }
    if (result.outcome != HD_LINKED) {
        fprintf(stderr, "hd-perf: no link: %s\n", result.reason);
        exit(1);
    }
    e->link = result.link;
    if (server)
        ends_open(e);
    else
        ends_take(e, 1);
}

static void ends_close(struct ends *e)
{
    for (uint32_t i = 0; i < e->stream_count; i++)
        hd_stream_close(e->streams[i]);
    e->stream_count = 0;
}

/* The streams first: a link that ends without one is not lost. */
void ends_quit(struct ends *variants, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ends_close(&variants[i]);
    ends_tell(variants, QUIT, 0, 0);
}

void ends_finish(struct ends *e)
{
    ends_close(e);
    hd_link_put(e->link);
    hd_queue_destroy(e->queue);
    hd_engine_destroy(e->engine);
    hd_conf_destroy(e->conf);
}

void take_message(hd_stream *stream, size_t size)
{
    hd_buf *msg;
    if (hd_recv(stream, &msg, PERF_WAIT) != 0 || hd_buf_length(msg) != size)
        perf_die("receiving");
    hd_buf_unref(msg);
}

void ends_tell(struct ends *e, enum order_kind kind, uint32_t count, size_t size)
{
    struct order order = {.kind = kind,
                          .count = count,
                          .size = size,
                          .which = e->which,
                          .protocol = e->protocol,
                          .streams = e->stream_count,
                          .threads = e->threads};
    tcp_all(e->tcp, &order, sizeof(order), true);
    if (kind != QUIT)
        ends_told(e); /* the server is ready */
}

void ends_told(struct ends *e)
{
    char done;
    tcp_all(e->tcp, &done, 1, false);
}

/* Answers `count` fetches with the same bytes again and again. */
static void serve_pulls(struct ends *e, hd_buf *const bufs[PERF_BUFFERS], const struct order *order)
{
    struct hd_event events[16];
    for (uint32_t done = 0; done < order->count;) {
        int n = hd_queue_wait(e->queue, events, 16, PERF_WAIT);
        must(n);
        for (int i = 0; i < n; i++, done++)
            must(hd_fetch_reply_buf(events[i].fetch, bufs[done % PERF_BUFFERS], 0, order->size));
    }
}

static void serve_streams(struct worker *w)
{
    struct ends *e = w->e;
    workers_ready(w);
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t s = w->first; s < e->stream_count; s += e->threads) {
            take_message(e->streams[s], w->size);
            if (w->ping)
                must(hd_send_buf(e->streams[s], w->buf, 0, w->size, PERF_WAIT));
        }
}

static void serve_tcp(const struct ends *e, const struct order *order)
{
    for (uint32_t i = 0; i < order->count; i++) {
        tcp_all(e->tcp, e->memory, order->size, false);
        if (order->kind == PING_TCP)
            tcp_all(e->tcp, e->memory, order->size, true);
    }
}

static void serve_order(struct ends *e, hd_buf *const bufs[PERF_BUFFERS], const struct order *order)
{
    struct worker worker = {
        .count = order->count, .size = order->size, .ping = order->kind == PING_ENGINE, .buf = bufs[0]};
    if (order->kind == PULL_ENGINE)
        serve_pulls(e, bufs, order);
    else if (order->kind == PING_ENGINE || order->kind == STREAM_ENGINE)
        workers_run(e, &worker, serve_streams);
    else
        serve_tcp(e, order);
}

/* What the client has said of its streams. */
static void serve_as_told(struct ends *e, const struct order *order)
{
    ends_take(e, order->streams);
    e->threads = order->threads;
    if (order->protocol == e->protocol)
        return;
    e->protocol = (enum hd_protocol)order->protocol;
    struct hd_stream_params params = {.size = sizeof(params), .protocol = e->protocol};
    for (uint32_t i = 0; i < e->stream_count; i++)
        must(hd_stream_configure(e->streams[i], &params));
}

static bool order_is_sane(const struct order *order, uint32_t variants)
{
    return order->kind < QUIT && order->which < variants && order->size <= PERF_LARGEST && order->threads > 0 &&
           order->threads <= order->streams && order->streams <= PERF_STREAMS;
}

void ends_serve(struct ends *variants, uint32_t count)
{
    struct order order;
    for (;;) {
        tcp_all(variants->tcp, &order, sizeof(order), false);
        if (!order_is_sane(&order, count))
            return;
        struct ends *e = &variants[order.which];
        serve_as_told(e, &order);
        hd_buf *bufs[PERF_BUFFERS] = {NULL};
        int needed = order.kind == PULL_ENGINE ? PERF_BUFFERS : order.kind == PING_ENGINE;
        for (int i = 0; i < needed; i++) {
            must(hd_buf_alloc(e->engine, order.size, &bufs[i]));
            memset(hd_buf_data(bufs[i]), i, order.size);
        }
        tcp_all(e->tcp, &order, 1, true);
        serve_order(e, bufs, &order);
        for (int i = 0; i < PERF_BUFFERS; i++)
            hd_buf_unref(bufs[i]);
        tcp_all(e->tcp, &order, 1, true); /* all of it is here */
    }
}
