/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_PERF_H
#define HD_PERF_H

/*
 * hd-perf: two processes, of this host or of two; the client measures, the server does what it is told over a TCP
 * connection (`ends.tcp`), which is also what TCP is measured with.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <howdah/howdah.h>

#define PERF_WAIT     (120 * (int64_t)1000000000)
#define PERF_LARGEST  ((size_t)64 << 20)
#define PERF_BUFFERS  8 /* what bandwidth is measured with: so many messages or blocks, in turn */
#define PERF_SIZES    24
#define PERF_VARIANTS 8
#define PERF_STREAMS  64

/* One end of a link, by an engine of its own. */
struct ends {
    int tcp;
    uint32_t which;   /* variant, the same on both sides */
    const char *name; /* the variant's, or NULL */
    hd_conf *conf;    /* the variant's, or NULL: the environment's */
    hd_engine *engine;
    hd_stream *streams[PERF_STREAMS];
    uint32_t stream_count, threads; /* threads that share the streams, not more than these; at both ends as many */
    hd_link *link;
    hd_queue *queue;
    char *memory;              /* PERF_LARGEST bytes for TCP, or NULL: TCP is not measured */
    enum hd_protocol protocol; /* of large messages, both ways */
};

enum order_kind { PING_ENGINE, PING_TCP, STREAM_ENGINE, STREAM_TCP, PULL_ENGINE, QUIT };

/* Ends the program, with the engine's last error. */
_Noreturn void perf_die(const char *what);

#define must(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) < 0)                                                                                                \
            perf_die(#call);                                                                                           \
    } while (0)

double now_us(void);

/* ends.c: the two ends, and the server's life. */
void ends_connect(int fds[2]);
void ends_begin(struct ends *e, int guard, const char *server); /* `server`: where a client connected to, else NULL */
void ends_finish(struct ends *e);
void ends_serve(struct ends *variants, uint32_t count);
void ends_quit(struct ends *variants, uint32_t count); /* of the client: the server comes to its end */
char *tcp_memory(void);
/* `count`: on each stream; of fetches in all. */
void ends_tell(struct ends *e, enum order_kind kind, uint32_t count, size_t size);
void ends_told(struct ends *e); /* waits until the server has done it */
void tcp_all(int fd, void *data, size_t length, bool out);
void take_message(hd_stream *stream, size_t size);

/* workers.c: the threads of one end. */
struct worker {
    struct ends *e;
    uint32_t first; /* its streams: this one and every e->threads-th behind it */
    uint32_t count; /* operations, as ends_tell() */
    size_t size;
    bool ping;      /* the server's: it answers */
    hd_buf *buf;    /* that it answers with */
    double *trips;  /* the client's: what each round trip took */
    uint32_t taken; /* of them, so far */
    double start;   /* when it was ready */
    pthread_barrier_t *all_ready;
};

/* Runs all workers at once and waits for them; one alone in this thread. @return when the last was ready */
double workers_run(struct ends *e, const struct worker *like, void (*run)(struct worker *));
/* Each calls this once, when it has what it needs: none goes on before all are here. */
void workers_ready(struct worker *w);
/* A worker's part of what all streams, or all threads, do `count` times. At least one. */
uint32_t workers_share(uint32_t count, uint32_t parts);

/* Microseconds one way. A busy machine spoils means first, so the median of single round trips is what is compared. */
struct trips {
    double typical, mean, least, p90, p99, p999, most;
};

/* remote.c: the client's two connections to a server of another host, and that server, which ends by a signal. */
void remote_client(const char *where, int *tcp, int *guard);
_Noreturn void remote_listen_forever(const char *port);

/* measure.c: each does `count` operations of `size` bytes. */
struct trips measure_ping(struct ends *e, bool tcp, size_t size, uint32_t count);
double measure_flow(struct ends *e, bool tcp, size_t size, uint32_t count); /* 10^6 bytes a second, as are these: */
double measure_pull(struct ends *e, size_t size, uint32_t count);
double measure_copy(struct ends *e, size_t size, uint32_t count);

#endif
