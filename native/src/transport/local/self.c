/* SPDX-License-Identifier: Apache-2.0 */

/* The transport of an engine to itself: two endpoints over private memory. Besides serving processes that connect to
 * themselves it is the smallest complete transport to read. */

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/local/ring.h"

/* Both ends hold it; the last one frees it. */
struct shared {
    _Atomic int refs;
    int event_fds[2];
    struct hd_ring_segment segment;
};

struct self_ep {
    struct hd_ring_ep ring;
    struct hd_list pending; /* in `offers`, until answered */
    struct hd_ep_params params;
    uint8_t address[HD_ID_LENGTH];
    struct shared *shared;
};

static pthread_mutex_t offers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hd_list offers = {&offers, &offers};

static size_t self_describe(struct hd_device *device, uint8_t *blob)
{
    memcpy(blob, device->engine_id, HD_ID_LENGTH);
    return HD_ID_LENGTH;
}

static const char *self_reachable(struct hd_device *device, const uint8_t *blob, size_t length)
{
    bool same = length == HD_ID_LENGTH && memcmp(blob, device->engine_id, HD_ID_LENGTH) == 0;
    return same ? NULL : "the peer is another process";
}

static int self_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **out)
{
    struct self_ep *ep = calloc(1, sizeof(*ep));
    if (!ep)
        return hd_error(-ENOMEM, "out of memory");
    ep->ring.base = (struct hd_ep){.ops = device->ops,
                                   .device = device,
                                   .sink = params->sink,
                                   .caps = HD_CAP_GET | HD_CAP_PUT | HD_CAP_COPY | HD_CAP_ENDS,
                                   .frame_tx = params->peers.frame_max,
                                   .frame_rx = params->mine.frame_max};
    ep->params = *params;
    hd_list_init(&ep->pending);
    *out = &ep->ring.base;
    return 0;
}

static int self_offer(struct hd_ep *base, uint8_t *address, uint16_t *length)
{
    struct self_ep *ep = (struct self_ep *)base;
    int err = hd_random_bytes(ep->address, HD_ID_LENGTH);
    if (err)
        return err;
    memcpy(address, ep->address, HD_ID_LENGTH);
    *length = HD_ID_LENGTH;
    pthread_mutex_lock(&offers_lock);
    hd_list_add_tail(&offers, &ep->pending);
    pthread_mutex_unlock(&offers_lock);
    return 0;
}

static struct shared *shared_create(const struct hd_ep_params *params)
{
    size_t size = sizeof(struct shared) + hd_ring_segment_size(&params->mine, &params->peers);
    struct shared *shared = aligned_alloc(HD_CACHE_LINE, hd_align(size, HD_CACHE_LINE));
    if (!shared)
        return NULL;
    memset(shared, 0, sizeof(*shared)); /* the rings need no clearing */
    atomic_init(&shared->refs, 2);
    for (int i = 0; i < 2; i++)
        shared->event_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shared->event_fds[0] >= 0 && shared->event_fds[1] >= 0)
        return shared;
    for (int i = 0; i < 2; i++)
        if (shared->event_fds[i] >= 0)
            close(shared->event_fds[i]);
    free(shared);
    return NULL;
}

static void join(struct self_ep *ep, struct shared *shared, bool is_client)
{
    ep->shared = shared;
    ep->ring.event_fd = shared->event_fds[is_client];
    ep->ring.peer_event_fd = shared->event_fds[!is_client];
    hd_ring_attach(&ep->ring, &shared->segment, is_client, &ep->params);
}

static int self_answer(struct hd_ep *base, const uint8_t *address, size_t length, int64_t deadline)
{
    (void)deadline;
    struct self_ep *ep = (struct self_ep *)base, *client = NULL;
    struct shared *shared = NULL;
    pthread_mutex_lock(&offers_lock);
    for (struct hd_list *n = offers.next; n != &offers && length == HD_ID_LENGTH && !client; n = n->next) {
        struct self_ep *offer = hd_container(n, struct self_ep, pending);
        if (memcmp(offer->address, address, HD_ID_LENGTH) == 0)
            client = offer;
    }
    if (client && (shared = shared_create(&ep->params))) { /* nothing is allocated for who only claims to be us */
        hd_list_remove(&client->pending);
        join(client, shared, true);
        join(ep, shared, false);
    }
    pthread_mutex_unlock(&offers_lock);
    if (!client)
        return hd_error(-EPROTO, "the peer claims to be this process but is not");
    return shared ? 0 : hd_error(-ENOMEM, "no memory or descriptors for a link");
}

static int self_finish(struct hd_ep *base, int64_t deadline)
{
    (void)deadline;
    pthread_mutex_lock(&offers_lock);
    bool joined = ((struct self_ep *)base)->shared != NULL;
    pthread_mutex_unlock(&offers_lock);
    return joined ? 0 : hd_error(-EPROTO, "nobody answered");
}

static int self_locate(struct hd_ep *ep, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    if (!buf->slab->device[ep->device->index].registered)
        return -EOPNOTSUPP;
    *key = 0;
    *address = (uint64_t)(uintptr_t)(buf->base + offset);
    return 0;
}

static int copy(struct hd_ep *base, const struct hd_rma *rma, bool to_peer)
{
    base->sink.unlock(base->sink.arg);
    if (to_peer)
        memcpy((void *)(uintptr_t)rma->address, rma->buf->base + rma->offset, rma->length);
    else
        hd_rma_copy(rma, (const void *)(uintptr_t)rma->address);
    base->sink.lock(base->sink.arg);
    atomic_thread_fence(memory_order_acquire); /* the copy before the look */
    return hd_ring_peer_closed((struct hd_ring_ep *)base) ? hd_error(-ECONNRESET, "the peer closed the link") : 0;
}

static int self_get(struct hd_ep *base, const struct hd_rma *rma)
{
    return copy(base, rma, false);
}

static int self_put(struct hd_ep *base, const struct hd_rma *rma)
{
    return copy(base, rma, true);
}

static void self_close(struct hd_ep *base)
{
    if (((struct self_ep *)base)->shared)
        hd_ring_close(base);
}

static void self_retire(struct hd_ep *base)
{
    struct self_ep *ep = (struct self_ep *)base;
    if (ep->shared)
        atomic_store_explicit(&ep->ring.tx->retired, 1, memory_order_release);
}

static bool self_quiet(struct hd_ep *base)
{
    struct self_ep *ep = (struct self_ep *)base;
    return !ep->shared || atomic_load_explicit(&ep->ring.rx->retired, memory_order_acquire) != 0;
}

static void self_destroy(struct hd_ep *base)
{
    struct self_ep *ep = (struct self_ep *)base;
    pthread_mutex_lock(&offers_lock);
    hd_list_remove(&ep->pending);
    pthread_mutex_unlock(&offers_lock);
    if (ep->shared) {
        self_close(base);
        self_retire(base);
        if (atomic_fetch_sub(&ep->shared->refs, 1) == 1) {
            close(ep->shared->event_fds[0]);
            close(ep->shared->event_fds[1]);
            free(ep->shared);
        }
    }
    free(ep);
}

const struct hd_transport_ops hd_self_ops = {
    .size = sizeof(struct hd_transport_ops),
    .name = "self",
    .describe = self_describe,
    .reachable = self_reachable,
    .ep_create = self_create,
    .offer = self_offer,
    .answer = self_answer,
    .finish = self_finish,
    .locate = self_locate,
    HD_RING_OPERATIONS,
    .get = self_get,
    .put = self_put,
    .close = self_close,
    .retire = self_retire,
    .quiet = self_quiet,
    .destroy = self_destroy,
};
