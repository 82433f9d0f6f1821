/* SPDX-License-Identifier: Apache-2.0 */

/* The frames and the turns of a link's life, handed to what they are for. */

#include "proto/protocols.h"

#include "proto/fetch/fetch.h"
#include "progress/comm.h"
#include "proto/rendezvous.h"
#include "proto/stream/stream.h"

/* Payloads that are parsed are copied first: the peer may change what it sent while we look. */

static int proto_on_open(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    char service[HD_SERVICE_MAX];
    (void)owner;
    memcpy(service, payload, f->length);
    return hd_stream_on_open(link, f->id, service, f->length);
}

static int proto_on_window(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)payload, (void)owner;
    return hd_stream_on_window(link, f->id, f->arg);
}

static int proto_on_close(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)payload, (void)owner;
    return hd_stream_on_close(link, f->id);
}

static int proto_on_reset(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)payload, (void)owner;
    return hd_stream_on_reset(link, f->id, f->arg);
}

static int proto_on_rts(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    struct hd_rts rts;
    (void)owner;
    memcpy(&rts, payload, sizeof(rts));
    return hd_stream_on_rts(link, f->id, f->arg, &rts);
}

static int proto_on_cts(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    struct hd_cts cts;
    (void)owner;
    memcpy(&cts, payload, sizeof(cts));
    return hd_rndv_on_cts(link, f->id, &cts);
}

static int proto_on_frag(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)owner;
    return hd_rndv_on_frag(link, f->id, f->arg, payload, f->length);
}

static int proto_on_done(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)payload, (void)owner;
    return hd_rndv_on_done(link, f->id);
}

static int proto_on_fin(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)payload, (void)owner;
    return hd_rndv_on_fin(link, f->id, f->arg);
}

static int proto_on_fetch(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    uint8_t copy[sizeof(struct hd_fetch_wire) + HD_SERVICE_MAX + HD_FETCH_NAME_MAX];
    (void)owner;
    memcpy(copy, payload, f->length);
    return hd_fetch_on_request(link, f->id, copy, f->length);
}

static int proto_on_reply(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)owner;
    return hd_fetch_on_reply(link, f->id, f->arg, payload, f->length);
}

static int proto_on_segment(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    struct hd_segment segment;
    (void)owner;
    memcpy(&segment, payload, sizeof(segment));
    return hd_fetch_on_segment(link, f->id, f->arg, &segment);
}

static int proto_on_cancel(struct hd_link *link, const struct hd_frame *f, const void *payload, hd_buf *owner)
{
    (void)payload, (void)owner;
    hd_fetch_on_cancel(link, f->id);
    return 0;
}

static void proto_room(struct hd_link *link)
{
    if (!hd_list_empty(&link->fetch.tx_ours) || !hd_list_empty(&link->fetch.tx_replies))
        hd_fetch_transmit(link);
    if (!hd_list_empty(&link->rndv.tx_frags))
        hd_rndv_transmit(link);
    if (!hd_list_empty(&link->streams.tx_stalled))
        hd_stream_wake_stalled(link);
}

static void proto_lost(struct hd_link *link)
{
    hd_stream_lost(link);
    hd_fetch_lost(link);
}

static void proto_quiet(struct hd_link *link)
{
    hd_fetch_quiet(link);
    hd_rndv_destroy_all(link);
}

static void proto_freed(struct hd_link *link)
{
    hd_msg_free_kept(link);
    hd_rndv_free_kept(link);
}

const struct hd_link_hooks hd_protocols = {.frame = {[HD_FRAME_OPEN] = proto_on_open,
                                                     [HD_FRAME_DATA] = hd_stream_on_data,
                                                     [HD_FRAME_WINDOW] = proto_on_window,
                                                     [HD_FRAME_CLOSE] = proto_on_close,
                                                     [HD_FRAME_RESET] = proto_on_reset,
                                                     [HD_FRAME_RTS] = proto_on_rts,
                                                     [HD_FRAME_CTS] = proto_on_cts,
                                                     [HD_FRAME_FRAG] = proto_on_frag,
                                                     [HD_FRAME_DONE] = proto_on_done,
                                                     [HD_FRAME_FIN] = proto_on_fin,
                                                     [HD_FRAME_FETCH] = proto_on_fetch,
                                                     [HD_FRAME_REPLY] = proto_on_reply,
                                                     [HD_FRAME_SEGMENT] = proto_on_segment,
                                                     [HD_FRAME_CANCEL] = proto_on_cancel},
                                           .done = hd_rndv_op_done,
                                           .run = hd_rndv_run,
                                           .room = proto_room,
                                           .memory = hd_rndv_retry_memory,
                                           .senders_memory = hd_stream_retry_memory,
                                           .started = hd_comm_adopt,
                                           .lost = proto_lost,
                                           .quiet = proto_quiet,
                                           .freed = proto_freed};
