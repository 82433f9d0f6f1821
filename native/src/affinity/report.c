/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"
#include "topology.h"
#include "base/util.h"

/* Sets and sockets are printed through one buffer; a list of 4096 processors with no two neighbours fits. */
#define LIST_MAX 16384

static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
    fputc('"', out);
}

static void json_device(FILE *out, const struct hd_topo_device *device)
{
    fputs("{\"name\": ", out);
    json_text(out, device->name);
    fputs(", \"pci\": ", out);
    json_text(out, device->pci);
    if (device->socket >= 0)
        fprintf(out, ", \"socket\": %d", device->socket);
    else
        fputs(", \"socket\": null", out);
    fprintf(out, ", \"sockets\": %u, \"allowed\": %u, \"down\": %s}", device->sockets, device->allowed,
            device->down ? "true" : "false");
}

static void json_topology(FILE *out, const hd_topo *topo, char *list)
{
    struct hd_topo_summary s;
    hd_topo_summarize(topo, &s);
    fputs("{\n  \"topology\": {\"source\": ", out);
    json_text(out, s.source);
    fprintf(out, ", \"this_system\": %s, \"model\": ", s.this_system ? "true" : "false");
    json_text(out, s.model);
    fprintf(out,
            ",\n    \"cores\": %u, \"pus\": %u, \"smt\": %u, \"allowed\": %u, \"cache_line\": %u, "
            "\"page_size\": %u",
            s.cores, s.pus, s.smt, s.allowed, s.cache_line, s.page_size);
    fputs(",\n    \"sockets\": [", out);
    for (int i = 0; i < (int)s.sockets; i++) {
        hd_topo_cpus(topo, i, false, list, LIST_MAX);
        fprintf(out, "%s\n      {\"cpus\": \"%s\"", i ? "," : "", list);
        hd_topo_cpus(topo, i, true, list, LIST_MAX);
        fprintf(out, ", \"allowed\": \"%s\"}", list);
    }
    fputs("\n    ]},\n  \"devices\": [", out);
    struct hd_topo_device device;
    for (unsigned i = 0; hd_topo_device_at(topo, i, &device) == 0; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        json_device(out, &device);
    }
    fputs(s.devices ? "\n  ]" : "]", out);
}

static void json_plan(FILE *out, const hd_plan *plan, char *list)
{
    char policy[32], asked[32];
    hd_policy_print(&plan->policy, policy, sizeof(policy));
    hd_policy_print(&plan->asked, asked, sizeof(asked));
    fprintf(out, ",\n  \"plan\": {\"asked\": \"%s\", \"policy\": \"%s\", \"device\": ", asked, policy);
    json_text(out, plan->device);
    fputs(", \"note\": ", out);
    json_text(out, plan->note);
    fputs(",\n    \"sets\": [", out);
    for (unsigned i = 0; i < plan->count; i++) {
        hd_plan_set(plan, i, list, LIST_MAX);
        fprintf(out, "%s\"%s\"", i ? ", " : "", list);
    }
    fputs("]}", out);
}

static void text_topology(FILE *out, const hd_topo *topo, char *list)
{
    struct hd_topo_summary s;
    hd_topo_summarize(topo, &s);
    fprintf(out, "topology    %s%s%s%s\n", s.source, s.model[0] ? " (" : "", s.model, s.model[0] ? ")" : "");
    fprintf(out, "            %u socket%s, %u cores, %u SMT threads (up to %u a core), %u usable\n", s.sockets,
            s.sockets == 1 ? "" : "s", s.cores, s.pus, s.smt, s.allowed);
    fprintf(out, "            page %u bytes, cache line %u bytes\n", s.page_size, s.cache_line);
    for (int i = 0; i < (int)s.sockets; i++) {
        hd_topo_cpus(topo, i, false, list, LIST_MAX);
        fprintf(out, "socket %-4d %s", i, list);
        struct hd_cpuset usable = topo->sockets[i].cpus;
        hd_cpuset_and(&usable, &topo->allowed);
        hd_topo_cpus(topo, i, true, list, LIST_MAX);
        if (!hd_cpuset_equal(&usable, &topo->sockets[i].cpus))
            fprintf(out, ", usable: %s", list[0] ? list : "none");
        fputc('\n', out);
    }
    struct hd_topo_device d;
    for (unsigned i = 0; hd_topo_device_at(topo, i, &d) == 0; i++) {
        fprintf(out, "device %-4u %s%s%s", i, d.name, d.pci[0] ? " at " : "", d.pci);
        if (d.socket < 0)
            fputs(", close to: not known", out);
        else
            fprintf(out, ", close to socket %d%s", d.socket, d.sockets > 1 ? " and others" : "");
        fputs(d.down ? ", no active port\n" : "\n", out);
    }
    if (s.devices == 0)
        fputs("device      none\n", out);
}

static void text_plan(FILE *out, const hd_plan *plan, char *list)
{
    char policy[32], asked[32];
    hd_policy_print(&plan->policy, policy, sizeof(policy));
    hd_policy_print(&plan->asked, asked, sizeof(asked));
    fprintf(out, "policy      %s", policy);
    if (plan->asked.kind != plan->policy.kind)
        fprintf(out, " (by %s)", asked);
    fprintf(out, "%s%s\n", plan->device[0] ? " for " : "", plan->device);
    if (plan->note[0])
        fprintf(out, "            %s\n", plan->note);
    for (unsigned i = 0; i < plan->count; i++) {
        hd_plan_set(plan, i, list, LIST_MAX);
        fprintf(out, "set %-7u %s\n", i, list);
    }
}

int hd_plan_report(FILE *out, const hd_topo *topo, const hd_plan *plan, bool json)
{
    char list[LIST_MAX];
    if (json) {
        json_topology(out, topo, list);
        if (plan)
            json_plan(out, plan, list);
        fputs("\n}\n", out);
    } else {
        text_topology(out, topo, list);
        if (plan)
            text_plan(out, plan, list);
    }
    return fflush(out) || ferror(out) ? hd_error(-EIO, "the report could not be written") : 0;
}
