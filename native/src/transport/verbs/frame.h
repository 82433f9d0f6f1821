/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_VERBS_FRAME_H
#define HD_VERBS_FRAME_H

/*
 * How frames travel over verbs. A send may carry 32 bits aside (immediate data), which say what is in front of the
 * payload:
 *
 *   VERBS_WHOLE    struct hd_frame
 *   anything else  nothing: an ordinary message, of this stream and with these credits
 *   none           nothing: an ordinary message, of stream and credits like the last one that had them
 *
 * So a message that fills packets exactly does not cost one more, and of one that follows another like it only the
 * payload travels.
 */

#include <arpa/inet.h>

#include "transport/wire.h"

#define VERBS_ID_BITS 20
#define VERBS_WHOLE   UINT32_MAX /* no message's: that stream has a whole header */

enum verbs_form { VERBS_FORM_WHOLE, VERBS_FORM_SHORT, VERBS_FORM_BARE };

/* Both directions of an endpoint. Begins as VERBS_FRAMING. */
struct verbs_framing {
    uint32_t tx_count, rx_count; /* frames ever: the sequence of those without a whole header */
    uint32_t tx_word, rx_word;   /* of the last message that had one; VERBS_WHOLE: none had */
};
#define VERBS_FRAMING ((struct verbs_framing){.tx_word = VERBS_WHOLE, .rx_word = VERBS_WHOLE})

static inline bool verbs_is_ordinary(const struct verbs_framing *f, const struct hd_frame *frame)
{
    uint64_t zero = frame->flags | frame->checksum | frame->reserved | frame->arg;
    return frame->type == HD_FRAME_DATA && frame->length && frame->sequence == f->tx_count && !zero &&
           frame->id < (1U << VERBS_ID_BITS) - 1 && frame->credits < 1U << (32 - VERBS_ID_BITS);
}

/* How a frame goes; *word is what it carries aside, in the order of this machine's bytes. */
static inline enum verbs_form verbs_form(const struct verbs_framing *f, const struct hd_frame *frame, uint32_t *word)
{
    *word = VERBS_WHOLE;
    if (!verbs_is_ordinary(f, frame))
        return VERBS_FORM_WHOLE;
    *word = (uint32_t)frame->credits << VERBS_ID_BITS | frame->id;
    return *word == f->tx_word ? VERBS_FORM_BARE : VERBS_FORM_SHORT;
}

/* The frame is on its way. */
static inline void verbs_sent(struct verbs_framing *f, enum verbs_form form, uint32_t word)
{
    f->tx_count++;
    if (form == VERBS_FORM_SHORT)
        f->tx_word = word;
}

/* Reads a frame of `length` bytes of a peer that is taken for hostile. `word`: what came aside, NULL if nothing did.
 * @return bytes in front of the payload, or -EPROTO */
static inline int verbs_unpack(const struct verbs_framing *f, const uint32_t *word, const char *bytes, uint32_t length,
                               size_t frame_max, struct hd_frame *frame)
{
    uint32_t both = word ? *word : f->rx_word;
    int head = both == VERBS_WHOLE ? (int)sizeof(*frame) : 0;
    if (head && length >= sizeof(*frame))
        memcpy(frame, bytes, sizeof(*frame));
    else
        *frame = (struct hd_frame){.type = HD_FRAME_DATA,
                                   .credits = (uint16_t)(both >> VERBS_ID_BITS),
                                   .length = length,
                                   .id = both & ((1U << VERBS_ID_BITS) - 1),
                                   .sequence = f->rx_count};
    if (frame->length > frame_max || length != (uint64_t)head + frame->length)
        return hd_error(-EPROTO, "a frame of %u bytes has an impossible length", length);
    return head;
}

/* The frame was taken. */
static inline void verbs_received(struct verbs_framing *f, const uint32_t *word)
{
    f->rx_count++;
    if (word && *word != VERBS_WHOLE)
        f->rx_word = *word;
}

#endif
