/* SPDX-License-Identifier: Apache-2.0 */

/* Where the bytes of a file came from. */

#include <stdlib.h>

#include "internal.h"

static bool statistics_enter(struct hl_call *call, hdfsFile file, bool rest_fits)
{
    if (!hl_readable(file)) {
        hl_fail(call, EBADF);
        return false;
    }
    if (!hl_enter(call, rest_fits))
        return false;
    if (!hl_is(call, file->stream, HL_CLASS_HDFS_IN))
        hl_fail(call, EINVAL);
    return !call->error;
}

int hdfsFileGetReadStatistics(hdfsFile file, struct hdfsReadStatistics **stats)
{
    struct hl_call call = HL_CALL(NULL);
    if (statistics_enter(&call, file, stats != NULL)) {
        jobject from = hl_object(&call, HL_HDFS_IN_STATISTICS, file->stream);
        struct hdfsReadStatistics read = {
            .totalBytesRead = (uint64_t)hl_number(&call, HL_STATISTICS_TOTAL, from),
            .totalLocalBytesRead = (uint64_t)hl_number(&call, HL_STATISTICS_LOCAL, from),
            .totalShortCircuitBytesRead = (uint64_t)hl_number(&call, HL_STATISTICS_SHORT_CIRCUIT, from),
            .totalZeroCopyBytesRead = (uint64_t)hl_number(&call, HL_STATISTICS_ZERO_COPY, from),
        };
        struct hdfsReadStatistics *made = call.error ? NULL : malloc(sizeof(*made));
        if (made)
            *made = read;
        else
            hl_fail(&call, ENOMEM);
        if (!call.error)
            *stats = made;
    }
    return hl_leave(&call);
}

int64_t hdfsReadStatisticsGetRemoteBytesRead(const struct hdfsReadStatistics *stats)
{
    return (int64_t)(stats->totalBytesRead - stats->totalLocalBytesRead);
}

int hdfsFileClearReadStatistics(hdfsFile file)
{
    struct hl_call call = HL_CALL(NULL);
    if (statistics_enter(&call, file, true))
        hl_number(&call, HL_HDFS_IN_CLEAR, file->stream);
    return hl_leave(&call);
}

void hdfsFileFreeReadStatistics(struct hdfsReadStatistics *stats)
{
    free(stats);
}
