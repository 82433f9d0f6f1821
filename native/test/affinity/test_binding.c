/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpuset.h"

/* The one place where threads of this machine are bound. It needs no particular machine: each core is its own
 * set. */

static void mask_of(pid_t tid, char *text, size_t size)
{
    struct hd_cpuset mask = {0};
    assert_int_equal(sched_getaffinity(tid, sizeof(mask), (cpu_set_t *)&mask), 0);
    assert_true(hd_cpuset_print(&mask, text, size) > 0);
}

static void bind_to(const char *list)
{
    struct hd_cpuset mask;
    assert_int_equal(hd_cpuset_parse(list, &mask), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(mask), (const cpu_set_t *)&mask), 0);
}

static hd_plan *plan_here(const char *policy)
{
    hd_topo *topo = NULL;
    hd_plan *plan = NULL;
    assert_int_equal(hd_topo_load(NULL, &topo), 0);
    assert_int_equal(try_plan(topo, policy, NULL, &plan), 0);
    hd_topo_destroy(topo);
    return plan;
}

struct guest {
    hd_affinity *affinity;
    pid_t tid;
    char before[512], bound[512], left[512];
};

static void *visit(void *arg)
{
    struct guest *guest = arg;
    guest->tid = (pid_t)syscall(SYS_gettid);
    mask_of(0, guest->before, sizeof(guest->before));
    hd_affinity_enter(guest->affinity);
    mask_of(0, guest->bound, sizeof(guest->bound));
    hd_affinity_leave(guest->affinity);
    mask_of(0, guest->left, sizeof(guest->left));
    return NULL;
}

static hd_affinity *open_here(const char *policy, hd_affinity_say_fn say, void *arg, char *first, size_t size)
{
    hd_plan *plan = plan_here(policy);
    assert_true(hd_plan_set(plan, 0, first, size) > 0);
    struct hd_affinity_params params = {.size = sizeof(params), .threads = HD_AFFINITY_ALL, .say = say, .say_arg = arg};
    hd_affinity *affinity;
    assert_int_equal(hd_affinity_create(plan, &params, &affinity), 0);
    hd_plan_destroy(plan);
    return affinity;
}

static void a_thread_is_bound_and_others_are_not(void **state)
{
    (void)state;
    char mine[512], after[512], first[512];
    struct guest guest = {.affinity = open_here("o2occ", NULL, NULL, first, sizeof(first))};
    mask_of(0, mine, sizeof(mine));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, visit, &guest), 0);
    pthread_join(thread, NULL);
    assert_string_equal(guest.before, mine);
    assert_string_equal(guest.bound, first);
    assert_string_equal(guest.left, mine);
    mask_of(0, after, sizeof(after));
    assert_string_equal(after, mine);
    hd_affinity_destroy(guest.affinity);
}

static void destroying_gives_masks_back(void **state)
{
    (void)state;
    char mine[512], now[512], first[512];
    mask_of(0, mine, sizeof(mine));
    hd_affinity *affinity = open_here("o2occ", NULL, NULL, first, sizeof(first));
    hd_affinity_enter(affinity);
    mask_of(0, now, sizeof(now));
    assert_string_equal(now, first);
    hd_affinity_destroy(affinity);
    mask_of(0, now, sizeof(now));
    assert_string_equal(now, mine);
}

/* A thread created by a bound one starts with its mask, but that is not where it goes back to. */
static void children_of_bound_threads_get_free(void **state)
{
    (void)state;
    char mine[512], first[512];
    mask_of(0, mine, sizeof(mine));
    struct guest child = {.affinity = open_here("o2occ", NULL, NULL, first, sizeof(first))};
    hd_affinity_enter(child.affinity);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, visit, &child), 0);
    pthread_join(thread, NULL);
    hd_affinity_destroy(child.affinity);
    assert_string_equal(child.before, first);
    assert_string_equal(child.left, mine);
}

/* ---- in a process of its own, which ends with what it found wrong ---- */

static void in_child(int (*body)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #truth, hd_last_error());                           \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static int said;

static void say(void *arg, const char *line)
{
    (void)arg;
    said += strstr(line, "does not let us bind") != NULL;
}

static void forbid_binding(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(77); /* an emulator knows no filters */
}

static void *enter_thrice(void *arg)
{
    for (int i = 0; i < 3; i++)
        hd_affinity_enter(arg);
    return NULL;
}

static int refused_body(void)
{
    char first[512];
    forbid_binding();
    hd_affinity *affinity = open_here("o2occ", say, NULL, first, sizeof(first));
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, enter_thrice, affinity) == 0);
        pthread_join(thread, NULL);
    }
    struct hd_affinity_counters counters;
    hd_affinity_count(affinity, &counters);
    CHECK(counters.refused == 4);
    CHECK(counters.misses == 4 && counters.hits == 8);
    CHECK(counters.bound_now == 0);
    CHECK(said == 1);
    hd_affinity_destroy(affinity);
    return 0;
}

static void a_system_that_forbids_binding_is_counted_and_said_once(void **state)
{
    (void)state;
    in_child(refused_body);
}

/* A described machine that claims to be this one: its second socket is not there, and the kernel says so. */
static int absent_body(void)
{
    setenv("HWLOC_THISSYSTEM", "1", 1);
    char path[] = HD_TOPOLOGIES "/power8-socket1.xml", set[64];
    struct hd_topo_params params = {.size = sizeof(params), .xml = path};
    hd_topo *topo = NULL;
    hd_plan *plan = NULL;
    CHECK(hd_topo_load(&params, &topo) == 0);
    CHECK(hd_topo_cpus(topo, -1, true, set, sizeof(set)) > 0); /* our own mask was respected */
    char mine[512];
    mask_of(0, mine, sizeof(mine));
    CHECK(sysconf(_SC_NPROCESSORS_CONF) > 80 || strcmp(set, mine) == 0);
    int err = try_plan(topo, "o2acs", NULL, &plan);
    CHECK(sysconf(_SC_NPROCESSORS_CONF) > 80 || err == -EXDEV);
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
    return 0;
}

static void the_processs_mask_bounds_what_a_file_claims(void **state)
{
    (void)state;
    in_child(absent_body);
}

/* Somebody else's later choice is not undone. */
static int rebound_body(void)
{
    char mine[512], first[512], now[512];
    mask_of(0, mine, sizeof(mine));
    if (!strpbrk(mine, ",-"))
        return 0; /* a machine of one processor has nothing to choose */
    hd_affinity *affinity = open_here("o2occ", NULL, NULL, first, sizeof(first));
    hd_affinity_enter(affinity);
    hd_plan *plan = NULL;
    bind_to(mine);
    plan = plan_here("o2occ");
    CHECK(hd_plan_set(plan, hd_plan_sets(plan) - 1, now, sizeof(now)) > 0);
    hd_plan_destroy(plan);
    bind_to(now);
    hd_affinity_destroy(affinity);
    char after[512];
    mask_of(0, after, sizeof(after));
    CHECK(strcmp(now, first) == 0 || strcmp(after, now) == 0);
    return 0;
}

static void masks_set_by_others_stay(void **state)
{
    (void)state;
    in_child(rebound_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_bound_and_others_are_not),
        cmocka_unit_test(destroying_gives_masks_back),
        cmocka_unit_test(children_of_bound_threads_get_free),
        cmocka_unit_test(a_system_that_forbids_binding_is_counted_and_said_once),
        cmocka_unit_test(the_processs_mask_bounds_what_a_file_claims),
        cmocka_unit_test(masks_set_by_others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
