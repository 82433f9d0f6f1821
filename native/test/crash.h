/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_TEST_CRASH_H
#define HOWDAH_TEST_CRASH_H

#include <stddef.h>

#include "support.h"

/* That a crash says so, for a process that runs no tests. */
void crash_watch(void);

/* Runs tests as cmocka does, except that a signal that means a crash, on any thread and in children too, prints where
 * it was and ends the process by that signal. cmocka would jump out of the handler and say no more than the signal's
 * name, and from another thread than its own it must not. */
int crash_run(const char *name, const struct CMUnitTest *tests, size_t count);

#endif
