/* SPDX-License-Identifier: Apache-2.0 */

/* The rings below self and shm, in particular against an other end that writes nonsense into the shared memory. */

#include <errno.h>

#include "transport/local/ring.h"
#include "support.h"

struct got {
    unsigned frames;
    uint32_t last_id;
    bool right, refuse;
};

static int take(void *arg, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    struct got *got = arg;
    (void)owner;
    if (got->refuse)
        return -ENOBUFS;
    got->frames++;
    got->last_id = frame->id;
    got->right = filled(payload, frame->length, frame->id);
    return 0;
}

struct rings {
    struct hd_ring_ep client, server;
    struct got got;
    void *memory;
    char data[4096];
};

static void begin(struct rings *r)
{
    memset(r, 0, sizeof(*r));
    struct hd_ep_params params = {.mine = {.frame_max = 4096, .credits = 16},
                                  .peers = {.frame_max = 4096, .credits = 16}};
    size_t size = hd_ring_segment_size(&params.mine, &params.peers);
    r->memory = aligned_alloc(HD_CACHE_LINE, hd_align(size, HD_CACHE_LINE));
    memset(r->memory, 0, size);
    r->client.event_fd = r->client.peer_event_fd = r->server.event_fd = r->server.peer_event_fd = -1;
    r->server.base.sink = (struct hd_sink){.frame = take, .arg = &r->got};
    r->server.base.frame_rx = r->client.base.frame_tx = 4096;
    hd_ring_attach(&r->client, r->memory, true, &params);
    hd_ring_attach(&r->server, r->memory, false, &params);
}

static int send_one(struct rings *r, uint32_t id, size_t length)
{
    struct hd_frame frame = {.type = HD_FRAME_DATA, .id = id, .length = (uint32_t)length};
    fill(r->data, length, id);
    return hd_ring_send(&r->client.base, &frame, r->data, NULL);
}

static void frames_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct rings r;
    begin(&r);
    uint32_t sent = 0, taken = 0;
    int rounds = test_rounds(5000);
    for (int round = 0; round < rounds; round++) { /* all sizes, all places in the ring */
        for (int burst = round % 16; burst >= 0; burst--) {
            sent++;
            assert_ok(send_one(&r, sent, (size_t)(sent * 7919) % 4097));
        }
        int n;
        while ((n = hd_ring_progress(&r.server.base, 3)) > 0)
            assert_true(r.got.right);
        assert_int_equal(n, 0);
        taken = r.got.last_id;
        assert_int_equal(taken, sent);
    }
    free(r.memory);
}

static void a_full_ring_says_so_and_goes_on(void **state)
{
    (void)state;
    struct rings r;
    begin(&r);
    int err;
    uint32_t sent = 0;
    while ((err = send_one(&r, sent + 1, 4096)) == 0)
        sent++;
    assert_int_equal(err, -EAGAIN);
    assert_true(sent >= 16 + 8); /* more than credits allow */
    r.got.refuse = true;
    assert_int_equal(hd_ring_progress(&r.server.base, 100), 0);
    r.got.refuse = false;
    unsigned frames = 0;
    int n;
    while ((n = hd_ring_progress(&r.server.base, 100)) > 0)
        frames += (unsigned)n;
    assert_int_equal(r.got.frames, sent);
    assert_true(frames >= sent);
    assert_ok(send_one(&r, 1, 4096));
    free(r.memory);
}

static void a_peer_cannot_ask_for_a_ring_without_bounds(void **state)
{
    (void)state;
    const struct hd_limits most = {.frame_max = 1 << 20, .credits = 4096}, usual = {.frame_max = 2048, .credits = 64};
    assert_int_equal(hd_ring_size(&most), HD_RING_MAX);
    assert_true(HD_RING_MAX >= 4 * (most.frame_max + sizeof(struct hd_frame)));
    assert_true(hd_ring_size(&usual) >= 64 * (2048 + sizeof(struct hd_frame)));
}

static void what_was_sent_before_closing_is_taken(void **state)
{
    (void)state;
    struct rings r;
    begin(&r);
    assert_ok(send_one(&r, 1, 10));
    hd_ring_close(&r.client.base);
    assert_true(hd_ring_pending(&r.server.base));
    assert_int_equal(hd_ring_progress(&r.server.base, 10), 1);
    assert_int_equal(hd_ring_progress(&r.server.base, 10), -EPIPE);
    free(r.memory);
}

static void nonsense_in_shared_memory_is_an_error(void **state)
{
    (void)state;
    struct rings r;
    uint64_t random = 1;
    static const uint64_t tails[] = {1, 31, UINT64_MAX, UINT64_MAX - 31, 1ULL << 40};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        begin(&r);
        atomic_store(&r.server.rx->tail, tails[i]);
        assert_int_equal(hd_ring_progress(&r.server.base, 10), -EPROTO);
        free(r.memory);
    }
    begin(&r); /* a consumer that claims to have read what was never sent */
    atomic_store(&r.client.tx->head, 1ULL << 40);
    int err;
    while ((err = send_one(&r, 1, 4096)) == 0)
        ;
    assert_int_equal(err, -EPROTO);
    free(r.memory);
    int rounds = test_rounds(20000);
    for (int round = 0; round < rounds; round++) { /* noise in place of records */
        begin(&r);
        for (size_t i = 0; i < 64; i++)
            r.server.rx_data[i] = (char)hd_random_next(&random);
        atomic_store(&r.server.rx->tail, 32 * (1 + hd_random_next(&random) % 200));
        hd_ring_progress(&r.server.base, 10);
        free(r.memory);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_as_they_went_in),
        cmocka_unit_test(a_full_ring_says_so_and_goes_on),
        cmocka_unit_test(a_peer_cannot_ask_for_a_ring_without_bounds),
        cmocka_unit_test(what_was_sent_before_closing_is_taken),
        cmocka_unit_test(nonsense_in_shared_memory_is_an_error),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
