/* SPDX-License-Identifier: Apache-2.0 */

/* Calls as Hadoop makes them: the server hears of a request by a queue, another of its threads answers, and the client
 * waits for the answer. Both ends take their time, so that every thread is met awake, spinning, going to sleep and
 * asleep. No call may stand still: what nobody was woken for would only come with the next one. */

#include <pthread.h>
#include <unistd.h>

#include "link/link.h"
#include "support.h"

#define HANDLERS 2
#define LENGTH   512

struct server {
    hd_queue *queue;
    pthread_mutex_t lock;
    pthread_cond_t come;
    hd_stream *stream; /* a request of it waits for a handler */
    bool over;
    unsigned seed;
};

/* Mostly nothing, at times as long as it takes the others to fall asleep, or their communication thread to take over.
 */
static void take_some_time(unsigned *seed)
{
    static const useconds_t times[] = {0, 0, 0, 10, 40, 200, 1500};
    useconds_t time = times[(unsigned)rand_r(seed) % HD_COUNT(times)];
    if (time)
        usleep(time);
}

static void *handle(void *arg)
{
    struct server *server = arg;
    hd_buf *msg;
    pthread_mutex_lock(&server->lock);
    unsigned seed = ++server->seed;
    for (;;) {
        while (!server->stream && !server->over)
            pthread_cond_wait(&server->come, &server->lock);
        hd_stream *stream = server->stream;
        server->stream = NULL;
        if (!stream)
            break;
        pthread_mutex_unlock(&server->lock);
        while (hd_recv(stream, &msg, 0) == 0) {
            take_some_time(&seed);
            assert_ok(hd_send(stream, hd_buf_data(msg), hd_buf_length(msg), PATIENCE));
            hd_buf_unref(msg);
        }
        pthread_mutex_lock(&server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

static void *hear(void *arg)
{
    struct server *server = arg;
    struct hd_event event;
    for (;;) {
        if (hd_queue_wait(server->queue, &event, 1, HD_FOREVER) != 1)
            return NULL;
        pthread_mutex_lock(&server->lock);
        server->stream = event.stream;
        pthread_cond_signal(&server->come);
        pthread_mutex_unlock(&server->lock);
    }
}

static void call(hd_stream *client, uint64_t number)
{
    char data[LENGTH];
    hd_buf *answer;
    fill(data, sizeof(data), number);
    assert_ok(hd_send(client, data, sizeof(data), PATIENCE));
    int err = hd_recv(client, &answer, PATIENCE);
    if (err)
        fail_msg("call %llu: %d (%s)", (unsigned long long)number, err, hd_last_error());
    assert_int_equal(hd_buf_length(answer), sizeof(data));
    assert_true(filled(hd_buf_data(answer), sizeof(data), number));
    hd_buf_unref(answer);
}

struct bench {
    struct pair pair;
    struct server server;
    hd_stream *client, *stream;
    pthread_t ears, handlers[HANDLERS];
};

static void bench_open(struct bench *bench, const char *const *options)
{
    struct server *server = &bench->server;
    memset(bench, 0, sizeof(*bench));
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->come, NULL);
    pair_open(&bench->pair, options);
    pair_stream(&bench->pair, NULL, &bench->client, &bench->stream);
    assert_ok(hd_queue_create(bench->pair.b, &server->queue));
    struct hd_stream_params params = {.size = sizeof(params), .queue = server->queue};
    assert_ok(hd_stream_configure(bench->stream, &params));
    pthread_create(&bench->ears, NULL, hear, server);
    for (int i = 0; i < HANDLERS; i++)
        pthread_create(&bench->handlers[i], NULL, handle, server);
}

static void bench_close(struct bench *bench)
{
    struct server *server = &bench->server;
    hd_queue_wake(server->queue);
    pthread_join(bench->ears, NULL);
    pthread_mutex_lock(&server->lock);
    server->over = true;
    pthread_cond_broadcast(&server->come);
    pthread_mutex_unlock(&server->lock);
    for (int i = 0; i < HANDLERS; i++)
        pthread_join(bench->handlers[i], NULL);
    hd_stream_close(bench->client);
    hd_stream_close(bench->stream);
    hd_queue_destroy(server->queue);
    pair_close(&bench->pair);
    pthread_cond_destroy(&server->come);
    pthread_mutex_destroy(&server->lock);
}

static void no_call_stands_still(void **state)
{
    (void)state;
    struct bench bench;
    unsigned seed = 7;
    bench_open(&bench, NULL);
    for (int i = 0, calls = test_rounds(2000); i < calls; i++) {
        call(bench.client, (uint64_t)i);
        take_some_time(&seed);
    }
    bench_close(&bench);
}

/* From the next call on notifications come again: the end of a link is one, too, and closing waits for peers only so
 * long. */
static void hear_again(struct bench *bench)
{
    hd_link *links[] = {bench->pair.client, bench->pair.server};
    hd_engine *engines[] = {bench->pair.a, bench->pair.b};
    for (int i = 0; i < 2; i++) {
        hd_link_lock(links[i]); /* under which the fault looks */
        engines[i]->conf.fault_deaf_rate = 0;
        hd_link_unlock(links[i]);
    }
    for (uint64_t i = 0; i < 2; i++)
        call(bench->client, i);
}

/* A driver that forgets to say what came: the regular look finds it, counts it and says it. */
static void nor_if_no_notification_comes(void **state)
{
    (void)state;
    struct bench bench;
    const char *const options[] = {"fault.deaf.rate=1", NULL};
    bench_open(&bench, options);
    uint64_t lost = 0;
    for (int i = 0; i < 50 && lost < 2; i++) {
        call(bench.client, (uint64_t)i);
        lost = counter(bench.pair.a, "wakeups.lost");
        if (bench.pair.b != bench.pair.a)
            lost += counter(bench.pair.b, "wakeups.lost");
        usleep(2000); /* everybody sleeps when the next one comes */
    }
    assert_true(lost >= 2);
    assert_true(counter(bench.pair.a, "faults.deaf") > 0);
    hear_again(&bench);
    bench_close(&bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_call_stands_still),
                                       cmocka_unit_test(nor_if_no_notification_comes)};
    return test_run(argc, argv, tests, HD_COUNT(tests));
}
