/* SPDX-License-Identifier: Apache-2.0 */

/* What only the verbs transport has to do. Needs a device: runs in the virtual machine of ci/rdma-vm, as root. */

#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/link.h"
#include "support.h"
#include "transport/verbs/cq.h"

/* ---- devices ---- */

static void expect_refusal(const char *option, const char *value, const char *words)
{
    hd_conf *conf = hd_conf_create();
    hd_engine *engine;
    assert_ok(hd_conf_set(conf, "hadoop.rdma.transport", "verbs", "test"));
    assert_ok(hd_conf_set(conf, option, value, "test"));
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    assert_int_equal(hd_engine_create(&params, &engine), -EINVAL);
    if (!strstr(hd_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", hd_last_error(), words);
    hd_conf_destroy(conf);
}

static void a_device_that_is_not_there_is_named(void **state)
{
    (void)state;
    expect_refusal("hadoop.rdma.verbs.device", "mlx9_7", "devices: rxe0");
    expect_refusal("hadoop.rdma.verbs.device", "7", "devices: rxe0");
    expect_refusal("hadoop.rdma.verbs.device", "rxe0:2", "verbs.port=2");
    expect_refusal("hadoop.rdma.verbs.link.layer", "infiniband", "verbs.link.layer=infiniband"); /* it is RoCE */
    expect_refusal("hadoop.rdma.verbs.device", "rxe0:x", "does not name a port");
    expect_refusal("hadoop.rdma.verbs.gid.index", "200", "no GID with index 200");
}

static void devices_by_name_number_and_port(void **state)
{
    (void)state;
    static const char *const names[] = {"verbs.device=rxe0", "verbs.device=0", "verbs.device=rxe0:1",
                                        "verbs.device=auto:1", "verbs.link.layer=ethernet"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pair pair;
        hd_stream *client, *server;
        pair_open(&pair, (const char *const[]){names[i], NULL});
        assert_string_equal(hd_link_transport(pair.client), "verbs");
        pair_stream(&pair, NULL, &client, &server);
        exchange(client, server, 100000, i);
        hd_stream_close(client);
        hd_stream_close(server);
        pair_close(&pair);
    }
}

/* What `howdah stat --links` shows and the fabric's tools do. The peer was told it in the greeting. */
static void a_link_shows_its_queue_pair(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair, NULL);
    const struct verbs_ep *client = (const void *)pair.client->ep, *server = (const void *)pair.server->ep;
    assert_int_not_equal(client->peer.qp, server->peer.qp);
    assert_int_equal(pair.client->shown->queue_pair, server->peer.qp);
    assert_int_equal(pair.server->shown->queue_pair, client->peer.qp);
    pair_close(&pair);
}

/* What Soft-RoCE's driver has of it: ibv_wr_* and extended completion queues. Inline or not, with and without a word
 * beside the bytes, by reads and by writes. */
static void newer_calls_and_older_ones_move_the_same(void **state)
{
    (void)state;
    static const char *const options[] = {"verbs.extended=true", "verbs.extended=false"};
    for (size_t i = 0; i < HD_COUNT(options); i++) {
        struct pair pair;
        hd_stream *client, *server, *other_client, *other_server;
        pair_open(&pair, (const char *const[]){options[i], "verbs.inline=100", NULL});
        pair_stream(&pair, NULL, &client, &server);
        pair_stream(&pair, NULL, &other_client, &other_server);
        const struct verbs_ep *ep = (const void *)pair.client->ep;
        assert_int_equal(ep->extended != NULL, i == 0);
        assert_int_equal(ep->cq->extended != NULL, i == 0);
        for (unsigned j = 0; j < 200; j++) {
            static const size_t lengths[] = {0, 1, 90, 101, 4000, 30000, 200000};
            exchange(client, server, lengths[j % 7], j);
            exchange(other_server, other_client, lengths[j % 5], j);
        }
        assert_true(counter(pair.a, "messages.read") + counter(pair.a, "messages.write") > 0);
        hd_stream_close(client);
        hd_stream_close(server);
        hd_stream_close(other_client);
        hd_stream_close(other_server);
        pair_close(&pair);
    }
}

/* ---- memory ---- */

static void receive_memory_goes_with_the_last_link(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair, NULL);
    assert_true(counter(pair.a, "memory.receive.now") > 0);
    assert_int_equal(counter(pair.a, "memory.used.now"), 0);
    hd_link_close(pair.client);
    await_counter(pair.a, "memory.receive.now", 0);
    await_counter(pair.b, "memory.receive.now", 0);
    await_counter(pair.a, "memory.used.now", 0);
    pair_close(&pair);
}

/* However many frames may be under way, what arrives must have somewhere to go. */
static void receive_buffers_leave_half_of_the_memory(void **state)
{
    (void)state;
    const char *const options[] = {"link.credits=4096", "memory.limit=32m", "memory.slab.size=4m", NULL};
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, options);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 1000000, 1);
    exchange(server, client, 1000000, 2);
    uint64_t waiting = counter(pair.a, "memory.receive.now");
    assert_true(waiting > 8 << 20 && waiting <= 20 << 20); /* 16 MB of frames; their size classes are coarser */
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static hd_buf *sent_and_taken_of(hd_stream *from, hd_stream *to, char content, size_t length)
{
    char bytes[4096];
    hd_buf *msg;
    memset(bytes, content, length);
    assert_ok(hd_send(from, bytes, length, PATIENCE));
    assert_int_equal(hd_recv(to, &msg, PATIENCE), 0);
    assert_int_equal(hd_buf_length(msg), length);
    assert_memory_equal(hd_buf_data(msg), bytes, length);
    return msg;
}

static hd_buf *sent_and_taken(hd_stream *from, hd_stream *to, char content)
{
    return sent_and_taken_of(from, to, content, 4096);
}

/* A message comes in the buffer that the device wrote, however small, but one link ties up one such buffer only. */
static void one_receive_buffer_is_lent_at_a_time(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"eager.threshold=32k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    hd_buf *first = sent_and_taken(client, server, 1), *second = sent_and_taken(client, server, 2);
    assert_true(hd_buf_capacity(first) > 16384);
    assert_true(hd_buf_capacity(second) < 16384);
    for (char i = 0; i < 100; i++) /* through all of the pool */
        hd_buf_unref(sent_and_taken(client, server, i));
    for (int i = 0; i < 4096; i++)
        assert_int_equal(((char *)hd_buf_data(first))[i], 1);
    hd_buf_unref(first);
    hd_buf *small = sent_and_taken_of(client, server, 4, 1);
    assert_true(hd_buf_capacity(small) > 16384);
    hd_buf_unref(small);
    hd_buf *third = sent_and_taken(client, server, 3);
    assert_true(hd_buf_capacity(third) > 16384);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair); /* the message outlives its link */
    assert_int_equal(((char *)hd_buf_data(third))[4095], 3);
    hd_buf_unref(third);
    hd_buf_unref(second);
}

static void an_idle_link_has_no_buffer_lent(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"eager.threshold=32k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    uint64_t at_first = counter(pair.b, "memory.receive.now");
    hd_buf *msg = sent_and_taken(client, server, 1);
    assert_true(counter(pair.b, "memory.receive.now") > at_first);
    hd_buf_unref(msg);
    await_counter(pair.b, "memory.receive.now", at_first);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* Sends until the link has borrowed a wide ring: the device may be so quick that its own has room all the time. */
static void send_until_wide(const struct pair *pair, hd_stream *from, hd_stream *to)
{
    static char bytes[12000];
    hd_buf *msg;
    for (unsigned burst = 0; burst < 500 && counter(pair->a, "send.rings.now") == 0; burst++) {
        for (unsigned i = 0; i < 12; i++) {
            fill(bytes, sizeof(bytes), burst + i);
            assert_ok(hd_send(from, bytes, sizeof(bytes), PATIENCE));
        }
        for (unsigned i = 0; i < 12; i++) {
            assert_int_equal(hd_recv(to, &msg, PATIENCE), 0);
            assert_int_equal(hd_buf_length(msg), sizeof(bytes));
            assert_true(filled(hd_buf_data(msg), sizeof(bytes), burst + i));
            hd_buf_unref(msg);
        }
    }
    assert_int_equal(counter(pair->a, "send.rings.now"), 1);
}

/* A word now and then, as links that are up for long have it, until the wide ring is given back. */
static void speak_until_narrow(const struct pair *pair, hd_stream *from, hd_stream *to)
{
    for (int i = 0; i < 5000 && counter(pair->a, "send.rings.now"); i++) {
        hd_buf_unref(sent_and_taken_of(from, to, (char)i, i % 2 ? 1 : 4000));
        usleep(2000);
    }
    assert_int_equal(counter(pair->a, "send.rings.now"), 0);
}

static void an_idle_link_pins_little_to_send_from(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"eager.threshold=16k", "verbs.send.buffer=256k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    assert_int_equal(counter(pair.a, "memory.send.now"), 65536);
    for (int round = 0; round < 3; round++) {
        send_until_wide(&pair, client, server);
        assert_int_equal(counter(pair.a, "memory.send.now"), 65536 + 262144);
        exchange(client, server, 1000000, (unsigned)round);
        speak_until_narrow(&pair, client, server);
    }
    hd_stream_close(client);
    hd_stream_close(server);
    hd_link_close(pair.client);
    await_counter(pair.a, "memory.send.now", 262144); /* kept for the next one that is busy */
    pair_close(&pair);
}

/* All that links may borrow is less than one wide ring. */
static void without_a_wide_ring_everything_arrives(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"links.memory=2m", "verbs.zcopy.threshold=64k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 3000000, 1);
    for (unsigned i = 0; i < 300; i++) {
        static const size_t lengths[] = {200, 4000, 32700, 32768, 1, 16384};
        exchange(client, server, lengths[i % 6], i);
    }
    assert_int_equal(counter(pair.a, "send.rings.now"), 0);
    assert_int_equal(counter(pair.a, "memory.send.now"), 65536);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* From verbs.zcopy.threshold on a buffer's message leaves it without a copy, and the buffer comes back without more
 * being sent. Half of them have other credits or another stream than the last, which is said beside the bytes. */
static void large_messages_leave_their_buffer_without_a_copy(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server, *other_client, *other_server;
    pair_open(&pair, (const char *const[]){"verbs.zcopy.threshold=2k", NULL});
    pair_stream(&pair, NULL, &client, &server);
    pair_stream(&pair, NULL, &other_client, &other_server);
    static const size_t lengths[] = {1, 2047, 2048, 4096, 16384};
    uint64_t sent = 0;
    for (unsigned i = 0; i < 200; i++) {
        size_t length = lengths[i % 5];
        hd_buf *buf, *msg;
        assert_ok(hd_buf_alloc(pair.a, length + 7, &buf));
        fill((char *)hd_buf_data(buf) + 7, length, i);
        bool other = i % 4 == 3;
        assert_ok(hd_send_buf(other ? other_client : client, buf, 7, length, PATIENCE));
        hd_buf_unref(buf);
        assert_int_equal(hd_recv(other ? other_server : server, &msg, PATIENCE), 0);
        assert_int_equal(hd_buf_length(msg), length);
        assert_true(filled(hd_buf_data(msg), length, i));
        hd_buf_unref(msg);
        sent += length >= 2048;
        assert_int_equal(counter(pair.a, "messages.zero.copy"), sent);
    }
    await_counter(pair.a, "memory.used.now", 0);
    hd_stream_close(client);
    hd_stream_close(server);
    hd_stream_close(other_client);
    hd_stream_close(other_server);
    pair_close(&pair);
}

static void without_remote_access_everything_is_copied(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, (const char *const[]){"verbs.remote.access=false", NULL});
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 1000000, 1);
    exchange(server, client, 1000000, 2);
    await_counter(pair.a, "messages.copy", 1);
    assert_int_equal(counter(pair.a, "messages.read"), 0);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

static void remote_access_ends_for_links_to_come(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    struct hd_connect_result more = {0}, theirs = {0};
    int fds[2];
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 1000000, 1);
    await_counter(pair.a, "messages.read", 1);
    hd_stream_close(client);
    hd_stream_close(server);
    assert_ok(hd_engine_set(pair.b, "hadoop.rdma.verbs.remote.access", "false", "test"));
    hd_link_close(pair.client);
    await_counter(pair.b, "links.now", 0);
    test_sockets(fds);
    assert_ok(pair_connect(pair.a, pair.b, fds, &more, &theirs));
    assert_ok(hd_stream_open(more.link, "test", NULL, &client));
    struct hd_event event = next_event(pair.queue, HD_EVENT_STREAM);
    exchange(client, event.stream, 1000000, 2);
    exchange(event.stream, client, 1000000, 3);
    await_counter(pair.a, "messages.copy", 1);
    await_counter(pair.b, "messages.copy", 1);
    assert_int_equal(counter(pair.a, "messages.read"), 1);
    hd_stream_close(client);
    hd_stream_close(event.stream);
    hd_link_put(more.link);
    hd_link_put(theirs.link);
    close(fds[0]);
    close(fds[1]);
    pair_close(&pair);
}

/* Root may lock what it likes, unless it gives that up. */
static void lock_little(rlim_t bytes)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    struct rlimit limit = {bytes, bytes};
    if (syscall(SYS_capget, &head, data))
        _exit(2);
    data[CAP_IPC_LOCK / 32].effective &= ~(1U << CAP_IPC_LOCK % 32);
    if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capset, &head, data))
        _exit(3);
}

/* In a process of its own. @return its exit status. */
static int with_little_memory(rlim_t bytes, int (*run)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        lock_little(bytes);
        _exit(run());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int exchange_by_copy(void)
{
    struct pair pair;
    hd_stream *client, *server;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 1000000, 1);
    exchange(client, server, 100, 2);
    uint64_t copies = counter(pair.a, "messages.copy");
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
    return copies == 1 ? 0 : 1;
}

static int fail_to_start(void)
{
    hd_conf *conf = hd_conf_create();
    hd_engine *engine;
    hd_conf_set(conf, "hadoop.rdma.transport", "verbs", "test");
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    int err = hd_engine_create(&params, &engine);
    hd_conf_destroy(conf);
    if (err == 0)
        return 1;
    return strstr(hd_last_error(), "ulimit -l") ? 0 : 2;
}

/* Slabs cannot be registered; receive buffers, which are smaller, can. */
static void little_locked_memory_means_copies(void **state)
{
    (void)state;
    assert_int_equal(with_little_memory((rlim_t)12 << 20, exchange_by_copy), 0);
}

static void no_locked_memory_is_said_at_the_start(void **state)
{
    (void)state;
    assert_int_equal(with_little_memory(0, fail_to_start), 0);
}

/* ---- more senders than buffers ---- */

struct sender {
    hd_stream *stream;
    unsigned count;
    int err;
};

static void *send_many(void *arg)
{
    struct sender *s = arg;
    char data[3000];
    for (unsigned i = 0; i < s->count && !s->err; i++) {
        fill(data, sizeof(data), i);
        s->err = hd_send(s->stream, data, sizeof(data), PATIENCE);
    }
    return NULL;
}

static void a_dry_receive_queue_loses_nothing(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    pthread_t thread;
    pair_open(&pair, (const char *const[]){"verbs.receive.buffers=64", "link.credits=512", "stream.window=16m", NULL});
    pair_stream(&pair, NULL, &client, &server);
    struct sender sender = {.stream = client, .count = 2000};
    pthread_create(&thread, NULL, send_many, &sender);
    usleep(200000); /* it is far ahead now */
    for (unsigned i = 0; i < sender.count; i++) {
        hd_buf *msg;
        assert_int_equal(hd_recv(server, &msg, PATIENCE), 0);
        assert_true(hd_buf_length(msg) == 3000 && filled(hd_buf_data(msg), 3000, i));
        hd_buf_unref(msg);
    }
    pthread_join(thread, NULL);
    assert_int_equal(sender.err, 0);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
}

/* ---- the port ---- */

static void a_port_that_goes_down_ends_idle_links(void **state)
{
    (void)state;
    struct pair pair;
    hd_stream *client, *server;
    hd_buf *msg;
    pair_open(&pair, NULL);
    pair_stream(&pair, NULL, &client, &server);
    exchange(client, server, 10, 1);
    set_interface("down");
    assert_int_equal(hd_recv(client, &msg, PATIENCE), -ECONNRESET);
    bool said = strstr(hd_last_error(), "port 1 of verbs device rxe0 went down") != NULL;
    await_counter(pair.b, "links.now", 0);
    int fds[2];
    struct hd_connect_result refused = {0}, accepted = {0};
    test_sockets(fds);
    int err = pair_connect(pair.a, pair.b, fds, &refused, NULL);
    bool not_active = strstr(hd_last_error(), "not active") != NULL;
    set_interface("up");
    assert_true(said);
    assert_int_equal(err, -EOPNOTSUPP);
    assert_true(not_active);
    close(fds[0]);
    close(fds[1]);
    hd_stream_close(client);
    hd_stream_close(server);
    usleep(500000); /* the address comes back */
    test_sockets(fds);
    assert_ok(pair_connect(pair.a, pair.b, fds, &refused, &accepted));
    assert_int_equal(refused.outcome, HD_LINKED);
    hd_link_put(refused.link);
    hd_link_put(accepted.link);
    close(fds[0]);
    close(fds[1]);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_not_there_is_named),
        cmocka_unit_test(devices_by_name_number_and_port),
        cmocka_unit_test(a_link_shows_its_queue_pair),
        cmocka_unit_test(newer_calls_and_older_ones_move_the_same),
        cmocka_unit_test(receive_memory_goes_with_the_last_link),
        cmocka_unit_test(receive_buffers_leave_half_of_the_memory),
        cmocka_unit_test(one_receive_buffer_is_lent_at_a_time),
        cmocka_unit_test(an_idle_link_has_no_buffer_lent),
        cmocka_unit_test(an_idle_link_pins_little_to_send_from),
        cmocka_unit_test(without_a_wide_ring_everything_arrives),
        cmocka_unit_test(large_messages_leave_their_buffer_without_a_copy),
        cmocka_unit_test(without_remote_access_everything_is_copied),
        cmocka_unit_test(remote_access_ends_for_links_to_come),
        cmocka_unit_test(little_locked_memory_means_copies),
        cmocka_unit_test(no_locked_memory_is_said_at_the_start),
        cmocka_unit_test(a_dry_receive_queue_loses_nothing),
        cmocka_unit_test(a_port_that_goes_down_ends_idle_links),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
