/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBHDFS_INTERNAL_H
#define LIBHDFS_INTERNAL_H

/*
 * What the files of libhdfs.so share.
 *
 * A public function makes a struct hl_call, enters it, calls Java, and leaves it. The first failure is kept in the call
 * and makes everything that follows in it do nothing, so that a function checks once, at its end.
 */
#include <jni.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "hdfs.h"

#define HL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* methods.c */
enum hl_class {
#define CLASS(id, name)    HL_CLASS_##id,
#define OPTIONAL(id, name) HL_CLASS_##id,
#define METHOD(id, class, name, type)
#define STATIC(id, class, name, type)
#include "methods.def"
#undef CLASS
#undef OPTIONAL
#undef METHOD
#undef STATIC
    HL_CLASSES
};

enum hl_method {
#define CLASS(id, name)
#define OPTIONAL(id, name)
#define METHOD(id, class, name, type) HL_##id,
#define STATIC(id, class, name, type) HL_##id,
#include "methods.def"
#undef CLASS
#undef OPTIONAL
#undef METHOD
#undef STATIC
    HL_METHODS
};

struct hl_call {
    const char *function;
    const char *path; /* what it is about, for messages; may be NULL */
    int error;        /* an errno, 0 while all is well */
    bool entered;
    JNIEnv *env;
    struct hl_thread *thread;
};

#define HL_CALL(what)                                                                                                  \
    {                                                                                                                  \
        .function = __func__, .path = (what)                                                                           \
    }

/* NULL, or the first class or method that is missing, with an exception pending. */
const char *hl_methods_find(JNIEnv *env);
/* A global reference; NULL for an optional class that is missing. */
jclass hl_class(enum hl_class id);
/* Calls a method that returns an object, or a constructor, for which `on` is NULL as for a static method. NULL also
 * after an exception. Arguments of type long are passed as jlong. */
jobject hl_object(struct hl_call *call, enum hl_method id, jobject on, ...);
/* Calls a method that returns a number, a boolean or nothing. 0 also after an exception. */
jlong hl_number(struct hl_call *call, enum hl_method id, jobject on, ...);
bool hl_is(struct hl_call *call, jobject object, enum hl_class id);
jmethodID hl_method(enum hl_method id);

/* call.c */
/* Attaches the thread, starts the JVM if there is none. valid: whether the arguments are. */
bool hl_enter(struct hl_call *call, bool valid);
/* 0, or -1 with errno. */
int hl_leave(struct hl_call *call);
/* Keeps the error unless there is one. */
void hl_fail(struct hl_call *call, int error);
/* Local references that are made between the two go with the second. */
bool hl_frame(struct hl_call *call);
void hl_unframe(struct hl_call *call);
/* A global reference; the local one stays. NULL with ENOMEM. */
jobject hl_keep(struct hl_call *call, jobject object);
void hl_drop(struct hl_call *call, jobject object);
jobject hl_path(struct hl_call *call, const char *path);

/* text.c: UTF-8. */
/* NULL for NULL. EILSEQ where the text is not UTF-8. */
jstring hl_string(struct hl_call *call, const char *text);
/* For free(), with `extra` zero bytes after its end. NULL for NULL. */
char *hl_text(struct hl_call *call, jstring string, size_t extra);
/* The parts of it that need no JVM. units must have as much room as the text has bytes; -1 if it is not UTF-8. */
ptrdiff_t hl_utf16(const char *text, jchar *units);
/* text must have room for 3 bytes a unit and 1 more. */
size_t hl_utf8(const jchar *units, size_t count, char *text);

/* error.c */
/* Takes the pending exception: the call fails with its errno. */
void hl_caught(struct hl_call *call);
/* One line on standard error. */
void hl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The errno for a class by its name, as in java.io.IOException; 0 if it has none. */
int hl_errno_of(const char *class);
/* Whether callers need no message with the errno. */
bool hl_is_plain(int error);

/* thread.c */
struct hl_thread {
    JavaVM *vm;
    JNIEnv *env;
    bool attached; /* by this library, which detaches it */
    jbyteArray scratch;
    jsize scratch_length;
    jthrowable last; /* exception */
    char *cause, *trace;
};

/* This thread, attached; NULL with errno. */
struct hl_thread *hl_thread(JavaVM *vm);
/* NULL if this thread has not called the library yet. */
struct hl_thread *hl_thread_known(void);
/* An array of at least length bytes, and at most HL_SCRATCH; NULL after an exception. */
jbyteArray hl_scratch(struct hl_call *call, jsize length);
#define HL_SCRATCH (1 << 20)

/* jvm.c: the JVM of this process; NULL with errno. */
JavaVM *hl_jvm(void);

/* load.c */
struct hl_jvm_calls {
    jint (*created)(JavaVM **vms, jsize room, jsize *count);
    jint (*create)(JavaVM **vm, void **env, void *options);
};

/* Loads libjvm.so if it is not loaded; otherwise says what is missing. */
bool hl_load(struct hl_jvm_calls *calls);

/* classpath.c */
/* A class path without wildcards, for free(); NULL if there is no memory. */
char *hl_expand(const char *path);
/* Where this library is, for free(); NULL if nobody knows. */
char *hl_folder(void);
/* The class path for a new JVM, for free(); otherwise says what is missing. */
char *hl_classpath(void);

/* connect.c */
struct hdfs_internal {
    jobject fs;
    bool shared;
    struct hdfs_internal *next; /* of those that are shared */
};

/* open.c */
struct hdfsFile_internal {
    jobject stream;
    bool output;
    atomic_bool direct; /* the stream writes to the caller's memory */
};

/* Whether the file is there and has the direction; EBADF. */
bool hl_readable(hdfsFile file);
bool hl_writable(hdfsFile file);

#endif
