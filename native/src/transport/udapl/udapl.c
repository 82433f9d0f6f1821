/* SPDX-License-Identifier: Apache-2.0 */

/* The table of the uDAPL transport; udapl.h says where the rest is. */

#include "transport/udapl/udapl.h"

const struct hd_transport_ops hd_udapl_ops = {
    .size = sizeof(struct hd_transport_ops),
    .name = "udapl",
    .device_open = udapl_device_open,
    .device_close = udapl_device_close,
    .hardware = udapl_hardware,
    .slab_add = udapl_slab_add,
    .slab_remove = udapl_slab_remove,
    .describe = udapl_describe,
    .reachable = udapl_reachable,
    .cost = udapl_cost,
    .ep_create = udapl_create,
    .offer = udapl_offer,
    .answer = udapl_answer,
    .finish = udapl_finish,
    .locate = udapl_locate,
    .send = udapl_send,
    .get = udapl_get,
    .put = udapl_put,
    .progress = udapl_progress,
    .pending = udapl_pending,
    .woken = udapl_woken,
    .wait = udapl_wait,
    .wake = udapl_wake,
    .arm = udapl_arm,
    .disarm = udapl_disarm,
    .event_fd = udapl_event_fd,
    .close = udapl_close,
    .quiet = udapl_quiet,
    .destroy = udapl_destroy,
};
