/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.util.NativeCrc32: checksums of chunks. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "hadoop.h"

/* DataChecksum's numbers. */
enum { CRC32 = 1, CRC32C = 2 };

#define SUM 4

/* Eight tables for each polynomial: eight bytes are taken at a time. */
static uint32_t tables[2][8][256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    static const uint32_t polynomials[2] = {0xEDB88320u, 0x82F63B78u};
    for (int t = 0; t < 2; t++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t sum = byte;
            for (int bit = 0; bit < 8; bit++)
                sum = sum >> 1 ^ (sum & 1 ? polynomials[t] : 0);
            tables[t][0][byte] = sum;
        }
        for (int slice = 1; slice < 8; slice++)
            for (int byte = 0; byte < 256; byte++) {
                uint32_t before = tables[t][slice - 1][byte];
                tables[t][slice][byte] = before >> 8 ^ tables[t][0][before & 255];
            }
    }
}

static uint32_t sum_by_table(const uint32_t table[8][256], const unsigned char *p, size_t length)
{
    uint32_t sum = UINT32_MAX;
    for (; length >= 8; length -= 8, p += 8) {
        sum ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        sum = table[7][sum & 255] ^ table[6][sum >> 8 & 255] ^ table[5][sum >> 16 & 255] ^ table[4][sum >> 24] ^
              table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    while (length--)
        sum = sum >> 8 ^ table[0][(sum ^ *p++) & 255];
    return ~sum;
}

/* What is to be summed: pieces of memory, whoever they belong to. */
struct work {
    int type;
    size_t chunk, length;
    const unsigned char *data;
    unsigned char *sums;
    bool verify;
};

/* Of the first chunk that is bad. */
struct finding {
    size_t at;
    uint32_t expected, found;
};

static uint32_t read_sum(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void write_sum(unsigned char *p, uint32_t sum)
{
    p[0] = (unsigned char)(sum >> 24);
    p[1] = (unsigned char)(sum >> 16);
    p[2] = (unsigned char)(sum >> 8);
    p[3] = (unsigned char)sum;
}

/* Whether all is as it is to be, from a chunk's beginning on. */
static bool by_table(const struct work *work, size_t from, struct finding *finding)
{
    pthread_once(&made, make_tables);
    const uint32_t(*table)[256] = (const uint32_t(*)[256])tables[work->type == CRC32C];
    for (size_t at = from; at < work->length; at += work->chunk) {
        size_t step = work->length - at < work->chunk ? work->length - at : work->chunk;
        unsigned char *place = work->sums + at / work->chunk * SUM;
        uint32_t sum = sum_by_table(table, work->data + at, step);
        if (!work->verify) {
            write_sum(place, sum);
        } else if (read_sum(place) != sum) {
            *finding = (struct finding){at, read_sum(place), sum};
            return false;
        }
    }
    return true;
}

static bool go_through(const struct work *work, struct finding *finding)
{
    if (work->type != CRC32C || !hh_crc32c_is_fast())
        return by_table(work, 0, finding);
    size_t bad = hh_crc32c_chunks(work->data, work->length, work->chunk, work->sums, work->verify);
    return bad == HH_CRC32C_GOOD || by_table(work, bad, finding);
}

/* Whether the numbers make sense; how many bytes of sums there are. */
static bool check(JNIEnv *env, jint chunk, jint type, jint length, jlong *sums)
{
    if (type != CRC32 && type != CRC32C)
        hh_throw(env, "java/lang/IllegalArgumentException", "no checksum has the type %d", type);
    else if (chunk <= 0 || length < 0)
        hh_throw(env, "java/lang/IllegalArgumentException", "chunks of %d bytes in %d bytes", chunk, length);
    else {
        *sums = ((jlong)length + chunk - 1) / chunk * SUM;
        return true;
    }
    return false;
}

static void throw_bad(JNIEnv *env, const struct finding *finding, jstring file, jlong position)
{
    jclass type = (*env)->FindClass(env, "org/apache/hadoop/fs/ChecksumException");
    jmethodID make = type ? (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/String;J)V") : NULL;
    char *name = make && file ? hh_path(env, file) : NULL;
    if (!make || (file && !name))
        return;
    position += (jlong)finding->at;
    size_t size = (name ? strlen(name) : 0) + 128;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "Checksum error: %s at %lld exp: %d got: %d", name ? name : "", (long long)position,
                 (int)finding->expected, (int)finding->found);
    jstring message = text ? (*env)->NewStringUTF(env, text) : NULL;
    free(text);
    free(name);
    jobject exception = message ? (*env)->NewObject(env, type, make, message, position) : NULL;
    if (exception)
        (*env)->Throw(env, exception);
}

static void of_buffers(JNIEnv *env, jint chunk, jint type, jobject sums, jint sums_offset, jobject data, jint offset,
                       jint length, jstring file, jlong position, bool verify)
{
    jlong room;
    if (!check(env, chunk, type, length, &room))
        return;
    unsigned char *sums_at = hh_direct(env, sums, sums_offset, room);
    unsigned char *data_at = sums_at ? hh_direct(env, data, offset, length) : NULL;
    if (!data_at)
        return;
    struct work work = {type, (size_t)chunk, (size_t)length, data_at, sums_at, verify};
    struct finding finding;
    if (!go_through(&work, &finding))
        throw_bad(env, &finding, file, position);
}

HH_METHOD(void, util_NativeCrc32_nativeComputeChunkedSums, JNIEnv *env, jclass class, jint chunk, jint type,
          jobject sums, jint sums_offset, jobject data, jint offset, jint length, jstring file, jlong position,
          jboolean verify)
{
    (void)class;
    of_buffers(env, chunk, type, sums, sums_offset, data, offset, length, file, position, verify);
}

HH_METHOD(void, util_NativeCrc32_nativeVerifyChunkedSums, JNIEnv *env, jclass class, jint chunk, jint type,
          jobject sums, jint sums_offset, jobject data, jint offset, jint length, jstring file, jlong position)
{
    (void)class;
    of_buffers(env, chunk, type, sums, sums_offset, data, offset, length, file, position, true);
}

/* Arrays are not copied while they are summed, so a collector waits for a piece of this size at most. */
#define PIECE (256 * 1024)

static bool piece_of_arrays(JNIEnv *env, struct work *work, jbyteArray sums, size_t sums_offset, jbyteArray data,
                            size_t offset, struct finding *finding)
{
    bool good = true;
    unsigned char *data_at = (*env)->GetPrimitiveArrayCritical(env, data, NULL);
    unsigned char *sums_at = data_at ? (*env)->GetPrimitiveArrayCritical(env, sums, NULL) : NULL;
    if (sums_at) {
        work->data = data_at + offset;
        work->sums = sums_at + sums_offset;
        good = go_through(work, finding);
        (*env)->ReleasePrimitiveArrayCritical(env, sums, sums_at, work->verify ? JNI_ABORT : 0);
    }
    if (data_at)
        (*env)->ReleasePrimitiveArrayCritical(env, data, data_at, JNI_ABORT);
    return good;
}

HH_METHOD(void, util_NativeCrc32_nativeComputeChunkedSumsByteArray, JNIEnv *env, jclass class, jint chunk, jint type,
          jbyteArray sums, jint sums_offset, jbyteArray data, jint offset, jint length, jstring file, jlong position,
          jboolean verify)
{
    (void)class;
    jlong room;
    if (!check(env, chunk, type, length, &room) || !hh_in_array(env, data, offset, length))
        return;
    if (room > INT32_MAX || !hh_in_array(env, sums, sums_offset, (jint)room)) {
        if (!(*env)->ExceptionCheck(env))
            hh_throw(env, "java/lang/IllegalArgumentException", "%lld bytes of checksums", (long long)room);
        return;
    }
    jint chunks = chunk < PIECE ? PIECE / chunk : 1;
    for (jint done = 0; done < length && !(*env)->ExceptionCheck(env);) {
        jlong step = (jlong)chunks * chunk < length - done ? (jlong)chunks * chunk : length - done;
        struct work work = {type, (size_t)chunk, (size_t)step, NULL, NULL, verify};
        struct finding finding = {0, 0, 0};
        size_t sums_at = (size_t)(sums_offset + done / chunk * SUM);
        if (!piece_of_arrays(env, &work, sums, sums_at, data, (size_t)(offset + done), &finding))
            throw_bad(env, &finding, file, position + done);
        done += (jint)step;
    }
}
