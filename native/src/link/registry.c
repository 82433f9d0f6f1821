/* SPDX-License-Identifier: Apache-2.0 */
#include "link/registry.h"

void hd_registry_open(struct hd_engine *engine)
{
    hd_list_init(&engine->links);
    for (int i = 0; i < HD_LINK_PLACES; i++) {
        hd_list_init(&engine->links_by_peer[i]);
        hd_list_init(&engine->links_by_address[i]);
    }
}

/* Numbers of engines are random. */
static struct hd_list *registry_place_of_peer(struct hd_engine *engine, const uint8_t *peer_id)
{
    uint32_t word;
    memcpy(&word, peer_id, sizeof(word));
    return &engine->links_by_peer[word % HD_LINK_PLACES];
}

static struct hd_list *registry_place_of_address(struct hd_engine *engine, const char *address)
{
    uint32_t word = 2166136261U; /* FNV-1a */
    for (; *address; address++)
        word = (word ^ (uint8_t)*address) * 16777619U;
    return &engine->links_by_address[word % HD_LINK_PLACES];
}

void hd_registry_add(struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    pthread_mutex_lock(&engine->lock);
    hd_list_add_tail(&engine->links, &link->in_engine);
    hd_list_add_tail(registry_place_of_peer(engine, link->peer_id), &link->by_peer);
    if (link->initiator)
        hd_list_add_tail(registry_place_of_address(engine, link->address), &link->by_address);
    pthread_mutex_unlock(&engine->lock);
}

void hd_registry_remove(struct hd_link *link)
{
    hd_list_remove(&link->in_engine);
    hd_list_remove(&link->by_peer);
    hd_list_remove(&link->by_address);
}

struct hd_link *hd_registry_by_peer(struct hd_engine *engine, const uint8_t *peer_id, const uint8_t *token,
                                    bool both_ends, bool initiator)
{
    struct hd_list *place = registry_place_of_peer(engine, peer_id);
    struct hd_link *found = NULL;
    pthread_mutex_lock(&engine->lock);
    for (struct hd_list *n = place->prev; n != place && !found; n = n->prev) {
        struct hd_link *link = hd_container(n, struct hd_link, by_peer);
        if (!atomic_load(&link->error) && memcmp(link->peer_id, peer_id, HD_ID_LENGTH) == 0 &&
            (!token || memcmp(link->token, token, HD_ID_LENGTH) == 0) && (!both_ends || link->initiator == initiator))
            found = hd_link_ref(link);
    }
    pthread_mutex_unlock(&engine->lock);
    return found;
}

struct hd_link *hd_registry_by_address(struct hd_engine *engine, const char *address)
{
    struct hd_list *place = registry_place_of_address(engine, address);
    struct hd_link *found = NULL;
    pthread_mutex_lock(&engine->lock);
    for (struct hd_list *n = place->prev; n != place && !found; n = n->prev) {
        struct hd_link *link = hd_container(n, struct hd_link, by_address);
        if (!atomic_load(&link->error) && strcmp(link->address, address) == 0)
            found = hd_link_ref(link);
    }
    pthread_mutex_unlock(&engine->lock);
    return found;
}
