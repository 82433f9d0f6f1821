/* SPDX-License-Identifier: Apache-2.0 */

/* Event queues, and the services that post new streams and fetches to them. */

#include "core/queue.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <howdah/link.h>

int hd_queue_create(hd_engine *engine, hd_queue **out)
{
    hd_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return hd_error(-ENOMEM, "out of memory");
    atomic_init(&queue->refs, 1);
    queue->fd = -1;
    queue->engine = hd_engine_ref(engine);
    pthread_mutex_init(&queue->lock, NULL);
    hd_list_init(&queue->events);
    pthread_mutex_lock(&engine->services_lock);
    hd_list_add_tail(&engine->queues, &queue->in_engine);
    pthread_mutex_unlock(&engine->services_lock);
    *out = queue;
    return 0;
}

hd_queue *hd_queue_ref(hd_queue *queue)
{
    atomic_fetch_add_explicit(&queue->refs, 1, memory_order_relaxed);
    return queue;
}

void hd_queue_unref(hd_queue *queue)
{
    if (!queue || atomic_fetch_sub_explicit(&queue->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&queue->lock);
    if (queue->fd >= 0)
        close(queue->fd);
    hd_engine_unref(queue->engine);
    free(queue);
}

/* Under the lock. */
static void queue_signal_now(hd_queue *queue)
{
    uint64_t one = 1;
    bool ready = !hd_list_empty(&queue->events) || atomic_load(&queue->woken) || atomic_load(&queue->engine->closing);
    if (queue->fd < 0 || ready == queue->readable)
        return;
    /* Neither fails: the count is 0 or 1. */
    ssize_t n = ready ? write(queue->fd, &one, sizeof(one)) : read(queue->fd, &one, sizeof(one));
    queue->readable = n == sizeof(one) ? ready : queue->readable;
}

void hd_queue_signal(hd_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue_signal_now(queue);
    pthread_mutex_unlock(&queue->lock);
}

int hd_queue_fd(hd_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->fd < 0)
        queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int fd = queue->fd < 0 ? hd_error(-errno, "no descriptor for a queue: %s", strerror(errno)) : queue->fd;
    queue_signal_now(queue);
    pthread_mutex_unlock(&queue->lock);
    return fd;
}

static void queue_wake(hd_queue *queue)
{
    atomic_fetch_add(&queue->word, 1);
    if (atomic_load(&queue->sleepers))
        hd_futex_wake(&queue->word, INT_MAX, false);
}

bool hd_queue_post(hd_queue *queue, struct hd_event_node *node)
{
    if (!queue)
        return false;
    pthread_mutex_lock(&queue->lock);
    bool alive = !queue->destroyed;
    if (alive && !node->posted) {
        node->posted = true;
        hd_list_add_tail(&queue->events, &node->link);
        atomic_store_explicit(&queue->filled, true, memory_order_relaxed);
        if (queue->fd >= 0)
            queue_signal_now(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    if (alive)
        queue_wake(queue);
    return alive;
}

void hd_queue_cancel(hd_queue *queue, struct hd_event_node *node)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    if (node->posted) {
        node->posted = false;
        hd_list_remove(&node->link);
        if (queue->fd >= 0)
            queue_signal_now(queue);
    }
    pthread_mutex_unlock(&queue->lock);
}

/* Under the lock. `discard` may be NULL. @return false if there is none */
static bool queue_take_first(hd_queue *queue, struct hd_event *event, void (**discard)(struct hd_event *event))
{
    if (hd_list_empty(&queue->events))
        return false;
    struct hd_event_node *node = hd_container(queue->events.next, struct hd_event_node, link);
    hd_list_remove(&node->link);
    node->posted = false;
    *event = node->event;
    if (discard)
        *discard = node->discard;
    if (node->allocated)
        free(node);
    return true;
}

int hd_queue_take(hd_queue *queue, struct hd_event *events, size_t max)
{
    int count = 0;
    pthread_mutex_lock(&queue->lock);
    while ((size_t)count < max && queue_take_first(queue, &events[count], NULL))
        count++;
    atomic_store_explicit(&queue->filled, !hd_list_empty(&queue->events), memory_order_relaxed);
    if (queue->fd >= 0)
        queue_signal_now(queue);
    pthread_mutex_unlock(&queue->lock);
    return count;
}

void hd_queue_sleep(hd_queue *queue, uint32_t seen, int64_t deadline)
{
    int64_t left = deadline == HD_FOREVER ? HD_FOREVER : deadline - hd_now();
    if (left != HD_FOREVER && left <= 0)
        return;
    atomic_fetch_add(&queue->sleepers, 1);
    hd_futex_wait(&queue->word, seen, left, false);
    atomic_fetch_sub(&queue->sleepers, 1);
}

void hd_queue_wake_all(hd_queue *queue)
{
    hd_queue_signal(queue);
    atomic_fetch_add(&queue->word, 1);
    hd_futex_wake(&queue->word, INT_MAX, false);
}

void hd_queue_wake(hd_queue *queue)
{
    atomic_store(&queue->woken, true);
    hd_queue_signal(queue);
    queue_wake(queue);
}

/* The next event that nobody will take. Streams and requests of peers must be refused; the rest is dropped. */
static bool queue_discard_first(hd_queue *queue)
{
    struct hd_event event;
    void (*discard)(struct hd_event *) = NULL;
    pthread_mutex_lock(&queue->lock);
    bool any = queue_take_first(queue, &event, &discard);
    pthread_mutex_unlock(&queue->lock);
    if (discard)
        discard(&event);
    return any;
}

void hd_queue_destroy(hd_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->destroyed = true;
    pthread_mutex_unlock(&queue->lock);
    while (queue_discard_first(queue)) {
    }
    pthread_mutex_lock(&queue->engine->services_lock);
    hd_list_remove(&queue->in_engine);
    pthread_mutex_unlock(&queue->engine->services_lock);
    hd_queue_unref(queue);
}

/* ---- services ---- */

struct service {
    struct hd_list link;
    char name[HD_SERVICE_MAX + 1];
    hd_queue *queue;
    uint64_t user;
};

/* Under services_lock. */
static struct service *queue_service_named(struct hd_engine *engine, const char *name, size_t length)
{
    for (struct hd_list *n = engine->services.next; n != &engine->services; n = n->next) {
        struct service *service = hd_container(n, struct service, link);
        if (strlen(service->name) == length && memcmp(service->name, name, length) == 0)
            return service;
    }
    return NULL;
}

int hd_engine_listen(hd_engine *engine, const char *name, hd_queue *queue, uint64_t user)
{
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || length > HD_SERVICE_MAX || !queue)
        return hd_error(-EINVAL, "a service needs a name of 1 to %d bytes and a queue", HD_SERVICE_MAX);
    struct service *service = calloc(1, sizeof(*service));
    if (!service)
        return hd_error(-ENOMEM, "out of memory");
    memcpy(service->name, name, length);
    service->queue = hd_queue_ref(queue);
    service->user = user;
    pthread_mutex_lock(&engine->services_lock);
    bool taken = queue_service_named(engine, name, length) != NULL;
    if (!taken)
        hd_list_add_tail(&engine->services, &service->link);
    pthread_mutex_unlock(&engine->services_lock);
    if (!taken)
        return 0;
    hd_queue_unref(queue);
    free(service);
    return hd_error(-EEXIST, "service %s is offered already", name);
}

int hd_engine_unlisten(hd_engine *engine, const char *name)
{
    pthread_mutex_lock(&engine->services_lock);
    struct service *service = queue_service_named(engine, name, strlen(name));
    if (service)
        hd_list_remove(&service->link);
    pthread_mutex_unlock(&engine->services_lock);
    if (!service)
        return hd_error(-ENOENT, "no service %s", name);
    hd_queue_unref(service->queue);
    free(service);
    return 0;
}

bool hd_service_find(struct hd_engine *engine, const char *name, size_t length, hd_queue **queue, uint64_t *user)
{
    pthread_mutex_lock(&engine->services_lock);
    struct service *service = queue_service_named(engine, name, length);
    if (service) {
        *queue = hd_queue_ref(service->queue);
        *user = service->user;
    }
    pthread_mutex_unlock(&engine->services_lock);
    return service != NULL;
}
