/* SPDX-License-Identifier: Apache-2.0 */

/* Options, engines, counters, event queues and services. */

#include <errno.h>
#include <string.h>

#include "binding.h"

/* ---- texts ---- */

static jstring text_of(JNIEnv *env, const char *text)
{
    return (*env)->NewStringUTF(env, text ? text : "");
}

/* The characters of a Java string, NULL for null or without memory; give back with drop(). */
static const char *chars(JNIEnv *env, jstring string)
{
    return string ? (*env)->GetStringUTFChars(env, string, NULL) : NULL;
}

static void drop(JNIEnv *env, jstring string, const char *text)
{
    if (text)
        (*env)->ReleaseStringUTFChars(env, string, text);
}

static jobjectArray texts(JNIEnv *env, const char *const *values, jint count)
{
    jclass string = (*env)->FindClass(env, "java/lang/String");
    jobjectArray array = string ? (*env)->NewObjectArray(env, count, string, NULL) : NULL;
    for (jint i = 0; array && i < count; i++) {
        jstring value = text_of(env, values[i]);
        if (!value)
            return NULL;
        (*env)->SetObjectArrayElement(env, array, i, value);
        if ((*env)->ExceptionCheck(env))
            return NULL;
        (*env)->DeleteLocalRef(env, value);
    }
    return array;
}

static jint abi(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return HD_JNI_ABI;
}

static jstring version(JNIEnv *env, jclass class)
{
    (void)class;
    return text_of(env, hd_version());
}

static jstring lastError(JNIEnv *env, jclass class)
{
    (void)class;
    return text_of(env, hd_last_error());
}

static jint logTake(JNIEnv *env, jclass class, jlong address, jint size)
{
    (void)env, (void)class;
    return hd_jni_log_take(hd_at(address), (size_t)size);
}

/* ---- options ---- */

static jobjectArray optionAt(JNIEnv *env, jclass class, jint i)
{
    static const char *const types[] = {"int", "size", "time", "bool", "rate", "enum", "text"};
    (void)class;
    const struct hd_option *option = hd_option_at((size_t)i);
    if (!option)
        return NULL;
    const char *fields[] = {option->key,           option->env,   types[option->type],
                            option->default_value, option->range, option->help};
    return texts(env, fields, HD_JNI_COUNT(fields));
}

static jlong confCreate(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    hd_conf *conf = hd_conf_create();
    return conf ? hd_handle(conf) : -ENOMEM;
}

static void confDestroy(JNIEnv *env, jclass class, jlong conf)
{
    (void)env, (void)class;
    hd_conf_destroy(hd_at(conf));
}

static jint confSet(JNIEnv *env, jclass class, jlong conf, jstring key, jstring value, jstring where)
{
    (void)class;
    const char *k = chars(env, key), *v = chars(env, value), *w = chars(env, where);
    jint err = k && v && w ? hd_conf_set(hd_at(conf), k, v, w) : -ENOMEM;
    drop(env, where, w);
    drop(env, value, v);
    drop(env, key, k);
    return err;
}

static jint confReadEnvironment(JNIEnv *env, jclass class, jlong conf)
{
    (void)env, (void)class;
    return hd_conf_read_environment(hd_at(conf));
}

/* So that values in force can be shown; the engine does it for itself. What a profile of the user's that does not fit
 * is about goes to the log then. */
static jint confTune(JNIEnv *env, jclass class, jlong conf)
{
    (void)env, (void)class;
    char note[512];
    return hd_conf_tune(hd_at(conf), note, sizeof(note));
}

/* Value in force and origin; null if there is no such option. */
static jobjectArray confGet(JNIEnv *env, jclass class, jlong conf, jstring key)
{
    (void)class;
    char value[4096];
    jobjectArray pair = NULL;
    const char *k = chars(env, key);
    if (k && hd_conf_get(hd_at(conf), k, value, sizeof(value)) >= 0) {
        const char *fields[] = {value, hd_conf_origin(hd_at(conf), k)};
        pair = texts(env, fields, 2);
    }
    drop(env, key, k);
    return pair;
}

/* ---- engine ---- */

static jlong engineCreate(JNIEnv *env, jclass class, jlong conf, jstring name)
{
    (void)class;
    hd_engine *engine = NULL;
    const char *n = chars(env, name);
    struct hd_engine_params params = {.size = sizeof(params), .conf = hd_at(conf), .name = n, .log = hd_jni_log};
    int err = hd_engine_create(&params, &engine);
    drop(env, name, n);
    return err ? err : hd_handle(engine);
}

static jint engineSet(JNIEnv *env, jclass class, jlong engine, jstring key, jstring value, jstring where)
{
    (void)class;
    const char *k = chars(env, key), *v = chars(env, value), *w = chars(env, where);
    jint err = k && v && w ? hd_engine_set(hd_at(engine), k, v, w) : -ENOMEM;
    drop(env, where, w);
    drop(env, value, v);
    drop(env, key, k);
    return err;
}

static void engineStop(JNIEnv *env, jclass class, jlong engine)
{
    (void)env, (void)class;
    hd_engine_stop(hd_at(engine));
}

static void engineDestroy(JNIEnv *env, jclass class, jlong engine)
{
    (void)env, (void)class;
    hd_engine_destroy(hd_at(engine));
}

/* Name and obstacle ("" if usable) of each transport, one after the other. */
static jobjectArray engineTransports(JNIEnv *env, jclass class, jlong engine)
{
    (void)class;
    const char *fields[32], *why = "";
    jint count = 0;
    for (size_t i = 0; count < HD_JNI_COUNT(fields); i++, count += 2) {
        fields[count] = hd_engine_transport(hd_at(engine), i, &why);
        if (!fields[count])
            break;
        fields[count + 1] = why;
    }
    return texts(env, fields, count);
}

static void sizeRecord(JNIEnv *env, jclass class, jlong engine, jlong kind, jlong bytes)
{
    (void)env, (void)class;
    hd_size_record(hd_at(engine), (uint64_t)kind, (size_t)bytes);
}

static jlong sizePredict(JNIEnv *env, jclass class, jlong engine, jlong kind, jlong fallback)
{
    (void)env, (void)class;
    return (jlong)hd_size_predict(hd_at(engine), (uint64_t)kind, (size_t)fallback);
}

static jstring counterName(JNIEnv *env, jclass class, jlong engine, jint i)
{
    (void)class;
    const char *name;
    return hd_stats_at(hd_at(engine), (size_t)i, &name, NULL) ? NULL : text_of(env, name);
}

/* Writes the values of the first `max` counters. @return how many were written. */
static jint counters(JNIEnv *env, jclass class, jlong engine, jlong address, jint max)
{
    (void)env, (void)class;
    uint64_t *values = hd_at(address);
    jint i = 0;
    while (i < max && hd_stats_at(hd_at(engine), (size_t)i, NULL, &values[i]) == 0)
        i++;
    return i;
}

static jstring statsPath(JNIEnv *env, jclass class, jlong engine)
{
    (void)class;
    return text_of(env, hd_stats_path(hd_at(engine)));
}

/* @return the set that the thread got, or -ENOENT. */
static jint communicationEnter(JNIEnv *env, jclass class, jlong engine)
{
    (void)env, (void)class;
    hd_affinity *affinity = hd_engine_affinity(hd_at(engine));
    hd_affinity_enter_communication(affinity);
    return hd_affinity_current(affinity);
}

static void communicationLeave(JNIEnv *env, jclass class, jlong engine)
{
    (void)env, (void)class;
    hd_affinity_leave(hd_engine_affinity(hd_at(engine)));
}

static jstring affinityText(JNIEnv *env, jclass class, jlong engine)
{
    (void)class;
    return text_of(env, hd_engine_affinity_text(hd_at(engine)));
}

/* ---- queues and services ---- */

static jlong queueCreate(JNIEnv *env, jclass class, jlong engine)
{
    (void)env, (void)class;
    hd_queue *queue;
    int err = hd_queue_create(hd_at(engine), &queue);
    return err ? err : hd_handle(queue);
}

static void queueDestroy(JNIEnv *env, jclass class, jlong queue)
{
    (void)env, (void)class;
    hd_queue_destroy(hd_at(queue));
}

/* The layout of struct hd_event is EventQueue.java's as well. */
_Static_assert(sizeof(struct hd_event) == 32 && offsetof(struct hd_event, status) == 4 &&
                   offsetof(struct hd_event, user) == 8 && offsetof(struct hd_event, stream) == 16 &&
                   offsetof(struct hd_event, fetch) == 24,
               "EventQueue.java reads events where they were");

static jint queueWait(JNIEnv *env, jclass class, jlong queue, jlong events, jint max, jlong timeout)
{
    (void)env, (void)class;
    return hd_queue_wait(hd_at(queue), hd_at(events), (size_t)max, timeout);
}

static void queueWake(JNIEnv *env, jclass class, jlong queue)
{
    (void)env, (void)class;
    hd_queue_wake(hd_at(queue));
}

static jint listen(JNIEnv *env, jclass class, jlong engine, jstring name, jlong queue, jlong user)
{
    (void)class;
    const char *n = chars(env, name);
    jint err = n ? hd_engine_listen(hd_at(engine), n, hd_at(queue), (uint64_t)user) : -ENOMEM;
    drop(env, name, n);
    return err;
}

static jint unlisten(JNIEnv *env, jclass class, jlong engine, jstring name)
{
    (void)class;
    const char *n = chars(env, name);
    jint err = n ? hd_engine_unlisten(hd_at(engine), n) : -ENOMEM;
    drop(env, name, n);
    return err;
}

#define STRING  "Ljava/lang/String;"
#define STRINGS "[" STRING

static const JNINativeMethod methods[] = {
    HD_JNI_METHOD(abi, "()I"),
    HD_JNI_METHOD(version, "()" STRING),
    HD_JNI_METHOD(lastError, "()" STRING),
    HD_JNI_METHOD(logTake, "(JI)I"),
    HD_JNI_METHOD(optionAt, "(I)" STRINGS),
    HD_JNI_METHOD(confCreate, "()J"),
    HD_JNI_METHOD(confDestroy, "(J)V"),
    HD_JNI_METHOD(confSet, "(J" STRING STRING STRING ")I"),
    HD_JNI_METHOD(confReadEnvironment, "(J)I"),
    HD_JNI_METHOD(confTune, "(J)I"),
    HD_JNI_METHOD(confGet, "(J" STRING ")" STRINGS),
    HD_JNI_METHOD(engineCreate, "(J" STRING ")J"),
    HD_JNI_METHOD(engineSet, "(J" STRING STRING STRING ")I"),
    HD_JNI_METHOD(engineStop, "(J)V"),
    HD_JNI_METHOD(engineDestroy, "(J)V"),
    HD_JNI_METHOD(engineTransports, "(J)" STRINGS),
    HD_JNI_METHOD(sizeRecord, "(JJJ)V"),
    HD_JNI_METHOD(sizePredict, "(JJJ)J"),
    HD_JNI_METHOD(counterName, "(JI)" STRING),
    HD_JNI_METHOD(counters, "(JJI)I"),
    HD_JNI_METHOD(statsPath, "(J)" STRING),
    HD_JNI_METHOD(communicationEnter, "(J)I"),
    HD_JNI_METHOD(communicationLeave, "(J)V"),
    HD_JNI_METHOD(affinityText, "(J)" STRING),
    HD_JNI_METHOD(queueCreate, "(J)J"),
    HD_JNI_METHOD(queueDestroy, "(J)V"),
    HD_JNI_METHOD(queueWait, "(JJIJ)I"),
    HD_JNI_METHOD(queueWake, "(J)V"),
    HD_JNI_METHOD(listen, "(J" STRING "JJ)I"),
    HD_JNI_METHOD(unlisten, "(J" STRING ")I"),
};

const struct hd_jni_part hd_jni_engine = {methods, HD_JNI_COUNT(methods)};
