/* SPDX-License-Identifier: Apache-2.0 */

/* Java's buffers, arrays, descriptors and strings, checked. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hadoop.h"

void *hh_direct(JNIEnv *env, jobject buffer, jlong offset, jlong length)
{
    if (!buffer) {
        hh_throw(env, "java/lang/NullPointerException", "no buffer");
        return NULL;
    }
    unsigned char *memory = (*env)->GetDirectBufferAddress(env, buffer);
    jlong capacity = (*env)->GetDirectBufferCapacity(env, buffer);
    if (capacity < 0) {
        hh_throw(env, "java/lang/IllegalArgumentException", "not a direct buffer");
        return NULL;
    }
    if (offset < 0 || length < 0 || offset > capacity - length) {
        hh_throw(env, "java/lang/IllegalArgumentException", "%lld bytes at %lld are not within a buffer of %lld",
                 (long long)length, (long long)offset, (long long)capacity);
        return NULL;
    }
    static unsigned char nothing; /* a buffer of no bytes may have no address */
    return memory ? memory + offset : &nothing;
}

bool hh_in_array(JNIEnv *env, jbyteArray array, jint offset, jint length)
{
    if (!array) {
        hh_throw(env, "java/lang/NullPointerException", "no array");
        return false;
    }
    jint size = (*env)->GetArrayLength(env, array);
    if (offset >= 0 && length >= 0 && offset <= size - length)
        return true;
    hh_throw(env, "java/lang/ArrayIndexOutOfBoundsException", "%d bytes at %d are not within an array of %d", length,
             offset, size);
    return false;
}

/* The field "fd" of java.io.FileDescriptor. Threads that meet here find the same. */
static jfieldID fd_field(JNIEnv *env, jclass *class)
{
    static _Atomic(jfieldID) field;
    *class = (*env)->FindClass(env, "java/io/FileDescriptor");
    if (*class && !field)
        field = (*env)->GetFieldID(env, *class, "fd", "I");
    return *class ? field : NULL;
}

int hh_fd(JNIEnv *env, jobject descriptor)
{
    if (!descriptor) {
        hh_throw(env, "java/lang/NullPointerException", "no file descriptor");
        return -1;
    }
    jclass class;
    jfieldID field = fd_field(env, &class);
    if (!field)
        return -1;
    int fd = (*env)->GetIntField(env, descriptor, field);
    (*env)->DeleteLocalRef(env, class);
    if (fd < 0)
        hh_throw(env, "java/io/IOException", "the file descriptor is closed");
    return fd;
}

jobject hh_new_fd(JNIEnv *env, int fd)
{
    jclass class;
    jfieldID field = fd_field(env, &class);
    jmethodID make = field ? (*env)->GetMethodID(env, class, "<init>", "()V") : NULL;
    jobject made = make ? (*env)->NewObject(env, class, make) : NULL;
    if (made)
        (*env)->SetIntField(env, made, field, fd);
    else
        close(fd);
    if (class)
        (*env)->DeleteLocalRef(env, class);
    return made;
}

/* Encoded by Java, as java.io.File does it: JNI's own UTF-8 has other bytes beyond the basic plane. */
char *hh_path(JNIEnv *env, jstring text)
{
    if (!text) {
        hh_throw(env, "java/lang/NullPointerException", "no path");
        return NULL;
    }
    jclass class = (*env)->GetObjectClass(env, text);
    jmethodID encode = (*env)->GetMethodID(env, class, "getBytes", "()[B");
    jbyteArray bytes = encode ? (*env)->CallObjectMethod(env, text, encode) : NULL;
    (*env)->DeleteLocalRef(env, class);
    if ((*env)->ExceptionCheck(env) || !bytes)
        return NULL;
    jint length = (*env)->GetArrayLength(env, bytes);
    char *path = malloc((size_t)length + 1);
    if (!path) {
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory for a path");
        return NULL;
    }
    (*env)->GetByteArrayRegion(env, bytes, 0, length, (jbyte *)path);
    (*env)->DeleteLocalRef(env, bytes);
    path[length] = 0;
    if (memchr(path, 0, (size_t)length)) { /* the system would see a shorter one */
        free(path);
        hh_throw(env, "java/io/IOException", "the path contains a zero byte");
        return NULL;
    }
    return path;
}

jfieldID hh_field(JNIEnv *env, jclass class, const char *name, const char *type)
{
    return (*env)->ExceptionCheck(env) ? NULL : (*env)->GetFieldID(env, class, name, type);
}
