/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_WIRE_H
#define HD_WIRE_H

/*
 * What goes over the wire: the greeting on the TCP connection, and the frames on a link. docs/design/engine.md
 * describes both. Everything here decodes bytes of a peer that is taken for hostile: lengths are checked before use,
 * nothing is trusted, nothing allocated.
 */

#include <assert.h>

#include <howdah/link.h>

#include "base/util.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little endian; frames are used in place");

/* ---- frames ---- */

enum hd_frame_type {
    HD_FRAME_CREDIT = 1, /* returns credits only; needs none itself */
    HD_FRAME_OPEN,       /* id: new stream; payload: service */
    HD_FRAME_DATA,       /* id: stream; payload: one message */
    HD_FRAME_WINDOW,     /* id: stream; arg: bytes the receiver took */
    HD_FRAME_CLOSE,      /* id: stream; nothing more will be sent */
    HD_FRAME_RESET,      /* id: stream; arg: errno; the sender of this has forgotten the stream */
    HD_FRAME_RTS,        /* id: stream; arg: sender's handle; payload: struct hd_rts */
    HD_FRAME_CTS,        /* id: sender's handle; payload: struct hd_cts */
    HD_FRAME_FRAG,       /* id: receiver's handle; arg: offset; payload: bytes */
    HD_FRAME_DONE,       /* id: receiver's handle; everything was written or sent */
    HD_FRAME_FIN,        /* id: sender's handle; arg: errno or 0; the receiver needs the memory no more */
    HD_FRAME_FETCH,      /* id: client's handle; payload: struct hd_fetch_wire, service, name */
    HD_FRAME_REPLY,      /* id: client's handle; arg: errno or 0; payload: cause in words, or the whole block */
    HD_FRAME_SEGMENT,    /* id: client's handle; arg: server's handle; payload: struct hd_segment */
    HD_FRAME_CANCEL,     /* id: client's handle */
    HD_FRAME_RETIRE,     /* arg: 0 asks to close an idle link, 1 agrees, 2 refuses */
    HD_FRAME_TYPES
};

struct hd_frame {
    uint8_t type;
    uint8_t flags;    /* none defined; 0 */
    uint16_t credits; /* credits given back */
    uint32_t length;  /* of the payload that follows */
    uint32_t id;
    uint32_t sequence; /* counts the frames of a direction: loss and repetition show */
    uint64_t arg;
    uint32_t checksum; /* CRC-32C of header (this field 0) and payload, if agreed on; else 0 */
    uint32_t reserved; /* 0 */
};
static_assert(sizeof(struct hd_frame) == 32, "frame header");

enum { HD_MODE_READ = 1, HD_MODE_WRITE = 2, HD_MODE_COPY = 3 };

struct hd_rts {
    uint64_t length, key, address;
    uint32_t mode, reserved; /* mode: what the sender would like; READ only if key and address are good */
};

struct hd_cts {
    uint64_t key, address;
    uint32_t handle, mode; /* WRITE or COPY */
};

struct hd_fetch_wire {
    uint64_t offset, length;
    uint16_t service_length, name_length;
    uint32_t reserved;
};

struct hd_segment {
    uint64_t total;  /* length of the whole block */
    uint64_t offset; /* of this piece in it */
    struct hd_rts rts;
};

/* Frames can always be this large, whatever the thresholds, so that every control frame fits. */
#define HD_FRAME_MIN_PAYLOAD 2048
#define HD_CAUSE_MAX         160

uint32_t hd_frame_checksum(const struct hd_frame *frame, const void *payload);

/* Whether the header makes sense by itself: known type, zero reserved fields, payload length that this type can have.
 */
bool hd_frame_valid_control(const struct hd_frame *frame, size_t payload_max);

static inline bool hd_frame_valid(const struct hd_frame *frame, size_t payload_max)
{
    if (frame->type == HD_FRAME_DATA) /* any length */
        return frame->flags == 0 && frame->reserved == 0 && frame->length <= payload_max;
    return hd_frame_valid_control(frame, payload_max);
}

/* ---- greeting ---- */

#define HD_MAGIC_LENGTH 8
#define HD_WIRE_MAJOR   1
#define HD_WIRE_MINOR   0
#define HD_BODY_MAX     4096
#define HD_BLOB_MAX     256
#define HD_NAME_MAX     128
#define HD_ID_LENGTH    16
#define HD_OFFERS_MAX   8

enum hd_note_kind { HD_NOTE_CLIENT, HD_NOTE_SERVER, HD_NOTE_CHOICE, HD_NOTE_ANSWER, HD_NOTE_CONFIRM, HD_NOTE_KINDS };

/* In front of every note of the greeting. */
struct hd_note_head {
    uint8_t magic[HD_MAGIC_LENGTH];
    uint8_t major, minor;
    uint16_t kind;
    uint32_t length; /* of the body */
};
static_assert(sizeof(struct hd_note_head) == 16, "note header");

struct hd_limits {
    uint32_t frame_max;  /* largest payload accepted between hosts */
    uint32_t credits;    /* frames accepted at a time */
    uint32_t stream_max; /* streams accepted */
    uint32_t fetch_max;  /* fetches accepted */
    uint64_t window;     /* bytes accepted per stream */
    uint64_t message_max;
    uint32_t checksum;        /* 1: frames shall carry checksums */
    uint32_t local_frame_max; /* largest payload accepted within a host */
};

struct hd_offer {
    char name[16];
    uint16_t length;
    uint8_t blob[HD_BLOB_MAX];
};

/* All notes in one shape; each kind uses some of the members. */
struct hd_note {
    enum hd_note_kind kind;
    uint8_t engine[HD_ID_LENGTH];     /* CLIENT, SERVER */
    char name[HD_NAME_MAX];           /* CLIENT, SERVER: who, for people */
    char service[HD_SERVICE_MAX + 1]; /* SERVER: what streams are meant for; may be "" */
    struct hd_limits limits;          /* CLIENT, SERVER */
    uint32_t patience;                /* CLIENT, SERVER: ms that the sender still waits; 0: not said */
    /* CLIENT, SERVER: transports; CHOICE, ANSWER: the one with its address; CONFIRM: the one with its last word */
    struct hd_offer offers[HD_OFFERS_MAX];
    unsigned offer_count;
    uint8_t token[HD_ID_LENGTH]; /* CHOICE: names the link */
    bool attach;                 /* CHOICE: the link with this token exists already */
    bool refused;                /* CHOICE, ANSWER, CONFIRM: no link; `reason` */
    char reason[HD_CAUSE_MAX];
};

/* Encodes into `bytes` (room for sizeof(struct hd_note_head) + HD_BODY_MAX). @return length. */
size_t hd_note_encode(const struct hd_note *note, uint8_t *bytes);

/* Checks a header. @return body length, or -EPROTO. */
int hd_note_head_decode(const uint8_t head[sizeof(struct hd_note_head)], enum hd_note_kind expected);

/* Decodes a body; unknown parts are skipped, so that later versions can add some. -EPROTO if it is malformed or lacks a
 * part. */
int hd_note_decode(const uint8_t *body, size_t length, enum hd_note_kind kind, struct hd_note *note);

/* Copies text of the peer and ends it; what could fool a terminal or a log becomes '?'. */
void hd_copy_text(char *to, size_t size, const void *from, size_t length);

/* Whether the bytes can begin a client's greeting. */
bool hd_magic_matches(const void *bytes, size_t length);

#endif
