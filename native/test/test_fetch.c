/* SPDX-License-Identifier: Apache-2.0 */

/* Fetching blocks over any transport. */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link/link.h"
#include "support.h"

/* A block server in a thread: names say what to answer. "b<length>" a buffer, "f<length>" a range of a file,
 * "e" an error, "s" a file that is too short, "slow" nothing until told. */
struct server {
    hd_engine *engine;
    hd_queue *queue;
    pthread_t thread;
    int file;
    hd_fetch *_Atomic kept;
};

#define FILE_SIZE ((size_t)9000000)

static void answer(struct server *server, hd_fetch *fetch)
{
    size_t length;
    uint64_t offset, wanted;
    char name[64] = {0};
    const void *bytes = hd_fetch_name(fetch, &length);
    memcpy(name, bytes, length < 63 ? length : 63);
    hd_fetch_range(fetch, &offset, &wanted);
    size_t size = (size_t)atoll(name + 1);
    if (strcmp(name, "slow") == 0) {
        server->kept = fetch;
    } else if (name[0] == 'b') {
        hd_buf *buf;
        if (size - offset < wanted)
            wanted = size - offset;
        if (hd_buf_alloc(server->engine, size + 1, &buf)) {
            hd_fetch_reply_error(fetch, -ENOBUFS, "server has no memory");
            return;
        }
        fill(hd_buf_data(buf), size, 77);
        hd_fetch_reply_buf(fetch, buf, offset, wanted);
        hd_buf_unref(buf);
    } else if (name[0] == 'f') {
        hd_fetch_reply_file(fetch, server->file, offset, wanted < size - offset ? wanted : size - offset);
    } else if (name[0] == 's') {
        hd_fetch_reply_file(fetch, server->file, FILE_SIZE - 1000000, 2000000);
    } else {
        hd_fetch_reply_error(fetch, -EACCES, "you may not have this");
    }
}

static void *serve(void *arg)
{
    struct server *server = arg;
    struct hd_event event;
    int n;
    while ((n = hd_queue_wait(server->queue, &event, 1, HD_FOREVER)) == 1)
        if (event.type == HD_EVENT_FETCH)
            answer(server, event.fetch);
    return NULL;
}

struct fixture {
    struct pair pair;
    struct server server;
    hd_queue *done;
};

static void begin(struct fixture *f, const char *const *options)
{
    pair_open(&f->pair, options);
    f->server = (struct server){.engine = f->pair.b};
    assert_ok(hd_queue_create(f->pair.b, &f->server.queue));
    assert_ok(hd_queue_create(f->pair.a, &f->done));
    assert_ok(hd_engine_listen(f->pair.b, "blocks", f->server.queue, 0));
    f->server.file = memfd_create("blocks", MFD_CLOEXEC);
    char *data = malloc(FILE_SIZE);
    fill(data, FILE_SIZE, 77);
    assert_int_equal(write(f->server.file, data, FILE_SIZE), FILE_SIZE);
    free(data);
    pthread_create(&f->server.thread, NULL, serve, &f->server);
}

static void finish(struct fixture *f)
{
    hd_queue_wake(f->server.queue);
    pthread_join(f->server.thread, NULL);
    hd_queue_destroy(f->server.queue);
    hd_queue_destroy(f->done);
    close(f->server.file);
    pair_close(&f->pair);
}

static hd_fetch *ask(struct fixture *f, const char *name, uint64_t offset, uint64_t length, hd_buf *into)
{
    struct hd_fetch_params params = {.size = sizeof(params),
                                     .name = name,
                                     .name_length = strlen(name),
                                     .offset = offset,
                                     .length = length,
                                     .into = into,
                                     .queue = f->done,
                                     .user = offset};
    hd_fetch *fetch;
    assert_ok(hd_fetch_start(f->pair.client, "blocks", &params, &fetch));
    return fetch;
}

static void expect_block(struct fixture *f, const char *name, size_t size)
{
    hd_fetch *fetch = ask(f, name, 0, HD_FETCH_ALL, NULL);
    struct hd_event event = next_event(f->done, HD_EVENT_FETCHED);
    if (event.status)
        fail_msg("%s: %d %s", name, event.status, hd_fetch_error(fetch));
    assert_ptr_equal(event.fetch, fetch);
    assert_int_equal(hd_buf_length(hd_fetch_data(fetch)), size);
    assert_true(filled(hd_buf_data(hd_fetch_data(fetch)), size, 77));
    hd_fetch_release(fetch);
}

static void sizes_with(const char *const *options)
{
    struct fixture f;
    begin(&f, options);
    static const size_t sizes[] = {0, 1, 4096, 16384, 16385, 524288, 524289, 5000000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "b%zu", sizes[i]);
        expect_block(&f, name, sizes[i]);
        name[0] = 'f';
        expect_block(&f, name, sizes[i]);
    }
    await_counter(f.pair.a, "memory.used.now", 0);
    await_counter(f.pair.b, "memory.used.now", 0);
    finish(&f);
}

static void blocks_of_all_sizes(void **state)
{
    (void)state;
    sizes_with(NULL);
}

static void blocks_of_all_sizes_by_write(void **state)
{
    (void)state;
    const char *const options[] = {"rendezvous.protocol=write", NULL};
    sizes_with(options);
}

static void blocks_of_all_sizes_by_copy(void **state)
{
    (void)state;
    const char *const options[] = {"rendezvous.protocol=copy", "chunk.size=64k", NULL};
    sizes_with(options);
}

static void ranges_go_where_the_caller_wants(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    char *all = malloc(1000000);
    fill(all, 1000000, 77);
    hd_buf *into;
    assert_ok(hd_buf_alloc(f.pair.a, 500000, &into));
    for (const char *const *name = (const char *const[]){"b1000000", "f1000000", NULL}; *name; name++) {
        hd_fetch *fetch = ask(&f, *name, 123457, 400000, into);
        assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, 0);
        assert_ptr_equal(hd_fetch_data(fetch), into);
        assert_int_equal(hd_buf_length(into), 400000);
        assert_memory_equal(hd_buf_data(into), all + 123457, 400000);
        hd_fetch_release(fetch);
        assert_ok(hd_buf_set_length(into, 500000));
    }
    hd_fetch *fetch = ask(&f, "b1000000", 0, HD_FETCH_ALL, into); /* does not fit */
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -EMSGSIZE);
    hd_fetch_release(fetch);
    expect_block(&f, "b1000000", 1000000);
    hd_buf_unref(into);
    free(all);
    finish(&f);
}

static void errors_come_with_their_cause(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    hd_fetch *fetch = ask(&f, "e", 0, HD_FETCH_ALL, NULL);
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -EACCES);
    assert_string_equal(hd_fetch_error(fetch), "you may not have this");
    hd_fetch_release(fetch);
    fetch = ask(&f, "s", 0, HD_FETCH_ALL, NULL); /* half of it can be read */
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -EIO);
    assert_non_null(strstr(hd_fetch_error(fetch), "file ends"));
    hd_fetch_release(fetch);
    struct hd_fetch_params params = {.size = sizeof(params), .name = "x", .name_length = 1, .queue = f.done};
    assert_ok(hd_fetch_start(f.pair.client, "nonsense", &params, &fetch));
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -ENOENT);
    hd_fetch_release(fetch);
    await_counter(f.pair.b, "memory.used.now", 0);
    finish(&f);
}

static void blocks_are_timed(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    expect_block(&f, "b100", 100);
    expect_block(&f, "f5000000", 5000000);
    hd_fetch *fetch = ask(&f, "e", 0, HD_FETCH_ALL, NULL); /* no block */
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -EACCES);
    hd_fetch_release(fetch);
    hd_link *asks = f.pair.client, *serves = f.pair.server;
    assert_int_equal(timed(asks, &asks->times.blocks, HD_TIMES - 1), 2);
    assert_int_equal(timed(serves, &serves->times.blocks, HD_TIMES - 1), 0);
    finish(&f);
}

static void a_small_block_overtakes_a_slow_one(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    hd_fetch *slow = ask(&f, "slow", 1, HD_FETCH_ALL, NULL), *quick = ask(&f, "b10", 0, HD_FETCH_ALL, NULL);
    assert_ptr_equal(next_event(f.done, HD_EVENT_FETCHED).fetch, quick);
    while (!f.server.kept)
        usleep(1000);
    assert_ok(hd_fetch_reply_error(f.server.kept, -EBUSY, NULL));
    struct hd_event event = next_event(f.done, HD_EVENT_FETCHED);
    assert_ptr_equal(event.fetch, slow);
    assert_int_equal(event.status, -EBUSY);
    hd_fetch_release(slow);
    hd_fetch_release(quick);
    finish(&f);
}

static void a_fetch_can_be_cancelled(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    hd_fetch *slow = ask(&f, "slow", 1, HD_FETCH_ALL, NULL);
    while (!f.server.kept)
        usleep(1000);
    hd_fetch_cancel(slow);
    hd_fetch_cancel(slow);
    assert_int_equal(next_event(f.done, HD_EVENT_FETCHED).status, -ECANCELED);
    hd_fetch_release(slow);
    assert_ok(hd_fetch_reply_error(f.server.kept, -EBUSY, NULL));
    for (int i = 0, rounds = test_rounds_least(30, 6); i < rounds;
         i++) { /* at any point of the transfer; either way there is one event */
        hd_fetch *fetch = ask(&f, i % 2 ? "f8000000" : "b8000000", 0, HD_FETCH_ALL, NULL);
        usleep((useconds_t)(i * 1500 / rounds));
        hd_fetch_cancel(fetch);
        int status = next_event(f.done, HD_EVENT_FETCHED).status;
        assert_true(status == 0 || status == -ECANCELED);
        hd_fetch_release(fetch);
    }
    struct hd_event event;
    assert_int_equal(hd_queue_wait(f.done, &event, 1, 20 * MILLI), -ETIMEDOUT);
    await_counter(f.pair.a, "memory.used.now", 0);
    await_counter(f.pair.b, "memory.used.now", 0);
    assert_int_equal(hd_link_status(f.pair.client), 0);
    finish(&f);
}

static void hundreds_at_a_time_complete_once_each(void **state)
{
    (void)state;
    enum { COUNT = 600 };
    struct fixture f;
    static hd_fetch *fetches[COUNT];
    static const char *const names[] = {"b100", "b20000", "b600000", "f100", "f40000", "f700000", "e"};
    bool seen[COUNT] = {false};
    const int mixed = test_rounds_least(COUNT, 84); /* behind these none is larger than a frame or two */
    begin(&f, (const char *const[]){"memory.limit=64m", NULL});
    for (int i = 0; i < COUNT; i++)
        fetches[i] = ask(&f, names[i < mixed || i % 7 % 3 != 2 ? i % 7 : 1], 0, HD_FETCH_ALL, NULL);
    for (int n = 0; n < COUNT; n++) {
        struct hd_event event = next_event(f.done, HD_EVENT_FETCHED);
        int i = 0;
        while (fetches[i] != event.fetch)
            i++;
        assert_false(seen[i]);
        seen[i] = true;
        if (event.status == 0)
            assert_true(filled(hd_buf_data(hd_fetch_data(event.fetch)), hd_buf_length(hd_fetch_data(event.fetch)), 77));
        else /* 64 MB are not enough to prepare all answers at once; then the server says so */
            assert_true(event.status == (i % 7 == 6 ? -EACCES : -ENOBUFS));
        hd_fetch_release(event.fetch);
        fetches[i] = NULL;
    }
    struct hd_event event;
    assert_int_equal(hd_queue_wait(f.done, &event, 1, 20 * MILLI), -ETIMEDOUT);
    finish(&f);
}

/* More blocks than fit into memory, of several pieces each. Over `self` client and server share it, so that blocks
 * which have begun are in the way of the pieces that they wait for. */
static void blocks_that_have_begun_end_where_memory_is_short(void **state)
{
    (void)state;
    enum { COUNT = 32 };
    struct fixture f;
    begin(&f, (const char *const[]){"memory.limit=16m", "chunk.size=64k", NULL});
    for (int i = 0; i < COUNT; i++)
        ask(&f, "f1000000", 0, HD_FETCH_ALL, NULL);
    for (int i = 0; i < COUNT; i++) {
        struct hd_event event = next_event(f.done, HD_EVENT_FETCHED);
        assert_int_equal(event.status, 0);
        assert_true(filled(hd_buf_data(hd_fetch_data(event.fetch)), 1000000, 77));
        hd_fetch_release(event.fetch);
    }
    await_counter(f.pair.a, "memory.used.now", 0);
    finish(&f);
}

static void a_lost_link_completes_every_fetch(void **state)
{
    (void)state;
    const int count = test_rounds_least(40, 10);
    struct fixture f;
    begin(&f, NULL);
    hd_fetch *slow = ask(&f, "slow", 0, HD_FETCH_ALL, NULL);
    for (int i = 1; i < count; i++)
        ask(&f, i % 2 ? "f8000000" : "b8000000", 0, HD_FETCH_ALL, NULL);
    while (!f.server.kept)
        usleep(1000);
    hd_link_close(f.pair.server);
    for (int i = 0; i < count; i++) {
        struct hd_event event = next_event(f.done, HD_EVENT_FETCHED);
        assert_true(event.status == 0 || event.status == -ECONNRESET || event.status == -ENOBUFS);
        hd_fetch_release(event.fetch);
    }
    (void)slow;
    assert_ok(hd_fetch_reply_error(f.server.kept, -EBUSY, NULL)); /* to nobody */
    await_counter(f.pair.a, "memory.used.now", 0);
    await_counter(f.pair.b, "memory.used.now", 0);
    finish(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_all_sizes),
        cmocka_unit_test(blocks_of_all_sizes_by_write),
        cmocka_unit_test(blocks_of_all_sizes_by_copy),
        cmocka_unit_test(ranges_go_where_the_caller_wants),
        cmocka_unit_test(errors_come_with_their_cause),
        cmocka_unit_test(blocks_are_timed),
        cmocka_unit_test(a_small_block_overtakes_a_slow_one),
        cmocka_unit_test(a_fetch_can_be_cancelled),
        cmocka_unit_test(hundreds_at_a_time_complete_once_each),
        cmocka_unit_test(blocks_that_have_begun_end_where_memory_is_short),
        cmocka_unit_test(a_lost_link_completes_every_fetch),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
