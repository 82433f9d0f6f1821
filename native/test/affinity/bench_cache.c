/* SPDX-License-Identifier: Apache-2.0 */
/* What entering costs a thread that the cache knows: ns per entry, best of 20 runs, alone and with four
 * threads at a time. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <howdah/affinity.h>

#define ENTRIES 2000000

static hd_affinity *affinity;

static double run(void)
{
    struct timespec a, b;
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        for (int k = 0; k < ENTRIES; k++)
            hd_affinity_enter(affinity);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / ENTRIES;
        best = ns < best ? ns : best;
    }
    return best;
}

static void *thread(void *arg)
{
    *(double *)arg = run();
    return NULL;
}

static int open_affinity(const char *policy)
{
    hd_topo *topo;
    hd_plan *plan;
    struct hd_topo_params where = {.size = sizeof(where), .xml = HD_TOPOLOGIES "/power8.xml"};
    struct hd_plan_params how = {.size = sizeof(how), .policy = policy};
    struct hd_affinity_params params = {.size = sizeof(params), .threads = HD_AFFINITY_ALL};
    if (hd_topo_load(&where, &topo) || hd_plan_create(topo, &how, &plan) ||
        hd_affinity_create(plan, &params, &affinity)) {
        fprintf(stderr, "affinity_bench: %s\n", hd_last_error());
        return -1;
    }
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
    return 0;
}

int main(void)
{
    double times[4];
    pthread_t threads[4];
    if (open_affinity("none"))
        return 1;
    printf("none     %.2f ns\n", run());
    hd_affinity_destroy(affinity);
    if (open_affinity("o2ocs"))
        return 1;
    printf("hit      %.2f ns\n", run());
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread, &times[i]);
    printf("4 at once");
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        printf(" %.2f", times[i]);
    }
    printf(" ns\n");
    hd_affinity_destroy(affinity);
    return 0;
}
