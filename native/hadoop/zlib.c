/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.compress.zlib: streams by zlib. What is declared of it here is its interface since version 1.0.
 */

#include <stdlib.h>

#include "codec.h"

struct z_stream {
    const unsigned char *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *allocate, *release, *opaque;
    int data_type;
    unsigned long adler, reserved;
};

enum { NO_FLUSH = 0, PARTIAL_FLUSH = 1, FINISH = 4 };
enum { OK = 0, STREAM_END = 1, NEED_DICT = 2, STREAM_ERROR = -2, DATA_ERROR = -3, MEM_ERROR = -4, BUF_ERROR = -5 };
enum { DEFLATED = 8, MEMORY_LEVEL = 8 }; /* as java.util.zip.Deflater has it */

static const char *(*version)(void);
static int (*deflate_init)(struct z_stream *, int level, int method, int bits, int memory, int strategy,
                           const char *version, int size);
static int (*deflate)(struct z_stream *, int flush);
static int (*deflate_dictionary)(struct z_stream *, const unsigned char *, unsigned int);
static int (*deflate_reset)(struct z_stream *);
static int (*deflate_end)(struct z_stream *);
static int (*inflate_init)(struct z_stream *, int bits, const char *version, int size);
static int (*inflate)(struct z_stream *, int flush);
static int (*inflate_dictionary)(struct z_stream *, const unsigned char *, unsigned int);
static int (*inflate_reset)(struct z_stream *);
static int (*inflate_end)(struct z_stream *);

static const struct hh_symbol symbols[] = {
    {"zlibVersion", (void **)&version},
    {"deflateInit2_", (void **)&deflate_init},
    {"deflate", (void **)&deflate},
    {"deflateSetDictionary", (void **)&deflate_dictionary},
    {"deflateReset", (void **)&deflate_reset},
    {"deflateEnd", (void **)&deflate_end},
    {"inflateInit2_", (void **)&inflate_init},
    {"inflate", (void **)&inflate},
    {"inflateSetDictionary", (void **)&inflate_dictionary},
    {"inflateReset", (void **)&inflate_reset},
    {"inflateEnd", (void **)&inflate_end},
};
static const char *const names[] = {"libz.so.1", NULL};
static struct hh_library library = {names, "zlib1g or zlib", symbols, HH_COUNT(symbols), false};

#define PACKING   (HH_PACKS | HH_STREAMS)
#define UNPACKING (HH_STREAMS | HH_DICTIONARY)
static struct hh_codec packing, unpacking;

HH_METHOD(void, io_compress_zlib_ZlibCompressor_initIDs, JNIEnv *env, jclass class)
{
    if (hh_library_need(env, &library))
        hh_codec_fields(env, class, PACKING, &packing);
}

HH_METHOD(void, io_compress_zlib_ZlibDecompressor_initIDs, JNIEnv *env, jclass class)
{
    if (hh_library_need(env, &library))
        hh_codec_fields(env, class, UNPACKING, &unpacking);
}

HH_METHOD(jstring, io_compress_zlib_ZlibCompressor_getLibraryName, JNIEnv *env, jclass class)
{
    (void)class;
    return hh_library_file(env, &library);
}

/* The stream of a handle; NULL with an exception pending. */
static struct z_stream *stream_of(JNIEnv *env, jlong handle)
{
    if (!handle)
        hh_throw(env, "java/lang/NullPointerException", "the stream is closed");
    return (struct z_stream *)(uintptr_t)handle;
}

static void throw_code(JNIEnv *env, int code, const struct z_stream *stream, const char *what)
{
    const char *class = "java/lang/InternalError";
    if (code == DATA_ERROR)
        class = "java/io/IOException";
    else if (code == MEM_ERROR)
        class = "java/lang/OutOfMemoryError";
    else if (code == STREAM_ERROR && stream == NULL)
        class = "java/lang/IllegalArgumentException";
    hh_throw(env, class, "%s", stream && stream->message ? stream->message : what);
}

static struct z_stream *new_stream(JNIEnv *env)
{
    struct z_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory for a stream of zlib");
    return stream;
}

static jlong started(JNIEnv *env, struct z_stream *stream, int code)
{
    if (code == OK)
        return (jlong)(uintptr_t)stream;
    free(stream);
    throw_code(env, code, NULL, "zlib could not make a stream");
    return 0;
}

HH_METHOD(jlong, io_compress_zlib_ZlibCompressor_init, JNIEnv *env, jclass class, jint level, jint strategy, jint bits)
{
    (void)class;
    struct z_stream *stream = new_stream(env);
    if (!stream)
        return 0;
    return started(env, stream,
                   deflate_init(stream, level, DEFLATED, bits, MEMORY_LEVEL, strategy, version(), sizeof(*stream)));
}

HH_METHOD(jlong, io_compress_zlib_ZlibDecompressor_init, JNIEnv *env, jclass class, jint bits)
{
    (void)class;
    struct z_stream *stream = new_stream(env);
    return stream ? started(env, stream, inflate_init(stream, bits, version(), sizeof(*stream))) : 0;
}

static void set_dictionary(JNIEnv *env, jlong handle, jbyteArray array, jint offset, jint length,
                           int (*set)(struct z_stream *, const unsigned char *, unsigned int))
{
    struct z_stream *stream = stream_of(env, handle);
    if (!stream || !hh_in_array(env, array, offset, length))
        return;
    unsigned char *bytes = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
    if (!bytes)
        return;
    int code = set(stream, bytes + offset, (unsigned int)length);
    (*env)->ReleasePrimitiveArrayCritical(env, array, bytes, JNI_ABORT);
    if (code == STREAM_ERROR || code == DATA_ERROR) /* not now, or not this one */
        hh_throw(env, "java/lang/IllegalArgumentException", "%s",
                 stream->message ? stream->message : "zlib does not take this dictionary");
    else if (code != OK)
        throw_code(env, code, stream, "zlib does not take a dictionary");
}

HH_METHOD(void, io_compress_zlib_ZlibCompressor_setDictionary, JNIEnv *env, jclass class, jlong handle,
          jbyteArray array, jint offset, jint length)
{
    (void)class;
    set_dictionary(env, handle, array, offset, length, deflate_dictionary);
}

HH_METHOD(void, io_compress_zlib_ZlibDecompressor_setDictionary, JNIEnv *env, jclass class, jlong handle,
          jbyteArray array, jint offset, jint length)
{
    (void)class;
    set_dictionary(env, handle, array, offset, length, inflate_dictionary);
}

static void point_at(struct z_stream *stream, const struct hh_piece *piece)
{
    stream->next_in = piece->from;
    stream->avail_in = (unsigned int)piece->length;
    stream->next_out = piece->to;
    stream->avail_out = (unsigned int)piece->room;
}

HH_METHOD(jint, io_compress_zlib_ZlibCompressor_deflateBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    struct z_stream *stream = stream_of(env, (*env)->GetLongField(env, object, packing.stream));
    if (!stream || !hh_codec_piece(env, object, &packing, PACKING, &piece))
        return 0;
    point_at(stream, &piece);
    int code = deflate(stream, (*env)->GetBooleanField(env, object, packing.finish) ? FINISH : NO_FLUSH);
    if (code != OK && code != STREAM_END && code != BUF_ERROR) {
        throw_code(env, code, stream, "zlib could not compress");
        return 0;
    }
    if (code == STREAM_END)
        (*env)->SetBooleanField(env, object, packing.finished, JNI_TRUE);
    hh_codec_left(env, object, &packing, PACKING, &piece, (jint)stream->avail_in);
    return piece.room - (jint)stream->avail_out;
}

HH_METHOD(jint, io_compress_zlib_ZlibDecompressor_inflateBytesDirect, JNIEnv *env, jobject object)
{
    struct hh_piece piece;
    struct z_stream *stream = stream_of(env, (*env)->GetLongField(env, object, unpacking.stream));
    if (!stream || !hh_codec_piece(env, object, &unpacking, UNPACKING, &piece))
        return 0;
    point_at(stream, &piece);
    int code = inflate(stream, PARTIAL_FLUSH);
    if (code != OK && code != STREAM_END && code != NEED_DICT && code != BUF_ERROR) {
        throw_code(env, code, stream, "zlib could not decompress");
        return 0;
    }
    if (code == STREAM_END)
        (*env)->SetBooleanField(env, object, unpacking.finished, JNI_TRUE);
    if (code == NEED_DICT)
        (*env)->SetBooleanField(env, object, unpacking.needs_dictionary, JNI_TRUE);
    hh_codec_left(env, object, &unpacking, UNPACKING, &piece, (jint)stream->avail_in);
    return piece.room - (jint)stream->avail_out;
}

static jlong total_in(JNIEnv *env, jlong handle)
{
    const struct z_stream *stream = stream_of(env, handle);
    return stream ? (jlong)stream->total_in : 0;
}

static jlong total_out(JNIEnv *env, jlong handle)
{
    const struct z_stream *stream = stream_of(env, handle);
    return stream ? (jlong)stream->total_out : 0;
}

static void reset(JNIEnv *env, jlong handle, int (*action)(struct z_stream *))
{
    struct z_stream *stream = stream_of(env, handle);
    if (!stream)
        return;
    int code = action(stream);
    stream->avail_in = 0; /* what remained of the last input is no longer this stream's */
    if (code != OK)
        throw_code(env, code, stream, "zlib could not begin anew");
}

/* deflateEnd() complains of a stream with data in it, which is no error here. */
static void end(jlong handle, int (*action)(struct z_stream *))
{
    struct z_stream *stream = (struct z_stream *)(uintptr_t)handle;
    if (stream)
        action(stream);
    free(stream);
}

HH_METHOD(jlong, io_compress_zlib_ZlibCompressor_getBytesRead, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_in(env, handle);
}

HH_METHOD(jlong, io_compress_zlib_ZlibCompressor_getBytesWritten, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_out(env, handle);
}

HH_METHOD(void, io_compress_zlib_ZlibCompressor_reset, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    reset(env, handle, deflate_reset);
}

HH_METHOD(void, io_compress_zlib_ZlibCompressor_end, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    (void)env;
    end(handle, deflate_end);
}

HH_METHOD(jlong, io_compress_zlib_ZlibDecompressor_getBytesRead, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_in(env, handle);
}

HH_METHOD(jlong, io_compress_zlib_ZlibDecompressor_getBytesWritten, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return total_out(env, handle);
}

HH_METHOD(void, io_compress_zlib_ZlibDecompressor_reset, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    reset(env, handle, inflate_reset);
}

HH_METHOD(void, io_compress_zlib_ZlibDecompressor_end, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    (void)env;
    end(handle, inflate_end);
}

HH_METHOD(jint, io_compress_zlib_ZlibDecompressor_getRemaining, JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    const struct z_stream *stream = stream_of(env, handle);
    return stream ? (jint)stream->avail_in : 0;
}
