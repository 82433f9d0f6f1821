/* SPDX-License-Identifier: Apache-2.0 */

/* Loading: versions are compared both ways, then the methods are registered, all or none. */

#include <stdio.h>
#include <string.h>

#include "binding.h"

#define TEXT_(x)  #x
#define TEXT(x)   TEXT_(x)
#define BUILT_FOR TEXT(HD_VERSION_MAJOR) "." TEXT(HD_VERSION_MINOR)

static jint refuse(JNIEnv *env, const char *why)
{
    (*env)->ExceptionClear(env);
    jclass error = (*env)->FindClass(env, "java/lang/UnsatisfiedLinkError");
    if (error)
        (*env)->ThrowNew(env, error, why);
    return JNI_ERR;
}

/* Whether the jar's classes and libhowdah are those that this library was built with. */
static jint check_versions(JNIEnv *env, jclass natives)
{
    char why[200];
    jfieldID field = (*env)->GetStaticFieldID(env, natives, "ABI", "I");
    jint jar = field ? (*env)->GetStaticIntField(env, natives, field) : -1;
    if (jar != HD_JNI_ABI) {
        snprintf(why, sizeof(why),
                 "libhowdah_jni.so has interface %d, the classes have %d: library and jar are of "
                 "different builds",
                 HD_JNI_ABI, (int)jar);
        return refuse(env, why);
    }
    if (strcmp(hd_version(), BUILT_FOR) != 0) {
        snprintf(why, sizeof(why), "libhowdah is version %s, libhowdah_jni.so was built for %s", hd_version(),
                 BUILT_FOR);
        return refuse(env, why);
    }
    return JNI_OK;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static const struct hd_jni_part *const parts[] = {&hd_jni_engine, &hd_jni_stream, &hd_jni_fetch, &hd_jni_file};
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
        return JNI_ERR;
    jclass natives = (*env)->FindClass(env, "io/howdah/engine/Native");
    if (!natives)
        return refuse(env, "the class loader that loads libhowdah_jni.so has no io.howdah.engine.Native");
    if (check_versions(env, natives) != JNI_OK)
        return JNI_ERR;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if ((*env)->RegisterNatives(env, natives, parts[i]->methods, parts[i]->count) != 0) {
            (*env)->UnregisterNatives(env, natives);
            return JNI_ERR; /* NoSuchMethodError is pending and names the method */
        }
    return JNI_VERSION_1_8;
}
