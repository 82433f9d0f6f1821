/* SPDX-License-Identifier: Apache-2.0 */

/* Connections: builders, and the file systems that they end in. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct property {
    struct property *next;
    char *key, *value;
};

struct hdfsBuilder {
    char *name_node; /* NULL: the local file system */
    char *user, *ticket;
    tPort port;
    bool new_instance;
    bool lacking; /* a setter without a result had no memory */
    struct property *properties;
};

/* Java keeps one file system for all who ask for the same, and closes it for all. Handles to such a one are counted,
 * under a lock that is held while Java looks it up or closes it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hdfs_internal *shared;

struct hdfsBuilder *hdfsNewBuilder(void)
{
    return calloc(1, sizeof(struct hdfsBuilder));
}

static void connect_set(struct hdfsBuilder *bld, char **to, const char *text)
{
    free(*to);
    *to = text ? strdup(text) : NULL;
    if (text && !*to)
        bld->lacking = true;
}

void hdfsBuilderSetNameNode(struct hdfsBuilder *bld, const char *nn)
{
    connect_set(bld, &bld->name_node, nn);
}

void hdfsBuilderSetNameNodePort(struct hdfsBuilder *bld, tPort port)
{
    bld->port = port;
}

void hdfsBuilderSetUserName(struct hdfsBuilder *bld, const char *userName)
{
    connect_set(bld, &bld->user, userName && *userName ? userName : NULL);
}

void hdfsBuilderSetKerbTicketCachePath(struct hdfsBuilder *bld, const char *kerbTicketCachePath)
{
    connect_set(bld, &bld->ticket, kerbTicketCachePath);
}

void hdfsBuilderSetForceNewInstance(struct hdfsBuilder *bld)
{
    bld->new_instance = true;
}

static void connect_free_property(struct property *property)
{
    free(property->key);
    free(property->value);
    free(property);
}

int hdfsBuilderConfSetStr(struct hdfsBuilder *bld, const char *key, const char *val)
{
    if (!bld || !key || !val) {
        errno = EINVAL;
        return -1;
    }
    struct property *property = calloc(1, sizeof(*property));
    if (!property)
        return -1;
    property->key = strdup(key);
    property->value = strdup(val);
    if (!property->key || !property->value) {
        connect_free_property(property);
        errno = ENOMEM;
        return -1;
    }
    struct property **end = &bld->properties; /* a later value replaces an earlier one */
    while (*end)
        end = &(*end)->next;
    *end = property;
    return 0;
}

void hdfsFreeBuilder(struct hdfsBuilder *bld)
{
    if (!bld)
        return;
    while (bld->properties) {
        struct property *property = bld->properties;
        bld->properties = property->next;
        connect_free_property(property);
    }
    free(bld->name_node);
    free(bld->user);
    free(bld->ticket);
    free(bld);
}

/* The file system's URI out of a host or URI, which may have a port, and a port, which may be 0. */
static char *connect_uri(struct hl_call *call, const char *name, tPort port)
{
    const char *scheme = strstr(name, "://");
    const char *authority = scheme ? scheme + 3 : name;
    int length = (int)strcspn(authority, "/");
    const char *address = memchr(authority, ']', (size_t)length); /* of IPv6, which has colons of its own */
    const char *colon =
        memchr(address ? address : authority, ':', (size_t)(authority + length - (address ? address : authority)));
    int prefix = (int)(authority - name);
    char own[8] = "", *text = NULL;
    if (colon && port && strtol(colon + 1, NULL, 10) != port) {
        hl_say("%s and port %u name two ports: give one", name, (unsigned)port);
        hl_fail(call, EINVAL);
        return NULL;
    }
    if (!colon && port && length)
        snprintf(own, sizeof(own), ":%u", (unsigned)port);
    if (asprintf(&text, "%s%.*s%.*s%s%s", scheme ? "" : "hdfs://", prefix, name, length, authority, own,
                 authority + length) >= 0)
        return text;
    hl_fail(call, ENOMEM);
    return NULL;
}

static jobject connect_configuration(struct hl_call *call, const struct hdfsBuilder *bld)
{
    jobject conf = hl_object(call, HL_CONFIGURATION_NEW, NULL);
    for (const struct property *property = bld->properties; property; property = property->next)
        hl_number(call, HL_CONFIGURATION_SET, conf, hl_string(call, property->key), hl_string(call, property->value));
    if (bld->ticket)
        hl_number(call, HL_CONFIGURATION_SET, conf, hl_string(call, "hadoop.security.kerberos.ticket.cache.path"),
                  hl_string(call, bld->ticket));
    return conf;
}

static jobject connect_java(struct hl_call *call, const struct hdfsBuilder *bld)
{
    jobject conf = connect_configuration(call, bld), uri;
    if (!bld->name_node)
        return hl_object(call, bld->new_instance ? HL_FS_NEW_LOCAL : HL_FS_GET_LOCAL, NULL, conf);
    if (strcmp(bld->name_node, "default") == 0) {
        uri = hl_object(call, HL_FS_DEFAULT_URI, NULL, conf);
    } else {
        char *text = connect_uri(call, bld->name_node, bld->port);
        uri = hl_object(call, HL_URI_OF, NULL, hl_string(call, text));
        free(text);
    }
    return hl_object(call, bld->new_instance ? HL_FS_NEW : HL_FS_GET, NULL, uri, conf, hl_string(call, bld->user));
}

static struct hdfs_internal *connect_handle(struct hl_call *call, const struct hdfsBuilder *bld)
{
    struct hdfs_internal *handle = calloc(1, sizeof(*handle));
    if (!handle) {
        hl_fail(call, ENOMEM);
        return NULL;
    }
    handle->shared = !bld->new_instance;
    if (handle->shared)
        pthread_mutex_lock(&lock);
    handle->fs = hl_keep(call, connect_java(call, bld));
    if (handle->shared) {
        if (handle->fs) {
            handle->next = shared;
            shared = handle;
        }
        pthread_mutex_unlock(&lock);
    }
    if (handle->fs)
        return handle;
    free(handle);
    return NULL;
}

hdfsFS hdfsBuilderConnect(struct hdfsBuilder *bld)
{
    struct hl_call call = HL_CALL(bld ? bld->name_node : NULL);
    struct hdfs_internal *handle = NULL;
    if (bld && bld->lacking)
        hl_fail(&call, ENOMEM);
    else if (hl_enter(&call, bld != NULL))
        handle = connect_handle(&call, bld);
    hl_leave(&call);
    hdfsFreeBuilder(bld);
    errno = call.error;
    return handle;
}

static hdfsFS connect_with(const char *nn, tPort port, const char *user, bool new_instance)
{
    struct hdfsBuilder *bld = hdfsNewBuilder();
    if (!bld)
        return NULL;
    hdfsBuilderSetNameNode(bld, nn);
    hdfsBuilderSetNameNodePort(bld, port);
    hdfsBuilderSetUserName(bld, user);
    bld->new_instance = new_instance;
    return hdfsBuilderConnect(bld);
}

hdfsFS hdfsConnect(const char *nn, tPort port)
{
    return connect_with(nn, port, NULL, false);
}

hdfsFS hdfsConnectAsUser(const char *nn, tPort port, const char *user)
{
    return connect_with(nn, port, user, false);
}

hdfsFS hdfsConnectNewInstance(const char *nn, tPort port)
{
    return connect_with(nn, port, NULL, true);
}

hdfsFS hdfsConnectAsUserNewInstance(const char *nn, tPort port, const char *user)
{
    return connect_with(nn, port, user, true);
}

/* Takes the handle off the list; whether it was the last one of its file system. */
static bool connect_was_last(struct hl_call *call, struct hdfs_internal *handle)
{
    bool last = true;
    struct hdfs_internal **at = &shared;
    while (*at) {
        if (*at == handle) {
            *at = handle->next;
            continue;
        }
        if (call->env && (*call->env)->IsSameObject(call->env, (*at)->fs, handle->fs))
            last = false;
        at = &(*at)->next;
    }
    return last;
}

int hdfsDisconnect(hdfsFS fs)
{
    struct hl_call call = HL_CALL(NULL);
    hl_enter(&call, fs != NULL);
    if (!fs)
        return hl_leave(&call);
    if (fs->shared)
        pthread_mutex_lock(&lock);
    if (!fs->shared || connect_was_last(&call, fs))
        hl_number(&call, HL_FS_CLOSE, fs->fs);
    if (fs->shared)
        pthread_mutex_unlock(&lock);
    hl_drop(&call, fs->fs);
    free(fs);
    return hl_leave(&call);
}
