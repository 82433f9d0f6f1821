/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_FIRST_LINE_H
#define HD_FIRST_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* The first line of a file without its end; how sysfs tells things. The path is formatted like printf(). Also part of
 * tools, which see only the library's public API. @return false (and "") if it cannot be read. */
bool hd_first_line(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
