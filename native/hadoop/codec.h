/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_HADOOP_CODEC_H
#define HOWDAH_HADOOP_CODEC_H

/* The fields that Hadoop's compressors and decompressors have in common: two direct buffers and how full they are. */
#include "hadoop.h"

struct hh_codec {
    jfieldID plain, plain_offset, plain_length;    /* uncompressedDirectBuf... */
    jfieldID packed, packed_offset, packed_length; /* compressedDirectBuf... */
    jfieldID size;                                 /* directBufferSize */
    jfieldID stream, finish, finished, needs_dictionary;
};

/* What a call of a codec reads and writes. */
struct hh_piece {
    const unsigned char *from;
    unsigned char *to;
    jint offset, length, room;
};

/* Which buffer is read, and which fields a class has besides. */
enum hh_codec_kind {
    HH_PACKS = 1,   /* a compressor: reads the uncompressed buffer */
    HH_STREAMS = 2, /* has stream, finished, and offset and length of what it reads */
    HH_DICTIONARY = 4,
};

/* Finds the fields; false with NoSuchFieldError pending. */
bool hh_codec_fields(JNIEnv *env, jclass class, int kind, struct hh_codec *codec);
/* The next piece; false with an exception pending where a buffer is smaller than the object says. */
bool hh_codec_piece(JNIEnv *env, jobject object, const struct hh_codec *codec, int kind, struct hh_piece *piece);
/* The input is used up to its last left bytes. */
void hh_codec_left(JNIEnv *env, jobject object, const struct hh_codec *codec, int kind, const struct hh_piece *piece,
                   jint left);

#endif
