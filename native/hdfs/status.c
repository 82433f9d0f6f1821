/* SPDX-License-Identifier: Apache-2.0 */

/* What is known of files and folders. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Whether a file is encrypted has no place in the public structure: it is one byte behind the name. */
enum { STATUS_EXTRA = 1 };

static char *status_flag(const hdfsFileInfo *info)
{
    return info->mName + strlen(info->mName) + 1;
}

static void status_fill(struct hl_call *call, jobject status, hdfsFileInfo *info)
{
    bool directory = hl_number(call, HL_STATUS_IS_DIRECTORY, status);
    info->mKind = directory ? kObjectKindDirectory : kObjectKindFile;
    if (!directory) {
        info->mSize = hl_number(call, HL_STATUS_LENGTH, status);
        info->mReplication = (short)hl_number(call, HL_STATUS_REPLICATION, status);
        info->mBlockSize = hl_number(call, HL_STATUS_BLOCK_SIZE, status);
    }
    info->mLastMod = hl_number(call, HL_STATUS_MODIFIED, status) / 1000;
    info->mLastAccess = hl_number(call, HL_STATUS_ACCESSED, status) / 1000;
    jobject permission = hl_object(call, HL_STATUS_PERMISSION, status);
    info->mPermissions = (short)hl_number(call, HL_PERMISSION_BITS, permission);
    info->mOwner = hl_text(call, hl_object(call, HL_STATUS_OWNER, status), 0);
    info->mGroup = hl_text(call, hl_object(call, HL_STATUS_GROUP, status), 0);
    jobject path = hl_object(call, HL_STATUS_PATH, status);
    info->mName = hl_text(call, hl_object(call, HL_PATH_TEXT, path), STATUS_EXTRA);
    bool encrypted = hl_number(call, HL_STATUS_IS_ENCRYPTED, status);
    if (info->mName)
        *status_flag(info) = encrypted;
}

static hdfsFileInfo *status_array(struct hl_call *call, jobjectArray list, int *count)
{
    jsize length = call->error ? 0 : (*call->env)->GetArrayLength(call->env, list);
    hdfsFileInfo *entries = length > 0 ? calloc((size_t)length, sizeof(*entries)) : NULL;
    if (length > 0 && !entries)
        hl_fail(call, ENOMEM);
    for (jsize i = 0; !call->error && i < length; i++) {
        if (!hl_frame(call))
            break;
        status_fill(call, (*call->env)->GetObjectArrayElement(call->env, list, i), &entries[i]);
        hl_unframe(call);
    }
    if (call->error) {
        hdfsFreeFileInfo(entries, entries ? length : 0);
        return NULL;
    }
    *count = length;
    return entries;
}

hdfsFileInfo *hdfsListDirectory(hdfsFS fs, const char *path, int *numEntries)
{
    struct hl_call call = HL_CALL(path);
    hdfsFileInfo *entries = NULL;
    if (hl_enter(&call, fs && path && numEntries))
        entries = status_array(&call, hl_object(&call, HL_FS_LIST, fs->fs, hl_path(&call, path)), numEntries);
    hl_leave(&call);
    errno = call.error; /* 0 tells an empty folder from an error */
    return entries;
}

hdfsFileInfo *hdfsGetPathInfo(hdfsFS fs, const char *path)
{
    struct hl_call call = HL_CALL(path);
    hdfsFileInfo *info = NULL;
    if (hl_enter(&call, fs && path)) {
        jobject status = hl_object(&call, HL_FS_STATUS, fs->fs, hl_path(&call, path));
        if (!call.error && !(info = calloc(1, sizeof(*info))))
            hl_fail(&call, ENOMEM);
        if (info)
            status_fill(&call, status, info);
        if (call.error) {
            hdfsFreeFileInfo(info, info != NULL);
            info = NULL;
        }
    }
    hl_leave(&call);
    return info;
}

void hdfsFreeFileInfo(hdfsFileInfo *info, int numEntries)
{
    for (int i = 0; info && i < numEntries; i++) {
        free(info[i].mName);
        free(info[i].mOwner);
        free(info[i].mGroup);
    }
    free(info);
}

int hdfsFileIsEncrypted(hdfsFileInfo *info)
{
    return info && info->mName && *status_flag(info);
}
