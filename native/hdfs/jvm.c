/* SPDX-License-Identifier: Apache-2.0 */

/* The JVM of the process: the one that is there, or one that is started at the first call and stays. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define OPTIONS 64
#define BLANKS  " \t\n"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(JavaVM *) ready; /* its classes are found, too */
static pid_t owner;
static int failed; /* errno of a JVM that started and cannot serve, or that must not be started again */

struct options {
    JavaVMOption option[OPTIONS];
    jint count;
    bool lacking;
};

/* Takes the text. */
static void jvm_add(struct options *options, char *text)
{
    if (text && options->count < OPTIONS)
        options->option[options->count++].optionString = text;
    else
        options->lacking = true;
}

/* prefix, text and what follows it, as one option. */
static void jvm_add_text(struct options *options, const char *prefix, const char *text, const char *more)
{
    char *whole = NULL;
    if (asprintf(&whole, "%s%s%s%s", prefix, text, more ? ":" : "", more ? more : "") < 0)
        whole = NULL;
    jvm_add(options, whole);
}

static void jvm_add_words(struct options *options, const char *words)
{
    char *copy = strdup(words), *rest = NULL;
    if (!copy)
        options->lacking = true;
    for (char *word = copy ? strtok_r(copy, BLANKS, &rest) : NULL; word; word = strtok_r(NULL, BLANKS, &rest))
        jvm_add_text(options, "", word, NULL);
    free(copy);
}

/*
 * -Xrs: the JVM leaves SIGINT, SIGTERM, SIGHUP and SIGQUIT to the program. Of Hadoop's log only errors
 * go to the program's console. LIBHDFS_OPTS comes last, so it can say otherwise.
 */
static bool jvm_options(struct options *options, char *classpath)
{
    char *folder = hl_folder();
    jvm_add_text(options, "-Djava.class.path=", classpath, NULL);
    if (folder)
        jvm_add_text(options, "-Djava.library.path=", folder, getenv("LD_LIBRARY_PATH"));
    free(folder);
    jvm_add_text(options, "-Xrs", "", NULL);
    jvm_add_text(options, "-Dhadoop.root.logger=ERROR,console", "", NULL);
    const char *words = getenv("LIBHDFS_OPTS");
    jvm_add_words(options, words ? words : "");
    return !options->lacking;
}

static void jvm_free_options(struct options *options)
{
    for (jint i = 0; i < options->count; i++)
        free(options->option[i].optionString);
}

/* The thread that starts it is no more than another one that calls the library. */
static JavaVM *jvm_create(const struct hl_jvm_calls *calls)
{
    char *classpath = hl_classpath();
    if (!classpath) {
        errno = ELIBACC;
        return NULL;
    }
    struct options options = {.count = 0};
    JavaVM *vm = NULL;
    if (jvm_options(&options, classpath)) {
        JavaVMInitArgs arguments = {.version = JNI_VERSION_1_6, .nOptions = options.count, .options = options.option};
        void *env;
        jint status = calls->create(&vm, &env, &arguments);
        if (status == JNI_OK) {
            (*vm)->DetachCurrentThread(vm);
        } else {
            vm = NULL;
            failed = status == JNI_ENOMEM ? ENOMEM : ELIBACC;
            hl_say("the JVM did not start (JNI error %d): see its own message, and check LIBHDFS_OPTS='%s'",
                   (int)status, getenv("LIBHDFS_OPTS") ? getenv("LIBHDFS_OPTS") : "");
            errno = failed;
        }
    } else {
        hl_say("the JVM was not started: no memory, or more than %d options in LIBHDFS_OPTS", OPTIONS - 4);
        errno = EINVAL;
    }
    jvm_free_options(&options);
    free(classpath);
    return vm;
}

static JavaVM *jvm_find(void)
{
    struct hl_jvm_calls calls;
    JavaVM *vm = NULL;
    jsize count = 0;
    if (!hl_load(&calls)) {
        errno = ELIBACC;
        return NULL;
    }
    if (calls.created(&vm, 1, &count) == JNI_OK && count > 0)
        return vm;
    return jvm_create(&calls);
}

/* Looks up what is called, and has HDFS's own defaults be part of every configuration. */
static bool jvm_prepare(JavaVM *vm)
{
    struct hl_thread *thread = hl_thread(vm);
    if (!thread)
        return false;
    JNIEnv *env = thread->env;
    const char *missing = hl_methods_find(env);
    struct hl_call call = {.function = "libhdfs", .env = env, .thread = thread};
    if (!missing) {
        if (hl_class(HL_CLASS_HDFS_CONFIGURATION))
            hl_number(&call, HL_HDFS_CONFIGURATION_INIT, NULL);
        errno = failed = call.error;
        return !failed;
    }
    (*env)->ExceptionClear(env);
    hl_say("the JVM's class path has no Hadoop that goes with this library: %s is missing; set CLASSPATH to what "
           "'hadoop classpath --glob' prints",
           missing);
    errno = failed = ELIBACC;
    return false;
}

static JavaVM *jvm_start(void)
{
    pthread_mutex_lock(&lock);
    JavaVM *vm = atomic_load(&ready);
    if (!vm && failed) {
        errno = failed;
    } else if (!vm && (vm = jvm_find())) {
        owner = getpid();
        if (jvm_prepare(vm))
            atomic_store(&ready, vm);
        else
            vm = NULL;
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return vm;
}

JavaVM *hl_jvm(void)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    JavaVM *vm = atomic_load(&ready);
    if (!vm)
        return jvm_start();
    if (getpid() == owner)
        return vm;
    /* Of the JVM's threads none is here: every call would wait for them without end. */
    if (!atomic_flag_test_and_set(&said))
        hl_say("this process was forked from one that uses HDFS already, and has no JVM: connect after the fork, or "
               "start a "
               "new program");
    errno = ENOTSUP;
    return NULL;
}
