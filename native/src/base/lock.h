/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_LOCK_H
#define HD_LOCK_H

/*
 * The lock of what every message passes: one atomic operation to take it and one to give it back, both inline, as long
 * as nobody waits. A pthread mutex does the same behind two calls and some forty instructions, six times a message.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HD_LOCK_FREE, HD_LOCK_TAKEN, HD_LOCK_WANTED };

struct hd_lock {
    _Atomic uint32_t state; /* futex */
};

/* What the inline functions leave to do if others want the lock too. */
void hd_lock_wait(struct hd_lock *lock);
void hd_lock_pass(struct hd_lock *lock);

static inline bool hd_trylock(struct hd_lock *lock)
{
    uint32_t expected = HD_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(&lock->state, &expected, HD_LOCK_TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void hd_lock(struct hd_lock *lock)
{
    if (!hd_trylock(lock))
        hd_lock_wait(lock);
}

static inline void hd_unlock(struct hd_lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, HD_LOCK_FREE, memory_order_release) == HD_LOCK_WANTED)
        hd_lock_pass(lock);
}

#endif
