/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_LINK_PATH_H
#define HD_LINK_PATH_H

/*
 * What every message passes on its way through a link, to be repeated where messages are sent and waited for, which
 * spares two calls. Everybody else calls hd_link_post_from() and hd_link_progress(), which are the same.
 */

#include <limits.h>

#include "link/link.h"

#define HD_LINK_BUDGET 64 /* frames taken in one go */
#define HD_LINK_GOES   16 /* then a caller looks at what it waits for, however much the peer sends */

/* hd_link_post_from() */
HD_INLINE int hd_link_give(struct hd_link *link, enum hd_frame_type type, uint32_t id, uint64_t arg,
                           const void *payload, size_t length, hd_buf *owner)
{
    if (!hd_link_usable(link))
        return -ECONNRESET;
    bool credit = type == HD_FRAME_CREDIT;
    if (!credit && link->flow.tx_credits == 0)
        return -EAGAIN;
    struct hd_frame frame = {.type = (uint8_t)type,
                             .credits = (uint16_t)link->flow.rx_owed,
                             .length = (uint32_t)length,
                             .id = id,
                             .sequence = link->flow.tx_sequence,
                             .arg = arg};
    if (link->checksum)
        frame.checksum = hd_frame_checksum(&frame, payload);
    int err = link->ep->ops->send(link->ep, &frame, payload, owner);
    if (err == -EAGAIN) {
        hd_link_hurry(link); /* nobody may tell us when there is room again */
        return err;
    }
    if (err) {
        hd_link_doom(link, err == -EPROTO ? err : -ECONNRESET, "%s", hd_last_error());
        return -ECONNRESET;
    }
    link->flow.rx_owed = 0;
    link->flow.tx_sequence++;
    link->flow.tx_credits -= !credit;
    link->tally.frames_sent++;
    link->tally.bytes_sent += length;
    return 0;
}

/* The usual case after a message came: nobody waits to send, and few credits are owed. */
static inline bool hd_link_nothing_to_send(const struct hd_link *link)
{
    return hd_list_empty(&link->flow.controls) && hd_list_empty(&link->streams.tx_stalled) &&
           hd_list_empty(&link->rndv.tx_frags) && hd_list_empty(&link->fetch.tx_ours) &&
           hd_list_empty(&link->fetch.tx_replies) && link->flow.rx_owed < link->mine.credits / 2;
}

/* At most so many goes, each with at most so many chunks of large transfers. @return whether there may be more to do at
 * once. */
HD_INLINE bool hd_link_take_some(struct hd_link *link, unsigned goes, unsigned chunks)
{
    bool more = true;
    for (; more && goes && hd_link_usable(link); goes--) {
        int n = link->ep->ops->progress(link->ep, HD_LINK_BUDGET);
        if (n < 0) {
            bool retired = link->state == HD_LINK_RETIRED && (n == -ECONNRESET || n == -EPIPE);
            int error = retired ? -ESHUTDOWN : n == -EPROTO ? n : -ECONNRESET;
            link->peer_ended = n == -EPIPE;
            hd_link_doom(link, error, "%s", retired ? "closed because it was idle" : hd_last_error());
            return false;
        }
        if (!hd_list_empty(&link->rndv.memory_wait))
            link->hooks->memory(link);
        more = (!hd_list_empty(&link->rndv.todo) && link->hooks->run(link, chunks)) || n == HD_LINK_BUDGET;
        if (hd_link_usable(link) && !hd_link_nothing_to_send(link))
            hd_link_transmit(link);
    }
    return more;
}

/* hd_link_progress() */
HD_INLINE void hd_link_take(struct hd_link *link)
{
    hd_link_take_some(link, HD_LINK_GOES, UINT_MAX);
}

#endif
