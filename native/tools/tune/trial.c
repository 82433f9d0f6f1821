/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHORTEST  0.02 /* seconds that one figure takes at least */
#define FEWEST    10U  /* operations */
#define IN_FLIGHT 8

double tune_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int tune_set(struct tune_setting *settings, unsigned *count, const char *key, const char *value)
{
    unsigned i = 0;
    while (i < *count && strcmp(settings[i].key, key) != 0)
        i++;
    if (i == TUNE_SETTINGS)
        return -ENOSPC;
    *count = i == *count ? *count + 1 : *count;
    snprintf(settings[i].key, sizeof(settings[i].key), "%s", key);
    snprintf(settings[i].value, sizeof(settings[i].value), "%s", value);
    return 0;
}

/* What the environment says, and then the settings. No profile: an old one must not speak for itself. */
hd_conf *tune_conf(const struct tune_setting *settings, unsigned count)
{
    hd_conf *conf = hd_conf_create();
    int err = conf ? hd_conf_read_environment(conf) : -ENOMEM;
    if (!err)
        err = hd_conf_set(conf, "hadoop.rdma.tuning.profile", "none", "hd-tune");
    for (unsigned i = 0; i < count && !err; i++)
        err = hd_conf_set(conf, settings[i].key, settings[i].value, "hd-tune");
    if (!err)
        return conf;
    hd_conf_destroy(conf);
    return NULL;
}

/* One engine of ours and its link to the server. */
struct client {
    hd_engine *engine;
    hd_queue *queue;
    hd_link *link;
    const struct tune_task *task;
    double result;
    int err;
};

static int client_open(struct client *c, const struct tune_session *session, const hd_conf *conf)
{
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf, .name = "hd-tune"};
    struct hd_connect_result result = {.size = sizeof(result)};
    int err = hd_engine_create(&params, &c->engine);
    if (!err)
        err = hd_queue_create(c->engine, &c->queue);
    int fd = err ? -1 : tune_connect(session->where);
    if (fd < 0)
        return err ? err : -ECONNREFUSED;
    err = hd_connect(c->engine, fd, session->where, TUNE_WAIT, &result);
    close(fd);
    if (!err && result.outcome != HD_LINKED) {
        fprintf(stderr, "hd-tune: no link: %s\n", result.reason);
        return -EPROTO;
    }
    c->link = err ? NULL : result.link;
    return err;
}

static void client_close(struct client *c)
{
    if (c->link)
        hd_link_put(c->link);
    if (c->queue)
        hd_queue_destroy(c->queue);
    hd_engine_destroy(c->engine);
}

/* ---- messages to and fro ---- */

static int ping_once(hd_stream *stream, hd_buf *buf, size_t size)
{
    hd_buf *answer;
    int err = hd_send_buf(stream, buf, 0, size, TUNE_WAIT);
    if (!err)
        err = hd_recv(stream, &answer, TUNE_WAIT);
    if (err)
        return err < 0 ? err : -ECONNRESET;
    hd_buf_unref(answer);
    return 0;
}

static int ping_size(struct client *c, hd_stream *stream, size_t size, double *us)
{
    hd_buf *buf;
    int err = hd_buf_alloc(c->engine, size, &buf);
    if (err)
        return err;
    memset(hd_buf_data(buf), 1, size);
    for (unsigned i = 0; i < FEWEST && !err; i++) /* warm */
        err = ping_once(stream, buf, size);
    double start = tune_now(), passed = 0;
    unsigned count = 0;
    while (!err && (count < FEWEST || passed < SHORTEST)) {
        memset(hd_buf_data(buf), (int)count, size); /* fresh contents, as real messages have */
        err = ping_once(stream, buf, size);
        count++;
        passed = tune_now() - start;
    }
    *us = passed * 1e6 / count / 2;
    hd_buf_unref(buf);
    return err;
}

/* The geometric mean, so that each size counts alike. */
static int ping(struct client *c)
{
    double sum = 0, us;
    int count = 0;
    hd_stream *stream;
    int err = hd_stream_open(c->link, "tune", NULL, &stream);
    if (err)
        return err;
    for (const size_t *size = c->task->sizes; *size && !err; size++, count++) {
        err = ping_size(c, stream, *size, &us);
        sum += err ? 0 : log(us);
    }
    hd_stream_close(stream);
    c->result = exp(sum / count);
    return err;
}

/* ---- pulls ---- */

static int pull_start(struct client *c, const char *name)
{
    hd_fetch *fetch;
    struct hd_fetch_params params = {
        .size = sizeof(params), .name = name, .name_length = strlen(name), .length = HD_FETCH_ALL, .queue = c->queue};
    return hd_fetch_start(c->link, "tune", &params, &fetch);
}

static int pull_end(struct client *c, bool must_succeed)
{
    struct hd_event event;
    int n = hd_queue_wait(c->queue, &event, 1, TUNE_WAIT);
    if (n < 0)
        return n;
    int status = event.status;
    hd_fetch_release(event.fetch);
    return must_succeed ? status : 0;
}

/* Microseconds a block. */
static int pull(struct client *c)
{
    char name[32];
    int err = 0;
    unsigned started = 0, ended = 0;
    double start = 0, passed = 0;
    snprintf(name, sizeof(name), "%zu", c->task->sizes[0]);
    /* The first FEWEST blocks are the warm-up. */
    for (bool more = true; !err && (more || ended < started);) {
        while (!err && more && started - ended < c->task->in_flight) {
            err = pull_start(c, name);
            started += !err;
        }
        if (!err)
            err = pull_end(c, true);
        ended++;
        if (ended == FEWEST)
            start = tune_now();
        passed = ended > FEWEST ? tune_now() - start : 0;
        more = ended < 2 * FEWEST || passed < 2 * SHORTEST;
    }
    if (!err)
        err = pull_start(c, "end");
    if (!err)
        err = pull_end(c, false);
    c->result = passed * 1e6 / (ended - FEWEST);
    return err;
}

/* ---- a trial ---- */

static void *run(void *arg)
{
    struct client *c = arg;
    c->err = c->task->kind == TUNE_PING ? ping(c) : pull(c);
    if (c->err) /* the thread's own words end with it */
        fprintf(stderr, "hd-tune: measuring %s: %s\n", c->task->option, hd_last_error());
    return NULL;
}

static bool run_all(struct client *clients, unsigned count, double *result)
{
    pthread_t threads[TUNE_LINKS];
    unsigned started = 0;
    bool ok = true;
    double rate = 0;
    while (started < count && pthread_create(&threads[started], NULL, run, &clients[started]) == 0)
        started++;
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        ok = ok && !clients[i].err;
        rate += 1 / clients[i].result;
    }
    *result = 1 / rate; /* of all links together */
    return ok && started == count;
}

static bool order(struct tune_session *session, const struct tune_task *task, const struct tune_setting *settings,
                  unsigned count)
{
    char words[512];
    struct tune_order o = {.kind = task->kind, .links = task->links, .setting_count = count};
    memcpy(o.settings, settings, count * sizeof(*settings));
    if (!tune_send(session->control, &o, sizeof(o)) || !tune_receive_words(session->control, words, sizeof(words))) {
        fprintf(stderr, "hd-tune: the other end has gone\n");
        return false;
    }
    if (words[0])
        fprintf(stderr, "hd-tune: the other end: %s\n", words);
    return !words[0];
}

bool tune_trial(struct tune_session *session, const struct tune_task *task, const char *value, double *result)
{
    struct tune_setting settings[TUNE_SETTINGS];
    unsigned setting_count = session->setting_count;
    char key[80], words[512];
    memcpy(settings, session->settings, sizeof(settings));
    snprintf(key, sizeof(key), "hadoop.rdma.%s", task->option);
    hd_conf *conf = tune_set(settings, &setting_count, key, value) ? NULL : tune_conf(settings, setting_count);
    if (!conf) {
        fprintf(stderr, "hd-tune: %s=%s: %s\n", key, value, hd_last_error());
        return false;
    }
    struct client clients[TUNE_LINKS] = {{0}};
    unsigned opened = 0;
    bool ok = order(session, task, settings, setting_count);
    for (; ok && opened < task->links; opened++) {
        clients[opened].task = task;
        ok = client_open(&clients[opened], session, conf) == 0;
        if (!ok)
            fprintf(stderr, "hd-tune: no link with %s=%s: %s\n", key, value, hd_last_error());
    }
    if (ok) {
        snprintf(session->transport, sizeof(session->transport), "%s", hd_link_transport(clients[0].link));
        ok = run_all(clients, task->links, result);
    }
    for (unsigned i = 0; i < opened; i++)
        client_close(&clients[i]);
    hd_conf_destroy(conf);
    if (ok && (!tune_receive_words(session->control, words, sizeof(words)) || words[0])) {
        fprintf(stderr, "hd-tune: the other end: %s\n", words);
        ok = false;
    }
    return ok;
}

void tune_quit(struct tune_session *session)
{
    struct tune_order o = {.kind = TUNE_QUIT};
    tune_send(session->control, &o, sizeof(o));
    close(session->control);
}
