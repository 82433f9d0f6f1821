/* SPDX-License-Identifier: Apache-2.0 */

/* How frames travel over uDAPL, without an adapter. */

#include <errno.h>

#include "support.h"
#include "transport/udapl/frame.h"

#define PAYLOAD_MAX 4096

static char slot[sizeof(struct hd_frame) + PAYLOAD_MAX + UDAPL_PAD], payload[PAYLOAD_MAX];

static struct udapl_framing framing(void)
{
    return (struct udapl_framing){.kept_max = udapl_kept_max(16)};
}

/* Over the wire and back, compared in all but the credits. @return bytes on the wire */
static size_t travel(struct udapl_framing *f, const struct hd_frame *frame, uint32_t *credits)
{
    struct hd_frame got;
    const char *data = NULL;
    bool bare;
    fill(payload, frame->length, frame->sequence);
    size_t size = udapl_pack(f, frame, payload, slot, &bare);
    assert_true(size <= udapl_room(frame->length));
    assert_int_equal(bare, size % UDAPL_BARE == 0);
    assert_int_equal(udapl_unpack(f, slot, (uint32_t)size, PAYLOAD_MAX, &got, &data), 0);
    udapl_packed(f, frame, bare);
    udapl_unpacked(f, &got);
    assert_true(filled(data, got.length, frame->sequence));
    *credits += got.credits;
    got.credits = frame->credits;
    assert_memory_equal(&got, frame, sizeof(got));
    return size;
}

static void messages_of_a_stream_have_short_headers_or_none(void **state)
{
    (void)state;
    static const struct {
        uint32_t length;
        size_t size;
    } cases[] = {{0, 4}, {1, 5}, {59, 63}, {60, 65}, {61, 65}, {63, 67}, {64, 64}, {65, 69}, {124, 129}, {1024, 1024}};
    struct udapl_framing f = framing();
    uint32_t credits = 0, sequence = 0;
    struct hd_frame frame = {.type = HD_FRAME_DATA, .id = 7, .length = 1};
    assert_int_equal(travel(&f, &frame, &credits), 33); /* which stream it is */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        frame.sequence = ++sequence;
        frame.length = cases[i].length;
        assert_int_equal(travel(&f, &frame, &credits), cases[i].size);
    }
    frame.sequence = ++sequence;
    frame.length = 64;
    frame.checksum = 5;
    assert_int_equal(travel(&f, &frame, &credits), 96);
    frame = (struct hd_frame){.type = HD_FRAME_WINDOW, .id = 7, .arg = 1, .sequence = ++sequence};
    assert_int_equal(travel(&f, &frame, &credits), 32);
}

/* Whatever is kept and owed at most, the peer has more than the eighth that it does not send messages with. */
static void the_peer_never_waits_for_what_is_kept(void **state)
{
    (void)state;
    for (uint32_t all = 16; all <= 4096; all++)
        assert_true(all - udapl_kept_max(all) - (all / 2 - 1) > all / 8);
}

static void credits_are_kept_for_a_while(void **state)
{
    (void)state;
    struct udapl_framing f = framing();
    uint32_t credits = 0, given = 0, headers = 0;
    struct hd_frame frame = {.type = HD_FRAME_DATA, .id = 7, .length = 128, .credits = 1};
    for (int bare = 0; frame.sequence < 100; frame.sequence++) {
        bool whole = frame.sequence == 0;
        given++;
        size_t size = travel(&f, &frame, &credits);
        bare = size == 128 ? bare + 1 : 0;
        assert_true(bare <= 5);
        assert_int_equal(given - credits, bare);
        assert_true(size == 128 || size == (whole ? 160 : 132));
        headers += size != 128;
    }
    assert_int_equal(headers, 17); /* every sixth, the first being one */
}

static void any_frames_in_any_order(void **state)
{
    (void)state;
    struct udapl_framing f = framing();
    uint32_t credits = 0, given = 0;
    unsigned seed = from_environment("HOWDAH_TEST_SEED", 1);
    print_message("seed %u\n", seed);
    srandom(seed);
    for (uint32_t i = 0; i < (uint32_t)test_rounds(20000); i++) {
        bool message = random() % 8;
        struct hd_frame frame = {.type = message ? HD_FRAME_DATA : HD_FRAME_FRAG,
                                 .credits = (uint16_t)(random() % 3),
                                 .length = (uint32_t)(random() % 2 ? random() % 64 * 64 : random() % PAYLOAD_MAX),
                                 .id = (uint32_t)(random() % 4 / 3),
                                 .sequence = i,
                                 .arg = message ? 0 : i,
                                 .checksum = random() % 16 ? 0 : i};
        given += frame.credits;
        travel(&f, &frame, &credits);
        assert_true(given - credits <= f.kept_max);
    }
}

/* Each in memory of its own size, for the address sanitizer. */
static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    unsigned seed = from_environment("HOWDAH_TEST_SEED", 1), taken = 0;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int i = 0; i < test_rounds(100000); i++) {
        struct udapl_framing f = framing();
        uint32_t length = 1 + (uint32_t)random() % 200;
        char *bytes = malloc(length);
        struct hd_frame frame;
        const char *data;
        for (uint32_t j = 0; j < length; j++)
            bytes[j] = (char)(random() % 4 ? 0 : random());
        if (random() % 2)
            bytes[0] = (char)UDAPL_SHORT;
        if (random() % 2 && length > 8)
            bytes[4] = (char)(length - sizeof(frame));
        int err = udapl_unpack(&f, bytes, length, 100, &frame, &data);
        assert_true(err == 0 || err == -EPROTO);
        if (err == 0) {
            taken++;
            assert_true(frame.length <= 100 && data >= bytes && data + frame.length <= bytes + length);
        }
        free(bytes);
    }
    assert_true(taken > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_a_stream_have_short_headers_or_none),
        cmocka_unit_test(the_peer_never_waits_for_what_is_kept),
        cmocka_unit_test(credits_are_kept_for_a_while),
        cmocka_unit_test(any_frames_in_any_order),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
