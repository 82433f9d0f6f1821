/* SPDX-License-Identifier: Apache-2.0 */

#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

void hd_log(struct hd_log *log, enum hd_log_level level, const char *format, ...)
{
    if ((int)level > atomic_load_explicit(&log->level, memory_order_relaxed))
        return;
    char line[768];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (log->write) {
        log->write(log->arg, level, line);
    } else {
        static const char *const names[] = {"ERROR", "WARN", "INFO", "DEBUG"};
        fprintf(stderr, "howdah %s: %s\n", names[level], line);
    }
}
