/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.util.NativeCodeLoader: what the library can do. */

#include "hadoop.h"

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)vm, (void)reserved;
    return JNI_VERSION_1_6;
}

/* It can where the system has the library; SnappyCompressor.initIDs() says by name what is missing. */
HH_METHOD(jboolean, util_NativeCodeLoader_buildSupportsSnappy, JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return JNI_TRUE;
}

HH_METHOD(jboolean, util_NativeCodeLoader_buildSupportsOpenssl, JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return JNI_TRUE;
}

HH_METHOD(jstring, util_NativeCodeLoader_getLibraryName, JNIEnv *env, jclass class)
{
    (void)class;
    return hh_library_file(env, NULL);
}
