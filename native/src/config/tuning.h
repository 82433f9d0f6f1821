/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TUNING_H
#define HD_TUNING_H

/* For tests: the parts of <howdah/tuning.h> with their inputs given. */

#include <howdah/tuning.h>

#include "config/conf.h"

/* What sysfs, mounted at `root` (/sys), tells of RDMA devices. `wanted` is a device's name, or NULL, or "" for any.
 * link->kind stays shm if there is no active port of that layer. */
void hd_tuning_look(const char *root, const char *wanted, enum hd_link_layer layer, struct hd_tuning_link *link);

/* Applies the rows that fit. */
int hd_tuning_apply_table(hd_conf *conf, const struct hd_tuning_link *link);

#endif
