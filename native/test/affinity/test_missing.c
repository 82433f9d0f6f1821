/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include <dlfcn.h>

#include "affinity.h"

/* A node without libhwloc. The program's own dlopen() stands before the system's. */
void *dlopen(const char *name, int flags)
{
    (void)name;
    (void)flags;
    return NULL;
}

char *dlerror(void)
{
    static char text[] = "libhwloc.so.15: no such file";
    return text;
}

static int lines;

static void say(void *arg, const char *line)
{
    (void)arg;
    lines += strstr(line, "libhwloc.so.15") != NULL;
}

static void auto_does_without_and_says_so(void **state)
{
    (void)state;
    struct hd_affinity_setup setup = {.rdma = true, .threads = HD_AFFINITY_ALL, .say = say};
    hd_affinity *affinity = NULL;
    assert_int_equal(hd_affinity_open(&setup, &affinity), 0);
    hd_affinity_enter(affinity);
    assert_int_equal(hd_affinity_current(affinity), -ENOENT);
    assert_int_equal(lines, 1);
    hd_affinity_destroy(affinity);
}

static void a_named_policy_is_refused(void **state)
{
    (void)state;
    struct hd_affinity_setup setup = {.policy = "o2occ", .say = say};
    hd_affinity *affinity = NULL;
    hd_topo *topo = NULL;
    assert_int_equal(hd_affinity_open(&setup, &affinity), -ENOSYS);
    assert_says("libhwloc.so.15");
    assert_int_equal(hd_topo_load(NULL, &topo), -ENOSYS);
    assert_null(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_does_without_and_says_so),
        cmocka_unit_test(a_named_policy_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
