/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TICKS_H
#define HD_TICKS_H

/*
 * A clock of one instruction, for times that are measured with each message: the processor's time stamp counter, whose
 * speed is compared with the system's clock. Only differences of one process mean something.
 */

#include <howdah/base.h>

#include "base/util.h"

static inline uint64_t hd_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__powerpc64__)
    return __builtin_ppc_get_timebase();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)hd_now();
#endif
}

/* The process's first time stamp. Before the first link is made. */
void hd_ticks_start(void);

/* Quarters of a microsecond in a tick, times 2^32: the longer since the start, the more precise. */
uint64_t hd_ticks_scale(void);

/* How many times it has to be doubled from a quarter of a microsecond to be longer than `ticks` were: 0 for less than a
 * quarter, 3 for at least one microsecond and less than two. A counter of another processor may be a little behind. */
static inline unsigned hd_ticks_doublings(uint64_t ticks, uint64_t scale, unsigned most)
{
    uint64_t quarters = (int64_t)ticks > 0 ? (uint64_t)((unsigned __int128)ticks * scale >> 32) : 0;
    unsigned doublings = quarters ? 64 - (unsigned)__builtin_clzll(quarters) : 0;
    return doublings < most ? doublings : most;
}

#endif
