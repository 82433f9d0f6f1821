/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_PLAN_H
#define HD_PLAN_H

#include <howdah/affinity.h>

#include "cpuset.h"

struct hd_plan {
    struct hd_policy asked, policy;
    char device[64];
    char note[512];
    bool real;            /* the topology is this machine's: threads can be bound */
    unsigned count, room; /* of sets */
    struct hd_cpuset *sets;
    struct hd_cpuset allowed; /* what the process may use */
};

#endif
