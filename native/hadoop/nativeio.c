/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.nativeio.NativeIO: constants, limits, renames and links. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hadoop.h"

struct constant {
    const char *name;
    jint value;
};

static const struct constant posix[] = {
#define CONSTANT(name)                                                                                                 \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    CONSTANT(O_RDONLY),
    CONSTANT(O_WRONLY),
    CONSTANT(O_RDWR),
    CONSTANT(O_CREAT),
    CONSTANT(O_EXCL),
    CONSTANT(O_NOCTTY),
    CONSTANT(O_TRUNC),
    CONSTANT(O_APPEND),
    CONSTANT(O_NONBLOCK),
    CONSTANT(O_SYNC),
    CONSTANT(POSIX_FADV_NORMAL),
    CONSTANT(POSIX_FADV_RANDOM),
    CONSTANT(POSIX_FADV_SEQUENTIAL),
    CONSTANT(POSIX_FADV_WILLNEED),
    CONSTANT(POSIX_FADV_DONTNEED),
    CONSTANT(POSIX_FADV_NOREUSE),
    CONSTANT(SYNC_FILE_RANGE_WAIT_BEFORE),
    CONSTANT(SYNC_FILE_RANGE_WRITE),
    CONSTANT(SYNC_FILE_RANGE_WAIT_AFTER),
};

static const struct constant status[] = {
    CONSTANT(S_IFMT),  CONSTANT(S_IFIFO), CONSTANT(S_IFCHR),  CONSTANT(S_IFDIR), CONSTANT(S_IFBLK),
    CONSTANT(S_IFREG), CONSTANT(S_IFLNK), CONSTANT(S_IFSOCK), CONSTANT(S_ISUID), CONSTANT(S_ISGID),
    CONSTANT(S_ISVTX), CONSTANT(S_IRUSR), CONSTANT(S_IWUSR),  CONSTANT(S_IXUSR),
};

static bool set_constants(JNIEnv *env, const char *name, const struct constant *constants, size_t count)
{
    jclass class = (*env)->FindClass(env, name);
    for (size_t i = 0; class && i < count; i++) {
        jfieldID field = (*env)->GetStaticFieldID(env, class, constants[i].name, "I");
        if (!field)
            return false;
        (*env)->SetStaticIntField(env, class, field, constants[i].value);
    }
    return class != NULL;
}

HH_METHOD(void, io_nativeio_NativeIO_initNative, JNIEnv *env, jclass class)
{
    (void)class;
    if (!set_constants(env, "org/apache/hadoop/io/nativeio/NativeIO$POSIX", posix, HH_COUNT(posix)) ||
        !set_constants(env, "org/apache/hadoop/io/nativeio/NativeIO$POSIX$Stat", status, HH_COUNT(status)))
        return;
    jclass type = (*env)->FindClass(env, "org/apache/hadoop/io/nativeio/NativeIO$POSIX");
    jfieldID possible = type ? (*env)->GetStaticFieldID(env, type, "fadvisePossible", "Z") : NULL;
    if (possible)
        (*env)->SetStaticBooleanField(env, type, possible, JNI_TRUE);
}

HH_METHOD(jlong, io_nativeio_NativeIO_getMemlockLimit0, JNIEnv *env, jclass class)
{
    (void)class;
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
        hh_throw_errno(env, errno);
        return 0;
    }
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX ? INT64_MAX : (jlong)limit.rlim_cur;
}

static void with_both(JNIEnv *env, jstring from, jstring to, int (*action)(const char *, const char *))
{
    char *source = hh_path(env, from);
    char *target = source ? hh_path(env, to) : NULL;
    int error = target && action(source, target) != 0 ? errno : 0;
    free(source);
    free(target);
    if (error)
        hh_throw_errno(env, error);
}

HH_METHOD(void, io_nativeio_NativeIO_renameTo0, JNIEnv *env, jclass class, jstring from, jstring to)
{
    (void)class;
    with_both(env, from, to, rename);
}

HH_METHOD(void, io_nativeio_NativeIO_link0, JNIEnv *env, jclass class, jstring from, jstring to)
{
    (void)class;
    with_both(env, from, to, link);
}

/* Java calls it on Windows only, and copies by FileChannel elsewhere. */
HH_METHOD(void, io_nativeio_NativeIO_copyFileUnbuffered0, JNIEnv *env, jclass class, jstring from, jstring to)
{
    (void)class, (void)from, (void)to;
    hh_throw(env, "java/lang/UnsupportedOperationException", "copyFileUnbuffered0 is for Windows");
}
