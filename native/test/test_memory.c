/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/context.h"
#include "support.h"

static void size_classes_waste_little(void **state)
{
    (void)state;
    int last = 0;
    for (size_t size = 1; size <= HD_SMALL_MAX; size++) {
        int size_class = hd_class_of(size);
        assert_in_range(size_class, last, last + 1);
        assert_true(hd_class_size(size_class) >= size);
        assert_true(size <= HD_CLASS_MIN || hd_class_size(size_class) <= size + size / 4 + 1);
        assert_true(size_class == 0 || hd_class_size(size_class - 1) < size);
        last = size_class;
    }
    assert_in_range(last, 1, HD_CLASS_COUNT - 1);
}

static void buffers_do_not_overlap_and_come_back(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static hd_buf *bufs[COUNT];
    const char *const options[] = {"memory.slab.size=1m", "memory.limit=256m", NULL};
    hd_engine *engine = test_engine(options);
    uint64_t random = 7;
    int rounds = test_rounds(30000);
    for (int round = 0; round < rounds; round++) {
        int i = (int)(hd_random_next(&random) % COUNT);
        if (bufs[i]) {
            assert_true(filled(hd_buf_data(bufs[i]), hd_buf_length(bufs[i]), (uint64_t)i));
            hd_buf_unref(bufs[i]);
            bufs[i] = NULL;
        } else {
            size_t size = (size_t)(hd_random_next(&random) % (round % 100 == 0 ? 3000000 : 3000)) + 1;
            assert_ok(hd_buf_alloc(engine, size, &bufs[i]));
            assert_int_equal(hd_buf_length(bufs[i]), size);
            assert_int_equal((uintptr_t)hd_buf_data(bufs[i]) % 64, 0);
            fill(hd_buf_data(bufs[i]), size, (uint64_t)i);
        }
    }
    for (int i = 0; i < COUNT; i++)
        hd_buf_unref(bufs[i]);
    assert_int_equal(counter(engine, "memory.used.now"), 0);
    uint64_t pinned = counter(engine, "memory.pinned.now");
    hd_buf *whole; /* what was given back in pieces can be had in one */
    assert_ok(hd_buf_alloc(engine, 1 << 20, &whole));
    assert_int_equal(counter(engine, "memory.pinned.now"), pinned);
    hd_buf_unref(whole);
    hd_engine_destroy(engine);
}

static void the_limit_is_hard(void **state)
{
    (void)state;
    const char *const options[] = {"memory.slab.size=1m", "memory.limit=4m", NULL};
    hd_engine *engine = test_engine(options);
    hd_buf *bufs[5];
    for (int i = 0; i < 4; i++)
        assert_ok(hd_buf_alloc(engine, 1 << 20, &bufs[i]));
    assert_int_equal(hd_buf_alloc(engine, 1, &bufs[4]), -ENOBUFS);
    assert_int_equal(hd_buf_alloc(engine, 1 << 20, &bufs[4]), -ENOBUFS);
    assert_non_null(strstr(hd_last_error(), "memory.limit"));
    assert_int_equal(hd_buf_alloc(engine, 100 << 20, &bufs[4]), -ENOBUFS);
    assert_int_equal(hd_buf_alloc(engine, 0, &bufs[4]), -EINVAL);
    assert_int_equal(counter(engine, "memory.pinned.now"), 4 << 20);
    assert_int_equal(counter(engine, "memory.pinned.peak"), 4 << 20);
    assert_int_equal(counter(engine, "memory.limit"), 4 << 20);
    assert_int_equal(counter(engine, "memory.refused"), 3);
    hd_buf_unref(bufs[3]);
    assert_ok(hd_buf_alloc(engine, 1000, &bufs[3]));
    for (int i = 0; i < 4; i++)
        hd_buf_unref(bufs[i]);
    hd_engine_destroy(engine);
}

static void a_large_buffer_has_a_slab_of_its_own(void **state)
{
    (void)state;
    const char *const options[] = {"memory.slab.size=1m", NULL};
    hd_engine *engine = test_engine(options);
    hd_buf *buf;
    assert_ok(hd_buf_alloc(engine, 50000000, &buf));
    fill(hd_buf_data(buf), 50000000, 1);
    assert_true(counter(engine, "memory.pinned.now") >= 50000000);
    hd_buf_unref(buf);
    assert_int_equal(counter(engine, "memory.pinned.now"), 0);
    assert_true(counter(engine, "memory.pinned.peak") >= 50000000);
    hd_engine_destroy(engine);
}

static void buffers_outlive_their_engine(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    hd_buf *buf;
    assert_ok(hd_buf_alloc(engine, 100000, &buf));
    hd_engine_destroy(engine);
    fill(hd_buf_data(buf), 100000, 1);
    assert_true(filled(hd_buf_data(buf), 100000, 1));
    hd_buf_unref(buf);
}

static void references_and_lengths(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    hd_buf *buf;
    assert_ok(hd_buf_alloc(engine, 1000, &buf));
    assert_true(hd_buf_capacity(buf) >= 1000);
    assert_ok(hd_buf_set_length(buf, 10));
    assert_int_equal(hd_buf_length(buf), 10);
    assert_int_equal(hd_buf_set_length(buf, hd_buf_capacity(buf) + 1), -EINVAL);
    hd_buf_ref(buf);
    hd_buf_unref(buf);
    memset(hd_buf_data(buf), 1, 1000);
    hd_buf_unref(buf);
    hd_buf_unref(NULL);
    assert_int_equal(counter(engine, "memory.used.now"), 0);
    hd_engine_destroy(engine);
}

static void what_is_freed_stays_warm_while_there_are_links(void **state)
{
    (void)state;
    hd_engine *engine = test_engine((const char *const[]){"memory.slab.size=1m", "memory.limit=4m", NULL});
    hd_buf *first, *second, *all[20];
    hd_arena_warm(engine->arena, true);
    int put_away = 0; /* by the communication thread, which looks around when it starts, and sleeps after that */
    for (int i = 0; i < 100; i++) {
        assert_ok(hd_buf_alloc(engine, 100, &first));
        assert_ok(hd_buf_alloc(engine, 100, &second));
        assert_ptr_not_equal(hd_buf_data(first), hd_buf_data(second));
        void *last = hd_buf_data(second);
        hd_buf_unref(second);
        assert_ok(hd_buf_alloc(engine, 200, &second)); /* the same class */
        put_away += hd_buf_data(second) != last;
        hd_buf_unref(first);
        hd_buf_unref(second);
        await_counter(engine, "memory.used.now", 0); /* that thread may have one in its hands */
    }
    assert_in_range(put_away, 0, 1);
    /* When memory is short, what is warm counts as free. */
    assert_ok(hd_buf_alloc(engine, 100, &first));
    hd_buf_unref(first);
    int count = 0;
    while (count < 20 && hd_buf_alloc(engine, 256 * 1024, &all[count]) == 0)
        count++;
    assert_int_equal(count, 15); /* the span stays, empty */
    while (count)
        hd_buf_unref(all[--count]);
    /* Without links nothing does, whoever is late. */
    assert_ok(hd_buf_alloc(engine, 100, &first));
    assert_ok(hd_buf_alloc(engine, 100, &second));
    hd_buf_unref(first);
    hd_arena_warm(engine->arena, false);
    hd_buf_unref(second);
    assert_int_equal(atomic_load(&engine->stats->now->memory_used), 0);
    hd_engine_destroy(engine);
}

static void *churn(void *arg)
{
    hd_buf *bufs[16] = {NULL};
    int rounds = test_rounds(20000);
    for (int i = 0; i < rounds; i++) {
        hd_buf_unref(bufs[i % 16]);
        if (hd_buf_alloc(arg, (size_t)(i * 37 % 5000) + 1, &bufs[i % 16]))
            return (void *)1;
    }
    for (int i = 0; i < 16; i++)
        hd_buf_unref(bufs[i]);
    return NULL;
}

static void threads_share_an_arena(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, engine);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(counter(engine, "memory.used.now"), 0);
    hd_engine_destroy(engine);
}

static void sizes_are_predicted_from_history(void **state)
{
    (void)state;
    hd_engine *engine = test_engine(NULL);
    assert_int_equal(hd_size_predict(engine, 1, 512), 512);
    hd_size_record(engine, 1, 1000);
    hd_size_record(engine, 2, 5);
    assert_int_equal(hd_size_predict(engine, 1, 512), 1000);
    for (int i = 0; i < 100; i++)
        hd_size_record(engine, 1, 100);
    assert_in_range(hd_size_predict(engine, 1, 512), 100, 120);
    hd_size_record(engine, 1, 5000); /* up at once */
    assert_int_equal(hd_size_predict(engine, 1, 512), 5000);
    for (uint64_t kind = 10; kind < 50000; kind++)
        hd_size_record(engine, kind, kind); /* more kinds than slots */
    assert_int_equal(hd_size_predict(engine, 49999, 1), 49999);
    hd_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_classes_waste_little),
        cmocka_unit_test(buffers_do_not_overlap_and_come_back),
        cmocka_unit_test(the_limit_is_hard),
        cmocka_unit_test(a_large_buffer_has_a_slab_of_its_own),
        cmocka_unit_test(buffers_outlive_their_engine),
        cmocka_unit_test(references_and_lengths),
        cmocka_unit_test(what_is_freed_stays_warm_while_there_are_links),
        cmocka_unit_test(threads_share_an_arena),
        cmocka_unit_test(sizes_are_predicted_from_history),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
