/* SPDX-License-Identifier: Apache-2.0 */

/* What the engine makes of the options affinity.*: its own threads, the program's, its counters. */

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define P8 "affinity.topology=" HD_TOPOLOGIES "/power8.xml"

/* What hd_affinity_enter_communication() gives a thread of the program that comes after the engine's own. */
static int own_set(hd_engine *engine)
{
    hd_affinity_enter_communication(hd_engine_affinity(engine));
    return hd_affinity_current(hd_engine_affinity(engine));
}

static void the_paper_s_machine_gets_its_sets(void **state)
{
    (void)state;
    static const char *const options[] = {P8, "affinity.policy=o2ocs", "communication.threads=12", NULL};
    hd_engine *engine = test_engine(options);
    assert_string_equal(hd_engine_affinity_text(engine),
                        "o2ocs for mlx5_0, 10 sets: 0-7 8-15 16-23 24-31 32-39 40-47 48-55 56-63 64-71 72-79");
    await_counter(engine, "affinity.bound.now", 12);
    assert_int_equal(counter(engine, "affinity.misses"), 12);
    assert_int_equal(counter(engine, "affinity.hits"), 0);
    assert_int_equal(counter(engine, "affinity.refused"), 0);
    assert_int_equal(own_set(engine), 2); /* twelve threads went round ten cores */
    assert_int_equal(counter(engine, "affinity.misses"), 13);
    hd_affinity_enter_communication(hd_engine_affinity(engine));
    hd_affinity_leave(hd_engine_affinity(engine));
    assert_int_equal(counter(engine, "affinity.hits"), 1);
    assert_int_equal(counter(engine, "affinity.bound.now"), 12);
    hd_engine_destroy(engine);
}

/* Sends and receives; what a caller's thread is by then. */
static int set_of_a_caller(const char *threads, uint64_t *hits)
{
    const char *options[] = {P8, "affinity.policy=o2nts:4", threads, NULL};
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    for (int i = 0; i < 3; i++) {
        assert_ok(hd_send(client, "ping", 4, PATIENCE));
        assert_ok(hd_recv(server, &msg, PATIENCE));
        hd_buf_unref(msg);
    }
    int set = hd_affinity_current(hd_engine_affinity(pair.a));
    struct hd_affinity_counters counters;
    hd_affinity_count(hd_engine_affinity(pair.a), &counters);
    *hits = counters.hits;
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
    return set;
}

static void callers_are_bound_only_if_all_are(void **state)
{
    (void)state;
    uint64_t hits;
    assert_int_equal(set_of_a_caller("affinity.threads=communication", &hits), -ENOENT);
    assert_int_equal(hits, 0);
    assert_true(set_of_a_caller("affinity.threads=all", &hits) >= 0);
    assert_true(hits >= 3);
}

/* Receives until the engine is closed, and tries once more. */
static void *receive(void *arg)
{
    hd_buf *msg;
    for (int i = 0; i < 2; i++)
        if (hd_recv(arg, &msg, PATIENCE) != -ESHUTDOWN)
            return arg;
    return NULL;
}

/* Threads may be in a call, and come again, when their affinity is already closed. */
static void engines_close_under_bound_threads(void **state)
{
    (void)state;
    static const char *const options[] = {P8, "affinity.policy=o2nts:1", "affinity.threads=all",
                                          "communication.threads=1", NULL};
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    void *wrong;
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    /* The engine's own thread binds itself when it gets to run, which may be later than this. */
    assert_true(own_set(pair.a) >= 0);
    await_counter(pair.a, "affinity.bound.now", 2);
    assert_int_equal(pthread_create(&thread, NULL, receive, client), 0);
    await_counter(pair.a, "affinity.bound.now", 3);
    hd_engine *engine = pair.a;
    hd_queue_destroy(pair.queue);
    hd_engine_destroy(engine);
    pthread_join(thread, &wrong);
    assert_null(wrong);
    hd_stream_close(client);
    hd_stream_close(server);
    hd_link_put(pair.client);
    hd_link_put(pair.server);
    hd_engine_destroy(pair.b);
    close(pair.fds[0]);
    close(pair.fds[1]);
}

/* The process' threads of this name, at most `most`. @return how many there are. */
static int find_threads(const char *name, pid_t *tids, int most)
{
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        bool ours = fgets(comm, sizeof(comm), file) && strncmp(comm, name, strlen(name)) == 0;
        fclose(file);
        if (ours && count++ < most)
            tids[count - 1] = atoi(entry->d_name);
    }
    closedir(tasks);
    return count;
}

/* All threads, as a batch system would: a sanitizer or emulator has some of its own, and hwloc looks at them too. */
static void restrict_process(const cpu_set_t *mask)
{
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));)
        if (entry->d_name[0] != '.' && sched_setaffinity(atoi(entry->d_name), sizeof(*mask), mask))
            assert_int_equal(errno, ESRCH); /* one that was just joined */
    closedir(tasks);
}

/* Checks that three threads have one of these processors each. */
static void check_masks(const char *name, const cpu_set_t *allowed)
{
    struct timespec pause = {.tv_nsec = 2000000};
    pid_t tids[3];
    int count = 0;
    /* Those of the engine before have been joined, but the kernel may not be done with them. */
    for (int i = 0; i < 5000 && (count = find_threads(name, tids, 3)) != 3; i++)
        nanosleep(&pause, NULL);
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++) {
        cpu_set_t mask, all;
        CPU_ZERO(&mask);
        assert_int_equal(sched_getaffinity(tids[i], sizeof(mask), &mask), 0);
        CPU_OR(&all, &mask, allowed);
        assert_true(CPU_EQUAL(&all, allowed));
        assert_int_equal(CPU_COUNT(&mask), 1);
    }
}

static void real_threads_stay_in_the_cpuset(void **state)
{
    (void)state;
    static const char *const options[] = {"affinity.policy=o2ntc:1", "communication.threads=3", NULL};
    cpu_set_t allowed, one, now;
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    CPU_ZERO(&one); /* as a batch job that was given one processor: the highest */
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
        }
    for (int restricted = 0; restricted < 2; restricted++) {
        const cpu_set_t *may = restricted ? &one : &allowed;
        restrict_process(may);
        hd_engine *engine = test_engine(options);
        await_counter(engine, "affinity.bound.now", 3);
        check_masks("howdah-comm", may);
        own_set(engine);
        hd_engine_destroy(engine); /* gives our own mask back, too */
        assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
        assert_true(CPU_EQUAL(&now, may));
    }
    restrict_process(&allowed);
}

static void auto_without_an_hca_binds_nobody(void **state)
{
    (void)state;
    static const char *const options[] = {P8, "affinity.threads=all", NULL};
    hd_engine *engine = test_engine(options);
    assert_string_equal(hd_engine_affinity_text(engine), "none: no HCA is used");
    assert_int_equal(own_set(engine), -ENOENT);
    assert_int_equal(counter(engine, "affinity.misses"), 0);
    hd_engine_destroy(engine);
}

static void refused(const char *key, const char *value, const char *policy, int error, const char *words)
{
    hd_conf *conf = hd_conf_create();
    hd_engine *engine;
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    assert_ok(hd_conf_set(conf, "hadoop.rdma.transport", test_transport, "test"));
    assert_ok(hd_conf_set(conf, "hadoop.rdma.affinity.topology", HD_TOPOLOGIES "/power8.xml", "test"));
    if (policy)
        assert_ok(hd_conf_set(conf, "hadoop.rdma.affinity.policy", policy, "core-site.xml"));
    assert_ok(hd_conf_set(conf, key, value, "core-site.xml"));
    assert_int_equal(hd_engine_create(&params, &engine), error);
    if (!strstr(hd_last_error(), "affinity.policy=") || !strstr(hd_last_error(), words))
        fail_msg("%s", hd_last_error());
    hd_conf_destroy(conf);
}

static void what_cannot_be_followed_is_refused(void **state)
{
    (void)state;
    refused("hadoop.rdma.affinity.policy", "o2acs:3", NULL, -EINVAL, "o2acs:3 (from core-site.xml)");
    refused("hadoop.rdma.affinity.policy", "o2nts:81", NULL, -ERANGE, "81");
    refused("hadoop.rdma.affinity.topology", "/nonexistent", "o2occ", -ENOENT, "/nonexistent");
    refused("hadoop.rdma.affinity.socket", "7", "o2acs", -ERANGE, "7");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_paper_s_machine_gets_its_sets), cmocka_unit_test(callers_are_bound_only_if_all_are),
        cmocka_unit_test(engines_close_under_bound_threads), cmocka_unit_test(real_threads_stay_in_the_cpuset),
        cmocka_unit_test(auto_without_an_hca_binds_nobody),  cmocka_unit_test(what_cannot_be_followed_is_refused),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
