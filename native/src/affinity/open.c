/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "affinity.h"
#include "util.h"

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

static int choose(const struct hd_affinity_setup *setup, hd_plan **plan)
{
    struct hd_policy policy;
    int err = hd_policy_parse(setup->policy && setup->policy[0] ? setup->policy : "auto", &policy);
    if (err || policy.kind == HD_POLICY_NONE || (policy.kind == HD_POLICY_AUTO && !setup->rdma))
        return err;
    err = make_plan(setup, plan);
    if (!err && hd_plan_note(*plan)[0])
        say(setup, hd_plan_note(*plan));
    if (err != -ENOSYS || policy.kind != HD_POLICY_AUTO)
        return err;
    say(setup, hd_last_error());
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
