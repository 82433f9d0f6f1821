/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_BASE_H
#define HOWDAH_BASE_H

/** @file
 * Conventions of the whole API.
 *
 * - A function that can fail returns 0 (or a count) on success and a negative errno on failure. Out-parameters
 *   are set on success only. hd_last_error() then has the cause in words, with the peer's name where there is one.
 * - Time is in nanoseconds. A timeout of 0 never blocks (-EAGAIN instead), HD_FOREVER never expires, any other value
 *   ends the call with -ETIMEDOUT.
 * - Every function may be called from any thread unless its comment says otherwise. None installs signal handlers,
 *   hooks malloc, or calls back into the program from a thread of its own, except the log function.
 * - Structures passed by the caller begin with `size`, set to sizeof, so that they can grow. A program that was
 *   compiled with an older header has a smaller one: members that it lacks count as 0. One compiled with a newer
 *   header has a larger one: what this library does not know must be 0 (-EINVAL otherwise) and stays 0.
 *
 * Errors with one meaning throughout:
 *   -EAGAIN        nothing to take, or no room yet (timeout was 0)
 *   -ETIMEDOUT     the timeout passed
 *   -EINTR         woken by hd_stream_wake() or hd_queue_wake()
 *   -ECONNRESET    the link to the peer, or the stream, was lost: what was under way did not complete
 *   -EPROTO        the peer broke the protocol; its link is closed
 *   -ENOBUFS       the engine's memory limit is reached
 *   -ESHUTDOWN     the engine, link or stream was closed on this side
 *   -EMSGSIZE      larger than message.max of either side
 *   -EOPNOTSUPP    the transport cannot do this
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HD_VERSION_MAJOR 0
#define HD_VERSION_MINOR 1

/** Timeout that never expires. */
#define HD_FOREVER ((int64_t)-1)

#define HD_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_conf hd_conf;
typedef struct hd_engine hd_engine;
typedef struct hd_buf hd_buf;
typedef struct hd_queue hd_queue;
typedef struct hd_link hd_link;
typedef struct hd_stream hd_stream;
typedef struct hd_fetch hd_fetch;

/** The library's version, "major.minor". */
HD_API const char *hd_version(void);

/** What went wrong in this thread's last failed call, in words; "" if nothing did. Valid until the next call. */
HD_API const char *hd_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
