/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers, links and streams. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"

/* ---- buffers ---- */

/* Where a buffer's bytes are, for Java: address and length. */
static jlong describe(hd_buf *buf, jlong *to)
{
    to[0] = hd_handle(hd_buf_data(buf));
    to[1] = (jlong)hd_buf_length(buf);
    return hd_handle(buf);
}

static jlong bufAlloc(JNIEnv *env, jclass class, jlong engine, jlong size, jlong out)
{
    (void)env, (void)class;
    hd_buf *buf;
    int err = hd_buf_alloc(hd_at(engine), (size_t)size, &buf);
    return err ? err : describe(buf, hd_at(out));
}

static void bufRelease(JNIEnv *env, jclass class, jlong buf)
{
    (void)env, (void)class;
    hd_buf_unref(hd_at(buf));
}

static jint bufSetLength(JNIEnv *env, jclass class, jlong buf, jlong length)
{
    (void)env, (void)class;
    return hd_buf_set_length(hd_at(buf), (size_t)length);
}

static jlong bufRegister(JNIEnv *env, jclass class, jlong engine, jlong address, jlong length)
{
    (void)env, (void)class;
    hd_buf *buf;
    int err = hd_buf_register(hd_at(engine), hd_at(address), (size_t)length, &buf);
    return err ? err : hd_handle(buf);
}

static jint bufDeregister(JNIEnv *env, jclass class, jlong buf, jlong timeout)
{
    (void)env, (void)class;
    return hd_buf_deregister(hd_at(buf), timeout);
}

static jlong bufSlice(JNIEnv *env, jclass class, jlong buf, jlong offset, jlong length, jlong out)
{
    (void)env, (void)class;
    hd_buf *slice;
    int err = hd_buf_slice(hd_at(buf), (size_t)offset, (size_t)length, &slice);
    return err ? err : describe(slice, hd_at(out));
}

static jobject wrap(JNIEnv *env, jclass class, jlong address, jlong length)
{
    (void)class;
    return (*env)->NewDirectByteBuffer(env, hd_at(address), length);
}

static jlong addressOf(JNIEnv *env, jclass class, jobject buffer)
{
    (void)class;
    return hd_handle((*env)->GetDirectBufferAddress(env, buffer));
}

/* ---- links ---- */

/* What Greeting.java reads: link, outcome, shared, unread bytes, reason, service; it writes the service of a server. */
struct greeting {
    int64_t link;
    int32_t outcome;
    int32_t shared;
    int32_t unread_length;
    unsigned char unread[HD_UNREAD_MAX];
    char reason[200];
    char service[HD_SERVICE_MAX + 1];
};

_Static_assert(offsetof(struct greeting, unread_length) == 16 && offsetof(struct greeting, unread) == 20 &&
                   offsetof(struct greeting, reason) == 28 && offsetof(struct greeting, service) == 228 &&
                   sizeof(struct greeting) <= 320,
               "Greeting.java reads it so");

static void fill(struct greeting *to, const struct hd_connect_result *from)
{
    to->link = hd_handle(from->outcome == HD_LINKED ? from->link : NULL);
    to->outcome = (int32_t)from->outcome;
    to->shared = from->shared;
    to->unread_length = (int32_t)from->unread_length;
    memcpy(to->unread, from->unread, sizeof(to->unread));
    memcpy(to->reason, from->reason, sizeof(to->reason));
    memcpy(to->service, from->service, sizeof(to->service));
}

/* Java may close its socket while we greet, and the number may then be somebody else's: greet on a duplicate. */
static int duplicate(jint fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return own < 0 ? -errno : own;
}

static jint connectSide(JNIEnv *env, jclass class, jlong engine, jint fd, jstring address, jlong timeout, jlong out)
{
    (void)class;
    struct hd_connect_result result = {.size = sizeof(result)};
    const char *name = (*env)->GetStringUTFChars(env, address, NULL);
    int own = name ? duplicate(fd) : -ENOMEM, err = own;
    if (own >= 0) {
        err = hd_connect(hd_at(engine), own, name, timeout, &result);
        close(own);
    }
    if (name)
        (*env)->ReleaseStringUTFChars(env, address, name);
    if (!err)
        fill(hd_at(out), &result);
    return err;
}

static jint acceptSide(JNIEnv *env, jclass class, jlong engine, jint fd, jlong prefix, jint length, jlong timeout,
                       jlong out)
{
    (void)env, (void)class;
    struct hd_connect_result result = {.size = sizeof(result)};
    memcpy(result.service, ((struct greeting *)hd_at(out))->service, sizeof(result.service));
    int own = duplicate(fd), err = own;
    if (own >= 0) {
        err = hd_accept(hd_at(engine), own, hd_at(prefix), (size_t)length, timeout, &result);
        close(own);
    }
    if (!err)
        fill(hd_at(out), &result);
    return err;
}

static jboolean isGreeting(JNIEnv *env, jclass class, jlong bytes, jint length)
{
    (void)env, (void)class;
    return hd_is_greeting(hd_at(bytes), (size_t)length);
}

static jlong linkFind(JNIEnv *env, jclass class, jlong engine, jstring address)
{
    (void)class;
    hd_link *link = NULL;
    const char *name = (*env)->GetStringUTFChars(env, address, NULL);
    int err = name ? hd_link_find(hd_at(engine), name, &link) : -ENOMEM;
    if (name)
        (*env)->ReleaseStringUTFChars(env, address, name);
    return err ? err : hd_handle(link);
}

static void linkPut(JNIEnv *env, jclass class, jlong link)
{
    (void)env, (void)class;
    hd_link_put(hd_at(link));
}

static void linkClose(JNIEnv *env, jclass class, jlong link)
{
    (void)env, (void)class;
    hd_link_close(hd_at(link));
}

static jint linkStatus(JNIEnv *env, jclass class, jlong link)
{
    (void)env, (void)class;
    return hd_link_status(hd_at(link));
}

static jstring linkPeer(JNIEnv *env, jclass class, jlong link)
{
    (void)class;
    return (*env)->NewStringUTF(env, hd_link_peer(hd_at(link)));
}

static jstring linkTransport(JNIEnv *env, jclass class, jlong link)
{
    (void)class;
    return (*env)->NewStringUTF(env, hd_link_transport(hd_at(link)));
}

/* The link of a stream or of a request, with a reference. */
static jlong linkOf(JNIEnv *env, jclass class, jlong stream, jlong fetch)
{
    (void)env, (void)class;
    return hd_handle(hd_link_ref(stream ? hd_stream_link(hd_at(stream)) : hd_fetch_link(hd_at(fetch))));
}

/* ---- streams ---- */

static jlong streamOpen(JNIEnv *env, jclass class, jlong link, jstring service)
{
    (void)class;
    hd_stream *stream = NULL;
    const char *name = (*env)->GetStringUTFChars(env, service, NULL);
    int err = name ? hd_stream_open(hd_at(link), name, NULL, &stream) : -ENOMEM;
    if (name)
        (*env)->ReleaseStringUTFChars(env, service, name);
    return err ? err : hd_handle(stream);
}

static jint streamConfigure(JNIEnv *env, jclass class, jlong stream, jlong queue, jlong user, jint protocol,
                            jboolean deferred)
{
    (void)env, (void)class;
    struct hd_stream_params params = {.size = sizeof(params),
                                      .queue = hd_at(queue),
                                      .user = (uint64_t)user,
                                      .protocol = (enum hd_protocol)protocol,
                                      .deferred = deferred};
    return hd_stream_configure(hd_at(stream), &params);
}

static jint send_(JNIEnv *env, jclass class, jlong stream, jlong data, jint length, jlong timeout)
{
    (void)env, (void)class;
    return hd_send(hd_at(stream), hd_at(data), (size_t)length, timeout);
}

static jint sendBuf(JNIEnv *env, jclass class, jlong stream, jlong buf, jint offset, jint length, jlong timeout)
{
    (void)env, (void)class;
    return hd_send_buf(hd_at(stream), hd_at(buf), (size_t)offset, (size_t)length, timeout);
}

/* A buffer described at `out`, 0 at the end, or an error. */
static jlong recv_(JNIEnv *env, jclass class, jlong stream, jlong out, jlong timeout)
{
    (void)env, (void)class;
    hd_buf *buf;
    int end = hd_recv(hd_at(stream), &buf, timeout);
    return end < 0 ? end : end > 0 ? 0 : describe(buf, hd_at(out));
}

/* 0 at the end of the stream, as hd_read(). */
static jint read_(JNIEnv *env, jclass class, jlong stream, jlong data, jint length, jlong timeout)
{
    (void)env, (void)class;
    return (jint)hd_read(hd_at(stream), hd_at(data), (size_t)length, timeout);
}

struct array_region {
    JNIEnv *env;
    jbyteArray array;
    jint offset;
};

/* Not by a critical region: collectors wait for these, and threads that allocate for the collectors. */
static void copy_to_array(void *arg, size_t at, const void *from, size_t length)
{
    struct array_region *region = arg;
    (*region->env)->SetByteArrayRegion(region->env, region->array, region->offset + (jint)at, (jint)length, from);
}

/* What can be read without waiting, into an array; its bounds were checked. */
static jint readArray(JNIEnv *env, jclass class, jlong stream, jbyteArray array, jint offset, jint length)
{
    (void)class;
    struct array_region region = {env, array, offset};
    struct hd_copier copier = {copy_to_array, &region};
    return (jint)hd_read_through(hd_at(stream), &copier, (size_t)length, 0);
}

static jint write_(JNIEnv *env, jclass class, jlong stream, jlong data, jint length, jlong timeout)
{
    (void)env, (void)class;
    return (jint)hd_write(hd_at(stream), hd_at(data), (size_t)length, timeout);
}

static jlong available(JNIEnv *env, jclass class, jlong stream)
{
    (void)env, (void)class;
    return (jlong)hd_available(hd_at(stream));
}

static jlong offered(JNIEnv *env, jclass class, jlong stream)
{
    (void)env, (void)class;
    return (jlong)hd_offered(hd_at(stream));
}

static jint streamFinish(JNIEnv *env, jclass class, jlong stream)
{
    (void)env, (void)class;
    return hd_stream_finish(hd_at(stream));
}

static void streamWake(JNIEnv *env, jclass class, jlong stream)
{
    (void)env, (void)class;
    hd_stream_wake(hd_at(stream));
}

static void streamClose(JNIEnv *env, jclass class, jlong stream)
{
    (void)env, (void)class;
    hd_stream_close(hd_at(stream));
}

#define STRING "Ljava/lang/String;"
#define BUFFER "Ljava/nio/ByteBuffer;"

static const JNINativeMethod methods[] = {
    HD_JNI_METHOD(bufAlloc, "(JJJ)J"),
    HD_JNI_METHOD(bufRelease, "(J)V"),
    HD_JNI_METHOD(bufSetLength, "(JJ)I"),
    HD_JNI_METHOD(bufRegister, "(JJJ)J"),
    HD_JNI_METHOD(bufDeregister, "(JJ)I"),
    HD_JNI_METHOD(bufSlice, "(JJJJ)J"),
    HD_JNI_METHOD(wrap, "(JJ)" BUFFER),
    HD_JNI_METHOD(addressOf, "(" BUFFER ")J"),
    HD_JNI_METHOD(connectSide, "(JI" STRING "JJ)I"),
    HD_JNI_METHOD(acceptSide, "(JIJIJJ)I"),
    HD_JNI_METHOD(isGreeting, "(JI)Z"),
    HD_JNI_METHOD(linkFind, "(J" STRING ")J"),
    HD_JNI_METHOD(linkPut, "(J)V"),
    HD_JNI_METHOD(linkClose, "(J)V"),
    HD_JNI_METHOD(linkStatus, "(J)I"),
    HD_JNI_METHOD(linkPeer, "(J)" STRING),
    HD_JNI_METHOD(linkTransport, "(J)" STRING),
    HD_JNI_METHOD(linkOf, "(JJ)J"),
    HD_JNI_METHOD(streamOpen, "(J" STRING ")J"),
    HD_JNI_METHOD(streamConfigure, "(JJJIZ)I"),
    HD_JNI_NAMED(send, "(JJIJ)I"),
    HD_JNI_METHOD(sendBuf, "(JJIIJ)I"),
    HD_JNI_NAMED(recv, "(JJJ)J"),
    HD_JNI_NAMED(read, "(JJIJ)I"),
    HD_JNI_METHOD(readArray, "(J[BII)I"),
    HD_JNI_NAMED(write, "(JJIJ)I"),
    HD_JNI_METHOD(available, "(J)J"),
    HD_JNI_METHOD(offered, "(J)J"),
    HD_JNI_METHOD(streamFinish, "(J)I"),
    HD_JNI_METHOD(streamWake, "(J)V"),
    HD_JNI_METHOD(streamClose, "(J)V"),
};

const struct hd_jni_part hd_jni_stream = {methods, HD_JNI_COUNT(methods)};
