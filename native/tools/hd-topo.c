/* SPDX-License-Identifier: Apache-2.0 */
/* hd-topo: shows what a node looks like to the engine, which device it would take and which processors
 * communication threads would get. Exit status: 0, 1 if there is no such plan, 2 for wrong usage. */
#include <getopt.h>
#include <stdlib.h>

#include <howdah/affinity.h>

static const char usage[] =
    "usage: hd-topo [--json] [--xml FILE] [--cpus LIST] [--policy P] [--device D] [--socket N] [--no-rdma]\n"
    "  --xml FILE    a topology saved by `lstopo FILE.xml` instead of this machine\n"
    "  --cpus LIST   use only these processors (0-7,16), as a batch job would\n"
    "  --policy P    auto, none, o2acs, o2ocs, o2nts:N, o2occ, o2ntc:N (default auto)\n"
    "  --device D    name, number or auto (default auto)\n"
    "  --socket N    the socket close to the device, where the system does not know\n"
    "  --no-rdma     plan for an engine that uses no HCA\n";

static int fail(const char *what)
{
    fprintf(stderr, "hd-topo: %s: %s\n", what, hd_last_error());
    return 1;
}

static int report(const struct hd_topo_params *where, const struct hd_plan_params *how, int rdma, bool json)
{
    hd_topo *topo;
    if (hd_topo_load(where, &topo))
        return fail("topology");
    struct hd_plan_params params = *how;
    struct hd_topo_summary summary;
    hd_topo_summarize(topo, &summary);
    params.rdma = rdma && summary.devices > 0;
    hd_plan *plan = NULL;
    int status = hd_plan_create(topo, &params, &plan) ? fail("plan") : 0;
    if (hd_plan_report(stdout, topo, plan, json))
        status = fail("report");
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
    return status;
}

int main(int argc, char **argv)
{
    static int json, no_rdma;
    static const struct option options[] = {
        {"json", no_argument, &json, 1},
        {"no-rdma", no_argument, &no_rdma, 1},
        {"xml", required_argument, 0, 'x'},
        {"cpus", required_argument, 0, 'c'},
        {"policy", required_argument, 0, 'p'},
        {"device", required_argument, 0, 'd'},
        {"socket", required_argument, 0, 's'},
        {"help", no_argument, 0, 'h'},
        {0},
    };
    struct hd_topo_params where = {.size = sizeof(where)};
    struct hd_plan_params how = {.size = sizeof(how)};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 0:
            break;
        case 'x':
            where.xml = optarg;
            break;
        case 'c':
            where.cpus = optarg;
            break;
        case 'p':
            how.policy = optarg;
            break;
        case 'd':
            how.device = optarg;
            break;
        case 's':
            how.socket = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        return 2;
    }
    return report(&where, &how, !no_rdma, json);
}
