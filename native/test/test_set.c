/* SPDX-License-Identifier: Apache-2.0 */

/* Options that change while the engine lives. */

#include <errno.h>

#include "support.h"

#define KEY(name) "hadoop.rdma." name

static void the_memory_limit_can_be_raised(void **state)
{
    (void)state;
    hd_engine *engine = test_engine((const char *const[]){"memory.limit=4m", "memory.slab.size=1m", NULL});
    hd_buf *buf;
    assert_int_equal(hd_buf_alloc(engine, 8 << 20, &buf), -ENOBUFS);
    assert_ok(hd_engine_set(engine, KEY("memory.limit"), "64m", "test"));
    assert_int_equal(counter(engine, "memory.limit"), 64 << 20);
    assert_ok(hd_buf_alloc(engine, 8 << 20, &buf));
    assert_int_equal(hd_engine_set(engine, KEY("memory.limit"), "4m", "test"), -EOPNOTSUPP);
    assert_non_null(strstr(hd_last_error(), KEY("memory.limit") "=4m (from test)"));
    assert_int_equal(counter(engine, "memory.limit"), 64 << 20);
    hd_buf_unref(buf);
    hd_engine_destroy(engine);
}

static void remote_access_can_be_switched_off(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    assert_ok(hd_engine_set(engine, KEY("verbs.remote.access"), "false", "test"));
    assert_ok(hd_engine_set(engine, KEY("udapl.remote.access"), "false", "test"));
    assert_ok(hd_engine_set(engine, KEY("log.level"), "debug", "test"));
    hd_engine_destroy(engine);
}

static void everything_else_is_refused_by_name(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    assert_int_equal(hd_engine_set(engine, KEY("chunk.size"), "64k", "site.xml"), -EOPNOTSUPP);
    assert_non_null(strstr(hd_last_error(), KEY("chunk.size") "=64k (from site.xml)"));
    assert_int_equal(hd_engine_set(engine, KEY("memory.limit"), "much", "site.xml"), -EINVAL);
    assert_int_equal(hd_engine_set(engine, KEY("memory.limits"), "64m", "site.xml"), -ENOENT);
    hd_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_limit_can_be_raised),
        cmocka_unit_test(remote_access_can_be_switched_off),
        cmocka_unit_test(everything_else_is_refused_by_name),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
