/* SPDX-License-Identifier: Apache-2.0 */

/* Waiting for events: the thread drives links while it spins, and then sleeps. */

#include "progress/help.h"
#include "core/queue.h"

#define SPIN_LINKS 4

/* References to the engine's links, if they are few. `unarmed`: only to those that are not armed. @return how many */
static unsigned queue_few_links(struct hd_engine *engine, struct hd_link **links, bool unarmed)
{
    struct hd_link *all[SPIN_LINKS];
    unsigned seen = 0, count = 0;
    pthread_mutex_lock(&engine->lock);
    struct hd_list *node = engine->links.next;
    for (; node != &engine->links && seen < SPIN_LINKS; node = node->next)
        all[seen++] = hd_container(node, struct hd_link, in_engine);
    bool few = node == &engine->links;
    for (unsigned i = 0; few && i < seen; i++)
        if (!unarmed || !atomic_load_explicit(&all[i]->comm.armed, memory_order_relaxed))
            links[count++] = hd_link_ref(all[i]);
    pthread_mutex_unlock(&engine->lock);
    return count;
}

/* Takes the links from the communication thread, and keeps those that can be polled. @return how many */
static unsigned queue_claim(struct hd_link **links, unsigned count)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < count; i++) {
        struct hd_link *link = links[i];
        hd_lock(&link->lock);
        bool take = hd_link_usable(link) && link->ep;
        if (take) {
            atomic_fetch_add(&link->poll.queue_pollers, 1);
            hd_link_disarm(link);
        }
        hd_unlock(&link->lock);
        if (take)
            links[taken++] = link;
        else
            hd_link_put(link);
    }
    return taken;
}

/* Whether nobody would be woken by what arrives on the link. */
static bool queue_nobody_listens(const struct hd_link *link)
{
    return !link->poll.poller && !link->comm.armed && !atomic_load(&link->poll.queue_pollers);
}

/* Gives the links back. `claimed`: by queue_claim(). A thread that goes to sleep wants the communication thread to wake
 * it, from the next arrival on. */
static void queue_release(struct hd_link **links, unsigned count, bool claimed, bool to_sleep)
{
    for (unsigned i = 0; i < count; i++) {
        struct hd_link *link = links[i];
        hd_lock(&link->lock);
        if (claimed) {
            atomic_fetch_sub(&link->poll.queue_pollers, 1);
            link->poll.ends++;
        }
        bool serve = to_sleep && queue_nobody_listens(link);
        if (serve ? hd_comm_serve(link) : claimed && !hd_list_empty(&link->rndv.todo)) {
            link->comm.handed = true;
            hd_link_hurry(link);
        }
        hd_link_leave(link);
        hd_link_put(link);
    }
}

/* Until `end`, and while there is more of what came before, until the deadline. */
static void queue_poll_links(struct hd_queue *queue, struct hd_link **links, unsigned count, int64_t end,
                             int64_t deadline)
{
    bool more[SPIN_LINKS] = {false};
    for (unsigned i = 1; !atomic_load_explicit(&queue->filled, memory_order_relaxed) && !atomic_load(&queue->woken);
         i++) {
        bool any = false;
        for (unsigned j = 0; j < count; j++) {
            if ((more[j] || links[j]->ep->ops->pending(links[j]->ep)) && hd_trylock(&links[j]->lock)) {
                more[j] = hd_link_turn(links[j]);
                hd_link_leave(links[j]);
            }
            any = any || more[j];
        }
        hd_cpu_relax();
        if (i % 32 == 0 && (any ? hd_expired(deadline) : hd_now() >= end))
            return;
    }
}

/* If links are many: what they share. @return whether there is such a thing */
static bool queue_poll_sources(struct hd_queue *queue, int64_t end)
{
    struct hd_help help;
    if (!hd_help_begin(&help, queue->engine))
        return false;
    bool filled = false;
    for (unsigned i = 1; !filled && !atomic_load(&queue->woken) && !atomic_load(&queue->engine->closing); i++) {
        hd_help_poll(&help);
        filled = atomic_load_explicit(&queue->filled, memory_order_relaxed);
        hd_cpu_relax();
        if (i % 32 == 0 && hd_now() >= end)
            break;
    }
    hd_help_end(&help, !filled);
    return true;
}

/* Polls links on behalf of a thread that waits for events since `start`, until `queue->filled`, an interruption
 * or the end of the spin time. @return whether it did and nothing came: the caller says when something did */
static bool queue_poll_for_queue(struct hd_queue *queue, int64_t start, int64_t deadline)
{
    struct hd_engine *engine = queue->engine;
    struct hd_link *links[SPIN_LINKS];
    int64_t time = hd_spin_begin(engine, &queue->spin);
    bool spins = time > 0, missed = false;
    unsigned count = queue_few_links(engine, links, !spins);
    if (spins)
        count = queue_claim(links, count);
    int64_t end = deadline != HD_FOREVER && deadline < start + time ? deadline : start + time;
    if (spins && count)
        queue_poll_links(queue, links, count, end, deadline);
    if (spins && (count || queue_poll_sources(queue, end))) {
        bool came = atomic_load_explicit(&queue->filled, memory_order_relaxed);
        missed = !came && !atomic_load(&queue->woken);
        if (came)
            hd_spin_came(engine, &queue->spin, hd_now() - start);
    }
    queue_release(links, count, spins, !atomic_load_explicit(&queue->filled, memory_order_relaxed));
    if (spins)
        hd_spin_end(engine);
    return missed;
}

int hd_queue_wait(hd_queue *queue, struct hd_event *events, size_t max, int64_t timeout)
{
    hd_enter(queue->engine);
    if (max == 0)
        return hd_error(-EINVAL, "room for at least one event is needed");
    int64_t deadline = hd_deadline(timeout);
    for (bool last = false;;) {
        uint32_t seen = atomic_load(&queue->word);
        int count = hd_queue_take(queue, events, max);
        if (count)
            return count;
        if (atomic_exchange(&queue->woken, false)) {
            hd_queue_signal(queue);
            return hd_error(-EINTR, "the wait was interrupted");
        }
        if (atomic_load(&queue->engine->closing))
            return hd_error(-ESHUTDOWN, "the engine was closed");
        if (last)
            return timeout == 0 ? -EAGAIN : hd_error(-ETIMEDOUT, "no event came in time");
        int64_t start = hd_now();
        bool missed = queue_poll_for_queue(queue, start, deadline);
        if (timeout && atomic_load(&queue->word) == seen)
            hd_queue_sleep(queue, seen, deadline);
        if (missed && timeout)
            hd_spin_learn_miss(queue->engine, &queue->spin, hd_now() - start);
        last = hd_expired(deadline);
    }
}
