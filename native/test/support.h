/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

/* What the tests share: engines, links between them, bytes with a pattern. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <howdah/howdah.h>

#define SECOND ((int64_t)1000000000)
#define MILLI  ((int64_t)1000000)
/* Longer than anything takes, even under a sanitizer; HOWDAH_TEST_PATIENCE times that on an emulated processor. */
#define PATIENCE (20 * SECOND * (int64_t)from_environment("HOWDAH_TEST_PATIENCE", 1))

/* Fails with the engine's own words. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        long long result_ = (long long)(call);                                                                         \
        if (result_ < 0)                                                                                               \
            fail_msg("%s: %lld (%s)", #call, result_, hd_last_error());                                                \
    } while (0)

/* The transport under test: the program's first argument. Sets it for test_engine(). */
extern const char *test_transport;
int test_run(int argc, char **argv, const struct CMUnitTest *tests, size_t count);

/* What a process of its own does, with a descriptor that it gets; ends it. */
struct test_peer {
    const char *name;
    void (*run)(int fd);
};

/* Forks a peer. A child does not inherit the threads of DAPL: over udapl it starts this program once more. @return its
 * process. */
pid_t test_fork(const struct test_peer *peer, int fd);

/* Runs the peer that this program was started once more for, if it was; first thing in main(). */
void test_peers(int argc, char **argv, const struct test_peer *peers, size_t count);

/* An engine with options "name=value" (without prefix), ended by NULL. */
hd_engine *test_engine(const char *const *options);

/* Two connected TCP sockets. */
void test_sockets(int fds[2]);

/* Two engines with a link; over `self` both are the same. */
struct pair {
    hd_engine *a, *b;
    hd_link *client, *server;
    hd_queue *queue; /* of b, for the service "test" */
    int fds[2];
};

void pair_open(struct pair *pair, const char *const *options);
/* Its two halves: the engines, and the link. */
void pair_make(struct pair *pair, const char *const *options);
void pair_link(struct pair *pair);
void pair_close(struct pair *pair);

/* One more connection between the two engines. @return hd_connect()'s result; `server` may be NULL. */
int pair_connect(hd_engine *a, hd_engine *b, int fds[2], struct hd_connect_result *client,
                 struct hd_connect_result *server);

/* A stream to "test" and its other end. */
void pair_stream(struct pair *pair, const struct hd_stream_params *params, hd_stream **client, hd_stream **server);

/* The next event of a queue, which must be of this type. */
struct hd_event next_event(hd_queue *queue, enum hd_event_type type);

/* Bytes that depend on seed and position. */
void fill(void *data, size_t length, uint64_t seed);
bool filled(const void *data, size_t length, uint64_t seed);

/* Sends a message of that length, and takes and compares one. */
void send_filled(hd_stream *stream, size_t length, uint64_t seed);
void recv_filled(hd_stream *stream, size_t length, uint64_t seed);

/* Sends a message of that length from one end of a stream to the other, and compares. */
void exchange(hd_stream *from, hd_stream *to, size_t length, uint64_t seed);

/* In the virtual machine: `ip link set` of the device's interface, "up" or "down". */
void set_interface(const char *how);

uint64_t counter(hd_engine *engine, const char *name);

struct hd_times;
/* How many of a link's `times` took up to counts[most], read with the link's lock. */
uint64_t timed(hd_link *link, const struct hd_times *times, size_t most);

/* How many descriptors this process has, but for those of slabs: engines keep these, and count them as pinned. */
int open_descriptors(void);

/* So many, or fails and says what each of them is. */
void expect_descriptors(int count);

/* A number from the environment: how many schedules, seeds, links. Never how long. */
unsigned from_environment(const char *name, unsigned fallback);

/* `rounds`, or fewer where everything is slow: HOWDAH_TEST_DIVISOR divides it. */
int test_rounds(int rounds);
/* The same, but not fewer than `least`. */
int test_rounds_least(int rounds, int least);

/* Waits until a counter has the value; fails if that takes too long. */
void await_counter(hd_engine *engine, const char *name, uint64_t value);

/* Of this process so far: what sleeps has few. */
int64_t context_switches(void);

#endif
