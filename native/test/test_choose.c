/* SPDX-License-Identifier: Apache-2.0 */

/* What hd-tune concludes from figures: made-up ones, so that it does not depend on a machine. */

#include "support.h"

#include "tune/tune.h"

static struct tune_samples samples(const double *values, int count)
{
    struct tune_samples s = {.count = count};
    memcpy(s.value, values, (size_t)count * sizeof(*values));
    return s;
}

#define SAMPLES(...)                                                                                                   \
    samples((const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void near(double value, double expected)
{
    if (value < expected - 1e-9 || value > expected + 1e-9)
        fail_msg("%g is not %g", value, expected);
}

static void medians_and_spreads(void **state)
{
    (void)state;
    struct tune_samples s = SAMPLES(5, 1, 3);
    near(tune_median(&s), 3);
    near(tune_spread(&s), 2);
    s = SAMPLES(10, 20, 30, 40);
    near(tune_median(&s), 25);
    near(tune_spread(&s), 15);
    s = SAMPLES(7);
    near(tune_median(&s), 7);
    near(tune_spread(&s), 0);
    s = SAMPLES(1, 1, 1, 1, 1000); /* one disturbed round says nothing */
    near(tune_median(&s), 1);
    near(tune_spread(&s), 0);
}

static void better_means_beyond_the_spread(void **state)
{
    (void)state;
    struct tune_samples holder = SAMPLES(100, 101, 102, 103, 104);
    struct tune_samples clear = SAMPLES(90, 91, 92, 93, 94), wild = SAMPLES(60, 80, 92, 104, 140);
    struct tune_samples slight = SAMPLES(101, 101, 101, 101, 101), same = holder;
    assert_true(tune_better(&clear, &holder));
    assert_false(tune_better(&wild, &holder)); /* as good a median, but who knows */
    assert_false(tune_better(&holder, &wild));
    assert_false(tune_better(&same, &holder));
    assert_false(tune_better(&slight, &holder)); /* one percent is not worth a profile */
    struct tune_samples steady = SAMPLES(102, 102, 102);
    assert_false(tune_better(&slight, &steady));
    assert_false(tune_better(&holder, &clear));
}

static void the_holder_stays_unless_beaten(void **state)
{
    (void)state;
    struct tune_samples all[] = {SAMPLES(100, 101, 102), SAMPLES(99, 100, 101), SAMPLES(80, 81, 82),
                                 SAMPLES(85, 86, 87), SAMPLES(40, 79, 180)};
    assert_int_equal(tune_choose(all, 1, 0), 0);
    assert_int_equal(tune_choose(all, 2, 0), 0);
    assert_int_equal(tune_choose(all, 3, 0), 2);
    assert_int_equal(tune_choose(all, 4, 0), 2);
    assert_int_equal(tune_choose(all, 4, 3), 2);
    assert_int_equal(tune_choose(all, 5, 0), 0); /* the best median is too wild to be believed */
    assert_int_equal(tune_choose(all, 4, 2), 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_spreads),
        cmocka_unit_test(better_means_beyond_the_spread),
        cmocka_unit_test(the_holder_stays_unless_beaten),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
