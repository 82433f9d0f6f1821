/* SPDX-License-Identifier: Apache-2.0 */

/* A hostile peer on a link that is up: each input is a row of frames. The transport is a stub that swallows what we
 * send. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <howdah/howdah.h>

#include "link/link.h"
#include "proto/rendezvous.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int swallow(struct hd_ep *ep, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    (void)ep, (void)frame, (void)payload, (void)owner;
    return 0;
}

static int pretend(struct hd_ep *ep, const struct hd_rma *rma)
{
    (void)ep;
    return rma->offset + rma->length <= rma->buf->capacity ? 0 : (abort(), 0);
}

static int anywhere(struct hd_ep *ep, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    (void)ep, (void)buf;
    *key = 1;
    *address = offset;
    return 0;
}

static const struct hd_transport_ops stub = {.size = sizeof(stub),
                                             .name = "stub",
                                             .send = swallow,
                                             .get = pretend,
                                             .put = pretend,
                                             .locate = anywhere,
                                             .pending = NULL};

static void no_log(void *arg, enum hd_log_level level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static struct {
    hd_engine *engine;
    hd_queue *queue;
    struct hd_transport_ops ops;
    struct hd_device device;
} world;

static void begin(void)
{
    if (world.engine)
        return;
    hd_conf *conf = hd_conf_create();
    struct hd_engine_params params = {.size = sizeof(params), .name = "fuzz", .log = no_log, .conf = conf};
    hd_conf_set(conf, "hadoop.rdma.memory.limit", "32m", "fuzz");
    hd_conf_set(conf, "hadoop.rdma.memory.slab.size", "1m", "fuzz");
    if (hd_engine_create(&params, &world.engine) || hd_queue_create(world.engine, &world.queue) ||
        hd_engine_listen(world.engine, "t", world.queue, 0))
        abort();
    hd_conf_destroy(conf);
    hd_transport_complete(&world.ops, &stub);
    world.device = *world.engine->devices[0];
    world.device.ops = &world.ops;
}

static struct hd_link *link_up(struct hd_ep *ep)
{
    static const uint8_t zeros[HD_ID_LENGTH];
    struct hd_limits limits = {.frame_max = 2048,
                               .local_frame_max = 2048,
                               .credits = 64,
                               .stream_max = 8,
                               .fetch_max = 8,
                               .window = 65536,
                               .message_max = 1 << 20};
    struct hd_link_params params = {.address = "fuzz:1",
                                    .peer_name = "fuzz",
                                    .peer_id = zeros,
                                    .token = zeros,
                                    .initiator = true,
                                    .mine = limits,
                                    .peers = limits,
                                    .guard_fd = -1};
    struct hd_link *link;
    *ep = (struct hd_ep){.ops = &world.ops,
                         .device = &world.device,
                         .caps = HD_CAP_GET | HD_CAP_PUT | HD_CAP_COPY,
                         .frame_tx = 2048,
                         .frame_rx = 2048};
    if (hd_link_create(world.engine, &params, &link, &ep->sink))
        abort();
    link->ep = ep;
    link->eager_max = 2048;
    link->counters = hd_stats_peer(world.engine->stats, "fuzz");
    link->by_transport = hd_stats_transport(world.engine->stats, "self");
    return link;
}

/* The program's side: takes and answers everything. */
static void live(struct hd_link *link)
{
    struct hd_event event;
    hd_link_lock(link);
    if (hd_link_usable(link)) {
        hd_rndv_run(link, UINT_MAX);
        hd_link_transmit(link);
    }
    hd_link_unlock(link);
    while (hd_queue_wait(world.queue, &event, 1, 0) == 1) {
        hd_buf *msg;
        if (event.type == HD_EVENT_FETCH) {
            if (hd_buf_alloc(world.engine, 3000, &msg))
                hd_fetch_reply_error(event.fetch, -ENOBUFS, NULL);
            else
                hd_fetch_reply_buf(event.fetch, msg, 0, 3000), hd_buf_unref(msg);
        } else if (event.type == HD_EVENT_FETCHED) {
            hd_fetch_release(event.fetch);
        } else if (event.type == HD_EVENT_STREAM) {
            while (hd_recv(event.stream, &msg, 0) == 0)
                hd_buf_unref(msg);
            hd_stream_close(event.stream);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_ep ep;
    hd_stream *stream;
    hd_fetch *fetch;
    hd_buf *big;
    struct hd_fetch_params ask = {
        .size = sizeof(ask), .name = "x", .name_length = 1, .length = HD_FETCH_ALL, .queue = world.queue};
    begin();
    ask.queue = world.queue;
    struct hd_link *link = link_up(&ep);
    if (hd_stream_open(link, "t", NULL, &stream) || hd_fetch_start(link, "t", &ask, &fetch) ||
        hd_buf_alloc(world.engine, 100000, &big))
        abort();
    hd_send_buf(stream, big, 0, 100000, 0);
    hd_buf_unref(big);
    for (int n = 0; size >= sizeof(struct hd_frame) && n < 200; n++) {
        struct hd_frame frame;
        memcpy(&frame, data, sizeof(frame));
        data += sizeof(frame);
        size -= sizeof(frame);
        frame.length = frame.length % 2100 < size ? frame.length % 2100 : (uint32_t)size;
        if (frame.flags != 0xaa) { /* mostly right where a peer must be to get any further */
            frame.flags = 0;
            frame.reserved = frame.checksum = 0;
            frame.sequence = link->flow.rx_sequence;
            frame.credits %= 3;
        }
        uint8_t *payload = malloc(frame.length + 1);
        memcpy(payload, data, frame.length);
        hd_link_lock(link);
        int err = hd_link_frame(link, &frame, payload, NULL);
        if (err && err != -ENOBUFS)
            hd_link_doom(link, err, "fuzz");
        hd_link_unlock(link);
        free(payload);
        data += frame.length;
        size -= frame.length;
        live(link);
        if (n % 4 == 0 && hd_recv(stream, &big, 0) == 0)
            hd_buf_unref(big);
    }
    hd_stream_close(stream);
    hd_link_close(link);
    live(link);
    hd_link_lock(link);
    if (!hd_link_reap(link))
        abort();
    hd_link_unlock(link);
    hd_link_put(link);
    if (atomic_load(&world.engine->stats->now->memory_used))
        abort(); /* something leaked */
    return 0;
}
