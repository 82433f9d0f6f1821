/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_JVM_H
#define TEST_JVM_H

/*
 * As much of a Java virtual machine as libhadoop.so asks of one, so that its methods run where no JVM does: under an
 * emulator, valgrind and sanitizers. Classes are not loaded: each name is one, with any field and method. One thread.
 */
#include <jni.h>
#include <stddef.h>

/* The environment to call methods with. */
JNIEnv *test_jvm(void);
/* Frees all objects. */
void test_jvm_clear(void);

jbyteArray test_bytes(const void *from, size_t length);
/* Memory of an array, of its length. */
void *test_memory(jobject array);
jobject test_buffer(void *memory, size_t length);
jobjectArray test_objects(size_t length);
jobject test_object(const char *class);
/* Text of a string; of an exception its message. */
const char *test_text(jobject object);
/* A field, made when it is first asked for. */
jvalue *test_field(jobject object, const char *name);

/* The class of the pending exception, "" without one; the exception is no longer pending, and its message is in
 * *message. */
const char *test_thrown(const char **message);

#endif
