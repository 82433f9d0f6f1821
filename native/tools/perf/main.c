/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the engine between two processes of this host, and beside it, in the same run, TCP over loopback and memcpy.
 * All figures are medians of several rounds that alternate between the candidates; a latency is the median of single
 * round trips. The engine is configured by the environment (HOWDAH_TRANSPORT ...). */

#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 99

static const char usage[] =
    "usage: hd-perf [--latency SIZES] [--bandwidth SIZES] [--pull SIZES] [--rounds N] [--iterations N]\n"
    "               [--engine-only] [--json]\n"
    "  --latency SIZES    messages to and fro, one at a time; SIZES as 1,64,4k,1m\n"
    "  --bandwidth SIZES  a stream of messages\n"
    "  --pull SIZES       blocks that are fetched, 8 at a time\n"
    "                     (default: all three, at sizes of its choice)\n"
    "  --rounds N         1 to 99 (5)\n"
    "  --iterations N     operations a round, in place of a number that depends on the size\n"
    "  --engine-only      without TCP and memcpy beside it\n"
    "  --json             rows as a JSON array; without references a row has none\n";

struct sizes {
    size_t size[PERF_SIZES];
    int count;
};

struct plan {
    struct sizes latency, bandwidth, pull;
    int rounds;
    uint32_t iterations;
    bool json, engine_only;
};

/* What was measured of one case. */
struct figures {
    const char *name; /* NULL: not measured */
    double value[ROUNDS_MAX];
    double mean[ROUNDS_MAX], least[ROUNDS_MAX]; /* latencies only */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_row(const struct plan *plan, const char *measure, size_t size, struct figures *ours,
                      struct figures *reference)
{
    static bool more;
    int rounds = plan->rounds;
    bool lower = strcmp(measure, "latency") == 0;
    const char *unit = lower ? "us" : "MB/s";
    double *a = ours->value, *b = reference->value;
    qsort(a, (size_t)rounds, sizeof(*a), by_value);
    qsort(b, (size_t)rounds, sizeof(*b), by_value);
    double mine = a[rounds / 2], theirs = b[rounds / 2];
    if (!plan->json) {
        printf("%-10s %9zu B  %10.2f %-4s  (%.2f .. %.2f)", measure, size, mine, unit, a[0], a[rounds - 1]);
        if (reference->name)
            printf("   %-12s %10.2f   ratio %.2f", reference->name, theirs, lower ? theirs / mine : mine / theirs);
        putchar('\n');
        return;
    }
    printf("%s  {\"measure\": \"%s\", \"case\": \"%zu B\", \"bytes\": %zu, \"unit\": \"%s\", \"better\": \"%s\", "
           "\"runs\": %d, \"ours\": %.3f, \"ours_spread\": [%.3f, %.3f]",
           more ? ",\n" : "", measure, size, size, unit, lower ? "lower" : "higher", rounds, mine, a[0], a[rounds - 1]);
    if (lower) {
        qsort(ours->mean, (size_t)rounds, sizeof(double), by_value);
        qsort(ours->least, (size_t)rounds, sizeof(double), by_value);
        printf(", \"ours_mean\": %.3f, \"ours_least\": %.3f", ours->mean[rounds / 2], ours->least[0]);
    }
    if (reference->name)
        printf(", \"reference\": %.3f, \"reference_name\": \"%s\", \"reference_spread\": [%.3f, %.3f], "
               "\"ratio\": %.3f",
               theirs, reference->name, b[0], b[rounds - 1], lower ? theirs / mine : mine / theirs);
    putchar('}');
    more = true;
}

static void measure_latencies(struct ends *e, const struct plan *plan)
{
    for (int i = 0; i < plan->latency.count; i++) {
        size_t size = plan->latency.size[i];
        uint32_t count = plan->iterations ? plan->iterations : size <= 16384 ? 5000 : 500;
        struct figures ours = {.name = "engine"}, tcp = {.name = plan->engine_only ? NULL : "TCP loopback"};
        for (int r = 0; r < plan->rounds; r++) {
            struct trips trips = measure_ping(e, false, size, count);
            ours.value[r] = trips.typical;
            ours.mean[r] = trips.mean;
            ours.least[r] = trips.least;
            if (tcp.name)
                tcp.value[r] = measure_ping(e, true, size, count).typical;
        }
        print_row(plan, "latency", size, &ours, &tcp);
    }
}

static void measure_rates(struct ends *e, const struct plan *plan, bool pull)
{
    const struct sizes *sizes = pull ? &plan->pull : &plan->bandwidth;
    for (int i = 0; i < sizes->count; i++) {
        size_t size = sizes->size[i], fitting = ((size_t)256 << 20) / size;
        uint32_t count = plan->iterations ? plan->iterations : fitting < 20000 ? (uint32_t)fitting : 20000;
        const char *name = plan->engine_only ? NULL : "memcpy";
        struct figures ours = {.name = "engine"}, tcp = {.name = name ? "TCP loopback" : NULL}, copy = {.name = name};
        for (int r = 0; r < plan->rounds; r++) {
            ours.value[r] = pull ? measure_pull(e, size, count) : measure_flow(e, false, size, count);
            if (!name)
                continue;
            tcp.value[r] = measure_flow(e, true, size, count);
            copy.value[r] = measure_copy(e, size, count);
        }
        struct figures again = ours;
        print_row(plan, pull ? "pull" : "bandwidth", size, &ours, &tcp);
        if (name)
            print_row(plan, pull ? "pull" : "bandwidth", size, &again, &copy);
    }
}

static void measure(struct ends *e, const struct plan *plan)
{
    measure_ping(e, false, 64, plan->iterations && plan->iterations < 1000 ? plan->iterations : 1000); /* warm-up */
    if (plan->json)
        puts("[");
    measure_latencies(e, plan);
    measure_rates(e, plan, false);
    measure_rates(e, plan, true);
    if (plan->json)
        puts("\n]");
}

static bool parse_sizes(const char *text, struct sizes *sizes)
{
    for (sizes->count = 0; sizes->count < PERF_SIZES; sizes->count++) {
        char *end;
        unsigned long long value = strtoull(text, &end, 10);
        int shift = *end == 'k' ? 10 : *end == 'm' ? 20 : 0;
        end += shift != 0;
        if (end == text || *text == '-' || value == 0 || value > PERF_LARGEST >> shift || (*end && *end != ','))
            return false;
        sizes->size[sizes->count] = (size_t)value << shift;
        if (!*end)
            return ++sizes->count, true;
        text = end + 1;
    }
    return false;
}

static bool parse_number(const char *text, unsigned long most, unsigned long *value)
{
    char *end;
    *value = strtoul(text, &end, 10);
    return end != text && !*end && *text != '-' && *value >= 1 && *value <= most;
}

static bool parse(int argc, char **argv, struct plan *plan)
{
    unsigned long number;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--json") == 0) {
            plan->json = true;
            continue;
        }
        if (strcmp(option, "--engine-only") == 0) {
            plan->engine_only = true;
            continue;
        }
        const char *value = ++i < argc ? argv[i] : "";
        bool ok = false;
        if (strcmp(option, "--latency") == 0)
            ok = parse_sizes(value, &plan->latency);
        else if (strcmp(option, "--bandwidth") == 0)
            ok = parse_sizes(value, &plan->bandwidth);
        else if (strcmp(option, "--pull") == 0)
            ok = parse_sizes(value, &plan->pull);
        else if (strcmp(option, "--rounds") == 0 && (ok = parse_number(value, ROUNDS_MAX, &number)))
            plan->rounds = (int)number;
        else if (strcmp(option, "--iterations") == 0 && (ok = parse_number(value, UINT32_MAX, &number)))
            plan->iterations = (uint32_t)number;
        if (!ok) {
            fprintf(stderr, "hd-perf: cannot take '%s %s' (sizes: 1 to %zum)\n%s", option, value, PERF_LARGEST >> 20,
                    usage);
            return false;
        }
    }
    if (!plan->latency.count && !plan->bandwidth.count && !plan->pull.count) {
        parse_sizes("1,64,1k,4k,16k,64k,512k", &plan->latency);
        parse_sizes("4k,64k,1m,4m", &plan->bandwidth);
        parse_sizes("64k,1m", &plan->pull);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct plan plan = {.rounds = 5};
    int tcp[2], guard[2], status = 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (!parse(argc, argv, &plan))
        return 2;
    ends_connect(tcp);
    ends_connect(guard);
    pid_t pid = fork();
    struct ends e = {.tcp = tcp[pid == 0]};
    close(tcp[pid != 0]);
    close(guard[pid != 0]);
    ends_begin(&e, guard[pid == 0], pid != 0);
    if (pid == 0) {
        ends_serve(&e);
    } else {
        measure(&e, &plan);
        ends_quit(&e);
        waitpid(pid, &status, 0);
    }
    ends_finish(&e);
    return status != 0;
}
