/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Asynchronous events of the adapter: a port that goes down, a device that fails, an endpoint or dispatcher that broke.
 * They end the links concerned, also those on which nothing happens.
 *
 * The provider calls an agent on a thread of its own, where no DAT call is safe. So the agent rings, and a thread of
 * ours, which sleeps otherwise, takes the events.
 */

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/udapl/udapl.h"

static void ring(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    (void)evd;
    struct udapl_device *own = instance;
    uint64_t one = 1;
    if (write(own->bell_fd, &one, sizeof(one)) < 0) {
        /* full: it is readable anyway */
    }
}

/* Once it has called, the agent is forgotten, and the CNO stays triggered until somebody has waited for it. */
static void ask_again(struct udapl_device *own)
{
    DAT_OS_WAIT_PROXY_AGENT agent = {.instance_data = own, .proxy_agent_func = ring};
    DAT_EVD_HANDLE evd;
    hd_lock(&own->mutex);
    udapl.cno_modify_agent(own->async_cno, agent);
    udapl.cno_wait(own->async_cno, 0, &evd);
    hd_unlock(&own->mutex);
}

static bool next_event(struct udapl_device *own, DAT_EVENT *event)
{
    hd_lock(&own->mutex);
    bool found = udapl.evd_dequeue(own->async_evd, event) == DAT_SUCCESS;
    hd_unlock(&own->mutex);
    return found;
}

/* What happened, in words, or NULL if it ends nothing. */
static const char *meaning(DAT_EVENT_NUMBER number)
{
    switch (number) {
    case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
        return "its port went down, or the device failed (DAT_ASYNC_ERROR_IA_CATASTROPHIC)";
    case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
        return "the device or its driver failed (DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)";
    case DAT_ASYNC_ERROR_EP_BROKEN:
        return "the endpoint broke (DAT_ASYNC_ERROR_EP_BROKEN)";
    case DAT_ASYNC_ERROR_EVD_OVERFLOW:
        return "an event dispatcher overflowed (DAT_ASYNC_ERROR_EVD_OVERFLOW)";
    default:
        return NULL;
    }
}

/* Whether an event with this handle is about the endpoint; one about the adapter is about all. */
static bool concerns(const struct udapl_ep *ep, DAT_EVENT_NUMBER number, DAT_HANDLE handle)
{
    if (number == DAT_ASYNC_ERROR_EP_BROKEN)
        return handle == ep->ep;
    if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
        return handle == ep->dto_evd || handle == ep->connect_evd;
    return true;
}

static void take_event(struct udapl_device *own, const DAT_EVENT *event)
{
    char why[160];
    const char *what = meaning(event->event_number);
    if (!what)
        return;
    snprintf(why, sizeof(why), "adapter %s: %s", own->adapter, what);
    pthread_mutex_lock(&own->eps_lock);
    for (struct hd_list *n = own->eps.next; n != &own->eps; n = n->next) {
        struct udapl_ep *ep = hd_container(n, struct udapl_ep, in_device);
        if (concerns(ep, event->event_number, event->event_data.asynch_error_event_data.dat_handle))
            udapl_break(ep, why);
    }
    pthread_mutex_unlock(&own->eps_lock);
}

static void *watch(void *arg)
{
    struct udapl_device *own = arg;
    uint64_t rings;
    DAT_EVENT event;
    while (!atomic_load(&own->stopping)) {
        ask_again(own);
        while (next_event(own, &event))
            take_event(own, &event);
        if (read(own->bell_fd, &rings, sizeof(rings)) < 0 && errno != EINTR)
            break;
    }
    return NULL;
}

int udapl_watch(struct hd_device *device)
{
    struct udapl_device *own = device->data;
    DAT_OS_WAIT_PROXY_AGENT agent = {.instance_data = own, .proxy_agent_func = ring};
    own->bell_fd = eventfd(0, EFD_CLOEXEC);
    if (own->bell_fd < 0)
        return hd_error(-errno, "no event descriptor: %s", strerror(errno));
    const char *call = "dat_cno_create";
    DAT_RETURN ret = udapl.cno_create(own->ia, agent, &own->async_cno);
    if (ret == DAT_SUCCESS) {
        call = "dat_evd_modify_cno";
        ret = udapl.evd_modify_cno(own->async_evd, own->async_cno);
    }
    if (ret != DAT_SUCCESS) { /* the guard still tells, only later */
        udapl_error(-EOPNOTSUPP, own->provider, call, ret, "");
        hd_log(device->log, HD_LOG_WARN,
               "%sa port that goes down will be noticed when the peer does not answer any more", hd_last_error());
        return 0;
    }
    int err = hd_thread_start(&own->watcher, "howdah-udapl", watch, own);
    own->watched = err == 0;
    return err;
}

void udapl_unwatch(struct hd_device *device)
{
    struct udapl_device *own = device->data;
    if (own->watched) {
        atomic_store(&own->stopping, true);
        ring(own, DAT_HANDLE_NULL);
        pthread_join(own->watcher, NULL);
    }
    if (own->async_cno) {
        udapl.evd_modify_cno(own->async_evd, DAT_HANDLE_NULL);
        udapl.cno_free(own->async_cno);
    }
}
