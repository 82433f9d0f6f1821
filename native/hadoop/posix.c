/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.nativeio.NativeIO.POSIX: calls of the system on files and memory. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hadoop.h"

HH_METHOD(jobject, io_nativeio_NativeIO_00024POSIX_open, JNIEnv *env, jclass class, jstring name, jint flags, jint mode)
{
    (void)class;
    char *path = hh_path(env, name);
    if (!path)
        return NULL;
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, (mode_t)mode);
    while (fd < 0 && errno == EINTR);
    int error = errno;
    free(path);
    if (fd < 0) {
        hh_throw_errno(env, error);
        return NULL;
    }
    return hh_new_fd(env, fd);
}

/* Whether the status of a descriptor could be had. */
static bool status_of(JNIEnv *env, jobject descriptor, struct stat *status)
{
    int fd = hh_fd(env, descriptor);
    if (fd < 0)
        return false;
    if (fstat(fd, status) == 0)
        return true;
    hh_throw_errno(env, errno);
    return false;
}

HH_METHOD(jobject, io_nativeio_NativeIO_00024POSIX_fstat, JNIEnv *env, jclass class, jobject descriptor)
{
    (void)class;
    struct stat status;
    if (!status_of(env, descriptor, &status))
        return NULL;
    jclass type = (*env)->FindClass(env, "org/apache/hadoop/io/nativeio/NativeIO$POSIX$Stat");
    jmethodID make = type ? (*env)->GetMethodID(env, type, "<init>", "(III)V") : NULL;
    if (!make)
        return NULL;
    return (*env)->NewObject(env, type, make, (jint)status.st_uid, (jint)status.st_gid, (jint)status.st_mode);
}

HH_METHOD(jlong, io_nativeio_NativeIO_00024POSIX_getUIDforFDOwnerforOwner, JNIEnv *env, jclass class,
          jobject descriptor)
{
    (void)class;
    struct stat status;
    return status_of(env, descriptor, &status) ? (jlong)status.st_uid : -1;
}

HH_METHOD(void, io_nativeio_NativeIO_00024POSIX_chmodImpl, JNIEnv *env, jclass class, jstring name, jint mode)
{
    (void)class;
    char *path = hh_path(env, name);
    if (!path)
        return;
    int error = chmod(path, (mode_t)mode) != 0 ? errno : 0;
    free(path);
    if (error)
        hh_throw_errno(env, error);
}

HH_METHOD(void, io_nativeio_NativeIO_00024POSIX_posix_1fadvise, JNIEnv *env, jclass class, jobject descriptor,
          jlong offset, jlong length, jint advice)
{
    (void)class;
    int fd = hh_fd(env, descriptor);
    if (fd < 0)
        return;
    int error = posix_fadvise(fd, offset, length, advice); /* which leaves errno alone */
    if (error)
        hh_throw_errno(env, error);
}

HH_METHOD(void, io_nativeio_NativeIO_00024POSIX_sync_1file_1range, JNIEnv *env, jclass class, jobject descriptor,
          jlong offset, jlong length, jint flags)
{
    (void)class;
    int fd = hh_fd(env, descriptor);
    if (fd < 0 || sync_file_range(fd, offset, length, (unsigned int)flags) == 0)
        return;
    if (errno == ENOSYS) /* Java asks no more then */
        hh_throw(env, "java/lang/UnsupportedOperationException", "this kernel has no sync_file_range");
    else
        hh_throw_errno(env, errno);
}

HH_METHOD(void, io_nativeio_NativeIO_00024POSIX_mlock_1native, JNIEnv *env, jclass class, jobject buffer, jlong length)
{
    (void)class;
    void *memory = hh_direct(env, buffer, 0, length);
    if (memory && mlock(memory, (size_t)length) != 0)
        hh_throw_errno(env, errno);
}

/* NativeIO.POSIX has constants of its own for the protection, with the values that Linux has too. */
HH_METHOD(jlong, io_nativeio_NativeIO_00024POSIX_mmap, JNIEnv *env, jclass class, jobject descriptor, jint protection,
          jboolean shared, jlong length)
{
    (void)class;
    int fd = hh_fd(env, descriptor);
    if (fd < 0)
        return 0;
    if (length < 0) {
        hh_throw(env, "java/lang/IllegalArgumentException", "%lld bytes cannot be mapped", (long long)length);
        return 0;
    }
    int allowed =
        (protection & 1 ? PROT_READ : 0) | (protection & 2 ? PROT_WRITE : 0) | (protection & 4 ? PROT_EXEC : 0);
    void *memory = mmap(NULL, (size_t)length, allowed, shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (memory != MAP_FAILED)
        return (jlong)(uintptr_t)memory;
    hh_throw_errno(env, errno);
    return 0;
}

HH_METHOD(void, io_nativeio_NativeIO_00024POSIX_munmap, JNIEnv *env, jclass class, jlong address, jlong length)
{
    (void)class;
    if (munmap((void *)(uintptr_t)address, (size_t)length) != 0)
        hh_throw_errno(env, errno);
}
