/* SPDX-License-Identifier: Apache-2.0 */

/* Files: opened and closed. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct hdfsStreamBuilder {
    hdfsFS fs;
    char *path;
    int flags;
    int32_t buffer_size;
    int16_t replication;
    int64_t block_size;
};

struct hdfsStreamBuilder *hdfsStreamBuilderAlloc(hdfsFS fs, const char *path, int flags)
{
    struct hdfsStreamBuilder *bld = path ? calloc(1, sizeof(*bld)) : NULL;
    if (!path)
        errno = EINVAL;
    if (!bld)
        return NULL;
    bld->fs = fs;
    bld->flags = flags;
    bld->path = strdup(path);
    if (bld->path)
        return bld;
    free(bld);
    return NULL;
}

void hdfsStreamBuilderFree(struct hdfsStreamBuilder *bld)
{
    if (bld)
        free(bld->path);
    free(bld);
}

static bool open_writes(int flags)
{
    return (flags & O_ACCMODE) == O_WRONLY;
}

int hdfsStreamBuilderSetBufferSize(struct hdfsStreamBuilder *bld, int32_t bufferSize)
{
    if (!bld || bufferSize < 0) {
        errno = EINVAL;
        return -1;
    }
    bld->buffer_size = bufferSize;
    return 0;
}

int hdfsStreamBuilderSetReplication(struct hdfsStreamBuilder *bld, int16_t replication)
{
    if (!bld || replication < 0 || !open_writes(bld->flags)) {
        errno = EINVAL;
        return -1;
    }
    bld->replication = replication;
    return 0;
}

int hdfsStreamBuilderSetDefaultBlockSize(struct hdfsStreamBuilder *bld, int64_t defaultBlockSize)
{
    if (!bld || defaultBlockSize < 0 || !open_writes(bld->flags)) {
        errno = EINVAL;
        return -1;
    }
    bld->block_size = defaultBlockSize;
    return 0;
}

static jobject open_create(struct hl_call *call, const struct hdfsStreamBuilder *bld, jobject path, jint buffer)
{
    jobject fs = bld->fs->fs;
    jlong replication = bld->replication, block = bld->block_size;
    if (!replication)
        replication = hl_number(call, HL_FS_REPLICATION_AT, fs, path);
    if (!block)
        block = hl_number(call, HL_FS_BLOCK_SIZE_AT, fs, path);
    return hl_object(call, HL_FS_CREATE, fs, path, !(bld->flags & O_EXCL), buffer, (jint)replication, block);
}

static jobject open_java(struct hl_call *call, const struct hdfsStreamBuilder *bld)
{
    jobject fs = bld->fs->fs, path = hl_path(call, bld->path);
    jint buffer = bld->buffer_size;
    if (!buffer)
        buffer = (jint)hl_number(call, HL_CONFIGURATION_GET_INT, hl_object(call, HL_FS_CONF, fs),
                                 hl_string(call, "io.file.buffer.size"), (jint)4096);
    if (!open_writes(bld->flags))
        return hl_object(call, HL_FS_OPEN, fs, path, buffer);
    if (bld->flags & O_APPEND)
        return hl_object(call, HL_FS_APPEND, fs, path, buffer);
    return open_create(call, bld, path, buffer);
}

/* Whether a stream takes a buffer of the caller's: asked of the one below, as FSDataInputStream itself always seems to.
 */
static bool open_is_direct(struct hl_call *call, jobject stream)
{
    return hl_is(call, hl_object(call, HL_IN_WRAPPED, stream), HL_CLASS_READABLE);
}

static void open_file(struct hl_call *call, const struct hdfsStreamBuilder *bld, hdfsFile file)
{
    jobject stream = open_java(call, bld);
    file->output = open_writes(bld->flags);
    file->stream = hl_keep(call, stream);
    if (file->stream && !file->output)
        atomic_init(&file->direct, open_is_direct(call, stream));
}

static bool open_is_valid(const struct hdfsStreamBuilder *bld)
{
    return bld && bld->fs && bld->buffer_size >= 0 && bld->replication >= 0 && bld->block_size >= 0;
}

static hdfsFile open_with(struct hl_call *call, const struct hdfsStreamBuilder *bld)
{
    if (bld && (bld->flags & O_ACCMODE) == O_RDWR)
        hl_fail(call, ENOTSUP);
    struct hdfsFile_internal *file = call->error ? NULL : calloc(1, sizeof(*file));
    if (!file)
        hl_fail(call, ENOMEM);
    if (file && hl_enter(call, open_is_valid(bld)))
        open_file(call, bld, file);
    if (call->error) {
        if (file && file->stream)
            hl_drop(call, file->stream);
        free(file);
        file = NULL;
    }
    hl_leave(call);
    return file;
}

hdfsFile hdfsStreamBuilderBuild(struct hdfsStreamBuilder *bld)
{
    struct hl_call call = HL_CALL(bld ? bld->path : NULL);
    hdfsFile file = open_with(&call, bld);
    hdfsStreamBuilderFree(bld);
    errno = call.error;
    return file;
}

hdfsFile hdfsOpenFile(hdfsFS fs, const char *path, int flags, int bufferSize, short replication, tSize blocksize)
{
    struct hl_call call = HL_CALL(path);
    char *name = path ? strdup(path) : NULL;
    struct hdfsStreamBuilder bld = {fs, name, flags, bufferSize, replication, blocksize};
    if (!name)
        hl_fail(&call, path ? ENOMEM : EINVAL);
    hdfsFile file = open_with(&call, &bld);
    free(name);
    errno = call.error;
    return file;
}

int hdfsCloseFile(hdfsFS fs, hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    (void)fs;
    if (!file)
        hl_fail(&call, EBADF);
    else if (hl_enter(&call, true))
        hl_number(&call, file->output ? HL_OUT_CLOSE : HL_IN_CLOSE, file->stream);
    if (file)
        hl_drop(&call, file->stream);
    free(file);
    return hl_leave(&call);
}

bool hl_readable(hdfsFile file)
{
    return file && !file->output;
}

bool hl_writable(hdfsFile file)
{
    return file && file->output;
}

int hdfsFileIsOpenForRead(hdfsFile file)
{
    return hl_readable(file);
}

int hdfsFileIsOpenForWrite(hdfsFile file)
{
    return hl_writable(file);
}

int hdfsFileUsesDirectRead(hdfsFile file)
{
    return hl_readable(file) && atomic_load(&file->direct);
}

void hdfsFileDisableDirectRead(hdfsFile file)
{
    if (hl_readable(file))
        atomic_store(&file->direct, false);
}
