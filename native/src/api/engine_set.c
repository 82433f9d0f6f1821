/* SPDX-License-Identifier: Apache-2.0 */

/* Options that can be changed while the engine lives. */

#include <stdlib.h>

#include "link/link.h"

static struct hd_device *device_of(const struct hd_engine *engine, const char *transport)
{
    for (unsigned i = 0; i < engine->device_count; i++) {
        struct hd_device *device = engine->devices[i]->inner ? engine->devices[i]->inner : engine->devices[i];
        if (strcmp(device->ops->name, transport) == 0)
            return device;
    }
    return NULL;
}

/* Links whose peers have keys. */
static unsigned open_links(struct hd_engine *engine, const char *transport)
{
    unsigned count = 0;
    pthread_mutex_lock(&engine->lock);
    for (struct hd_list *n = engine->links.next; n != &engine->links; n = n->next) {
        const struct hd_link *link = hd_container(n, struct hd_link, in_engine);
        count += !atomic_load(&link->error) && link->by_transport == hd_stats_transport(engine->stats, transport);
    }
    pthread_mutex_unlock(&engine->lock);
    return count;
}

static bool has_slabs(struct hd_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    bool any = !hd_list_empty(&arena->slabs);
    pthread_mutex_unlock(&arena->lock);
    return any;
}

/* Over verbs a queue pair can refuse remote access, whatever its memory allows. Over uDAPL only memory can, which then
 * must not have been registered yet. */
static int set_remote_access(struct hd_engine *engine, const char *transport, bool on)
{
    struct hd_device *device = device_of(engine, transport);
    if (!device || on != atomic_load(&device->local_only))
        return 0;
    if (on)
        return hd_error(-EOPNOTSUPP, "it can be switched off in a living engine, not on");
    if (strcmp(transport, "udapl") == 0 && has_slabs(engine->arena))
        return hd_error(-EBUSY, "it is too late: memory of this engine is open to peers already");
    atomic_store(&device->local_only, true);
    unsigned count = open_links(engine, transport);
    if (count)
        hd_log(&engine->log, HD_LOG_WARN,
               "%u links over %s were made before remote access was switched off, and keep it", count, transport);
    return 0;
}

static int set_option(struct hd_engine *engine, const char *key, const struct hd_conf *conf)
{
    const char *name = key + strlen(HD_KEY_PREFIX);
    if (strcmp(name, "memory.limit") == 0)
        return hd_arena_raise(engine->arena, conf->memory_limit);
    if (strcmp(name, "verbs.remote.access") == 0)
        return set_remote_access(engine, "verbs", conf->verbs_remote_access);
    if (strcmp(name, "udapl.remote.access") == 0)
        return set_remote_access(engine, "udapl", conf->udapl_remote_access);
    if (strcmp(name, "log.level") == 0) {
        atomic_store(&engine->log.level, conf->log_level);
        return 0;
    }
    return hd_error(-EOPNOTSUPP, "it cannot be changed while the engine lives");
}

int hd_engine_set(hd_engine *engine, const char *key, const char *value, const char *where)
{
    hd_conf *conf = hd_conf_create();
    int err = conf ? hd_conf_set(conf, key, value, where) : hd_error(-ENOMEM, "out of memory");
    if (!err) {
        err = set_option(engine, key, conf);
        if (err)
            err = hd_error_context(err, "%s=%s (from %s)", key, value, where ? where : "the program");
    }
    hd_conf_destroy(conf);
    return err;
}
