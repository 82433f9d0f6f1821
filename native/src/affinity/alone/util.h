/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_UTIL_H
#define HD_UTIL_H

/* Stand-in for the engine's header while this part is built without the engine; see CMakeLists.txt. */
#include <errno.h>
#include <string.h>

#include <howdah/base.h>

#define HD_COUNT(array) (sizeof(array) / sizeof((array)[0]))

int hd_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

#endif
