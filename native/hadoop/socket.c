/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.net.unix.DomainSocket: sockets, their attributes, and bytes. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "hadoop.h"

#define BACKLOG     128
#define ON_STACK    8192
#define PIECE       (128 * 1024) /* of an array that is copied at a time */
#define MILLISECOND 1000

/* The attributes, as DomainSocket.java numbers them. */
enum attribute { SEND_BUFFER_SIZE = 1, RECEIVE_BUFFER_SIZE, SEND_TIMEOUT, RECEIVE_TIMEOUT };

/* A client waits no longer, until Java sets other times. A server is given its own by Java. */
#define CLIENT_TIMEOUT_MS 120000

HH_METHOD(void, net_unix_DomainSocket_anchorNative, JNIEnv *env, jclass class)
{
    (void)env, (void)class;
}

static int option_of(jint attribute)
{
    switch (attribute) {
    case SEND_BUFFER_SIZE:
        return SO_SNDBUF;
    case RECEIVE_BUFFER_SIZE:
        return SO_RCVBUF;
    case SEND_TIMEOUT:
        return SO_SNDTIMEO;
    case RECEIVE_TIMEOUT:
        return SO_RCVTIMEO;
    default:
        return -1;
    }
}

static int set_timeout(int fd, int option, int milliseconds)
{
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * MILLISECOND};
    return setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time)) == 0 ? 0 : errno;
}

HH_METHOD(void, net_unix_DomainSocket_setAttribute0, JNIEnv *env, jclass class, jint fd, jint attribute, jint value)
{
    (void)class;
    int option = option_of(attribute), error;
    if (option < 0 || value < 0) {
        hh_throw(env, "java/lang/IllegalArgumentException", "no attribute %d with the value %d", attribute, value);
        return;
    }
    if (option == SO_SNDTIMEO || option == SO_RCVTIMEO)
        error = set_timeout(fd, option, value);
    else
        error = setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value)) == 0 ? 0 : errno;
    if (error)
        hh_throw_socket(env, error, "setsockopt");
}

HH_METHOD(jint, net_unix_DomainSocket_getAttribute0, JNIEnv *env, jobject object, jint fd, jint attribute)
{
    (void)object;
    int option = option_of(attribute), size = 0;
    struct timeval time = {0, 0};
    bool is_time = option == SO_SNDTIMEO || option == SO_RCVTIMEO;
    socklen_t length = is_time ? sizeof(time) : sizeof(size);
    if (option < 0) {
        hh_throw(env, "java/lang/IllegalArgumentException", "no attribute %d", attribute);
        return -1;
    }
    if (getsockopt(fd, SOL_SOCKET, option, is_time ? (void *)&time : (void *)&size, &length) != 0) {
        hh_throw_socket(env, errno, "getsockopt");
        return -1;
    }
    if (is_time)
        return (jint)(time.tv_sec * 1000 + time.tv_usec / MILLISECOND);
    return size / 2; /* Linux doubles what it was asked for (socket(7)) */
}

/* What has the path; false with an exception pending. */
static bool address_of(JNIEnv *env, jstring path, struct sockaddr_un *address)
{
    char *name = hh_path(env, path);
    if (!name)
        return false;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    size_t length = strlen(name);
    bool fits = length > 0 && length < sizeof(address->sun_path);
    if (fits)
        memcpy(address->sun_path, name, length);
    else
        hh_throw(env, "java/net/SocketException",
                 "the path '%s' of a UNIX domain socket has %zu bytes, and must have 1 to %zu", name, length,
                 sizeof(address->sun_path) - 1);
    free(name);
    return fits;
}

/* A descriptor, or -1 with an exception pending. */
static int new_socket(JNIEnv *env)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        hh_throw_socket(env, errno, "socket(AF_UNIX)");
    return fd;
}

/* Any user may connect: who may read a block is decided by its token. A socket that an earlier process left is
 * replaced. */
static const char *listen_at(int fd, const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) && unlink(address->sun_path) != 0)
        return "unlink";
    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
        return "bind";
    if (chmod(address->sun_path, 0666) != 0)
        return "chmod";
    if (listen(fd, BACKLOG) != 0)
        return "listen";
    return NULL;
}

HH_METHOD(jint, net_unix_DomainSocket_bind0, JNIEnv *env, jclass class, jstring path)
{
    (void)class;
    struct sockaddr_un address;
    int fd = address_of(env, path, &address) ? new_socket(env) : -1;
    if (fd < 0)
        return -1;
    const char *failed = listen_at(fd, &address);
    if (!failed)
        return fd;
    int error = errno;
    close(fd);
    char words[128];
    hh_throw(env, "java/net/BindException", "%s('%s') error: %s", failed, address.sun_path,
             strerror_r(error, words, sizeof(words)));
    return -1;
}

HH_METHOD(jint, net_unix_DomainSocket_connect0, JNIEnv *env, jclass class, jstring path)
{
    (void)class;
    struct sockaddr_un address;
    int fd = address_of(env, path, &address) ? new_socket(env) : -1;
    if (fd < 0)
        return -1;
    int error = set_timeout(fd, SO_SNDTIMEO, CLIENT_TIMEOUT_MS); /* which bounds connect(), too */
    if (!error)
        error = set_timeout(fd, SO_RCVTIMEO, CLIENT_TIMEOUT_MS);
    while (!error && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        if (errno != EINTR)
            error = errno;
    if (!error)
        return fd;
    close(fd);
    hh_throw_socket(env, error, "connect('%s')", address.sun_path);
    return -1;
}

HH_METHOD(jint, net_unix_DomainSocket_accept0, JNIEnv *env, jclass class, jint fd)
{
    (void)class;
    int accepted;
    do
        accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (accepted < 0)
        hh_throw_socket(env, errno, "accept");
    return accepted;
}

HH_METHOD(jintArray, net_unix_DomainSocket_socketpair0, JNIEnv *env, jclass class)
{
    (void)class;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        hh_throw_socket(env, errno, "socketpair");
        return NULL;
    }
    jintArray result = (*env)->NewIntArray(env, 2);
    if (result) {
        (*env)->SetIntArrayRegion(env, result, 0, 2, (const jint *)pair);
    } else {
        close(pair[0]);
        close(pair[1]);
    }
    return result;
}

HH_METHOD(void, net_unix_DomainSocket_close0, JNIEnv *env, jclass class, jint fd)
{
    (void)class;
    if (close(fd) != 0 && errno != EINTR) /* Linux has closed it then */
        hh_throw_socket(env, errno, "close");
}

HH_METHOD(void, net_unix_DomainSocket_shutdown0, JNIEnv *env, jclass class, jint fd)
{
    (void)class;
    if (shutdown(fd, SHUT_RDWR) != 0 && errno != ENOTCONN) /* the other end may be first */
        hh_throw_socket(env, errno, "shutdown");
}

HH_METHOD(jint, net_unix_DomainSocket_available0, JNIEnv *env, jclass class, jint fd)
{
    (void)class;
    int bytes = 0;
    if (ioctl(fd, FIONREAD, &bytes) != 0) {
        hh_throw_socket(env, errno, "ioctl(FIONREAD)");
        return -1;
    }
    return bytes;
}

static ssize_t read_some(int fd, void *to, size_t size)
{
    ssize_t got;
    do
        got = read(fd, to, size);
    while (got < 0 && errno == EINTR);
    return got;
}

/* 0 or what went wrong. */
static int write_all(int fd, const void *from, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return errno;
        if (sent > 0) {
            from = (const char *)from + sent;
            size -= (size_t)sent;
        }
    }
    return 0;
}

/* Memory for a piece of an array: the caller's, or more; NULL with an exception pending. */
static void *piece_of(JNIEnv *env, void *on_stack, jint length)
{
    if (length <= ON_STACK)
        return on_stack;
    void *memory = malloc(length < PIECE ? (size_t)length : PIECE);
    if (!memory)
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory to copy bytes of a socket");
    return memory;
}

/* The end of the stream is -1, as in Java. An array is not held while the call waits, so a collector never waits. */
HH_METHOD(jint, net_unix_DomainSocket_readArray0, JNIEnv *env, jclass class, jint fd, jbyteArray array, jint offset,
          jint length)
{
    (void)class;
    char on_stack[ON_STACK];
    if (!hh_in_array(env, array, offset, length))
        return -1;
    if (length == 0)
        return 0;
    void *piece = piece_of(env, on_stack, length);
    if (!piece)
        return -1;
    ssize_t got = read_some(fd, piece, length < PIECE ? (size_t)length : PIECE);
    int error = errno;
    if (got > 0)
        (*env)->SetByteArrayRegion(env, array, offset, (jint)got, piece);
    if (piece != on_stack)
        free(piece);
    if (got < 0)
        hh_throw_socket(env, error, "read");
    return got > 0 ? (jint)got : -1;
}

HH_METHOD(jint, net_unix_DomainSocket_readByteBufferDirect0, JNIEnv *env, jclass class, jint fd, jobject buffer,
          jint position, jint remaining)
{
    (void)class;
    void *memory = hh_direct(env, buffer, position, remaining);
    if (!memory)
        return -1;
    if (remaining == 0)
        return 0;
    ssize_t got = read_some(fd, memory, (size_t)remaining);
    if (got < 0)
        hh_throw_socket(env, errno, "read");
    return got > 0 ? (jint)got : -1;
}

HH_METHOD(void, net_unix_DomainSocket_writeArray0, JNIEnv *env, jclass class, jint fd, jbyteArray array, jint offset,
          jint length)
{
    (void)class;
    char on_stack[ON_STACK];
    void *piece = hh_in_array(env, array, offset, length) ? piece_of(env, on_stack, length) : NULL;
    if (!piece)
        return;
    int error = 0;
    while (length > 0 && !error) {
        jint step = length < PIECE ? length : PIECE;
        (*env)->GetByteArrayRegion(env, array, offset, step, piece);
        error = write_all(fd, piece, (size_t)step);
        offset += step;
        length -= step;
    }
    if (piece != on_stack)
        free(piece);
    if (error)
        hh_throw_socket(env, error, "write");
}

HH_METHOD(void, net_unix_DomainSocket_write0, JNIEnv *env, jclass class, jint fd, jint byte)
{
    (void)class;
    unsigned char value = (unsigned char)byte;
    int error = write_all(fd, &value, 1);
    if (error)
        hh_throw_socket(env, error, "write");
}
