/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include "base/util.h"

#define TRIES 64 /* what is done under these locks is mostly over sooner than a thread could go to sleep */

void hd_lock_wait(struct hd_lock *lock)
{
    for (int i = 0; i < TRIES; i++) {
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == HD_LOCK_FREE && hd_trylock(lock))
            return;
        hd_cpu_relax();
    }
    /* Whoever had to wait leaves it marked as wanted: there may be more. */
    while (atomic_exchange_explicit(&lock->state, HD_LOCK_WANTED, memory_order_acquire) != HD_LOCK_FREE)
        hd_futex_wait(&lock->state, HD_LOCK_WANTED, HD_FOREVER, false);
}

void hd_lock_pass(struct hd_lock *lock)
{
    hd_futex_wake(&lock->state, 1, false);
}
