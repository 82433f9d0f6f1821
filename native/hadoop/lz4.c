/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.compress.lz4: blocks by liblz4. */

#include "codec.h"

static int (*compress)(const char *from, char *to, int length, int room);
static int (*compress_high)(const char *from, char *to, int length, int room, int level);
static int (*decompress)(const char *from, char *to, int length, int room);

static const struct hh_symbol symbols[] = {
    {"LZ4_compress_default", (void **)&compress},
    {"LZ4_compress_HC", (void **)&compress_high},
    {"LZ4_decompress_safe", (void **)&decompress},
};
static const char *const names[] = {"liblz4.so.1", NULL};
static struct hh_library library = {names, "liblz4-1 or lz4-libs", symbols, HH_COUNT(symbols), false};
static struct hh_codec packing, unpacking;

HH_METHOD(void, io_compress_lz4_Lz4Compressor_initIDs, JNIEnv *env, jclass class)
{
    if (hh_codec_fields(env, class, HH_PACKS, &packing))
        hh_library_need(env, &library);
}

HH_METHOD(void, io_compress_lz4_Lz4Decompressor_initIDs, JNIEnv *env, jclass class)
{
    if (hh_codec_fields(env, class, 0, &unpacking))
        hh_library_need(env, &library);
}

HH_METHOD(jstring, io_compress_lz4_Lz4Compressor_getLibraryName, JNIEnv *env, jclass class)
{
    (void)class;
    return hh_library_file(env, &library);
}

/* Java takes LZ4 for a part of libhadoop.so, and calls this though initIDs() failed. */
static jint pack(JNIEnv *env, jobject object, bool high)
{
    struct hh_piece piece;
    if (!hh_library_need(env, &library) || !hh_codec_piece(env, object, &packing, HH_PACKS, &piece))
        return 0;
    const char *from = (const char *)piece.from;
    char *to = (char *)piece.to;
    int made =
        high ? compress_high(from, to, piece.length, piece.room, 0) : compress(from, to, piece.length, piece.room);
    if (made <= 0) {
        hh_throw(env, "java/lang/InternalError", "LZ4 could not compress %d bytes into %d", piece.length, piece.room);
        return 0;
    }
    hh_codec_left(env, object, &packing, HH_PACKS, &piece, 0);
    return made;
}

HH_METHOD(jint, io_compress_lz4_Lz4Compressor_compressBytesDirect, JNIEnv *env, jobject object)
{
    return pack(env, object, false);
}

HH_METHOD(jint, io_compress_lz4_Lz4Compressor_compressBytesDirectHC, JNIEnv *env, jobject object)
{
    return pack(env, object, true);
}

HH_METHOD(jint, io_compress_lz4_Lz4Decompressor_decompressBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    if (!hh_library_need(env, &library) || !hh_codec_piece(env, object, &unpacking, 0, &piece))
        return 0;
    int made = decompress((const char *)piece.from, (char *)piece.to, piece.length, piece.room);
    if (made < 0) {
        hh_throw(env, "java/lang/InternalError", "LZ4 could not decompress %d bytes into %d: the input is invalid",
                 piece.length, piece.room);
        return 0;
    }
    hh_codec_left(env, object, &unpacking, 0, &piece, 0);
    return made;
}
