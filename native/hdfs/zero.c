/* SPDX-License-Identifier: Apache-2.0 */

/* Reads without a copy: memory of a mapped block, which the caller gives back. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct hadoopRzOptions {
    bool skip_checksum;
    jobject pool; /* a ByteBufferPool; NULL: none */
};

struct hadoopRzBuffer {
    jobject buffer; /* NULL at the end of the file */
    void *memory;
    bool copied; /* memory is ours */
    int32_t length;
};

struct hadoopRzOptions *hadoopRzOptionsAlloc(void)
{
    return calloc(1, sizeof(struct hadoopRzOptions));
}

int hadoopRzOptionsSetSkipChecksum(struct hadoopRzOptions *opts, int skip)
{
    if (!opts) {
        errno = EINVAL;
        return -1;
    }
    opts->skip_checksum = skip != 0;
    return 0;
}

/* An object of the class, which may be named with points or slashes. */
static jobject zero_pool(struct hl_call *call, const char *name)
{
    JNIEnv *env = call->env;
    char *path = strdup(name);
    if (!path) {
        hl_fail(call, ENOMEM);
        return NULL;
    }
    for (char *at = path; (at = strchr(at, '.'));)
        *at = '/';
    jclass class = (*env)->FindClass(env, path);
    jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "()V") : NULL;
    jobject pool = make ? (*env)->NewObject(env, class, make) : NULL;
    if (!pool)
        hl_caught(call);
    else if (!hl_is(call, pool, HL_CLASS_BUFFER_POOL))
        hl_fail(call, EINVAL);
    free(path);
    return hl_keep(call, pool);
}

int hadoopRzOptionsSetByteBufferPool(struct hadoopRzOptions *opts, const char *className)
{
    struct hl_call call = HL_CALL(className);
    if (opts && !className && !opts->pool)
        return 0;
    if (hl_enter(&call, opts != NULL)) {
        jobject pool = className ? zero_pool(&call, className) : NULL;
        if (!call.error) {
            hl_drop(&call, opts->pool);
            opts->pool = pool;
        }
    }
    return hl_leave(&call);
}

void hadoopRzOptionsFree(struct hadoopRzOptions *opts)
{
    struct hl_call call = HL_CALL(NULL);
    if (opts && opts->pool) {
        hl_enter(&call, true);
        hl_drop(&call, opts->pool);
        hl_leave(&call);
    }
    free(opts);
}

static jobject zero_set(struct hl_call *call, bool skip_checksum)
{
    JNIEnv *env = call->env;
    jclass option = hl_class(HL_CLASS_READ_OPTION);
    if (!skip_checksum)
        return hl_object(call, HL_ENUM_SET_EMPTY, NULL, option);
    jfieldID field = (*env)->GetStaticFieldID(env, option, "SKIP_CHECKSUMS", "Lorg/apache/hadoop/fs/ReadOption;");
    jobject skip = field ? (*env)->GetStaticObjectField(env, option, field) : NULL;
    if (!skip)
        hl_caught(call);
    return hl_object(call, HL_ENUM_SET_OF, NULL, skip);
}

/* Where the pool gave a buffer of Java's heap, its bytes are copied once more. */
static void zero_copy(struct hl_call *call, jobject java, jint position, struct hadoopRzBuffer *buffer)
{
    jbyteArray array = hl_object(call, HL_BUFFER_ARRAY, java);
    jlong offset = hl_number(call, HL_BUFFER_ARRAY_OFFSET, java);
    if (call->error)
        return;
    buffer->memory = malloc(buffer->length ? (size_t)buffer->length : 1);
    buffer->copied = true;
    if (buffer->memory)
        (*call->env)->GetByteArrayRegion(call->env, array, (jsize)offset + position, buffer->length, buffer->memory);
    else
        hl_fail(call, ENOMEM);
}

static void zero_fill(struct hl_call *call, jobject java, struct hadoopRzBuffer *buffer)
{
    if (call->error || !java)
        return;
    jint position = (jint)hl_number(call, HL_BUFFER_POSITION, java);
    buffer->length = (int32_t)hl_number(call, HL_BUFFER_REMAINING, java);
    char *direct = (*call->env)->GetDirectBufferAddress(call->env, java);
    if (direct)
        buffer->memory = direct + position;
    else
        zero_copy(call, java, position, buffer);
    buffer->buffer = hl_keep(call, java);
}

static void zero_release(struct hl_call *call, hdfsFile file, jobject java)
{
    struct hl_call release = {.function = call->function, .env = call->env, .thread = call->thread};
    if (java)
        hl_number(&release, HL_IN_RELEASE, file->stream, java);
    hl_fail(call, release.error);
}

struct hadoopRzBuffer *hadoopReadZero(hdfsFile file, struct hadoopRzOptions *opts, int32_t maxLength)
{
    struct hl_call call = HL_CALL(NULL);
    struct hadoopRzBuffer *buffer = calloc(1, sizeof(*buffer));
    if (!buffer)
        hl_fail(&call, ENOMEM);
    else if (!hl_readable(file))
        hl_fail(&call, EBADF);
    else if (hl_enter(&call, opts && maxLength >= 0)) {
        jobject set = zero_set(&call, opts->skip_checksum);
        jobject java = hl_object(&call, HL_IN_READ_ZERO, file->stream, opts->pool, (jint)maxLength, set);
        if (call.error == ENOTSUP)
            call.error = EPROTONOSUPPORT;
        zero_fill(&call, java, buffer);
        if (call.error)
            zero_release(&call, file, java);
    }
    if (call.error && buffer) {
        if (buffer->copied)
            free(buffer->memory);
        free(buffer);
        buffer = NULL;
    }
    hl_leave(&call);
    return buffer;
}

int32_t hadoopRzBufferLength(const struct hadoopRzBuffer *buffer)
{
    return buffer->length;
}

const void *hadoopRzBufferGet(const struct hadoopRzBuffer *buffer)
{
    return buffer->memory;
}

void hadoopRzBufferFree(hdfsFile file, struct hadoopRzBuffer *buffer)
{
    struct hl_call call = HL_CALL(NULL);
    if (!buffer)
        return;
    if (buffer->buffer && hl_enter(&call, hl_readable(file)))
        zero_release(&call, file, buffer->buffer);
    hl_drop(&call, buffer->buffer);
    hl_leave(&call);
    if (buffer->copied)
        free(buffer->memory);
    free(buffer);
}
