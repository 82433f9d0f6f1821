/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_BASE_H
#define HOWDAH_BASE_H

/* Stand-in for the engine's header while this part is built without the engine; see CMakeLists.txt. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HD_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

HD_API const char *hd_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
