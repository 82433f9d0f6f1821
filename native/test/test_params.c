/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Callers that were compiled with another version of the headers. The first members of each structure stay where they
 * are in version 0.1; an older caller has fewer of them, and a newer one has more. Every structure ends where a page
 * does that nobody may touch, so a library that reads or writes beyond `size` is caught.
 */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

/* Version 0.1, for good. */
#define AT(type, member, offset)                                                                                       \
    _Static_assert(offsetof(struct type, member) == (offset), "callers of version 0.1 have " #member " elsewhere")
AT(hd_engine_params, size, 0);
AT(hd_engine_params, conf, 8);
AT(hd_engine_params, name, 16);
AT(hd_engine_params, log, 24);
AT(hd_engine_params, log_arg, 32);
AT(hd_stream_params, size, 0);
AT(hd_stream_params, queue, 8);
AT(hd_stream_params, user, 16);
AT(hd_stream_params, protocol, 24);
AT(hd_stream_params, deferred, 28);
AT(hd_fetch_params, size, 0);
AT(hd_fetch_params, name, 8);
AT(hd_fetch_params, name_length, 16);
AT(hd_fetch_params, offset, 24);
AT(hd_fetch_params, length, 32);
AT(hd_fetch_params, into, 40);
AT(hd_fetch_params, queue, 48);
AT(hd_fetch_params, user, 56);
AT(hd_connect_result, size, 0);
AT(hd_connect_result, outcome, 8);
AT(hd_connect_result, link, 16);
AT(hd_connect_result, shared, 24);
AT(hd_connect_result, unread_length, 32);
AT(hd_connect_result, unread, 40);
AT(hd_connect_result, reason, 48);
AT(hd_connect_result, service, 248);
AT(hd_tuning_link, size, 0);
AT(hd_tuning_link, arch, 8);
AT(hd_tuning_link, kind, 24);
AT(hd_tuning_link, device, 40);
AT(hd_tuning_link, model, 104);
AT(hd_tuning_link, speed, 168);

/* ---- structures of any size at the end of a page ---- */

#define ROOM 1024

/* The first `size` bytes of a structure, as a caller with a header of that age has it; behind them, memory that faults.
 * A larger one goes on with zeros, and ends with `last`. */
static void *of_size(const void *structure, size_t known, size_t size, char last)
{
    static char *page;
    size_t length = (size_t)sysconf(_SC_PAGESIZE);
    assert_true(size <= ROOM);
    if (!page) {
        page = mmap(NULL, 2 * length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(page, MAP_FAILED);
        assert_int_equal(mprotect(page + length, length, PROT_NONE), 0);
    }
    char *at = page + length - size;
    memset(at, 0, size);
    memcpy(at, structure, size < known ? size : known);
    if (size > known)
        at[size - 1] = last;
    memcpy(at, &size, sizeof(size));
    return at;
}

#define OLDER(structure, member) of_size(&(structure), sizeof(structure), offsetof(__typeof__(structure), member), 0)
#define NEWER(structure, last)   of_size(&(structure), sizeof(structure), sizeof(structure) + 64, last)

/* ---- engines ---- */

static void create(const void *params, int expected)
{
    hd_engine *engine;
    assert_int_equal(hd_engine_create(params, &engine), expected);
    if (!expected)
        hd_engine_destroy(engine);
    else
        assert_non_null(strstr(hd_last_error(), "engine parameters"));
}

static void engines(void **state)
{
    (void)state;
    hd_conf *conf = hd_conf_create();
    assert_ok(hd_conf_set(conf, "hadoop.rdma.transport", "shm", "test"));
    struct hd_engine_params params = {.conf = conf, .name = "test"};
    create(OLDER(params, conf), 0);
    create(OLDER(params, name), 0);
    create(OLDER(params, log), 0);
    create(NEWER(params, 0), 0);
    create(NEWER(params, 1), -EINVAL);
    create(of_size(&params, sizeof(params), sizeof(size_t), 0), 0);
    create(&(struct hd_engine_params){.size = 4}, -EINVAL);
    hd_conf_destroy(conf);
}

/* ---- links ---- */

struct acceptor {
    hd_engine *engine;
    int fd;
    struct hd_connect_result result;
};

static void *accept_one(void *arg)
{
    struct acceptor *a = arg;
    a->result = (struct hd_connect_result){.size = sizeof(a->result), .service = "somewhere"};
    assert_ok(hd_accept(a->engine, a->fd, NULL, 0, PATIENCE, &a->result));
    return NULL;
}

/* Connects with a result structure of the caller's. */
static void connect_with(struct pair *pair, void *result, int expected)
{
    int fds[2];
    pthread_t thread;
    test_sockets(fds);
    struct acceptor a = {.engine = pair->b, .fd = fds[1]};
    if (expected) {
        assert_int_equal(hd_connect(pair->a, fds[0], "testhost:1", PATIENCE, result), expected);
        assert_int_equal(hd_accept(pair->b, fds[1], NULL, 0, PATIENCE, result), expected);
    } else {
        assert_int_equal(pthread_create(&thread, NULL, accept_one, &a), 0);
        assert_ok(hd_connect(pair->a, fds[0], "testhost:1", PATIENCE, result));
        pthread_join(thread, NULL);
        struct hd_connect_result seen = {0};
        memcpy(&seen, result, offsetof(struct hd_connect_result, service));
        assert_int_equal(seen.outcome, HD_LINKED);
        assert_true(seen.shared);
        hd_link_put(seen.link);
        hd_link_put(a.result.link);
    }
    close(fds[0]);
    close(fds[1]);
}

static void links(void **state)
{
    (void)state;
    struct pair pair;
    struct hd_connect_result result = {.outcome = HD_FALLBACK};
    pair_open(&pair, NULL);
    connect_with(&pair, OLDER(result, service), 0);
    struct hd_connect_result *newer = NEWER(result, 0);
    connect_with(&pair, newer, 0);
    assert_string_equal(newer->service, "somewhere");
    assert_int_equal(newer->size, sizeof(result) + 64);
    connect_with(&pair, NEWER(result, 1), -EINVAL);
    connect_with(&pair, OLDER(result, reason), -EINVAL);
    pair_close(&pair);
}

/* ---- streams and fetches ---- */

/* `queue`: where the stream is expected to tell, with which user. */
static void open_stream(struct pair *pair, void *params, hd_queue *queue, uint64_t user, int expected)
{
    hd_stream *stream, *other;
    assert_int_equal(hd_stream_open(pair->client, "test", params, &stream), expected);
    if (expected)
        return;
    assert_ok(hd_stream_configure(stream, params));
    other = next_event(pair->queue, HD_EVENT_STREAM).stream;
    send_filled(other, 100, 1);
    if (queue)
        assert_int_equal(next_event(queue, HD_EVENT_READABLE).user, user);
    recv_filled(stream, 100, 1);
    hd_stream_close(stream);
    hd_stream_close(other);
}

static void streams(void **state)
{
    (void)state;
    struct pair pair;
    struct hd_stream_params params = {.user = 7, .protocol = HD_PROTOCOL_COPY, .deferred = true};
    pair_open(&pair, NULL);
    assert_ok(hd_queue_create(pair.a, &params.queue));
    open_stream(&pair, OLDER(params, queue), NULL, 0, 0);
    open_stream(&pair, OLDER(params, user), params.queue, 0, 0);
    open_stream(&pair, OLDER(params, protocol), params.queue, 7, 0);
    open_stream(&pair, OLDER(params, deferred), params.queue, 7, 0);
    open_stream(&pair, NEWER(params, 0), params.queue, 7, 0);
    open_stream(&pair, NEWER(params, 1), NULL, 0, -EINVAL);
    hd_queue_destroy(params.queue);
    pair_close(&pair);
}

static void fetch_with(struct pair *pair, const void *params, hd_queue *done, uint64_t user, int expected)
{
    hd_fetch *fetch;
    assert_int_equal(hd_fetch_start(pair->client, "test", params, &fetch), expected);
    if (expected)
        return;
    assert_ok(hd_fetch_reply_error(next_event(pair->queue, HD_EVENT_FETCH).fetch, -ENOENT, "no such block"));
    struct hd_event event = next_event(done, HD_EVENT_FETCHED);
    assert_int_equal(event.status, -ENOENT);
    assert_int_equal(event.user, user);
    hd_fetch_release(fetch);
}

static void fetches(void **state)
{
    (void)state;
    struct pair pair;
    struct hd_fetch_params params = {.name = "x", .name_length = 1, .length = HD_FETCH_ALL, .user = 7};
    pair_open(&pair, NULL);
    assert_ok(hd_queue_create(pair.a, &params.queue));
    fetch_with(&pair, OLDER(params, user), params.queue, 0, 0);
    fetch_with(&pair, NEWER(params, 0), params.queue, 7, 0);
    fetch_with(&pair, NEWER(params, 1), params.queue, 7, -EINVAL);
    fetch_with(&pair, OLDER(params, queue), params.queue, 7, -EINVAL);
    hd_queue_destroy(params.queue);
    pair_close(&pair);
}

/* ---- what stands beside an engine ---- */

static void others(void **state)
{
    (void)state;
    hd_conf *conf = hd_conf_create();
    struct hd_tuning_link link = {0}, *newer = NEWER(link, 0);
    assert_ok(hd_tuning_link_find(conf, newer));
    assert_true(strlen(newer->arch) > 0);
    assert_int_equal(hd_tuning_link_find(conf, NEWER(link, 1)), -EINVAL);
    hd_conf_destroy(conf);
    hd_affinity *affinity;
    struct hd_affinity_params params = {.threads = HD_AFFINITY_ALL};
    assert_ok(hd_affinity_create(NULL, OLDER(params, say), &affinity));
    hd_affinity_destroy(affinity);
    assert_ok(hd_affinity_create(NULL, NEWER(params, 0), &affinity));
    hd_affinity_destroy(affinity);
    assert_int_equal(hd_affinity_create(NULL, NEWER(params, 1), &affinity), -EINVAL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines), cmocka_unit_test(links),  cmocka_unit_test(streams),
        cmocka_unit_test(fetches), cmocka_unit_test(others),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
