/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_ENGINE_H
#define HOWDAH_ENGINE_H

/** @file
 * The engine: memory, transports, links and communication threads of a process. One per process is the intended use;
 * several work, and tests do that.
 */
#include <howdah/affinity.h>
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hd_log_level { HD_LOG_ERROR, HD_LOG_WARN, HD_LOG_INFO, HD_LOG_DEBUG };

/** Receives log lines, without newline; may be called from any thread, also at the same time. It must not call the
 *  engine. */
typedef void (*hd_log_fn)(void *arg, enum hd_log_level level, const char *line);

struct hd_engine_params {
    size_t size;
    const hd_conf *conf; /**< copied; NULL: defaults and environment */
    const char *name;    /**< shown to peers and in the statistics file; NULL: the program's name */
    hd_log_fn log;       /**< NULL: standard error */
    void *log_arg;
};

/** Creates an engine and starts its threads. @param params may be NULL.
 *  @return -EINVAL for a forced transport that is not available here (the error says why), -ENOMEM, ... */
HD_API int hd_engine_create(const struct hd_engine_params *params, hd_engine **engine);

/** Closes the engine: every link is closed, every waiting call returns -ESHUTDOWN, every unfinished request completes
 * with -ESHUTDOWN, threads end. Handles the program still holds stay valid to be closed, and memory lives until the
 * last buffer is released. Returns when no thread of the engine runs any more. */
HD_API void hd_engine_destroy(hd_engine *engine);

/** Changes an option of a living engine, by its key. These can be changed: memory.limit can be raised; log.level can be
 *  set; verbs.remote.access and udapl.remote.access can be switched off. Then no further peer gets a key to memory;
 *  links over verbs that are up keep theirs until they end, which is logged. Over udapl it cannot be switched off once
 *  memory was registered.
 *  @return -EOPNOTSUPP for everything else, -EBUSY if it is too late, and the errors of hd_conf_set(). */
HD_API int hd_engine_set(hd_engine *engine, const char *key, const char *value, const char *where);

/** The first half of hd_engine_destroy(): ends services and links, so that every call that waits, and every later one,
 *  returns -ESHUTDOWN (hd_connect() and hd_accept() within half a second). Frees nothing. For programs whose threads
 * may be in a call with this engine: they stop it, wait until nobody is, and destroy it. May be called repeatedly. */
HD_API void hd_engine_stop(hd_engine *engine);

/** Offers a service to peers: streams opened and fetches sent to `name` (1 to 64 bytes) arrive as events in `queue`
 *  carrying `user`. @return -EEXIST if the name is taken. */
HD_API int hd_engine_listen(hd_engine *engine, const char *name, hd_queue *queue, uint64_t user);

/** Ends the offer; later requests are refused with -ENOENT at the peer. */
HD_API int hd_engine_unlisten(hd_engine *engine, const char *name);

/** A transport of this build. Returns its name for i = 0, 1, ..., NULL behind the last. `why` (may be NULL) is set
 *  to "" if it can be used in this process, else to the cause in words. */
HD_API const char *hd_engine_transport(hd_engine *engine, size_t i, const char **why);

/** What binds the engine's threads, by the options affinity.*; never NULL and valid as long as the engine. A thread of
 *  the program whose work is communication declares that by hd_affinity_enter_communication(), and takes it back by
 *  hd_affinity_leave(). */
HD_API hd_affinity *hd_engine_affinity(hd_engine *engine);

/** The affinity in force, for people: "o2ocs for mlx5_0, 10 sets: 0-7 8-15 ...", or "none" with the reason. Valid as
 *  long as the engine. */
HD_API const char *hd_engine_affinity_text(hd_engine *engine);

/** Remembers that a thing of this kind (a hash of protocol and method, say) took `bytes`. */
HD_API void hd_size_record(hd_engine *engine, uint64_t kind, size_t bytes);

/** Expected size of the next thing of this kind, from history; `fallback` if there is none. */
HD_API size_t hd_size_predict(hd_engine *engine, uint64_t kind, size_t fallback);

#ifdef __cplusplus
}
#endif

#endif
