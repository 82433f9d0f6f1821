/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_REGISTRY_H
#define HD_REGISTRY_H

/* Finds the links of an engine, by the peer's number and by the address that a client connected to. A lookup costs the
 * same for any number of links. engine->links has all of them. */

#include "link/link.h"

void hd_registry_open(struct hd_engine *engine);
void hd_registry_add(struct hd_link *link);
/* Under engine->lock. */
void hd_registry_remove(struct hd_link *link);

/* A living link to the engine of this number; with a token, the link that has it. `both_ends`: the engine itself, whose
 * links are here twice: then the initiator's end or the other one. @return a reference, or NULL */
struct hd_link *hd_registry_by_peer(struct hd_engine *engine, const uint8_t *peer_id, const uint8_t *token,
                                    bool both_ends, bool initiator);
/* The newest living link to an address: an older one may be about to end. @return a reference, or NULL */
struct hd_link *hd_registry_by_address(struct hd_engine *engine, const char *address);

#endif
