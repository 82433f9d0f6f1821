/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/wire.h"

#include <howdah/fetch.h>
#include <howdah/link.h>

/* Begins with a byte that neither "hrpc", nor HDFS's version, nor a length of Netty's can begin with, and has the line
 * ends that a text-mode copy would damage. */
static const uint8_t magic[HD_MAGIC_LENGTH] = {0x8e, 'H', 'O', 'W', 'D', '\r', '\n', 0x1a};

/* ---- frames ---- */

uint32_t hd_frame_checksum(const struct hd_frame *frame, const void *payload)
{
    struct hd_frame bare = *frame;
    bare.checksum = 0;
    return hd_crc32c(hd_crc32c(0, &bare, sizeof(bare)), payload, frame->length);
}

bool hd_frame_valid_control(const struct hd_frame *frame, size_t payload_max)
{
    static const struct {
        uint32_t low, high;
    } payload[HD_FRAME_TYPES] = {
        [HD_FRAME_CREDIT] = {0, 0},
        [HD_FRAME_OPEN] = {1, HD_SERVICE_MAX},
        [HD_FRAME_DATA] = {0, UINT32_MAX},
        [HD_FRAME_WINDOW] = {0, 0},
        [HD_FRAME_CLOSE] = {0, 0},
        [HD_FRAME_RESET] = {0, HD_CAUSE_MAX},
        [HD_FRAME_RTS] = {sizeof(struct hd_rts), sizeof(struct hd_rts)},
        [HD_FRAME_CTS] = {sizeof(struct hd_cts), sizeof(struct hd_cts)},
        [HD_FRAME_FRAG] = {1, UINT32_MAX},
        [HD_FRAME_DONE] = {0, 0},
        [HD_FRAME_FIN] = {0, 0},
        [HD_FRAME_FETCH] = {sizeof(struct hd_fetch_wire) + 2,
                            sizeof(struct hd_fetch_wire) + HD_SERVICE_MAX + HD_FETCH_NAME_MAX},
        [HD_FRAME_REPLY] = {0, UINT32_MAX},
        [HD_FRAME_SEGMENT] = {sizeof(struct hd_segment), sizeof(struct hd_segment)},
        [HD_FRAME_CANCEL] = {0, 0},
        [HD_FRAME_RETIRE] = {0, 0},
    };
    return frame->type >= HD_FRAME_CREDIT && frame->type < HD_FRAME_TYPES && frame->flags == 0 &&
           frame->reserved == 0 && frame->length <= payload_max && frame->length >= payload[frame->type].low &&
           frame->length <= payload[frame->type].high;
}

/* ---- greeting ---- */

/* The body of a note is a row of parts: u16 kind, u16 length, bytes. */
enum part_kind {
    PART_ENGINE = 1,
    PART_NAME,
    PART_LIMITS,
    PART_OFFER,
    PART_TOKEN,
    PART_ATTACH,
    PART_REFUSED,
    PART_SERVICE,
    PART_PATIENCE
};

struct part_head {
    uint16_t kind, length;
};

bool hd_magic_matches(const void *bytes, size_t length)
{
    return memcmp(bytes, magic, length < HD_MAGIC_LENGTH ? length : HD_MAGIC_LENGTH) == 0;
}

bool hd_is_greeting(const void *bytes, size_t length)
{
    return length == 0 || hd_magic_matches(bytes, length);
}

static uint8_t *part(uint8_t *at, enum part_kind kind, const void *bytes, size_t length)
{
    struct part_head head = {(uint16_t)kind, (uint16_t)length};
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), bytes, length);
    return at + sizeof(head) + length;
}

static uint8_t *offer_part(uint8_t *at, const struct hd_offer *offer)
{
    uint8_t bytes[sizeof(offer->name) + HD_BLOB_MAX];
    memcpy(bytes, offer->name, sizeof(offer->name));
    memcpy(bytes + sizeof(offer->name), offer->blob, offer->length);
    return part(at, PART_OFFER, bytes, sizeof(offer->name) + offer->length);
}

size_t hd_note_encode(const struct hd_note *note, uint8_t *bytes)
{
    uint8_t *body = bytes + sizeof(struct hd_note_head), *at = body;
    if (note->kind <= HD_NOTE_SERVER) {
        at = part(at, PART_ENGINE, note->engine, HD_ID_LENGTH);
        at = part(at, PART_NAME, note->name, strnlen(note->name, HD_NAME_MAX - 1));
        at = part(at, PART_LIMITS, &note->limits, sizeof(note->limits));
        at = part(at, PART_PATIENCE, &note->patience, sizeof(note->patience));
    }
    if (note->service[0])
        at = part(at, PART_SERVICE, note->service, strnlen(note->service, HD_SERVICE_MAX));
    for (unsigned i = 0; i < note->offer_count; i++)
        at = offer_part(at, &note->offers[i]);
    if (note->kind == HD_NOTE_CHOICE)
        at = part(at, note->attach ? PART_ATTACH : PART_TOKEN, note->token, HD_ID_LENGTH);
    if (note->refused)
        at = part(at, PART_REFUSED, note->reason, strnlen(note->reason, HD_CAUSE_MAX - 1));
    struct hd_note_head head = {
        .major = HD_WIRE_MAJOR, .minor = HD_WIRE_MINOR, .kind = (uint16_t)note->kind, .length = (uint32_t)(at - body)};
    memcpy(head.magic, magic, sizeof(magic));
    memcpy(bytes, &head, sizeof(head));
    return (size_t)(at - bytes);
}

int hd_note_head_decode(const uint8_t bytes[sizeof(struct hd_note_head)], enum hd_note_kind expected)
{
    struct hd_note_head head;
    memcpy(&head, bytes, sizeof(head));
    if (memcmp(head.magic, magic, sizeof(magic)) != 0)
        return hd_error(-EPROTO, "the peer does not speak our protocol");
    if (head.major != HD_WIRE_MAJOR)
        return hd_error(-EPROTO, "the peer speaks version %u.%u of our protocol, this is %u.%u", head.major, head.minor,
                        HD_WIRE_MAJOR, HD_WIRE_MINOR);
    if (head.kind != (uint16_t)expected || head.length > HD_BODY_MAX)
        return hd_error(-EPROTO, "the peer's greeting is out of order (kind %u, %u bytes)", head.kind, head.length);
    return (int)head.length;
}

void hd_copy_text(char *to, size_t size, const void *from, size_t length)
{
    const unsigned char *bytes = from;
    size_t n = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = bytes[i] >= 0x20 && bytes[i] < 0x7f ? (char)bytes[i] : '?';
    to[n] = '\0';
}

static bool decode_offer(struct hd_note *note, const uint8_t *bytes, size_t length)
{
    struct hd_offer *offer = &note->offers[note->offer_count];
    if (length < sizeof(offer->name) || length > sizeof(offer->name) + HD_BLOB_MAX)
        return false;
    if (note->offer_count == HD_OFFERS_MAX)
        return true; /* a later version may know more transports */
    hd_copy_text(offer->name, sizeof(offer->name), bytes, strnlen((const char *)bytes, sizeof(offer->name) - 1));
    offer->length = (uint16_t)(length - sizeof(offer->name));
    memcpy(offer->blob, bytes + sizeof(offer->name), offer->length);
    note->offer_count++;
    return true;
}

static bool decode_part(struct hd_note *note, unsigned kind, const uint8_t *bytes, size_t length)
{
    switch (kind) {
    case PART_ENGINE:
        memcpy(note->engine, bytes, length == HD_ID_LENGTH ? HD_ID_LENGTH : 0);
        return length == HD_ID_LENGTH;
    case PART_NAME:
        hd_copy_text(note->name, sizeof(note->name), bytes, length);
        return true;
    case PART_LIMITS:
        memcpy(&note->limits, bytes, length >= sizeof(note->limits) ? sizeof(note->limits) : 0);
        return length >= sizeof(note->limits);
    case PART_OFFER:
        return decode_offer(note, bytes, length);
    case PART_ATTACH:
    case PART_TOKEN:
        note->attach = kind == PART_ATTACH;
        memcpy(note->token, bytes, length == HD_ID_LENGTH ? HD_ID_LENGTH : 0);
        return length == HD_ID_LENGTH;
    case PART_REFUSED:
        note->refused = true;
        hd_copy_text(note->reason, sizeof(note->reason), bytes, length);
        return true;
    case PART_SERVICE:
        hd_copy_text(note->service, sizeof(note->service), bytes, length);
        return length <= HD_SERVICE_MAX;
    case PART_PATIENCE:
        memcpy(&note->patience, bytes, length >= sizeof(note->patience) ? sizeof(note->patience) : 0);
        return length >= sizeof(note->patience);
    default:
        return true;
    }
}

static bool limits_sane(const struct hd_limits *l)
{
    return l->frame_max >= HD_FRAME_MIN_PAYLOAD && l->frame_max <= (1U << 20) &&
           l->local_frame_max >= HD_FRAME_MIN_PAYLOAD && l->local_frame_max <= (1U << 20) && l->credits >= 16 &&
           l->credits <= 4096 && l->stream_max >= 1 && l->fetch_max >= 1 && l->window >= 4096 &&
           l->window <= (1ULL << 30) && l->message_max >= 65536 && l->message_max <= INT32_MAX && l->checksum <= 1;
}

static bool complete(const struct hd_note *note, unsigned seen)
{
    const unsigned hello = 1U << PART_ENGINE | 1U << PART_LIMITS;
    if (note->kind <= HD_NOTE_SERVER)
        return (seen & hello) == hello && limits_sane(&note->limits);
    if (note->kind == HD_NOTE_CHOICE)
        return note->refused || note->attach || ((seen & 1U << PART_TOKEN) && note->offer_count == 1);
    return true;
}

int hd_note_decode(const uint8_t *body, size_t length, enum hd_note_kind kind, struct hd_note *note)
{
    memset(note, 0, sizeof(*note));
    note->kind = kind;
    unsigned seen = 0;
    for (size_t at = 0; at < length;) {
        struct part_head head;
        if (length - at < sizeof(head))
            return hd_error(-EPROTO, "the peer's greeting is cut short");
        memcpy(&head, body + at, sizeof(head));
        at += sizeof(head);
        if (length - at < head.length || !decode_part(note, head.kind, body + at, head.length))
            return hd_error(-EPROTO, "the peer's greeting has a bad part (kind %u, %u bytes)", head.kind, head.length);
        at += head.length;
        if (head.kind < 32)
            seen |= 1U << head.kind;
    }
    return complete(note, seen) ? 0 : hd_error(-EPROTO, "the peer's greeting lacks a part or has limits out of range");
}
