/* SPDX-License-Identifier: Apache-2.0 */
#include "perf.h"

struct task {
    struct worker worker;
    void (*run)(struct worker *);
    pthread_t thread;
};

static void *workers_start(void *arg)
{
    struct task *task = arg;
    task->run(&task->worker);
    return NULL;
}

/* How many of the streams are a worker's. */
static uint32_t workers_streams(const struct ends *e, uint32_t worker)
{
    return (e->stream_count - worker + e->threads - 1) / e->threads;
}

void workers_ready(struct worker *w)
{
    w->start = now_us();
    pthread_barrier_wait(w->all_ready);
}

double workers_run(struct ends *e, const struct worker *like, void (*run)(struct worker *))
{
    struct task tasks[PERF_STREAMS];
    pthread_barrier_t all_ready;
    double *trips = like->trips, start = 0;
    pthread_barrier_init(&all_ready, NULL, e->threads);
    for (uint32_t i = 0; i < e->threads; i++) {
        tasks[i] = (struct task){.worker = *like, .run = run};
        tasks[i].worker.e = e;
        tasks[i].worker.first = i;
        tasks[i].worker.all_ready = &all_ready;
        tasks[i].worker.trips = trips;
        if (trips)
            trips += (size_t)like->count * workers_streams(e, i);
    }
    for (uint32_t i = 1; i < e->threads; i++)
        if (pthread_create(&tasks[i].thread, NULL, workers_start, &tasks[i]))
            perf_die("a thread");
    run(&tasks[0].worker);
    for (uint32_t i = 0; i < e->threads; i++) {
        if (i)
            pthread_join(tasks[i].thread, NULL);
        start = tasks[i].worker.start > start ? tasks[i].worker.start : start;
    }
    pthread_barrier_destroy(&all_ready);
    return start;
}

uint32_t workers_share(uint32_t count, uint32_t parts)
{
    return count / parts ? count / parts : 1;
}
