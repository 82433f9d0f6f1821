/* SPDX-License-Identifier: Apache-2.0 */

/* How frames travel over verbs, without an adapter. */

#include <errno.h>

#include "support.h"
#include "transport/verbs/frame.h"

#define PAYLOAD_MAX 4096

/* Over the wire and back; all of the header must arrive. @return how it went */
static enum verbs_form travel(struct verbs_framing *f, const struct hd_frame *frame)
{
    static char payload[PAYLOAD_MAX], wire[sizeof(*frame) + PAYLOAD_MAX];
    struct hd_frame got;
    uint32_t word;
    enum verbs_form form = verbs_form(f, frame, &word);
    const uint32_t *aside = form == VERBS_FORM_BARE ? NULL : &word;
    size_t head = form == VERBS_FORM_WHOLE ? sizeof(*frame) : 0;
    fill(payload, frame->length, frame->sequence);
    if (head)
        memcpy(wire, frame, head);
    memcpy(wire + head, payload, frame->length);
    verbs_sent(f, form, word);
    assert_int_equal(verbs_unpack(f, aside, wire, (uint32_t)head + frame->length, PAYLOAD_MAX, &got), head);
    verbs_received(f, aside);
    assert_memory_equal(&got, frame, sizeof(got));
    assert_true(filled(wire + head, got.length, frame->sequence));
    return form;
}

static void what_is_like_the_last_is_not_said_again(void **state)
{
    (void)state;
    static const struct {
        enum hd_frame_type type;
        uint32_t id, length, checksum;
        uint16_t credits;
        enum verbs_form form;
    } cases[] = {
        {HD_FRAME_OPEN, 7, 4, 0, 0, VERBS_FORM_WHOLE},
        {HD_FRAME_DATA, 7, 64, 0, 1, VERBS_FORM_SHORT},
        {HD_FRAME_DATA, 7, 64, 0, 1, VERBS_FORM_BARE},
        {HD_FRAME_DATA, 7, 4096, 0, 1, VERBS_FORM_BARE}, /* the length is what arrives */
        {HD_FRAME_DATA, 7, 64, 0, 2, VERBS_FORM_SHORT},  /* credits */
        {HD_FRAME_DATA, 7, 64, 0, 2, VERBS_FORM_BARE},   /* and now these */
        {HD_FRAME_WINDOW, 7, 0, 0, 0, VERBS_FORM_WHOLE}, /* in between: it changes nothing */
        {HD_FRAME_DATA, 7, 64, 0, 2, VERBS_FORM_BARE},
        {HD_FRAME_DATA, 9, 64, 0, 2, VERBS_FORM_SHORT}, /* another stream */
        {HD_FRAME_DATA, 9, 64, 5, 2, VERBS_FORM_WHOLE}, /* a checksum */
        {HD_FRAME_DATA, 9, 0, 0, 2, VERBS_FORM_WHOLE},  /* nothing to send */
        {HD_FRAME_DATA, (1 << VERBS_ID_BITS) - 2, 1, 0, 0, VERBS_FORM_SHORT},
        {HD_FRAME_DATA, (1 << VERBS_ID_BITS) - 1, 1, 0, 0, VERBS_FORM_WHOLE},
        {HD_FRAME_DATA, 9, 1, 0, (1 << (32 - VERBS_ID_BITS)) - 1, VERBS_FORM_SHORT},
        {HD_FRAME_DATA, 9, 1, 0, 1 << (32 - VERBS_ID_BITS), VERBS_FORM_WHOLE},
    };
    struct verbs_framing f = VERBS_FRAMING;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hd_frame frame = {.type = (uint8_t)cases[i].type,
                                 .credits = cases[i].credits,
                                 .length = cases[i].length,
                                 .id = cases[i].id,
                                 .sequence = i,
                                 .checksum = cases[i].checksum};
        assert_int_equal(travel(&f, &frame), cases[i].form);
    }
    struct hd_frame lost = {.type = HD_FRAME_DATA, .length = 1, .id = 9, .sequence = 1000}; /* not the next one */
    uint32_t word;
    assert_int_equal(verbs_form(&f, &lost, &word), VERBS_FORM_WHOLE);
}

static void any_frames_in_any_order(void **state)
{
    (void)state;
    struct verbs_framing f = VERBS_FRAMING;
    unsigned seed = from_environment("HOWDAH_TEST_SEED", 1), forms[3] = {0};
    print_message("seed %u\n", seed);
    srandom(seed);
    for (uint32_t i = 0; i < 20000; i++) {
        bool message = random() % 8;
        struct hd_frame frame = {.type = message ? HD_FRAME_DATA : HD_FRAME_FRAG,
                                 .credits = (uint16_t)(random() % 3),
                                 .length = (uint32_t)(random() % PAYLOAD_MAX),
                                 .id = (uint32_t)(random() % 4 / 3),
                                 .sequence = i,
                                 .arg = message ? 0 : i,
                                 .checksum = random() % 16 ? 0 : (uint32_t)random()};
        forms[travel(&f, &frame)]++;
    }
    assert_true(forms[VERBS_FORM_WHOLE] > 100 && forms[VERBS_FORM_SHORT] > 100 && forms[VERBS_FORM_BARE] > 100);
}

/* Each in memory of its own size, for the address sanitizer. */
static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    unsigned seed = from_environment("HOWDAH_TEST_SEED", 1), taken = 0, refused = 0;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int i = 0; i < test_rounds(100000); i++) {
        struct verbs_framing f = VERBS_FRAMING;
        uint32_t length = (uint32_t)random() % 200, word = random() % 2 ? VERBS_WHOLE : (uint32_t)random();
        const uint32_t *aside = random() % 4 ? &word : NULL; /* none, and none before: a whole header is due */
        char *bytes = malloc(length ? length : 1);
        struct hd_frame frame;
        for (uint32_t j = 0; j < length; j++)
            bytes[j] = (char)(random() % 4 ? 0 : random());
        if (random() % 2 && length > 8)
            bytes[4] = (char)(length - sizeof(frame));
        int head = verbs_unpack(&f, aside, bytes, length, 100, &frame);
        assert_true(head == 0 || head == (int)sizeof(frame) || head == -EPROTO);
        if (head >= 0) {
            taken++;
            assert_true(frame.length <= 100 && (uint32_t)head + frame.length == length);
        } else {
            refused++;
        }
        free(bytes);
    }
    assert_true(taken > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_like_the_last_is_not_said_again),
        cmocka_unit_test(any_frames_in_any_order),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
