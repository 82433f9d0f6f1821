/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many links of one engine over verbs: what they share, what wakes their communication thread, and that none of them
 * misses what came while another one's caller polled. The peers are one engine that takes another identity for each
 * link. Needs a device: runs in the virtual machine of ci/rdma-vm.
 */

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/link.h"
#include "progress/comm.h"
#include "support.h"
#include "transport/verbs/cq.h"

/* ---- system calls of a thread ---- */

static pthread_t watched;
static atomic_bool watching;
static _Atomic unsigned calls;

static void count_call(void)
{
    if (atomic_load(&watching) && pthread_equal(pthread_self(), watched))
        atomic_fetch_add(&calls, 1);
}

ssize_t read(int fd, void *data, size_t length)
{
    count_call();
    return syscall(SYS_read, fd, data, length);
}

ssize_t write(int fd, const void *data, size_t length)
{
    count_call();
    return syscall(SYS_write, fd, data, length);
}

int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
    count_call();
    return (int)syscall(SYS_epoll_pwait, fd, events, room, timeout, NULL, 8);
}

int epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
    count_call();
    return (int)syscall(SYS_epoll_ctl, fd, what, other, event);
}

static void watch_calls(const struct hd_comm *comm)
{
    watched = comm->thread;
    atomic_store(&calls, 0);
    atomic_store(&watching, true);
}

/* ---- many links ---- */

enum { LINKS = 48 };

static struct many {
    struct pair pair; /* without a link of its own */
    hd_link *client[LINKS], *server[LINKS];
    hd_stream *from[LINKS], *to[LINKS];
} m;

/* Its peer takes it for another one's: the engine has a new number, and forgets whose link it is. */
static void link_open(unsigned i, unsigned number)
{
    struct hd_connect_result client = {0}, server = {0};
    int fds[2];
    test_sockets(fds);
    memcpy(m.pair.a->id, &number, sizeof(number));
    assert_ok(pair_connect(m.pair.a, m.pair.b, fds, &client, &server));
    assert_int_equal(client.outcome, HD_LINKED);
    assert_false(client.shared);
    memset(client.link->peer_id, 0xff, sizeof(client.link->peer_id));
    m.client[i] = client.link;
    m.server[i] = server.link;
    close(fds[0]);
    close(fds[1]);
}

static void stream_open(unsigned i, hd_queue *queue)
{
    struct hd_stream_params params = {.size = sizeof(params), .queue = queue, .user = i};
    assert_ok(hd_stream_open(m.client[i], "test", NULL, &m.from[i]));
    m.to[i] = next_event(m.pair.queue, HD_EVENT_STREAM).stream;
    assert_ok(hd_stream_configure(m.to[i], &params));
}

static void link_close(unsigned i)
{
    hd_stream_close(m.from[i]);
    hd_stream_close(m.to[i]);
    hd_link_close(m.client[i]);
    hd_link_put(m.client[i]);
    hd_link_put(m.server[i]);
}

static void many_open(const char *const *options)
{
    memset(&m, 0, sizeof(m));
    pair_make(&m.pair, options);
    for (unsigned i = 0; i < LINKS; i++)
        link_open(i, i + 1);
}

static void many_close(void)
{
    await_counter(m.pair.a, "links.now", 0);
    await_counter(m.pair.b, "links.now", 0);
    hd_queue_destroy(m.pair.queue);
    hd_engine_destroy(m.pair.a);
    hd_engine_destroy(m.pair.b);
}

/* With the link's lock. */
static const struct verbs_ep *ep_of(const hd_link *link)
{
    return (const void *)link->ep;
}

static const struct verbs_cq *queue_of(hd_link *link)
{
    hd_link_lock(link);
    const struct verbs_cq *cq = ep_of(link)->cq;
    hd_link_unlock(link);
    return cq;
}

/* ---- what they cost ---- */

static void an_idle_link_costs_three_descriptors_and_64_kb(void **state)
{
    (void)state;
    memset(&m, 0, sizeof(m));
    pair_make(&m.pair, NULL);
    int before = open_descriptors();
    for (unsigned i = 0; i < LINKS; i++)
        link_open(i, i + 1);
    int each = 2 * LINKS; /* both ends are here */
    printf("descriptors of %d links: %d\n", each, open_descriptors() - before);
    assert_true(open_descriptors() - before <= 3 * each);
    assert_true(counter(m.pair.b, "memory.send.now") <= (uint64_t)65536 * LINKS);
    for (unsigned i = 1; i < LINKS; i++) {
        assert_ptr_equal(queue_of(m.server[i]), queue_of(m.server[0]));
        assert_ptr_equal(queue_of(m.client[i]), queue_of(m.client[0]));
    }
    for (unsigned i = 0; i < LINKS; i++) {
        hd_link_close(m.client[i]);
        hd_link_put(m.client[i]);
        hd_link_put(m.server[i]);
    }
    for (int i = 0; i < 10000 && open_descriptors() != before; i++)
        usleep(2000);
    expect_descriptors(before);
    many_close();
}

static void communication_threads_have_queues_of_their_own(void **state)
{
    (void)state;
    many_open((const char *const[]){"communication.threads=3", NULL});
    for (unsigned i = 0; i < LINKS; i++) {
        unsigned thread = queue_of(m.server[i])->thread;
        assert_int_equal(thread, m.server[i]->comm.thread);
        assert_ptr_equal(m.server[i]->comm.kick, &m.pair.b->comms[thread].kick);
        stream_open(i, NULL);
        exchange(m.from[i], m.to[i], 1000, i);
        exchange(m.to[i], m.from[i], 100000, i);
    }
    for (unsigned i = 0; i < LINKS; i++)
        link_close(i);
    many_close();
}

/* ---- what wakes the communication thread ---- */

static void await_armed(hd_link *link)
{
    for (bool armed = false; !armed; usleep(500)) {
        hd_link_lock(link);
        armed = link->comm.armed;
        hd_link_unlock(link);
    }
}

static void await_arrival(hd_link *link)
{
    for (bool arrived = false; !arrived; usleep(200)) {
        hd_link_lock(link);
        hd_link_progress(link);
        arrived = ep_of(link)->tx_done == ep_of(link)->tx_posted;
        hd_link_unlock(link);
    }
}

/* The communication thread takes up the first link, whose lock is held, and the others' messages come meanwhile: it is
 * not woken for each of them. */
static void one_wake_up_serves_all_links(void **state)
{
    (void)state;
    many_open((const char *const[]){"poll.spin=0", "verbs.signal.interval=1", NULL});
    for (unsigned i = 0; i < LINKS; i++)
        stream_open(i, m.pair.queue);
    for (unsigned i = 0; i < LINKS; i++) {
        await_arrival(m.client[i]);
        await_armed(m.server[i]);
    }
    hd_lock(&m.server[0]->lock);
    assert_ok(hd_send(m.from[0], "x", 1, PATIENCE));
    while (atomic_load(&m.server[0]->lock.state) != HD_LOCK_WANTED)
        usleep(200);
    for (unsigned i = 1; i < LINKS; i++) {
        assert_ok(hd_send(m.from[i], "x", 1, PATIENCE));
        await_arrival(m.client[i]);
    }
    watch_calls(&m.pair.b->comms[0]);
    hd_unlock(&m.server[0]->lock);
    uint64_t came = 0;
    for (unsigned i = 0; i < LINKS; i++)
        came |= UINT64_C(1) << next_event(m.pair.queue, HD_EVENT_READABLE).user;
    atomic_store(&watching, false);
    assert_int_equal(came, (UINT64_C(1) << LINKS) - 1);
    printf("system calls for messages of %d links: %u\n", LINKS, atomic_load(&calls));
    assert_true(atomic_load(&calls) < LINKS / 2);
    for (unsigned i = 0; i < LINKS; i++)
        link_close(i);
    many_close();
}

/* The communication thread waits for a lock all the time: so it is the caller that takes what comes for any link. */
static void a_caller_that_waits_for_events_polls_for_all_links(void **state)
{
    (void)state;
    enum { LAST = LINKS - 1 }; /* not of the few that are looked at one by one */
    many_open((const char *const[]){"poll.spin=1s", "poll.spinners=4", NULL});
    for (unsigned i = 0; i < LINKS; i++)
        stream_open(i, m.pair.queue);
    for (unsigned i = 0; i < LINKS; i++)
        await_armed(m.server[i]);
    hd_lock(&m.server[LAST]->lock);
    assert_ok(hd_send(m.from[LAST], "x", 1, PATIENCE));
    while (atomic_load(&m.server[LAST]->lock.state) != HD_LOCK_WANTED)
        usleep(200);
    for (unsigned i = 0; i < LAST; i++) {
        assert_ok(hd_send(m.from[i], "x", 1, PATIENCE));
        assert_int_equal(next_event(m.pair.queue, HD_EVENT_READABLE).user, i);
    }
    hd_unlock(&m.server[LAST]->lock);
    assert_int_equal(next_event(m.pair.queue, HD_EVENT_READABLE).user, LAST);
    for (unsigned i = 0; i < LINKS; i++)
        link_close(i);
    many_close();
}

/* ---- callers, sleepers and the communication thread on one queue ---- */

struct caller {
    pthread_t thread;
    unsigned link;
    int rounds, err;
};

static void *call_run(void *arg)
{
    struct caller *c = arg;
    char data[300];
    for (int i = 0; i < c->rounds && !c->err; i++) {
        size_t length = 1 + (c->link * 7 + (unsigned)i * 13) % sizeof(data);
        hd_buf *answer;
        fill(data, length, c->link + (unsigned)i);
        c->err = hd_send(m.from[c->link], data, length, PATIENCE);
        if (!c->err)
            c->err = hd_recv(m.from[c->link], &answer, PATIENCE);
        if (c->err)
            break;
        if (hd_buf_length(answer) != length || !filled(hd_buf_data(answer), length, c->link + (unsigned)i))
            c->err = -EBADMSG;
        hd_buf_unref(answer);
    }
    return NULL;
}

static int answer_once(hd_stream *stream, int64_t timeout)
{
    hd_buf *msg;
    int err = hd_recv(stream, &msg, timeout);
    if (err)
        return err;
    err = hd_send(stream, hd_buf_data(msg), hd_buf_length(msg), PATIENCE);
    hd_buf_unref(msg);
    return err;
}

/* The server's end of a link that a thread reads. */
static void *answer_run(void *arg)
{
    struct caller *c = arg;
    for (int i = 0; i < c->rounds && !c->err; i++)
        c->err = answer_once(m.to[c->link], PATIENCE);
    return NULL;
}

/* And of those that are served by events. */
static void *events_run(void *arg)
{
    struct caller *c = arg;
    for (int answered = 0; answered < c->rounds && !c->err;) {
        struct hd_event event;
        int n = hd_queue_wait(m.pair.queue, &event, 1, PATIENCE);
        c->err = n < 0 ? n : 0;
        int err = 0;
        while (!c->err && (err = answer_once(event.stream, 0)) == 0)
            answered++;
        if (!c->err && err != -EAGAIN)
            c->err = err < 0 ? err : -EPIPE;
    }
    return NULL;
}

enum { READ_BY_THREADS = 8, SERVED_BY_EVENTS = 16, CALLERS = READ_BY_THREADS + SERVED_BY_EVENTS };

static void calls_of_all_links(int rounds)
{
    struct caller callers[CALLERS] = {0}, readers[READ_BY_THREADS] = {0},
                  events = {.rounds = rounds * SERVED_BY_EVENTS};
    assert_int_equal(pthread_create(&events.thread, NULL, events_run, &events), 0);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.link = i, .rounds = rounds};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_run, &callers[i]), 0);
        if (i >= READ_BY_THREADS)
            continue;
        readers[i] = (struct caller){.link = i, .rounds = rounds};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, answer_run, &readers[i]), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    for (unsigned i = 0; i < READ_BY_THREADS; i++)
        pthread_join(readers[i].thread, NULL);
    pthread_join(events.thread, NULL);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(callers[i].err, 0);
    for (unsigned i = 0; i < READ_BY_THREADS; i++)
        assert_int_equal(readers[i].err, 0);
    assert_int_equal(events.err, 0);
}

/* Between two rounds links end and others take their place, with new queue pairs. */
static void no_link_misses_what_another_ones_caller_took(const char *const *options)
{
    unsigned number = LINKS;
    many_open(options);
    for (unsigned i = 0; i < LINKS; i++)
        stream_open(i, i < READ_BY_THREADS ? NULL : m.pair.queue);
    for (int round = 0; round < 3; round++) {
        calls_of_all_links(test_rounds_least(800, 20));
        for (unsigned i = (unsigned)round % 2; i < LINKS; i += 2) {
            link_close(i);
            link_open(i, ++number);
            stream_open(i, i < READ_BY_THREADS ? NULL : m.pair.queue);
        }
    }
    assert_int_equal(counter(m.pair.a, "wakeups.lost") + counter(m.pair.b, "wakeups.lost"), 0);
    for (unsigned i = 0; i < LINKS; i++)
        link_close(i);
    many_close();
}

static void callers_sleep(void **state)
{
    (void)state;
    no_link_misses_what_another_ones_caller_took((const char *const[]){"poll.spin=0", NULL});
}

static void callers_spin(void **state)
{
    (void)state;
    no_link_misses_what_another_ones_caller_took(NULL);
}

static void callers_of_several_communication_threads(void **state)
{
    (void)state;
    no_link_misses_what_another_ones_caller_took((const char *const[]){"communication.threads=2", NULL});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_link_costs_three_descriptors_and_64_kb),
        cmocka_unit_test(communication_threads_have_queues_of_their_own),
        cmocka_unit_test(one_wake_up_serves_all_links),
        cmocka_unit_test(a_caller_that_waits_for_events_polls_for_all_links),
        cmocka_unit_test(callers_sleep),
        cmocka_unit_test(callers_spin),
        cmocka_unit_test(callers_of_several_communication_threads),
    };
    return test_run(argc, argv, tests, HD_COUNT(tests));
}
