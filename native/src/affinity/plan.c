/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>

#include "topology.h"
#include "base/util.h"

/* The part of the machine that a plan deals out: cores in the order in which threads get them. */
struct scope {
    const struct hd_topo *topo;
    const struct hd_topo_hca *hca; /* NULL: none is known */
    int given_socket;              /* by the user, -1 if not */
    unsigned *cores;               /* indexes into topo->cores */
    unsigned count;
    unsigned pus, allowed; /* in all these cores */
};

static bool close_to(const struct scope *scope, unsigned socket)
{
    if (scope->given_socket >= 0)
        return socket == (unsigned)scope->given_socket;
    return scope->hca && hd_topo_near(scope->topo, scope->hca, socket);
}

static unsigned allowed_of(const struct hd_topo *topo, unsigned core, struct hd_cpuset *set)
{
    unsigned n = 0;
    for (unsigned i = 0; i < topo->cores[core].pus; i++) {
        unsigned os = topo->pus[topo->cores[core].first_pu + i].os;
        if (!hd_cpuset_has(&topo->allowed, os))
            continue;
        hd_cpuset_add(set, os);
        n++;
    }
    return n;
}

static void scope_add(struct scope *scope, unsigned socket)
{
    const struct hd_topo_socket *s = &scope->topo->sockets[socket];
    for (unsigned core = s->first_core; core < s->first_core + s->cores; core++) {
        struct hd_cpuset unused = {0};
        scope->cores[scope->count++] = core;
        scope->pus += scope->topo->cores[core].pus;
        scope->allowed += allowed_of(scope->topo, core, &unused);
    }
}

/* The close sockets come first: as long as there are no more threads than cores there, nothing is far. */
static int scope_open(struct scope *scope, bool all_sockets)
{
    scope->cores = calloc(scope->topo->core_count, sizeof(*scope->cores));
    if (!scope->cores)
        return hd_error(-ENOMEM, "no memory for an affinity plan");
    for (unsigned s = 0; s < scope->topo->socket_count; s++)
        if (close_to(scope, s))
            scope_add(scope, s);
    for (unsigned s = 0; all_sockets && s < scope->topo->socket_count; s++)
        if (!close_to(scope, s))
            scope_add(scope, s);
    return 0;
}

__attribute__((format(printf, 2, 3))) static void note(struct hd_plan *plan, const char *format, ...)
{
    size_t n = strlen(plan->note);
    if (n && n + 3 < sizeof(plan->note))
        n += (size_t)snprintf(plan->note + n, sizeof(plan->note) - n, "; ");
    va_list args;
    va_start(args, format);
    vsnprintf(plan->note + n, sizeof(plan->note) - n, format, args);
    va_end(args);
}

static int add_set(struct hd_plan *plan, const struct hd_cpuset *set)
{
    if (plan->count == plan->room) {
        unsigned room = plan->room ? 2 * plan->room : 16;
        struct hd_cpuset *sets = realloc(plan->sets, room * sizeof(*sets));
        if (!sets)
            return hd_error(-ENOMEM, "no memory for %u sets of processors", room);
        plan->sets = sets;
        plan->room = room;
    }
    plan->sets[plan->count++] = *set;
    return 0;
}

static int deal_all(struct hd_plan *plan, const struct scope *scope)
{
    struct hd_cpuset set = {0};
    for (unsigned i = 0; i < scope->count; i++)
        allowed_of(scope->topo, scope->cores[i], &set);
    return add_set(plan, &set);
}

static int deal_cores(struct hd_plan *plan, const struct scope *scope)
{
    int err = 0;
    for (unsigned i = 0; !err && i < scope->count; i++) {
        struct hd_cpuset set = {0};
        if (allowed_of(scope->topo, scope->cores[i], &set))
            err = add_set(plan, &set);
    }
    return err;
}

/* Sets of n successive usable PUs out of scope->cores[first .. last - 1]. A set begins inside a core only if
 * it also ends there, so no two sets share a core unless both fit into it; what a core has left over stays
 * unused. */
static int deal_successive(struct hd_plan *plan, const struct scope *scope, unsigned first, unsigned last)
{
    const struct hd_topo *topo = scope->topo;
    unsigned n = plan->policy.n, width = 0;
    for (unsigned i = first; i < last; i++) {
        struct hd_cpuset unused = {0};
        unsigned usable = allowed_of(topo, scope->cores[i], &unused);
        width = usable > width ? usable : width;
    }
    struct hd_cpuset set = {0};
    unsigned have = 0;
    int err = 0;
    for (unsigned i = first; !err && i < last; i++) {
        const struct hd_topo_core *core = &topo->cores[scope->cores[i]];
        if (n <= width) { /* sets end with their core */
            have = 0;
            set = (struct hd_cpuset){0};
        }
        for (unsigned pu = core->first_pu; !err && pu < core->first_pu + core->pus; pu++) {
            if (!hd_cpuset_has(&topo->allowed, topo->pus[pu].os))
                continue;
            hd_cpuset_add(&set, topo->pus[pu].os);
            if (++have < n)
                continue;
            err = add_set(plan, &set);
            have = 0;
            set = (struct hd_cpuset){0};
            if (n > width)
                break; /* the next set begins with the next core */
        }
    }
    return err;
}

/* Sets stay within a socket if any socket can hold one. */
static int deal_n(struct hd_plan *plan, const struct scope *scope)
{
    unsigned n = plan->policy.n;
    if (n > scope->pus)
        return hd_error(-ERANGE, "affinity policy asks for %u SMT threads, but there are only %u to choose from", n,
                        scope->pus);
    int err = 0;
    for (unsigned i = 0, end; !err && i < scope->count; i = end) {
        unsigned socket = scope->topo->cores[scope->cores[i]].socket;
        for (end = i; end < scope->count && scope->topo->cores[scope->cores[end]].socket == socket;)
            end++;
        err = deal_successive(plan, scope, i, end);
    }
    if (!err && plan->count == 0)
        err = deal_successive(plan, scope, 0, scope->count);
    if (!err && plan->count == 0) {
        note(plan, "each thread gets %u SMT threads instead of %u: no more may be used", scope->allowed, n);
        err = deal_all(plan, scope);
    }
    return err;
}

static int nothing_allowed(const struct hd_plan *plan, const struct scope *scope)
{
    char usable[128] = "others", near[128] = "many";
    struct hd_cpuset set = {0};
    hd_cpuset_print(&scope->topo->allowed, usable, sizeof(usable));
    for (unsigned s = 0; s < scope->topo->socket_count; s++)
        if (close_to(scope, s))
            hd_cpuset_or(&set, &scope->topo->sockets[s].cpus);
    hd_cpuset_print(&set, near, sizeof(near));
    return hd_error(-EXDEV,
                    "this process may use processors %s, but none of %s, those close to %s; let the batch job or "
                    "cgroup have some of them, or use affinity policy o2occ or none",
                    usable, near, plan->device[0] ? plan->device : "the HCA");
}

static int deal(struct hd_plan *plan, struct scope *scope)
{
    bool all_sockets = plan->policy.kind == HD_POLICY_O2NTC || plan->policy.kind == HD_POLICY_O2OCC;
    int err = scope_open(scope, all_sockets);
    if (err)
        return err;
    if (scope->allowed == 0)
        return nothing_allowed(plan, scope);
    if (scope->allowed < scope->pus)
        note(plan, "only %u of %u processors there may be used", scope->allowed, scope->pus);
    if (plan->policy.kind == HD_POLICY_O2ACS)
        return deal_all(plan, scope);
    if (plan->policy.kind == HD_POLICY_O2OCS || plan->policy.kind == HD_POLICY_O2OCC)
        return deal_cores(plan, scope);
    return deal_n(plan, scope);
}

/* The HCA and what is close to it. Policies for all sockets do without. */
static int find_close(struct hd_plan *plan, struct scope *scope, const struct hd_plan_params *params, bool needed)
{
    const struct hd_topo *topo = scope->topo;
    if (params->socket && params->socket[0] && strcasecmp(params->socket, "auto") != 0) {
        unsigned socket;
        if (hd_topo_number(params->socket, &socket))
            return hd_error(-EINVAL, "\"%s\" is not the number of a socket", params->socket);
        if (socket >= topo->socket_count)
            return hd_error(-ERANGE, "there is no socket %u; there are %u, from 0", socket, topo->socket_count);
        scope->given_socket = (int)socket;
    }
    struct hd_topo_device device;
    int err = hd_topo_device_find(topo, params->device, &device);
    if (!err) {
        scope->hca = &topo->hcas[device.number];
        memcpy(plan->device, device.name, sizeof(plan->device));
    }
    if (!needed || scope->given_socket >= 0)
        return 0;
    if (!err && !scope->hca->located)
        return hd_error(-ENXIO,
                        "the system does not tell which of %u sockets %s is close to; set the socket by hand "
                        "(affinity.socket), or use affinity policy o2occ or none",
                        topo->socket_count, device.name);
    return err;
}

static int make(struct hd_plan *plan, const struct hd_topo *topo, const struct hd_plan_params *params)
{
    if (plan->policy.kind == HD_POLICY_NONE)
        return 0;
    bool needed = plan->policy.kind != HD_POLICY_O2NTC && plan->policy.kind != HD_POLICY_O2OCC;
    struct scope scope = {.topo = topo, .given_socket = -1};
    int err = find_close(plan, &scope, params, needed);
    if (!err)
        err = deal(plan, &scope);
    free(scope.cores);
    return err;
}

/* auto follows what can be; everything but a mistake in the options makes it none. */
static int choose(struct hd_plan *plan, const struct hd_topo *topo, const struct hd_plan_params *params)
{
    if (plan->asked.kind != HD_POLICY_AUTO)
        return make(plan, topo, params);
    plan->policy.kind = params->rdma ? HD_POLICY_O2ACS : HD_POLICY_NONE;
    if (!params->rdma)
        note(plan, "no HCA is used");
    int err = make(plan, topo, params);
    if (err != -ENODEV && err != -ENXIO && err != -EXDEV)
        return err;
    plan->policy.kind = HD_POLICY_NONE;
    note(plan, "%s", hd_last_error());
    return 0;
}

int hd_plan_create(const hd_topo *topo, const struct hd_plan_params *given, hd_plan **plan)
{
    struct hd_plan_params own;
    const struct hd_plan_params *params = &own;
    int err = hd_params_take(&own, sizeof(own), given, 0, "plan parameters");
    if (err)
        return err;
    struct hd_plan *made = calloc(1, sizeof(*made));
    if (!made)
        return hd_error(-ENOMEM, "no memory for an affinity plan");
    made->real = topo->this_system;
    made->allowed = topo->allowed;
    err = hd_policy_parse(params->policy && params->policy[0] ? params->policy : "auto", &made->asked);
    made->policy = made->asked;
    if (!err)
        err = choose(made, topo, params);
    if (err) {
        hd_plan_destroy(made);
        return err;
    }
    if (made->count && !made->real)
        note(made, "the topology is not this machine's, so no thread is really bound");
    *plan = made;
    return 0;
}

void hd_plan_destroy(hd_plan *plan)
{
    if (plan)
        free(plan->sets);
    free(plan);
}

void hd_plan_policy(const hd_plan *plan, struct hd_policy *policy)
{
    *policy = plan->policy;
}

const char *hd_plan_note(const hd_plan *plan)
{
    return plan->note;
}

const char *hd_plan_device(const hd_plan *plan)
{
    return plan->device;
}

unsigned hd_plan_sets(const hd_plan *plan)
{
    return plan->count;
}

int hd_plan_set(const hd_plan *plan, unsigned i, char *text, size_t size)
{
    if (i >= plan->count)
        return hd_error(-ENOENT, "the plan has %u sets", plan->count);
    return hd_cpuset_print(&plan->sets[i], text, size);
}
