/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rings that frames are sent from. Each link has a small one of its own, in which one frame at least has room whatever
 * the peer does. A link that fills it borrows a wide one (verbs.send.buffer) and gives that back when it is idle: so
 * what is pinned follows the links that are busy, not those that are there. Where no wide one can be had a link goes on
 * with its own, slower.
 *
 * Positions in a ring only grow. When a link changes rings they begin anew: frames that are still on their way lie in
 * the ring of before, whose room is of no interest until they are done.
 */

#include <stdlib.h>

#include "transport/verbs/verbs.h"

#define KEPT      16                    /* wide rings that nobody has and that stay registered */
#define PART      8                     /* wide rings take at most one part of so many of links.memory, besides it */
#define ASK_AGAIN ((int64_t)1000000000) /* how soon a link that got none asks again */

size_t hd_verbs_ring_own(size_t frame)
{
    return frame > VERBS_RING_OWN ? hd_power_of_two(frame) : VERBS_RING_OWN;
}

int hd_verbs_ring_open(struct verbs_device *dev, size_t size, struct verbs_ring *ring)
{
    *ring = (struct verbs_ring){.base = hd_alloc_pages(size), .size = size};
    if (!ring->base)
        return hd_error(-ENOMEM, "out of memory");
    ring->mr = hd_verbs_register(dev, ring->base, size, IBV_ACCESS_LOCAL_WRITE);
    if (!ring->mr) {
        free(ring->base);
        ring->base = NULL;
        return -ENOMEM;
    }
    hd_count(dev->device->stats, memory_send, size);
    return 0;
}

void hd_verbs_ring_close(struct verbs_device *dev, struct verbs_ring *ring)
{
    if (!ring->base)
        return;
    dev->api->dereg_mr(ring->mr);
    free(ring->base);
    ring->base = NULL;
    hd_count(dev->device->stats, memory_send, -ring->size);
}

/* ---- wide ones ---- */

static struct verbs_ring *make_wide(struct verbs_device *dev, size_t size)
{
    struct verbs_ring *ring = malloc(sizeof(*ring));
    if (ring && hd_verbs_ring_open(dev, size, ring) == 0)
        return ring;
    if (!atomic_exchange(&dev->told_of_rings, true))
        hd_log(dev->device->log, HD_LOG_WARN, "%s; links send through 64 KB each, which is slower",
               ring ? hd_last_error() : "out of memory");
    free(ring);
    return NULL;
}

static struct verbs_ring *kept_ring(struct verbs_device *dev, size_t size)
{
    for (struct verbs_ring **at = &dev->rings; *at; at = &(*at)->next) {
        struct verbs_ring *ring = *at;
        if (ring->size != size)
            continue;
        *at = ring->next;
        dev->rings_kept--;
        return ring;
    }
    return NULL;
}

/* A wide ring, or NULL: there is no more of them to be had. */
static struct verbs_ring *borrow(struct verbs_device *dev, size_t size)
{
    pthread_mutex_lock(&dev->lock);
    bool allowed = dev->rings_lent + size <= (size_t)dev->device->conf->links_memory / PART;
    struct verbs_ring *ring = allowed ? kept_ring(dev, size) : NULL;
    if (allowed)
        dev->rings_lent += size;
    pthread_mutex_unlock(&dev->lock);
    if (allowed && !ring && !(ring = make_wide(dev, size))) {
        pthread_mutex_lock(&dev->lock);
        dev->rings_lent -= size;
        pthread_mutex_unlock(&dev->lock);
    }
    if (ring)
        hd_count(dev->device->stats, send_rings, 1);
    return ring;
}

static void give_back(struct verbs_device *dev, struct verbs_ring *ring)
{
    pthread_mutex_lock(&dev->lock);
    dev->rings_lent -= ring->size;
    bool keep = dev->rings_kept < KEPT;
    if (keep) {
        ring->next = dev->rings;
        dev->rings = ring;
        dev->rings_kept++;
    }
    pthread_mutex_unlock(&dev->lock);
    hd_count(dev->device->stats, send_rings, -1);
    if (keep)
        return;
    hd_verbs_ring_close(dev, ring);
    free(ring);
}

void hd_verbs_rings_close(struct verbs_device *dev)
{
    while (dev->rings) {
        struct verbs_ring *ring = dev->rings;
        dev->rings = ring->next;
        hd_verbs_ring_close(dev, ring);
        free(ring);
    }
}

/* ---- which one a link has ---- */

void hd_verbs_ring_use(struct verbs_ep *ep, const struct verbs_ring *ring)
{
    for (uint64_t i = ep->tx_done; i < ep->tx_posted; i++)
        ep->tx[i & ep->tx_mask].ring_end = 0;
    ep->ring_head = ep->ring_tail = 0;
    ep->ring = ring->base;
    ep->ring_size = ring->size;
    ep->ring_key = ring->mr->lkey;
    ep->ring_from = ep->tx_posted;
}

bool hd_verbs_ring_widen(struct verbs_ep *ep)
{
    /* Empty, but what is asked for does not fit into what is left before the end. */
    if (ep->ring_head == ep->ring_tail) {
        hd_verbs_ring_use(ep, ep->ring == ep->own.base ? &ep->own : ep->wide);
        return true;
    }
    if (ep->ring != ep->own.base || ep->wide_size <= ep->own.size)
        return false;
    if (ep->wide && ep->tx_done < ep->ring_from) /* frames of before are still in it */
        return false;
    if (!ep->wide && hd_expired(ep->ask_again))
        ep->wide = borrow(ep->dev, ep->wide_size);
    if (!ep->wide) {
        ep->ask_again = hd_now() + ASK_AGAIN;
        return false;
    }
    hd_verbs_ring_use(ep, ep->wide);
    return true;
}

void hd_verbs_ring_narrow(struct verbs_ep *ep)
{
    if (!ep->wide)
        return;
    if (ep->ring != ep->own.base) {
        if (ep->tx_done < ep->ring_from) /* frames of before are still in its own */
            return;
        hd_verbs_ring_use(ep, &ep->own);
    }
    if (ep->tx_done < ep->ring_from) {
        ep->silent = ep->report_every; /* the next frame's report says that the wide one is empty, too */
        return;
    }
    give_back(ep->dev, ep->wide);
    ep->wide = NULL;
}

void hd_verbs_ring_end(struct verbs_ep *ep)
{
    if (ep->wide)
        give_back(ep->dev, ep->wide);
    ep->wide = NULL;
    hd_verbs_ring_close(ep->dev, &ep->own);
}
