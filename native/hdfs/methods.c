/* SPDX-License-Identifier: Apache-2.0 */

/* Java's classes and methods: found once, called by number. */

#include <stdarg.h>
#include <string.h>

#include "internal.h"

struct method {
    enum hl_class class;
    const char *name, *type;
    bool is_static;
    char returns; /* the first letter of the type; 'N' for a constructor */
    jmethodID id;
};

static struct {
    const char *name;
    bool optional;
    jclass class;
} classes[] = {
#define CLASS(id, text)    [HL_CLASS_##id] = {.name = text},
#define OPTIONAL(id, text) [HL_CLASS_##id] = {.name = text, .optional = true},
#define METHOD(id, of, called, signature)
#define STATIC(id, of, called, signature)
#include "methods.def"
#undef CLASS
#undef OPTIONAL
#undef METHOD
#undef STATIC
};

static struct method methods[] = {
#define CLASS(id, text)
#define OPTIONAL(id, text)
#define METHOD(id, of, called, signature) [HL_##id] = {.class = HL_CLASS_##of, .name = called, .type = signature},
#define STATIC(id, of, called, signature)                                                                              \
    [HL_##id] = {.class = HL_CLASS_##of, .name = called, .type = signature, .is_static = true},
#include "methods.def"
#undef CLASS
#undef OPTIONAL
#undef METHOD
#undef STATIC
};

static bool methods_find_class(JNIEnv *env, enum hl_class id)
{
    if (classes[id].class)
        return true;
    jclass found = (*env)->FindClass(env, classes[id].name);
    if (!found && classes[id].optional) {
        (*env)->ExceptionClear(env);
        return true;
    }
    if (found)
        classes[id].class = (*env)->NewGlobalRef(env, found);
    (*env)->DeleteLocalRef(env, found);
    return classes[id].class != NULL;
}

static bool methods_find_method(JNIEnv *env, struct method *method)
{
    jclass class = classes[method->class].class;
    if (!class) /* an optional one */
        return true;
    method->id = method->is_static ? (*env)->GetStaticMethodID(env, class, method->name, method->type)
                                   : (*env)->GetMethodID(env, class, method->name, method->type);
    method->returns = method->name[0] == '<' ? 'N' : strchr(method->type, ')')[1];
    return method->id != NULL;
}

const char *hl_methods_find(JNIEnv *env)
{
    for (size_t i = 0; i < HL_COUNT(classes); i++)
        if (!methods_find_class(env, (enum hl_class)i))
            return classes[i].name;
    for (size_t i = 0; i < HL_COUNT(methods); i++)
        if (!methods_find_method(env, &methods[i]))
            return methods[i].name;
    return NULL;
}

jclass hl_class(enum hl_class id)
{
    return classes[id].class;
}

jmethodID hl_method(enum hl_method id)
{
    return methods[id].id;
}

static jvalue methods_call_static(JNIEnv *env, const struct method *method, va_list arguments)
{
    jclass class = classes[method->class].class;
    jvalue result = {0};
    switch (method->returns) {
    case 'V':
        (*env)->CallStaticVoidMethodV(env, class, method->id, arguments);
        break;
    case 'Z':
        result.j = (*env)->CallStaticBooleanMethodV(env, class, method->id, arguments);
        break;
    default:
        result.l = (*env)->CallStaticObjectMethodV(env, class, method->id, arguments);
    }
    return result;
}

/* Numbers of every type are in the result's j. */
static jvalue methods_call(JNIEnv *env, const struct method *method, jobject on, va_list arguments)
{
    jvalue result = {0};
    switch (method->returns) {
    case 'N':
        result.l = (*env)->NewObjectV(env, classes[method->class].class, method->id, arguments);
        break;
    case 'V':
        (*env)->CallVoidMethodV(env, on, method->id, arguments);
        break;
    case 'Z':
        result.j = (*env)->CallBooleanMethodV(env, on, method->id, arguments);
        break;
    case 'S':
        result.j = (*env)->CallShortMethodV(env, on, method->id, arguments);
        break;
    case 'I':
        result.j = (*env)->CallIntMethodV(env, on, method->id, arguments);
        break;
    case 'J':
        result.j = (*env)->CallLongMethodV(env, on, method->id, arguments);
        break;
    default:
        result.l = (*env)->CallObjectMethodV(env, on, method->id, arguments);
    }
    return result;
}

static jvalue methods_invoke(struct hl_call *call, enum hl_method id, jobject on, va_list arguments)
{
    const struct method *method = &methods[id];
    jvalue nothing = {0}, result;
    if (call->error)
        return nothing;
    if (!method->id || (!on && !method->is_static && method->returns != 'N')) {
        hl_fail(call, method->id ? EINTERNAL : ENOTSUP);
        return nothing;
    }
    if (method->is_static)
        result = methods_call_static(call->env, method, arguments);
    else
        result = methods_call(call->env, method, on, arguments);
    if (!(*call->env)->ExceptionCheck(call->env))
        return result;
    hl_caught(call);
    return nothing;
}

jobject hl_object(struct hl_call *call, enum hl_method id, jobject on, ...)
{
    va_list arguments;
    va_start(arguments, on);
    jvalue result = methods_invoke(call, id, on, arguments);
    va_end(arguments);
    return result.l;
}

jlong hl_number(struct hl_call *call, enum hl_method id, jobject on, ...)
{
    va_list arguments;
    va_start(arguments, on);
    jvalue result = methods_invoke(call, id, on, arguments);
    va_end(arguments);
    return result.j;
}

bool hl_is(struct hl_call *call, jobject object, enum hl_class id)
{
    return object && classes[id].class && (*call->env)->IsInstanceOf(call->env, object, classes[id].class);
}
