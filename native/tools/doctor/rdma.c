/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIDS_SHOWN 8

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Calls `what` for every entry of a folder, in order. @return how many there are, 0 without the folder. */
static unsigned each(struct doctor *d, const char *folder, const char *device,
                     void (*what)(struct doctor *d, const char *device, const char *entry))
{
    struct dirent **entries;
    int count = scandir(folder, &entries, visible, versionsort);
    for (int i = 0; i < count; i++) {
        what(d, device, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count > 0 ? (unsigned)count : 0;
}

/* ---- GIDs ---- */

static void check_gids(struct doctor *d, const char *device, const char *port)
{
    char gid[64], type[32], interface[32], name[64], shortened[INET6_ADDRSTRLEN];
    unsigned shown = 0, more = 0;
    for (int i = 0; i < 256; i++) {
        struct in6_addr address;
        if (!hd_first_line(gid, sizeof(gid), "%s/class/infiniband/%s/ports/%s/gids/%d", d->sys, device, port, i))
            break;
        if (inet_pton(AF_INET6, gid, &address) != 1 || IN6_IS_ADDR_UNSPECIFIED(&address))
            continue;
        if (shown == GIDS_SHOWN) {
            more++;
            continue;
        }
        hd_first_line(type, sizeof(type), "%s/class/infiniband/%s/ports/%s/gid_attrs/types/%d", d->sys, device, port,
                      i);
        hd_first_line(interface, sizeof(interface), "%s/class/infiniband/%s/ports/%s/gid_attrs/ndevs/%d", d->sys,
                      device, port, i);
        snprintf(name, sizeof(name), "%.40s GID %d", device, i);
        find(d, HEALTHY, "devices", name, "%s%s%s%s%s", inet_ntop(AF_INET6, &address, shortened, sizeof(shortened)),
             type[0] ? ", " : "", type, interface[0] ? ", " : "", interface);
        shown++;
    }
    if (more)
        find(d, HEALTHY, "devices", device, "and %u more GIDs", more);
    if (shown == 0) {
        find(d, WARNING, "devices", device, "port %s has no GID", port);
        advise(d, "RoCE takes GIDs from addresses: give the network interface an IP address and set it up");
    }
}

/* ---- ports ---- */

static void advise_port(struct doctor *d, bool ib, const char *state)
{
    if (ib && strstr(state, "INIT"))
        advise(d, "the cable is in, but no subnet manager has configured the port: start one (opensm) in the fabric");
    else if (ib)
        advise(d, "check cable, switch port and adapter: ibstat, ibportstate");
    else
        advise(d, "set the network interface of the port up: ip link set dev NAME up; check its cable");
}

static void check_port(struct doctor *d, const char *device, const char *port)
{
    char state[32], physical[32], layer[32], rate[64], lid[16], name[64];
    hd_first_line(state, sizeof(state), "%s/class/infiniband/%s/ports/%s/state", d->sys, device, port);
    hd_first_line(physical, sizeof(physical), "%s/class/infiniband/%s/ports/%s/phys_state", d->sys, device, port);
    hd_first_line(layer, sizeof(layer), "%s/class/infiniband/%s/ports/%s/link_layer", d->sys, device, port);
    hd_first_line(rate, sizeof(rate), "%s/class/infiniband/%s/ports/%s/rate", d->sys, device, port);
    hd_first_line(lid, sizeof(lid), "%s/class/infiniband/%s/ports/%s/lid", d->sys, device, port);
    bool active = strstr(state, "ACTIVE") != NULL, ib = strcmp(layer, "InfiniBand") == 0;
    const char *colon = strchr(state, ' '), *physical_word = strchr(physical, ' ');
    snprintf(name, sizeof(name), "%.40s port %.8s", device, port);
    find(d, active ? HEALTHY : WARNING, "devices", name, "%s (%s), %s, %s%s%s", colon ? colon + 1 : "unknown",
         physical_word ? physical_word + 1 : "unknown", layer[0] ? layer : "no link layer", rate[0] ? rate : "no rate",
         ib ? ", LID " : "", ib ? lid : "");
    if (!active) {
        advise_port(d, ib, state);
        return;
    }
    d->active++;
    check_gids(d, device, port);
}

/* ---- access ---- */

static void check_uverbs(struct doctor *d, const char *device, const char *entry)
{
    char owner[64], path[300];
    if (!hd_first_line(owner, sizeof(owner), "%s/class/infiniband_verbs/%s/ibdev", d->sys, entry) ||
        strcmp(owner, device) != 0)
        return;
    snprintf(path, sizeof(path), "/dev/infiniband/%s", entry);
    int fd = open(path, O_RDWR | O_CLOEXEC), error = errno;
    find(d, fd >= 0 ? HEALTHY : PROBLEM, "devices", device, "%s %s%s", path,
         fd >= 0 ? "opens" : "does not open: ", fd >= 0 ? "" : strerror(error));
    if (fd >= 0)
        close(fd);
    else if (error == EACCES || error == EPERM)
        advise(d, "let this user open it (chmod 666, or a udev rule); in a container pass /dev/infiniband through");
    else
        advise(d, "load the driver: modprobe ib_uverbs; in a container pass /dev/infiniband through");
}

static void check_device(struct doctor *d, const char *unused, const char *device)
{
    char model[64], firmware[64], path[300];
    (void)unused;
    d->devices++;
    hd_first_line(model, sizeof(model), "%s/class/infiniband/%s/hca_type", d->sys, device);
    hd_first_line(firmware, sizeof(firmware), "%s/class/infiniband/%s/fw_ver", d->sys, device);
    find(d, HEALTHY, "devices", device, "%s%s%s", model[0] ? model : "RDMA device", firmware[0] ? ", firmware " : "",
         firmware);
    snprintf(path, sizeof(path), "%s/class/infiniband_verbs", d->sys);
    size_t before = d->count;
    each(d, path, device, check_uverbs);
    if (d->count == before) {
        find(d, PROBLEM, "devices", device, "programs cannot use it: the kernel offers no uverbs for it");
        advise(d, "load the driver: modprobe ib_uverbs");
    }
    snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports", d->sys, device);
    each(d, path, device, check_port);
}

void check_devices(struct doctor *d)
{
    char path[300];
    bool forced = option_is(d, "transport", "verbs") || option_is(d, "transport", "udapl");
    snprintf(path, sizeof(path), "%s/class/infiniband", d->sys);
    if (each(d, path, "", check_device) == 0) {
        find(d, forced ? PROBLEM : WARNING, "devices", "RDMA devices", "none");
        advise(d, "between hosts data goes through sockets; if there is an adapter, load its driver and look at dmesg "
                  "(without one: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev NAME)");
    } else if (d->active == 0) {
        find(d, forced ? PROBLEM : WARNING, "devices", "active ports", "none");
        advise(d, "between hosts data goes through sockets until a port above becomes active");
    }
}
