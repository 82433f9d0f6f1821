/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include <pthread.h>
#include <stdatomic.h>

#include "affinity.h"

/* The cache on described machines: sets are dealt and counted, nothing is bound. */

static hd_affinity *open_affinity(const char *policy, enum hd_affinity_threads threads)
{
    hd_plan *plan = plan_on("power8", NULL, policy);
    struct hd_affinity_params params = {.size = sizeof(params), .threads = threads};
    hd_affinity *affinity;
    assert_int_equal(hd_affinity_create(plan, &params, &affinity), 0);
    hd_plan_destroy(plan);
    return affinity;
}

static struct hd_affinity_counters count(const hd_affinity *affinity)
{
    struct hd_affinity_counters counters;
    hd_affinity_count(affinity, &counters);
    return counters;
}

static void the_first_entry_misses_and_the_others_hit(void **state)
{
    (void)state;
    hd_affinity *affinity = open_affinity("o2ocs", HD_AFFINITY_ALL);
    assert_int_equal(hd_affinity_current(affinity), -ENOENT);
    for (int i = 0; i < 5000; i++) /* more than a batch of hits */
        hd_affinity_enter(affinity);
    assert_int_equal(hd_affinity_current(affinity), 0);
    assert_int_equal(count(affinity).misses, 1);
    assert_int_equal(count(affinity).hits, 4999);
    assert_int_equal(count(affinity).bound_now, 1);
    assert_int_equal(count(affinity).refused, 0);
    hd_affinity_leave(affinity);
    hd_affinity_leave(affinity);
    assert_int_equal(count(affinity).bound_now, 0);
    assert_int_equal(count(affinity).hits, 4999);
    hd_affinity_enter(affinity);
    assert_int_equal(count(affinity).misses, 2);
    assert_int_equal(hd_affinity_current(affinity), 1); /* the next in turn */
    hd_affinity_destroy(affinity);
}

static void policy_none_does_and_counts_nothing(void **state)
{
    (void)state;
    hd_affinity *affinity = open_affinity("none", HD_AFFINITY_ALL);
    hd_affinity_enter(affinity);
    hd_affinity_enter_communication(affinity);
    assert_int_equal(count(affinity).misses + count(affinity).hits, 0);
    assert_int_equal(hd_affinity_current(affinity), -ENOENT);
    hd_affinity_leave(affinity);
    hd_affinity_destroy(affinity);
    hd_affinity_destroy(NULL);
}

static void only_declared_threads_are_bound_if_so_chosen(void **state)
{
    (void)state;
    hd_affinity *affinity = open_affinity("o2acs", HD_AFFINITY_COMMUNICATION);
    hd_affinity_enter(affinity);
    assert_int_equal(count(affinity).misses, 0);
    hd_affinity_enter_communication(affinity);
    hd_affinity_enter(affinity);
    assert_int_equal(count(affinity).misses, 1);
    assert_int_equal(count(affinity).hits, 1);
    assert_int_equal(hd_affinity_current(affinity), 0);
    hd_affinity_destroy(affinity);
}

static void a_living_affinity_keeps_its_threads(void **state)
{
    (void)state;
    hd_affinity *first = open_affinity("o2ocs", HD_AFFINITY_ALL);
    hd_affinity *second = open_affinity("o2ocs", HD_AFFINITY_ALL);
    for (int i = 0; i < 10; i++) {
        hd_affinity_enter(first);
        hd_affinity_enter(second);
    }
    assert_int_equal(hd_affinity_current(first), 0);
    assert_int_equal(hd_affinity_current(second), -ENOENT);
    assert_int_equal(count(second).misses, 1);
    assert_int_equal(count(second).hits, 9);
    assert_int_equal(count(second).bound_now, 0);
    hd_affinity_destroy(first);
    hd_affinity_enter(second); /* free again */
    assert_int_equal(hd_affinity_current(second), 0);
    assert_int_equal(count(second).misses, 2);
    assert_int_equal(count(second).hits, 9);
    hd_affinity_destroy(second);
}

/* More engines in turn than a thread remembers: the binding stays, forgotten ones are met anew. */
static void a_thread_may_meet_many_affinities(void **state)
{
    (void)state;
    hd_affinity *all[7];
    for (size_t i = 0; i < 7; i++)
        all[i] = open_affinity("o2ocs", HD_AFFINITY_ALL);
    uint64_t entries = 0;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < 7; i++) {
            hd_affinity_enter(all[i]);
            entries++;
        }
    assert_int_equal(hd_affinity_current(all[0]), 0);
    uint64_t seen = 0;
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(count(all[i]).bound_now, i == 0);
        seen += count(all[i]).hits + count(all[i]).misses;
    }
    assert_int_equal(seen, entries);
    for (size_t i = 0; i < 7; i++)
        hd_affinity_destroy(all[i]);
}

/* ---- threads ---- */

struct crew {
    hd_affinity *affinity;
    pthread_barrier_t here, go;
    unsigned entries;
    _Atomic int taken[64];
};

static void *work(void *arg)
{
    struct crew *crew = arg;
    for (unsigned i = 0; i < crew->entries; i++)
        hd_affinity_enter(crew->affinity);
    int set = hd_affinity_current(crew->affinity);
    if (set >= 0)
        crew->taken[set]++;
    pthread_barrier_wait(&crew->here);
    pthread_barrier_wait(&crew->go);
    return NULL;
}

static void crew_start(struct crew *crew, pthread_t *threads, unsigned count_)
{
    memset(crew->taken, 0, sizeof(crew->taken));
    pthread_barrier_init(&crew->here, NULL, count_ + 1);
    pthread_barrier_init(&crew->go, NULL, count_ + 1);
    for (unsigned i = 0; i < count_; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, crew), 0);
    pthread_barrier_wait(&crew->here);
}

static void crew_end(struct crew *crew, pthread_t *threads, unsigned count_)
{
    pthread_barrier_wait(&crew->go);
    for (unsigned i = 0; i < count_; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crew->here);
    pthread_barrier_destroy(&crew->go);
}

static void cores_are_dealt_in_turn_and_come_back(void **state)
{
    (void)state;
    pthread_t threads[40];
    struct crew crew = {.affinity = open_affinity("o2occ", HD_AFFINITY_ALL), .entries = 3000};
    for (int round = 1; round <= 3; round++) {
        crew_start(&crew, threads, 40);
        assert_int_equal(count(crew.affinity).bound_now, 40);
        for (int core = 0; core < 20; core++)
            assert_int_equal(crew.taken[core], 2);
        crew_end(&crew, threads, 40);
        assert_int_equal(count(crew.affinity).bound_now, 0);
        assert_int_equal(count(crew.affinity).misses, 40 * round);
        assert_int_equal(count(crew.affinity).hits, 40 * 2999 * round);
    }
    hd_affinity_destroy(crew.affinity);
}

/* What left is taken first, so that coming and going does not pile threads up on some cores. */
static void free_cores_are_filled_first(void **state)
{
    (void)state;
    pthread_t some[7], more[13];
    hd_affinity *affinity = open_affinity("o2ocs", HD_AFFINITY_ALL); /* 10 cores */
    struct crew first = {.affinity = affinity, .entries = 1}, second = first;
    crew_start(&first, some, 7);
    crew_start(&second, more, 13);
    for (int core = 0; core < 10; core++)
        assert_int_equal(first.taken[core] + second.taken[core], 2);
    crew_end(&first, some, 7);
    crew_start(&first, some, 7);
    for (int core = 0; core < 10; core++)
        assert_int_equal(first.taken[core] + second.taken[core], 2);
    crew_end(&second, more, 13);
    crew_end(&first, some, 7);
    hd_affinity_destroy(affinity);
}

static void *reuse(void *arg)
{
    struct crew *crew = arg;
    for (unsigned i = 0; i < crew->entries; i++) {
        hd_affinity_enter(crew->affinity);
        if (i % 7 == 0)
            hd_affinity_leave(crew->affinity);
    }
    return NULL;
}

/* Threads come, go and enter while others count; for the thread sanitizer, and for the sum. */
static void counting_is_exact_under_churn(void **state)
{
    (void)state;
    struct crew crew = {.affinity = open_affinity("o2nts:4", HD_AFFINITY_ALL), .entries = 20000};
    pthread_t threads[8];
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reuse, &crew), 0);
    for (int i = 0; i < 1000; i++)
        assert_true(count(crew.affinity).bound_now <= 8);
    for (size_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    struct hd_affinity_counters end = count(crew.affinity);
    assert_int_equal(end.hits + end.misses, 8 * 20000);
    assert_int_equal(end.misses, 8 * ((20000 + 6) / 7)); /* the last entry of all leaves and does not come back */
    assert_int_equal(end.bound_now, 0);
    hd_affinity_destroy(crew.affinity);
}

/* Threads outlive affinities that they were bound by. */
static void *wanderer(void *arg)
{
    struct crew *crew = arg;
    for (int i = 0; i < 50; i++) {
        pthread_barrier_wait(&crew->here);
        hd_affinity_enter(crew->affinity);
        hd_affinity_enter(crew->affinity);
        pthread_barrier_wait(&crew->go);
    }
    return NULL;
}

static void threads_outlive_affinities(void **state)
{
    (void)state;
    struct crew crew = {0};
    pthread_t threads[4];
    pthread_barrier_init(&crew.here, NULL, 5);
    pthread_barrier_init(&crew.go, NULL, 5);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wanderer, &crew), 0);
    for (int i = 0; i < 50; i++) {
        crew.affinity = open_affinity("o2ocs", HD_AFFINITY_ALL);
        pthread_barrier_wait(&crew.here);
        pthread_barrier_wait(&crew.go);
        assert_int_equal(count(crew.affinity).misses, 4);
        assert_int_equal(count(crew.affinity).hits, 4);
        hd_affinity_destroy(crew.affinity);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void counters_can_live_elsewhere(void **state)
{
    (void)state;
    static _Atomic uint64_t hits, misses, bound, refused;
    hd_affinity *affinity = open_affinity("o2acs", HD_AFFINITY_ALL);
    hd_affinity_count_in(affinity, &(struct hd_affinity_words){&hits, &misses, &bound, &refused});
    for (int i = 0; i <= HD_AFFINITY_BATCH + 10; i++)
        hd_affinity_enter(affinity);
    assert_int_equal(misses, 1);
    assert_int_equal(bound, 1);
    assert_int_equal(hits, HD_AFFINITY_BATCH);
    assert_int_equal(count(affinity).hits, HD_AFFINITY_BATCH + 10);
    hd_affinity_destroy(affinity);
    assert_int_equal(hits, HD_AFFINITY_BATCH + 10);
    assert_int_equal(bound, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_entry_misses_and_the_others_hit),
        cmocka_unit_test(policy_none_does_and_counts_nothing),
        cmocka_unit_test(only_declared_threads_are_bound_if_so_chosen),
        cmocka_unit_test(a_living_affinity_keeps_its_threads),
        cmocka_unit_test(a_thread_may_meet_many_affinities),
        cmocka_unit_test(cores_are_dealt_in_turn_and_come_back),
        cmocka_unit_test(free_cores_are_filled_first),
        cmocka_unit_test(counting_is_exact_under_churn),
        cmocka_unit_test(threads_outlive_affinities),
        cmocka_unit_test(counters_can_live_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
