/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "support.h"
#include "base/table.h"
#include "transport/wire.h"

static struct hd_note sample(enum hd_note_kind kind)
{
    struct hd_note note = {.kind = kind, .name = "nodemanager 17 on host", .patience = 9876};
    if (kind == HD_NOTE_SERVER)
        memset(note.service, 's', HD_SERVICE_MAX);
    note.limits = (struct hd_limits){.frame_max = 32768,
                                     .local_frame_max = 2048,
                                     .credits = 64,
                                     .stream_max = 10,
                                     .fetch_max = 20,
                                     .window = 1 << 20,
                                     .message_max = 1 << 28};
    fill(note.engine, sizeof(note.engine), 1);
    fill(note.token, sizeof(note.token), 2);
    note.offer_count = kind == HD_NOTE_CHOICE ? 1 : 2;
    for (unsigned i = 0; i < note.offer_count; i++) {
        snprintf(note.offers[i].name, sizeof(note.offers[i].name), "t%u", i);
        note.offers[i].length = (uint16_t)(10 + i);
        fill(note.offers[i].blob, note.offers[i].length, i);
    }
    return note;
}

static int decode(const uint8_t *bytes, enum hd_note_kind kind, struct hd_note *note)
{
    int length = hd_note_head_decode(bytes, kind);
    return length < 0 ? length : hd_note_decode(bytes + sizeof(struct hd_note_head), (size_t)length, kind, note);
}

static void notes_survive_the_wire(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(struct hd_note_head) + HD_BODY_MAX];
    for (enum hd_note_kind kind = HD_NOTE_CLIENT; kind < HD_NOTE_KINDS; kind++) {
        struct hd_note note = sample(kind), back;
        size_t length = hd_note_encode(&note, bytes);
        assert_true(length <= sizeof(bytes));
        assert_true(hd_is_greeting(bytes, 8));
        assert_ok(decode(bytes, kind, &back));
        assert_int_equal(back.offer_count, note.offer_count);
        assert_memory_equal(back.offers[0].blob, note.offers[0].blob, note.offers[0].length);
        if (kind <= HD_NOTE_SERVER) {
            assert_string_equal(back.name, note.name);
            assert_memory_equal(&back.limits, &note.limits, sizeof(note.limits));
            assert_memory_equal(back.engine, note.engine, HD_ID_LENGTH);
            assert_string_equal(back.service, note.service);
            assert_int_equal(back.patience, note.patience);
        }
    }
}

static void every_cut_and_every_flip_is_survived(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(struct hd_note_head) + HD_BODY_MAX],
        copy[sizeof(bytes)] = {0}; /* beyond the note: a flip can make it longer */
    struct hd_note note = sample(HD_NOTE_CLIENT), back;
    size_t length = hd_note_encode(&note, bytes), body = length - sizeof(struct hd_note_head);
    for (size_t cut = 0; cut < body; cut++) {
        uint8_t *exact = malloc(cut + 1); /* so that a sanitizer sees the smallest step too far */
        memcpy(exact, bytes + sizeof(struct hd_note_head), cut);
        hd_note_decode(exact, cut, HD_NOTE_CLIENT, &back);
        free(exact);
    }
    for (size_t bit = 0; bit < 8 * length; bit++) {
        memcpy(copy, bytes, length);
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
        decode(copy, HD_NOTE_CLIENT, &back);
        assert_null(memchr(back.name, '\n', strlen(back.name)));
    }
}

static void limits_out_of_range_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(struct hd_note_head) + HD_BODY_MAX];
    struct hd_note note = sample(HD_NOTE_SERVER), back;
    note.limits.credits = 0;
    hd_note_encode(&note, bytes);
    assert_int_equal(decode(bytes, HD_NOTE_SERVER, &back), -EPROTO);
    note = sample(HD_NOTE_SERVER);
    note.limits.frame_max = UINT32_MAX;
    hd_note_encode(&note, bytes);
    assert_int_equal(decode(bytes, HD_NOTE_SERVER, &back), -EPROTO);
}

static void later_versions_may_add_parts(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(struct hd_note_head) + HD_BODY_MAX];
    struct hd_note note = sample(HD_NOTE_SERVER), back;
    size_t length = hd_note_encode(&note, bytes) - sizeof(struct hd_note_head);
    const uint8_t unknown[] = {0x99, 0x99, 3, 0, 1, 2, 3};
    memcpy(bytes + sizeof(struct hd_note_head) + length, unknown, sizeof(unknown));
    assert_ok(hd_note_decode(bytes + sizeof(struct hd_note_head), length + sizeof(unknown), HD_NOTE_SERVER, &back));
    assert_string_equal(back.name, note.name);
    bytes[offsetof(struct hd_note_head, minor)]++;
    assert_ok(hd_note_head_decode(bytes, HD_NOTE_SERVER));
    bytes[offsetof(struct hd_note_head, major)]++;
    assert_int_equal(hd_note_head_decode(bytes, HD_NOTE_SERVER), -EPROTO);
}

static void host_protocols_are_not_taken_for_ours(void **state)
{
    (void)state;
    assert_true(hd_is_greeting("", 0));
    assert_false(hd_is_greeting("hrpc\x09\x00\x00\x00", 8));
    assert_false(hd_is_greeting("\x00\x1c\x51", 3));
    assert_false(hd_is_greeting("\x00\x00\x00\x00\x00\x00\x00\x15", 8));
    assert_false(hd_is_greeting("GET / HT", 8));
    assert_false(hd_is_greeting("\x16\x03\x01", 3));
}

static void frames_are_checked_by_themselves(void **state)
{
    (void)state;
    struct hd_frame frame = {.type = HD_FRAME_DATA, .length = 100};
    assert_true(hd_frame_valid(&frame, 2048));
    assert_false(hd_frame_valid(&frame, 99));
    frame.flags = 1;
    assert_false(hd_frame_valid(&frame, 2048));
    frame = (struct hd_frame){.type = HD_FRAME_CTS, .length = sizeof(struct hd_cts) - 1};
    assert_false(hd_frame_valid(&frame, 2048));
    frame = (struct hd_frame){.type = 0};
    assert_false(hd_frame_valid(&frame, 2048));
    frame.type = HD_FRAME_TYPES;
    assert_false(hd_frame_valid(&frame, 2048));
}

static void checksums_are_crc32c(void **state)
{
    (void)state;
    assert_int_equal(hd_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(hd_crc32c(hd_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void handles_go_stale(void **state)
{
    (void)state;
    struct hd_table table = {0};
    uint32_t handles[100], old;
    int objects[100];
    for (int i = 0; i < 100; i++)
        assert_ok(hd_table_add(&table, &objects[i], &handles[i]));
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(hd_table_get(&table, handles[i]), &objects[i]);
    old = handles[50];
    hd_table_remove(&table, old);
    assert_null(hd_table_get(&table, old));
    assert_ok(hd_table_add(&table, &objects[1], &handles[50]));
    assert_int_not_equal(handles[50], old);
    assert_null(hd_table_get(&table, old));
    assert_null(hd_table_get(&table, 0));
    assert_null(hd_table_get(&table, UINT32_MAX));
    hd_table_destroy(&table);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_survive_the_wire),
        cmocka_unit_test(every_cut_and_every_flip_is_survived),
        cmocka_unit_test(limits_out_of_range_are_refused),
        cmocka_unit_test(later_versions_may_add_parts),
        cmocka_unit_test(host_protocols_are_not_taken_for_ours),
        cmocka_unit_test(frames_are_checked_by_themselves),
        cmocka_unit_test(checksums_are_crc32c),
        cmocka_unit_test(handles_go_stale),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
