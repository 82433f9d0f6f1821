/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/predict.h"

#include <stdbool.h>

#define PROBES 8

/* The slot of a kind, or with `take` a free one, else the first probed is overwritten. -1: none. */
static int slot_of(struct hd_predict *predict, uint64_t kind, bool take)
{
    unsigned first = (unsigned)((kind * 0x9e3779b97f4a7c15ULL) >> 54) % HD_PREDICT_SLOTS;
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned at = (first + i) % HD_PREDICT_SLOTS;
        uint64_t seen = atomic_load_explicit(&predict->slots[at].kind, memory_order_acquire);
        if (seen == kind)
            return (int)at;
        if (seen == 0 && !take)
            return -1;
        if (seen == 0 && atomic_compare_exchange_strong(&predict->slots[at].kind, &seen, kind))
            return (int)at;
        if (seen == kind)
            return (int)at;
    }
    if (!take)
        return -1;
    atomic_store_explicit(&predict->slots[first].size, 0, memory_order_relaxed);
    atomic_store_explicit(&predict->slots[first].kind, kind, memory_order_release);
    return (int)first;
}

void hd_predict_record(struct hd_predict *predict, uint64_t kind, size_t bytes)
{
    int at = slot_of(predict, kind | 1ULL << 63, true);
    uint64_t old = atomic_load_explicit(&predict->slots[at].size, memory_order_relaxed);
    uint64_t size = bytes >= old ? bytes : old - (old - bytes) / 8;
    atomic_store_explicit(&predict->slots[at].size, size, memory_order_relaxed);
}

size_t hd_predict_size(struct hd_predict *predict, uint64_t kind, size_t fallback)
{
    int at = slot_of(predict, kind | 1ULL << 63, false);
    if (at < 0)
        return fallback;
    uint64_t size = atomic_load_explicit(&predict->slots[at].size, memory_order_relaxed);
    return size ? (size_t)size : fallback;
}
