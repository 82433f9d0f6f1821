/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TEST_MACHINES_H
#define HD_TEST_MACHINES_H

/* Loading the described machines, and plans on them, for cmocka tests. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <howdah/affinity.h>

static inline hd_topo *load(const char *machine, const char *cpus)
{
    char path[512];
    snprintf(path, sizeof(path), HD_TOPOLOGIES "/%s.xml", machine);
    struct hd_topo_params params = {.size = sizeof(params), .xml = path, .cpus = cpus};
    hd_topo *topo = NULL;
    int err = hd_topo_load(&params, &topo);
    if (err)
        fail_msg("%s: %d %s", machine, err, hd_last_error());
    return topo;
}

static inline int try_plan(hd_topo *topo, const char *policy, const char *device, hd_plan **plan)
{
    struct hd_plan_params params = {.size = sizeof(params), .policy = policy, .device = device, .rdma = true};
    return hd_plan_create(topo, &params, plan);
}

static inline hd_plan *plan_on(const char *machine, const char *cpus, const char *policy)
{
    hd_topo *topo = load(machine, cpus);
    hd_plan *plan = NULL;
    int err = try_plan(topo, policy, NULL, &plan);
    hd_topo_destroy(topo);
    if (err)
        fail_msg("%s on %s: %d %s", policy, machine, err, hd_last_error());
    return plan;
}

/* All sets in order, as "0-7 8-15". */
static inline void assert_sets(const char *machine, const char *cpus, const char *policy, const char *expected)
{
    static char all[65536], one[16384];
    hd_plan *plan = plan_on(machine, cpus, policy);
    size_t n = 0;
    all[0] = '\0';
    for (unsigned i = 0; i < hd_plan_sets(plan); i++) {
        assert_true(hd_plan_set(plan, i, one, sizeof(one)) > 0);
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? " " : "", one);
    }
    hd_plan_destroy(plan);
    assert_string_equal(all, expected);
}

static inline void assert_says(const char *part)
{
    if (!strstr(hd_last_error(), part))
        fail_msg("\"%s\" does not contain \"%s\"", hd_last_error(), part);
}

#endif
