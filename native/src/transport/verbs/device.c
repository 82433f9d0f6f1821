/* SPDX-License-Identifier: Apache-2.0 */

/* The device: which one, which port and GID; registered memory; what peers must know; its asynchronous events. */

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/numa.h"
#include "transport/verbs/cq.h"

#define CLASS_FOLDER "/sys/class/infiniband"
#define VERSION      1

/* What goes into the greeting; little endian. */
struct blob {
    uint8_t version, network, mtu, reserved;
    uint16_t lid, partition; /* partition: 0 of older engines */
    struct verbs_gid gid;
};
static_assert(sizeof(struct blob) == 24 && sizeof(struct blob) <= HD_BLOB_MAX, "blob");

/* ---- ports and GIDs ---- */

static bool any_device(void)
{
    DIR *folder = opendir(CLASS_FOLDER);
    const struct dirent *entry = NULL;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            break;
    if (folder)
        closedir(folder);
    return entry != NULL;
}

static int query_port(const struct verbs_api *api, struct ibv_context *context, uint8_t port,
                      struct ibv_port_attr *attr)
{
    memset(attr, 0, sizeof(*attr)); /* an old library fills only the beginning */
    return api->query_port(context, port, attr);
}

static bool is_roce_v2(const char *device, uint8_t port, int index)
{
    char path[256], text[32] = "";
    snprintf(path, sizeof(path), CLASS_FOLDER "/%s/ports/%u/gid_attrs/types/%d", device, port, index);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    return n > 0 && strncmp(text, "RoCE v2", 7) == 0;
}

static bool is_zero(const struct verbs_gid *gid)
{
    static const struct verbs_gid zero;
    return memcmp(gid, &zero, sizeof(zero)) == 0;
}

static bool is_mapped_v4(const struct verbs_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid->bytes, prefix, sizeof(prefix)) == 0;
}

/* How well a GID serves for RoCE; 0 not at all. Routable before not, IPv4 before IPv6, since that is how hosts of one
 * network are most likely to have the same kind. */
static int worth(const struct verbs_gid *gid, bool v2)
{
    bool link_local = gid->bytes[0] == 0xfe && (gid->bytes[1] & 0xc0) == 0x80;
    return link_local ? 0 : (v2 ? 2 : 0) + (is_mapped_v4(gid) ? 2 : 1);
}

#define BEST_GID 4 /* worth() of one that no other can beat */

static int read_gid(struct verbs_device *dev, int index, struct verbs_gid *gid)
{
    union ibv_gid raw;
    int err = dev->api->query_gid(dev->context, dev->port, index, &raw);
    if (!err)
        memcpy(gid->bytes, raw.raw, sizeof(gid->bytes));
    return err;
}

static int choose_gid(struct verbs_device *dev, struct verbs_port *port)
{
    int wanted = (int)dev->device->conf->verbs_gid_index, best = 0;
    bool ib = port->attr.link_layer != IBV_LINK_LAYER_ETHERNET;
    int first = wanted >= 0 ? wanted : 0;
    int end = wanted >= 0 || ib ? first + 1 : port->attr.gid_tbl_len;
    for (int i = first; i < end && best < BEST_GID; i++) {
        struct verbs_gid gid;
        if (read_gid(dev, i, &gid) || is_zero(&gid)) /* of a thousand entries most are empty */
            continue;
        bool v2 = !ib && is_roce_v2(dev->name, dev->port, i);
        int value = wanted >= 0 || ib ? 1 : worth(&gid, v2);
        if (value <= best)
            continue;
        best = value;
        port->gid = gid;
        port->gid_index = i;
        port->network = ib ? VERBS_INFINIBAND : v2 ? VERBS_ROCE_V2 : VERBS_ROCE_V1;
    }
    if (best)
        return 0;
    if (wanted >= 0)
        return hd_error(-EADDRNOTAVAIL,
                        "port %u of verbs device %s has no GID with index %d; see %s and `ibv_devinfo -v`", dev->port,
                        dev->name, wanted, HD_KEY_PREFIX "verbs.gid.index");
    return hd_error(-EADDRNOTAVAIL,
                    "port %u of verbs device %s has no GID to use; give its network interface an address, or set %s",
                    dev->port, dev->name, HD_KEY_PREFIX "verbs.gid.index");
}

/* ---- partitions ---- */

static uint16_t partition_number(uint16_t key)
{
    return key & (uint16_t)~VERBS_FULL_MEMBER;
}

/* *number: 0 for any. */
static int read_partition(const struct verbs_device *dev, uint16_t *number)
{
    const char *text = dev->device->conf->verbs_partition;
    char *end;
    unsigned long key = strtoul(text, &end, 0);
    *number = 0;
    if (strcmp(text, "auto") == 0 || text[0] == '\0')
        return 0;
    *number = partition_number((uint16_t)key);
    if (text[0] < '0' || text[0] > '9' || *end || key > 0xffff || *number == 0)
        return hd_error(-EINVAL, "%s=%s is no partition key; write for example 0x8001", HD_KEY_PREFIX "verbs.partition",
                        text);
    return 0;
}

/* The key that is wanted, or the first that makes the port a full member, or else the first there is. */
static void look_for_partition(struct verbs_device *dev, struct verbs_port *port, uint16_t wanted)
{
    for (int i = 0; i < port->attr.pkey_tbl_len; i++) {
        __be16 raw;
        if (dev->api->query_pkey(dev->context, dev->port, i, &raw) || partition_number(ntohs(raw)) == 0)
            continue;
        uint16_t key = ntohs(raw);
        bool full = key & VERBS_FULL_MEMBER, better = full && !(port->partition & VERBS_FULL_MEMBER);
        if ((wanted && partition_number(key) != wanted) || (port->partition && !better))
            continue;
        port->partition = key;
        port->partition_index = (uint16_t)i;
    }
}

static int choose_partition(struct verbs_device *dev, struct verbs_port *port)
{
    uint16_t wanted;
    int err = read_partition(dev, &wanted);
    if (err || port->network != VERBS_INFINIBAND)
        return err;
    look_for_partition(dev, port, wanted);
    if (port->partition)
        return 0;
    return hd_error(-EADDRNOTAVAIL,
                    "port %u of verbs device %s is in %s; see %s and " CLASS_FOLDER "/%s/ports/%u/pkeys", dev->port,
                    dev->name, wanted ? "another partition than the one that is asked for" : "no partition",
                    HD_KEY_PREFIX "verbs.partition", dev->name, dev->port);
}

/* ---- the port ---- */

/* What the last look found, unless an event has said since that it may have changed: a table of GIDs has up to
 * thousands of entries, each of which takes system calls. */
static bool recall_addresses(struct verbs_device *dev, struct verbs_port *port, unsigned changes)
{
    pthread_mutex_lock(&dev->lock);
    struct verbs_port now = dev->now;
    bool valid = now.network && dev->now_as_of == changes && now.attr.lid == port->attr.lid &&
                 now.attr.link_layer == port->attr.link_layer && now.attr.gid_tbl_len == port->attr.gid_tbl_len;
    pthread_mutex_unlock(&dev->lock);
    if (valid) {
        now.attr = port->attr;
        *port = now;
    }
    return valid;
}

static int choose_addresses(struct verbs_device *dev, struct verbs_port *port)
{
    int err = choose_gid(dev, port);
    return err ? err : choose_partition(dev, port);
}

void hd_verbs_port_changed(struct verbs_device *dev)
{
    atomic_fetch_add(&dev->changes, 1);
}

int hd_verbs_look_at_port(struct verbs_device *dev, struct verbs_port *port)
{
    unsigned changes = atomic_load(&dev->changes); /* what changes from here on is looked up by the next one */
    *port = (struct verbs_port){0};
    int err = query_port(dev->api, dev->context, dev->port, &port->attr);
    if (err)
        return hd_error(-err, "port %u of verbs device %s cannot be queried: %s", dev->port, dev->name, strerror(err));
    if (port->attr.state != IBV_PORT_ACTIVE)
        return hd_error(-ENETDOWN,
                        "port %u of verbs device %s is not active; check cable, interface and subnet manager",
                        dev->port, dev->name);
    if (port->attr.link_layer != IBV_LINK_LAYER_ETHERNET && port->attr.lid == 0)
        return hd_error(-ENETDOWN, "port %u of verbs device %s has no address (LID); is a subnet manager running?",
                        dev->port, dev->name);
    err = recall_addresses(dev, port, changes) ? 0 : choose_addresses(dev, port);
    if (err)
        return err;
    pthread_mutex_lock(&dev->lock);
    dev->now = *port;
    dev->now_as_of = changes;
    pthread_mutex_unlock(&dev->lock);
    return 0;
}

/* ---- which device ---- */

struct wish {
    char name[HD_TEXT_MAX];
    unsigned port;
    enum hd_link_layer layer;
    long number; /* -1: by name */
    bool any;
};

static bool is_of_layer(const struct ibv_port_attr *attr, enum hd_link_layer wanted)
{
    bool ethernet = attr->link_layer == IBV_LINK_LAYER_ETHERNET;
    return wanted == HD_LAYER_ANY || ethernet == (wanted == HD_LAYER_ETHERNET);
}

/* The first active port, or the one that is asked for. @return 0 if there is none. */
static uint8_t active_port(const struct verbs_api *api, struct ibv_context *context, uint8_t ports,
                           const struct wish *wish)
{
    unsigned wanted = wish->port;
    struct ibv_port_attr attr;
    for (unsigned port = wanted ? wanted : 1; port <= (wanted ? wanted : ports); port++)
        if (query_port(api, context, (uint8_t)port, &attr) == 0 && attr.state == IBV_PORT_ACTIVE &&
            is_of_layer(&attr, wish->layer))
            return (uint8_t)port;
    return 0;
}

/* @return the port to use, with *context open, or 0. */
static uint8_t try_device(const struct verbs_api *api, struct ibv_device *device, const struct wish *wish,
                          struct ibv_context **context)
{
    struct ibv_device_attr attr;
    if (device->transport_type != IBV_TRANSPORT_IB && device->transport_type != IBV_TRANSPORT_UNKNOWN)
        return 0; /* iWARP and others connect in ways of their own */
    *context = api->open_device(device);
    if (!*context)
        return 0;
    uint8_t port = api->query_device(*context, &attr) ? 0 : active_port(api, *context, attr.phys_port_cnt, wish);
    if (!port)
        api->close_device(*context);
    return port;
}

const char *hd_verbs_probe(void)
{
    static _Thread_local char why[256];
    const struct verbs_api *api = any_device() ? hd_verbs_load() : NULL;
    if (!api) {
        snprintf(why, sizeof(why), "%s", any_device() ? hd_last_error() : "this host has no RDMA device");
        return why;
    }
    int count = 0;
    struct ibv_device **list = api->get_device_list(&count);
    struct ibv_context *context;
    const struct wish anything = {.any = true};
    bool found = false;
    for (int i = 0; list && i < count && !found; i++)
        if (try_device(api, list[i], &anything, &context)) {
            api->close_device(context);
            found = true;
        }
    if (list)
        api->free_device_list(list);
    if (found)
        return NULL;
    snprintf(why, sizeof(why), "%s",
             count ? "no InfiniBand or RoCE port of this host is active, or this process may not open its device "
                     "(/dev/infiniband/uverbs*)"
                   : "this host's RDMA devices have no driver in libibverbs (package ibverbs-providers)");
    return why;
}

/* "auto", "name", "number", each perhaps with ":port". */
static int read_wish(const struct hd_conf *conf, struct wish *wish)
{
    *wish = (struct wish){
        .port = (unsigned)conf->verbs_port, .layer = (enum hd_link_layer)conf->verbs_link_layer, .number = -1};
    snprintf(wish->name, sizeof(wish->name), "%s", conf->verbs_device);
    char *end, *colon = strchr(wish->name, ':');
    if (colon) {
        unsigned long port = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end || port == 0 || port > 255)
            return hd_error(-EINVAL, "%s=%s does not name a port; write for example mlx5_0:1",
                            HD_KEY_PREFIX "verbs.device", conf->verbs_device);
        wish->port = (unsigned)port;
        *colon = '\0';
    }
    long number = strtol(wish->name, &end, 10);
    if (wish->name[0] >= '0' && wish->name[0] <= '9' && *end == '\0')
        wish->number = number;
    wish->any = strcmp(wish->name, "auto") == 0 || wish->name[0] == '\0';
    return 0;
}

static int open_wished(struct verbs_device *dev)
{
    struct wish wish;
    int err = read_wish(dev->device->conf, &wish), count = 0;
    if (err)
        return err;
    struct ibv_device **list = dev->api->get_device_list(&count);
    if (!list)
        return hd_error(-errno, "the verbs devices of this host cannot be listed: %s", strerror(errno));
    char names[256] = "none";
    for (int i = 0, n = 0; i < count && dev->port == 0; i++) {
        const char *name = list[i]->name;
        int more = snprintf(names + n, sizeof(names) - (size_t)n, "%s%s", n ? ", " : "", name);
        n = more > 0 && n + more < (int)sizeof(names) ? n + more : n;
        if (!wish.any && (wish.number >= 0 ? wish.number != i : strcmp(wish.name, name) != 0))
            continue;
        dev->port = try_device(dev->api, list[i], &wish, &dev->context);
        if (dev->port)
            snprintf(dev->name, sizeof(dev->name), "%s", name);
    }
    dev->api->free_device_list(list);
    if (dev->port)
        return 0;
    static const char *const layers[] = {"any", "infiniband", "ethernet"};
    return hd_error(-ENODEV,
                    "%s=%s, %s=%u, %s=%s: no such device with an active port that this process may open; devices: %s",
                    HD_KEY_PREFIX "verbs.device", dev->device->conf->verbs_device, HD_KEY_PREFIX "verbs.port",
                    wish.port, HD_KEY_PREFIX "verbs.link.layer", layers[wish.layer], names);
}

/* ---- memory ---- */

/* The adapter may write to memory in another order than it was sent, but always before it reports that it did. Nobody
 * here looks for data before it is reported. */
static struct ibv_mr *register_relaxed(struct verbs_device *dev, void *base, size_t size, int access)
{
    if (dev->api->reg_mr_iova2)
        return dev->api->reg_mr_iova2(dev->pd, base, size, (uintptr_t)base,
                                      (unsigned)access | IBV_ACCESS_RELAXED_ORDERING);
    errno = EOPNOTSUPP;
    return NULL;
}

static struct ibv_mr *register_where_it_is(struct verbs_device *dev, void *base, size_t size, int access)
{
    bool relaxed = hd_verbs_may(dev, VERBS_RELAXED);
    struct ibv_mr *mr = relaxed ? register_relaxed(dev, base, size, access) : NULL;
    int err = errno;
    if (mr)
        return mr;
    mr = dev->api->reg_mr(dev->pd, base, size, access);
    if (mr && relaxed) /* else it is refused for what both have in common */
        hd_verbs_lacks(dev, VERBS_RELAXED, err);
    return mr;
}

/* What is not in memory yet comes from the adapter's NUMA node. */
static struct ibv_mr *register_close(struct verbs_device *dev, void *base, size_t size, int access)
{
    int refused = dev->numa_node < 0 ? 0 : hd_numa_prefer(dev->numa_node);
    struct ibv_mr *mr = register_where_it_is(dev, base, size, access);
    int err = errno;
    if (dev->numa_node >= 0 && !refused)
        hd_numa_restore();
    if (refused && !atomic_exchange(&dev->told_of_node, true))
        hd_log(dev->device->log, HD_LOG_INFO, "verbs device %s is on NUMA node %d, but memory is not placed there: %s",
               dev->name, dev->numa_node,
               refused == -EEXIST ? "the program has a policy of its own" : strerror(-refused));
    errno = err;
    return mr;
}

struct ibv_mr *hd_verbs_register(struct verbs_device *dev, void *base, size_t size, int access)
{
    struct ibv_mr *mr = register_close(dev, base, size, access);
    if (mr)
        return mr;
    int err = errno ? errno : ENOMEM;
    struct rlimit limit = {0};
    char locked[32] = "unlimited";
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(locked, sizeof(locked), "%llu KB", (unsigned long long)limit.rlim_cur / 1024);
    hd_error(
        -err,
        "verbs device %s cannot register %zu bytes: %s; this process may lock %s of memory: raise that (ulimit -l, "
        "LimitMEMLOCK= of a systemd unit) or lower %s",
        dev->name, size, strerror(err), locked, HD_KEY_PREFIX "memory.limit");
    return NULL;
}

int hd_verbs_slab_add(struct hd_device *device, struct hd_slab *slab)
{
    struct verbs_device *dev = device->data;
    int access = IBV_ACCESS_LOCAL_WRITE;
    if (!atomic_load(&device->local_only))
        access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mr *mr = hd_verbs_register(dev, slab->base, slab->size, access);
    if (!mr) {
        if (!atomic_exchange(&dev->told, true))
            hd_log(device->log, HD_LOG_WARN, "%s; what is in such memory is copied, which is slower", hd_last_error());
        return -EOPNOTSUPP;
    }
    slab->device[device->index].handle = mr;
    slab->device[device->index].key = mr->rkey;
    return 0;
}

void hd_verbs_slab_remove(struct hd_device *device, struct hd_slab *slab)
{
    struct verbs_device *dev = device->data;
    int err = dev->api->dereg_mr(slab->device[device->index].handle);
    if (err)
        hd_log(device->log, HD_LOG_ERROR, "verbs device %s does not let go of memory: %s", dev->name, strerror(err));
}

/* ---- who can be reached ---- */

size_t hd_verbs_describe(struct hd_device *device, uint8_t *bytes)
{
    struct verbs_device *dev = device->data;
    pthread_mutex_lock(&dev->lock);
    struct blob blob = {.version = VERSION,
                        .network = (uint8_t)dev->now.network,
                        .mtu = (uint8_t)dev->now.attr.active_mtu,
                        .lid = dev->now.attr.lid,
                        .partition = dev->now.partition,
                        .gid = dev->now.gid};
    pthread_mutex_unlock(&dev->lock);
    memcpy(bytes, &blob, sizeof(blob));
    return sizeof(blob);
}

static const char *obstacle_of_partitions(uint16_t mine, uint16_t peers)
{
    if (!mine || !peers) /* it does not say */
        return NULL;
    if (partition_number(mine) != partition_number(peers))
        return "the peer's port is in another InfiniBand partition (" HD_KEY_PREFIX "verbs.partition)";
    return (mine | peers) & VERBS_FULL_MEMBER ? NULL : "both ports are limited members of their InfiniBand partition";
}

static const char *obstacle(const struct verbs_port *port, const struct blob *peer)
{
    if (peer->network < VERBS_INFINIBAND || peer->network > VERBS_ROCE_V2)
        return "the peer's port is of an unknown kind";
    bool ib = peer->network == VERBS_INFINIBAND;
    if (ib != (port->network == VERBS_INFINIBAND))
        return "one port is InfiniBand, the other one Ethernet";
    if (ib && memcmp(peer->gid.bytes, port->gid.bytes, 8) != 0)
        return "the peer is in another InfiniBand subnet";
    if (ib)
        return obstacle_of_partitions(port->partition, peer->partition);
    if (peer->network != port->network)
        return "one port has RoCE v1, the other one v2";
    return is_mapped_v4(&peer->gid) == is_mapped_v4(&port->gid) ? NULL : "one port has IPv4, the other one IPv6";
}

const char *hd_verbs_reachable(struct hd_device *device, const uint8_t *bytes, size_t length)
{
    struct verbs_device *dev = device->data;
    struct blob peer;
    if (length < sizeof(peer))
        return "the peer's port is unknown";
    memcpy(&peer, bytes, sizeof(peer));
    if (peer.version != VERSION)
        return "the peer's verbs transport is of another version";
    pthread_mutex_lock(&dev->lock);
    const char *why = obstacle(&dev->now, &peer);
    pthread_mutex_unlock(&dev->lock);
    return why;
}

const char *hd_verbs_hardware(struct hd_device *device)
{
    return ((struct verbs_device *)device->data)->name;
}

/* ---- asynchronous events ---- */

static void end_endpoint(struct verbs_ep *ep, enum ibv_event_type type)
{
    atomic_store(&ep->event, (int)type + 1);
    hd_verbs_rouse(ep);
}

/* A completion queue broke. */
static void end_users(struct verbs_device *dev, const struct verbs_cq *cq)
{
    pthread_mutex_lock(&dev->lock);
    for (struct hd_list *n = dev->eps.next; n != &dev->eps; n = n->next) {
        struct verbs_ep *ep = hd_container(n, struct verbs_ep, node);
        if (ep->cq == cq)
            end_endpoint(ep, IBV_EVENT_CQ_ERR);
    }
    pthread_mutex_unlock(&dev->lock);
}

static void end_all(struct verbs_device *dev, enum ibv_event_type type)
{
    pthread_mutex_lock(&dev->lock);
    for (struct hd_list *n = dev->eps.next; n != &dev->eps; n = n->next)
        end_endpoint(hd_container(n, struct verbs_ep, node), type);
    pthread_mutex_unlock(&dev->lock);
}

/* The queue pair of an event cannot go before the event is acknowledged. */
void hd_verbs_take_event(struct verbs_device *dev, const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        atomic_store(&((struct verbs_ep *)event->element.qp->qp_context)->last_wqe, true);
        return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
        end_endpoint(event->element.qp->qp_context, event->event_type);
        return;
    case IBV_EVENT_CQ_ERR:
        end_users(dev, event->element.cq->cq_context);
        return;
    case IBV_EVENT_PORT_ERR:
        hd_verbs_port_changed(dev);
        if (event->element.port_num == dev->port)
            end_all(dev, event->event_type);
        return;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        end_all(dev, event->event_type);
        return;
    default: /* GIDs, LID, partitions, a port that came back: new links look again */
        hd_verbs_port_changed(dev);
        return;
    }
}

static void *watch(void *arg)
{
    struct verbs_device *dev = arg;
    struct pollfd fds[2] = {{.fd = dev->context->async_fd, .events = POLLIN}, {.fd = dev->stop_fd, .events = POLLIN}};
    while (!(fds[1].revents & POLLIN)) {
        if (poll(fds, 2, -1) < 0)
            continue;
        struct ibv_async_event event;
        while (dev->api->get_async_event(dev->context, &event) == 0) {
            hd_verbs_take_event(dev, &event);
            dev->api->ack_async_event(&event);
        }
        if (errno == EAGAIN || errno == EINTR)
            continue;
        end_all(dev, IBV_EVENT_DEVICE_FATAL); /* it was taken away: nothing more will come */
        fds[0].fd = -1;
    }
    return NULL;
}

static int start_watching(struct verbs_device *dev)
{
    int fd = dev->context->async_fd, flags = fcntl(fd, F_GETFL);
    dev->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (dev->stop_fd < 0 || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return hd_error(-errno, "no descriptors to watch verbs device %s: %s", dev->name, strerror(errno));
    int err = hd_thread_start(&dev->watcher, "howdah-verbs", watch, dev);
    dev->watched = err == 0;
    return err;
}

/* ---- life ---- */

static int set_up(struct verbs_device *dev)
{
    struct verbs_port port;
    int err = open_wished(dev);
    if (!err)
        err = hd_verbs_look_at_port(dev, &port);
    if (err)
        return err;
    err = dev->api->query_device(dev->context, &dev->attr);
    if (err)
        return hd_error(-err, "verbs device %s cannot be queried: %s", dev->name, strerror(err));
    char numa_node[256];
    snprintf(numa_node, sizeof(numa_node), CLASS_FOLDER "/%s/device/numa_node", dev->name);
    dev->numa_node = hd_numa_node_of(numa_node);
    dev->pd = dev->api->alloc_pd(dev->context);
    if (!dev->pd)
        return hd_error(-errno, "verbs device %s gives no protection domain: %s", dev->name, strerror(errno));
    char page[64]; /* a small one, to learn now rather than with the first link that memory cannot be locked */
    struct ibv_mr *mr = hd_verbs_register(dev, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
    if (!mr)
        return -ENOMEM;
    dev->api->dereg_mr(mr);
    return start_watching(dev);
}

int hd_verbs_open(struct hd_device *device)
{
    struct verbs_device *dev = calloc(1, sizeof(*dev));
    if (!dev)
        return hd_error(-ENOMEM, "out of memory");
    dev->device = device;
    dev->stop_fd = dev->numa_node = -1;
    dev->frame_max = device->conf->eager_threshold;
    if (dev->frame_max < HD_FRAME_MIN_PAYLOAD)
        dev->frame_max = HD_FRAME_MIN_PAYLOAD;
    pthread_mutex_init(&dev->lock, NULL);
    hd_list_init(&dev->eps);
    hd_list_init(&dev->cqs);
    dev->first_vector = (unsigned)getpid(); /* not all processes of a host begin with the first */
    device->data = dev;
    atomic_store(&device->local_only, !device->conf->verbs_remote_access);
    dev->api = hd_verbs_load();
    int err = dev->api ? set_up(dev) : -EOPNOTSUPP;
    if (err) {
        char why[512];
        snprintf(why, sizeof(why), "%s", hd_last_error());
        hd_verbs_close(device);
        return hd_error(err, "%s", why);
    }
    return 0;
}

void hd_verbs_close(struct hd_device *device)
{
    struct verbs_device *dev = device->data;
    uint64_t one = 1;
    if (dev->watched && write(dev->stop_fd, &one, sizeof(one)) > 0)
        pthread_join(dev->watcher, NULL);
    hd_verbs_cqs_close(dev);
    hd_verbs_rings_close(dev);
    if (dev->pd)
        dev->api->dealloc_pd(dev->pd);
    if (dev->port)
        dev->api->close_device(dev->context);
    if (dev->stop_fd >= 0)
        close(dev->stop_fd);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
    device->data = NULL;
}
