/* SPDX-License-Identifier: Apache-2.0 */

/* Binding of threads. */

#include <errno.h>

#include <howdah/affinity.h>

#include "binding.h"

static void say(void *arg, const char *line)
{
    hd_jni_log(arg, HD_LOG_WARN, line);
}

static int make(const char *policy, const char *device, const char *socket, hd_affinity **affinity)
{
    hd_topo *topo = NULL;
    hd_plan *plan = NULL;
    struct hd_plan_params wish = {.size = sizeof(wish), .policy = policy, .device = device, .socket = socket};
    struct hd_affinity_params params = {.size = sizeof(params), .say = say};
    int err = hd_topo_load(NULL, &topo);
    if (!err)
        err = hd_plan_create(topo, &wish, &plan);
    if (!err)
        err = hd_affinity_create(plan, &params, affinity);
    hd_plan_destroy(plan);
    hd_topo_destroy(topo);
    return err;
}

static jlong affinityCreate(JNIEnv *env, jclass class, jstring policy, jstring device, jstring socket)
{
    (void)class;
    hd_affinity *affinity = NULL;
    const char *p = (*env)->GetStringUTFChars(env, policy, NULL);
    const char *d = p ? (*env)->GetStringUTFChars(env, device, NULL) : NULL;
    const char *s = d ? (*env)->GetStringUTFChars(env, socket, NULL) : NULL;
    int err = s ? make(p, d, s, &affinity) : -ENOMEM;
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
static jint affinityEnter(JNIEnv *env, jclass class, jlong affinity)
{
    (void)env, (void)class;
    hd_affinity_enter_communication(hd_at(affinity));
    return hd_affinity_current(hd_at(affinity));
}

#define STRING "Ljava/lang/String;"

static const JNINativeMethod methods[] = {
    HD_JNI_METHOD(affinityCreate, "(" STRING STRING STRING ")J"),
    HD_JNI_METHOD(affinityDestroy, "(J)V"),
    HD_JNI_METHOD(affinityEnter, "(J)I"),
};

const struct hd_jni_part hd_jni_affinity = {methods, HD_JNI_COUNT(methods)};
