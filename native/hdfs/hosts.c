/* SPDX-License-Identifier: Apache-2.0 */

/* Where blocks are. */

#include <stdlib.h>

#include "internal.h"

/* The hosts of one block; freed by the caller also if the call failed. */
static char **hosts_of(struct hl_call *call, jobject location)
{
    jobjectArray names = hl_object(call, HL_LOCATION_HOSTS, location);
    jsize count = call->error ? 0 : (*call->env)->GetArrayLength(call->env, names);
    char **hosts = calloc((size_t)count + 1, sizeof(*hosts));
    if (!hosts)
        hl_fail(call, ENOMEM);
    for (jsize i = 0; !call->error && i < count; i++)
        hosts[i] = hl_text(call, (*call->env)->GetObjectArrayElement(call->env, names, i), 0);
    return hosts;
}

static char ***hosts_array(struct hl_call *call, jobjectArray locations)
{
    jsize count = call->error ? 0 : (*call->env)->GetArrayLength(call->env, locations);
    char ***blocks = calloc((size_t)count + 1, sizeof(*blocks));
    if (!blocks)
        hl_fail(call, ENOMEM);
    for (jsize i = 0; !call->error && i < count; i++) {
        if (!hl_frame(call))
            break;
        blocks[i] = hosts_of(call, (*call->env)->GetObjectArrayElement(call->env, locations, i));
        hl_unframe(call);
    }
    return blocks;
}

char ***hdfsGetHosts(hdfsFS fs, const char *path, tOffset start, tOffset length)
{
    struct hl_call call = HL_CALL(path);
    char ***blocks = NULL;
    if (hl_enter(&call, fs && path && start >= 0 && length >= 0)) {
        jobject status = hl_object(&call, HL_FS_STATUS, fs->fs, hl_path(&call, path));
        blocks = hosts_array(&call, hl_object(&call, HL_FS_LOCATIONS, fs->fs, status, (jlong)start, (jlong)length));
    }
    if (call.error) {
        hdfsFreeHosts(blocks);
        blocks = NULL;
    }
    hl_leave(&call);
    return blocks;
}

void hdfsFreeHosts(char ***blockHosts)
{
    for (size_t i = 0; blockHosts && blockHosts[i]; i++) {
        for (size_t j = 0; blockHosts[i][j]; j++)
            free(blockHosts[i][j]);
        free(blockHosts[i]);
    }
    free(blockHosts);
}
