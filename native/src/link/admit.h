/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_ADMIT_H
#define HD_ADMIT_H

/*
 * How many links others may bring up to this process, and how much memory these take outside of memory.limit.
 *
 * A greeting proves nothing: users are authenticated later, by the host protocol, on a stream of the link. So whoever
 * reaches the port can ask for links, each as a new engine. Links are admitted up to links.max and links.memory, and of
 * each a party may have half: a party is the host that the connection comes from, or, within this host, the user. Where
 * there is no room, links of the party (of the largest one, if all together have too many) that never carried anything
 * end, the oldest first; if there are none, such as are idle. If that makes no room, the new one is refused: the peers
 * go on over the host protocol's own sockets.
 *
 * Links that this process asked for are its own business and not counted.
 */

#include <sys/types.h>

#include "base/util.h"

struct hd_engine;
struct hd_link;

struct hd_party_name {
    uint8_t bytes[20]; /* kind, then an address or a user's number */
};

struct hd_party {
    struct hd_list in_engine; /* engine->parties */
    struct hd_party_name name;
    struct hd_list admissions; /* the oldest first */
    unsigned links;
    size_t bytes;
};

/* A link's place; part of the link, under engine->lock. */
struct hd_admission {
    struct hd_list node; /* in its party */
    struct hd_party *party;
    size_t bytes;
};

/* The party at the other end of a connection, as far as that can be told without its help. */
struct hd_party_name hd_party_of_connection(int fd);
struct hd_party_name hd_party_of_user(uid_t uid);

/* Gives the link a place as one of that party's, or moves the one that it has. May end other links, and wait a moment,
 * at most until `deadline`, for what they had. Without any link's lock.
 * @return -ENOSPC: there is no room, and why */
int hd_admit(struct hd_link *link, const struct hd_party_name *name, size_t bytes, int64_t deadline);
/* Under engine->lock: the link has given back everything, or never started. */
void hd_admit_end(struct hd_engine *engine, struct hd_admission *admission);

#endif
