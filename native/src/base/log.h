/* SPDX-License-Identifier: Apache-2.0 */

/* The log of an engine, which everything below the engine takes as its own. */

#ifndef HD_LOG_H
#define HD_LOG_H

#include <howdah/engine.h>

struct hd_log {
    hd_log_fn write; /* NULL: to standard error */
    void *arg;
    _Atomic int level; /* lines of greater ones are dropped; may change at any time */
};

/* Writes a line, without its end, of at most 767 bytes. From any thread. */
void hd_log(struct hd_log *log, enum hd_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
