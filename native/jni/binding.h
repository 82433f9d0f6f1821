/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_JNI_BINDING_H
#define HOWDAH_JNI_BINDING_H

/*
 * What the files of the Java binding share.
 *
 * Every method is static and takes numbers: handles and addresses as jlong, results as jlong or jint with -errno for
 * failure. The cause in words stays in the thread's hd_last_error(), which Java asks for only then. Nothing on the way
 * of a message touches a Java object, so nothing there can stop a collector or be stopped by one. What a handle points
 * to is kept alive by the Java side's own counting (Handle.java); nothing is checked here.
 */
#include <jni.h>
#include <stdint.h>

#include <howdah/howdah.h>

/* Raised with every change of a method's signature or meaning; Native.ABI is its other half. */
#define HD_JNI_ABI 7

struct hd_jni_part {
    const JNINativeMethod *methods;
    jint count;
};

extern const struct hd_jni_part hd_jni_engine, hd_jni_stream, hd_jni_fetch, hd_jni_file;

#define HD_JNI_COUNT(array) ((jint)(sizeof(array) / sizeof((array)[0])))
/* jni.h wants char pointers that it does not write to. */
#define HD_JNI_METHOD(name, signature)                                                                                 \
    {                                                                                                                  \
        (char *)(uintptr_t) #name, (char *)(uintptr_t)(signature), (void *)(uintptr_t)name                             \
    }
/* The same for a function whose name the C library has already: it ends in an underscore. */
#define HD_JNI_NAMED(name, signature)                                                                                  \
    {                                                                                                                  \
        (char *)(uintptr_t) #name, (char *)(uintptr_t)(signature), (void *)(uintptr_t)name##_                          \
    }

static inline void *hd_at(jlong address)
{
    return (void *)(uintptr_t)address;
}

static inline jlong hd_handle(const void *pointer)
{
    return (jlong)(uintptr_t)pointer;
}

/* Lines that the engine logs, kept until Java takes them: no thread of the engine ever enters the JVM. */
void hd_jni_log(void *arg, enum hd_log_level level, const char *line);
jint hd_jni_log_take(char *to, size_t size);

#endif
