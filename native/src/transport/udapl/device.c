/* SPDX-License-Identifier: Apache-2.0 */

/* An interface adapter: which one, opening it, memory that it may access, who can reach it. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/tuning.h"
#include "transport/udapl/udapl.h"

#define ASYNC_EVENTS 16
#define REMOTE       (UDAPL_LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define RDMA_DEVICES "/sys/class/infiniband"

/* What a peer must know; its adapter's address follows. */
struct description {
    uint16_t family, reserved;
};

/* ---- opening ---- */

static int open_adapter(struct udapl_device *own, const DAT_PROVIDER_INFO *info)
{
    own->async_evd = DAT_HANDLE_NULL;
    DAT_RETURN ret = udapl.ia_openv((DAT_NAME_PTR)info->ia_name, ASYNC_EVENTS, &own->async_evd, &own->ia,
                                    info->dapl_version_major, info->dapl_version_minor, info->is_thread_safe);
    if (ret != DAT_SUCCESS)
        return udapl_error(-ENODEV, info->ia_name, "dat_ia_openv", ret,
                           "check that its library is installed and that the device of its line in dat.conf is up");
    snprintf(own->provider, sizeof(own->provider), "%s", info->ia_name);
    own->serial = !info->is_thread_safe;
    return 0;
}

/* Whether this host has an adapter at all, of the wanted link layer. Providers are not tried in vain, since they
 * complain on standard error. */
static bool has_adapter(enum hd_link_layer layer)
{
    struct hd_tuning_link link = {.size = sizeof(link)};
    if (layer != HD_LAYER_ANY) {
        hd_tuning_look("/sys", "", layer, &link);
        return link.device[0];
    }
    DIR *dir = opendir(RDMA_DEVICES);
    bool found = false;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return found;
}

static int no_adapter(enum hd_link_layer layer)
{
    return hd_error(-ENODEV, "uDAPL: this host has no RDMA device in %s%s; if your provider needs none, name it in %s",
                    RDMA_DEVICES,
                    layer == HD_LAYER_ANY ? "" : " with an active port of " HD_KEY_PREFIX "verbs.link.layer",
                    HD_KEY_PREFIX "udapl.provider");
}

static bool any_provider(const struct hd_conf *conf)
{
    return conf->udapl_provider[0] == '\0' || strcmp(conf->udapl_provider, "auto") == 0;
}

/* The library: where nobody asks for uDAPL and there is no adapter, it is not even loaded. That and reading dat.conf
 * take as long as all the rest of an engine's start. */
static int need_library(const struct hd_conf *conf)
{
    enum hd_link_layer layer = (enum hd_link_layer)conf->verbs_link_layer;
    bool asked = conf->transport == HD_TR_UDAPL || !any_provider(conf) || getenv(UDAPL_FILE_ENV);
    if (!asked && !has_adapter(layer))
        return no_adapter(layer);
    const char *why = udapl_load();
    return why ? hd_error(-EOPNOTSUPP, "%s", why) : 0;
}

static int open_first(struct udapl_device *own, const struct hd_conf *conf, const DAT_PROVIDER_INFO *infos, int count)
{
    enum hd_link_layer layer = (enum hd_link_layer)conf->verbs_link_layer;
    if (!has_adapter(layer))
        return no_adapter(layer);
    int err = -ENODEV;
    for (int i = 0; i < count; i++)
        if (!(err = open_adapter(own, &infos[i])))
            return 0;
    return hd_error_context(err, "none of the %d providers in %s could be opened; the last", count, udapl_file());
}

static int open_named(struct udapl_device *own, const char *name, const DAT_PROVIDER_INFO *infos, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(infos[i].ia_name, name) == 0)
            return open_adapter(own, &infos[i]);
    return hd_error(-ENODEV, "uDAPL: %s does not list the provider %s; its first is %s; correct %s or the file",
                    udapl_file(), name, infos[0].ia_name, HD_KEY_PREFIX "udapl.provider");
}

static int open_wanted(struct udapl_device *own, const struct hd_conf *conf)
{
    DAT_PROVIDER_INFO *infos = calloc(UDAPL_PROVIDERS_MAX, sizeof(*infos));
    if (!infos)
        return hd_error(-ENOMEM, "out of memory");
    int count = udapl_providers(infos), err = count;
    if (count > 0 && any_provider(conf))
        err = open_first(own, conf, infos, count);
    else if (count > 0)
        err = open_named(own, conf->udapl_provider, infos, count);
    free(infos);
    return err;
}

size_t udapl_address_length(const DAT_SOCK_ADDR6 *address)
{
    return address->sin6_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(*address);
}

static int learn_limits(struct udapl_device *own, const struct hd_conf *conf)
{
    DAT_IA_ATTR attr;
    memset(&attr, 0, sizeof(attr));
    DAT_RETURN ret = udapl.ia_query(own->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL);
    if (ret != DAT_SUCCESS || !attr.ia_address_ptr)
        return udapl_error(-ENODEV, own->provider, "dat_ia_query", ret, "the provider does not follow DAT 2.0");
    own->requests_max = own->receives_max = attr.max_dto_per_ep;
    own->events_max = attr.max_evd_qlen;
    own->reads_in = attr.max_rdma_read_per_ep_in;
    own->reads_out = attr.max_rdma_read_per_ep_out;
    own->message_max = attr.max_message_size;
    own->rdma_max = attr.max_rdma_size;
    snprintf(own->adapter, sizeof(own->adapter), "%.60s", attr.adapter_name);
    bool ipv4 = attr.ia_address_ptr->sa_family == AF_INET;
    memcpy(&own->address, attr.ia_address_ptr, ipv4 ? sizeof(struct sockaddr_in) : sizeof(own->address));
    if (conf->chunk_size > own->rdma_max)
        return hd_error(-EINVAL, "uDAPL %s moves at most %llu bytes at a time; set %s to no more", own->provider,
                        (unsigned long long)own->rdma_max, HD_KEY_PREFIX "chunk.size");
    return 0;
}

int udapl_device_open(struct hd_device *device)
{
    int err = need_library(device->conf);
    if (err)
        return err;
    if (udapl_inherited())
        return hd_error(-EOPNOTSUPP,
                        "uDAPL: this process was forked from one that has used a provider, whose threads it "
                        "did not inherit; fork before the first use, or start a program (exec)");
    struct udapl_device *own = calloc(1, sizeof(*own));
    if (!own)
        return hd_error(-ENOMEM, "out of memory");
    err = open_wanted(own, device->conf);
    if (err) {
        free(own);
        return err;
    }
    pthread_mutex_init(&own->eps_lock, NULL);
    hd_list_init(&own->eps);
    own->bell_fd = -1;
    device->data = own;
    atomic_store(&device->local_only, !device->conf->udapl_remote_access);
    if (!udapl_keep(own->async_evd))
        hd_log(device->log, HD_LOG_WARN,
               "uDAPL provider %s: its library cannot be kept loaded; with the last engine closed it may crash",
               own->provider);
    err = learn_limits(own, device->conf);
    DAT_RETURN ret = err ? DAT_SUCCESS : udapl.pz_create(own->ia, &own->pz);
    if (ret != DAT_SUCCESS)
        err = udapl_error(-ENODEV, own->provider, "dat_pz_create", ret, "another program may hold too many");
    if (!err)
        err = udapl_watch(device);
    if (err)
        udapl_device_close(device);
    else
        hd_log(device->log, HD_LOG_INFO, "uDAPL provider %s (%s, %s)", own->provider, own->adapter,
               own->serial ? "one call at a time" : "thread-safe");
    return err;
}

/* Only if the provider calls the adapter what the system does. */
const char *udapl_hardware(struct hd_device *device)
{
    struct udapl_device *own = device->data;
    char path[128];
    snprintf(path, sizeof(path), RDMA_DEVICES "/%s", own->adapter);
    bool plain = own->adapter[0] && !strchr(own->adapter, '/') && own->adapter[0] != '.';
    return plain && access(path, F_OK) == 0 ? own->adapter : NULL;
}

void udapl_device_close(struct hd_device *device)
{
    struct udapl_device *own = device->data;
    udapl_unwatch(device);
    if (own->pz)
        udapl.pz_free(own->pz);
    udapl.ia_close(own->ia, DAT_CLOSE_ABRUPT_FLAG); /* takes along what is left of it */
    if (own->bell_fd >= 0)
        close(own->bell_fd);
    pthread_mutex_destroy(&own->eps_lock);
    free(own);
}

/* ---- memory ---- */

int udapl_register(struct udapl_device *device, void *base, size_t size, DAT_MEM_PRIV_FLAGS access, DAT_LMR_HANDLE *lmr,
                   DAT_LMR_CONTEXT *local_key, DAT_RMR_CONTEXT *remote_key)
{
    DAT_REGION_DESCRIPTION region = {.for_va = base};
    DAT_VLEN length;
    DAT_VADDR address;
    hd_lock(&device->mutex);
    DAT_RETURN ret = udapl.lmr_create(device->ia, DAT_MEM_TYPE_VIRTUAL, region, size, device->pz, access,
                                      DAT_VA_TYPE_VA, lmr, local_key, remote_key, &length, &address);
    hd_unlock(&device->mutex);
    if (ret == DAT_SUCCESS)
        return 0;
    *lmr = DAT_HANDLE_NULL;
    return udapl_error(-ENOMEM, device->provider, "dat_lmr_create", ret,
                       "raise the limit of locked memory (ulimit -l) of this process");
}

void udapl_deregister(struct udapl_device *device, DAT_LMR_HANDLE lmr)
{
    hd_lock(&device->mutex);
    udapl.lmr_free(lmr);
    hd_unlock(&device->mutex);
}

int udapl_slab_add(struct hd_device *device, struct hd_slab *slab)
{
    struct udapl_device *own = device->data;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT local;
    DAT_RMR_CONTEXT remote;
    int err = udapl_register(own, slab->base, slab->size, atomic_load(&device->local_only) ? UDAPL_LOCAL : REMOTE, &lmr,
                             &local, &remote);
    if (err && !own->complained) {
        hd_log(device->log, HD_LOG_WARN, "%s; what is in that memory moves by copy", hd_last_error());
        own->complained = true;
    }
    if (err)
        return err;
    slab->device[device->index].handle = lmr;
    slab->device[device->index].key = (uint64_t)remote << 32 | local;
    return 0;
}

void udapl_slab_remove(struct hd_device *device, struct hd_slab *slab)
{
    udapl_deregister(device->data, slab->device[device->index].handle);
}

/* ---- who reaches whom ---- */

size_t udapl_describe(struct hd_device *device, uint8_t *blob)
{
    struct udapl_device *own = device->data;
    struct description d = {.family = own->address.sin6_family};
    size_t length = udapl_address_length(&own->address);
    memcpy(blob, &d, sizeof(d));
    memcpy(blob + sizeof(d), &own->address, length);
    return sizeof(d) + length;
}

const char *udapl_reachable(struct hd_device *device, const uint8_t *blob, size_t length)
{
    struct udapl_device *own = device->data;
    struct description d;
    if (length < sizeof(d))
        return "the peer did not say where its adapter is";
    memcpy(&d, blob, sizeof(d));
    if (d.family != own->address.sin6_family)
        return "the peer's uDAPL provider has addresses of another family";
    return NULL;
}
