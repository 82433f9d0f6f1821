/* SPDX-License-Identifier: Apache-2.0 */

/* The name space: what is done to files and folders by name. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Java says false where it could say why. */
static void names_refused(struct hl_call *call, hdfsFS fs, jobject path, int error)
{
    if (!hl_number(call, HL_FS_EXISTS, fs->fs, path))
        error = ENOENT;
    hl_fail(call, error);
}

int hdfsExists(hdfsFS fs, const char *path)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path) && !hl_number(&call, HL_FS_EXISTS, fs->fs, hl_path(&call, path)))
        hl_fail(&call, ENOENT);
    return hl_leave(&call);
}

static int names_copy(struct hl_call *call, hdfsFS from, const char *source, hdfsFS to, const char *target, bool move)
{
    if (hl_enter(call, from && source && to && target)) {
        jobject conf = hl_object(call, HL_FS_CONF, from->fs);
        if (!hl_number(call, HL_FILE_UTIL_COPY, NULL, from->fs, hl_path(call, source), to->fs, hl_path(call, target),
                       (jint)move, conf))
            hl_fail(call, EIO);
    }
    return hl_leave(call);
}

int hdfsCopy(hdfsFS srcFS, const char *src, hdfsFS dstFS, const char *dst)
{
    struct hl_call call = HL_CALL(src);
    return names_copy(&call, srcFS, src, dstFS, dst, false);
}

int hdfsMove(hdfsFS srcFS, const char *src, hdfsFS dstFS, const char *dst)
{
    struct hl_call call = HL_CALL(src);
    return names_copy(&call, srcFS, src, dstFS, dst, true);
}

int hdfsDelete(hdfsFS fs, const char *path, int recursive)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path)) {
        jobject name = hl_path(&call, path);
        if (!hl_number(&call, HL_FS_DELETE, fs->fs, name, (jint)(recursive != 0)) && !call.error)
            names_refused(&call, fs, name, EIO);
    }
    return hl_leave(&call);
}

int hdfsRename(hdfsFS fs, const char *oldPath, const char *newPath)
{
    struct hl_call call = HL_CALL(oldPath);
    if (hl_enter(&call, fs && oldPath && newPath)) {
        jobject from = hl_path(&call, oldPath), to = hl_path(&call, newPath);
        if (!hl_number(&call, HL_FS_RENAME, fs->fs, from, to) && !call.error)
            names_refused(&call, fs, from, hl_number(&call, HL_FS_EXISTS, fs->fs, to) ? EEXIST : EIO);
    }
    return hl_leave(&call);
}

int hdfsCreateDirectory(hdfsFS fs, const char *path)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path) && !hl_number(&call, HL_FS_MKDIRS, fs->fs, hl_path(&call, path)))
        hl_fail(&call, EIO);
    return hl_leave(&call);
}

int hdfsSetReplication(hdfsFS fs, const char *path, int16_t replication)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path)) {
        jobject name = hl_path(&call, path);
        if (!hl_number(&call, HL_FS_SET_REPLICATION, fs->fs, name, (jint)replication) && !call.error)
            names_refused(&call, fs, name, EINVAL); /* a folder */
    }
    return hl_leave(&call);
}

int hdfsTruncateFile(hdfsFS fs, const char *path, tOffset newlength)
{
    struct hl_call call = HL_CALL(path);
    jlong done = 0;
    if (hl_enter(&call, fs && path && newlength >= 0))
        done = hl_number(&call, HL_FS_TRUNCATE, fs->fs, hl_path(&call, path), (jlong)newlength);
    return hl_leave(&call) == 0 ? done != 0 : -1;
}

int hdfsChown(hdfsFS fs, const char *path, const char *owner, const char *group)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path) && (owner || group))
        hl_number(&call, HL_FS_SET_OWNER, fs->fs, hl_path(&call, path), hl_string(&call, owner),
                  hl_string(&call, group));
    return hl_leave(&call);
}

int hdfsChmod(hdfsFS fs, const char *path, short mode)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path)) {
        jobject permission = hl_object(&call, HL_PERMISSION_NEW, NULL, (jint)mode);
        hl_number(&call, HL_FS_SET_PERMISSION, fs->fs, hl_path(&call, path), permission);
    }
    return hl_leave(&call);
}

static jlong names_milliseconds(tTime seconds)
{
    return seconds == -1 ? -1 : (jlong)seconds * 1000;
}

int hdfsUtime(hdfsFS fs, const char *path, tTime mtime, tTime atime)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path))
        hl_number(&call, HL_FS_SET_TIMES, fs->fs, hl_path(&call, path), names_milliseconds(mtime),
                  names_milliseconds(atime));
    return hl_leave(&call);
}

char *hdfsGetWorkingDirectory(hdfsFS fs, char *buffer, size_t bufferSize)
{
    struct hl_call call = HL_CALL(NULL);
    if (hl_enter(&call, fs && buffer)) {
        jobject path = hl_object(&call, HL_FS_WORKING, fs->fs);
        char *text = hl_text(&call, hl_object(&call, HL_PATH_TEXT, path), 0);
        if (text && strlen(text) >= bufferSize)
            hl_fail(&call, ERANGE);
        else if (text)
            strcpy(buffer, text);
        free(text);
    }
    return hl_leave(&call) == 0 ? buffer : NULL;
}

int hdfsSetWorkingDirectory(hdfsFS fs, const char *path)
{
    struct hl_call call = HL_CALL(path);
    if (hl_enter(&call, fs && path))
        hl_number(&call, HL_FS_SET_WORKING, fs->fs, hl_path(&call, path));
    return hl_leave(&call);
}
