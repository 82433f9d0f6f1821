/* SPDX-License-Identifier: Apache-2.0 */

/* The engine's life: devices, threads, and what they share. */

#include <howdah/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/fetch/fetch.h"
#include "link/registry.h"
#include "progress/comm.h"
#include "proto/protocols.h"
#include "core/queue.h"
#include "core/spin.h"
#include "config/tuning.h"
#include "base/trace.h"

#define GRACE ((int64_t)2000000000) /* how long closing waits for peers to let go of our memory */

/* ---- devices ---- */

static const char *device_name(const struct hd_device *device)
{
    return (device->inner ? device->inner : device)->ops->name;
}

static int slab_add(void *arg, struct hd_slab *slab)
{
    struct hd_device *device = arg;
    int err = device->ops->slab_add(device, slab);
    HD_TRACE4(memory_registered, device_name(device), slab->base, slab->size, err);
    return err;
}

static void slab_remove(void *arg, struct hd_slab *slab)
{
    struct hd_device *device = arg;
    device->ops->slab_remove(device, slab);
    HD_TRACE3(memory_deregistered, device_name(device), slab->base, slab->size);
}

/* Opens a transport if the configuration wants it. Only a transport named by the user must work. */
static int device_add(struct hd_engine *engine, const struct hd_transport_ops *ops, bool named, char why[256])
{
    const char *obstacle = ops->probe ? ops->probe() : NULL;
    struct hd_device common = {.conf = &engine->conf,
                               .log = &engine->log,
                               .arena = engine->arena,
                               .stats = engine->stats,
                               .engine_id = engine->id,
                               .index = engine->device_count};
    struct hd_device *device = NULL;
    int err = obstacle ? hd_error(-EOPNOTSUPP, "%s", obstacle) : hd_device_open(ops, &common, &device);
    if (err && named)
        return hd_error_context(-EINVAL, "transport %s was asked for and cannot be used", ops->name);
    if (err) {
        snprintf(why, 256, "%s", hd_last_error());
        hd_log(&engine->log, HD_LOG_INFO, "transport %s cannot be used: %s", ops->name, why);
        return 0;
    }
    struct hd_slab_user user = {.add = slab_add, .remove = slab_remove, .arg = device};
    hd_arena_add_user(engine->arena, &user);
    engine->devices[engine->device_count++] = device;
    return 0;
}

static int devices_open(struct hd_engine *engine)
{
    static const char *const names[] = {"", "verbs", "udapl", "shm", "self", ""};
    int choice = engine->conf.transport;
    bool found = choice == HD_TR_AUTO || choice == HD_TR_TCP;
    const struct hd_transport_ops *ops;
    for (size_t i = 0; choice != HD_TR_TCP && (ops = hd_transport_at(i)); i++) {
        bool named = strcmp(ops->name, names[choice]) == 0;
        if (choice != HD_TR_AUTO && !named)
            continue;
        found = true;
        int err = device_add(engine, ops, named, engine->obstacles[i]);
        if (err)
            return err;
    }
    return found ? 0 : hd_error(-EINVAL, "transport %s was asked for and is not part of this build", names[choice]);
}

static void devices_close(struct hd_engine *engine)
{
    hd_arena_drop_users(engine->arena);
    while (engine->device_count)
        hd_device_close(engine->devices[--engine->device_count]);
}

const char *hd_engine_transport(hd_engine *engine, size_t i, const char **why)
{
    const struct hd_transport_ops *ops = hd_transport_at(i);
    if (!ops || !why)
        return ops ? ops->name : NULL;
    *why = engine->obstacles[i];
    if (!**why && ops->probe)
        *why = ops->probe();
    if (!*why || !**why)
        *why = "switched off by " HD_KEY_PREFIX "transport";
    for (unsigned d = 0; d < engine->device_count; d++) {
        if (strcmp(device_name(engine->devices[d]), ops->name) == 0)
            *why = "";
    }
    return ops->name;
}

/* ---- affinity ---- */

static void affinity_say(void *arg, const char *line)
{
    hd_log(arg, HD_LOG_WARN, "%s", line);
}

/* Software devices (rxe, siw) hang on no bus, so no socket is close to them. */
static bool on_a_bus(const char *device)
{
    char path[HD_NAME_MAX + 64];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", device);
    return access(path, F_OK) == 0;
}

/* The adapter that the engine has opened; the first, if several transports have one. */
static const char *hardware(struct hd_engine *engine)
{
    for (unsigned i = 0; i < engine->device_count; i++) {
        struct hd_device *device = engine->devices[i]->inner ? engine->devices[i]->inner : engine->devices[i];
        const char *name = device->ops->hardware(device);
        if (name && on_a_bus(name))
            return name;
    }
    return NULL;
}

static int affinity_open(struct hd_engine *engine)
{
    struct hd_counters *now = engine->stats->now;
    struct hd_affinity_words words = {&now->affinity_hits, &now->affinity_misses, &now->affinity_bound,
                                      &now->affinity_refused};
    const char *device = hardware(engine);
    struct hd_affinity_setup setup = {.policy = engine->conf.affinity_policy,
                                      .device = device,
                                      .socket = engine->conf.affinity_socket,
                                      .topology = engine->conf.affinity_topology,
                                      .rdma = device != NULL,
                                      .threads = (enum hd_affinity_threads)engine->conf.affinity_threads,
                                      .say = affinity_say,
                                      .say_arg = &engine->log,
                                      .words = &words,
                                      .text = engine->affinity_text,
                                      .text_size = sizeof(engine->affinity_text)};
    int err = hd_affinity_open(&setup, &engine->affinity);
    if (err)
        return hd_error_context(err, HD_KEY_PREFIX "affinity.policy=%s (from %s) cannot be followed", setup.policy,
                                hd_conf_origin(&engine->conf, HD_KEY_PREFIX "affinity.policy"));
    engine->binds = hd_affinity_sets(engine->affinity) ? engine->affinity : NULL;
    hd_log(&engine->log, HD_LOG_INFO, "affinity: %s", engine->affinity_text);
    return 0;
}

hd_affinity *hd_engine_affinity(hd_engine *engine)
{
    return engine->affinity;
}

const char *hd_engine_affinity_text(hd_engine *engine)
{
    return engine->affinity_text;
}

/* ---- life ---- */

static int read_conf(struct hd_engine *engine, const hd_conf *given)
{
    hd_conf *conf = given ? NULL : hd_conf_create();
    if (!given && !conf)
        return hd_error(-ENOMEM, "out of memory");
    char note[600];
    int err = conf ? hd_conf_read_environment(conf) : 0;
    if (!err)
        engine->conf = given ? *given : *conf;
    hd_conf_destroy(conf);
    if (!err)
        atomic_store(&engine->log.level, engine->conf.log_level);
    if (!err)
        err = hd_conf_tune(&engine->conf, note, sizeof(note));
    if (!err && note[0])
        hd_log(&engine->log, HD_LOG_WARN, "%s", note);
    return err;
}

static int memory_open(struct hd_engine *engine)
{
    char why[256];
    struct hd_stats *stats = malloc(sizeof(*stats));
    if (!stats)
        return hd_error(-ENOMEM, "out of memory");
    int err = hd_stats_open(stats, engine->conf.stats_dir, engine->name, (unsigned)engine->conf.stats_peers, why,
                            sizeof(why));
    if (err) {
        free(stats);
        return err;
    }
    if (why[0])
        hd_log(&engine->log, HD_LOG_WARN, "%s", why);
    err = hd_arena_create(&engine->conf, stats, &engine->arena);
    if (err) {
        hd_stats_close(stats);
        free(stats);
        return err;
    }
    engine->stats = stats;
    return 0;
}

static void init_locks(struct hd_engine *engine)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->services_lock, NULL);
    pthread_mutex_init(&engine->io_lock, NULL);
    pthread_cond_init(&engine->link_gone, &monotonic);
    pthread_cond_init(&engine->io_work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    hd_registry_open(engine);
    hd_list_init(&engine->parties);
    hd_list_init(&engine->services);
    hd_list_init(&engine->queues);
    hd_list_init(&engine->io_jobs);
}

int hd_engine_create(const struct hd_engine_params *given, hd_engine **out)
{
    struct hd_engine_params params;
    int err = hd_params_take(&params, sizeof(params), given, 0, "engine parameters");
    if (err)
        return err;
    struct hd_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return hd_error(-ENOMEM, "out of memory");
    atomic_init(&engine->refs, 1);
    hd_ticks_start();
    init_locks(engine);
    engine->link_hooks = &hd_protocols;
    engine->log.write = params.log;
    engine->log.arg = params.log_arg;
    snprintf(engine->name, sizeof(engine->name), "%s", params.name ? params.name : program_invocation_short_name);
    err = read_conf(engine, params.conf);
    if (!err)
        err = hd_random_bytes(engine->id, sizeof(engine->id));
    if (!err)
        err = memory_open(engine);
    if (err) {
        free(engine);
        return err;
    }
    hd_spin_open(engine);
    int half = hd_processors() / 2;
    engine->spinners_max = engine->conf.poll_spinners ? (int)engine->conf.poll_spinners : half > 1 ? half : 1;
    err = devices_open(engine);
    if (!err)
        err = affinity_open(engine);
    if (!err)
        err = hd_comm_start(engine);
    if (!err)
        err = hd_io_start(engine);
    if (err) {
        char cause[512];
        snprintf(cause, sizeof(cause), "%s", hd_last_error());
        hd_engine_destroy(engine);
        return hd_error(err, "%s", cause);
    }
    *out = engine;
    return 0;
}

static void links_doom(struct hd_engine *engine)
{
    for (struct hd_link *link;;) {
        pthread_mutex_lock(&engine->lock);
        struct hd_list *n = engine->links.next;
        while (n != &engine->links && atomic_load(&hd_container(n, struct hd_link, in_engine)->error))
            n = n->next;
        link = n == &engine->links ? NULL : hd_link_ref(hd_container(n, struct hd_link, in_engine));
        pthread_mutex_unlock(&engine->lock); /* a link's lock comes first */
        if (!link)
            return;
        hd_link_lock(link);
        hd_link_doom(link, -ESHUTDOWN, "the engine was closed");
        hd_link_unlock(link);
        hd_link_put(link);
    }
}

/* Ends every link. @return links whose peers did not let go of our memory in time. */
static int links_close(struct hd_engine *engine)
{
    struct timespec until;
    int64_t deadline = hd_now() + GRACE;
    until.tv_sec = deadline / 1000000000;
    until.tv_nsec = deadline % 1000000000;
    pthread_mutex_lock(&engine->lock);
    for (int late = 0; !hd_list_empty(&engine->links) && !late;) {
        pthread_mutex_unlock(&engine->lock);
        links_doom(engine);
        pthread_mutex_lock(&engine->lock);
        if (!hd_list_empty(&engine->links))
            late = pthread_cond_timedwait(&engine->link_gone, &engine->lock, &until);
    }
    int left = 0;
    for (struct hd_list *n = engine->links.next; n != &engine->links; n = n->next)
        left++;
    pthread_mutex_unlock(&engine->lock);
    return left;
}

static void wake_queues(struct hd_engine *engine)
{
    pthread_mutex_lock(&engine->services_lock);
    for (struct hd_list *n = engine->queues.next; n != &engine->queues; n = n->next)
        hd_queue_wake_all(hd_container(n, hd_queue, in_engine));
    pthread_mutex_unlock(&engine->services_lock);
}

static void services_close(struct hd_engine *engine)
{
    char name[HD_SERVICE_MAX + 1];
    for (;;) {
        pthread_mutex_lock(&engine->services_lock);
        bool any = !hd_list_empty(&engine->services);
        if (any) /* a service begins with its node, then its name */
            snprintf(name, sizeof(name), "%s", (const char *)(engine->services.next + 1));
        pthread_mutex_unlock(&engine->services_lock);
        if (!any)
            return;
        hd_engine_unlisten(engine, name);
    }
}

void hd_engine_stop(hd_engine *engine)
{
    atomic_store(&engine->closing, true);
    services_close(engine);
    links_doom(engine);
    wake_queues(engine);
}

void hd_engine_destroy(hd_engine *engine)
{
    if (!engine)
        return;
    atomic_store(&engine->closing, true);
    services_close(engine);
    int left = engine->comm_count ? links_close(engine) : 0;
    wake_queues(engine);
    hd_io_stop(engine);
    hd_comm_stop(engine);
    hd_affinity_close(engine->affinity);
    hd_stats_unlink(engine->stats);
    if (left) {
        /* A stopped peer may still write into our memory once it goes on: better leak it than have it reused. */
        hd_log(&engine->log, HD_LOG_WARN,
               "%d peers did not let go of memory in time; it is left to the end of the process", left);
        return;
    }
    devices_close(engine);
    hd_engine_unref(engine);
}

/* ---- small things ---- */

int hd_buf_alloc(hd_engine *engine, size_t size, hd_buf **buf)
{
    return hd_arena_alloc(engine->arena, size, buf);
}

int hd_buf_register(hd_engine *engine, void *address, size_t length, hd_buf **buf)
{
    return hd_arena_register(engine->arena, address, length, buf);
}

/* Counters that are kept elsewhere while there is traffic. */
static void bring_up_to_date(hd_engine *engine)
{
    hd_links_publish(engine);
    hd_arena_settle(engine->arena);
}

int hd_stats_get(hd_engine *engine, const char *name, uint64_t *value)
{
    bring_up_to_date(engine);
    return hd_stats_read(engine->stats, name, value);
}

int hd_stats_at(hd_engine *engine, size_t i, const char **name, uint64_t *value)
{
    if (value && hd_stats_lags(i))
        bring_up_to_date(engine);
    return hd_stats_read_at(engine->stats, i, name, value);
}

const char *hd_stats_path(hd_engine *engine)
{
    return engine->stats->path;
}

void hd_size_record(hd_engine *engine, uint64_t kind, size_t bytes)
{
    hd_predict_record(&engine->predict, kind, bytes);
}

size_t hd_size_predict(hd_engine *engine, uint64_t kind, size_t fallback)
{
    return hd_predict_size(&engine->predict, kind, fallback);
}
