/* SPDX-License-Identifier: Apache-2.0 */

/* Peers that ask for more links than there is room for: what they get, what it costs, and that others are served. */

#include <arpa/inet.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/link.h"
#include "support.h"

/* ---- a server ---- */

struct server {
    hd_engine *engine;
    hd_queue *queue;
    int listener;
    uint16_t port;
    pthread_t thread;
    hd_stream *streams[256];
    unsigned stream_count;
};

/* Accepts whoever comes, as a host protocol does. */
static void *accept_all(void *arg)
{
    struct server *s = arg;
    for (int fd; (fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0; close(fd)) {
        struct hd_connect_result result = {.size = sizeof(result)};
        if (hd_accept(s->engine, fd, NULL, 0, PATIENCE, &result) == 0 && result.outcome == HD_LINKED)
            hd_link_put(result.link);
    }
    return NULL;
}

static void start(struct server *s, const char *const *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    memset(s, 0, sizeof(*s));
    s->engine = test_engine(options);
    assert_ok(hd_queue_create(s->engine, &s->queue));
    assert_ok(hd_engine_listen(s->engine, "test", s->queue, 0));
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(s->listener, 64), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &length), 0);
    s->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, accept_all, s), 0);
}

static void stop(struct server *s)
{
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
    for (unsigned i = 0; i < s->stream_count; i++)
        hd_stream_close(s->streams[i]);
    hd_queue_destroy(s->queue);
    await_counter(s->engine, "links.now", 0);
    await_counter(s->engine, "links.memory.now", 0);
    hd_engine_destroy(s->engine);
}

/* ---- clients ---- */

static struct hd_connect_result greet(hd_engine *engine, struct server *s)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(s->port)};
    struct hd_connect_result result = {.size = sizeof(result)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_ok(hd_connect(engine, fd, "server:1", PATIENCE, &result));
    close(fd);
    return result;
}

/* As one more engine: nothing but its number tells one engine from another. */
static struct hd_connect_result greet_as(hd_engine *engine, unsigned number, struct server *s)
{
    memcpy(engine->id, &number, sizeof(number));
    struct hd_connect_result result = greet(engine, s);
    if (result.outcome == HD_LINKED) {
        hd_link_lock(result.link);
        memset(result.link->peer_id, 0xff, HD_ID_LENGTH); /* or the next connection would share it */
        hd_link_unlock(result.link);
    }
    return result;
}

/* A client like any other: connects, sends a message, leaves. Where links that make room take more than a second to
 * end, as on a machine that has much else to do, it is sent to its sockets, and may come again. */
static void be_served(hd_engine *engine, struct server *s)
{
    struct hd_connect_result result = greet(engine, s);
    hd_stream *stream;
    for (int64_t end = hd_now() + PATIENCE; result.outcome != HD_LINKED && hd_now() < end;)
        result = greet(engine, s);
    if (result.outcome != HD_LINKED)
        fail_msg("an honest client was refused: %s", result.reason);
    assert_ok(hd_stream_open(result.link, "test", NULL, &stream));
    hd_stream *other = next_event(s->queue, HD_EVENT_STREAM).stream;
    exchange(stream, other, 1000, 1);
    exchange(other, stream, 1000, 2);
    hd_stream_close(stream);
    hd_stream_close(other);
    hd_link_close(result.link);
    hd_link_put(result.link);
}

static void expect_within_limits(hd_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    unsigned links = engine->admitted_links;
    size_t bytes = engine->admitted_bytes;
    pthread_mutex_unlock(&engine->lock);
    assert_true(links <= (unsigned)engine->conf.links_max);
    assert_true(bytes <= engine->conf.links_memory);
}

/* ---- tests ---- */

static void ten_thousand_greetings_cost_no_more_than_the_limit(void **state)
{
    (void)state;
    const unsigned rounds = (unsigned)test_rounds(10000), step = rounds / 8, most = rounds / 16 > 32 ? rounds / 16 : 32;
    char limit[32];
    struct server server;
    snprintf(limit, sizeof(limit), "links.max=%u", most);
    start(&server, (const char *const[]){"transport=auto", limit, "links.memory=1g", "poll.spin=0", NULL});
    const char *const options[] = {"transport=auto", "poll.spin=0", "link.idle.timeout=0", NULL};
    hd_engine *hostile = test_engine(options), *honest = test_engine(options), *busy = test_engine(options);
    struct hd_connect_result link = greet(busy, &server); /* was there before, and works */
    hd_stream *stream, *other;
    assert_ok(hd_stream_open(link.link, "test", NULL, &stream));
    other = next_event(server.queue, HD_EVENT_STREAM).stream;
    for (unsigned i = 0; i < rounds; i++) {
        hd_link_put(greet_as(hostile, i + 1, &server).link); /* NULL: refused */
        expect_within_limits(server.engine);
        while (atomic_load(&hostile->stats->now->links_now) > most) /* it has yet to notice that they ended */
            usleep(1000);
        if (i % step == 0)
            be_served(honest, &server);
    }
    assert_true(counter(server.engine, "links.closed.room") > 0);
    be_served(honest, &server);
    exchange(stream, other, 100000, 3);
    hd_stream_close(stream);
    hd_stream_close(other);
    hd_link_put(link.link);
    hd_engine_destroy(hostile);
    hd_engine_destroy(honest);
    hd_engine_destroy(busy);
    stop(&server);
}

/* Links that carry something do not end for new ones. A party has half of the room, and is then refused. */
static void who_uses_his_share_is_refused_and_goes_on_over_sockets(void **state)
{
    (void)state;
    enum { MAX = 16 };
    struct server server;
    hd_stream *streams[MAX];
    struct hd_connect_result result;
    start(&server, (const char *const[]){"transport=auto", "links.max=16", NULL});
    hd_engine *peer = test_engine((const char *const[]){"transport=auto", "link.idle.timeout=0", NULL});
    for (unsigned i = 0; i < MAX / 2; i++) {
        result = greet_as(peer, i + 1, &server);
        assert_int_equal(result.outcome, HD_LINKED);
        assert_ok(hd_stream_open(result.link, "test", NULL, &streams[i]));
        server.streams[server.stream_count++] = next_event(server.queue, HD_EVENT_STREAM).stream;
        hd_link_put(result.link);
    }
    result = greet_as(peer, MAX, &server);
    assert_int_equal(result.outcome, HD_FALLBACK);
    assert_non_null(strstr(result.reason, "links.max"));
    assert_int_equal(counter(server.engine, "links.refused"), 1);
    for (unsigned i = 0; i < MAX / 2; i++)
        exchange(streams[i], server.streams[i], 100, i);
    for (unsigned i = 0; i < MAX / 2; i++)
        hd_stream_close(streams[i]);
    hd_engine_destroy(peer);
    stop(&server);
}

/* ---- shares, without any traffic ---- */

static struct hd_link *plain_link(hd_engine *engine)
{
    static const uint8_t zeros[HD_ID_LENGTH];
    struct hd_link_params params = {
        .address = "", .peer_name = "test", .peer_id = zeros, .token = zeros, .guard_fd = -1};
    struct hd_link *link;
    struct hd_sink sink;
    assert_ok(hd_link_create(engine, &params, &link, &sink));
    return link;
}

static void leave(hd_engine *engine, struct hd_link *link)
{
    pthread_mutex_lock(&engine->lock);
    hd_admit_end(engine, &link->admission);
    pthread_mutex_unlock(&engine->lock);
}

#define MEGA ((size_t)1 << 20)

static void a_party_has_half_of_links_and_memory(void **state)
{
    (void)state;
    hd_engine *engine = test_engine((const char *const[]){"links.max=8", "links.memory=64m", NULL});
    struct hd_party_name alice = hd_party_of_user(1001), bob = hd_party_of_user(1002), carol = hd_party_of_user(1003);
    struct hd_link *links[9];
    for (int i = 0; i < 9; i++)
        links[i] = plain_link(engine);
    for (int i = 0; i < 4; i++)
        assert_ok(hd_admit(links[i], &alice, MEGA, HD_FOREVER));
    assert_int_equal(hd_admit(links[4], &alice, MEGA, HD_FOREVER), -ENOSPC);
    for (int i = 4; i < 7; i++)
        assert_ok(hd_admit(links[i], &bob, MEGA, HD_FOREVER));
    assert_int_equal(hd_admit(links[7], &bob, 31 * MEGA, HD_FOREVER), -ENOSPC); /* of memory, too */
    assert_ok(hd_admit(links[7], &carol, 32 * MEGA, HD_FOREVER));
    assert_int_equal(hd_admit(links[8], &carol, 33 * MEGA, HD_FOREVER), -ENOSPC);
    assert_int_equal(hd_admit(links[8], &bob, MEGA, HD_FOREVER), -ENOSPC); /* there are eight */
    leave(engine, links[0]);
    assert_ok(hd_admit(links[8], &bob, MEGA, HD_FOREVER));
    assert_int_equal(counter(engine, "links.memory.now"), 39 * MEGA);
    assert_ok(hd_admit(links[8], &alice, MEGA, HD_FOREVER)); /* turned out to be another's */
    assert_int_equal(counter(engine, "links.memory.now"), 39 * MEGA);
    assert_int_equal(counter(engine, "links.refused"), 3);
    for (int i = 0; i < 9; i++) {
        leave(engine, links[i]);
        hd_link_discard(links[i]);
    }
    assert_int_equal(counter(engine, "links.memory.now"), 0);
    assert_true(hd_list_empty(&engine->parties));
    hd_engine_destroy(engine);
}

static void hosts_are_told_apart_by_their_addresses(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    struct hd_party_name names[3];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    for (int i = 0; i < 3; i++) { /* two from one, one from another */
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (i == 2))};
        int client = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(client, (struct sockaddr *)&own, sizeof(own)), 0);
        assert_int_equal(connect(client, (struct sockaddr *)&address, length), 0);
        int server = accept(listener, NULL, NULL);
        names[i] = hd_party_of_connection(server);
        close(server);
        close(client);
    }
    close(listener);
    assert_memory_equal(&names[0], &names[1], sizeof(names[0]));
    assert_memory_not_equal(&names[0], &names[2], sizeof(names[0]));
}

/* Each of some hundred links takes four at either end. */
static bool enough_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max < 8192) {
        printf("skipped: links of both ends need 8192 descriptors, this machine does not allow so many\n");
        return false;
    }
    limit.rlim_cur = limit.rlim_cur > 8192 ? limit.rlim_cur : 8192;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_party_has_half_of_links_and_memory),
        cmocka_unit_test(hosts_are_told_apart_by_their_addresses),
        cmocka_unit_test(who_uses_his_share_is_refused_and_goes_on_over_sockets),
        cmocka_unit_test(ten_thousand_greetings_cost_no_more_than_the_limit),
    };
    if (!enough_descriptors())
        return 77;
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
