/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/transport.h"

#include <stdlib.h>

static const struct hd_transport_ops *const transports[] = {&hd_self_ops, &hd_shm_ops, &hd_verbs_ops, &hd_udapl_ops};

const struct hd_transport_ops *hd_transport_at(size_t i)
{
    return i < HD_COUNT(transports) ? transports[i] : NULL;
}

/* ---- operations for transports that do not have them ---- */

static int unsupported(const char *what)
{
    return hd_error(-EOPNOTSUPP, "this transport has no %s", what);
}

static const char *no_obstacle(void)
{
    return NULL;
}

static int device_nothing(struct hd_device *device)
{
    (void)device;
    return 0;
}

static void device_nothing_more(struct hd_device *device)
{
    (void)device;
}

static const char *no_hardware(struct hd_device *device)
{
    (void)device;
    return NULL;
}

static int slab_nothing(struct hd_device *device, struct hd_slab *slab)
{
    (void)device, (void)slab;
    return 0;
}

static void slab_nothing_more(struct hd_device *device, struct hd_slab *slab)
{
    (void)device, (void)slab;
}

static size_t describe_nothing(struct hd_device *device, uint8_t *blob)
{
    (void)device, (void)blob;
    return 0;
}

static const char *reachable_never(struct hd_device *device, const uint8_t *blob, size_t length)
{
    (void)device, (void)blob, (void)length;
    return "this transport cannot connect";
}

static size_t costs_nothing(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers)
{
    (void)device, (void)mine, (void)peers;
    return 0;
}

static bool user_unknown(struct hd_ep *ep, uid_t *uid)
{
    (void)ep, (void)uid;
    return false;
}

static int create_unsupported(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **ep)
{
    (void)device, (void)params, (void)ep;
    return unsupported("endpoints");
}

static int offer_unsupported(struct hd_ep *ep, uint8_t *address, uint16_t *length)
{
    (void)ep, (void)address, (void)length;
    return unsupported("address");
}

static int answer_unsupported(struct hd_ep *ep, const uint8_t *address, size_t length, int64_t deadline)
{
    (void)ep, (void)address, (void)length, (void)deadline;
    return unsupported("passive side");
}

static int reply_nothing(struct hd_ep *ep, uint8_t *address, uint16_t *length)
{
    (void)ep, (void)address;
    *length = 0;
    return 0;
}

static int learn_nothing(struct hd_ep *ep, const uint8_t *address, size_t length)
{
    (void)ep, (void)address, (void)length;
    return 0;
}

static int finish_nothing(struct hd_ep *ep, int64_t deadline)
{
    (void)ep, (void)deadline;
    return 0;
}

static int locate_unsupported(struct hd_ep *ep, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    (void)ep, (void)buf, (void)offset, (void)key, (void)address;
    return unsupported("remote memory access");
}

static int send_unsupported(struct hd_ep *ep, const struct hd_frame *frame, const void *payload, hd_buf *owner)
{
    (void)ep, (void)frame, (void)payload, (void)owner;
    return unsupported("send");
}

static int rma_unsupported(struct hd_ep *ep, const struct hd_rma *rma)
{
    (void)ep, (void)rma;
    return unsupported("remote memory access");
}

static int rma_nothing(struct hd_ep *ep, const struct hd_rma *rma)
{
    (void)ep, (void)rma;
    return 0;
}

static void rma_nothing_more(struct hd_ep *ep, const struct hd_rma *rma)
{
    (void)ep, (void)rma;
}

static int progress_nothing(struct hd_ep *ep, int budget)
{
    (void)ep, (void)budget;
    return 0;
}

static bool always(struct hd_ep *ep)
{
    (void)ep;
    return true;
}

static bool never(struct hd_ep *ep)
{
    (void)ep;
    return false;
}

static bool look_by_pending(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, unsigned times)
{
    bool relaxes = ep->ops->relaxes;
    while (!ep->ops->pending(ep) && atomic_load_explicit(word, memory_order_relaxed) == seen) {
        if (times-- == 0)
            return false;
        if (relaxes)
            hd_cpu_relax();
    }
    return true;
}

static void wait_briefly(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout)
{
    (void)ep, (void)word, (void)seen;
    struct timespec ts = {.tv_nsec = timeout >= 0 && timeout < 50000 ? (long)timeout : 50000};
    nanosleep(&ts, NULL);
}

static void ep_nothing(struct hd_ep *ep)
{
    (void)ep;
}

static int no_event_fd(struct hd_ep *ep)
{
    (void)ep;
    return -1;
}

static struct hd_source *no_source(struct hd_ep *ep)
{
    (void)ep;
    return NULL;
}

static uint32_t no_number(struct hd_ep *ep)
{
    (void)ep;
    return 0;
}

void hd_transport_complete(struct hd_transport_ops *full, const struct hd_transport_ops *ops)
{
    *full = *ops;
#define FILL(op, otherwise)                                                                                            \
    if (!full->op)                                                                                                     \
    full->op = otherwise
    FILL(probe, no_obstacle);
    FILL(device_open, device_nothing);
    FILL(device_close, device_nothing_more);
    FILL(hardware, no_hardware);
    FILL(slab_add, slab_nothing);
    FILL(slab_remove, slab_nothing_more);
    FILL(describe, describe_nothing);
    FILL(reachable, reachable_never);
    FILL(cost, costs_nothing);
    FILL(user, user_unknown);
    FILL(ep_create, create_unsupported);
    FILL(offer, offer_unsupported);
    FILL(answer, answer_unsupported);
    FILL(reply, reply_nothing);
    FILL(meeting_fd, no_event_fd);
    FILL(meet, ep_nothing);
    FILL(learn, learn_nothing);
    FILL(finish, finish_nothing);
    FILL(confirm, reply_nothing);
    FILL(confirmed, learn_nothing);
    FILL(locate, locate_unsupported);
    FILL(send, send_unsupported);
    FILL(get, rma_unsupported);
    FILL(put, rma_unsupported);
    FILL(hold, rma_nothing);
    FILL(unhold, rma_nothing_more);
    FILL(progress, progress_nothing);
    FILL(pending, always);
    FILL(look, look_by_pending);
    FILL(wait, wait_briefly);
    FILL(wake, ep_nothing);
    FILL(arm, never);
    FILL(disarm, ep_nothing);
    FILL(event_fd, no_event_fd);
    FILL(source, no_source);
    FILL(number, no_number);
    FILL(close, ep_nothing);
    FILL(retire, ep_nothing);
    FILL(quiet, always);
    FILL(destroy, ep_nothing);
#undef FILL
}

/* ---- devices ---- */

struct device {
    struct hd_device pub;
    struct hd_transport_ops ops;
};

static int open_bare(const struct hd_transport_ops *ops, const struct hd_device *common, struct hd_device *inner,
                     struct hd_device **out)
{
    struct device *device = malloc(sizeof(*device));
    if (!device)
        return hd_error(-ENOMEM, "out of memory");
    hd_transport_complete(&device->ops, ops);
    device->pub = *common;
    device->pub.ops = &device->ops;
    device->pub.inner = inner;
    int err = device->ops.device_open(&device->pub);
    if (err) {
        free(device);
        return err;
    }
    *out = &device->pub;
    return 0;
}

static bool faults_wanted(const struct hd_conf *c)
{
    return c->fault_drop_rate > 0 || c->fault_delay_rate > 0 || c->fault_duplicate_rate > 0 ||
           c->fault_register_rate > 0 || c->fault_error_rate > 0 || c->fault_corrupt_rate > 0 ||
           c->fault_slow_rate > 0 || c->fault_deaf_rate > 0 || c->fault_stuck_rate > 0;
}

int hd_device_open(const struct hd_transport_ops *ops, const struct hd_device *common, struct hd_device **out)
{
    struct hd_device *bare = NULL;
    int err = open_bare(ops, common, NULL, &bare);
    if (err || !faults_wanted(common->conf)) {
        *out = err ? NULL : bare;
        return err;
    }
    err = open_bare(&hd_fault_ops, common, bare, out);
    if (err)
        hd_device_close(bare);
    return err;
}

void hd_device_close(struct hd_device *device)
{
    struct hd_device *inner = device->inner;
    device->ops->device_close(device);
    free(hd_container(device, struct device, pub));
    if (inner)
        hd_device_close(inner);
}
