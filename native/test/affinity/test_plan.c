/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

/* The machine of the OpenPOWER paper: 2 sockets, 10 cores each, SMT8, the HCA on socket 0. */
#define P8_CORES_0 "0-7 8-15 16-23 24-31 32-39 40-47 48-55 56-63 64-71 72-79"
#define P8_CORES_1 "80-87 88-95 96-103 104-111 112-119 120-127 128-135 136-143 144-151 152-159"

static void power8_gives_the_sets_of_the_paper(void **state)
{
    (void)state;
    assert_sets("power8", NULL, "o2acs", "0-79");
    assert_sets("power8", NULL, "o2ocs", P8_CORES_0);
    assert_sets("power8", NULL, "o2occ", P8_CORES_0 " " P8_CORES_1);
    assert_sets("power8", NULL, "o2nts:4",
                "0-3 4-7 8-11 12-15 16-19 20-23 24-27 28-31 32-35 36-39 40-43 44-47 48-51 52-55 56-59 60-63 "
                "64-67 68-71 "
                "72-75 76-79");
    assert_sets("power8", NULL, "none", "");
}

/* The special cases are special cases. */
static void core_and_socket_are_n_8_and_n_80(void **state)
{
    (void)state;
    assert_sets("power8", NULL, "o2nts:8", P8_CORES_0);
    assert_sets("power8", NULL, "o2nts:80", "0-79");
    assert_sets("power8", NULL, "o2ntc:8", P8_CORES_0 " " P8_CORES_1);
    assert_sets("power8", NULL, "o2ntc:80", "0-79 80-159");
    assert_sets("power8", NULL, "o2ntc:160", "0-159");
}

static void single_threads_are_80_and_160_sets(void **state)
{
    static const struct {
        const char *policy;
        unsigned sets;
    } rows[] = {{"o2nts:1", 80}, {"o2ntc:1", 160}, {"o2nts:2", 40}, {"o2ntc:4", 40}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hd_plan *plan = plan_on("power8", NULL, rows[i].policy);
        assert_int_equal(hd_plan_sets(plan), rows[i].sets);
        hd_plan_destroy(plan);
    }
}

/* No set shares a core with its neighbour unless both fit into it. */
static void odd_n_keeps_to_cores(void **state)
{
    (void)state;
    assert_sets("power8", NULL, "o2nts:6", "0-5 8-13 16-21 24-29 32-37 40-45 48-53 56-61 64-69 72-77");
    assert_sets("power8", NULL, "o2nts:3",
                "0-2 3-5 8-10 11-13 16-18 19-21 24-26 27-29 32-34 35-37 40-42 43-45 48-50 51-53 56-58 59-61 "
                "64-66 67-69 "
                "72-74 75-77");
    assert_sets("power8", NULL, "o2nts:12", "0-11 16-27 32-43 48-59 64-75");
    assert_sets("power8", NULL, "o2nts:24", "0-23 24-47 48-71");
    assert_sets("power8", NULL, "o2ntc:100", "0-99");
}

static void sparse_numbers_make_no_difference(void **state)
{
    (void)state;
    assert_sets("power8-smt2", NULL, "o2ocs", "0-1 8-9 16-17 24-25 32-33 40-41 48-49 56-57 64-65 72-73");
    assert_sets("power8-smt2", NULL, "o2acs", "0-1,8-9,16-17,24-25,32-33,40-41,48-49,56-57,64-65,72-73");
    assert_sets("power8-smt2", NULL, "o2nts:8", "0-1,8-9,16-17,24-25 32-33,40-41,48-49,56-57");
    assert_sets("power8-smt4", NULL, "o2ocs", "0-3 8-11 16-19 24-27 32-35 40-43 48-51 56-59 64-67 72-75");
    assert_sets("x86", NULL, "o2ocs", "8,24 9,25 10,26 11,27 12,28 13,29 14,30 15,31");
    assert_sets("x86", NULL, "o2acs", "8-15,24-31");
    assert_sets("x86-split", NULL, "o2acs", "8-15,24-31");
    assert_sets("vm", NULL, "o2ocs", "0 1");
    assert_sets("bare", NULL, "o2occ", "0 1 2 3");
}

static void the_other_socket_when_the_hca_is_there(void **state)
{
    (void)state;
    assert_sets("power8-socket1", NULL, "o2acs", "80-159");
    assert_sets("power8-socket1", NULL, "o2ocs", P8_CORES_1);
    assert_sets("power8-socket1", NULL, "o2occ", P8_CORES_1 " " P8_CORES_0); /* near cores first */
    assert_sets("x86-none", "0-1,8", "o2occ", "0 1 8");
}

static void sets_are_of_what_the_process_may_use(void **state)
{
    (void)state;
    assert_sets("power8-job-part", NULL, "o2acs", "8-19");
    assert_sets("power8-job-part", NULL, "o2ocs", "8-15 16-19");
    assert_sets("power8-job-part", NULL, "o2occ", "8-15 16-19 152-159");
    assert_sets("power8-job-part", NULL, "o2nts:4", "8-11 12-15 16-19");
    assert_sets("power8-job-part", NULL, "o2nts:8", "8-15");
    assert_sets("power8-job-part", NULL, "o2ntc:8", "8-15 152-159");
    assert_sets("power8-job-part", NULL, "o2ntc:20", "8-19,152-159");
    assert_sets("power8", "0,8,16,24", "o2nts:2", "0,8 16,24");
    assert_sets("power8", "0-1,8,16-17", "o2nts:2", "0-1 16-17");
}

static void assert_note(hd_plan *plan, const char *part)
{
    if (!strstr(hd_plan_note(plan), part))
        fail_msg("\"%s\" does not contain \"%s\"", hd_plan_note(plan), part);
}

static void smaller_sets_are_said(void **state)
{
    (void)state;
    hd_plan *plan = plan_on("power8-job-part", NULL, "o2nts:16");
    assert_int_equal(hd_plan_sets(plan), 1);
    assert_note(plan, "12 SMT threads instead of 16");
    assert_note(plan, "12 of 80");
    assert_note(plan, "not this machine's");
    hd_plan_destroy(plan);
    plan = plan_on("power8", NULL, "none");
    assert_string_equal(hd_plan_note(plan), "");
    hd_plan_destroy(plan);
}

static void assert_refused(const char *machine, const char *cpus, const char *policy, int err, const char *says)
{
    hd_topo *topo = load(machine, cpus);
    hd_plan *plan = NULL;
    assert_int_equal(try_plan(topo, policy, NULL, &plan), err);
    assert_null(plan);
    assert_says(says);
    hd_topo_destroy(topo);
}

static void a_policy_asked_for_by_name_never_gives_way(void **state)
{
    static const char *const close[] = {"o2acs", "o2ocs", "o2nts:8"};
    (void)state;
    for (size_t i = 0; i < sizeof(close) / sizeof(close[0]); i++) {
        assert_refused("power8-job-far", NULL, close[i], -EXDEV, "may use processors 80-159, but none of 0-79");
        assert_refused("power8", "80-159", close[i], -EXDEV, "mlx5_0");
        assert_refused("x86-none", NULL, close[i], -ENODEV, "no RDMA device");
        assert_refused("x86-nowhere", NULL, close[i], -ENXIO, "affinity.socket");
    }
    assert_refused("power8", NULL, "o2nts:81", -ERANGE, "only 80");
    assert_refused("power8", NULL, "o2ntc:161", -ERANGE, "only 160");
    assert_refused("power8", NULL, "o2xyz", -EINVAL, "o2xyz");
    assert_sets("power8-job-far", NULL, "o2occ", P8_CORES_1);
    assert_sets("x86-nowhere", "0,16", "o2occ", "0,16");
}

static void assert_auto(const char *machine, const char *cpus, bool rdma, enum hd_policy_kind kind, const char *says)
{
    hd_topo *topo = load(machine, cpus);
    struct hd_plan_params params = {.size = sizeof(params), .rdma = rdma};
    struct hd_policy policy;
    hd_plan *plan = NULL;
    assert_int_equal(hd_plan_create(topo, &params, &plan), 0);
    hd_plan_policy(plan, &policy);
    assert_int_equal(policy.kind, kind);
    assert_int_equal(hd_plan_sets(plan), kind == HD_POLICY_NONE ? 0 : 1);
    assert_note(plan, says);
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
}

static void auto_is_o2acs_with_an_hca_and_says_why_if_not(void **state)
{
    (void)state;
    assert_auto("power8", NULL, true, HD_POLICY_O2ACS, "");
    assert_auto("power8", NULL, false, HD_POLICY_NONE, "no HCA is used");
    assert_auto("power8-job-part", NULL, true, HD_POLICY_O2ACS, "12 of 80");
    assert_auto("power8-job-far", NULL, true, HD_POLICY_NONE, "none of 0-79");
    assert_auto("x86-nowhere", NULL, true, HD_POLICY_NONE, "mlx4_0");
    assert_auto("x86-none", NULL, true, HD_POLICY_NONE, "no RDMA device");
}

static int plan_socket(const char *machine, const char *socket, const char *policy, char *first, size_t size)
{
    hd_topo *topo = load(machine, NULL);
    struct hd_plan_params params = {.size = sizeof(params), .policy = policy, .socket = socket, .rdma = true};
    hd_plan *plan = NULL;
    int err = hd_plan_create(topo, &params, &plan);
    if (!err)
        hd_plan_set(plan, 0, first, size);
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
    return err;
}

static void the_socket_can_be_given_by_hand(void **state)
{
    (void)state;
    char first[64];
    assert_int_equal(plan_socket("x86-nowhere", "1", "o2acs", first, sizeof(first)), 0);
    assert_string_equal(first, "8-15,24-31");
    assert_int_equal(plan_socket("x86-nowhere", "0", "auto", first, sizeof(first)), 0);
    assert_string_equal(first, "0-7,16-23");
    assert_int_equal(plan_socket("x86-nowhere", "1", "o2occ", first, sizeof(first)), 0);
    assert_string_equal(first, "8,24");
    assert_int_equal(plan_socket("power8", "auto", "o2acs", first, sizeof(first)), 0);
    assert_string_equal(first, "0-79");
    assert_int_equal(plan_socket("power8", "2", "o2acs", first, sizeof(first)), -ERANGE);
    assert_int_equal(plan_socket("power8", "2", "auto", first, sizeof(first)), -ERANGE);
    assert_int_equal(plan_socket("power8", "-1", "o2acs", first, sizeof(first)), -EINVAL);
    assert_int_equal(plan_socket("power8", "near", "auto", first, sizeof(first)), -EINVAL);
}

static void plans_follow_the_device(void **state)
{
    (void)state;
    hd_topo *topo = load("power9", NULL);
    hd_plan *plan = NULL;
    char set[64];
    assert_int_equal(try_plan(topo, "o2acs", "mlx5_3", &plan), 0);
    assert_string_equal(hd_plan_device(plan), "mlx5_3");
    assert_true(hd_plan_set(plan, 0, set, sizeof(set)) > 0);
    assert_string_equal(set, "88-175");
    assert_int_equal(hd_plan_set(plan, 1, set, sizeof(set)), -ENOENT);
    assert_int_equal(hd_plan_set(plan, 0, set, 3), -ENOSPC);
    hd_plan_destroy(plan);
    plan = NULL;
    assert_int_equal(try_plan(topo, "o2acs", "rxe0", &plan), -ENODEV);
    assert_null(plan);
    hd_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power8_gives_the_sets_of_the_paper),
        cmocka_unit_test(core_and_socket_are_n_8_and_n_80),
        cmocka_unit_test(single_threads_are_80_and_160_sets),
        cmocka_unit_test(odd_n_keeps_to_cores),
        cmocka_unit_test(sparse_numbers_make_no_difference),
        cmocka_unit_test(the_other_socket_when_the_hca_is_there),
        cmocka_unit_test(sets_are_of_what_the_process_may_use),
        cmocka_unit_test(smaller_sets_are_said),
        cmocka_unit_test(a_policy_asked_for_by_name_never_gives_way),
        cmocka_unit_test(auto_is_o2acs_with_an_hca_and_says_why_if_not),
        cmocka_unit_test(the_socket_can_be_given_by_hand),
        cmocka_unit_test(plans_follow_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
