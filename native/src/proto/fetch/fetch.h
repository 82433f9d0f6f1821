/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_FETCH_H
#define HD_FETCH_H

/* What the files about fetches share. All of it under the link's lock, unless a comment says otherwise. */

#include <howdah/fetch.h>

#include "link/link.h"
#include "core/queue.h"

enum fetch_state {
    FETCH_ASKED,   /* server: the program has not answered; client: nothing has come */
    FETCH_MOVING,  /* segments are coming or going */
    FETCH_COMPLETE /* client: the event was posted; server: everything is out */
};

struct hd_fetch {
    struct hd_link *link; /* a reference */
    bool client;
    enum fetch_state state;
    uint32_t handle;     /* the client's */
    struct hd_list node; /* client: link->fetch.tx_ours; server: link->fetch.tx_replies */
    struct hd_event_node event;
    hd_queue *queue;
    uint64_t offset, length;
    uint16_t service_length, name_length;
    bool in_table; /* client: the final answer has not come; server: in link->fetch.served */
    bool released; /* client: the program gave up the handle */
    bool cancelled;
    int error;
    char cause[HD_CAUSE_MAX];

    /* client */
    hd_buf *into;
    bool lent;                         /* `into` is the program's, who has it back with the event */
    uint64_t started;                  /* hd_ticks() */
    size_t total, announced, received; /* bytes */
    unsigned moving;                   /* rendezvous under way */

    /* server */
    struct hd_list in_served;
    hd_buf *chunk; /* read and not yet sent */
    size_t chunk_offset, chunk_length, sent;
    size_t reading, piece_bytes; /* of a file: asked of the I/O threads; in memory and not with the client */
    struct hd_list waits;        /* link->fetch.tx_pieces */
    unsigned inflight;
    int file; /* -1: none */
    uint64_t file_offset;
    bool io_busy;
    _Atomic bool landed; /* the client has memory for all of it, and a piece */
    struct hd_list io_node;
    char text[]; /* service, 0, name */
};

struct hd_fetch *hd_fetch_create(struct hd_link *link, bool client, const void *service, size_t service_length,
                                 const void *name, size_t name_length);
/* Not under the link's lock: this may be its last reference. */
void hd_fetch_destroy(struct hd_fetch *fetch);
/* By code that holds a reference of its own on the link. */
void hd_fetch_destroy_locked(struct hd_fetch *fetch);

/* Server: the request is off the link's books. */
void hd_fetch_end_served(struct hd_fetch *fetch);
/* Server: what is ready shall go. */
void hd_fetch_answer(struct hd_fetch *fetch);
void hd_fetch_transmit_replies(struct hd_link *link);
/* Has the next piece of a file read, unless enough is under way or the fetch has ended. */
void hd_fetch_read_ahead(struct hd_fetch *fetch);

/* Server: memory of pieces was given back. Others of the link may go on. */
void hd_fetch_give_back(struct hd_fetch *fetch, size_t length);

/* Files that are being answered with are counted: while there are any, the I/O threads keep a buffer of their own. */
void hd_io_add_file(struct hd_engine *engine);
void hd_io_remove_file(struct hd_engine *engine);

int hd_io_start(struct hd_engine *engine);
void hd_io_stop(struct hd_engine *engine);

/* ---- for the link and for transfers ---- */

int hd_fetch_on_request(struct hd_link *link, uint32_t handle, const void *payload, size_t length);
int hd_fetch_on_reply(struct hd_link *link, uint32_t handle, uint64_t error, const void *payload, size_t length);
int hd_fetch_on_segment(struct hd_link *link, uint32_t handle, uint64_t server_handle,
                        const struct hd_segment *segment);
void hd_fetch_on_cancel(struct hd_link *link, uint32_t handle);
/* The pieces of blocks that move by rendezvous, at either end. */
extern const struct hd_rndv_owner hd_fetch_pieces;
/* Server: a piece went out. */
void hd_fetch_sent(struct hd_fetch *fetch, size_t length, int error);
void hd_fetch_transmit(struct hd_link *link);
/* The link is lost: ends what may end yet. */
void hd_fetch_lost(struct hd_link *link);
/* Nobody writes into our memory any more: ends the rest. */
void hd_fetch_quiet(struct hd_link *link);

#endif
