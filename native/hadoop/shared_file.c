/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.io.nativeio.SharedFileDescriptorFactory: files without a name that two processes share. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hadoop.h"

#define TRIES 100

/* What a crash left between the creation of a file and the removal of its name. Links are removed, not followed. */
static int remove_stale(const char *folder, const char *prefix)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return errno;
    int error = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(entries);
        if (!entry) {
            error = errno;
            break;
        }
        struct stat status;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode))
            unlinkat(dirfd(entries), entry->d_name, 0); /* another user's stays */
    }
    closedir(entries);
    return error;
}

HH_METHOD(void, io_nativeio_SharedFileDescriptorFactory_deleteStaleTemporaryFiles0, JNIEnv *env, jclass class,
          jstring prefix, jstring path)
{
    (void)class;
    char *begin = hh_path(env, prefix);
    char *folder = begin ? hh_path(env, path) : NULL;
    int error = folder ? remove_stale(folder, begin) : 0;
    free(begin);
    free(folder);
    if (error)
        hh_throw_errno(env, error);
}

/* A new file whose name is gone again: the descriptor, or -errno. */
static int new_file(const char *folder, const char *prefix)
{
    for (int i = 0; i < TRIES; i++) {
        char path[PATH_MAX];
        uint64_t random;
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
            return -EIO;
        int length = snprintf(path, sizeof(path), "%s/%s_%016llx", folder, prefix, (unsigned long long)random);
        if (length < 0 || (size_t)length >= sizeof(path))
            return -ENAMETOOLONG;
        int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0700);
        if (fd >= 0) {
            if (unlink(path) == 0)
                return fd;
            int error = errno;
            close(fd);
            return -error;
        }
        if (errno != EEXIST && errno != EINTR)
            return -errno;
    }
    return -EEXIST;
}

/* Memory of it is mapped, so its blocks are allocated now: a file system that is full says so here, not by a signal. */
HH_METHOD(jobject, io_nativeio_SharedFileDescriptorFactory_createDescriptor0, JNIEnv *env, jclass class, jstring prefix,
          jstring path, jint length)
{
    (void)class;
    char *begin = hh_path(env, prefix);
    char *folder = begin ? hh_path(env, path) : NULL;
    int fd = folder ? new_file(folder, begin) : -1;
    bool asked = folder != NULL;
    free(begin);
    free(folder);
    if (!asked)
        return NULL;
    int error = fd < 0 ? -fd : 0;
    if (!error && length != 0) {
        do
            error = posix_fallocate(fd, 0, length);
        while (error == EINTR);
        if (error)
            close(fd);
    }
    if (error) {
        hh_throw_errno(env, error);
        return NULL;
    }
    return hh_new_fd(env, fd);
}
