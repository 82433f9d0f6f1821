/* SPDX-License-Identifier: Apache-2.0 */

/* Writing. */

#include "internal.h"

static bool write_enter(struct hl_call *call, hdfsFile file, bool rest_fits)
{
    if (!hl_writable(file)) {
        hl_fail(call, EBADF);
        return false;
    }
    return hl_enter(call, rest_fits);
}

tSize hdfsWrite(hdfsFS fs, hdfsFile file, const void *buffer, tSize length)
{
    struct hl_call call = HL_CALL(NULL);
    (void)fs;
    if (write_enter(&call, file, length >= 0 && (buffer || !length)))
        for (tSize done = 0; !call.error && done < length;) {
            jint part = length - done < HL_SCRATCH ? length - done : HL_SCRATCH;
            jbyteArray scratch = hl_scratch(&call, part);
            if (!call.error)
                (*call.env)->SetByteArrayRegion(call.env, scratch, 0, part, (const jbyte *)buffer + done);
            hl_number(&call, HL_OUT_WRITE, file->stream, scratch, (jint)0, part);
            done += part;
        }
    return hl_leave(&call) == 0 ? length : -1;
}

static int write_flush(struct hl_call *call, hdfsFile file, enum hl_method how)
{
    if (write_enter(call, file, true))
        hl_number(call, how, file->stream);
    return hl_leave(call);
}

int hdfsFlush(hdfsFS fs, hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    (void)fs;
    return write_flush(&call, file, HL_OUT_FLUSH);
}

int hdfsHFlush(hdfsFS fs, hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    (void)fs;
    return write_flush(&call, file, HL_OUT_HFLUSH);
}

int hdfsHSync(hdfsFS fs, hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    (void)fs;
    return write_flush(&call, file, HL_OUT_HSYNC);
}
