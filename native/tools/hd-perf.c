/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures the engine between two processes of this host, and beside it, in the same run, TCP over loopback and memcpy.
 * All figures are medians of several rounds that alternate between the candidates.
 *
 *   hd-perf [--rounds N] [--json]
 */

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <howdah/howdah.h>

#define WAIT       (30 * (int64_t)1000000000)
#define ROUNDS_MAX 99
#define LARGEST    ((size_t)16 << 20)

static void die(const char *what)
{
    fprintf(stderr, "hd-perf: %s: %s\n", what, hd_last_error());
    exit(1);
}

#define must(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) < 0)                                                                                                \
            die(#call);                                                                                                \
    } while (0)

static double now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* ---- both ends ---- */

struct ends {
    int tcp;
    hd_engine *engine;
    hd_stream *stream;
    hd_link *link;
    hd_queue *queue;
    char *memory;
};

struct order { /* client to server, in front of each measurement */
    uint32_t kind;
    uint32_t count;
    uint64_t size;
};

enum { PING_ENGINE, PING_TCP, STREAM_ENGINE, STREAM_TCP, QUIT };

static void tcp_all(int fd, void *data, size_t length, bool out)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = out ? write(fd, (char *)data + done, length - done) : read(fd, (char *)data + done, length - done);
        if (n <= 0)
            exit(1);
        done += (size_t)n;
    }
}

static void connected_sockets(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        exit(1);
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[0], (struct sockaddr *)&address, length))
        exit(1);
    fds[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    close(listener);
}

static void begin(struct ends *e, int guard, bool client)
{
    struct hd_connect_result result = {.size = sizeof(result)};
    e->memory = malloc(LARGEST);
    memset(e->memory, 1, LARGEST);
    must(hd_engine_create(NULL, &e->engine));
    must(hd_queue_create(e->engine, &e->queue));
    if (client) {
        must(hd_connect(e->engine, guard, "127.0.0.1:0", WAIT, &result));
    } else {
        must(hd_engine_listen(e->engine, "perf", e->queue, 0));
        must(hd_accept(e->engine, guard, NULL, 0, WAIT, &result));
    }
    if (result.outcome != HD_LINKED) {
        fprintf(stderr, "hd-perf: no link: %s\n", result.reason);
        exit(1);
    }
    e->link = result.link;
    if (client) {
        must(hd_stream_open(e->link, "perf", NULL, &e->stream));
        return;
    }
    struct hd_event event;
    must(hd_queue_wait(e->queue, &event, 1, WAIT));
    e->stream = event.stream;
}

static void take_message(struct ends *e, size_t size)
{
    hd_buf *msg;
    if (hd_recv(e->stream, &msg, WAIT) != 0 || hd_buf_length(msg) != size)
        die("receiving");
    hd_buf_unref(msg);
}

/* ---- server ---- */

static void serve(struct ends *e)
{
    struct order order;
    for (;;) {
        tcp_all(e->tcp, &order, sizeof(order), false);
        hd_buf *buf = NULL;
        if (order.kind == PING_ENGINE)
            must(hd_buf_alloc(e->engine, order.size, &buf));
        for (uint32_t i = 0; i < order.count && order.kind != QUIT; i++) {
            bool engine = order.kind == PING_ENGINE || order.kind == STREAM_ENGINE;
            if (engine)
                take_message(e, order.size);
            else
                tcp_all(e->tcp, e->memory, order.size, false);
            if (order.kind == PING_ENGINE)
                must(hd_send_buf(e->stream, buf, 0, order.size, WAIT));
            else if (order.kind == PING_TCP)
                tcp_all(e->tcp, e->memory, order.size, true);
        }
        hd_buf_unref(buf);
        if (order.kind == QUIT)
            return;
        tcp_all(e->tcp, &order, 1, true); /* all of it is here */
    }
}

/* ---- client ---- */

static void tell(struct ends *e, uint32_t kind, uint32_t count, size_t size)
{
    struct order order = {.kind = kind, .count = count, .size = size};
    tcp_all(e->tcp, &order, sizeof(order), true);
    usleep(2000);
}

/* Fresh contents, as real messages have: else large ones would never leave the receiver's cache. */
static void touch(char *data, size_t size, uint32_t round)
{
    for (size_t i = 0; i < size; i += 64)
        data[i] = (char)round;
}

/* Microseconds one way. */
static double ping(struct ends *e, uint32_t kind, size_t size, uint32_t count)
{
    char done;
    hd_buf *buf = NULL;
    if (kind == PING_ENGINE) {
        must(hd_buf_alloc(e->engine, size, &buf));
        memset(hd_buf_data(buf), 2, size);
    }
    tell(e, kind, count, size);
    double start = now_us();
    for (uint32_t i = 0; i < count; i++) {
        touch(buf ? hd_buf_data(buf) : e->memory, size, i);
        if (kind == PING_ENGINE) {
            must(hd_send_buf(e->stream, buf, 0, size, WAIT));
            take_message(e, size);
        } else {
            tcp_all(e->tcp, e->memory, size, true);
            tcp_all(e->tcp, e->memory, size, false);
        }
    }
    double us = (now_us() - start) / count / 2;
    tcp_all(e->tcp, &done, 1, false);
    hd_buf_unref(buf);
    return us;
}

/* Megabytes (10^6) per second, from the first byte sent to the last one received. */
static double flow(struct ends *e, uint32_t kind, size_t size, uint32_t count)
{
    enum { BUFFERS = 8 };
    hd_buf *bufs[BUFFERS];
    char done;
    for (int i = 0; i < BUFFERS && kind == STREAM_ENGINE; i++) {
        must(hd_buf_alloc(e->engine, size, &bufs[i]));
        memset(hd_buf_data(bufs[i]), i, size);
    }
    tell(e, kind, count, size);
    double start = now_us();
    for (uint32_t i = 0; i < count; i++) {
        if (kind == STREAM_ENGINE)
            must(hd_send_buf(e->stream, bufs[i % BUFFERS], 0, size, WAIT));
        else
            tcp_all(e->tcp, e->memory, size, true);
    }
    tcp_all(e->tcp, &done, 1, false);
    double rate = (double)size * count / (now_us() - start);
    for (int i = 0; i < BUFFERS && kind == STREAM_ENGINE; i++)
        hd_buf_unref(bufs[i]);
    return rate;
}

static double copying(struct ends *e, size_t size, uint32_t count)
{
    enum { BUFFERS = 8 };
    hd_buf *from[BUFFERS], *to[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) { /* the same kind of memory, the same working set */
        must(hd_buf_alloc(e->engine, size, &from[i]));
        must(hd_buf_alloc(e->engine, size, &to[i]));
        memset(hd_buf_data(from[i]), i, size);
        memset(hd_buf_data(to[i]), i, size);
    }
    double start = now_us();
    for (uint32_t i = 0; i < count; i++)
        memcpy(hd_buf_data(to[i % BUFFERS]), hd_buf_data(from[i % BUFFERS]), size);
    double rate = (double)size * count / (now_us() - start);
    for (int i = 0; i < BUFFERS; i++) {
        hd_buf_unref(from[i]);
        hd_buf_unref(to[i]);
    }
    return rate;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void row(bool json, const char *measure, size_t size, const char *unit, double *ours, double *theirs,
                const char *reference, int rounds, bool lower)
{
    static bool more;
    qsort(ours, (size_t)rounds, sizeof(*ours), by_value);
    qsort(theirs, (size_t)rounds, sizeof(*theirs), by_value);
    double a = ours[rounds / 2], b = theirs[rounds / 2], ratio = lower ? b / a : a / b;
    if (!json) {
        printf("%-10s %9zu B  %10.2f %-4s  (%.2f .. %.2f)   %-12s %10.2f   ratio %.2f\n", measure, size, a, unit,
               ours[0], ours[rounds - 1], reference, b, ratio);
        return;
    }
    printf(
        "%s  {\"measure\": \"%s\", \"case\": \"%zu B\", \"unit\": \"%s\", \"better\": \"%s\", \"ours\": %.3f, "
        "\"reference\": %.3f, "
        "\"reference_name\": \"%s\", \"runs\": %d, \"ours_spread\": [%.3f, %.3f], \"reference_spread\": [%.3f, %.3f], "
        "\"ratio\": %.3f}",
        more ? ",\n" : "", measure, size, unit, lower ? "lower" : "higher", a, b, reference, rounds, ours[0],
        ours[rounds - 1], theirs[0], theirs[rounds - 1], ratio);
    more = true;
}

static void measure(struct ends *e, int rounds, bool json)
{
    static const size_t pings[] = {1, 64, 1024, 4096, 16384, 65536, 524288}, flows[] = {4096, 65536, 1 << 20, 4 << 20};
    double ours[ROUNDS_MAX], tcp[ROUNDS_MAX], copy[ROUNDS_MAX];
    if (json)
        puts("[");
    for (size_t i = 0; i < sizeof(pings) / sizeof(pings[0]); i++) {
        uint32_t count = pings[i] <= 16384 ? 5000 : 500;
        for (int r = 0; r < rounds; r++) {
            ours[r] = ping(e, PING_ENGINE, pings[i], count);
            tcp[r] = ping(e, PING_TCP, pings[i], count);
        }
        row(json, "latency", pings[i], "us", ours, tcp, "TCP loopback", rounds, true);
    }
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
        uint32_t count =
            (uint32_t)(((size_t)256 << 20) / flows[i]) < 20000 ? (uint32_t)(((size_t)256 << 20) / flows[i]) : 20000;
        for (int r = 0; r < rounds; r++) {
            ours[r] = flow(e, STREAM_ENGINE, flows[i], count);
            tcp[r] = flow(e, STREAM_TCP, flows[i], count);
            copy[r] = copying(e, flows[i], count);
        }
        row(json, "bandwidth", flows[i], "MB/s", ours, tcp, "TCP loopback", rounds, false);
        row(json, "bandwidth", flows[i], "MB/s", ours, copy, "memcpy", rounds, false);
    }
    if (json)
        puts("\n]");
}

int main(int argc, char **argv)
{
    int rounds = 5, tcp[2], guard[2];
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0) {
            rounds = atoi(argv[++i]) < ROUNDS_MAX ? atoi(argv[i]) : ROUNDS_MAX;
        } else {
            fprintf(stderr, "usage: hd-perf [--rounds N] [--json]\n");
            return 2;
        }
    }
    connected_sockets(tcp);
    connected_sockets(guard);
    pid_t pid = fork();
    struct ends e = {.tcp = tcp[pid == 0]};
    close(tcp[pid != 0]);
    close(guard[pid != 0]);
    begin(&e, guard[pid == 0], pid != 0);
    if (pid == 0) {
        serve(&e);
    } else {
        ping(&e, PING_ENGINE, 64, 1000);
        measure(&e, rounds, json);
        tell(&e, QUIT, 0, 0);
    }
    hd_stream_close(e.stream);
    hd_link_put(e.link);
    hd_queue_destroy(e.queue);
    if (pid)
        waitpid(pid, NULL, 0);
    hd_engine_destroy(e.engine);
    free(e.memory);
    return 0;
}
