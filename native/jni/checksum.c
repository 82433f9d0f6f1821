/* SPDX-License-Identifier: Apache-2.0 */

/* CRC32C of many chunks in a row, by the processor's own instruction. Java has it from version 9 only, and before it
 * spends more on a checksum than on all else that it does with the bytes. */

#include "binding.h"
#include "crc32c.h"

static jboolean crcIsFast(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return hd_crc32c_is_fast();
}

static jboolean crcAt(JNIEnv *env, jclass class, jlong data, jint length, jint chunk, jlong sums)
{
    (void)env, (void)class;
    return hd_crc32c_chunks(hd_at(data), (size_t)length, (size_t)chunk, hd_at(sums), true) == HD_CRC32C_GOOD;
}

/* The arrays are not copied, so a collector waits for the end of this: callers give pieces that take microseconds. */
static jboolean crcOf(JNIEnv *env, jclass class, jbyteArray data, jint offset, jint length, jint chunk, jbyteArray sums,
                      jint sums_offset, jboolean verify)
{
    (void)class;
    jboolean good = JNI_FALSE;
    unsigned char *bytes = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
    if (!bytes)
        return good;
    unsigned char *at = (*env)->GetPrimitiveArrayCritical(env, sums, NULL);
    if (at) {
        good =
            hd_crc32c_chunks(bytes + offset, (size_t)length, (size_t)chunk, at + sums_offset, verify) == HD_CRC32C_GOOD;
        (*env)->ReleasePrimitiveArrayCritical(env, sums, at, verify ? JNI_ABORT : 0);
    }
    (*env)->ReleasePrimitiveArrayCritical(env, data, bytes, JNI_ABORT);
    return good;
}

static const JNINativeMethod methods[] = {
    HD_JNI_METHOD(crcIsFast, "()Z"),
    HD_JNI_METHOD(crcAt, "(JIIJ)Z"),
    HD_JNI_METHOD(crcOf, "([BIII[BIZ)Z"),
};

const struct hd_jni_part hd_jni_checksum = {methods, HD_JNI_COUNT(methods)};
