/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_FETCH_H
#define HOWDAH_FETCH_H

/** @file
 * Fetch: pulling named blocks from a peer. Requests on one link are independent: they complete in any order, a large
 * block does not hold up a small one. Each request completes exactly once, with one event.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HD_FETCH_NAME_MAX 1024
/** `length` of a request for everything from `offset` on. */
#define HD_FETCH_ALL UINT64_MAX

struct hd_fetch_params {
    size_t size;
    const void *name; /**< what the service knows the block by; any bytes, 1 to HD_FETCH_NAME_MAX */
    size_t name_length;
    uint64_t offset;
    uint64_t length;
    hd_buf *into;    /**< where it goes (a reference is kept until completion); NULL: a buffer of the right size */
    hd_queue *queue; /**< receives HD_EVENT_FETCHED */
    uint64_t user;
};

/** Client: asks for a block. The handle stays valid until hd_fetch_release().
 *  @return -EAGAIN: fetch.max requests are under way on the link, -ESHUTDOWN: the link was retired. */
HD_API int hd_fetch_start(hd_link *link, const char *service, const struct hd_fetch_params *params, hd_fetch **fetch);

/** Client, after completion with status 0: the block. The reference belongs to the handle; take one to keep it longer.
 */
HD_API hd_buf *hd_fetch_data(hd_fetch *fetch);

/** Client, after completion with an error: its cause in words, from the peer's handler or the engine. */
HD_API const char *hd_fetch_error(hd_fetch *fetch);

/** Client: asks for an early end. The event comes all the same: -ECANCELED, or what was first. */
HD_API void hd_fetch_cancel(hd_fetch *fetch);

/** Client: gives up the handle, after its event was taken. */
HD_API void hd_fetch_release(hd_fetch *fetch);

/** Server: what is asked for. */
HD_API const void *hd_fetch_name(hd_fetch *fetch, size_t *length);
HD_API void hd_fetch_range(hd_fetch *fetch, uint64_t *offset, uint64_t *length);
HD_API hd_link *hd_fetch_link(hd_fetch *fetch);

/** Server: answers with bytes of a buffer. Exactly one of the reply functions must be called for each request; it ends
 * the handle. A reference is kept until the peer has the bytes. Fails (-EINVAL, a range outside the buffer) without
 *  ending the handle. */
HD_API int hd_fetch_reply_buf(hd_fetch *fetch, hd_buf *buf, size_t offset, size_t length);

/** Server: answers with a range of a file, read chunk by chunk by the engine's I/O threads. The engine keeps a
 *  duplicate of `fd`. A file that is too short fails the fetch with -EIO. */
HD_API int hd_fetch_reply_file(hd_fetch *fetch, int fd, uint64_t offset, uint64_t length);

/** Server: refuses with a negative errno and a cause (may be NULL). */
HD_API int hd_fetch_reply_error(hd_fetch *fetch, int error, const char *cause);

#ifdef __cplusplus
}
#endif

#endif
