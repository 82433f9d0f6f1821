/* SPDX-License-Identifier: Apache-2.0 */

/* Measures the engine between two processes of this host, and beside it, in the same run, TCP over loopback and memcpy;
 * or between two hosts, beside TCP.
 * All figures are medians of several rounds that alternate between the candidates; a latency is the median of single
 * round trips. The engine is configured by the environment (HOWDAH_TRANSPORT ...). */

#include "perf.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 99

static const char usage[] =
    "usage: hd-perf [--latency SIZES] [--bandwidth SIZES] [--pull SIZES] [--rounds N] [--iterations N]\n"
    "               [--streams N] [--threads N] [--protocol NAME] [--transport NAME] [--engine-only] [--json]\n"
    "               [--variant NAME:KEY=VALUE,...]... | [--connect HOST:PORT]\n"
    "       hd-perf --listen PORT\n"
    "  --latency SIZES    messages to and fro, one at a time; SIZES as 1,64,4k,1m\n"
    "  --bandwidth SIZES  a stream of messages\n"
    "  --pull SIZES       blocks that are fetched, 8 at a time\n"
    "                     (default: all three, at sizes of its choice)\n"
    "  --rounds N         1 to 99 (5)\n"
    "  --iterations N     operations a round, in place of a number that depends on the size\n"
    "  --streams N        streams of one link that share the operations, up to 64 (as many as threads)\n"
    "  --threads N        threads at each end that share the streams (1); each fetches 8 blocks at a time\n"
    "                     with several of either only the engine is measured\n"
    "  --variant NAME:KEY=VALUE,...\n"
    "                     latencies of the engine configured so, in the same two processes and in turn with the "
    "others;\n"
    "                     up to 8; KEY without hadoop.rdma., as in udapl:transport=udapl,eager.threshold=2k\n"
    "  --protocol NAME    how large messages move, both ways: read, write or copy\n"
    "  --transport NAME   shm, verbs or udapl: that one, or none\n"
    "  --listen PORT      serves measurements of other hosts until it is ended; PORT 0: a free one, which is said\n"
    "  --connect HOST:PORT\n"
    "                     measures between this host and one where hd-perf listens, beside TCP\n"
    "  --engine-only      without TCP and memcpy beside it\n"
    "  --json             rows as a JSON array; without references a row has none\n";

struct sizes {
    size_t size[PERF_SIZES];
    int count;
};

struct plan {
    struct sizes latency, bandwidth, pull;
    int rounds;
    uint32_t iterations, streams, threads;
    bool json, engine_only;
    enum hd_protocol protocol;
    const char *transport, *connect, *listen; /* NULL: not given */
    struct ends variants[PERF_VARIANTS];      /* one without a name if none is asked for */
    uint32_t variant_count;
};

/* What was measured of one case. */
struct figures {
    const char *name; /* NULL: not measured */
    double value[ROUNDS_MAX];
    struct trips trips[ROUNDS_MAX]; /* latencies only */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median over the rounds of one of the figures of a latency. */
static double over_rounds(const struct plan *plan, const struct figures *figures, size_t member)
{
    double values[ROUNDS_MAX];
    for (int r = 0; r < plan->rounds; r++)
        memcpy(&values[r], (const char *)&figures->trips[r] + member, sizeof(double));
    qsort(values, (size_t)plan->rounds, sizeof(*values), by_value);
    return values[plan->rounds / 2];
}

static double least_of_all(const struct plan *plan, const struct figures *figures)
{
    double least = figures->trips[0].least;
    for (int r = 1; r < plan->rounds; r++)
        least = figures->trips[r].least < least ? figures->trips[r].least : least;
    return least;
}

static void print_tail(const struct plan *plan, const struct figures *ours)
{
    double p90 = over_rounds(plan, ours, offsetof(struct trips, p90)),
           p99 = over_rounds(plan, ours, offsetof(struct trips, p99)),
           p999 = over_rounds(plan, ours, offsetof(struct trips, p999)),
           most = over_rounds(plan, ours, offsetof(struct trips, most));
    if (plan->json)
        printf(", \"ours_mean\": %.3f, \"ours_least\": %.3f, \"ours_p90\": %.3f, \"ours_p99\": %.3f, \"ours_p999\": "
               "%.3f, \"ours_most\": %.3f",
               over_rounds(plan, ours, offsetof(struct trips, mean)), least_of_all(plan, ours), p90, p99, p999, most);
    else
        printf("   p90 %.2f  p99 %.2f  p99.9 %.2f", p90, p99, p999);
}

static void print_row(const struct plan *plan, const char *measure, size_t size, struct figures *ours,
                      struct figures *reference, const struct ends *e)
{
    static bool more;
    const char *variant = e->name, *transport = hd_link_transport(e->link);
    int rounds = plan->rounds;
    bool lower = strcmp(measure, "latency") == 0;
    const char *unit = lower ? "us" : "MB/s";
    double *a = ours->value, *b = reference->value;
    qsort(a, (size_t)rounds, sizeof(*a), by_value);
    qsort(b, (size_t)rounds, sizeof(*b), by_value);
    double mine = a[rounds / 2], theirs = b[rounds / 2];
    if (!plan->json) {
        if (variant)
            printf("%-12s ", variant);
        if (e->stream_count > 1)
            printf("%ux%u ", e->stream_count, e->threads);
        printf("%-10s %9zu B  %10.2f %-4s  (%.2f .. %.2f)", measure, size, mine, unit, a[0], a[rounds - 1]);
        if (lower)
            print_tail(plan, ours);
        if (reference->name)
            printf("   %-12s %10.2f   ratio %.2f", reference->name, theirs, lower ? theirs / mine : mine / theirs);
        putchar('\n');
        return;
    }
    printf("%s  {\"measure\": \"%s\", \"case\": \"%zu B\", \"bytes\": %zu, \"unit\": \"%s\", \"better\": \"%s\", "
           "\"runs\": %d, \"ours\": %.3f, \"ours_spread\": [%.3f, %.3f]",
           more ? ",\n" : "", measure, size, size, unit, lower ? "lower" : "higher", rounds, mine, a[0], a[rounds - 1]);
    if (lower)
        print_tail(plan, ours);
    printf(", \"transport\": \"%s\", \"streams\": %u, \"threads\": %u", transport, e->stream_count, e->threads);
    if (variant)
        printf(", \"variant\": \"%s\"", variant);
    if (reference->name)
        printf(", \"reference\": %.3f, \"reference_name\": \"%s\", \"reference_spread\": [%.3f, %.3f], "
               "\"ratio\": %.3f",
               theirs, reference->name, b[0], b[rounds - 1], lower ? theirs / mine : mine / theirs);
    putchar('}');
    more = true;
}

static const char *name_of_tcp(const struct plan *plan)
{
    return plan->engine_only ? NULL : plan->connect ? "TCP" : "TCP loopback";
}

static void measure_latency(struct plan *plan, size_t size)
{
    uint32_t count = plan->iterations ? plan->iterations : size <= 16384 ? 5000 : 500, n = plan->variant_count;
    struct figures ours[PERF_VARIANTS], tcp = {.name = name_of_tcp(plan)};
    for (int r = 0; r < plan->rounds; r++) {
        for (uint32_t i = 0; i < n; i++) { /* each time another one begins */
            uint32_t v = (i + (uint32_t)r) % n;
            ours[v].trips[r] = measure_ping(&plan->variants[v], false, size, count);
            ours[v].value[r] = ours[v].trips[r].typical;
        }
        if (tcp.name)
            tcp.value[r] = measure_ping(plan->variants, true, size, count).typical;
    }
    for (uint32_t v = 0; v < n; v++)
        print_row(plan, "latency", size, &ours[v], &tcp, &plan->variants[v]);
}

static void measure_rates(struct ends *e, const struct plan *plan, bool pull)
{
    const struct sizes *sizes = pull ? &plan->pull : &plan->bandwidth;
    for (int i = 0; i < sizes->count; i++) {
        size_t size = sizes->size[i], fitting = ((size_t)256 << 20) / size;
        uint32_t count = plan->iterations ? plan->iterations : fitting < 20000 ? (uint32_t)fitting : 20000;
        const char *memcpy_name = plan->engine_only || plan->connect ? NULL : "memcpy";
        struct figures ours = {.name = "engine"}, tcp = {.name = name_of_tcp(plan)}, copy = {.name = memcpy_name};
        for (int r = 0; r < plan->rounds; r++) {
            ours.value[r] = pull ? measure_pull(e, size, count) : measure_flow(e, false, size, count);
            if (tcp.name)
                tcp.value[r] = measure_flow(e, true, size, count);
            if (copy.name)
                copy.value[r] = measure_copy(e, size, count);
        }
        struct figures again = ours;
        print_row(plan, pull ? "pull" : "bandwidth", size, &ours, &tcp, e);
        if (copy.name)
            print_row(plan, pull ? "pull" : "bandwidth", size, &again, &copy, e);
    }
}

static void measure(struct plan *plan)
{
    uint32_t few = plan->iterations && plan->iterations < 1000 ? plan->iterations : 1000;
    for (uint32_t v = 0; v < plan->variant_count; v++)
        measure_ping(&plan->variants[v], false, 64, few); /* warm-up */
    if (plan->json)
        puts("[");
    for (int i = 0; i < plan->latency.count; i++)
        measure_latency(plan, plan->latency.size[i]);
    measure_rates(plan->variants, plan, false);
    measure_rates(plan->variants, plan, true);
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

/* The environment's configuration with KEY=VALUE,... above it. @return NULL if it cannot be: that was said. */
static hd_conf *configure(char *options)
{
    char key[256], *option;
    hd_conf *conf = hd_conf_create();
    int err = conf ? hd_conf_read_environment(conf) : -ENOMEM;
    while (!err && (option = strsep(&options, ",")) && *option) {
        char *value = strchr(option, '=');
        if (value)
            *value++ = '\0';
        snprintf(key, sizeof(key), "hadoop.rdma.%s", option);
        err = hd_conf_set(conf, key, value ? value : "", "--variant");
    }
    if (!err)
        return conf;
    fprintf(stderr, "hd-perf: %s\n", hd_last_error());
    hd_conf_destroy(conf);
    return NULL;
}

/* NAME:KEY=VALUE,...; is cut into pieces. */
static bool parse_variant(char *text, struct plan *plan)
{
    char *options = strchr(text, ':');
    if (!options || options == text || plan->variant_count == PERF_VARIANTS || strpbrk(text, "\"\\"))
        return false;
    *options++ = '\0';
    struct ends *e = &plan->variants[plan->variant_count++];
    *e = (struct ends){.name = text, .conf = configure(options)};
    plan->engine_only = true;
    return e->conf != NULL;
}

/* The streams and threads of each variant's ends. */
static bool complete_ends(struct plan *plan)
{
    if (!plan->streams)
        plan->streams = plan->threads;
    if (plan->threads > plan->streams) {
        fprintf(stderr, "hd-perf: %u threads have nothing to do with %u streams\n%s", plan->threads, plan->streams,
                usage);
        return false;
    }
    plan->engine_only |= plan->streams > 1;
    for (uint32_t v = 0; v < plan->variant_count; v++) {
        plan->variants[v].protocol = plan->protocol;
        plan->variants[v].stream_count = plan->streams;
        plan->variants[v].threads = plan->threads;
    }
    return true;
}

/* What is measured if nothing is named; of variants only latencies are. */
static bool complete(struct plan *plan)
{
    if (plan->variant_count && (plan->bandwidth.count || plan->pull.count)) {
        fprintf(stderr, "hd-perf: variants are compared by --latency only\n%s", usage);
        return false;
    }
    bool nothing = !plan->latency.count && !plan->bandwidth.count && !plan->pull.count;
    if (nothing)
        parse_sizes("1,64,1k,4k,16k,64k,512k", &plan->latency);
    if (nothing && !plan->variant_count) {
        parse_sizes("4k,64k,1m,4m", &plan->bandwidth);
        parse_sizes("64k,1m", &plan->pull);
    }
    if (plan->variant_count && (plan->connect || plan->transport)) {
        fprintf(stderr, "hd-perf: variants are compared within this host, and name their transport\n%s", usage);
        return false;
    }
    if (plan->variant_count == 0) {
        char option[64];
        snprintf(option, sizeof(option), "transport=%s", plan->transport ? plan->transport : "");
        struct ends *e = &plan->variants[plan->variant_count++];
        e->conf = plan->transport ? configure(option) : NULL;
        if (plan->transport && !e->conf)
            return false;
    }
    return complete_ends(plan);
}

static bool parse_protocol(const char *text, struct plan *plan)
{
    plan->protocol = strcmp(text, "read") == 0    ? HD_PROTOCOL_READ
                     : strcmp(text, "write") == 0 ? HD_PROTOCOL_WRITE
                     : strcmp(text, "copy") == 0  ? HD_PROTOCOL_COPY
                                                  : HD_PROTOCOL_DEFAULT;
    return plan->protocol != HD_PROTOCOL_DEFAULT;
}

static bool parse_text(const char *text, const char **to)
{
    *to = text;
    return text[0] != '\0';
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
        char nothing[] = "", *value = ++i < argc ? argv[i] : nothing;
        bool ok = false;
        if (strcmp(option, "--latency") == 0)
            ok = parse_sizes(value, &plan->latency);
        else if (strcmp(option, "--bandwidth") == 0)
            ok = parse_sizes(value, &plan->bandwidth);
        else if (strcmp(option, "--pull") == 0)
            ok = parse_sizes(value, &plan->pull);
        else if (strcmp(option, "--variant") == 0)
            ok = parse_variant(value, plan);
        else if (strcmp(option, "--protocol") == 0)
            ok = parse_protocol(value, plan);
        else if (strcmp(option, "--transport") == 0)
            ok = parse_text(value, &plan->transport);
        else if (strcmp(option, "--connect") == 0)
            ok = parse_text(value, &plan->connect);
        else if (strcmp(option, "--listen") == 0)
            ok = argc == 3 && parse_text(value, &plan->listen);
        else if (strcmp(option, "--rounds") == 0 && (ok = parse_number(value, ROUNDS_MAX, &number)))
            plan->rounds = (int)number;
        else if (strcmp(option, "--iterations") == 0 && (ok = parse_number(value, UINT32_MAX, &number)))
            plan->iterations = (uint32_t)number;
        else if (strcmp(option, "--streams") == 0 && (ok = parse_number(value, PERF_STREAMS, &number)))
            plan->streams = (uint32_t)number;
        else if (strcmp(option, "--threads") == 0 && (ok = parse_number(value, PERF_STREAMS, &number)))
            plan->threads = (uint32_t)number;
        if (!ok) {
            fprintf(stderr, "hd-perf: cannot take '%s %s' (sizes: 1 to %zum)\n%s", option, value, PERF_LARGEST >> 20,
                    usage);
            return false;
        }
    }
    return complete(plan);
}

static void end_all(struct plan *plan)
{
    for (uint32_t v = 0; v < plan->variant_count; v++)
        ends_finish(&plan->variants[v]);
}

/* Against a server that listens. */
static int measure_remote(struct plan *plan)
{
    struct ends *e = plan->variants;
    int guard;
    remote_client(plan->connect, &e->tcp, &guard);
    e->memory = plan->engine_only ? NULL : tcp_memory();
    ends_begin(e, guard, plan->connect);
    measure(plan);
    ends_quit(e, 1);
    end_all(plan);
    free(e->memory);
    return 0;
}

/* Between this process and a child of it. */
static int measure_local(struct plan *plan)
{
    int tcp[2], guards[PERF_VARIANTS][2], status = 0;
    ends_connect(tcp);
    for (uint32_t v = 0; v < plan->variant_count; v++)
        ends_connect(guards[v]);
    pid_t pid = fork();
    bool server = pid == 0;
    char *memory = plan->engine_only ? NULL : tcp_memory();
    close(tcp[!server]);
    for (uint32_t v = 0; v < plan->variant_count; v++) {
        struct ends *e = &plan->variants[v];
        e->tcp = tcp[server];
        e->which = v;
        e->memory = memory;
        if (server) { /* the rest it is told */
            e->protocol = HD_PROTOCOL_DEFAULT;
            e->stream_count = 0;
        }
        close(guards[v][!server]);
        ends_begin(e, guards[v][server], server ? NULL : "127.0.0.1:0");
    }
    if (server) {
        ends_serve(plan->variants, plan->variant_count);
    } else {
        measure(plan);
        ends_quit(plan->variants, plan->variant_count);
        waitpid(pid, &status, 0);
    }
    end_all(plan);
    free(memory);
    return status != 0;
}

int main(int argc, char **argv)
{
    struct plan plan = {.rounds = 5, .threads = 1};
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (!parse(argc, argv, &plan)) {
        for (uint32_t v = 0; v < plan.variant_count; v++)
            hd_conf_destroy(plan.variants[v].conf);
        return 2;
    }
    if (plan.listen)
        remote_listen_forever(plan.listen);
    return plan.connect ? measure_remote(&plan) : measure_local(&plan);
}
