/* SPDX-License-Identifier: Apache-2.0 */

/* A call of a public function, from its arguments' check to errno. */

#include "internal.h"

#define REFERENCES 32 /* that a frame has room for; more are taken as needed */

bool hl_enter(struct hl_call *call, bool valid)
{
    if (!valid) {
        hl_fail(call, EINVAL);
        return false;
    }
    JavaVM *vm = hl_jvm();
    call->thread = vm ? hl_thread(vm) : NULL;
    if (!call->thread) {
        hl_fail(call, errno);
        return false;
    }
    call->env = call->thread->env;
    call->entered = hl_frame(call);
    return call->entered;
}

int hl_leave(struct hl_call *call)
{
    if (call->entered)
        hl_unframe(call);
    if (!call->error)
        return 0;
    errno = call->error;
    return -1;
}

void hl_fail(struct hl_call *call, int error)
{
    if (!call->error)
        call->error = error;
}

bool hl_frame(struct hl_call *call)
{
    if ((*call->env)->PushLocalFrame(call->env, REFERENCES) == 0)
        return true;
    hl_caught(call);
    return false;
}

void hl_unframe(struct hl_call *call)
{
    (*call->env)->PopLocalFrame(call->env, NULL);
}

jobject hl_keep(struct hl_call *call, jobject object)
{
    if (call->error)
        return NULL;
    jobject kept = (*call->env)->NewGlobalRef(call->env, object);
    if (!kept)
        hl_fail(call, ENOMEM);
    return kept;
}

void hl_drop(struct hl_call *call, jobject object)
{
    if (object && call->env)
        (*call->env)->DeleteGlobalRef(call->env, object);
}

jobject hl_path(struct hl_call *call, const char *path)
{
    return hl_object(call, HL_PATH_NEW, NULL, hl_string(call, path));
}
