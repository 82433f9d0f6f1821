/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_VERBS_VECTOR_H
#define HD_VERBS_VECTOR_H

#include <sys/types.h>

#include "affinity/cpuset.h"
#include "base/util.h"

/* The completion vector for the communication thread with this number in the system (0: it has none yet). Threads that
 * several vectors fit take them in `turn`. */
unsigned hd_verbs_vector(const char *device, unsigned vectors, pid_t thread, unsigned turn);

/* Its parts. The vector and the interrupt of a line of /proc/interrupts, which begins with the number, if it is of the
 * adapter at this address. */
bool hd_verbs_vector_parse(const char *line, const char *address, unsigned *vector, unsigned *interrupt);
/* interrupts[vector]: the processors that it comes to; empty: unknown. */
unsigned hd_verbs_vector_choose(const struct hd_cpuset *interrupts, unsigned vectors, const struct hd_cpuset *thread,
                                unsigned turn);

#endif
