/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm.h"

#define FIELDS 16
#define IDS    128

/* Every object: a class has only a name, an array or buffer memory, others fields. */
struct object {
    struct object *next;
    const char *class;
    char *text;   /* of a string, or an exception's message */
    void *memory; /* of an array or buffer */
    jsize length; /* of it, in elements */
    bool lent;    /* the memory is the test's */
    int fields;
    struct {
        const char *name;
        jvalue value;
    } field[FIELDS];
};

static struct object *all, *thrown;
/* A field or method is known by its name; the address of its place here is its id. */
static char *ids[IDS];

static void die(const char *what)
{
    fprintf(stderr, "jvm.c: %s\n", what);
    abort();
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        die("no memory");
    return memory;
}

static struct object *of(const void *object)
{
    return (struct object *)(uintptr_t)object;
}

/* A name that lives as long as the program. */
static char **intern(const char *name)
{
    for (int i = 0; i < IDS; i++) {
        if (!ids[i])
            ids[i] = strdup(name);
        if (ids[i] && strcmp(ids[i], name) == 0)
            return &ids[i];
    }
    die("too many names");
    return NULL;
}

static struct object *new_object(const char *class)
{
    struct object *made = zeroed(1, sizeof(*made));
    made->class = *intern(class);
    made->next = all;
    all = made;
    return made;
}

static struct object *new_array(const char *class, size_t length, size_t size)
{
    struct object *made = new_object(class);
    made->memory = zeroed(length, size);
    made->length = (jsize)length;
    return made;
}

static struct object *new_text(const char *class, const char *text)
{
    struct object *made = new_object(class);
    made->text = strdup(text);
    return made;
}

static jvalue *field_of(struct object *object, const char *name)
{
    for (int i = 0; i < object->fields; i++)
        if (strcmp(object->field[i].name, name) == 0)
            return &object->field[i].value;
    if (object->fields == FIELDS)
        die("too many fields");
    object->field[object->fields].name = *intern(name);
    return &object->field[object->fields++].value;
}

void test_jvm_clear(void)
{
    while (all) {
        struct object *next = all->next;
        free(all->text);
        if (!all->lent)
            free(all->memory);
        free(all);
        all = next;
    }
    thrown = NULL; /* names stay: the library keeps their ids */
}

jbyteArray test_bytes(const void *from, size_t length)
{
    struct object *made = new_array("[B", length, 1);
    if (from && length)
        memcpy(made->memory, from, length);
    return (jbyteArray)made;
}

void *test_memory(jobject array)
{
    return of(array)->memory;
}

jobject test_buffer(void *memory, size_t length)
{
    struct object *made = new_object("java/nio/DirectByteBuffer");
    made->memory = memory;
    made->length = (jsize)length;
    made->lent = true;
    return (jobject)made;
}

jobjectArray test_objects(size_t length)
{
    return (jobjectArray)new_array("[L", length, sizeof(jobject));
}

jobject test_object(const char *class)
{
    return (jobject)new_object(class);
}

const char *test_text(jobject object)
{
    return of(object)->text;
}

jvalue *test_field(jobject object, const char *name)
{
    return field_of(of(object), name);
}

const char *test_thrown(const char **message)
{
    struct object *was = thrown;
    thrown = NULL;
    if (message)
        *message = was && was->text ? was->text : "";
    return was ? was->class : "";
}

/* What follows is in the table. Nothing but the end of memory makes one of these throw. */

static void must_be_quiet(void)
{
    if (thrown)
        die("a call with an exception pending");
}

static jclass find_class(JNIEnv *env, const char *name)
{
    (void)env;
    must_be_quiet();
    struct object *made = new_object("java/lang/Class");
    made->text = strdup(name);
    return (jclass)made;
}

static jclass class_of(JNIEnv *env, jobject object)
{
    return find_class(env, of(object)->class);
}

static jint throw_object(JNIEnv *env, jthrowable exception)
{
    (void)env;
    must_be_quiet();
    thrown = of(exception);
    return 0;
}

static jint throw_new(JNIEnv *env, jclass class, const char *message)
{
    return throw_object(env, (jthrowable)new_text(of(class)->text, message));
}

static jboolean check(JNIEnv *env)
{
    (void)env;
    return thrown != NULL;
}

static void delete_ref(JNIEnv *env, jobject object)
{
    (void)env, (void)object;
}

static jfieldID field_id(JNIEnv *env, jclass class, const char *name, const char *type)
{
    (void)env, (void)class, (void)type;
    must_be_quiet();
    return (jfieldID)intern(name);
}

static jmethodID method_id(JNIEnv *env, jclass class, const char *name, const char *type)
{
    (void)env, (void)class, (void)name;
    must_be_quiet();
    return (jmethodID)intern(type);
}

static jvalue *value_at(jobject object, jfieldID field)
{
    return field_of(of(object), *(char **)(void *)field);
}

static jint get_int(JNIEnv *env, jobject object, jfieldID field)
{
    (void)env;
    return value_at(object, field)->i;
}

static jlong get_long(JNIEnv *env, jobject object, jfieldID field)
{
    (void)env;
    return value_at(object, field)->j;
}

static jboolean get_boolean(JNIEnv *env, jobject object, jfieldID field)
{
    (void)env;
    return value_at(object, field)->z;
}

static jobject get_object(JNIEnv *env, jobject object, jfieldID field)
{
    (void)env;
    return value_at(object, field)->l;
}

static void set_int(JNIEnv *env, jobject object, jfieldID field, jint value)
{
    (void)env;
    value_at(object, field)->i = value;
}

static void set_long(JNIEnv *env, jobject object, jfieldID field, jlong value)
{
    (void)env;
    value_at(object, field)->j = value;
}

static void set_boolean(JNIEnv *env, jobject object, jfieldID field, jboolean value)
{
    (void)env;
    value_at(object, field)->z = value;
}

static jobject static_object(JNIEnv *env, jclass class, jfieldID field)
{
    (void)env, (void)class;
    return (jobject)new_text("constant", *(char **)(void *)field);
}

/* An exception keeps its message, which comes first; numbers are kept as fields arg0, arg1, arg2. */
static jobject construct(JNIEnv *env, jclass class, jmethodID method, ...)
{
    (void)env;
    must_be_quiet();
    struct object *made = new_object(of(class)->text);
    const char *type = *(char **)(void *)method;
    va_list arguments;
    va_start(arguments, method);
    if (strncmp(type, "(Ljava/lang/String;", 19) == 0)
        made->text = strdup(of(va_arg(arguments, jobject))->text);
    else if (strcmp(type, "(III)V") == 0)
        for (int i = 0; i < 3; i++) {
            char name[] = {'a', 'r', 'g', (char)('0' + i), 0};
            field_of(made, name)->i = va_arg(arguments, jint);
        }
    va_end(arguments);
    return (jobject)made;
}

/* String.getBytes() is the only method that returns something. */
static jobject call_object(JNIEnv *env, jobject object, jmethodID method, ...)
{
    (void)env, (void)method;
    must_be_quiet();
    return test_bytes(of(object)->text, strlen(of(object)->text));
}

static void call_void(JNIEnv *env, jclass class, jmethodID method, ...)
{
    (void)env, (void)class, (void)method;
}

static jstring new_string(JNIEnv *env, const char *text)
{
    (void)env;
    must_be_quiet();
    return (jstring)new_text("java/lang/String", text);
}

static jsize array_length(JNIEnv *env, jarray array)
{
    (void)env;
    return of(array)->length;
}

static jintArray new_ints(JNIEnv *env, jsize length)
{
    (void)env;
    return (jintArray)new_array("[I", (size_t)length, sizeof(jint));
}

static jobjectArray new_objects(JNIEnv *env, jsize length, jclass class, jobject initial)
{
    (void)env, (void)class, (void)initial;
    return test_objects((size_t)length);
}

/* A place in an array; what is out of it ends the test, where Java would throw. */
static unsigned char *place(jarray array, jsize offset, jsize length, size_t size)
{
    if (offset < 0 || length < 0 || offset > of(array)->length - length)
        die("out of an array's bounds");
    return (unsigned char *)of(array)->memory + (size_t)offset * size;
}

static jobject get_element(JNIEnv *env, jobjectArray array, jsize index)
{
    (void)env;
    return *(jobject *)(void *)place(array, index, 1, sizeof(jobject));
}

static void set_element(JNIEnv *env, jobjectArray array, jsize index, jobject value)
{
    (void)env;
    *(jobject *)(void *)place(array, index, 1, sizeof(jobject)) = value;
}

static void get_bytes(JNIEnv *env, jbyteArray array, jsize offset, jsize length, jbyte *to)
{
    (void)env;
    memcpy(to, place(array, offset, length, 1), (size_t)length);
}

static void set_bytes(JNIEnv *env, jbyteArray array, jsize offset, jsize length, const jbyte *from)
{
    (void)env;
    memcpy(place(array, offset, length, 1), from, (size_t)length);
}

static void set_ints(JNIEnv *env, jintArray array, jsize offset, jsize length, const jint *from)
{
    (void)env;
    memcpy(place(array, offset, length, sizeof(jint)), from, (size_t)length * sizeof(jint));
}

static void *critical(JNIEnv *env, jarray array, jboolean *copied)
{
    (void)env, (void)copied;
    return of(array)->memory;
}

static void release(JNIEnv *env, jarray array, void *memory, jint mode)
{
    (void)env, (void)array, (void)memory, (void)mode;
}

/* A buffer of Java's heap has no address, and no capacity that JNI would tell. */
static bool is_direct(jobject buffer)
{
    return strcmp(of(buffer)->class, "java/nio/DirectByteBuffer") == 0;
}

static void *address(JNIEnv *env, jobject buffer)
{
    (void)env;
    return is_direct(buffer) ? of(buffer)->memory : NULL;
}

static jlong capacity(JNIEnv *env, jobject buffer)
{
    (void)env;
    return is_direct(buffer) ? of(buffer)->length : -1;
}

JNIEnv *test_jvm(void)
{
    static const struct JNINativeInterface_ table = {
        .FindClass = find_class,
        .GetObjectClass = class_of,
        .Throw = throw_object,
        .ThrowNew = throw_new,
        .ExceptionCheck = check,
        .DeleteLocalRef = delete_ref,
        .GetFieldID = field_id,
        .GetStaticFieldID = field_id,
        .GetMethodID = method_id,
        .GetStaticMethodID = method_id,
        .GetIntField = get_int,
        .GetLongField = get_long,
        .GetBooleanField = get_boolean,
        .GetObjectField = get_object,
        .SetIntField = set_int,
        .SetLongField = set_long,
        .SetBooleanField = set_boolean,
        .SetStaticIntField = set_int,
        .SetStaticBooleanField = set_boolean,
        .GetStaticObjectField = static_object,
        .NewObject = construct,
        .CallObjectMethod = call_object,
        .CallStaticVoidMethod = call_void,
        .NewStringUTF = new_string,
        .GetArrayLength = array_length,
        .NewIntArray = new_ints,
        .NewObjectArray = new_objects,
        .GetObjectArrayElement = get_element,
        .SetObjectArrayElement = set_element,
        .GetByteArrayRegion = get_bytes,
        .SetByteArrayRegion = set_bytes,
        .SetIntArrayRegion = set_ints,
        .GetPrimitiveArrayCritical = critical,
        .ReleasePrimitiveArrayCritical = release,
        .GetDirectBufferAddress = address,
        .GetDirectBufferCapacity = capacity,
    };
    static const struct JNINativeInterface_ *environment = &table;
    return (JNIEnv *)(uintptr_t)&environment;
}
