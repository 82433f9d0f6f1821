/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libhdfs over a JVM that is none: every method answers, and one call after the other fails. Whatever fails, the
 * function says so, and keeps neither memory (valgrind and sanitizers see to that) nor references of Java's.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "internal.h"

#define ENTRIES 2 /* of every array of objects */
#define BYTES   5 /* that one read returns */
#define FRAMES  16
#define METHODS 256

struct object {
    struct object *next;
    char class[96];      /* of an array: [ and what it is of */
    struct object *same; /* what a global reference refers to */
    size_t frame;
};

struct known {
    char name[64], type[160];
};

static struct object *locals;
static size_t frame, references; /* global ones */
static jthrowable thrown;
static struct known methods[METHODS];
static long until; /* calls that still succeed; below 0: all do */
static bool fired;
static jlong number; /* what methods return that return one */

static void die(const char *what)
{
    dprintf(STDERR_FILENO, "test_hdfs_faults.c: %s\n", what);
    abort();
}

static jobject local(const char *class, size_t length)
{
    struct object *made = calloc(1, sizeof(*made));
    if (!made || length >= sizeof(made->class))
        die("no room");
    memcpy(made->class, class, length);
    made->frame = frame;
    made->next = locals;
    locals = made;
    return (jobject)made;
}

static jobject object_of(const char *class)
{
    return local(class, strlen(class));
}

static const char *class_of(jobject object)
{
    struct object *of = (struct object *)(void *)object;
    if (!of)
        die("a NULL object");
    return of->same ? of->same->class : of->class;
}

static void must_be_quiet(void)
{
    if (thrown)
        die("a call with an exception pending");
}

/* Whether this call is the one that fails. */
static bool fault(void)
{
    must_be_quiet();
    if (until < 0 || until-- > 0)
        return false;
    fired = true;
    thrown = object_of("java/lang/OutOfMemoryError");
    return true;
}

static jclass find_class(JNIEnv *env, const char *name)
{
    (void)env;
    return fault() ? NULL : object_of(name);
}

static jclass get_class(JNIEnv *env, jobject object)
{
    (void)env;
    must_be_quiet();
    return object_of(class_of(object));
}

static jclass get_superclass(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return NULL;
}

static jobject new_global(JNIEnv *env, jobject object)
{
    (void)env;
    if (!object)
        return NULL;
    struct object *made = calloc(1, sizeof(*made)), *same = calloc(1, sizeof(*made));
    if (!made || !same)
        die("no room");
    strcpy(same->class, class_of(object));
    made->same = same;
    references++;
    return (jobject)made;
}

static void delete_global(JNIEnv *env, jobject object)
{
    (void)env;
    struct object *of = (struct object *)(void *)object;
    if (!of || !of->same)
        die("no global reference");
    free(of->same);
    free(of);
    references--;
}

static void delete_local(JNIEnv *env, jobject object)
{
    (void)env, (void)object;
}

static jint push_frame(JNIEnv *env, jint room)
{
    (void)env, (void)room;
    if (fault())
        return JNI_ENOMEM;
    if (++frame > FRAMES)
        die("frames are not given back");
    return 0;
}

static jobject pop_frame(JNIEnv *env, jobject result)
{
    (void)env;
    while (locals && locals->frame == frame) {
        struct object *next = locals->next;
        if ((void *)locals == (void *)thrown)
            die("an exception is pending at the end");
        free(locals);
        locals = next;
    }
    frame--;
    return result;
}

static jthrowable occurred(JNIEnv *env)
{
    (void)env;
    return thrown;
}

static void clear(JNIEnv *env)
{
    (void)env;
    thrown = NULL;
}

static jboolean check(JNIEnv *env)
{
    (void)env;
    return thrown != NULL;
}

static jmethodID method_id(JNIEnv *env, jclass class, const char *name, const char *type)
{
    (void)env, (void)class;
    must_be_quiet();
    for (size_t i = 0; i < METHODS; i++) {
        if (strcmp(methods[i].name, name) == 0 && strcmp(methods[i].type, type) == 0)
            return (jmethodID)&methods[i];
        if (!methods[i].name[0]) {
            snprintf(methods[i].name, sizeof(methods[i].name), "%s", name);
            snprintf(methods[i].type, sizeof(methods[i].type), "%s", type);
            return (jmethodID)&methods[i];
        }
    }
    die("too many methods");
    return NULL;
}

static jfieldID field_id(JNIEnv *env, jclass class, const char *name, const char *type)
{
    (void)env, (void)class, (void)type;
    return fault() ? NULL : (jfieldID)(uintptr_t)name;
}

static jobject static_field(JNIEnv *env, jclass class, jfieldID field)
{
    (void)env, (void)field;
    return object_of(class_of(class));
}

/* An object of the type that a method returns; getCause() has none, so that causes end. */
static jobject answer(jmethodID id)
{
    const struct known *method = (const struct known *)(void *)id;
    const char *type = strchr(method->type, ')') + 1;
    if (strcmp(method->name, "getCause") == 0 || fault())
        return NULL;
    if (type[0] == 'L')
        return local(type + 1, strcspn(type + 1, ";"));
    return object_of(type);
}

static jobject call_object(JNIEnv *env, jobject object, jmethodID id, ...)
{
    (void)env;
    class_of(object);
    return answer(id);
}

static jobject call_object_v(JNIEnv *env, jobject object, jmethodID id, va_list arguments)
{
    (void)env, (void)arguments;
    class_of(object);
    return answer(id);
}

static jobject construct_v(JNIEnv *env, jclass class, jmethodID id, va_list arguments)
{
    (void)env, (void)id, (void)arguments;
    return fault() ? NULL : object_of(class_of(class));
}

static jobject construct(JNIEnv *env, jclass class, jmethodID id, ...)
{
    (void)env, (void)id;
    return fault() ? NULL : object_of(class_of(class));
}

static jlong answer_number(jobject object, jmethodID id)
{
    const struct known *method = (const struct known *)(void *)id;
    class_of(object);
    if (fault())
        return 0;
    return strcmp(method->name, "read") == 0 ? BYTES : number;
}

#define NUMBER(type, name)                                                                                             \
    static type name(JNIEnv *env, jobject object, jmethodID id, va_list arguments)                                     \
    {                                                                                                                  \
        (void)env, (void)arguments;                                                                                    \
        return (type)answer_number(object, id);                                                                        \
    }
NUMBER(jboolean, call_boolean)
NUMBER(jshort, call_short)
NUMBER(jint, call_int)
NUMBER(jlong, call_long)

static void call_void(JNIEnv *env, jobject object, jmethodID id, va_list arguments)
{
    (void)env, (void)arguments;
    answer_number(object, id);
}

static jboolean is_instance(JNIEnv *env, jobject object, jclass class)
{
    (void)env, (void)class;
    /* Streams are all that is asked for; an exception is not one of a server's. */
    return strcmp(class_of(object), "java/lang/OutOfMemoryError") != 0;
}

static jboolean is_same(JNIEnv *env, jobject one, jobject other)
{
    (void)env;
    return strcmp(class_of(one), class_of(other)) == 0;
}

static jstring new_string(JNIEnv *env, const jchar *units, jsize length)
{
    (void)env, (void)units, (void)length;
    return fault() ? NULL : object_of("java/lang/String");
}

static jsize string_length(JNIEnv *env, jstring string)
{
    (void)env;
    return (jsize)strlen(class_of(string));
}

/* The text of every string is its class; that of a class's name is what it is in a program. */
static void string_region(JNIEnv *env, jstring string, jsize start, jsize length, jchar *to)
{
    (void)env;
    for (jsize i = 0; i < length; i++)
        to[i] = (jchar)class_of(string)[start + i];
}

static jsize array_length(JNIEnv *env, jarray array)
{
    (void)env;
    class_of(array);
    return ENTRIES;
}

static jobject element(JNIEnv *env, jobjectArray array, jsize index)
{
    (void)env, (void)index;
    const char *of = class_of(array) + 2; /* after [L */
    return local(of, strcspn(of, ";"));
}

static jbyteArray new_bytes(JNIEnv *env, jsize length)
{
    (void)env, (void)length;
    return fault() ? NULL : object_of("[B");
}

static void get_bytes(JNIEnv *env, jbyteArray array, jsize start, jsize length, jbyte *to)
{
    (void)env, (void)start;
    class_of(array);
    must_be_quiet();
    memset(to, 'x', (size_t)length);
}

static void set_bytes(JNIEnv *env, jbyteArray array, jsize start, jsize length, const jbyte *from)
{
    (void)env, (void)start, (void)length, (void)from;
    class_of(array);
    must_be_quiet();
}

static jobject direct(JNIEnv *env, void *memory, jlong length)
{
    (void)env, (void)memory, (void)length;
    return fault() ? NULL : object_of("java/nio/ByteBuffer");
}

static void *address(JNIEnv *env, jobject buffer)
{
    (void)env;
    class_of(buffer);
    return NULL; /* on Java's heap, which takes the longer way */
}

static const struct JNINativeInterface_ calls = {
    .FindClass = find_class,
    .GetObjectClass = get_class,
    .GetSuperclass = get_superclass,
    .NewGlobalRef = new_global,
    .DeleteGlobalRef = delete_global,
    .DeleteLocalRef = delete_local,
    .PushLocalFrame = push_frame,
    .PopLocalFrame = pop_frame,
    .ExceptionOccurred = occurred,
    .ExceptionClear = clear,
    .ExceptionCheck = check,
    .GetMethodID = method_id,
    .GetStaticMethodID = method_id,
    .GetStaticFieldID = field_id,
    .GetStaticObjectField = static_field,
    .CallObjectMethod = call_object,
    .CallObjectMethodV = call_object_v,
    .CallStaticObjectMethodV = call_object_v,
    .CallBooleanMethodV = call_boolean,
    .CallStaticBooleanMethodV = call_boolean,
    .CallShortMethodV = call_short,
    .CallIntMethodV = call_int,
    .CallLongMethodV = call_long,
    .CallVoidMethodV = call_void,
    .CallStaticVoidMethodV = call_void,
    .NewObject = construct,
    .NewObjectV = construct_v,
    .IsInstanceOf = is_instance,
    .IsSameObject = is_same,
    .NewString = new_string,
    .GetStringLength = string_length,
    .GetStringRegion = string_region,
    .GetArrayLength = array_length,
    .GetObjectArrayElement = element,
    .NewByteArray = new_bytes,
    .GetByteArrayRegion = get_bytes,
    .SetByteArrayRegion = set_bytes,
    .NewDirectByteBuffer = direct,
    .GetDirectBufferAddress = address,
};

static const struct JNINativeInterface_ *environment = &calls;
static _Thread_local bool attached;
static atomic_int attachments;

static jint get_env(JavaVM *vm, void **env, jint version)
{
    (void)vm, (void)version;
    *env = attached ? &environment : NULL;
    return attached ? JNI_OK : JNI_EDETACHED;
}

static jint attach(JavaVM *vm, void **env, void *arguments)
{
    (void)vm, (void)arguments;
    attached = true;
    atomic_fetch_add(&attachments, 1);
    *env = &environment;
    return JNI_OK;
}

static jint detach(JavaVM *vm)
{
    (void)vm;
    attached = false;
    atomic_fetch_sub(&attachments, 1);
    return JNI_OK;
}

static const struct JNIInvokeInterface_ invocations = {
    .GetEnv = get_env,
    .AttachCurrentThreadAsDaemon = attach,
    .DetachCurrentThread = detach,
};
static const struct JNIInvokeInterface_ *machine = &invocations;

/* What the library finds in the program, before it looks for a JVM. */
JNIEXPORT jint JNICALL JNI_GetCreatedJavaVMs(JavaVM **vms, jsize room, jsize *count)
{
    (void)room;
    vms[0] = (JavaVM *)(uintptr_t)&machine;
    *count = 1;
    return JNI_OK;
}

JNIEXPORT jint JNICALL JNI_CreateJavaVM(JavaVM **vm, void **env, void *arguments)
{
    (void)vm, (void)env, (void)arguments;
    return JNI_ERR;
}

/* ---- what is called: true if all of it succeeded ---- */

static hdfsFS fs;
static hdfsFile in, out;
static char buffer[64];

static bool connects(void)
{
    struct hdfsBuilder *bld = hdfsNewBuilder();
    hdfsBuilderSetNameNode(bld, "host:1");
    hdfsBuilderSetKerbTicketCachePath(bld, "/ticket");
    hdfsBuilderConfSetStr(bld, "key", "value");
    hdfsFS made = hdfsBuilderConnect(bld);
    return made && hdfsDisconnect(made) == 0;
}

static bool connects_alone(void)
{
    hdfsFS made = hdfsConnectAsUserNewInstance("default", 0, "user");
    return made && hdfsDisconnect(made) == 0;
}

static bool connects_here(void)
{
    hdfsFS made = hdfsConnect(NULL, 0);
    return made && hdfsDisconnect(made) == 0;
}

static bool configures(void)
{
    char *text = NULL;
    int32_t value;
    bool done = hdfsConfGetStr("key", &text) == 0 && hdfsConfGetInt("key", &value) == 0;
    hdfsConfStrFree(text);
    return done;
}

static bool opens(void)
{
    hdfsFile file = hdfsOpenFile(fs, "/x", O_RDONLY, 0, 0, 0);
    return file && hdfsCloseFile(fs, file) == 0;
}

static bool creates(void)
{
    hdfsFile file = hdfsStreamBuilderBuild(hdfsStreamBuilderAlloc(fs, "/x", O_WRONLY));
    return file && hdfsCloseFile(fs, file) == 0;
}

static bool appends(void)
{
    hdfsFile file = hdfsOpenFile(fs, "/x", O_WRONLY | O_APPEND, 4096, 0, 0);
    return file && hdfsCloseFile(fs, file) == 0;
}

static bool reads(void)
{
    return hdfsRead(fs, in, buffer, 10) == BYTES && hdfsPread(fs, in, 3, buffer, 2 * BYTES) == 2 * BYTES;
}

static bool goes(void)
{
    return hdfsSeek(fs, in, 3) == 0 && hdfsTell(fs, in) == number && hdfsTell(fs, out) == number &&
           hdfsAvailable(fs, in) == number && hdfsUnbufferFile(in) == 0;
}

static bool writes(void)
{
    return hdfsWrite(fs, out, buffer, 10) == 10 && hdfsFlush(fs, out) == 0 && hdfsHFlush(fs, out) == 0 &&
           hdfsHSync(fs, out) == 0;
}

static bool counts(void)
{
    struct hdfsReadStatistics *stats = NULL;
    bool done = hdfsFileGetReadStatistics(in, &stats) == 0 && hdfsFileClearReadStatistics(in) == 0;
    hdfsFileFreeReadStatistics(stats);
    return done;
}

static bool reads_without_copy(void)
{
    struct hadoopRzOptions *options = hadoopRzOptionsAlloc();
    bool done = hadoopRzOptionsSetSkipChecksum(options, 1) == 0 &&
                hadoopRzOptionsSetByteBufferPool(options, ELASTIC_BYTE_BUFFER_POOL_CLASS) == 0;
    struct hadoopRzBuffer *part = done ? hadoopReadZero(in, options, 100) : NULL;
    done = part && hadoopRzBufferLength(part) == number && hadoopRzBufferGet(part);
    long kept = until; /* functions that return nothing do not tell */
    until = -1;
    hadoopRzBufferFree(in, part);
    hadoopRzOptionsFree(options);
    until = kept;
    return done;
}

static bool names(void)
{
    return hdfsExists(fs, "/x") == 0 && hdfsCreateDirectory(fs, "/x") == 0 && hdfsDelete(fs, "/x", 1) == 0 &&
           hdfsRename(fs, "/x", "/y") == 0 && hdfsSetReplication(fs, "/x", 1) == 0 &&
           hdfsTruncateFile(fs, "/x", 1) == 1 && hdfsCopy(fs, "/x", fs, "/y") == 0 && hdfsMove(fs, "/x", fs, "/y") == 0;
}

static bool changes(void)
{
    return hdfsChown(fs, "/x", "user", NULL) == 0 && hdfsChmod(fs, "/x", 0600) == 0 &&
           hdfsUtime(fs, "/x", 1, -1) == 0 && hdfsSetWorkingDirectory(fs, "/x") == 0 &&
           hdfsGetWorkingDirectory(fs, buffer, sizeof(buffer)) == buffer;
}

static bool looks(void)
{
    int count = 0;
    hdfsFileInfo *info = hdfsGetPathInfo(fs, "/x"), *list = info ? hdfsListDirectory(fs, "/x", &count) : NULL;
    bool done = info && list && count == ENTRIES && hdfsFileIsEncrypted(&list[1]) && info->mName && info->mOwner;
    hdfsFreeFileInfo(info, 1);
    hdfsFreeFileInfo(list, count);
    return done;
}

static bool finds(void)
{
    char ***hosts = hdfsGetHosts(fs, "/x", 0, 10);
    bool done = hosts && hosts[1] && hosts[1][1] && !hosts[1][2] && !hosts[2];
    hdfsFreeHosts(hosts);
    return done;
}

static bool measures(void)
{
    return hdfsGetCapacity(fs) == number && hdfsGetUsed(fs) == number && hdfsGetDefaultBlockSize(fs) == number &&
           hdfsGetDefaultBlockSizeAtPath(fs, "/x") == number;
}

/* Without what the library says of each failure. */
static bool quietly(bool (*what)(void))
{
    int before = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    if (before < 0 || null < 0 || dup2(null, STDERR_FILENO) < 0)
        die("standard error cannot be turned away");
    bool done = what();
    dup2(before, STDERR_FILENO);
    close(before);
    close(null);
    return done;
}

/* Each with one call of Java's after the other failing, until none is left that could. */
static void all_fail_cleanly(bool (*what)(void))
{
    until = -1;
    assert_true(what());
    size_t before = references;
    for (long i = 0;; i++) {
        assert_true(i < 1000);
        until = i;
        fired = false;
        bool done = quietly(what);
        until = -1;
        assert_int_equal(frame, 0);
        /* The last exception is kept, until a later one. */
        assert_true(references == before || references == before + 1);
        if (!fired) {
            assert_true(done);
            break;
        }
        assert_false(done);
    }
}

static void test_failures(void **state)
{
    (void)state;
    static bool (*const all[])(void) = {
        connects, connects_alone, connects_here,      configures, opens,   creates, appends, reads,   goes,
        writes,   counts,         reads_without_copy, names,      changes, looks,   finds,   measures};
    for (size_t i = 0; i < HL_COUNT(all); i++)
        all_fail_cleanly(all[i]);
    assert_string_equal(hdfsGetLastExceptionRootCause(), "java/lang/String");
    assert_string_equal(hdfsGetLastExceptionStackTrace(), "java/lang/String");
    assert_ptr_equal(hdfsGetLastExceptionRootCause(), hdfsGetLastExceptionRootCause());
}

/* Where Java answers false. */
static void test_refusals(void **state)
{
    (void)state;
    number = 0;
    assert_int_equal(hdfsExists(fs, "/x"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hdfsDelete(fs, "/x", 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hdfsRename(fs, "/x", "/y"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hdfsCreateDirectory(fs, "/x"), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(hdfsTruncateFile(fs, "/x", 1), 0);
    number = 1;
    assert_null(hdfsConnect("host:1", 2));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hdfsCreateDirectory(fs, "/\xff"), -1);
    assert_int_equal(errno, EILSEQ);
    assert_null(hdfsGetWorkingDirectory(fs, buffer, 3));
    assert_int_equal(errno, ERANGE);
}

static void *in_a_thread(void *argument)
{
    (void)argument;
    until = 1;
    hdfsExists(fs, "/x");
    until = -1;
    hdfsPread(fs, in, 0, buffer, BYTES);
    return attached ? fs : NULL;
}

static void test_threads(void **state)
{
    (void)state;
    size_t before = references;
    int were = atomic_load(&attachments);
    pthread_t thread;
    void *was_attached;
    assert_int_equal(pthread_create(&thread, NULL, in_a_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &was_attached), 0);
    assert_non_null(was_attached);
    assert_int_equal(atomic_load(&attachments), were);
    assert_int_equal(references, before);
}

static int set_up(void **state)
{
    (void)state;
    number = 1;
    until = -1;
    fs = hdfsConnectNewInstance("host", 1);
    in = hdfsOpenFile(fs, "/x", O_RDONLY, 0, 0, 0);
    out = hdfsOpenFile(fs, "/x", O_WRONLY, 0, 0, 0);
    return fs && in && out ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return hdfsCloseFile(fs, in) || hdfsCloseFile(fs, out) || hdfsDisconnect(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
