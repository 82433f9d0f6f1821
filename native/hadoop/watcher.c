/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.net.unix.DomainSocketWatcher: the set of descriptors that its thread polls. One thread uses a set.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "hadoop.h"

struct fd_set_of_java {
    size_t count, room;
    struct pollfd entries[];
};

static jfieldID data_field;

HH_METHOD(void, net_unix_DomainSocketWatcher_anchorNative, JNIEnv *env, jclass class)
{
    (void)class;
    jclass set = (*env)->FindClass(env, "org/apache/hadoop/net/unix/DomainSocketWatcher$FdSet");
    if (set)
        data_field = (*env)->GetFieldID(env, set, "data", "J");
}

static struct fd_set_of_java *set_of(JNIEnv *env, jobject object)
{
    jlong data = object ? (*env)->GetLongField(env, object, data_field) : 0;
    if (!data)
        hh_throw(env, "java/lang/NullPointerException", "the set of file descriptors is closed");
    return (struct fd_set_of_java *)(uintptr_t)data;
}

static size_t size_of(size_t room)
{
    return sizeof(struct fd_set_of_java) + room * sizeof(struct pollfd);
}

HH_METHOD(jlong, net_unix_DomainSocketWatcher_00024FdSet_alloc0, JNIEnv *env, jclass class)
{
    (void)class;
    struct fd_set_of_java *set = calloc(1, size_of(16));
    if (!set) {
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory for a set of file descriptors");
        return 0;
    }
    set->room = 16;
    return (jlong)(uintptr_t)set;
}

HH_METHOD(void, net_unix_DomainSocketWatcher_00024FdSet_add, JNIEnv *env, jobject object, jint fd)
{
    struct fd_set_of_java *set = set_of(env, object);
    if (!set)
        return;
    if (set->count == set->room) {
        struct fd_set_of_java *grown = realloc(set, size_of(2 * set->room));
        if (!grown) {
            hh_throw(env, "java/lang/OutOfMemoryError", "no memory for a set of more than %zu file descriptors",
                     set->room);
            return;
        }
        grown->room *= 2;
        (*env)->SetLongField(env, object, data_field, (jlong)(uintptr_t)grown);
        set = grown;
    }
    set->entries[set->count++] = (struct pollfd){.fd = fd, .events = POLLIN | POLLHUP};
}

HH_METHOD(void, net_unix_DomainSocketWatcher_00024FdSet_remove, JNIEnv *env, jobject object, jint fd)
{
    struct fd_set_of_java *set = set_of(env, object);
    size_t i = 0;
    while (set && i < set->count && set->entries[i].fd != fd)
        i++;
    if (set && i < set->count)
        set->entries[i] = set->entries[--set->count];
}

/* Errors and the end of the other side are readable, too: the handler finds them by reading. */
HH_METHOD(jobject, net_unix_DomainSocketWatcher_00024FdSet_getAndClearReadableFds, JNIEnv *env, jobject object)
{
    struct fd_set_of_java *set = set_of(env, object);
    if (!set)
        return NULL;
    jint ready = 0;
    for (size_t i = 0; i < set->count; i++)
        ready += set->entries[i].revents != 0;
    jintArray result = (*env)->NewIntArray(env, ready);
    for (size_t i = 0; result && i < set->count; i++)
        if (set->entries[i].revents) {
            jint fd = set->entries[i].fd;
            set->entries[i].revents = 0;
            (*env)->SetIntArrayRegion(env, result, --ready, 1, &fd);
        }
    return result;
}

HH_METHOD(void, net_unix_DomainSocketWatcher_00024FdSet_close, JNIEnv *env, jobject object)
{
    free((void *)(uintptr_t)(*env)->GetLongField(env, object, data_field));
    (*env)->SetLongField(env, object, data_field, 0);
}

/* How many are ready. A signal is like a wait that has passed: the caller begins anew. */
HH_METHOD(jint, net_unix_DomainSocketWatcher_doPoll0, JNIEnv *env, jclass class, jint milliseconds, jobject object)
{
    (void)class;
    struct fd_set_of_java *set = set_of(env, object);
    if (!set)
        return -1;
    int ready = poll(set->entries, set->count, milliseconds);
    if (ready < 0 && errno != EINTR) {
        hh_throw_socket(env, errno, "poll");
        return -1;
    }
    return ready < 0 ? 0 : ready;
}
