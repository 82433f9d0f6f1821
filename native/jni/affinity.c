/* SPDX-License-Identifier: Apache-2.0 */

/* Binding of threads. */

#include <errno.h>

#include <howdah/affinity.h>

#include "binding.h"

static void say(void *arg, const char *line)
{
    hd_jni_log(arg, HD_LOG_WARN, line);
}

static int make(const char *policy, const char *device, const char *socket, bool all, hd_affinity **affinity)
{
    hd_topo *topo = NULL;
    hd_plan *plan = NULL;
    struct hd_plan_params wish = {.size = sizeof(wish), .policy = policy, .device = device, .socket = socket};
    struct hd_affinity_params params = {
        .size = sizeof(params), .threads = all ? HD_AFFINITY_ALL : HD_AFFINITY_COMMUNICATION, .say = say};
    int err = hd_topo_load(NULL, &topo);
    if (!err)
        err = hd_plan_create(topo, &wish, &plan);
    if (!err)
        err = hd_affinity_create(plan, &params, affinity);
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
    return err;
}

static jlong affinityCreate(JNIEnv *env, jclass class, jstring policy, jstring device, jstring socket, jboolean all)
{
    (void)class;
    hd_affinity *affinity = NULL;
    const char *p = (*env)->GetStringUTFChars(env, policy, NULL);
    const char *d = p ? (*env)->GetStringUTFChars(env, device, NULL) : NULL;
    const char *s = d ? (*env)->GetStringUTFChars(env, socket, NULL) : NULL;
    int err = s ? make(p, d, s, all, &affinity) : -ENOMEM;
    if (s)
        (*env)->ReleaseStringUTFChars(env, socket, s);
    if (d)
        (*env)->ReleaseStringUTFChars(env, device, d);
    if (p)
        (*env)->ReleaseStringUTFChars(env, policy, p);
    return err ? err : hd_handle(affinity);
}

static void affinityDestroy(JNIEnv *env, jclass class, jlong affinity)
{
    (void)env, (void)class;
    hd_affinity_destroy(hd_at(affinity));
}

/* @return the set that the thread got, or -ENOENT. */
static jint affinityEnter(JNIEnv *env, jclass class, jlong affinity, jboolean communication)
{
    (void)env, (void)class;
    if (communication)
        hd_affinity_enter_communication(hd_at(affinity));
    else
        hd_affinity_enter(hd_at(affinity));
    return hd_affinity_current(hd_at(affinity));
}

static void affinityLeave(JNIEnv *env, jclass class, jlong affinity)
{
    (void)env, (void)class;
    hd_affinity_leave(hd_at(affinity));
}

/* Writes hits, misses, bound threads, refused threads. */
static void affinityCount(JNIEnv *env, jclass class, jlong affinity, jlong out)
{
    (void)env, (void)class;
    struct hd_affinity_counters counters;
    uint64_t *to = hd_at(out);
    hd_affinity_count(hd_at(affinity), &counters);
    to[0] = counters.hits;
    to[1] = counters.misses;
    to[2] = counters.bound_now;
    to[3] = counters.refused;
}

#define STRING "Ljava/lang/String;"

static const JNINativeMethod methods[] = {
    HD_JNI_METHOD(affinityCreate, "(" STRING STRING STRING "Z)J"),
    HD_JNI_METHOD(affinityDestroy, "(J)V"),
    HD_JNI_METHOD(affinityEnter, "(JZ)I"),
    HD_JNI_METHOD(affinityLeave, "(J)V"),
    HD_JNI_METHOD(affinityCount, "(JJ)V"),
};

const struct hd_jni_part hd_jni_affinity = {methods, HD_JNI_COUNT(methods)};
