/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.compress.snappy: blocks by libsnappy's interface for C. */

#include "codec.h"

static int (*compress)(const char *from, size_t length, char *to, size_t *room);
static int (*uncompress)(const char *from, size_t length, char *to, size_t *room);
static size_t (*max_compressed_length)(size_t length);
static int (*uncompressed_length)(const char *from, size_t length, size_t *result);

static const struct hh_symbol symbols[] = {
    {"snappy_compress", (void **)&compress},
    {"snappy_uncompress", (void **)&uncompress},
    {"snappy_max_compressed_length", (void **)&max_compressed_length},
    {"snappy_uncompressed_length", (void **)&uncompressed_length},
};
static const char *const names[] = {"libsnappy.so.1", NULL};
static struct hh_library library = {names, "libsnappy1v5 or snappy", symbols, HH_COUNT(symbols), false};
static struct hh_codec packing, unpacking;

HH_METHOD(void, io_compress_snappy_SnappyCompressor_initIDs, JNIEnv *env, jclass class)
{
    if (hh_library_need(env, &library))
        hh_codec_fields(env, class, HH_PACKS, &packing);
}

HH_METHOD(void, io_compress_snappy_SnappyDecompressor_initIDs, JNIEnv *env, jclass class)
{
    if (hh_library_need(env, &library))
        hh_codec_fields(env, class, 0, &unpacking);
}

HH_METHOD(jstring, io_compress_snappy_SnappyCompressor_getLibraryName, JNIEnv *env, jclass class)
{
    (void)class;
    return hh_library_file(env, &library);
}

HH_METHOD(jint, io_compress_snappy_SnappyCompressor_compressBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    if (!hh_codec_piece(env, object, &packing, HH_PACKS, &piece))
        return 0;
    size_t room = (size_t)piece.room;
    if (room < max_compressed_length((size_t)piece.length)) {
        hh_throw(env, "java/lang/InternalError", "Could not compress data. Buffer length is too small.");
        return 0;
    }
    if (compress((const char *)piece.from, (size_t)piece.length, (char *)piece.to, &room) != 0) {
        hh_throw(env, "java/lang/InternalError", "Could not compress data.");
        return 0;
    }
    hh_codec_left(env, object, &packing, HH_PACKS, &piece, 0);
    return (jint)room;
}

HH_METHOD(jint, io_compress_snappy_SnappyDecompressor_decompressBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    if (!hh_codec_piece(env, object, &unpacking, 0, &piece))
        return 0;
    size_t length = 0, room = (size_t)piece.room;
    bool good = uncompressed_length((const char *)piece.from, (size_t)piece.length, &length) == 0;
    if (good && length > room) {
        hh_throw(env, "java/lang/InternalError", "Could not decompress data. Buffer length is too small.");
        return 0;
    }
    if (!good || uncompress((const char *)piece.from, (size_t)piece.length, (char *)piece.to, &room) != 0) {
        hh_throw(env, "java/lang/InternalError", "Could not decompress data. Input is invalid.");
        return 0;
    }
    hh_codec_left(env, object, &unpacking, 0, &piece, 0);
    return (jint)room;
}
