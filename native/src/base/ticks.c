/* SPDX-License-Identifier: Apache-2.0 */

#include "base/ticks.h"

#define QUARTER 250 /* ns */
#define TRIES   5

struct stamp {
    uint64_t ticks;
    int64_t now;
};

static pthread_once_t ticks_once = PTHREAD_ONCE_INIT;
static struct stamp ticks_first;

/* Both clocks at the same time. Whoever is interrupted between the two tries again. */
static struct stamp ticks_stamp(void)
{
    struct stamp best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = hd_ticks();
        int64_t now = hd_now();
        uint64_t took = hd_ticks() - before;
        if (took < least) {
            least = took;
            best = (struct stamp){before + took / 2, now};
        }
    }
    return best;
}

static void ticks_begin(void)
{
    ticks_first = ticks_stamp();
}

void hd_ticks_start(void)
{
    pthread_once(&ticks_once, ticks_begin);
}

uint64_t hd_ticks_scale(void)
{
    hd_ticks_start();
    struct stamp last = ticks_stamp();
    uint64_t ticks = last.ticks - ticks_first.ticks, ns = (uint64_t)(last.now - ticks_first.now);
    return (int64_t)ticks > 0 && (int64_t)ns > 0 ? (uint64_t)(((unsigned __int128)ns << 32) / QUARTER / ticks) : 0;
}
