/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_HOWDAH_H
#define HOWDAH_HOWDAH_H

/** @file
 * Everything of libhowdah. The parts, in the order in which a program meets them:
 * conf.h (options), engine.h (the process-wide engine), buffer.h (shared memory), queue.h (events),
 * link.h (connections to peer processes), stream.h (ordered messages), fetch.h (pulling named blocks),
 * affinity.h (where threads run), tuning.h (defaults that depend on the machine).
 */
#include <howdah/base.h>
#include <howdah/affinity.h>
#include <howdah/conf.h>
#include <howdah/engine.h>
#include <howdah/buffer.h>
#include <howdah/queue.h>
#include <howdah/link.h>
#include <howdah/stream.h>
#include <howdah/fetch.h>
#include <howdah/stats.h>
#include <howdah/tuning.h>

#endif
