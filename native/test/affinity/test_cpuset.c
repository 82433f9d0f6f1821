/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include "cpuset.h"

static void assert_reads(const char *text, const char *printed)
{
    struct hd_cpuset set;
    char out[64];
    assert_int_equal(hd_cpuset_parse(text, &set), 0);
    assert_int_equal(hd_cpuset_print(&set, out, sizeof(out)), strlen(printed));
    assert_string_equal(out, printed);
}

static void lists_are_read_and_printed(void **state)
{
    (void)state;
    assert_reads("0", "0");
    assert_reads("0-7,16", "0-7,16");
    assert_reads(" 3 , 1-2\n", "1-3");
    assert_reads("63-64,4095", "63-64,4095");
}

static void other_texts_are_refused(void **state)
{
    static const char *const bad[] = {"", " ", "a", "1,", ",1", "1-", "-1", "+1", "3-1", "1 2", "0x3", "1--2"};
    struct hd_cpuset set = {0}, untouched = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(hd_cpuset_parse(bad[i], &set), -EINVAL);
    assert_int_equal(hd_cpuset_parse("4096", &set), -ERANGE);
    assert_int_equal(hd_cpuset_parse("99999999999999999999", &set), -ERANGE);
    assert_true(hd_cpuset_equal(&set, &untouched));
}

static void a_list_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    struct hd_cpuset set;
    char text[8];
    assert_int_equal(hd_cpuset_parse("1,3,5", &set), 0);
    assert_int_equal(hd_cpuset_print(&set, text, 6), 5);
    assert_int_equal(hd_cpuset_print(&set, text, 5), -ENOSPC);
    assert_int_equal(hd_cpuset_print(&set, text, 0), -ENOSPC);
}

/* The largest list there can be: every other processor. */
static void the_longest_list_fits_into_16_kb(void **state)
{
    (void)state;
    struct hd_cpuset set = {0}, again;
    static char text[16384];
    for (unsigned cpu = 0; cpu < HD_CPU_MAX; cpu += 2)
        hd_cpuset_add(&set, cpu);
    assert_true(hd_cpuset_print(&set, text, sizeof(text)) > 0);
    assert_int_equal(hd_cpuset_parse(text, &again), 0);
    assert_true(hd_cpuset_equal(&set, &again));
    assert_int_equal(hd_cpuset_count(&again), HD_CPU_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_printed),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_list_that_does_not_fit_is_an_error),
        cmocka_unit_test(the_longest_list_fits_into_16_kb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
