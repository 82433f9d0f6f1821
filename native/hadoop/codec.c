/* SPDX-License-Identifier: Apache-2.0 */

/* Fields of Hadoop's compressors and decompressors. */

#include "codec.h"

bool hh_codec_fields(JNIEnv *env, jclass class, int kind, struct hh_codec *codec)
{
    codec->plain = hh_field(env, class, "uncompressedDirectBuf", "Ljava/nio/Buffer;");
    codec->packed = hh_field(env, class, "compressedDirectBuf", "Ljava/nio/Buffer;");
    codec->size = hh_field(env, class, "directBufferSize", "I");
    if (kind & HH_PACKS)
        codec->plain_length = hh_field(env, class, "uncompressedDirectBufLen", "I");
    else
        codec->packed_length = hh_field(env, class, "compressedDirectBufLen", "I");
    if (kind & HH_STREAMS) {
        codec->stream = hh_field(env, class, "stream", "J");
        codec->finished = hh_field(env, class, "finished", "Z");
        if (kind & HH_PACKS) {
            codec->finish = hh_field(env, class, "finish", "Z");
            codec->plain_offset = hh_field(env, class, "uncompressedDirectBufOff", "I");
        } else {
            codec->packed_offset = hh_field(env, class, "compressedDirectBufOff", "I");
        }
    }
    if (kind & HH_DICTIONARY)
        codec->needs_dictionary = hh_field(env, class, "needDict", "Z");
    return !(*env)->ExceptionCheck(env);
}

bool hh_codec_piece(JNIEnv *env, jobject object, const struct hh_codec *codec, int kind, struct hh_piece *piece)
{
    bool packs = kind & HH_PACKS;
    jobject from = (*env)->GetObjectField(env, object, packs ? codec->plain : codec->packed);
    jobject to = (*env)->GetObjectField(env, object, packs ? codec->packed : codec->plain);
    jfieldID offset = packs ? codec->plain_offset : codec->packed_offset;
    piece->offset = kind & HH_STREAMS ? (*env)->GetIntField(env, object, offset) : 0;
    piece->length = (*env)->GetIntField(env, object, packs ? codec->plain_length : codec->packed_length);
    piece->room = (*env)->GetIntField(env, object, codec->size);
    piece->from = hh_direct(env, from, piece->offset, piece->length);
    piece->to = piece->from ? hh_direct(env, to, 0, piece->room) : NULL;
    return piece->to != NULL;
}

void hh_codec_left(JNIEnv *env, jobject object, const struct hh_codec *codec, int kind, const struct hh_piece *piece,
                   jint left)
{
    bool packs = kind & HH_PACKS;
    if (kind & HH_STREAMS)
        (*env)->SetIntField(env, object, packs ? codec->plain_offset : codec->packed_offset,
                            piece->offset + piece->length - left);
    (*env)->SetIntField(env, object, packs ? codec->plain_length : codec->packed_length, left);
}
