/* SPDX-License-Identifier: Apache-2.0 */

/* Java's exceptions as errno, and what users are told of them. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define LINE       1024
#define CAUSES     64 /* exceptions that are each other's cause come to an end */
#define HADOOP(of) "org.apache.hadoop." of

/* A class stands for its subclasses, too, unless they have a line of their own. */
static const struct {
    const char *class;
    int error;
} errors[] = {
    {"java.io.FileNotFoundException", ENOENT},
    {"java.nio.file.NoSuchFileException", ENOENT},
    {HADOOP("fs.PathNotFoundException"), ENOENT},
    {HADOOP("fs.UnresolvedLinkException"), ENOLINK},
    {HADOOP("fs.FileAlreadyExistsException"), EEXIST},
    {HADOOP("fs.PathExistsException"), EEXIST},
    {"java.nio.file.FileAlreadyExistsException", EEXIST},
    {HADOOP("fs.ParentNotDirectoryException"), ENOTDIR},
    {HADOOP("fs.PathIsNotDirectoryException"), ENOTDIR},
    {HADOOP("fs.PathIsDirectoryException"), EISDIR},
    {HADOOP("fs.PathIsNotEmptyDirectoryException"), ENOTEMPTY},
    {HADOOP("fs.permission.AccessControlException"), EACCES},
    {HADOOP("fs.PathAccessDeniedException"), EACCES},
    {HADOOP("fs.PathPermissionException"), EACCES},
    {HADOOP("security.AccessControlException"), EACCES},
    {HADOOP("security.token.SecretManager$InvalidToken"), EACCES},
    {"java.nio.file.AccessDeniedException", EACCES},
    {"javax.security.sasl.SaslException", EACCES},
    {HADOOP("hdfs.protocol.AlreadyBeingCreatedException"), EBUSY},
    {HADOOP("hdfs.protocol.RecoveryInProgressException"), EBUSY},
    {HADOOP("hdfs.protocol.FSLimitException$PathComponentTooLongException"), ENAMETOOLONG},
    {HADOOP("hdfs.protocol.QuotaExceededException"), EDQUOT},
    {HADOOP("hdfs.protocol.UnresolvedPathException"), ENOLINK},
    {HADOOP("hdfs.server.namenode.LeaseExpiredException"), ESTALE},
    {HADOOP("hdfs.server.namenode.SafeModeException"), EROFS},
    {"java.lang.IllegalArgumentException", EINVAL},
    {"java.net.URISyntaxException", EINVAL},
    {"java.lang.UnsupportedOperationException", ENOTSUP},
    {"java.lang.OutOfMemoryError", ENOMEM},
    {"java.lang.LinkageError", ELIBACC},
    {"java.lang.ClassNotFoundException", ELIBACC},
    {"java.net.ConnectException", ECONNREFUSED},
    {"java.net.NoRouteToHostException", EHOSTUNREACH},
    {"java.net.UnknownHostException", EHOSTUNREACH},
    {"java.net.SocketTimeoutException", ETIMEDOUT},
    {"java.nio.channels.ClosedByInterruptException", EINTR},
    {"java.nio.channels.ClosedChannelException", EBADF},
    {"java.io.InterruptedIOException", EINTR},
    {"java.io.EOFException", ENODATA},
    {"java.lang.InterruptedException", EINTR},
    {"java.io.IOException", EIO},
};

/* With these the caller knows all that a message would say. */
static const int plain[] = {ENOENT,  EEXIST, ENOTDIR, EISDIR,       ENOTEMPTY, EACCES,
                            ENOTSUP, EBUSY,  EDQUOT,  ENAMETOOLONG, ENOLINK,   EPROTONOSUPPORT};

int hl_errno_of(const char *class)
{
    for (size_t i = 0; i < HL_COUNT(errors); i++)
        if (strcmp(errors[i].class, class) == 0)
            return errors[i].error;
    return 0;
}

bool hl_is_plain(int error)
{
    for (size_t i = 0; i < HL_COUNT(plain); i++)
        if (plain[i] == error)
            return true;
    return false;
}

void hl_say(const char *format, ...)
{
    char line[LINE] = "libhdfs: ";
    size_t length = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
    va_end(arguments);
    length = strcspn(line, "\n");
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* there is nowhere else to say it */
}

/* What a method without arguments says, for free(); NULL if it fails. Nothing but JNI itself, as this is where failures
 * end. */
static char *error_text(JNIEnv *env, jobject on, enum hl_method id)
{
    struct hl_call call = {.env = env};
    jstring string = (*env)->CallObjectMethod(env, on, hl_method(id));
    if ((*env)->ExceptionCheck(env)) {
        (*env)->ExceptionClear(env);
        return NULL;
    }
    return hl_text(&call, string, 0);
}

static int error_of_text(char *class)
{
    int error = class ? hl_errno_of(class) : 0;
    free(class);
    return error;
}

/* By the nearest superclass that has an errno. What a server threw and the client did not unwrap goes by the server's
 * class. */
static int error_of(JNIEnv *env, jthrowable thrown)
{
    int error = 0;
    if ((*env)->IsInstanceOf(env, thrown, hl_class(HL_CLASS_REMOTE_EXCEPTION)))
        error = error_of_text(error_text(env, thrown, HL_REMOTE_EXCEPTION_CLASS));
    jclass class = (*env)->GetObjectClass(env, thrown);
    while (!error && class) {
        error = error_of_text(error_text(env, class, HL_CLASS_NAME));
        class = (*env)->GetSuperclass(env, class);
    }
    return error ? error : EINTERNAL;
}

static void error_forget(struct hl_thread *thread)
{
    if (thread->last)
        (*thread->env)->DeleteGlobalRef(thread->env, thread->last);
    free(thread->cause);
    free(thread->trace);
    thread->last = NULL;
    thread->cause = thread->trace = NULL;
}

void hl_caught(struct hl_call *call)
{
    JNIEnv *env = call->env;
    jthrowable thrown = (*env)->ExceptionOccurred(env);
    (*env)->ExceptionClear(env);
    error_forget(call->thread);
    call->thread->last = (*env)->NewGlobalRef(env, thrown);
    int error = ENOMEM; /* without room for references to what is asked of it */
    char *text = NULL;
    if (thrown && (*env)->PushLocalFrame(env, 16) == 0) {
        error = error_of(env, thrown);
        if (!hl_is_plain(error))
            text = error_text(env, thrown, HL_THROWABLE_TEXT);
        (*env)->PopLocalFrame(env, NULL);
    }
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, thrown);
    if (!hl_is_plain(error))
        hl_say("%s(%s): %s", call->function, call->path ? call->path : "", text ? text : "out of memory");
    free(text);
    hl_fail(call, error);
}

static jobject error_innermost(struct hl_call *call, jobject thrown)
{
    for (int i = 0; i < CAUSES; i++) {
        jobject cause = hl_object(call, HL_THROWABLE_CAUSE, thrown);
        if (!cause)
            break;
        thrown = cause;
    }
    return thrown;
}

char *hdfsGetLastExceptionRootCause(void)
{
    struct hl_thread *thread = hl_thread_known();
    struct hl_call call = HL_CALL(NULL);
    if (!thread || !thread->last || thread->cause)
        return thread ? thread->cause : NULL;
    char *text = NULL;
    if (hl_enter(&call, true))
        text = hl_text(&call, hl_object(&call, HL_THROWABLE_TEXT, error_innermost(&call, thread->last)), 0);
    hl_leave(&call);
    return thread->cause = text;
}

char *hdfsGetLastExceptionStackTrace(void)
{
    struct hl_thread *thread = hl_thread_known();
    struct hl_call call = HL_CALL(NULL);
    if (!thread || !thread->last || thread->trace)
        return thread ? thread->trace : NULL;
    char *text = NULL;
    if (hl_enter(&call, true))
        text = hl_text(&call, hl_object(&call, HL_STRING_UTILS_TRACE, NULL, thread->last), 0);
    hl_leave(&call);
    return thread->trace = text;
}
