/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_WAIT_H
#define HD_WAIT_H

#include "link/link.h"

/* Says, under the link's lock, whether a thread may go on: 1 yes, 0 not yet, or an error. */
typedef int (*hd_ready_fn)(void *arg);

/* Waits for something on a link, under its lock, which is given up meanwhile. One waiting thread of a link polls it: it
 * spins for a while, then sleeps on the transport itself, so that what arrives wakes it without a hand-over. The others
 * sleep until it delivers something to them or leaves.
 * @return 0, an error of `ready`, -EAGAIN, -ETIMEDOUT or -EINTR. */
int hd_wait(struct hd_link *link, struct hd_waiter *waiter, hd_ready_fn ready, void *arg, struct hd_patience *patience);

/* ---- for wait_path.h ---- */

/* Nothing came at once: spins if that may help, then sleeps. Without the lock. */
void hd_wait_spin_and_sleep(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen,
                            struct hd_patience *patience);
/* Sleeps until something is delivered to the waiter: another thread polls, or polling is of no use. */
void hd_wait_sleep(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, struct hd_patience *patience);
/* A frame cannot be taken for want of memory: pending() stays true, so the thread sleeps between tries. */
void hd_wait_starved(struct hd_link *link, struct hd_waiter *waiter, uint32_t seen, struct hd_patience *patience);
/* Selects the most recent sleeper without a pending wake-up. */
struct hd_waiter *hd_wait_next_poller(struct hd_link *link);

#endif
