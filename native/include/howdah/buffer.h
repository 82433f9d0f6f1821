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

#ifdef __cplusplus
}
#endif

#endif
