/* SPDX-License-Identifier: Apache-2.0 */
#include "link/admit.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "link/link.h"

#define SHARE 2 /* a party may have one part of so many */
#define BATCH 8 /* one of so many of a party's links ends at a time, so that not every greeting waits */
#define IDLE  ((int64_t)1000000000) /* a link that was used is not ended before it was idle for so long */
#define WAIT  ((int64_t)250000000)  /* for the ends of links, before more of them are ended */
#define WAITS 4

enum { BY_ADDRESS = 1, BY_USER };

/* ---- parties ---- */

struct hd_party_name hd_party_of_connection(int fd)
{
    struct hd_party_name name = {.bytes = {BY_ADDRESS}};
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &size))
        return name;
    if (peer.ss_family == AF_INET6) {
        memcpy(name.bytes + 1, ((struct sockaddr_in6 *)&peer)->sin6_addr.s6_addr, 16);
    } else if (peer.ss_family == AF_INET) { /* as IPv6 writes it: a host has one name, whichever socket it comes to */
        name.bytes[11] = name.bytes[12] = 0xff;
        memcpy(name.bytes + 13, &((struct sockaddr_in *)&peer)->sin_addr, 4);
    }
    return name;
}

struct hd_party_name hd_party_of_user(uid_t uid)
{
    struct hd_party_name name = {.bytes = {BY_USER}};
    memcpy(name.bytes + 1, &uid, sizeof(uid));
    return name;
}

/* This and what follows under engine->lock. */
static struct hd_party *admit_find(struct hd_engine *engine, const struct hd_party_name *name)
{
    for (struct hd_list *n = engine->parties.next; n != &engine->parties; n = n->next) {
        struct hd_party *party = hd_container(n, struct hd_party, in_engine);
        if (memcmp(&party->name, name, sizeof(*name)) == 0)
            return party;
    }
    return NULL;
}

static struct hd_party *admit_find_or_make(struct hd_engine *engine, const struct hd_party_name *name)
{
    struct hd_party *party = admit_find(engine, name);
    if (party || !(party = calloc(1, sizeof(*party))))
        return party;
    party->name = *name;
    hd_list_init(&party->admissions);
    hd_list_add_tail(&engine->parties, &party->in_engine);
    return party;
}

static struct hd_party *admit_largest(struct hd_engine *engine)
{
    struct hd_party *found = NULL;
    for (struct hd_list *n = engine->parties.next; n != &engine->parties; n = n->next) {
        struct hd_party *party = hd_container(n, struct hd_party, in_engine);
        if (!found || party->links > found->links)
            found = party;
    }
    return found;
}

static void admit_account(struct hd_engine *engine, struct hd_party *party, int links, size_t bytes)
{
    party->links += (unsigned)links;
    party->bytes += bytes;
    engine->admitted_links += (unsigned)links;
    engine->admitted_bytes += bytes;
    hd_count(engine->stats, links_memory, bytes);
}

void hd_admit_end(struct hd_engine *engine, struct hd_admission *admission)
{
    struct hd_party *party = admission->party;
    if (!party)
        return;
    admit_account(engine, party, -1, -admission->bytes);
    hd_list_remove(&admission->node);
    admission->party = NULL;
    if (party->links)
        return;
    hd_list_remove(&party->in_engine);
    free(party);
}

/* ---- room ---- */

static unsigned admit_part_of(int64_t links)
{
    return links / SHARE > 0 ? (unsigned)(links / SHARE) : 1;
}

/* Whose links are too many if this party gets one more of so many bytes; NULL: nobody's. */
static struct hd_party *admit_who_has_too_many(struct hd_engine *engine, const struct hd_party_name *name, size_t bytes)
{
    const struct hd_conf *conf = &engine->conf;
    struct hd_party *party = admit_find(engine, name);
    if (party && (party->links + 1 > admit_part_of(conf->links_max) ||
                  party->bytes + bytes > (size_t)conf->links_memory / SHARE))
        return party;
    bool full = engine->admitted_links + 1 > (unsigned)conf->links_max ||
                engine->admitted_bytes + bytes > (size_t)conf->links_memory;
    return full ? admit_largest(engine) : NULL;
}

/* References to the links of a party that are up. */
static struct hd_link **admit_list_links(struct hd_party *party, unsigned *count)
{
    struct hd_link **links = calloc(party->links, sizeof(struct hd_link *));
    *count = 0;
    for (struct hd_list *n = party->admissions.next; links && n != &party->admissions; n = n->next) {
        struct hd_link *link = hd_container(n, struct hd_link, admission.node);
        if (!hd_list_empty(&link->in_engine) && !atomic_load(&link->error))
            links[(*count)++] = hd_link_ref(link);
    }
    return links;
}

/* Without engine->lock. */
static bool admit_end_link(struct hd_link *link, bool used)
{
    hd_link_lock(link);
    bool ends = hd_link_usable(link) && link->used == used &&
                (!used || (hd_link_idle(link) && hd_now() - link->comm.idle_since >= IDLE));
    if (ends)
        hd_link_doom(link, -ESHUTDOWN, "closed to make room for other links (" HD_KEY_PREFIX "links.max)");
    hd_link_unlock(link);
    return ends;
}

/* Ends some links of a party that are of no use. Drops engine->lock meanwhile, and the party may go. @return how many
 */
static unsigned admit_end_some(struct hd_engine *engine, struct hd_party *party)
{
    unsigned count, ended = 0, wanted = party->links / BATCH + 1;
    struct hd_link **links = admit_list_links(party, &count);
    pthread_mutex_unlock(&engine->lock); /* a link's lock comes first */
    for (int used = 0; used < 2 && ended == 0; used++)
        for (unsigned i = 0; i < count && ended < wanted; i++)
            ended += admit_end_link(links[i], used);
    for (unsigned i = 0; i < count; i++)
        hd_link_put(links[i]);
    free(links);
    hd_count(engine->stats, links_room, ended);
    pthread_mutex_lock(&engine->lock);
    return ended;
}

static bool admit_any_is_ending(const struct hd_party *party)
{
    for (struct hd_list *n = party->admissions.next; n != &party->admissions; n = n->next)
        if (atomic_load(&hd_container(n, struct hd_link, admission.node)->error))
            return true;
    return false;
}

/* Until there is room, or `deadline`. @return whether there is */
static bool admit_wait_for_room(struct hd_engine *engine, const struct hd_party_name *name, size_t bytes,
                                int64_t deadline)
{
    int64_t until = hd_now() + WAIT;
    if (deadline < until)
        until = deadline;
    struct timespec ts = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    int late = 0;
    while (admit_who_has_too_many(engine, name, bytes) && !late && !atomic_load(&engine->closing))
        late = pthread_cond_timedwait(&engine->link_gone, &engine->lock, &ts);
    return !admit_who_has_too_many(engine, name, bytes);
}

static int admit_refuse(struct hd_engine *engine)
{
    hd_count(engine->stats, links_refused, 1);
    int err = hd_error(-ENOSPC,
                       "%u links with %zu MB are up, which is all that %s and %s allow, or half of it from one "
                       "host or user",
                       engine->admitted_links, engine->admitted_bytes >> 20, HD_KEY_PREFIX "links.max",
                       HD_KEY_PREFIX "links.memory");
    if (!atomic_exchange(&engine->told_of_links, true))
        hd_log(&engine->log, HD_LOG_WARN, "a link was refused: %s; later ones are only counted (links.refused)",
               hd_last_error());
    return err;
}

static int admit_make_room(struct hd_engine *engine, const struct hd_party_name *name, size_t bytes, int64_t deadline)
{
    if (bytes > (size_t)engine->conf.links_memory / SHARE)
        return hd_error(-ENOSPC, "a link of %zu bytes is above half of %s", bytes, HD_KEY_PREFIX "links.memory");
    int64_t end = hd_now() + WAITS * WAIT;
    if (deadline == HD_FOREVER || deadline > end)
        deadline = end;
    for (struct hd_party *party; (party = admit_who_has_too_many(engine, name, bytes));) {
        if (atomic_load(&engine->closing))
            return hd_error(-ESHUTDOWN, "the engine was closed");
        bool ending = admit_any_is_ending(party);
        if (hd_expired(deadline) || (admit_end_some(engine, party) == 0 && !ending))
            return admit_refuse(engine);
        admit_wait_for_room(engine, name, bytes, deadline);
    }
    return 0;
}

int hd_admit(struct hd_link *link, const struct hd_party_name *name, size_t bytes, int64_t deadline)
{
    struct hd_engine *engine = link->engine;
    pthread_mutex_lock(&engine->lock);
    hd_admit_end(engine, &link->admission);
    int err = admit_make_room(engine, name, bytes, deadline);
    struct hd_party *party = err ? NULL : admit_find_or_make(engine, name);
    if (!err && !party)
        err = hd_error(-ENOMEM, "out of memory");
    if (!err) {
        link->admission.party = party;
        link->admission.bytes = bytes;
        hd_list_add_tail(&party->admissions, &link->admission.node);
        admit_account(engine, party, 1, bytes);
    }
    pthread_mutex_unlock(&engine->lock);
    return err;
}
