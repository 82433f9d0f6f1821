/* SPDX-License-Identifier: Apache-2.0 */

/* Measures options over the link at hand and writes what is better than what is in force into a profile. */

#include "tune.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "usage: hd-tune [--transport NAME] [--rounds N] [--only OPTION] [--profile FILE] [--dry-run] [--json]\n"
    "       hd-tune --listen [HOST:]PORT               on one host, then\n"
    "       hd-tune --connect HOST:PORT [OPTION...]    on the other\n"
    "  --transport NAME  verbs, udapl, shm (default: what engines of this machine use between hosts)\n"
    "  --rounds N        trials of each candidate, 3 to 51 (9)\n"
    "  --only OPTION     measure only this option (may be repeated)\n"
    "  --profile FILE    write the profile there\n"
    "  --dry-run         write none\n"
    "  --json            the result as one JSON object\n"
    "Without --connect both ends run on this host. Exit status: 0, 1 if something failed, 2 for wrong usage.\n";

#define K 1024
static const size_t local_sizes[] = {768, 1536, 3 * K, 6 * K, 12 * K, 24 * K, 0};
static const size_t eager_sizes[] = {6 * K, 12 * K, 24 * K, 48 * K, 96 * K, 0};
static const size_t bulk_sizes[] = {256 * K, 1024 * K, 0};
static const size_t blocks[] = {4096 * K, 0};
static const size_t small_blocks[] = {64 * K, 0};

/* In this order: what is found for one holds for those after it. */
static const struct tune_task tasks[] = {
    {"shm.eager.threshold",
     "messages of 768 B to 24 KB one way, geometric mean",
     "us",
     TUNE_PING,
     1,
     1,
     local_sizes,
     {"512", "1k", "2k", "4k", "8k", "16k", "32k"}},
    {"eager.threshold",
     "messages of 6 to 96 KB one way, geometric mean",
     "us",
     TUNE_PING,
     1,
     1,
     eager_sizes,
     {"4k", "8k", "16k", "32k", "64k", "128k"}},
    {"rendezvous.protocol",
     "messages of 256 KB and 1 MB one way, geometric mean",
     "us",
     TUNE_PING,
     1,
     1,
     bulk_sizes,
     {"read", "write", "copy"}},
    {"chunk.size",
     "a block of 4 MB, 4 asked for at a time",
     "us",
     TUNE_PULL,
     1,
     4,
     blocks,
     {"128k", "256k", "512k", "1m", "2m", "4m"}},
    {"chunk.depth", "a block of 4 MB, one at a time", "us", TUNE_PULL, 1, 1, blocks, {"1", "2", "4", "8", "16"}},
    {"communication.threads",
     "a block of 64 KB, 4 links, 4 asked for at a time on each",
     "us",
     TUNE_PULL,
     4,
     4,
     small_blocks,
     {"1", "2", "4", "8"}},
};
#define TASKS (sizeof(tasks) / sizeof(tasks[0]))

struct wishes {
    const char *transport, *connect, *listen, *profile;
    const char *only[TASKS];
    int only_count, rounds;
    bool dry_run, json;
};

/* ---- one option ---- */

static bool wanted(const struct wishes *w, const char *option)
{
    bool found = w->only_count == 0;
    for (int i = 0; i < w->only_count; i++)
        found = found || strcmp(w->only[i], option) == 0;
    return found;
}

/* Why this option is not to be measured; false if it is. */
static bool skip(struct tune_result *r, const struct wishes *w, const hd_conf *conf, bool local)
{
    const char *option = r->task->option;
    char key[80];
    snprintf(key, sizeof(key), "hadoop.rdma.%s", option);
    bool is_local = strcmp(option, "shm.eager.threshold") == 0, is_remote = strcmp(option, "eager.threshold") == 0;
    if (!wanted(w, option))
        snprintf(r->skipped, sizeof(r->skipped), "not asked for");
    else if (strcmp(hd_conf_origin(conf, key), "the environment") == 0)
        snprintf(r->skipped, sizeof(r->skipped), "set by the environment, which a profile would not change");
    else if (local ? is_remote : is_local)
        snprintf(r->skipped, sizeof(r->skipped), "not used by this transport");
    return r->skipped[0] != '\0';
}

/* The value in force and the candidates, without it a second time. */
static void list_values(struct tune_result *r, const hd_conf *conf)
{
    char key[80];
    snprintf(key, sizeof(key), "hadoop.rdma.%s", r->task->option);
    hd_conf_get(conf, key, r->values[0], sizeof(r->values[0]));
    if (strcmp(r->values[0], "auto") == 0)
        snprintf(r->values[0], sizeof(r->values[0]), "read"); /* what rendezvous.protocol means by it */
    r->count = 1;
    for (int i = 0; i < TUNE_CANDIDATES - 1 && r->task->candidates[i]; i++)
        if (strcmp(r->task->candidates[i], r->values[0]) != 0)
            snprintf(r->values[r->count++], TUNE_VALUE, "%s", r->task->candidates[i]);
}

static void progress(const struct tune_result *r, int round, int rounds, const char *what)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %s %d of %d   ", r->task->option, what, round + 1, rounds);
    else if (round == 0)
        fprintf(stderr, "%s: %d %s\n", r->task->option, rounds, what);
    if (isatty(STDERR_FILENO) && round + 1 == rounds)
        fprintf(stderr, "\r%60s\r", "");
}

/* One trial of each, every round beginning with another one, so that none always follows the same. */
static bool measure(struct tune_session *session, struct tune_result *r, int rounds, const int *which, int count,
                    const char *what)
{
    for (int i = 0; i < count; i++)
        r->samples[which[i]].count = 0;
    for (int round = 0; round < rounds; round++) {
        progress(r, round, rounds, what);
        for (int k = 0; k < count; k++) {
            int i = which[(round + k) % count];
            struct tune_samples *s = &r->samples[i];
            if (!tune_trial(session, r->task, r->values[i], &s->value[s->count]))
                return false;
            s->count++;
        }
    }
    return true;
}

/* The best of many looks better than it is; so it must win a second time, alone against what is in force. */
static bool tune_option(struct tune_session *session, struct tune_result *r, int rounds)
{
    int all[TUNE_CANDIDATES];
    for (int i = 0; i < r->count; i++)
        all[i] = i;
    if (!measure(session, r, rounds, all, r->count, "rounds"))
        return false;
    for (int i = 0; i < r->count; i++)
        if (tune_median(&r->samples[i]) < tune_median(&r->samples[r->best]))
            r->best = i;
    r->chosen = tune_choose(r->samples, r->count, r->holder);
    if (r->chosen != r->holder) {
        int two[] = {r->holder, r->chosen};
        if (!measure(session, r, rounds, two, 2, "rounds to confirm"))
            return false;
        r->chosen = tune_better(&r->samples[r->chosen], &r->samples[r->holder]) ? r->chosen : r->holder;
    }
    const struct tune_samples *best = &r->samples[r->best], *holder = &r->samples[r->holder];
    double a = tune_spread(best), b = tune_spread(holder);
    r->gain = 1 - tune_median(best) / tune_median(holder);
    r->spread = (a > b ? a : b) / tune_median(holder);
    if (r->chosen != r->holder) {
        char key[80];
        snprintf(key, sizeof(key), "hadoop.rdma.%s", r->task->option);
        tune_set(session->settings, &session->setting_count, key, r->values[r->chosen]);
    }
    return true;
}

/* ---- the other end ---- */

static int serve_here(const char *where)
{
    int port, listener = tune_listen(where, &port);
    if (listener < 0)
        return 1;
    fprintf(stderr, "hd-tune: listening on port %d for one client; end with ^C\n", port);
    int control = tune_accept(listener, -1);
    int status = control < 0 ? 1 : tune_serve(listener, control);
    close(control);
    close(listener);
    return status;
}

/* A second process of this host. @return its id, with the way to it in `where`. */
static pid_t start_server(char *where, size_t size)
{
    int port, listener = tune_listen("127.0.0.1:0", &port);
    if (listener < 0)
        return -1;
    snprintf(where, size, "127.0.0.1:%d", port);
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int control = getppid() == parent ? tune_accept(listener, 10000) : -1;
        _exit(control < 0 ? 1 : tune_serve(listener, control));
    }
    close(listener);
    return pid;
}

/* ---- all of it ---- */

/* The transport that the link at hand is used through: between processes of one host auto would take shm. */
static int choose_transport(struct tune_session *session, const struct wishes *w, struct hd_tuning_link *link)
{
    const char *transport = w->transport;
    hd_conf *conf = tune_conf(NULL, 0);
    char value[32];
    if (!conf || hd_conf_get(conf, "hadoop.rdma.transport", value, sizeof(value)) < 0)
        return -1;
    if (transport && hd_conf_set(conf, "hadoop.rdma.transport", transport, "--transport")) {
        hd_conf_destroy(conf);
        return -1;
    }
    int err = hd_tuning_link_find(conf, link);
    hd_conf_destroy(conf);
    if (!transport && strcmp(value, "auto") == 0)
        transport = strcmp(link->kind, "shm") == 0 ? "shm" : "verbs";
    if (!transport)
        transport = value;
    return err ? err : tune_set(session->settings, &session->setting_count, "hadoop.rdma.transport", transport);
}

static bool tune_all(struct tune_session *session, struct tune_result *results, const struct wishes *w)
{
    char note[600];
    for (size_t i = 0; i < TASKS; i++) {
        struct tune_result *r = &results[i];
        r->task = &tasks[i];
        hd_conf *conf = tune_conf(session->settings, session->setting_count);
        if (!conf || hd_conf_tune(conf, note, sizeof(note))) {
            fprintf(stderr, "hd-tune: %s\n", hd_last_error());
            hd_conf_destroy(conf);
            return false;
        }
        bool local = strcmp(session->settings[0].value, "shm") == 0 || strcmp(session->settings[0].value, "self") == 0;
        bool skipped = skip(r, w, conf, local);
        if (!skipped)
            list_values(r, conf);
        hd_conf_destroy(conf);
        if (!skipped && !tune_option(session, r, w->rounds))
            return false;
        if (!w->json)
            tune_print(r);
    }
    return true;
}

static bool profile_place(const struct wishes *w, const struct hd_tuning_link *link, char *path, size_t size)
{
    path[0] = '\0';
    if (w->dry_run)
        return true;
    if (w->profile)
        return snprintf(path, size, "%s", w->profile) < (int)size;
    hd_conf *conf = hd_conf_create();
    bool ok = conf && !hd_conf_read_environment(conf) && !hd_tuning_profile_path(conf, link, true, path, size);
    hd_conf_destroy(conf);
    if (!ok)
        fprintf(stderr, "hd-tune: no place for the profile: %s; say --profile FILE\n", hd_last_error());
    return ok;
}

static int finish(const struct tune_session *session, const struct wishes *w, const struct hd_tuning_link *link,
                  const struct tune_result *results, const char *path)
{
    struct tune_report report = {.link.speed = link->speed,
                                 .transport = session->transport,
                                 .peer = w->connect ? w->connect : "this host",
                                 .profile = path,
                                 .rounds = w->rounds,
                                 .results = results,
                                 .count = TASKS};
    memcpy(report.link.arch, link->arch, sizeof(link->arch));
    memcpy(report.link.kind, link->kind, sizeof(link->kind));
    memcpy(report.link.model, link->model, sizeof(link->model));
    int err = path[0] ? tune_write_profile(&report, path) : 0;
    if (w->json && !err)
        tune_print_json(&report);
    else if (path[0] && !err)
        printf("profile: %s\n", path);
    return err ? 1 : 0;
}

static int tune(const struct wishes *w)
{
    static struct tune_result results[TASKS];
    struct tune_session session = {.control = -1};
    struct hd_tuning_link link = {.size = sizeof(link)};
    char here[40], path[600];
    if (choose_transport(&session, w, &link)) {
        fprintf(stderr, "hd-tune: %s\n", hd_last_error());
        return 1;
    }
    if (!profile_place(w, &link, path, sizeof(path)))
        return 1;
    session.where = w->connect ? w->connect : here;
    pid_t server = w->connect ? 0 : start_server(here, sizeof(here));
    session.control = server < 0 ? -1 : tune_connect(session.where);
    if (!w->json && session.control >= 0)
        printf("link: %s%s%s on %s, transport %s, other end: %s, %d rounds\n", link.kind, link.device[0] ? " " : "",
               link.device, link.arch, session.settings[0].value, w->connect ? w->connect : "this host", w->rounds);
    bool ok = session.control >= 0 && tune_all(&session, results, w);
    if (session.control >= 0)
        tune_quit(&session);
    if (server > 0) {
        if (!ok)
            kill(server, SIGTERM);
        waitpid(server, NULL, 0);
    }
    return ok ? finish(&session, w, &link, results, path) : 1;
}

static bool known_option(const char *option)
{
    bool known = false;
    for (size_t i = 0; i < TASKS; i++)
        known = known || strcmp(tasks[i].option, option) == 0;
    if (!known)
        fprintf(stderr, "hd-tune: '%s' is not an option that is measured\n", option);
    return known;
}

static bool take(struct wishes *w, int c)
{
    char *end;
    switch (c) {
    case 0:
        return true;
    case 't':
        w->transport = optarg;
        return true;
    case 'c':
        w->connect = optarg;
        return true;
    case 'l':
        w->listen = optarg;
        return true;
    case 'p':
        w->profile = optarg;
        return true;
    case 'o':
        if (!known_option(optarg) || w->only_count == (int)TASKS)
            return false;
        w->only[w->only_count++] = optarg;
        return true;
    case 'r':
        w->rounds = (int)strtol(optarg, &end, 10);
        return !*end && w->rounds >= 3 && w->rounds <= TUNE_ROUNDS;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static int json, dry_run;
    static const struct option options[] = {
        {"transport", required_argument, 0, 't'},
        {"rounds", required_argument, 0, 'r'},
        {"only", required_argument, 0, 'o'},
        {"profile", required_argument, 0, 'p'},
        {"dry-run", no_argument, &dry_run, 1},
        {"listen", required_argument, 0, 'l'},
        {"connect", required_argument, 0, 'c'},
        {"json", no_argument, &json, 1},
        {"help", no_argument, 0, 'h'},
        {0},
    };
    struct wishes w = {.rounds = 9};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'h')
            return fputs(usage, stdout) < 0;
        if (!take(&w, c)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    w.json = json;
    w.dry_run = dry_run;
    if (optind < argc || (w.listen && (w.connect || w.profile))) {
        fputs(usage, stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    return w.listen ? serve_here(w.listen) : tune(&w);
}
