/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_PROTOCOLS_H
#define HD_PROTOCOLS_H

#include "link/link.h"

/* What runs on links: streams, rendezvous, fetches. */
extern const struct hd_link_hooks hd_protocols;

#endif
