/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kick.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

static _Thread_local struct hd_kick *own; /* on a communication thread */

int hd_kick_open(struct hd_kick *kick)
{
    hd_list_init(&kick->rung);
    hd_list_init(&kick->hurried);
    kick->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return kick->fd < 0 ? hd_error(-errno, "no descriptor to wake a thread with: %s", strerror(errno)) : 0;
}

void hd_kick_close(struct hd_kick *kick)
{
    if (kick->fd >= 0)
        close(kick->fd);
}

void hd_kick_enter(struct hd_kick *kick)
{
    own = kick;
}

static void kick_wake(struct hd_kick *kick)
{
    uint64_t one = 1;
    if (write(kick->fd, &one, sizeof(one)) < 0) {
        /* full: it will wake anyway */
    }
}

void hd_kick_now(struct hd_kick *kick)
{
    atomic_store(&kick->look, true);
    kick_wake(kick);
}

void hd_kick_call(struct hd_kick *kick)
{
    if (kick != own)
        kick_wake(kick);
}

void hd_kick_soon(struct hd_kick *kick, struct hd_list *node)
{
    if (!kick)
        return;
    hd_lock(&kick->lock);
    if (hd_list_empty(node))
        hd_list_add_tail(&kick->hurried, node);
    hd_unlock(&kick->lock);
    if (kick == own)
        own->soon = true; /* a kick would have it look again at once, and again find nothing */
    else if (!atomic_exchange(&kick->quick, true))
        hd_kick_now(kick);
}

struct hd_list *hd_kick_next_hurried(struct hd_kick *kick)
{
    hd_lock(&kick->lock);
    struct hd_list *node = hd_list_empty(&kick->hurried) ? NULL : kick->hurried.next;
    if (node)
        hd_list_remove(node);
    hd_unlock(&kick->lock);
    return node;
}

void hd_kick_ring(struct hd_kick *kick, struct hd_list *node)
{
    if (!kick)
        return;
    hd_lock(&kick->lock);
    bool fresh = hd_list_empty(node), first = fresh && atomic_load(&kick->rung_count) == 0;
    if (fresh) {
        hd_list_add_tail(&kick->rung, node);
        atomic_fetch_add(&kick->rung_count, 1);
    }
    hd_unlock(&kick->lock);
    if (first && !atomic_load(&kick->helpers)) /* whoever came before has woken it */
        hd_kick_call(kick);
}

void hd_kick_help(struct hd_kick *kick, bool begins)
{
    if (begins)
        atomic_fetch_add(&kick->helpers, 1);
    else if (atomic_fetch_sub(&kick->helpers, 1) == 1 && atomic_load(&kick->rung_count))
        hd_kick_call(kick);
}

struct hd_list *hd_kick_next(struct hd_kick *kick, void (*hold)(struct hd_list *node))
{
    hd_lock(&kick->lock);
    struct hd_list *node = hd_list_empty(&kick->rung) ? NULL : kick->rung.next;
    if (node) {
        hd_list_remove(node);
        atomic_fetch_sub(&kick->rung_count, 1);
    }
    if (node && hold)
        hold(node);
    hd_unlock(&kick->lock);
    return node;
}

void hd_kick_forget(struct hd_kick *kick, struct hd_list *rung, struct hd_list *hurried)
{
    hd_lock(&kick->lock);
    if (!hd_list_empty(rung)) {
        hd_list_remove(rung);
        atomic_fetch_sub(&kick->rung_count, 1);
    }
    hd_list_remove(hurried);
    hd_unlock(&kick->lock);
}
