/* SPDX-License-Identifier: Apache-2.0 */

/* One page about this node. Exit status: 0 if everything is OK, 1 with warnings, 2 with problems, 3 for wrong usage. */

#include "doctor.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage[] =
    "usage: hd-doctor [--json] [--java HOME] [--sys FOLDER]\n"
    "  --json        one JSON object\n"
    "  --java HOME   the JDK that is used where JAVA_HOME is not set\n"
    "  --sys FOLDER  a copy of another node's /sys, for what is read from there\n"
    "Checks this node for the user that runs it, with the options of the environment (HOWDAH_*).\n"
    "Exit status: 0 all is OK, 1 there are warnings, 2 there are problems, 3 wrong usage.\n";

int main(int argc, char **argv)
{
    static int json;
    static const struct option options[] = {
        {"json", no_argument, &json, 1},
        {"java", required_argument, 0, 'j'},
        {"sys", required_argument, 0, 's'},
        {"help", no_argument, 0, 'h'},
        {0},
    };
    struct doctor d = {.sys = "/sys"};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 0:
            break;
        case 'j':
            d.java = optarg;
            break;
        case 's':
            d.sys = optarg;
            break;
        case 'h':
            return fputs(usage, stdout) < 0 ? 3 : 0;
        default:
            fputs(usage, stderr);
            return 3;
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        return 3;
    }
    signal(SIGPIPE, SIG_IGN);
    int out = dup(STDOUT_FILENO); /* libraries that we load must not write into the page */
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 3;
    static void (*const checks[])(struct doctor *) = {check_options, check_devices, check_limits,   check_cgroup,
                                                      check_udapl,   check_java,    check_topology, check_transports};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        checks[i](&d);
    fflush(stdout);
    if (dup2(out, STDOUT_FILENO) < 0)
        return 3;
    close(out);
    if (json)
        print_findings_json(&d);
    else
        print_findings(&d);
    enum health health = worst(&d);
    hd_conf_destroy(d.conf);
    free(d.findings);
    return fflush(stdout) || ferror(stdout) ? 3 : (int)health;
}
