/* SPDX-License-Identifier: Apache-2.0 */
#include "progress/help.h"

static void help_with(struct hd_help *help, struct hd_comm *comm)
{
    pthread_mutex_lock(&comm->lock);
    for (struct hd_list *n = comm->sources.next; n != &comm->sources && help->count < HD_HELP_SOURCES; n = n->next) {
        struct hd_source *source = hd_container(n, struct hd_source, node);
        atomic_fetch_add(&source->held, 1);
        hd_kick_help(&comm->kick, true);
        help->at[help->count].comm = comm;
        help->at[help->count++].source = source;
    }
    pthread_mutex_unlock(&comm->lock);
}

bool hd_help_begin(struct hd_help *help, struct hd_engine *engine)
{
    help->count = 0;
    pthread_mutex_lock(&engine->lock); /* hd_comm_stop() takes the threads away under it */
    for (unsigned i = 0; i < engine->comm_count; i++)
        help_with(help, &engine->comms[i]);
    pthread_mutex_unlock(&engine->lock);
    for (unsigned i = 0; i < help->count; i++)
        help->at[i].source->enter(help->at[i].source);
    return help->count > 0;
}

static void help_hold(struct hd_list *node)
{
    hd_link_ref(hd_container(node, struct hd_link, comm.rung_node));
}

/* A turn of a link that was rung. Its thread may have ended it meanwhile. */
static void help_serve(struct hd_comm *comm, struct hd_link *link)
{
    hd_link_lock(link);
    if (hd_link_usable(link) && !link->guard.ending) {
        link->ep->ops->disarm(link->ep);
        link->comm.armed = false;
        hd_count(link->engine->stats, wakeups, 1);
        if (hd_comm_serve(link))
            hd_kick_ring(&comm->kick, &link->comm.rung_node);
        else if (hd_link_usable(link) && !link->comm.armed)
            hd_link_hurry(link);
    }
    hd_link_leave(link);
    hd_link_put(link);
}

void hd_help_poll(struct hd_help *help)
{
    for (unsigned i = 0; i < help->count; i++) {
        struct hd_comm *comm = help->at[i].comm;
        struct hd_source *source = help->at[i].source;
        source->poll(source);
        for (unsigned n = hd_kick_rung(&comm->kick); n; n--) {
            struct hd_list *node = hd_kick_next(&comm->kick, help_hold);
            if (node)
                help_serve(comm, hd_container(node, struct hd_link, comm.rung_node));
        }
    }
}

void hd_help_end(struct hd_help *help, bool to_sleep)
{
    for (unsigned i = 0; i < help->count; i++) {
        struct hd_source *source = help->at[i].source;
        struct hd_comm *comm = help->at[i].comm;
        source->leave(source, to_sleep);
        atomic_fetch_sub(&source->held, 1);
        hd_kick_help(&comm->kick, false);
    }
}
