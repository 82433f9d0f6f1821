/* SPDX-License-Identifier: Apache-2.0 */

/* Memory on whole pages, whatever their size. HOWDAH_TEST_PAGE names the size that the run is meant to have, so that a
 * run with faked pages fails if the fake does not work. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory.h"
#include "support.h"

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void the_page_size_is_the_one_asked_for(void **state)
{
    (void)state;
    const char *wanted = getenv("HOWDAH_TEST_PAGE");
    if (wanted)
        assert_int_equal(page_size(), strtoul(wanted, NULL, 10));
    assert_int_equal(getpagesize(), page_size());
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(4 * page_size())), 0);
    assert_ptr_equal(mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, (off_t)(page_size() / 2)), MAP_FAILED);
    assert_int_equal(errno, EINVAL);
    void *at = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, (off_t)page_size());
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal((uintptr_t)at % page_size(), 0);
    assert_int_equal(munmap(at, page_size()), 0);
    close(fd);
}

static void expect_whole_pages(const hd_buf *buf)
{
    assert_int_equal((uintptr_t)buf->slab->base % page_size(), 0);
    assert_int_equal(buf->slab->size % page_size(), 0);
    if (buf->size_class < 0) { /* a buffer of its own begins and ends with a page */
        assert_int_equal((uintptr_t)buf->base % page_size(), 0);
        assert_int_equal(buf->capacity % page_size(), 0);
    }
}

static void slabs_and_large_buffers_are_whole_pages(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 48 * 1024, 48 * 1024 + 1, 65536, 65537, 1000001, 1 << 20, (1 << 20) + 1};
    hd_engine *engine = test_engine((const char *const[]){"memory.slab.size=1100000", NULL});
    for (size_t i = 0; i < HD_COUNT(sizes); i++) {
        hd_buf *buf;
        assert_ok(hd_buf_alloc(engine, sizes[i], &buf));
        expect_whole_pages(buf);
        fill(hd_buf_data(buf), sizes[i], i);
        assert_true(filled(hd_buf_data(buf), sizes[i], i));
        hd_buf_unref(buf);
    }
    hd_engine_destroy(engine);
}

static void memory_for_adapters_is_whole_pages(void **state)
{
    (void)state;
    for (size_t size = 1; size < 4 * page_size(); size = size * 3 + 1) {
        char *memory = hd_alloc_pages(size), *next = hd_alloc_pages(size);
        assert_non_null(memory);
        assert_non_null(next);
        assert_int_equal((uintptr_t)memory % page_size(), 0);
        size_t apart = next > memory ? (size_t)(next - memory) : (size_t)(memory - next);
        assert_true(apart >= hd_align(size, page_size()));
        memset(memory, 1, hd_align(size, page_size())); /* all of its last page belongs to it */
        free(memory);
        free(next);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_size_is_the_one_asked_for),
        cmocka_unit_test(slabs_and_large_buffers_are_whole_pages),
        cmocka_unit_test(memory_for_adapters_is_whole_pages),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
