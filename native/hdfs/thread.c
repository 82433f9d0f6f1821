/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that call the library: attached to the JVM at their first call, detached when they end. */

#include <pthread.h>
#include <stdlib.h>

#include "internal.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;

/* At a thread's end. A thread that others attached is detached by them, which may have happened already. */
static void thread_end(void *state)
{
    struct hl_thread *thread = state;
    JavaVM *vm = thread->vm;
    void *env = NULL;
    if ((*vm)->GetEnv(vm, &env, JNI_VERSION_1_6) == JNI_EDETACHED && (thread->last || thread->scratch))
        thread->attached = (*vm)->AttachCurrentThreadAsDaemon(vm, &env, NULL) == JNI_OK;
    if (env) {
        JNIEnv *jni = env;
        if (thread->last)
            (*jni)->DeleteGlobalRef(jni, thread->last);
        if (thread->scratch)
            (*jni)->DeleteGlobalRef(jni, thread->scratch);
        if (thread->attached)
            (*vm)->DetachCurrentThread(vm);
    }
    free(thread->cause);
    free(thread->trace);
    free(thread);
}

static void thread_make_key(void)
{
    key_error = pthread_key_create(&key, thread_end);
}

static bool thread_have_key(void)
{
    pthread_once(&once, thread_make_key);
    if (key_error)
        errno = key_error;
    return !key_error;
}

struct hl_thread *hl_thread_known(void)
{
    return thread_have_key() ? pthread_getspecific(key) : NULL;
}

static struct hl_thread *thread_new(JavaVM *vm)
{
    struct hl_thread *thread = calloc(1, sizeof(*thread));
    if (!thread)
        return NULL;
    thread->vm = vm;
    int error = pthread_setspecific(key, thread);
    if (error) {
        free(thread);
        errno = error;
        return NULL;
    }
    return thread;
}

struct hl_thread *hl_thread(JavaVM *vm)
{
    struct hl_thread *thread = hl_thread_known();
    if (!thread && !key_error)
        thread = thread_new(vm);
    if (!thread)
        return NULL;
    void *env = NULL;
    jint status = (*vm)->GetEnv(vm, &env, JNI_VERSION_1_6);
    if (status == JNI_EDETACHED) {
        status = (*vm)->AttachCurrentThreadAsDaemon(vm, &env, NULL);
        thread->attached = status == JNI_OK;
    }
    if (status != JNI_OK) {
        hl_say("the JVM does not take another thread (JNI error %d)", (int)status);
        errno = EAGAIN;
        return NULL;
    }
    thread->env = env;
    return thread;
}

jbyteArray hl_scratch(struct hl_call *call, jsize length)
{
    struct hl_thread *thread = call->thread;
    JNIEnv *env = call->env;
    if (call->error || length <= thread->scratch_length)
        return thread->scratch;
    jsize room = 1 << 16;
    while (room < length && room < HL_SCRATCH)
        room *= 2;
    jbyteArray made = (*env)->NewByteArray(env, room);
    if (!made) {
        hl_caught(call);
        return NULL;
    }
    jbyteArray kept = hl_keep(call, made);
    (*env)->DeleteLocalRef(env, made);
    if (!kept)
        return NULL;
    hl_drop(call, thread->scratch);
    thread->scratch = kept;
    thread->scratch_length = room;
    return kept;
}
