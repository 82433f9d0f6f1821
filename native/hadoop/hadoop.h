/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_HADOOP_H
#define HOWDAH_HADOOP_H

/*
 * What the files of libhadoop.so share.
 *
 * Methods are found by their exported names. A table in JNI_OnLoad would have to look up Hadoop's classes, which runs
 * their static initializers before NativeCodeLoader says that the library is loaded, and they would settle for Java.
 *
 * A function that throws returns at once: after hh_throw*() no other JNI call is made. Arguments come from Java that
 * checks little, so offsets and lengths are checked against the array or buffer before memory is touched.
 */
#include <jni.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HH_METHOD(type, class_and_method, ...)                                                                         \
    JNIEXPORT type JNICALL Java_org_apache_hadoop_##class_and_method(__VA_ARGS__)
#define HH_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* throw.c */
void hh_throw(JNIEnv *env, const char *class, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* NativeIOException with the constant of Errno; its message is the system's text. */
void hh_throw_errno(JNIEnv *env, int error);
/* The exception of java.net that fits the error. */
void hh_throw_socket(JNIEnv *env, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* access.c: NULL, false or -1 with an exception pending where an argument is not what it must be. */
/* The memory of a direct buffer from offset on, of which length bytes are there. */
void *hh_direct(JNIEnv *env, jobject buffer, jlong offset, jlong length);
/* Whether an array has length bytes from offset on. */
bool hh_in_array(JNIEnv *env, jbyteArray array, jint offset, jint length);
int hh_fd(JNIEnv *env, jobject descriptor);
/* A java.io.FileDescriptor; the descriptor is closed if there is no memory for one. */
jobject hh_new_fd(JNIEnv *env, int fd);
/* A copy in the system's encoding of names, for free(). */
char *hh_path(JNIEnv *env, jstring text);
/* The field of an object's class, without an exception if the class is as it was compiled. */
jfieldID hh_field(JNIEnv *env, jclass class, const char *name, const char *type);

/* library.c: what is loaded when it is first needed. */
struct hh_symbol {
    const char *name;
    void **to;
};

struct hh_library {
    const char *const *names; /* sonames, the preferred one first; NULL ends them */
    const char *package;      /* what to install */
    const struct hh_symbol *symbols;
    size_t count;
    bool loaded;
};

/* True if the library is loaded and has every symbol; otherwise an UnsatisfiedLinkError names it and is pending. */
bool hh_library_need(JNIEnv *env, struct hh_library *library);
/* The file that the library, or this one for NULL, was loaded from; or why there is none. */
jstring hh_library_file(JNIEnv *env, struct hh_library *library);

#endif
