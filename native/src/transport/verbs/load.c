/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libibverbs is opened when it is needed, so that the engine runs on hosts without it. Symbols are asked for by the
 * version that every libibverbs of the last fifteen years has. A newer symbol is NULL in a library without it.
 *
 * Some calls are inline functions of its header that go through a table of the context (ibv_poll_cq, ibv_post_send,
 * ibv_post_srq_recv, ibv_req_notify_cq); they need no symbol.
 */

#include "transport/verbs/verbs.h"

#include <dlfcn.h>
#include <stddef.h>

#define LIBRARY "libibverbs.so.1"

static struct verbs_api api;
static bool loaded;
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    size_t at;
} symbols[] = {
#define SYMBOL(name)                                                                                                   \
    {                                                                                                                  \
        "ibv_" #name, offsetof(struct verbs_api, name)                                                                 \
    }
    SYMBOL(get_device_list), SYMBOL(free_device_list), SYMBOL(open_device),   SYMBOL(close_device),
    SYMBOL(query_device),    SYMBOL(query_port),       SYMBOL(query_gid),     SYMBOL(alloc_pd),
    SYMBOL(dealloc_pd),      SYMBOL(reg_mr),           SYMBOL(dereg_mr),      SYMBOL(create_comp_channel),
    SYMBOL(create_cq),       SYMBOL(destroy_cq),       SYMBOL(get_cq_event),  SYMBOL(destroy_comp_channel),
    SYMBOL(ack_cq_events),   SYMBOL(create_srq),       SYMBOL(destroy_srq),   SYMBOL(create_qp),
    SYMBOL(modify_qp),       SYMBOL(destroy_qp),       SYMBOL(wc_status_str), SYMBOL(get_async_event),
    SYMBOL(ack_async_event), SYMBOL(event_type_str),   SYMBOL(query_pkey),    SYMBOL(resize_cq),
};

static const struct {
    const char *name, *version;
    size_t at;
} newer_symbols[] = {
    {"ibv_qp_to_qp_ex", "IBVERBS_1.6", offsetof(struct verbs_api, qp_to_qp_ex)},
    {"ibv_reg_mr_iova2", "IBVERBS_1.8", offsetof(struct verbs_api, reg_mr_iova2)},
};

static int resolve(void *library)
{
    for (size_t i = 0; i < HD_COUNT(newer_symbols); i++) {
        void *symbol = dlvsym(library, newer_symbols[i].name, newer_symbols[i].version);
        memcpy((char *)&api + newer_symbols[i].at, &symbol, sizeof(symbol));
    }
    for (size_t i = 0; i < HD_COUNT(symbols); i++) {
        void *symbol = dlvsym(library, symbols[i].name, "IBVERBS_1.1");
        if (!symbol) /* what did not change since then has its first version */
            symbol = dlvsym(library, symbols[i].name, "IBVERBS_1.0");
        if (!symbol)
            return hd_error(-EOPNOTSUPP, "%s has no %s: it is too old", LIBRARY, symbols[i].name);
        memcpy((char *)&api + symbols[i].at, &symbol, sizeof(symbol));
    }
    return 0;
}

const struct verbs_api *hd_verbs_load(void)
{
    pthread_mutex_lock(&load_lock);
    if (!loaded) {
        /* It stays: its drivers may have left threads and handlers behind. */
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            hd_error(-EOPNOTSUPP, "%s cannot be loaded (package libibverbs1 or rdma-core): %s", LIBRARY, dlerror());
        else
            loaded = resolve(library) == 0;
    }
    const struct verbs_api *result = loaded ? &api : NULL;
    pthread_mutex_unlock(&load_lock);
    return result;
}
