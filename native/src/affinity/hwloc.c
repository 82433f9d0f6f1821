/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"

/*
 * libhwloc is loaded at run time, like the libraries of the transports: a node without it still gets the
 * engine, which then leaves its threads alone. The table holds what we call; hwloc's inline functions would
 * be linked and are not used.
 */
#define HWLOC_CALLS(X)                                                                                                 \
    X(get_api_version)                                                                                                 \
    X(topology_init)                                                                                                   \
    X(topology_destroy)                                                                                                \
    X(topology_load)                                                                                                   \
    X(topology_set_flags)                                                                                              \
    X(topology_set_xml)                                                                                                \
    X(topology_set_io_types_filter)                                                                                    \
    X(topology_set_components)                                                                                         \
    X(topology_is_thissystem)                                                                                          \
    X(topology_get_allowed_cpuset)                                                                                     \
    X(get_type_depth)                                                                                                  \
    X(get_nbobjs_by_depth)                                                                                             \
    X(get_obj_by_depth)                                                                                                \
    X(bitmap_next)

static struct {
#define CALL(name) __typeof__(hwloc_##name) *name;
    HWLOC_CALLS(CALL)
#undef CALL
} hw;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char unavailable[256];

static void load_library(void)
{
    void *library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(unavailable, sizeof(unavailable), "%s", dlerror());
        return;
    }
#define CALL(name)                                                                                                     \
    if (!(*(void **)&hw.name = dlsym(library, "hwloc_" #name)))                                                        \
        snprintf(unavailable, sizeof(unavailable), "libhwloc.so.15 has no hwloc_" #name);
    HWLOC_CALLS(CALL)
#undef CALL
    if (!unavailable[0] && hw.get_api_version() >> 16 != HWLOC_API_VERSION >> 16)
        snprintf(unavailable, sizeof(unavailable), "libhwloc.so.15 has API %x", hw.get_api_version());
}

static void copy_set(hwloc_const_bitmap_t from, struct hd_cpuset *to)
{
    memset(to, 0, sizeof(*to));
    for (int cpu = hw.bitmap_next(from, -1); cpu >= 0 && cpu < HD_CPU_MAX; cpu = hw.bitmap_next(from, cpu))
        hd_cpuset_add(to, (unsigned)cpu);
}

static hwloc_obj_t ancestor(hwloc_obj_t obj, hwloc_obj_type_t type)
{
    while (obj && obj->type != type)
        obj = obj->parent;
    return obj;
}

static const char *info(hwloc_obj_t obj, const char *name)
{
    for (unsigned i = 0; obj && i < obj->infos_count; i++)
        if (strcmp(obj->infos[i].name, name) == 0)
            return obj->infos[i].value;
    return NULL;
}

/* Virtual machines may show no packages (the machine then is one socket) or no cores (each PU then is one).
 * PUs come in the order of the tree, so those of a core, and the cores of a socket, follow each other. */
static int read_processors(hwloc_topology_t hwloc, struct hd_topo *topo)
{
    int depth = hw.get_type_depth(hwloc, HWLOC_OBJ_PU);
    unsigned count = hw.get_nbobjs_by_depth(hwloc, depth);
    topo->pus = calloc(count, sizeof(*topo->pus));
    topo->cores = calloc(count, sizeof(*topo->cores));
    topo->sockets = calloc(count, sizeof(*topo->sockets));
    if (!topo->pus || !topo->cores || !topo->sockets)
        return hd_error(-ENOMEM, "no memory for a topology of %u processors", count);

    hwloc_obj_t last_core = NULL, last_package = NULL;
    for (unsigned i = 0; i < count; i++) {
        hwloc_obj_t pu = hw.get_obj_by_depth(hwloc, depth, i);
        hwloc_obj_t core = ancestor(pu, HWLOC_OBJ_CORE), package = ancestor(pu, HWLOC_OBJ_PACKAGE);
        if (pu->os_index >= HD_CPU_MAX)
            return hd_error(-E2BIG, "processor number %u is above %d", pu->os_index, HD_CPU_MAX - 1);
        if (i == 0 || package != last_package)
            topo->sockets[topo->socket_count++].first_core = topo->core_count;
        struct hd_topo_socket *socket = &topo->sockets[topo->socket_count - 1];
        if (i == 0 || !core || core != last_core) {
            topo->cores[topo->core_count++] = (struct hd_topo_core){.socket = topo->socket_count - 1, .first_pu = i};
            socket->cores++;
        }
        topo->cores[topo->core_count - 1].pus++;
        topo->pus[i] = (struct hd_topo_pu){.os = pu->os_index, .core = topo->core_count - 1};
        hd_cpuset_add(&socket->cpus, pu->os_index);
        hd_cpuset_add(&topo->all, pu->os_index);
        last_core = core;
        last_package = package;
    }
    topo->pu_count = count;
    return 0;
}

/* The sockets that share PUs with what the device is attached to. Attached to the machine as a whole, which
 * is what one sees where the firmware does not tell, says nothing unless the machine is a single socket. */
static void locate(const struct hd_topo *topo, hwloc_obj_t device, struct hd_topo_hca *hca)
{
    hwloc_obj_t place = device;
    while (place && !place->cpuset)
        place = place->parent;
    if (!place)
        return;
    struct hd_cpuset cpus;
    copy_set(place->cpuset, &cpus);
    unsigned sockets = 0;
    for (unsigned i = 0; i < topo->socket_count; i++) {
        struct hd_cpuset common = topo->sockets[i].cpus;
        hd_cpuset_and(&common, &cpus);
        if (hd_cpuset_count(&common) == 0)
            continue;
        hd_cpuset_or(&hca->near, &topo->sockets[i].cpus);
        sockets++;
    }
    hca->located = sockets == 1 || (sockets > 1 && sockets < topo->socket_count);
}

/* hwloc shows the state of ports as the kernel numbers it, where it could read them; 4 is active. */
static bool all_ports_down(hwloc_obj_t device)
{
    bool any = false;
    for (int port = 1; port < 256; port++) {
        char name[32];
        snprintf(name, sizeof(name), "Port%dState", port);
        const char *state = info(device, name);
        if (!state)
            break;
        if (strcmp(state, "4") == 0)
            return false;
        any = true;
    }
    return any;
}

static int read_devices(hwloc_topology_t hwloc, struct hd_topo *topo)
{
    int depth = HWLOC_TYPE_DEPTH_OS_DEVICE;
    unsigned count = hw.get_nbobjs_by_depth(hwloc, depth);
    topo->hcas = calloc(count ? count : 1, sizeof(*topo->hcas));
    if (!topo->hcas)
        return hd_error(-ENOMEM, "no memory for %u devices", count);
    for (unsigned i = 0; i < count; i++) {
        hwloc_obj_t device = hw.get_obj_by_depth(hwloc, depth, i);
        if (!device->name || device->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS)
            continue;
        struct hd_topo_hca *hca = &topo->hcas[topo->hca_count++];
        snprintf(hca->name, sizeof(hca->name), "%s", device->name);
        hwloc_obj_t pci = ancestor(device, HWLOC_OBJ_PCI_DEVICE);
        if (pci)
            snprintf(hca->pci, sizeof(hca->pci), "%04x:%02x:%02x.%01x", (unsigned)pci->attr->pcidev.domain & 0xffff,
                     pci->attr->pcidev.bus, pci->attr->pcidev.dev, pci->attr->pcidev.func);
        hca->down = all_ports_down(device);
        locate(topo, device, hca);
    }
    return 0;
}

static void read_details(hwloc_topology_t hwloc, struct hd_topo *topo)
{
    int depth = hw.get_type_depth(hwloc, HWLOC_OBJ_L1CACHE);
    hwloc_obj_t cache = depth >= 0 ? hw.get_obj_by_depth(hwloc, depth, 0) : NULL;
    if (cache)
        topo->cache_line = cache->attr->cache.linesize;
    hwloc_obj_t pu = hw.get_obj_by_depth(hwloc, hw.get_type_depth(hwloc, HWLOC_OBJ_PU), 0);
    for (hwloc_obj_t obj = pu; obj && !topo->model[0]; obj = obj->parent) {
        const char *model = info(obj, "CPUModel");
        snprintf(topo->model, sizeof(topo->model), "%s", model ? model : "");
    }
    copy_set(hw.topology_get_allowed_cpuset(hwloc), &topo->allowed);
    hd_cpuset_and(&topo->allowed, &topo->all);
    topo->this_system = hw.topology_is_thissystem(hwloc);
}

/* What is not allowed is kept: cores and sockets then have their real shape, and `allowed` says what may be
 * used. Left out: whatever would start a GPU's driver, and the x86 component, which moves the calling thread
 * over all processors. */
static int prepare(hwloc_topology_t hwloc, const char *xml)
{
    static const char *const left_out[] = {"x86", "cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};
    for (size_t i = 0; i < HD_COUNT(left_out); i++)
        hw.topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, left_out[i]);
    if (hw.topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
        hw.topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT))
        return hd_error(-EINVAL, "libhwloc refuses a flag or filter");
    if (!xml)
        return 0;
    FILE *file = fopen(xml, "re"); /* libhwloc's own error does not say which it was */
    if (!file)
        return hd_error(-errno, "topology file %s: %s", xml, strerror(errno));
    fclose(file);
    if (hw.topology_set_xml(hwloc, xml))
        return hd_error(-EINVAL, "topology file %s is not XML of hwloc", xml);
    return 0;
}

int hd_hwloc_read(const char *xml, struct hd_topo *topo)
{
    pthread_once(&once, load_library);
    if (unavailable[0])
        return hd_error(-ENOSYS, "no topology: %s", unavailable);
    hwloc_topology_t hwloc;
    if (hw.topology_init(&hwloc))
        return hd_error(-ENOMEM, "libhwloc cannot start");
    int err = prepare(hwloc, xml);
    if (!err && hw.topology_load(hwloc))
        err = hd_error(-EINVAL, "libhwloc cannot read the topology of %s", xml ? xml : "this machine");
    if (!err)
        err = read_processors(hwloc, topo);
    if (!err)
        err = read_devices(hwloc, topo);
    if (!err)
        read_details(hwloc, topo);
    hw.topology_destroy(hwloc);
    return err;
}
