/* SPDX-License-Identifier: Apache-2.0 */

/* The link at hand, as the kernel tells it. Sysfs rather than libibverbs: it must be known before anything is opened,
 * and on nodes without that library too. */

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/first_line.h"
#include "config/tuning.h"
#include "base/util.h"

static void find_arch(char *arch, size_t size)
{
    const char *name = "other";
#if defined(__x86_64__)
    name = "x86_64";
#elif defined(__powerpc64__)
    unsigned long isa = getauxval(AT_HWCAP2);
    if (isa & PPC_FEATURE2_ARCH_3_00)
        name = "power9"; /* and what came after it */
    else if (isa & PPC_FEATURE2_ARCH_2_07)
        name = "power8";
#endif
    snprintf(arch, size, "%s", name);
}

/* Software devices hang below no bus. */
static bool is_virtual(const char *root, const char *device)
{
    char path[PATH_MAX], real[PATH_MAX];
    snprintf(path, sizeof(path), "%s/class/infiniband/%s", root, device);
    return realpath(path, real) && strstr(real, "/devices/virtual/");
}

/* Takes the port if it is active. @return whether it did. */
static bool look_at_port(const char *root, const char *device, const char *port, enum hd_link_layer wanted,
                         struct hd_tuning_link *link)
{
    char state[32], layer[32], rate[64], model[64];
    hd_first_line(state, sizeof(state), "%s/class/infiniband/%s/ports/%s/state", root, device, port);
    hd_first_line(layer, sizeof(layer), "%s/class/infiniband/%s/ports/%s/link_layer", root, device, port);
    hd_first_line(rate, sizeof(rate), "%s/class/infiniband/%s/ports/%s/rate", root, device, port);
    bool ib = strcmp(layer, "InfiniBand") == 0;
    if (!strstr(state, "ACTIVE") || (!ib && strcmp(layer, "Ethernet") != 0))
        return false;
    if (wanted != HD_LAYER_ANY && wanted != (ib ? HD_LAYER_INFINIBAND : HD_LAYER_ETHERNET))
        return false;
    hd_first_line(model, sizeof(model), "%s/class/infiniband/%s/hca_type", root, device);
    snprintf(link->kind, sizeof(link->kind), "%s", is_virtual(root, device) ? "soft" : ib ? "ib" : "roce");
    snprintf(link->device, sizeof(link->device), "%s", device);
    snprintf(link->model, sizeof(link->model), "%s", model[0] ? model : "-");
    link->speed = (unsigned)strtod(rate, NULL); /* "100 Gb/sec (4X EDR)", "2.5 Gb/sec ..." */
    return true;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The first active port, in the order of numbers. */
static bool look_at_ports(const char *root, const char *device, enum hd_link_layer layer, struct hd_tuning_link *link)
{
    char path[PATH_MAX];
    struct dirent **ports;
    snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports", root, device);
    int count = scandir(path, &ports, visible, versionsort);
    bool taken = false;
    for (int i = 0; i < count; i++) {
        taken = taken || look_at_port(root, device, ports[i]->d_name, layer, link);
        free(ports[i]);
    }
    if (count >= 0)
        free(ports);
    return taken;
}

void hd_tuning_look(const char *root, const char *wanted, enum hd_link_layer layer, struct hd_tuning_link *link)
{
    char path[PATH_MAX];
    struct dirent **devices;
    snprintf(path, sizeof(path), "%s/class/infiniband", root);
    int count = scandir(path, &devices, visible, versionsort);
    bool taken = false;
    for (int i = 0; i < count; i++) {
        const char *name = devices[i]->d_name;
        size_t length = wanted ? strcspn(wanted, ":") : 0; /* mlx5_0:1 names a port of it */
        if (length == 0 || (strlen(name) == length && strncmp(name, wanted, length) == 0))
            taken = taken || look_at_ports(root, name, layer, link);
        free(devices[i]);
    }
    if (count >= 0)
        free(devices);
}

/* The device that the configuration names; "" for auto, and for a number, which only the transport can count. The
 * option belongs to the transport, so a build without it has none. */
static void wanted_device(const hd_conf *conf, char *name, size_t size)
{
    static const char key[] = HD_KEY_PREFIX "verbs.device";
    name[0] = '\0';
    if (!hd_conf_origin(conf, key) || hd_conf_get(conf, key, name, size) < 0 || strcmp(name, "auto") == 0 ||
        strspn(name, "0123456789") == strcspn(name, ":"))
        name[0] = '\0';
}

int hd_tuning_link_find(const hd_conf *conf, struct hd_tuning_link *link)
{
    struct hd_tuning_link found;
    int err = conf ? hd_params_take(&found, sizeof(found), link, sizeof(found), "the members of a link")
                   : hd_error(-EINVAL, "the configuration is missing");
    if (err)
        return err;
    found = (struct hd_tuning_link){.size = sizeof(found), .kind = "shm", .model = "-"};
    char wanted[HD_TEXT_MAX];
    find_arch(found.arch, sizeof(found.arch));
    wanted_device(conf, wanted, sizeof(wanted));
    if (conf->transport == HD_TR_AUTO || conf->transport == HD_TR_VERBS || conf->transport == HD_TR_UDAPL)
        hd_tuning_look("/sys", wanted, (enum hd_link_layer)conf->verbs_link_layer, &found);
    if (conf->transport == HD_TR_UDAPL)
        snprintf(found.kind, sizeof(found.kind), "%s", strcmp(found.kind, "soft") == 0 ? "udapl-soft" : "udapl");
    hd_params_give(link, &found, sizeof(found));
    return 0;
}
