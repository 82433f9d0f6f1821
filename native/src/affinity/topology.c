/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"

/* What the masks of the process's threads allow together: taskset, numactl and batch systems set the same for
 * all, and a thread that somebody pinned (this one, perhaps) must not stand for the others. */
static int process_mask(struct hd_cpuset *mask)
{
    memset(mask, 0, sizeof(*mask));
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        struct hd_cpuset one = {0};
        pid_t tid = (pid_t)atol(entry->d_name);
        if (tid > 0 && sched_getaffinity(tid, sizeof(one), (cpu_set_t *)&one) == 0)
            hd_cpuset_or(mask, &one);
    }
    if (dir)
        closedir(dir);
    if (hd_cpuset_count(mask) == 0 && sched_getaffinity(0, sizeof(*mask), (cpu_set_t *)mask) != 0)
        return hd_error(-errno, "the system does not tell which processors we may use: %s", strerror(errno));
    return 0;
}

static int restrict_to(struct hd_topo *topo, const struct hd_cpuset *mask, const char *whose)
{
    char before[256] = "many", wanted[256] = "many";
    hd_cpuset_print(&topo->allowed, before, sizeof(before));
    hd_cpuset_print(mask, wanted, sizeof(wanted));
    hd_cpuset_and(&topo->allowed, mask);
    if (hd_cpuset_count(&topo->allowed) == 0)
        return hd_error(-EXDEV, "no processor is left to use: %s names %s, but of %s only %s may be used", whose,
                        wanted, topo->source, before);
    return 0;
}

static int fill(const struct hd_topo_params *params, struct hd_topo *topo)
{
    const char *xml = params && params->xml && params->xml[0] ? params->xml : NULL;
    int err = hd_hwloc_read(xml, topo);
    if (err)
        return err;
    const char *other = getenv("HWLOC_XMLFILE");
    snprintf(topo->source, sizeof(topo->source), "%s",
             xml                           ? xml
             : topo->this_system || !other ? "this machine"
                                           : other);
    struct hd_cpuset mask = {0};
    if (topo->this_system) {
        err = process_mask(&mask);
        if (!err)
            err = restrict_to(topo, &mask, "the process's affinity mask");
    }
    if (!err && params && params->cpus && params->cpus[0]) {
        err = hd_cpuset_parse(params->cpus, &mask);
        if (!err)
            err = restrict_to(topo, &mask, "the list");
    }
    return err;
}

int hd_topo_load(const struct hd_topo_params *given, hd_topo **topo)
{
    struct hd_topo_params params;
    int err = hd_params_take(&params, sizeof(params), given, 0, "topology parameters");
    if (err)
        return err;
    struct hd_topo *made = calloc(1, sizeof(*made));
    if (!made)
        return hd_error(-ENOMEM, "no memory for a topology");
    err = fill(&params, made);
    if (err)
        hd_topo_destroy(made);
    else
        *topo = made;
    return err;
}

void hd_topo_destroy(hd_topo *topo)
{
    if (!topo)
        return;
    free(topo->pus);
    free(topo->cores);
    free(topo->sockets);
    free(topo->hcas);
    free(topo);
}

void hd_topo_summarize(const hd_topo *topo, struct hd_topo_summary *summary)
{
    *summary = (struct hd_topo_summary){
        .sockets = topo->socket_count,
        .cores = topo->core_count,
        .pus = topo->pu_count,
        .allowed = hd_cpuset_count(&topo->allowed),
        .devices = topo->hca_count,
        .cache_line = topo->cache_line,
        .page_size = (unsigned)sysconf(_SC_PAGESIZE),
        .this_system = topo->this_system,
    };
    for (unsigned i = 0; i < topo->core_count; i++)
        if (topo->cores[i].pus > summary->smt)
            summary->smt = topo->cores[i].pus;
    memcpy(summary->model, topo->model, sizeof(summary->model));
    memcpy(summary->source, topo->source, sizeof(summary->source));
}

bool hd_topo_near(const struct hd_topo *topo, const struct hd_topo_hca *hca, unsigned socket)
{
    struct hd_cpuset common = hca->near;
    hd_cpuset_and(&common, &topo->sockets[socket].cpus);
    return hca->located && hd_cpuset_count(&common) > 0;
}

int hd_topo_device_at(const hd_topo *topo, unsigned i, struct hd_topo_device *device)
{
    if (i >= topo->hca_count)
        return hd_error(-ENODEV, "there is no RDMA device number %u", i);
    const struct hd_topo_hca *hca = &topo->hcas[i];
    struct hd_topo_device found = {.number = i, .socket = -1, .down = hca->down};
    memcpy(found.name, hca->name, sizeof(found.name));
    memcpy(found.pci, hca->pci, sizeof(found.pci));
    for (unsigned s = topo->socket_count; s-- > 0;) {
        if (!hd_topo_near(topo, hca, s))
            continue;
        found.socket = (int)s;
        found.sockets++;
    }
    if (hca->located) {
        struct hd_cpuset usable = hca->near;
        hd_cpuset_and(&usable, &topo->allowed);
        found.allowed = hd_cpuset_count(&usable);
    }
    *device = found;
    return 0;
}

void hd_topo_names(const struct hd_topo *topo, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < topo->hca_count && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", topo->hcas[i].name);
    if (topo->hca_count == 0)
        snprintf(text, size, "none");
}

int hd_topo_number(const char *text, unsigned *number)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 6 || text[digits])
        return -EINVAL;
    *number = (unsigned)atol(text);
    return 0;
}

static int find_best(const hd_topo *topo, struct hd_topo_device *best)
{
    struct hd_topo_device device;
    int err = -ENODEV;
    for (unsigned i = 0; hd_topo_device_at(topo, i, &device) == 0; i++)
        if (err || (best->down && !device.down) || (best->down == device.down && device.allowed > best->allowed)) {
            *best = device;
            err = 0;
        }
    return err ? hd_error(err, "%s has no RDMA device", topo->source) : 0;
}

int hd_topo_device_find(const hd_topo *topo, const char *choice, struct hd_topo_device *device)
{
    struct hd_topo_device best = {0};
    if (!choice || !choice[0] || strcmp(choice, "auto") == 0) {
        int err = find_best(topo, &best);
        if (!err)
            *device = best;
        return err;
    }
    for (unsigned i = 0; i < topo->hca_count; i++)
        if (strcmp(topo->hcas[i].name, choice) == 0)
            return hd_topo_device_at(topo, i, device);
    unsigned number;
    if (hd_topo_number(choice, &number) == 0 && number < topo->hca_count)
        return hd_topo_device_at(topo, number, device);
    char names[256];
    hd_topo_names(topo, names, sizeof(names));
    return hd_error(-ENODEV, "%s has no RDMA device \"%s\"; it has: %s", topo->source, choice, names);
}

int hd_topo_cpus(const hd_topo *topo, int socket, bool allowed_only, char *text, size_t size)
{
    if (socket < -1 || socket >= (int)topo->socket_count)
        return hd_error(-ENOENT, "there is no socket %d; there are %u", socket, topo->socket_count);
    struct hd_cpuset set = socket < 0 ? topo->all : topo->sockets[socket].cpus;
    if (allowed_only)
        hd_cpuset_and(&set, &topo->allowed);
    return hd_cpuset_print(&set, text, size);
}
