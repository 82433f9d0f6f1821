/* SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

static void texts_are_read_and_printed(void **state)
{
    static const struct {
        const char *text, *printed;
        enum hd_policy_kind kind;
        unsigned n;
    } rows[] = {
        {"auto", "auto", HD_POLICY_AUTO, 0},
        {"none", "none", HD_POLICY_NONE, 0},
        {"O2ACS", "o2acs", HD_POLICY_O2ACS, 0},
        {"o2ocs", "o2ocs", HD_POLICY_O2OCS, 0},
        {"o2occ", "o2occ", HD_POLICY_O2OCC, 0},
        {"o2nts:6", "o2nts:6", HD_POLICY_O2NTS, 6},
        {"O2NTC(16)", "o2ntc:16", HD_POLICY_O2NTC, 16},
        {"o2ntc:4096", "o2ntc:4096", HD_POLICY_O2NTC, 4096},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hd_policy policy;
        char text[16];
        assert_int_equal(hd_policy_parse(rows[i].text, &policy), 0);
        assert_int_equal(policy.kind, rows[i].kind);
        assert_int_equal(policy.n, rows[i].n);
        assert_int_equal(hd_policy_print(&policy, text, sizeof(text)), strlen(rows[i].printed));
        assert_string_equal(text, rows[i].printed);
    }
}

static void other_texts_are_refused(void **state)
{
    static const struct {
        const char *text;
        int err;
        const char *says;
    } rows[] = {
        {"", -EINVAL, "none of auto"},
        {"o2", -EINVAL, "none of auto"},
        {"close", -EINVAL, "\"close\""},
        {"o2acs:8", -EINVAL, "none of auto"},
        {"none ", -EINVAL, "none of auto"},
        {"o2nts", -EINVAL, "o2nts:N"},
        {"o2nts:", -EINVAL, "o2nts:N"},
        {"o2nts:-1", -EINVAL, "o2nts:N"},
        {"o2nts: 4", -EINVAL, "o2nts:N"},
        {"o2nts:4)", -EINVAL, "o2nts:N"},
        {"o2nts(4", -EINVAL, "o2nts:N"},
        {"o2ntc:8x", -EINVAL, "o2ntc:N"},
        {"o2ntc:0", -ERANGE, "1 .. 4096"},
        {"o2ntc:4097", -ERANGE, "1 .. 4096"},
        {"o2ntc:99999999999999999999", -ERANGE, "1 .. 4096"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hd_policy policy = {.kind = HD_POLICY_O2OCC, .n = 77};
        assert_int_equal(hd_policy_parse(rows[i].text, &policy), rows[i].err);
        assert_says(rows[i].says);
        assert_int_equal(policy.n, 77);
    }
}

static void a_policy_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    struct hd_policy policy = {.kind = HD_POLICY_O2NTS, .n = 16};
    char text[8];
    assert_int_equal(hd_policy_print(&policy, text, sizeof(text)), -ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_and_printed),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_policy_that_does_not_fit_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
