/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fault seam: a transport that stands in front of another one and goes wrong on purpose, at rates and with a seed
 * from the configuration. Nothing above or below it knows. Its gets and puts end in progress() even where the inner
 * transport's are done at once, so that their completions can be late or come twice.
 */

#include <pthread.h>
#include <stdlib.h>

#include "transport/transport.h"

struct fault_device {
    pthread_mutex_t lock;
    uint64_t random;
};

struct completion {
    uint64_t cookie;
    int status;
};

struct fault_ep {
    struct hd_ep base;
    struct hd_ep *inner;
    uint64_t random;
    uint64_t random_asleep; /* for whoever sleeps, without the link's lock */
    bool dropped, deaf_armed;
    _Atomic uint32_t deaf;   /* futex: a sleeper whom only wake() wakes */
    atomic_bool deaf_asleep; /* there is one */
    int64_t delayed_until;
    struct completion *done;     /* of inner operations that were done at once, to be reported by progress() */
    _Atomic unsigned done_count; /* pending() looks without the lock */
    unsigned done_room, copying; /* copying: inner operations that need a place in `done` when they return */
    unsigned char *scratch;
};

static bool chance(uint64_t *random, double rate)
{
    return rate > 0 && (double)(hd_random_next(random) >> 11) * 0x1p-53 < rate;
}

/* Counts an injected fault, and its kind. */
#define COUNT_FAULT(device, kind) (hd_count((device)->stats, faults, 1), hd_count((device)->stats, faults_##kind, 1))

/* Whether a fault of a kind strikes an endpoint now, by its rate in the configuration. */
#define STRIKES(ep, kind) STRIKES_BY(&(ep)->random, ep, kind)
#define STRIKES_BY(random, ep, kind)                                                                                   \
    (chance(random, (ep)->base.device->conf->fault_##kind##_rate) && (COUNT_FAULT((ep)->base.device, kind), true))

static struct fault_ep *of(struct hd_ep *ep)
{
    return (struct fault_ep *)ep;
}

static int fault_open(struct hd_device *device)
{
    struct fault_device *own = calloc(1, sizeof(*own));
    if (!own)
        return hd_error(-ENOMEM, "out of memory");
    pthread_mutex_init(&own->lock, NULL);
    own->random = (uint64_t)device->conf->fault_seed;
    device->data = own;
    return 0;
}

static void fault_close_device(struct hd_device *device)
{
    free(device->data);
}

static const char *fault_hardware(struct hd_device *device)
{
    return device->inner->ops->hardware(device->inner);
}

static int fault_slab_add(struct hd_device *device, struct hd_slab *slab)
{
    struct fault_device *own = device->data;
    pthread_mutex_lock(&own->lock);
    bool fails = chance(&own->random, device->conf->fault_register_rate);
    pthread_mutex_unlock(&own->lock);
    if (fails) {
        COUNT_FAULT(device, register);
        return hd_error(-EIO, "injected: registration failed");
    }
    return device->inner->ops->slab_add(device->inner, slab);
}

static void fault_slab_remove(struct hd_device *device, struct hd_slab *slab)
{
    device->inner->ops->slab_remove(device->inner, slab);
}

static size_t fault_describe(struct hd_device *device, uint8_t *blob)
{
    return device->inner->ops->describe(device->inner, blob);
}

static const char *fault_reachable(struct hd_device *device, const uint8_t *blob, size_t length)
{
    return device->inner->ops->reachable(device->inner, blob, length);
}

static size_t fault_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers)
{
    return device->inner->ops->cost(device->inner, mine, peers) + peers->frame_max;
}

static bool fault_user(struct hd_ep *ep, uid_t *uid)
{
    return of(ep)->inner->ops->user(of(ep)->inner, uid);
}

/* ---- the sink in the middle ---- */

static int inner_frame(void *arg, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    struct fault_ep *ep = arg;
    return ep->base.sink.frame(ep->base.sink.arg, frame, payload, owner);
}

static void report(struct fault_ep *ep, uint64_t cookie, int status)
{
    ep->base.sink.done(ep->base.sink.arg, cookie, status);
    if (STRIKES(ep, duplicate))
        ep->base.sink.done(ep->base.sink.arg, cookie, status);
}

static void inner_done(void *arg, uint64_t cookie, int status)
{
    report(arg, cookie, status);
}

static void inner_ring(void *arg)
{
    struct fault_ep *ep = arg;
    ep->base.sink.ring(ep->base.sink.arg);
}

static void inner_unlock(void *arg)
{
    struct fault_ep *ep = arg;
    ep->base.sink.unlock(ep->base.sink.arg);
}

static void inner_lock(void *arg)
{
    struct fault_ep *ep = arg;
    ep->base.sink.lock(ep->base.sink.arg);
}

static void copy_facts(struct fault_ep *ep)
{
    ep->base.caps = ep->inner->caps & ~(unsigned)HD_CAP_COPY;
    ep->base.frame_tx = ep->inner->frame_tx;
    ep->base.frame_rx = ep->inner->frame_rx;
}

static int fault_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **out)
{
    struct fault_ep *ep = calloc(1, sizeof(*ep));
    if (!ep || !(ep->scratch = malloc(params->peers.frame_max))) {
        free(ep);
        return hd_error(-ENOMEM, "out of memory");
    }
    struct fault_device *own = device->data;
    pthread_mutex_lock(&own->lock);
    ep->random = hd_random_next(&own->random);
    ep->random_asleep = hd_random_next(&own->random);
    pthread_mutex_unlock(&own->lock);
    ep->base = (struct hd_ep){.ops = device->ops, .device = device, .sink = params->sink};
    struct hd_ep_params inner = *params;
    inner.sink = (struct hd_sink){.frame = inner_frame,
                                  .done = inner_done,
                                  .unlock = inner_unlock,
                                  .lock = inner_lock,
                                  .ring = inner_ring,
                                  .arg = ep};
    int err = device->inner->ops->ep_create(device->inner, &inner, &ep->inner);
    if (err) {
        free(ep->scratch);
        free(ep);
        return err;
    }
    copy_facts(ep);
    *out = &ep->base;
    return 0;
}

static int fault_offer(struct hd_ep *ep, uint8_t *address, uint16_t *length)
{
    return of(ep)->inner->ops->offer(of(ep)->inner, address, length);
}

/* An adapter that does not get ready. */
static int get_stuck(const struct fault_ep *ep, int64_t deadline)
{
    COUNT_FAULT(ep->base.device, stuck);
    while (!hd_expired(deadline)) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    return hd_error(-ETIMEDOUT, "injected: the adapter did not get ready in time");
}

static int fault_answer(struct hd_ep *ep, const uint8_t *address, size_t length, int64_t deadline)
{
    if (chance(&of(ep)->random, ep->device->conf->fault_stuck_rate))
        return get_stuck(of(ep), deadline);
    int err = of(ep)->inner->ops->answer(of(ep)->inner, address, length, deadline);
    copy_facts(of(ep));
    return err;
}

static int fault_reply(struct hd_ep *ep, uint8_t *address, uint16_t *length)
{
    return of(ep)->inner->ops->reply(of(ep)->inner, address, length);
}

static int fault_meeting_fd(struct hd_ep *ep)
{
    return of(ep)->inner->ops->meeting_fd(of(ep)->inner);
}

static void fault_meet(struct hd_ep *ep)
{
    of(ep)->inner->ops->meet(of(ep)->inner);
}

static int fault_learn(struct hd_ep *ep, const uint8_t *address, size_t length)
{
    return of(ep)->inner->ops->learn(of(ep)->inner, address, length);
}

static int fault_finish(struct hd_ep *ep, int64_t deadline)
{
    if (chance(&of(ep)->random, ep->device->conf->fault_stuck_rate))
        return get_stuck(of(ep), deadline);
    int err = of(ep)->inner->ops->finish(of(ep)->inner, deadline);
    copy_facts(of(ep));
    return err;
}

static int fault_confirm(struct hd_ep *ep, uint8_t *address, uint16_t *length)
{
    return of(ep)->inner->ops->confirm(of(ep)->inner, address, length);
}

static int fault_confirmed(struct hd_ep *ep, const uint8_t *address, size_t length)
{
    int err = of(ep)->inner->ops->confirmed(of(ep)->inner, address, length);
    copy_facts(of(ep));
    return err;
}

static int fault_locate(struct hd_ep *ep, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    return of(ep)->inner->ops->locate(of(ep)->inner, buf, offset, key, address);
}

/* ---- traffic ---- */

/* Any bit but those of the length, by which a transport frames records. */
static void turn_a_bit(uint64_t *random, struct hd_frame *frame, unsigned char *payload)
{
    uint64_t bit = hd_random_next(random) % (8 * (sizeof(*frame) + frame->length - sizeof(frame->length)));
    uint64_t byte = bit / 8 < offsetof(struct hd_frame, length) ? bit / 8 : bit / 8 + sizeof(frame->length);
    unsigned char mask = (unsigned char)(1U << bit % 8);
    if (byte < sizeof(*frame))
        ((unsigned char *)frame)[byte] ^= mask;
    else
        payload[byte - sizeof(*frame)] ^= mask;
}

static int fault_send(struct hd_ep *base, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    struct fault_ep *ep = of(base);
    if (ep->dropped || STRIKES(ep, drop)) {
        ep->dropped = true;
        return hd_error(-ECONNRESET, "injected: link dropped");
    }
    if (STRIKES(ep, slow))
        return -EAGAIN;
    if (!STRIKES(ep, corrupt))
        return ep->inner->ops->send(ep->inner, frame, payload, owner);
    struct hd_frame bad = *frame;
    if (frame->length)
        memcpy(ep->scratch, payload, frame->length);
    turn_a_bit(&ep->random, &bad, ep->scratch);
    return ep->inner->ops->send(ep->inner, &bad, ep->scratch, NULL);
}

static int fault_rma(struct hd_ep *base, const struct hd_rma *rma, bool put)
{
    struct fault_ep *ep = of(base);
    if (ep->dropped)
        return hd_error(-ECONNRESET, "injected: link dropped");
    if (ep->done_count + ep->copying == ep->done_room) {
        unsigned room = ep->done_room ? 2 * ep->done_room : 16;
        struct completion *more = realloc(ep->done, room * sizeof(*more));
        if (!more)
            return -EAGAIN;
        ep->done = more;
        ep->done_room = room;
    }
    if (STRIKES(ep, error)) {
        ep->done[ep->done_count++] = (struct completion){rma->cookie, -EIO};
        return HD_IN_PROGRESS;
    }
    ep->copying++;
    int err = put ? ep->inner->ops->put(ep->inner, rma) : ep->inner->ops->get(ep->inner, rma);
    ep->copying--;
    if (err)
        return err;
    ep->done[ep->done_count++] = (struct completion){rma->cookie, 0};
    return HD_IN_PROGRESS;
}

static int fault_get(struct hd_ep *ep, const struct hd_rma *rma)
{
    return fault_rma(ep, rma, false);
}

static int fault_put(struct hd_ep *ep, const struct hd_rma *rma)
{
    return fault_rma(ep, rma, true);
}

static bool held_up(const struct fault_ep *ep)
{
    return ep->delayed_until && hd_now() < ep->delayed_until;
}

static int fault_progress(struct hd_ep *base, int budget)
{
    struct fault_ep *ep = of(base);
    if (ep->dropped)
        return hd_error(-ECONNRESET, "injected: link dropped");
    if (held_up(ep))
        return 0;
    ep->delayed_until = 0;
    if (ep->inner->ops->pending(ep->inner) && STRIKES(ep, delay)) {
        ep->delayed_until = hd_now() + base->device->conf->fault_delay_time;
        return 0;
    }
    int count = 0;
    while (ep->done_count > 0 && count < budget) {
        struct completion c = ep->done[--ep->done_count]; /* last first: completions have no order to rely on */
        report(ep, c.cookie, c.status);
        count++;
    }
    int n = ep->inner->ops->progress(ep->inner, budget - count);
    return n < 0 ? n : n + count;
}

static bool fault_pending(struct hd_ep *base)
{
    struct fault_ep *ep = of(base);
    return ep->done_count > 0 || ep->inner->ops->pending(ep->inner);
}

static void fault_wait(struct hd_ep *base, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout)
{
    struct fault_ep *ep = of(base);
    uint32_t heard = atomic_load(&ep->deaf);
    if (!fault_pending(base) && atomic_load(word) == seen && STRIKES_BY(&ep->random_asleep, ep, deaf)) {
        atomic_store(&ep->deaf_asleep, true);
        hd_futex_wait(&ep->deaf, heard, timeout, false);
        atomic_store(&ep->deaf_asleep, false);
        return;
    }
    int64_t nap = timeout == HD_FOREVER || timeout > 1000000 ? 1000000 : timeout; /* holds up no longer than a delay */
    ep->inner->ops->wait(ep->inner, word, seen, nap);
}

static void fault_wake(struct hd_ep *base)
{
    struct fault_ep *ep = of(base);
    atomic_fetch_add(&ep->deaf, 1);
    hd_futex_wake(&ep->deaf, 1, false);
    ep->inner->ops->wake(ep->inner);
}

static bool fault_woken(struct hd_ep *base)
{
    struct fault_ep *ep = of(base);
    return !atomic_load(&ep->deaf_asleep) && !ep->deaf_armed && ep->inner->ops->woken(ep->inner);
}

static bool fault_arm(struct hd_ep *base)
{
    struct fault_ep *ep = of(base);
    if (ep->delayed_until || ep->done_count || ep->dropped)
        return false;
    ep->deaf_armed = !fault_pending(base) && STRIKES(ep, deaf);
    return ep->deaf_armed || ep->inner->ops->arm(ep->inner);
}

static void fault_disarm(struct hd_ep *base)
{
    struct fault_ep *ep = of(base);
    if (!ep->deaf_armed)
        ep->inner->ops->disarm(ep->inner);
    ep->deaf_armed = false;
}

static int fault_event_fd(struct hd_ep *ep)
{
    return of(ep)->inner->ops->event_fd(of(ep)->inner);
}

static struct hd_source *fault_source(struct hd_ep *ep)
{
    return of(ep)->inner->ops->source(of(ep)->inner);
}

static uint32_t fault_number(struct hd_ep *ep)
{
    return of(ep)->inner->ops->number(of(ep)->inner);
}

static void fault_close(struct hd_ep *ep)
{
    of(ep)->inner->ops->close(of(ep)->inner);
}

static void fault_retire(struct hd_ep *ep)
{
    of(ep)->inner->ops->retire(of(ep)->inner);
}

static bool fault_quiet(struct hd_ep *ep)
{
    return of(ep)->inner->ops->quiet(of(ep)->inner);
}

static void fault_destroy(struct hd_ep *base)
{
    struct fault_ep *ep = of(base);
    ep->inner->ops->destroy(ep->inner);
    free(ep->scratch);
    free(ep->done);
    free(ep);
}

const struct hd_transport_ops hd_fault_ops = {
    .size = sizeof(struct hd_transport_ops),
    .name = "fault",
    .device_open = fault_open,
    .device_close = fault_close_device,
    .hardware = fault_hardware,
    .slab_add = fault_slab_add,
    .slab_remove = fault_slab_remove,
    .describe = fault_describe,
    .reachable = fault_reachable,
    .cost = fault_cost,
    .user = fault_user,
    .ep_create = fault_create,
    .offer = fault_offer,
    .answer = fault_answer,
    .reply = fault_reply,
    .meeting_fd = fault_meeting_fd,
    .meet = fault_meet,
    .learn = fault_learn,
    .finish = fault_finish,
    .confirm = fault_confirm,
    .confirmed = fault_confirmed,
    .locate = fault_locate,
    .send = fault_send,
    .get = fault_get,
    .put = fault_put,
    .progress = fault_progress,
    .pending = fault_pending,
    .wait = fault_wait,
    .wake = fault_wake,
    .woken = fault_woken,
    .arm = fault_arm,
    .disarm = fault_disarm,
    .event_fd = fault_event_fd,
    .source = fault_source,
    .number = fault_number,
    .close = fault_close,
    .retire = fault_retire,
    .quiet = fault_quiet,
    .destroy = fault_destroy,
};
