/* SPDX-License-Identifier: Apache-2.0 */

/* Memory of the program's, registered, over any transport. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define ROOM ((size_t)6 << 20)
#define ODD  13 /* ranges begin anywhere */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static char *map_pages(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static hd_buf *enter(hd_engine *engine, void *address, size_t length)
{
    hd_buf *buf;
    assert_ok(hd_buf_register(engine, address, length, &buf));
    assert_ptr_equal(hd_buf_data(buf), address);
    assert_int_equal(hd_buf_length(buf), length);
    assert_int_equal(hd_buf_capacity(buf), length);
    return buf;
}

/* Gives the memory back to the system, too: whoever still used it would fault. */
static void leave(hd_buf *buf, void *memory, size_t length)
{
    assert_ok(hd_buf_deregister(buf, PATIENCE));
    assert_int_equal(munmap(memory, length), 0);
    hd_buf_unref(buf);
}

/* Registers the same once more: before that, whoever read it has ended, and not only at the other end of the link. */
static void renew(hd_engine *engine, hd_buf **buf)
{
    void *address = hd_buf_data(*buf);
    size_t length = hd_buf_capacity(*buf);
    assert_ok(hd_buf_deregister(*buf, PATIENCE));
    hd_buf_unref(*buf);
    *buf = enter(engine, address, length);
}

/* ---- messages ---- */

static void messages_by(enum hd_protocol protocol)
{
    static const size_t sizes[] = {0, 1, 64, 4096, 16384, 16385, 100000, 524289, 3000000};
    struct pair pair;
    hd_stream *client, *server;
    struct hd_stream_params params = {.size = sizeof(params), .protocol = protocol};
    pair_open(&pair, NULL);
    pair_stream(&pair, &params, &client, &server);
    char *memory = map_pages(ROOM);
    hd_buf *buf = enter(pair.a, memory + ODD, ROOM - ODD);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t offset = i * 1001;
        fill(memory + ODD + offset, sizes[i], i);
        assert_ok(hd_send_buf(client, buf, offset, sizes[i], PATIENCE));
        recv_filled(server, sizes[i], i);
        renew(pair.a, &buf);
    }
    hd_stream_close(client);
    hd_stream_close(server);
    leave(buf, memory, ROOM);
    if (protocol != HD_PROTOCOL_COPY)
        assert_int_equal(counter(pair.a, "messages.copy"), 0);
    pair_close(&pair);
}

static void messages_of_all_sizes(void **state)
{
    (void)state;
    messages_by(HD_PROTOCOL_DEFAULT);
    messages_by(HD_PROTOCOL_READ);
    messages_by(HD_PROTOCOL_WRITE);
    messages_by(HD_PROTOCOL_COPY);
}

static void the_end_of_a_send_is_told(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_queue *queue;
    pair_open(&pair, NULL);
    assert_ok(hd_queue_create(pair.a, &queue));
    struct hd_stream_params params = {.size = sizeof(params), .queue = queue};
    pair_stream(&pair, &params, &client, &server);
    char *memory = map_pages(ROOM);
    hd_buf *buf = enter(pair.a, memory, ROOM);
    fill(memory, 2000000, 1);
    assert_ok(hd_send_buf_event(client, buf, 0, 2000000, 7, PATIENCE));
    recv_filled(server, 2000000, 1);
    struct hd_event event = next_event(queue, HD_EVENT_SENT);
    assert_int_equal(event.user, 7);
    assert_int_equal(event.status, 0);
    hd_stream_close(client);
    hd_stream_close(server);
    leave(buf, memory, ROOM);
    hd_queue_destroy(queue);
    pair_close(&pair);
}

/* ---- fetches ---- */

struct fetching {
    struct pair pair;
    hd_queue *asked, *done;
    char *here, *there;
    hd_buf *into, *from;
};

static void begin(struct fetching *f)
{
    pair_open(&f->pair, NULL);
    assert_ok(hd_queue_create(f->pair.b, &f->asked));
    assert_ok(hd_queue_create(f->pair.a, &f->done));
    assert_ok(hd_engine_listen(f->pair.b, "blocks", f->asked, 0));
    f->here = map_pages(ROOM);
    f->there = map_pages(ROOM);
    f->into = enter(f->pair.a, f->here, ROOM);
    f->from = enter(f->pair.b, f->there + ODD, ROOM - ODD);
}

static void finish(struct fetching *f)
{
    leave(f->into, f->here, ROOM);
    leave(f->from, f->there, ROOM);
    hd_queue_destroy(f->asked);
    hd_queue_destroy(f->done);
    pair_close(&f->pair);
}

static int ask(struct fetching *f, hd_buf *into, hd_fetch **fetch)
{
    struct hd_fetch_params params = {
        .size = sizeof(params), .name = "x", .name_length = 1, .length = HD_FETCH_ALL, .into = into, .queue = f->done};
    return hd_fetch_start(f->pair.client, "blocks", &params, fetch);
}

static void blocks_go_from_memory_to_memory(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 16385, 600000, 5000000};
    struct fetching f;
    begin(&f);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        hd_buf *part;
        hd_fetch *fetch;
        memset(f.here, 0x55, ROOM);
        fill(f.there + ODD + 500, sizes[i], i);
        assert_ok(hd_buf_slice(f.into, 1000, sizes[i] + 10, &part));
        assert_ok(ask(&f, part, &fetch));
        assert_ok(hd_fetch_reply_buf(next_event(f.asked, HD_EVENT_FETCH).fetch, f.from, 500, sizes[i]));
        assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, 0);
        assert_ptr_equal(hd_fetch_data(fetch), part);
        assert_int_equal(hd_buf_length(part), sizes[i]);
        assert_true(filled(f.here + 1000, sizes[i], i));
        assert_int_equal(f.here[999], 0x55);
        assert_int_equal(f.here[1000 + sizes[i]], 0x55);
        assert_int_equal(hd_buf_deregister(f.into, 0), -EAGAIN);
        hd_fetch_release(fetch);
        assert_int_equal(hd_buf_deregister(f.into, 0), -EAGAIN);
        hd_buf_unref(part);
        renew(f.pair.b, &f.from);
    }
    finish(&f);
}

/* ---- the end ---- */

/* The reader takes nothing, and the second message waits in our memory for the first one. */
static void memory_in_use_stays(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"stream.window=4k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    char *memory = map_pages(ROOM);
    hd_buf *buf = enter(pair.a, memory, ROOM);
    fill(memory, 1000000, 1);
    fill(memory + 1000000, 1000000, 2);
    assert_ok(hd_send_buf(client, buf, 0, 1000000, PATIENCE));
    assert_ok(hd_send_buf(client, buf, 1000000, 1000000, PATIENCE));
    assert_int_equal(hd_buf_deregister(buf, 0), -EAGAIN);
    assert_int_equal(hd_buf_deregister(buf, 20 * MILLI), -ETIMEDOUT);
    assert_non_null(strstr(hd_last_error(), "in use"));
    recv_filled(server, 1000000, 1);
    recv_filled(server, 1000000, 2);
    leave(buf, memory, ROOM);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void a_lost_link_gives_memory_back(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"stream.window=4k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    char *memory = map_pages(ROOM);
    hd_buf *buf = enter(pair.a, memory, ROOM);
    assert_ok(hd_send_buf(client, buf, 0, 1000000, PATIENCE));
    assert_ok(hd_send_buf(client, buf, 1000000, 1000000, PATIENCE));
    assert_int_equal(hd_buf_deregister(buf, 0), -EAGAIN);
    hd_link_close(pair.server);
    leave(buf, memory, ROOM);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void after_the_end_it_is_refused(void **state)
{
    (void)state;
    struct fetching f;
    hd_stream *client, *server;
    hd_fetch *fetch;
    hd_buf *buf, *part;
    begin(&f);
    pair_stream(&f.pair, NULL, &client, &server);
    char *memory = map_pages(ROOM);
    uint64_t before = counter(f.pair.a, "memory.registered.now");
    buf = enter(f.pair.a, memory, ROOM);
    assert_int_equal(counter(f.pair.a, "memory.registered.now"), before + ROOM);
    assert_ok(hd_buf_deregister(buf, 0));
    assert_int_equal(counter(f.pair.a, "memory.registered.now"), before);
    munmap(memory, ROOM);
    assert_int_equal(hd_send_buf(client, buf, 0, 10, PATIENCE), -EINVAL);
    assert_non_null(strstr(hd_last_error(), "deregistered"));
    assert_int_equal(hd_send_buf(client, buf, 0, 1000000, PATIENCE), -EINVAL);
    assert_int_equal(ask(&f, buf, &fetch), -EINVAL);
    assert_int_equal(hd_buf_slice(buf, 0, 1, &part), -EINVAL);
    assert_int_equal(hd_buf_set_length(buf, 1), -EINVAL);
    assert_int_equal(hd_buf_deregister(buf, 0), -EINVAL);
    assert_ok(ask(&f, NULL, &fetch));
    hd_fetch *asked = next_event(f.asked, HD_EVENT_FETCH).fetch;
    assert_int_equal(hd_fetch_reply_buf(asked, buf, 0, 10), -EINVAL);
    assert_ok(hd_fetch_reply_error(asked, -EIO, NULL));
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -EIO);
    hd_fetch_release(fetch);
    hd_buf_unref(buf);
    exchange(client, server, 100000, 1); /* the link is as it was */
    hd_stream_close(client);
    hd_stream_close(server);
    finish(&f);
}

static void other_buffers_are_not_deregistered(void **state)
{
    (void)state;
    hd_engine *engine = test_engine((const char *const[]){"memory.limit=8m", "memory.slab.size=1m", NULL});
    char *memory = map_pages(ROOM);
    hd_buf *buf = enter(engine, memory, ROOM), *part, *ours;
    assert_ok(hd_buf_slice(buf, 10, 20, &part));
    assert_ptr_equal(hd_buf_data(part), memory + 10);
    assert_int_equal(hd_buf_slice(buf, 0, 0, &ours), -EINVAL);
    assert_int_equal(hd_buf_slice(buf, ROOM - 1, 2, &ours), -EINVAL);
    assert_int_equal(hd_buf_slice(part, 1, SIZE_MAX, &ours), -EINVAL);
    assert_int_equal(hd_buf_deregister(part, 0), -EINVAL);
    hd_buf_unref(part);
    assert_ok(hd_buf_alloc(engine, 1000, &ours));
    assert_int_equal(hd_buf_deregister(ours, 0), -EINVAL);
    assert_ok(hd_buf_slice(ours, 100, 200, &part)); /* also of an ordinary one, which it keeps */
    fill(hd_buf_data(part), 200, 1);
    hd_buf_unref(ours);
    assert_int_equal(counter(engine, "memory.used.now") > 0, 1);
    assert_true(filled(hd_buf_data(part), 200, 1));
    hd_buf_unref(part);
    await_counter(engine, "memory.used.now", 0);
    hd_buf_unref(buf); /* deregisters it */
    assert_int_equal(counter(engine, "memory.registered.now"), 0);
    munmap(memory, ROOM);
    hd_engine_destroy(engine);
}

static void it_may_outlive_its_engine(void **state)
{
    (void)state;
    char *memory = map_pages(ROOM);
    for (int how = 0; how < 2; how++) {
        hd_engine *engine = test_engine(NULL);
        hd_buf *buf = enter(engine, memory, ROOM);
        hd_engine_destroy(engine);
        if (how)
            assert_ok(hd_buf_deregister(buf, 0));
        hd_buf_unref(buf);
    }
    munmap(memory, ROOM);
}

/* ---- ranges ---- */

static void what_is_not_there_cannot_be_registered(void **state)
{
    (void)state;
    size_t page = page_size();
    hd_engine *engine = test_engine(NULL);
    char *memory = map_pages(5 * page);
    hd_buf *buf;
    assert_int_equal(hd_buf_register(engine, memory, 0, &buf), -EINVAL);
    assert_int_equal(hd_buf_register(engine, memory, SIZE_MAX, &buf), -EINVAL);
    assert_int_equal(hd_buf_register(engine, memory, SIZE_MAX - (size_t)(uintptr_t)memory, &buf), -EINVAL);
    assert_int_equal(mprotect(memory + page, page, PROT_READ), 0);
    assert_int_equal(munmap(memory + 3 * page, page), 0);
    assert_int_equal(hd_buf_register(engine, memory, page + 1, &buf), -EFAULT); /* read only */
    assert_int_equal(hd_buf_register(engine, memory + page, page, &buf), -EFAULT);
    assert_int_equal(hd_buf_register(engine, memory + 2 * page, 2 * page, &buf), -EFAULT); /* ends in the hole */
    assert_int_equal(hd_buf_register(engine, memory + 2 * page, 3 * page, &buf), -EFAULT); /* has it inside */
    assert_int_equal(hd_buf_register(engine, memory + 3 * page, page, &buf), -EFAULT);     /* is it */
    assert_non_null(strstr(hd_last_error(), "cannot be read and written"));
    assert_int_equal(counter(engine, "memory.registered.now"), 0);
    hd_buf *there[] = {enter(engine, memory, page), enter(engine, memory + 2 * page, page),
                       enter(engine, memory + 4 * page, page)};
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        hd_buf_unref(there[i]);
    munmap(memory, 5 * page);
    hd_engine_destroy(engine);
}

static void ranges_do_not_overlap(void **state)
{
    (void)state;
    size_t page = page_size();
    hd_engine *engine = test_engine((const char *const[]){"memory.slab.size=1m", NULL});
    char *memory = map_pages(4 * page);
    hd_buf *buf, *first = enter(engine, memory + page, page + 1), *next;
    assert_int_equal(counter(engine, "memory.registered.now"), 2 * page); /* whole pages are pinned */
    assert_int_equal(hd_buf_register(engine, memory + page, page + 1, &buf), -EEXIST);
    assert_int_equal(hd_buf_register(engine, memory, 4 * page, &buf), -EEXIST);
    assert_int_equal(hd_buf_register(engine, memory + 2 * page, page, &buf), -EEXIST);
    assert_int_equal(hd_buf_register(engine, memory, page + 1, &buf), -EEXIST);
    assert_non_null(strstr(hd_last_error(), "registered already"));
    next = enter(engine, memory + 2 * page + 1, 10); /* begins where the other one ends */
    assert_ok(hd_buf_deregister(first, 0));
    hd_buf *again = enter(engine, memory, page + 1);
    hd_buf_unref(first);
    hd_buf_unref(next);
    hd_buf_unref(again);
    assert_ok(hd_buf_alloc(engine, 1000, &buf));
    assert_int_equal(hd_buf_register(engine, hd_buf_data(buf), 1000, &next), -EEXIST);
    assert_non_null(strstr(hd_last_error(), "the engine's"));
    hd_buf_unref(buf);
    munmap(memory, 4 * page);
    hd_engine_destroy(engine);
}

static void the_limit_is_one_for_all(void **state)
{
    (void)state;
    hd_engine *engine = test_engine((const char *const[]){"memory.slab.size=1m", "memory.limit=8m", NULL});
    char *memory = map_pages(2 * ROOM);
    hd_buf *buf, *all[9];
    assert_int_equal(hd_buf_register(engine, memory, 2 * ROOM, &buf), -ENOBUFS);
    assert_non_null(strstr(hd_last_error(), "memory.limit"));
    buf = enter(engine, memory, ROOM);
    assert_int_equal(counter(engine, "memory.pinned.now"), ROOM);
    for (int i = 0; i < 2; i++)
        assert_ok(hd_buf_alloc(engine, 1 << 20, &all[i]));
    assert_int_equal(hd_buf_alloc(engine, 1 << 20, &all[2]), -ENOBUFS);
    assert_int_equal(counter(engine, "memory.pinned.peak"), 8 << 20);
    assert_ok(hd_buf_deregister(buf, 0));
    assert_ok(hd_buf_alloc(engine, 1 << 20, &all[2]));
    hd_buf_unref(buf);
    assert_int_equal(hd_buf_register(engine, memory, ROOM, &buf), -ENOBUFS);
    for (int i = 0; i < 3; i++)
        hd_buf_unref(all[i]);
    munmap(memory, 2 * ROOM);
    hd_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes),
        cmocka_unit_test(the_end_of_a_send_is_told),
        cmocka_unit_test(blocks_go_from_memory_to_memory),
        cmocka_unit_test(memory_in_use_stays),
        cmocka_unit_test(a_lost_link_gives_memory_back),
        cmocka_unit_test(after_the_end_it_is_refused),
        cmocka_unit_test(other_buffers_are_not_deregistered),
        cmocka_unit_test(it_may_outlive_its_engine),
        cmocka_unit_test(what_is_not_there_cannot_be_registered),
        cmocka_unit_test(ranges_do_not_overlap),
        cmocka_unit_test(the_limit_is_one_for_all),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
