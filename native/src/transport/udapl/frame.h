/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_UDAPL_FRAME_H
#define HD_UDAPL_FRAME_H

/*
 * How frames travel over uDAPL. DAT has no data beside a message's payload, so its length and its first byte say what
 * is in front of that:
 *
 *   a multiple of UDAPL_BARE bytes    nothing
 *   otherwise, UDAPL_SHORT            struct udapl_short
 *   otherwise, a frame's type         struct hd_frame
 *
 * What has a header and would be of such a length gets UDAPL_PAD bytes behind it. So a message that fills packets
 * exactly does not cost one more, and a small one is not mostly header.
 *
 * The first two are for ordinary messages of the stream that the last message was of: of their headers only the credits
 * are not known to the receiver. A bare one's are kept for the next header.
 */

#include "transport/wire.h"

#define UDAPL_BARE  64
#define UDAPL_PAD   1
#define UDAPL_SHORT 0x80 /* no frame's type */

struct udapl_short {
    uint8_t type;
    uint8_t pad; /* bytes behind the payload */
    uint16_t credits;
};
static_assert(sizeof(struct udapl_short) == 4, "short header");

/* Both directions of an endpoint. */
struct udapl_framing {
    uint32_t tx_count, rx_count;   /* frames ever: the sequence of those without a whole header */
    uint32_t tx_stream, rx_stream; /* of the last message */
    uint32_t tx_kept, kept_max;    /* credits that bare frames should have carried */
};

/* The peer must never wait for what is kept here: with less than half of its credits owed, which sends a frame of their
 * own, and less than three eighths kept, it has more than the eighth that it does not send messages with. */
static inline uint32_t udapl_kept_max(uint32_t credits)
{
    return 3 * credits / 8 - 1;
}

/* Room that a frame may need. */
static inline size_t udapl_room(size_t payload)
{
    return sizeof(struct hd_frame) + payload + UDAPL_PAD;
}

static inline bool udapl_is_ordinary(const struct udapl_framing *f, const struct hd_frame *frame)
{
    uint64_t zero = frame->flags | frame->checksum | frame->reserved | frame->arg;
    return frame->type == HD_FRAME_DATA && frame->id == f->tx_stream && frame->sequence == f->tx_count && !zero;
}

/* Writes a frame. @return its bytes; *bare: it has no header */
static inline size_t udapl_pack(const struct udapl_framing *f, const struct hd_frame *frame, const void *payload,
                                char *slot, bool *bare)
{
    bool ordinary = udapl_is_ordinary(f, frame);
    uint16_t credits = (uint16_t)(frame->credits + f->tx_kept); /* together no more than there are */
    *bare = ordinary && frame->length && frame->length % UDAPL_BARE == 0 && credits <= f->kept_max;
    size_t head = *bare ? 0 : ordinary ? sizeof(struct udapl_short) : sizeof(struct hd_frame);
    size_t size = head + frame->length, pad = !*bare && size % UDAPL_BARE == 0 ? UDAPL_PAD : 0;
    if (head == sizeof(struct udapl_short)) {
        struct udapl_short less = {.type = UDAPL_SHORT, .pad = (uint8_t)pad, .credits = credits};
        memcpy(slot, &less, sizeof(less));
    } else if (head) {
        struct hd_frame whole = *frame;
        whole.credits = credits;
        memcpy(slot, &whole, sizeof(whole));
    }
    if (frame->length)
        memcpy(slot + head, payload, frame->length);
    return size + pad;
}

/* The frame is on its way. */
static inline void udapl_packed(struct udapl_framing *f, const struct hd_frame *frame, bool bare)
{
    f->tx_count++;
    f->tx_kept = bare ? f->tx_kept + frame->credits : 0;
    if (frame->type == HD_FRAME_DATA)
        f->tx_stream = frame->id;
}

/* What an ordinary message's whole header would have been. */
static inline struct hd_frame udapl_ordinary(const struct udapl_framing *f, uint32_t length, uint16_t credits)
{
    return (struct hd_frame){
        .type = HD_FRAME_DATA, .credits = credits, .length = length, .id = f->rx_stream, .sequence = f->rx_count};
}

/* Reads a frame of 1 byte at least, of a peer that is taken for hostile. @return 0, or -EPROTO */
static inline int udapl_unpack(const struct udapl_framing *f, const char *slot, uint32_t length, size_t frame_max,
                               struct hd_frame *frame, const char **payload)
{
    struct udapl_short less;
    size_t head = 0;
    bool bare = length % UDAPL_BARE == 0;
    if (bare) {
        *frame = udapl_ordinary(f, length, 0);
    } else if ((uint8_t)slot[0] == UDAPL_SHORT && length >= sizeof(less)) {
        head = sizeof(less);
        memcpy(&less, slot, head);
        *frame = udapl_ordinary(f, length - (uint32_t)head - less.pad, less.credits);
    } else if (length >= sizeof(*frame)) {
        head = sizeof(*frame);
        memcpy(frame, slot, head);
    } else {
        hd_error(-EPROTO, "a frame of %u bytes makes no sense", length);
        return -EPROTO;
    }
    size_t size = head + frame->length;
    if (!bare && size % UDAPL_BARE == 0)
        size += UDAPL_PAD;
    if (frame->length > frame_max || length != size) {
        hd_error(-EPROTO, "a frame says %u bytes and comes in %u", frame->length, length);
        return -EPROTO;
    }
    *payload = slot + head;
    return 0;
}

/* The frame was taken. */
static inline void udapl_unpacked(struct udapl_framing *f, const struct hd_frame *frame)
{
    f->rx_count++;
    if (frame->type == HD_FRAME_DATA)
        f->rx_stream = frame->id;
}

#endif
