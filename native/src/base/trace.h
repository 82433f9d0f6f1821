/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TRACE_H
#define HD_TRACE_H

/*
 * Tracepoints for perf, bpftrace, SystemTap and gdb: USDT probes of the provider "howdah". Each is one no-op in the
 * code, and a note in the library with its place and where its arguments are. Where messages pass, arguments are values
 * that are at hand anyway: a call or a computation would be made also while nobody traces. docs/design/engine.md has
 * the table of all.
 */

#ifdef HD_USDT
#include <sys/sdt.h>
#define HD_TRACE3(probe, a, b, c)    DTRACE_PROBE3(howdah, probe, a, b, c)
#define HD_TRACE4(probe, a, b, c, d) DTRACE_PROBE4(howdah, probe, a, b, c, d)
#else
#define HD_TRACE3(probe, a, b, c)    ((void)0)
#define HD_TRACE4(probe, a, b, c, d) ((void)0)
#endif

#endif
