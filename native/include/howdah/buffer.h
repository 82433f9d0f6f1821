/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_BUFFER_H
#define HOWDAH_BUFFER_H

/** @file
 * Buffers: memory outside any heap that every transport can reach. A buffer never moves, so its address may be
 * wrapped (a direct ByteBuffer) for as long as a reference is held. Reference counts are atomic; contents are the
 * holders' to coordinate: do not write into a buffer that was handed to hd_send_buf() before it completed.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Takes a buffer with room for `size` bytes (1 to memory.limit). Contents are undefined. Never blocks.
 *  @return -ENOBUFS at the memory limit, -ENOMEM if the system refuses. */
HD_API int hd_buf_alloc(hd_engine *engine, size_t size, hd_buf **buf);

HD_API hd_buf *hd_buf_ref(hd_buf *buf);
HD_API void hd_buf_unref(hd_buf *buf); /**< NULL is allowed */

HD_API void *hd_buf_data(hd_buf *buf);          /**< first byte */
HD_API size_t hd_buf_length(const hd_buf *buf); /**< bytes in use: what was asked for, or the length of a message */
HD_API size_t hd_buf_capacity(const hd_buf *buf);

/** Changes the bytes in use. @return -EINVAL beyond the capacity. */
HD_API int hd_buf_set_length(hd_buf *buf, size_t length);

/** Registers memory of the program's: sends, fetches and replies then move it without a copy. The handle is a buffer of
 * these bytes, with one reference; hd_buf_slice() makes buffers of parts. The range may begin and end anywhere, also
 * within a page; it counts against memory.limit in whole pages, and no two ranges may overlap. It must stay mapped
 * until hd_buf_deregister() has returned 0 or hd_engine_destroy() has returned; a program that forks keeps it from its
 * children (MADV_DONTFORK) or maps it shared. Verbs and uDAPL pin it: a peer that is sent from it or fetched into it by
 * its adapter can access all of the range until then. Between processes of one host the peer cannot map it, so it is
 * copied from or to there once, or twice where the peer may not be written to either. Where an adapter refuses it, it
 * moves by copy, as other memory that cannot be registered.
 *  @return -EINVAL: no range; -EFAULT: not all of it can be read and written; -EEXIST: it overlaps memory that is
 *  registered or the engine's; -ENOBUFS: beyond memory.limit. */
HD_API int hd_buf_register(hd_engine *engine, void *address, size_t length, hd_buf **buf);

/** Ends the registration once nothing uses the memory: no send, reply, slice or further reference, and no fetch whose
 * handle was not released. Nothing may be begun with the handle meanwhile. Afterwards the memory is the program's
 * alone, and the handle is refused everywhere; hd_buf_unref() still releases it. (Releasing the last reference of a
 * handle deregisters it, too.)
 *  @return -EAGAIN, -ETIMEDOUT: still in use; -EINVAL: no registered memory, or not any more. */
HD_API int hd_buf_deregister(hd_buf *buf, int64_t timeout);

/** Makes a buffer of a part of another one, of which it keeps a reference.
 *  @return -EINVAL: empty, or beyond the capacity. */
HD_API int hd_buf_slice(hd_buf *buf, size_t offset, size_t length, hd_buf **slice);

#ifdef __cplusplus
}
#endif

#endif
