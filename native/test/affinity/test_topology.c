/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include <unistd.h>

static void assert_shape(const char *machine, unsigned sockets, unsigned cores, unsigned pus, unsigned smt)
{
    hd_topo *topo = load(machine, NULL);
    struct hd_topo_summary s;
    hd_topo_summarize(topo, &s);
    assert_int_equal(s.sockets, sockets);
    assert_int_equal(s.cores, cores);
    assert_int_equal(s.pus, pus);
    assert_int_equal(s.smt, smt);
    assert_false(s.this_system);
    assert_int_equal(s.page_size, sysconf(_SC_PAGESIZE));
    hd_topo_destroy(topo);
}

static void machines_have_their_shape(void **state)
{
    (void)state;
    assert_shape("power8", 2, 20, 160, 8);
    assert_shape("power8-smt4", 2, 20, 80, 4);
    assert_shape("power8-smt2", 2, 20, 40, 2);
    assert_shape("power9", 2, 44, 176, 4);
    assert_shape("x86", 2, 16, 32, 2);
    assert_shape("vm", 1, 2, 2, 1);
    assert_shape("bare", 1, 4, 4, 1); /* no sockets, no cores: one socket, and each PU is a core */
}

static void details_are_asked_for(void **state)
{
    (void)state;
    hd_topo *topo = load("power8", NULL);
    struct hd_topo_summary s;
    hd_topo_summarize(topo, &s);
    assert_int_equal(s.cache_line, 128);
    assert_string_equal(s.model, "POWER8");
    assert_int_equal(s.devices, 1);
    assert_int_equal(s.allowed, 160);
    hd_topo_destroy(topo);
}

static void sparse_numbers_are_kept(void **state)
{
    (void)state;
    hd_topo *topo = load("power8-smt2", NULL);
    char text[256];
    assert_true(hd_topo_cpus(topo, 1, false, text, sizeof(text)) > 0);
    assert_string_equal(text, "80-81,88-89,96-97,104-105,112-113,120-121,128-129,136-137,144-145,152-153");
    assert_int_equal(hd_topo_cpus(topo, 2, false, text, sizeof(text)), -ENOENT);
    hd_topo_destroy(topo);
}

static struct hd_topo_device find(hd_topo *topo, const char *choice)
{
    struct hd_topo_device device;
    assert_int_equal(hd_topo_device_find(topo, choice, &device), 0);
    return device;
}

static void devices_are_found_by_name_number_and_locality(void **state)
{
    (void)state;
    hd_topo *topo = load("power9", NULL);
    assert_int_equal(find(topo, "mlx5_2").socket, 1);
    assert_string_equal(find(topo, "mlx5_2").pci, "0033:01:00.0");
    assert_string_equal(find(topo, "3").name, "mlx5_3");
    assert_true(find(topo, "mlx5_0").down);
    assert_string_equal(find(topo, "auto").name, "mlx5_1"); /* mlx5_0 has no active port */
    assert_string_equal(find(topo, NULL).name, "mlx5_1");
    struct hd_topo_device device;
    assert_int_equal(hd_topo_device_find(topo, "mlx5", &device), -ENODEV);
    assert_says("mlx5_0, mlx5_1, mlx5_2, mlx5_3");
    assert_int_equal(hd_topo_device_find(topo, "4", &device), -ENODEV);
    assert_int_equal(hd_topo_device_at(topo, 4, &device), -ENODEV);
    hd_topo_destroy(topo);

    topo = load("power9", "0-3,88-175"); /* most of what we may use is on socket 1 */
    assert_string_equal(find(topo, "auto").name, "mlx5_2");
    assert_int_equal(find(topo, "auto").allowed, 88);
    hd_topo_destroy(topo);
}

static void locality_is_a_socket_or_unknown(void **state)
{
    (void)state;
    hd_topo *topo = load("x86-split", NULL); /* attached to half a socket: the policies speak of sockets */
    assert_int_equal(find(topo, "auto").socket, 1);
    assert_int_equal(find(topo, "auto").allowed, 16);
    hd_topo_destroy(topo);
    topo = load("x86-nowhere", NULL);
    assert_int_equal(find(topo, "auto").socket, -1);
    assert_int_equal(find(topo, "auto").sockets, 0);
    hd_topo_destroy(topo);
    topo = load("vm", NULL); /* the machine is the socket */
    assert_int_equal(find(topo, "auto").socket, 0);
    hd_topo_destroy(topo);
    topo = load("x86-none", NULL);
    struct hd_topo_device device;
    assert_int_equal(hd_topo_device_find(topo, "auto", &device), -ENODEV);
    assert_says("no RDMA device");
    assert_int_equal(hd_topo_device_find(topo, "mlx5_0", &device), -ENODEV);
    assert_says("it has: none");
    hd_topo_destroy(topo);
}

static void what_a_batch_job_may_use_is_kept_apart(void **state)
{
    (void)state;
    hd_topo *topo = load("power8-job-part", NULL);
    struct hd_topo_summary s;
    char text[64];
    hd_topo_summarize(topo, &s);
    assert_int_equal(s.pus, 160);
    assert_int_equal(s.allowed, 20);
    assert_true(hd_topo_cpus(topo, -1, true, text, sizeof(text)) > 0);
    assert_string_equal(text, "8-19,152-159");
    assert_int_equal(hd_topo_cpus(topo, -1, true, text, 4), -ENOSPC);
    hd_topo_destroy(topo);
    topo = load("power8-job-part", "0-9,155");
    assert_true(hd_topo_cpus(topo, -1, true, text, sizeof(text)) > 0);
    assert_string_equal(text, "8-9,155");
    hd_topo_destroy(topo);
}

static int try_load(const char *xml, const char *cpus)
{
    hd_topo *topo = NULL;
    struct hd_topo_params params = {.size = sizeof(params), .xml = xml, .cpus = cpus};
    int err = hd_topo_load(&params, &topo);
    if (err)
        assert_null(topo);
    hd_topo_destroy(topo);
    return err;
}

static void bad_input_is_refused_with_its_cause(void **state)
{
    (void)state;
    assert_int_equal(try_load(HD_TOPOLOGIES "/missing.xml", NULL), -ENOENT);
    assert_says("missing.xml: No such file");
    assert_int_equal(try_load("/dev/null", NULL), -EINVAL);
    assert_int_equal(try_load(HD_TOPOLOGIES "/../CTestTestfile.cmake", NULL), -EINVAL);
    assert_int_equal(try_load(HD_TOPOLOGIES "/huge.xml", NULL), -E2BIG);
    assert_int_equal(try_load(HD_TOPOLOGIES "/power8.xml", "1-"), -EINVAL);
    assert_int_equal(try_load(HD_TOPOLOGIES "/power8.xml", "160-170"), -EXDEV);
    assert_says("160-170");
    assert_int_equal(try_load(HD_TOPOLOGIES "/power8.xml", ""), 0);
}

static void hwlocs_own_variable_works(void **state)
{
    (void)state;
    setenv("HWLOC_XMLFILE", HD_TOPOLOGIES "/power8.xml", 1);
    hd_topo *topo = NULL;
    assert_int_equal(hd_topo_load(NULL, &topo), 0);
    unsetenv("HWLOC_XMLFILE");
    struct hd_topo_summary s;
    hd_topo_summarize(topo, &s);
    assert_int_equal(s.pus, 160);
    assert_false(s.this_system);
    assert_string_equal(s.source, HD_TOPOLOGIES "/power8.xml");
    hd_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_have_their_shape),
        cmocka_unit_test(details_are_asked_for),
        cmocka_unit_test(sparse_numbers_are_kept),
        cmocka_unit_test(devices_are_found_by_name_number_and_locality),
        cmocka_unit_test(locality_is_a_socket_or_unknown),
        cmocka_unit_test(what_a_batch_job_may_use_is_kept_apart),
        cmocka_unit_test(bad_input_is_refused_with_its_cause),
        cmocka_unit_test(hwlocs_own_variable_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
