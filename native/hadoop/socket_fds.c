/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.net.unix.DomainSocket: descriptors that travel with bytes to another process. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hadoop.h"

#define FDS_MAX   16 /* short-circuit reads pass two */
#define BYTES_MAX 65536

/* Room for the descriptors of one message, aligned as the system wants it. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

/* Whether there is no more of them than one message carries. */
static bool few_enough(JNIEnv *env, jobjectArray descriptors, jint *count)
{
    if (!descriptors) {
        hh_throw(env, "java/lang/NullPointerException", "no file descriptors");
        return false;
    }
    *count = (*env)->GetArrayLength(env, descriptors);
    if (*count >= 1 && *count <= FDS_MAX)
        return true;
    hh_throw(env, "java/lang/IllegalArgumentException", "%d file descriptors, and a message carries 1 to %d", *count,
             FDS_MAX);
    return false;
}

static bool enough_bytes(JNIEnv *env, jint length)
{
    if (length >= 1 && length <= BYTES_MAX)
        return true;
    hh_throw(env, "java/lang/IllegalArgumentException", "%d bytes with file descriptors, and it takes 1 to %d", length,
             BYTES_MAX);
    return false;
}

/* The descriptors go with the first byte. 0 or what went wrong. */
static int send_all(int fd, const int *fds, size_t count, const char *bytes, size_t length)
{
    union control control;
    struct iovec piece = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    memset(&control, 0, sizeof(control));
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    while (piece.iov_len > 0) {
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return errno;
        if (sent > 0) {
            piece.iov_base = (char *)piece.iov_base + sent;
            piece.iov_len -= (size_t)sent;
            message.msg_control = NULL;
            message.msg_controllen = 0;
        }
    }
    return 0;
}

HH_METHOD(void, net_unix_DomainSocket_sendFileDescriptors0, JNIEnv *env, jclass class, jint fd,
          jobjectArray descriptors, jbyteArray array, jint offset, jint length)
{
    (void)class;
    jint count;
    int fds[FDS_MAX];
    if (!few_enough(env, descriptors, &count) || !enough_bytes(env, length) || !hh_in_array(env, array, offset, length))
        return;
    for (jint i = 0; i < count; i++) {
        jobject descriptor = (*env)->GetObjectArrayElement(env, descriptors, i);
        fds[i] = hh_fd(env, descriptor);
        if (fds[i] < 0)
            return;
        (*env)->DeleteLocalRef(env, descriptor);
    }
    char *bytes = malloc((size_t)length);
    if (!bytes) {
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory to send file descriptors");
        return;
    }
    (*env)->GetByteArrayRegion(env, array, offset, length, (jbyte *)bytes);
    int error = send_all(fd, fds, (size_t)count, bytes, (size_t)length);
    free(bytes);
    if (error)
        hh_throw_socket(env, error, "sendmsg");
}

/* What came: bytes, or -1 with the error in errno; descriptors beyond those that there is room for are closed by the
 * system. */
static ssize_t receive(int fd, int *fds, size_t room, size_t *count, char *bytes, size_t length)
{
    union control control;
    struct iovec piece = {bytes, length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes};
    message.msg_controllen = CMSG_SPACE(room * sizeof(int));
    ssize_t got;
    *count = 0;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return got;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            size_t came = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < came; i++) {
                int one;
                memcpy(&one, CMSG_DATA(header) + i * sizeof(int), sizeof(one));
                if (*count < room)
                    fds[(*count)++] = one;
                else /* room is rounded up for alignment */
                    close(one);
            }
        }
    return got;
}

/* Those that do not reach the array are closed; those in it are closed by Java. */
static void store(JNIEnv *env, jobjectArray descriptors, const int *fds, size_t count)
{
    size_t i = 0;
    for (; i < count; i++) {
        jobject descriptor = hh_new_fd(env, fds[i]);
        if (!descriptor)
            break;
        (*env)->SetObjectArrayElement(env, descriptors, (jint)i, descriptor);
        (*env)->DeleteLocalRef(env, descriptor);
    }
    while (++i < count)
        close(fds[i]);
}

HH_METHOD(jint, net_unix_DomainSocket_receiveFileDescriptors0, JNIEnv *env, jclass class, jint fd,
          jobjectArray descriptors, jbyteArray array, jint offset, jint length)
{
    (void)class;
    jint room;
    int fds[FDS_MAX];
    size_t count;
    if (!few_enough(env, descriptors, &room) || !enough_bytes(env, length) || !hh_in_array(env, array, offset, length))
        return -1;
    char *bytes = malloc((size_t)length);
    if (!bytes) {
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory to receive file descriptors");
        return -1;
    }
    ssize_t got = receive(fd, fds, (size_t)room, &count, bytes, (size_t)length);
    int error = errno;
    if (got > 0)
        (*env)->SetByteArrayRegion(env, array, offset, (jint)got, (const jbyte *)bytes);
    free(bytes);
    if (got < 0)
        hh_throw_socket(env, error, "recvmsg");
    else
        store(env, descriptors, fds, count);
    return got > 0 ? (jint)got : -1;
}

HH_METHOD(void, net_unix_DomainSocket_closeFileDescriptor0, JNIEnv *env, jclass class, jobject descriptor)
{
    (void)class;
    int fd = hh_fd(env, descriptor);
    if (fd >= 0 && close(fd) != 0 && errno != EINTR)
        hh_throw_socket(env, errno, "close");
}
