/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include "affinity.h"

/* What the engine does with its options. */

static char said[1024], me[] = "me";

static void say(void *arg, const char *line)
{
    assert_ptr_equal(arg, me);
    snprintf(said, sizeof(said), "%s", line);
}

static int open_by(const char *policy, const char *machine, const char *device, bool rdma, hd_affinity **affinity)
{
    said[0] = '\0';
    struct hd_affinity_setup setup = {.policy = policy,
                                      .device = device,
                                      .topology = machine,
                                      .rdma = rdma,
                                      .threads = HD_AFFINITY_ALL,
                                      .say = say,
                                      .say_arg = me};
    return hd_affinity_open(&setup, affinity);
}

/* Whether a thread gets a set. */
static bool binds(const char *policy, const char *machine, const char *device, bool rdma)
{
    hd_affinity *affinity = NULL;
    int err = open_by(policy, machine, device, rdma, &affinity);
    if (err)
        fail_msg("%s: %d %s", policy, err, hd_last_error());
    hd_affinity_enter(affinity);
    bool bound = hd_affinity_current(affinity) >= 0;
    hd_affinity_destroy(affinity);
    return bound;
}

#define P8 HD_TOPOLOGIES "/power8.xml"

static void options_decide(void **state)
{
    (void)state;
    assert_true(binds("auto", P8, "mlx5_0", true));
    assert_true(binds("", P8, "", true));
    assert_true(binds(NULL, P8, NULL, true));
    assert_true(binds("o2occ", P8, "", false));
    assert_true(binds("o2ocs", P8, "", false)); /* asked for by name, and there is an HCA */
    assert_non_null(strstr(said, "not this machine's"));
}

static void nothing_is_read_if_nothing_is_bound(void **state)
{
    (void)state;
    assert_false(binds("none", "/nonexistent", "", true));
    assert_false(binds("auto", "/nonexistent", "", false));
    assert_string_equal(said, "");
}

static void auto_gives_way_aloud(void **state)
{
    (void)state;
    assert_false(binds("auto", P8, "rxe0", true)); /* a software device is in no topology */
    assert_non_null(strstr(said, "no RDMA device \"rxe0\"; it has: mlx5_0"));
    assert_false(binds("auto", HD_TOPOLOGIES "/power8-job-far.xml", "mlx5_0", true));
    assert_non_null(strstr(said, "none of 0-79"));
}

static void mistakes_are_errors(void **state)
{
    (void)state;
    hd_affinity *affinity = NULL;
    assert_int_equal(open_by("o2", P8, "", true, &affinity), -EINVAL);
    assert_int_equal(open_by("auto", "/nonexistent", "", true, &affinity), -ENOENT);
    assert_int_equal(open_by("o2acs", P8, "rxe0", true, &affinity), -ENODEV);
    assert_int_equal(open_by("o2nts:81", P8, "", true, &affinity), -ERANGE);
    assert_null(affinity);
}

static void structures_without_their_size_are_refused(void **state)
{
    (void)state;
    hd_topo *topo = NULL;
    hd_plan *plan = NULL;
    hd_affinity *affinity = NULL;
    assert_int_equal(hd_topo_load(&(struct hd_topo_params){.size = 0}, &topo), -EINVAL);
    topo = load("power8", NULL);
    assert_int_equal(hd_plan_create(topo, &(struct hd_plan_params){.size = 0}, &plan), -EINVAL);
    assert_int_equal(hd_affinity_create(NULL, &(struct hd_affinity_params){.size = 0}, &affinity), -EINVAL);
    hd_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_decide),
        cmocka_unit_test(nothing_is_read_if_nothing_is_bound),
        cmocka_unit_test(auto_gives_way_aloud),
        cmocka_unit_test(mistakes_are_errors),
        cmocka_unit_test(structures_without_their_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
