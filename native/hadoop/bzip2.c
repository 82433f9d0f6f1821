/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.compress.bzip2: streams by libbz2. What is declared of it here is its interface since
 * version 1.0. */

#include <stdlib.h>
#include <string.h>

#include "codec.h"

struct bz_stream {
    const unsigned char *next_in;
    unsigned int avail_in, total_in_low, total_in_high;
    unsigned char *next_out;
    unsigned int avail_out, total_out_low, total_out_high;
    void *state;
    void *allocate, *release, *opaque;
};

enum { RUN = 0, FINISH = 2 };
enum {
    OK = 0,
    RUN_OK = 1,
    FINISH_OK = 3,
    STREAM_END = 4,
    PARAM_ERROR = -2,
    MEM_ERROR = -3,
    DATA_ERROR = -4,
    DATA_ERROR_MAGIC = -5
};

static int (*compress_init)(struct bz_stream *, int block, int verbosity, int work);
static int (*compress)(struct bz_stream *, int action);
static int (*compress_end)(struct bz_stream *);
static int (*decompress_init)(struct bz_stream *, int verbosity, int small);
static int (*decompress)(struct bz_stream *);
static int (*decompress_end)(struct bz_stream *);

static const struct hh_symbol symbols[] = {
    {"BZ2_bzCompressInit", (void **)&compress_init}, {"BZ2_bzCompress", (void **)&compress},
    {"BZ2_bzCompressEnd", (void **)&compress_end},   {"BZ2_bzDecompressInit", (void **)&decompress_init},
    {"BZ2_bzDecompress", (void **)&decompress},      {"BZ2_bzDecompressEnd", (void **)&decompress_end},
};
/* Debian's name and Red Hat's. */
static const char *const names[] = {"libbz2.so.1.0", "libbz2.so.1", NULL};
static struct hh_library library = {names, "libbz2-1.0 or bzip2-libs", symbols, HH_COUNT(symbols), false};

#define PACKING   (HH_PACKS | HH_STREAMS)
#define UNPACKING HH_STREAMS
static struct hh_codec packing, unpacking;

/* Java names the library (io.compression.codec.bzip2.library): "system-native", or a file, which is loaded before the
 * system's if it is asked for first. Streams of two libraries cannot be told apart, so the first one stays. */
static bool need(JNIEnv *env, jstring wanted)
{
    char *name = hh_path(env, wanted);
    if (!name)
        return false;
    const char *const other[] = {name, NULL};
    bool system = strcmp(name, "system-native") == 0;
    library.names = system ? names : other;
    bool there = hh_library_need(env, &library);
    library.names = names;
    free(name);
    return there;
}

HH_METHOD(void, io_compress_bzip2_Bzip2Compressor_initIDs, JNIEnv *env, jclass class, jstring name)
{
    if (need(env, name))
        hh_codec_fields(env, class, PACKING, &packing);
}

HH_METHOD(void, io_compress_bzip2_Bzip2Decompressor_initIDs, JNIEnv *env, jclass class, jstring name)
{
    if (need(env, name))
        hh_codec_fields(env, class, UNPACKING, &unpacking);
}

HH_METHOD(jstring, io_compress_bzip2_Bzip2Compressor_getLibraryName, JNIEnv *env, jclass class)
{
    (void)class;
    return hh_library_file(env, &library);
}

static struct bz_stream *stream_of(JNIEnv *env, jlong handle)
{
    if (!handle)
        hh_throw(env, "java/lang/NullPointerException", "the stream is closed");
    return (struct bz_stream *)(uintptr_t)handle;
}

static void throw_code(JNIEnv *env, int code, const char *what)
{
    switch (code) {
    case PARAM_ERROR:
        hh_throw(env, "java/lang/IllegalArgumentException", "%s: bzip2 does not take these arguments", what);
        break;
    case MEM_ERROR:
        hh_throw(env, "java/lang/OutOfMemoryError", "%s: no memory", what);
        break;
    case DATA_ERROR:
    case DATA_ERROR_MAGIC:
        hh_throw(env, "java/io/IOException", "%s: the input is not what bzip2 wrote", what);
        break;
    default:
        hh_throw(env, "java/lang/InternalError", "%s: bzip2 says %d", what, code);
    }
}

/* The stream that an init function made, or an exception. */
static jlong started(JNIEnv *env, struct bz_stream *stream, int code)
{
    if (code == OK)
        return (jlong)(uintptr_t)stream;
    free(stream);
    throw_code(env, code, "cannot make a stream");
    return 0;
}

HH_METHOD(jlong, io_compress_bzip2_Bzip2Compressor_init, JNIEnv *env, jclass class, jint block, jint work)
{
    (void)class;
    struct bz_stream *stream = calloc(1, sizeof(*stream));
    return started(env, stream, stream ? compress_init(stream, block, 0, work) : MEM_ERROR);
}

HH_METHOD(jlong, io_compress_bzip2_Bzip2Decompressor_init, JNIEnv *env, jclass class, jint conserve_memory)
{
    (void)class;
    struct bz_stream *stream = calloc(1, sizeof(*stream));
    return started(env, stream, stream ? decompress_init(stream, 0, conserve_memory != 0) : MEM_ERROR);
}

static void point_at(struct bz_stream *stream, const struct hh_piece *piece)
{
    stream->next_in = piece->from;
    stream->avail_in = (unsigned int)piece->length;
    stream->next_out = piece->to;
    stream->avail_out = (unsigned int)piece->room;
}

HH_METHOD(jint, io_compress_bzip2_Bzip2Compressor_deflateBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    struct bz_stream *stream = stream_of(env, (*env)->GetLongField(env, object, packing.stream));
    if (!stream || !hh_codec_piece(env, object, &packing, PACKING, &piece))
        return 0;
    bool finish = (*env)->GetBooleanField(env, object, packing.finish);
    if (!finish && piece.length == 0) /* which bzip2 takes for a mistake */
        return 0;
    point_at(stream, &piece);
    int code = compress(stream, finish ? FINISH : RUN);
    if (code != RUN_OK && code != FINISH_OK && code != STREAM_END) {
        throw_code(env, code, "cannot compress");
        return 0;
    }
    if (code == STREAM_END)
        (*env)->SetBooleanField(env, object, packing.finished, JNI_TRUE);
    hh_codec_left(env, object, &packing, PACKING, &piece, (jint)stream->avail_in);
    return piece.room - (jint)stream->avail_out;
}

HH_METHOD(jint, io_compress_bzip2_Bzip2Decompressor_inflateBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    struct bz_stream *stream = stream_of(env, (*env)->GetLongField(env, object, unpacking.stream));
    if (!stream || !hh_codec_piece(env, object, &unpacking, UNPACKING, &piece))
        return 0;
    point_at(stream, &piece);
    int code = decompress(stream);
    if (code != OK && code != STREAM_END) {
        throw_code(env, code, "cannot decompress");
        return 0;
    }
    if (code == STREAM_END)
        (*env)->SetBooleanField(env, object, unpacking.finished, JNI_TRUE);
    hh_codec_left(env, object, &unpacking, UNPACKING, &piece, (jint)stream->avail_in);
    return piece.room - (jint)stream->avail_out;
}

static jlong total(unsigned int high, unsigned int low)
{
    return (jlong)((uint64_t)high << 32 | low);
}

static jlong total_in(JNIEnv *env, jlong handle)
{
    const struct bz_stream *stream = stream_of(env, handle);
    return stream ? total(stream->total_in_high, stream->total_in_low) : 0;
}

static jlong total_out(JNIEnv *env, jlong handle)
{
    const struct bz_stream *stream = stream_of(env, handle);
    return stream ? total(stream->total_out_high, stream->total_out_low) : 0;
}

static void end(jlong handle, int (*action)(struct bz_stream *))
{
    struct bz_stream *stream = (struct bz_stream *)(uintptr_t)handle;
    if (stream)
        action(stream);
    free(stream);
}

HH_METHOD(jlong, io_compress_bzip2_Bzip2Compressor_getBytesRead, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_in(env, handle);
}

HH_METHOD(jlong, io_compress_bzip2_Bzip2Compressor_getBytesWritten, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_out(env, handle);
}

HH_METHOD(void, io_compress_bzip2_Bzip2Compressor_end, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    (void)env;
    end(handle, compress_end);
}

HH_METHOD(jlong, io_compress_bzip2_Bzip2Decompressor_getBytesRead, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_in(env, handle);
}

HH_METHOD(jlong, io_compress_bzip2_Bzip2Decompressor_getBytesWritten, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_out(env, handle);
}

HH_METHOD(void, io_compress_bzip2_Bzip2Decompressor_end, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    (void)env;
    end(handle, decompress_end);
}

HH_METHOD(jint, io_compress_bzip2_Bzip2Decompressor_getRemaining, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    const struct bz_stream *stream = stream_of(env, handle);
    return stream ? (jint)stream->avail_in : 0;
}
