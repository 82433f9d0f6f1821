/* SPDX-License-Identifier: Apache-2.0 */

/* Reading, and places in files. */

#include "internal.h"

/* A stream may change its mind about buffers of the caller's: encryption finds out at its first read. */
static jlong read_direct(struct hl_call *call, hdfsFile file, void *buffer, tSize length)
{
    jobject memory = (*call->env)->NewDirectByteBuffer(call->env, buffer, length);
    if (!memory) {
        hl_caught(call);
        return 0;
    }
    jlong count = hl_number(call, HL_IN_READ_DIRECT, file->stream, memory);
    if (call->error == ENOTSUP) {
        call->error = 0;
        atomic_store(&file->direct, false);
    }
    return count;
}

/* By way of an array of Java's, which may be shorter. */
static jlong read_copied(struct hl_call *call, hdfsFile file, void *buffer, tSize length)
{
    jint part = length < HL_SCRATCH ? length : HL_SCRATCH;
    jbyteArray scratch = hl_scratch(call, part);
    jlong count = hl_number(call, HL_IN_READ, file->stream, scratch, (jint)0, part);
    if (count > 0)
        (*call->env)->GetByteArrayRegion(call->env, scratch, 0, (jsize)count, buffer);
    return count;
}

/* EBADF for the file before EINVAL for the rest. */
static bool read_enter(struct hl_call *call, bool file_fits, bool rest_fits)
{
    if (!file_fits) {
        hl_fail(call, EBADF);
        return false;
    }
    return hl_enter(call, rest_fits);
}

tSize hdfsRead(hdfsFS fs, hdfsFile file, void *buffer, tSize length)
{
    struct hl_call call = HL_CALL(NULL);
    jlong count = 0;
    (void)fs;
    if (read_enter(&call, hl_readable(file), length >= 0 && (buffer || !length)) && length > 0) {
        if (atomic_load(&file->direct))
            count = read_direct(&call, file, buffer, length);
        if (!call.error && count == 0) /* not even the end of the file */
            count = read_copied(&call, file, buffer, length);
    }
    if (hl_leave(&call) != 0)
        return -1;
    return count < 0 ? 0 : (tSize)count;
}

tSize hdfsPread(hdfsFS fs, hdfsFile file, tOffset position, void *buffer, tSize length)
{
    struct hl_call call = HL_CALL(NULL);
    tSize done = 0;
    (void)fs;
    if (read_enter(&call, hl_readable(file), length >= 0 && position >= 0 && (buffer || !length)))
        while (done < length) {
            jint part = length - done < HL_SCRATCH ? length - done : HL_SCRATCH;
            jbyteArray scratch = hl_scratch(&call, part);
            jlong count = hl_number(&call, HL_IN_PREAD, file->stream, (jlong)position + done, scratch, (jint)0, part);
            if (count <= 0)
                break;
            (*call.env)->GetByteArrayRegion(call.env, scratch, 0, (jsize)count, (jbyte *)buffer + done);
            done += (tSize)count;
        }
    return hl_leave(&call) == 0 ? done : -1;
}

int hdfsSeek(hdfsFS fs, hdfsFile file, tOffset desiredPos)
{
    struct hl_call call = HL_CALL(NULL);
    (void)fs;
    if (read_enter(&call, hl_readable(file), desiredPos >= 0))
        hl_number(&call, HL_IN_SEEK, file->stream, (jlong)desiredPos);
    if (call.error == ENODATA) /* beyond the end */
        call.error = EINVAL;
    return hl_leave(&call);
}

tOffset hdfsTell(hdfsFS fs, hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    jlong position = 0;
    (void)fs;
    if (read_enter(&call, file != NULL, true))
        position = hl_number(&call, file->output ? HL_OUT_POSITION : HL_IN_POSITION, file->stream);
    return hl_leave(&call) == 0 ? position : -1;
}

int hdfsAvailable(hdfsFS fs, hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    jlong count = 0;
    (void)fs;
    if (read_enter(&call, hl_readable(file), true))
        count = hl_number(&call, HL_IN_AVAILABLE, file->stream);
    return hl_leave(&call) == 0 ? (int)count : -1;
}

int hdfsUnbufferFile(hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    if (read_enter(&call, hl_readable(file), true))
        hl_number(&call, HL_IN_UNBUFFER, file->stream);
    return hl_leave(&call);
}
