/* SPDX-License-Identifier: Apache-2.0 */

/* CRC32C of many chunks in a row, by the processor's own instruction. Java has it from version 9 only, and before it
 * spends more on a checksum than on all else that it does with the bytes. */

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "binding.h"

#if defined(__x86_64__)

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t sum_of(const unsigned char *p, size_t length)
{
    uint64_t sum = UINT32_MAX;
    for (; length >= 8; length -= 8, p += 8)
        sum = __builtin_ia32_crc32di(sum, word_at(p));
    uint32_t rest = (uint32_t)sum;
    while (length--)
        rest = __builtin_ia32_crc32qi(rest, *p++);
    return ~rest;
}

/* Of three chunks in a row: the instruction gives its result late, and can begin anew in each cycle. */
__attribute__((target("sse4.2"))) static void sums_of_three(const unsigned char *p, size_t chunk, uint32_t sums[3])
{
    uint64_t a = UINT32_MAX, b = UINT32_MAX, c = UINT32_MAX;
    size_t at = 0;
    for (; at + 8 <= chunk; at += 8) {
        a = __builtin_ia32_crc32di(a, word_at(p + at));
        b = __builtin_ia32_crc32di(b, word_at(p + chunk + at));
        c = __builtin_ia32_crc32di(c, word_at(p + 2 * chunk + at));
    }
    uint32_t rest[3] = {(uint32_t)a, (uint32_t)b, (uint32_t)c};
    for (size_t i = 0; i < 3; i++) {
        for (size_t tail = at; tail < chunk; tail++)
            rest[i] = __builtin_ia32_crc32qi(rest[i], p[i * chunk + tail]);
        sums[i] = ~rest[i];
    }
}

#else /* what Java does itself is as good */

static bool has_instruction(void)
{
    return false;
}

static uint32_t sum_of(const unsigned char *p, size_t length)
{
    (void)p, (void)length;
    return 0;
}

static void sums_of_three(const unsigned char *p, size_t chunk, uint32_t sums[3])
{
    (void)p, (void)chunk;
    memset(sums, 0, 3 * sizeof(*sums));
}

#endif

/* Writes sums, or compares them; big endian, four bytes each. Returns whether all are as they are to be. */
static bool go_through(const unsigned char *data, size_t length, size_t chunk, unsigned char *sums, bool verify)
{
    while (length > 0) {
        uint32_t found[3];
        size_t count = length / 3 >= chunk ? 3 : 1;
        size_t step = count == 3 ? 3 * chunk : length < chunk ? length : chunk;
        if (count == 3)
            sums_of_three(data, chunk, found);
        else
            found[0] = sum_of(data, step);
        for (size_t i = 0; i < count; i++)
            found[i] = htobe32(found[i]);
        if (!verify)
            memcpy(sums, found, count * 4);
        else if (memcmp(sums, found, count * 4) != 0)
            return false;
        data += step;
        length -= step;
        sums += count * 4;
    }
    return true;
}

static jboolean crcIsFast(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return has_instruction();
}

static jboolean crcAt(JNIEnv *env, jclass class, jlong data, jint length, jint chunk, jlong sums)
{
    (void)env, (void)class;
    return go_through(hd_at(data), (size_t)length, (size_t)chunk, hd_at(sums), true);
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
        good = go_through(bytes + offset, (size_t)length, (size_t)chunk, at + sums_offset, verify);
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
