/* SPDX-License-Identifier: Apache-2.0 */

/* Exceptions, and what the system's errors are in Java. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hadoop.h"

#define MESSAGE 1024

static void throw_text(JNIEnv *env, const char *class, const char *text)
{
    jclass type = (*env)->FindClass(env, class);
    if (type) /* otherwise the error that says so is pending */
        (*env)->ThrowNew(env, type, text);
}

void hh_throw(JNIEnv *env, const char *class, const char *format, ...)
{
    char text[MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    throw_text(env, class, text);
}

/* What Errno.java has a constant for. */
static const struct {
    int error;
    const char *name;
} errors[] = {
#define ERROR(name)                                                                                                    \
    {                                                                                                                  \
        name, #name                                                                                                    \
    }
    ERROR(EPERM),     ERROR(ENOENT),    ERROR(ESRCH),   ERROR(EINTR),  ERROR(EIO),    ERROR(ENXIO),
    ERROR(E2BIG),     ERROR(ENOEXEC),   ERROR(EBADF),   ERROR(ECHILD), ERROR(EAGAIN), ERROR(ENOMEM),
    ERROR(EACCES),    ERROR(EFAULT),    ERROR(ENOTBLK), ERROR(EBUSY),  ERROR(EEXIST), ERROR(EXDEV),
    ERROR(ENODEV),    ERROR(ENOTDIR),   ERROR(EISDIR),  ERROR(EINVAL), ERROR(ENFILE), ERROR(EMFILE),
    ERROR(ENOTTY),    ERROR(ETXTBSY),   ERROR(EFBIG),   ERROR(ENOSPC), ERROR(ESPIPE), ERROR(EROFS),
    ERROR(EMLINK),    ERROR(EPIPE),     ERROR(EDOM),    ERROR(ERANGE), ERROR(ELOOP),  ERROR(ENAMETOOLONG),
    ERROR(ENOTEMPTY), ERROR(EOVERFLOW),
};

static const char *constant_of(int error)
{
    for (size_t i = 0; i < HH_COUNT(errors); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "UNKNOWN";
}

/* The message is the system's text alone: callers know the path, and compare messages with what Hadoop always said. */
void hh_throw_errno(JNIEnv *env, int error)
{
    char text[256];
    const char *words = strerror_r(error, text, sizeof(text));
    jclass constants = (*env)->FindClass(env, "org/apache/hadoop/io/nativeio/Errno");
    jclass type = constants ? (*env)->FindClass(env, "org/apache/hadoop/io/nativeio/NativeIOException") : NULL;
    if (!type)
        return;
    jfieldID field =
        (*env)->GetStaticFieldID(env, constants, constant_of(error), "Lorg/apache/hadoop/io/nativeio/Errno;");
    jmethodID make =
        field ? (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/String;Lorg/apache/hadoop/io/nativeio/Errno;)V")
              : NULL;
    jstring message = make ? (*env)->NewStringUTF(env, words) : NULL;
    if (!message)
        return;
    jobject exception =
        (*env)->NewObject(env, type, make, message, (*env)->GetStaticObjectField(env, constants, field));
    if (exception)
        (*env)->Throw(env, exception);
}

static const char *socket_exception(int error)
{
    switch (error) {
    case EAGAIN: /* SO_RCVTIMEO or SO_SNDTIMEO passed */
    case ETIMEDOUT:
        return "java/net/SocketTimeoutException";
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "java/net/NoRouteToHostException";
    case ECONNREFUSED:
    case ENOENT: /* no such path to connect to */
        return "java/net/ConnectException";
    case EADDRINUSE:
    case EADDRNOTAVAIL:
        return "java/net/BindException";
    default:
        return "java/net/SocketException";
    }
}

void hh_throw_socket(JNIEnv *env, int error, const char *format, ...)
{
    char what[MESSAGE], text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    hh_throw(env, socket_exception(error), "%s error: %s", what, strerror_r(error, text, sizeof(text)));
}
