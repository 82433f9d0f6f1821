/* SPDX-License-Identifier: Apache-2.0 */

/* Writing a file from memory outside the heap. A Java stream takes arrays only, which costs two copies, and a Java
 * channel closes the file when its thread is interrupted. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"

static void fail(JNIEnv *env, int error)
{
    char text[128];
    jclass exception = (*env)->FindClass(env, "java/io/IOException");
    if (exception)
        (*env)->ThrowNew(env, exception, strerror_r(error, text, sizeof(text)));
}

/* Writes all of it where the file's position is. */
static void fileWrite(JNIEnv *env, jclass class, jint fd, jlong data, jint length)
{
    (void)class;
    const char *at = hd_at(data);
    for (size_t left = (size_t)length; left > 0;) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno != EINTR) {
            fail(env, errno);
            return;
        }
        if (n > 0) {
            at += n;
            left -= (size_t)n;
        }
    }
}

static const JNINativeMethod methods[] = {HD_JNI_METHOD(fileWrite, "(IJI)V")};

const struct hd_jni_part hd_jni_file = {methods, HD_JNI_COUNT(methods)};
