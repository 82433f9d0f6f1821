/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_SPIN_H
#define HD_SPIN_H

/*
 * Whether, and for how long, a waiting thread polls before it sleeps.
 *
 * A wait begins with a look: a few polls, without the clock or anything else that costs. Most answers of a peer that
 * polls as well come during it. Then the thread spins for poll.spin, if not too many others do.
 *
 * Two misses in a row mean one of two things. Spinning may be futile: the machine has more to do than processors, so
 * that the peer cannot run while we spin, or what we wait for takes longer. Then we stop for 8 to 64 waits before we
 * try again. Or the peer was asleep because we were: each end that sleeps makes the other one miss, and both would stay
 * so for good. Then one of them must wait out the other's way back from sleep: soon, and for several times poll.spin.
 * The other one looks longer meanwhile, so that one answer is enough for both.
 *
 * A hit in the extended interval keeps it for later waits, until a miss or overload.
 *
 * Races lose a count, nothing else.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hd_engine;

struct hd_spin {
    _Atomic unsigned misses, pause, next_pause;
    _Atomic unsigned longer; /* waits that were worth more than poll.spin, since the last miss */
    atomic_bool futile;      /* the last miss was one that no spinning could have helped */
};

void hd_spin_open(struct hd_engine *engine);
void hd_spin_close(struct hd_engine *engine);

/* Polls that a wait may begin with. */
unsigned hd_spin_looks(const struct hd_engine *engine, const struct hd_spin *spin);
/* How long to spin, in nanoseconds; if not 0, hd_spin_end() is due. */
int64_t hd_spin_begin(struct hd_engine *engine, struct hd_spin *spin);
void hd_spin_end(struct hd_engine *engine);

/* What became of it. */
void hd_spin_learn_hit(struct hd_spin *spin);
/* It came after `waited` nanoseconds. */
void hd_spin_came(struct hd_engine *engine, struct hd_spin *spin, int64_t waited);
/* After a wait of `waited` nanoseconds in all; HD_FOREVER if that is not known. */
void hd_spin_learn_miss(struct hd_engine *engine, struct hd_spin *spin, int64_t waited);
/* The same for waits that are often long because there is nothing to come: those say nothing but that spinning longer
 * is over. */
void hd_spin_learn_wait(struct hd_engine *engine, struct hd_spin *spin, int64_t waited);
/* The same with the judgement made, for tests. */
void hd_spin_missed(struct hd_spin *spin, bool futile);

/* Whether a wait for longer than poll.spin is because such waits were worth it, not because others missed. */
static inline bool hd_spin_is_longer(const struct hd_spin *spin)
{
    return atomic_load_explicit(&spin->longer, memory_order_relaxed) != 0;
}

static inline void hd_spin_hit(struct hd_spin *spin)
{
    if (atomic_load_explicit(&spin->misses, memory_order_relaxed) ||
        atomic_load_explicit(&spin->pause, memory_order_relaxed))
        hd_spin_learn_hit(spin);
}

#endif
