/* SPDX-License-Identifier: Apache-2.0 */
#include "core/context.h"

#include <stdlib.h>

#include "core/spin.h"

struct hd_engine *hd_engine_ref(struct hd_engine *engine)
{
    atomic_fetch_add_explicit(&engine->refs, 1, memory_order_relaxed);
    return engine;
}

void hd_engine_unref(struct hd_engine *engine)
{
    if (atomic_fetch_sub_explicit(&engine->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&engine->lock);
    pthread_mutex_destroy(&engine->services_lock);
    pthread_mutex_destroy(&engine->io_lock);
    pthread_cond_destroy(&engine->link_gone);
    pthread_cond_destroy(&engine->io_work);
    hd_affinity_destroy(engine->affinity);
    hd_arena_release(engine->arena);
    hd_spin_close(engine);
    free(engine);
}
