/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.net.unix.DomainSocket.validateSocketPathSecurity0(): whether nobody can put another socket there.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hadoop.h"

/* One folder on the way. False with an exception pending. */
static bool is_safe(JNIEnv *env, const char *folder)
{
    struct stat status;
    char words[128];
    if (stat(folder, &status) != 0) {
        hh_throw(env, "java/io/IOException", "cannot look at '%s', which is part of a socket's path: %s", folder,
                 strerror_r(errno, words, sizeof(words)));
        return false;
    }
    unsigned int mode = status.st_mode & 07777;
    if (status.st_mode & S_IWOTH)
        hh_throw(env, "java/io/IOException",
                 "a socket below '%s' is not safe: everybody may write there (permissions 0%03o). Run chmod o-w '%s', "
                 "or put "
                 "the socket elsewhere (dfs.domain.socket.path).",
                 folder, mode, folder);
    else if ((status.st_mode & S_IWGRP) && status.st_gid != 0)
        hh_throw(
            env, "java/io/IOException",
            "a socket below '%s' is not safe: the group %u may write there (permissions 0%03o). Run chmod g-w '%s', or "
            "put the socket elsewhere (dfs.domain.socket.path).",
            folder, status.st_gid, mode, folder);
    else if (status.st_uid != 0 && status.st_uid != geteuid())
        hh_throw(env, "java/io/IOException",
                 "a socket below '%s' is not safe: the folder is that of the user %u, and this process is of the user "
                 "%u. Run "
                 "chown root '%s', or put the socket elsewhere (dfs.domain.socket.path).",
                 folder, status.st_uid, geteuid(), folder);
    else
        return true;
    return false;
}

/* Each folder from the root to the one that holds the socket, but for the first skip of them. */
static void check(JNIEnv *env, char *path, jint skip)
{
    size_t length = strlen(path);
    if (length == 0 || path[0] != '/' || path[length - 1] == '/') {
        hh_throw(env, "java/io/IOException", "the path of a socket must begin with a slash and not end in one: '%s'",
                 path);
        return;
    }
    if (skip-- <= 0 && !is_safe(env, "/"))
        return;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (slash[-1] == '/')
            continue;
        *slash = 0;
        bool safe = skip-- > 0 || is_safe(env, path);
        *slash = '/';
        if (!safe)
            return;
    }
}

HH_METHOD(void, net_unix_DomainSocket_validateSocketPathSecurity0, JNIEnv *env, jclass class, jstring path, jint skip)
{
    (void)class;
    char *copy = hh_path(env, path);
    if (copy)
        check(env, copy, skip);
    free(copy);
}
