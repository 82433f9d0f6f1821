/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_NUMA_H
#define HD_NUMA_H

/*
 * Memory close to a device. A page is placed when it is touched first, by the policy of the thread that touches it:
 * registering memory with an adapter touches it. The thread's policy is that of the program again afterwards.
 */

#include <stdbool.h>

/* The node of a device, by its file numa_node in sysfs, if the system has several: -1: none, or it makes no difference.
 */
int hd_numa_node_of(const char *numa_node_file);

/* From here on pages that this thread touches first come from the node if it has any left. Not if the program has a
 * policy of its own (numactl), which stays in force. @return 0: hd_numa_restore() is due; -EEXIST: the program has one;
 * other errors: the system refuses, as containers do. */
int hd_numa_prefer(int node);
void hd_numa_restore(void);

/* Part of hd_numa_node_of(), on what the files say. */
int hd_numa_node_by(const char *device, const char *online);

#endif
