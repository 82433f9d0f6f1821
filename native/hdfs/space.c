/* SPDX-License-Identifier: Apache-2.0 */

/* Sizes of the file system and its blocks. */

#include "internal.h"

static tOffset space_of(struct hl_call *call, hdfsFS fs, enum hl_method which)
{
    jlong size = 0;
    if (hl_enter(call, fs != NULL))
        size = hl_number(call, which, hl_object(call, HL_FS_SPACE, fs->fs));
    return hl_leave(call) == 0 ? size : -1;
}

tOffset hdfsGetCapacity(hdfsFS fs)
{
    struct hl_call call = HL_CALL(NULL);
    return space_of(&call, fs, HL_SPACE_CAPACITY);
}

tOffset hdfsGetUsed(hdfsFS fs)
{
    struct hl_call call = HL_CALL(NULL);
    return space_of(&call, fs, HL_SPACE_USED);
}

tOffset hdfsGetDefaultBlockSize(hdfsFS fs)
{
    struct hl_call call = HL_CALL(NULL);
    jlong size = 0;
    if (hl_enter(&call, fs != NULL))
        size = hl_number(&call, HL_FS_BLOCK_SIZE, fs->fs);
    return hl_leave(&call) == 0 ? size : -1;
}

tOffset hdfsGetDefaultBlockSizeAtPath(hdfsFS fs, const char *path)
{
    struct hl_call call = HL_CALL(path);
    jlong size = 0;
    if (hl_enter(&call, fs && path))
        size = hl_number(&call, HL_FS_BLOCK_SIZE_AT, fs->fs, hl_path(&call, path));
    return hl_leave(&call) == 0 ? size : -1;
}
