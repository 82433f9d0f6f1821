/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "affinity.h"
#include "base/util.h"

static void say(const struct hd_affinity_setup *setup, const char *what)
{
    char line[600];
    snprintf(line, sizeof(line), "affinity: %s", what);
    if (setup->say)
        setup->say(setup->say_arg, line);
}

static int make_plan(const struct hd_affinity_setup *setup, hd_plan **plan)
{
    struct hd_topo_params where = {.size = sizeof(where), .xml = setup->topology};
    struct hd_plan_params how = {.size = sizeof(how),
                                 .policy = setup->policy,
                                 .device = setup->device,
                                 .socket = setup->socket,
                                 .rdma = setup->rdma};
    hd_topo *topo;
    int err = hd_topo_load(&where, &topo);
    if (err)
        return err;
    err = hd_plan_create(topo, &how, plan);
    hd_topo_destroy(topo);
    return err;
}

/* "o2ocs for mlx5_0, 10 sets: 0-7 8-15 ...", as many as there is room for. */
static void describe(const struct hd_affinity_setup *setup, const hd_plan *plan, const char *otherwise)
{
    if (!setup->text)
        return;
    if (!plan || hd_plan_sets(plan) == 0) {
        const char *note = plan ? hd_plan_note(plan) : otherwise;
        snprintf(setup->text, setup->text_size, "none%s%s", note[0] ? ": " : "", note);
        return;
    }
    struct hd_policy policy;
    char name[32], list[64];
    hd_plan_policy(plan, &policy);
    hd_policy_print(&policy, name, sizeof(name));
    const char *device = hd_plan_device(plan);
    size_t n = (size_t)snprintf(setup->text, setup->text_size, "%s%s%s, %u sets:", name, device[0] ? " for " : "",
                                device, hd_plan_sets(plan));
    for (unsigned i = 0; i < hd_plan_sets(plan) && n < setup->text_size; i++) {
        if (hd_plan_set(plan, i, list, sizeof(list)) < 0 || n + strlen(list) + 6 > setup->text_size) {
            snprintf(setup->text + n, setup->text_size - n, " ...");
            return;
        }
        n += (size_t)snprintf(setup->text + n, setup->text_size - n, " %s", list);
    }
}

static int choose(const struct hd_affinity_setup *setup, hd_plan **plan)
{
    struct hd_policy policy;
    int err = hd_policy_parse(setup->policy && setup->policy[0] ? setup->policy : "auto", &policy);
    if (err)
        return err;
    if (policy.kind == HD_POLICY_NONE || (policy.kind == HD_POLICY_AUTO && !setup->rdma)) {
        describe(setup, NULL, policy.kind == HD_POLICY_NONE ? "" : "no HCA is used");
        return 0;
    }
    err = make_plan(setup, plan);
    if (!err && hd_plan_note(*plan)[0])
        say(setup, hd_plan_note(*plan));
    if (!err)
        describe(setup, *plan, "");
    if (err != -ENOSYS || policy.kind != HD_POLICY_AUTO)
        return err;
    say(setup, hd_last_error());
    describe(setup, NULL, hd_last_error());
    return 0;
}

int hd_affinity_open(const struct hd_affinity_setup *setup, hd_affinity **affinity)
{
    hd_plan *plan = NULL;
    int err = choose(setup, &plan);
    if (err)
        return err;
    struct hd_affinity_params params = {
        .size = sizeof(params), .threads = setup->threads, .say = setup->say, .say_arg = setup->say_arg};
    err = hd_affinity_create(plan, &params, affinity);
    hd_plan_destroy(plan);
    if (!err && setup->words)
        hd_affinity_count_in(*affinity, setup->words);
    return err;
}
