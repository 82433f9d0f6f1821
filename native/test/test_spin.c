/* SPDX-License-Identifier: Apache-2.0 */

/* When a waiting thread spins, and for how long: the policy alone, with the clock and the machine left out. */

#include "core/context.h"
#include "core/spin.h"
#include "support.h"

#define SPIN 20000

static hd_engine *engine_with(const char *spin)
{
    return test_engine((const char *const[]){spin, "poll.spinners=1", NULL});
}

static int64_t begin(hd_engine *engine, struct hd_spin *spin)
{
    int64_t time = hd_spin_begin(engine, spin);
    if (time)
        hd_spin_end(engine);
    return time;
}

/* How many waits go by before it spins again. */
static int pause_of(hd_engine *engine, struct hd_spin *spin, unsigned looks)
{
    int waits = 0;
    for (; hd_spin_looks(engine, spin) == looks && begin(engine, spin) == 0; waits++)
        assert_true(waits < 1000);
    return waits;
}

static void futile_spinning_pauses_longer_and_longer(void **state)
{
    (void)state;
    hd_engine *engine = engine_with("poll.spin=20us");
    struct hd_spin spin = {0};
    assert_int_equal(begin(engine, &spin), SPIN);
    hd_spin_missed(&spin, true);
    assert_int_equal(begin(engine, &spin), SPIN); /* once is chance */
    static const int pauses[] = {8, 16, 32, 64, 64};
    for (size_t i = 0; i < HD_COUNT(pauses); i++) {
        hd_spin_missed(&spin, true);
        assert_int_equal(pause_of(engine, &spin, 0), pauses[i]);
        assert_int_equal(begin(engine, &spin), SPIN);
    }
    hd_spin_learn_hit(&spin);
    hd_spin_missed(&spin, true);
    assert_int_equal(begin(engine, &spin), SPIN); /* all is forgotten */
    hd_engine_destroy(engine);
}

static void a_peer_that_may_only_be_asleep_is_waited_out_soon(void **state)
{
    (void)state;
    hd_engine *engine = engine_with("poll.spin=20us");
    struct hd_spin spin = {0};
    unsigned usual = hd_spin_looks(engine, &spin);
    hd_spin_missed(&spin, false);
    hd_spin_missed(&spin, false);
    unsigned longer = hd_spin_looks(engine, &spin);
    assert_true(longer > usual);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pause_of(engine, &spin, longer), 4);
        assert_int_equal(begin(engine, &spin), 10 * SPIN);
        hd_spin_missed(&spin, false); /* it is no worse the third time */
    }
    assert_true(hd_spin_looks(engine, &spin) == longer);
    hd_spin_hit(&spin); /* while it paused */
    assert_int_equal(hd_spin_looks(engine, &spin), usual);
    assert_int_equal(begin(engine, &spin), SPIN);
    hd_engine_destroy(engine);
}

static void a_peer_that_needs_as_long_is_waited_for(void **state)
{
    (void)state;
    hd_engine *engine = engine_with("poll.spin=20us");
    struct hd_spin spin = {0};
    hd_spin_came(engine, &spin, SPIN / 2);
    assert_int_equal(begin(engine, &spin), SPIN);
    for (int i = 0; i < 3; i++) {
        hd_spin_came(engine, &spin, 5 * SPIN);
        assert_int_equal(begin(engine, &spin), 10 * SPIN);
    }
    hd_spin_came(engine, &spin, SPIN / 2); /* a short one does not change it */
    assert_int_equal(begin(engine, &spin), 10 * SPIN);
    hd_spin_learn_wait(engine, &spin, 2000000); /* a long one does */
    assert_int_equal(begin(engine, &spin), SPIN);
    hd_spin_came(engine, &spin, 5 * SPIN);
    hd_spin_missed(&spin, true); /* and so does a miss */
    assert_int_equal(begin(engine, &spin), SPIN);
    hd_engine_destroy(engine);
}

static void only_so_many_spin(void **state)
{
    (void)state;
    hd_engine *engine = engine_with("poll.spin=20us");
    struct hd_spin a = {0}, b = {0};
    assert_int_equal(hd_spin_begin(engine, &a), SPIN);
    assert_int_equal(hd_spin_begin(engine, &b), 0);
    hd_spin_end(engine);
    assert_int_equal(hd_spin_begin(engine, &b), SPIN);
    hd_spin_end(engine);
    hd_engine_destroy(engine);
}

static void a_wait_too_long_for_spinning_is_futile(void **state)
{
    (void)state;
    hd_engine *engine = engine_with("poll.spin=20us");
    struct hd_spin spin = {0};
    hd_spin_learn_miss(engine, &spin, 11 * SPIN);
    hd_spin_learn_miss(engine, &spin, HD_FOREVER);
    assert_int_equal(pause_of(engine, &spin, 0), 8);
    hd_engine_destroy(engine);
}

static void without_time_nothing_spins(void **state)
{
    (void)state;
    hd_engine *engine = engine_with("poll.spin=0");
    struct hd_spin spin = {0};
    assert_int_equal(hd_spin_looks(engine, &spin), 0);
    assert_int_equal(begin(engine, &spin), 0);
    hd_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(futile_spinning_pauses_longer_and_longer),
        cmocka_unit_test(a_peer_that_may_only_be_asleep_is_waited_out_soon),
        cmocka_unit_test(a_peer_that_needs_as_long_is_waited_for),
        cmocka_unit_test(only_so_many_spin),
        cmocka_unit_test(a_wait_too_long_for_spinning_is_futile),
        cmocka_unit_test(without_time_nothing_spins),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
