/* SPDX-License-Identifier: Apache-2.0 */

/* Fetches, both sides. */

#include <errno.h>
#include <string.h>

#include "binding.h"

/* ---- client ---- */

/* A call's parameters as Fetch.java lays them out: six numbers, then the name. */
struct asking {
    int64_t offset, length, into, queue, user, name_length;
    char name[HD_FETCH_NAME_MAX];
};

static jlong fetchStart(JNIEnv *env, jclass class, jlong link, jstring service, jlong asking)
{
    (void)class;
    hd_fetch *fetch = NULL;
    const struct asking *p = hd_at(asking);
    const char *text = (*env)->GetStringUTFChars(env, service, NULL);
    struct hd_fetch_params params = {.size = sizeof(params),
                                     .name = p->name,
                                     .name_length = (size_t)p->name_length,
                                     .offset = (uint64_t)p->offset,
                                     .length = (uint64_t)p->length,
                                     .into = hd_at(p->into),
                                     .queue = hd_at(p->queue),
                                     .user = (uint64_t)p->user};
    int err = text ? hd_fetch_start(hd_at(link), text, &params, &fetch) : -ENOMEM;
    if (text)
        (*env)->ReleaseStringUTFChars(env, service, text);
    return err ? err : hd_handle(fetch);
}

/* The block with a reference of its own, its address and length at `out`; 0 if there is none. */
static jlong fetchData(JNIEnv *env, jclass class, jlong fetch, jlong out)
{
    (void)env, (void)class;
    hd_buf *buf = hd_fetch_data(hd_at(fetch));
    if (!buf)
        return 0;
    int64_t *to = hd_at(out);
    to[0] = hd_handle(hd_buf_data(buf));
    to[1] = (jlong)hd_buf_length(buf);
    return hd_handle(hd_buf_ref(buf));
}

static jstring fetchError(JNIEnv *env, jclass class, jlong fetch)
{
    (void)class;
    return (*env)->NewStringUTF(env, hd_fetch_error(hd_at(fetch)));
}

static void fetchCancel(JNIEnv *env, jclass class, jlong fetch)
{
    (void)env, (void)class;
    hd_fetch_cancel(hd_at(fetch));
}

static void fetchRelease(JNIEnv *env, jclass class, jlong fetch)
{
    (void)env, (void)class;
    hd_fetch_release(hd_at(fetch));
}

/* ---- server ---- */

/* Writes offset, length and the name (room for HD_FETCH_NAME_MAX). @return the name's length. */
static jint fetchAsked(JNIEnv *env, jclass class, jlong fetch, jlong out)
{
    (void)env, (void)class;
    size_t length;
    uint64_t *to = hd_at(out);
    const void *name = hd_fetch_name(hd_at(fetch), &length);
    hd_fetch_range(hd_at(fetch), &to[0], &to[1]);
    memcpy(&to[2], name, length);
    return (jint)length;
}

static jint fetchReplyBuf(JNIEnv *env, jclass class, jlong fetch, jlong buf, jint offset, jint length)
{
    (void)env, (void)class;
    return hd_fetch_reply_buf(hd_at(fetch), hd_at(buf), (size_t)offset, (size_t)length);
}

static jint fetchReplyFile(JNIEnv *env, jclass class, jlong fetch, jint fd, jlong offset, jlong length)
{
    (void)env, (void)class;
    return hd_fetch_reply_file(hd_at(fetch), fd, (uint64_t)offset, (uint64_t)length);
}

static jint fetchReplyError(JNIEnv *env, jclass class, jlong fetch, jint error, jstring cause)
{
    (void)class;
    const char *text = cause ? (*env)->GetStringUTFChars(env, cause, NULL) : NULL;
    int err = hd_fetch_reply_error(hd_at(fetch), error, text);
    if (text)
        (*env)->ReleaseStringUTFChars(env, cause, text);
    return err;
}

#define STRING "Ljava/lang/String;"

static const JNINativeMethod methods[] = {
    HD_JNI_METHOD(fetchStart, "(J" STRING "J)J"),
    HD_JNI_METHOD(fetchData, "(JJ)J"),
    HD_JNI_METHOD(fetchError, "(J)" STRING),
    HD_JNI_METHOD(fetchCancel, "(J)V"),
    HD_JNI_METHOD(fetchRelease, "(J)V"),
    HD_JNI_METHOD(fetchAsked, "(JJ)I"),
    HD_JNI_METHOD(fetchReplyBuf, "(JJII)I"),
    HD_JNI_METHOD(fetchReplyFile, "(JIJJ)I"),
    HD_JNI_METHOD(fetchReplyError, "(JI" STRING ")I"),
};

const struct hd_jni_part hd_jni_fetch = {methods, HD_JNI_COUNT(methods)};
