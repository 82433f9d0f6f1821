/* SPDX-License-Identifier: Apache-2.0 */

/* Libraries of the system that a codec or cipher needs. libhadoop.so links to none of them, so that it loads without.
 */

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hadoop.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. Symbols are written when all are found. */
static bool resolve(struct hh_library *library, void *handle, const char *name, char *why, size_t size)
{
    for (size_t i = 0; i < library->count; i++)
        if (!dlsym(handle, library->symbols[i].name)) {
            snprintf(why, size, "%s has no %s", name, library->symbols[i].name);
            return false;
        }
    for (size_t i = 0; i < library->count; i++)
        *library->symbols[i].to = dlsym(handle, library->symbols[i].name);
    return true;
}

/* A library that is loaded stays: objects of Java point into it. One that could not be is looked for again. */
static bool load(struct hh_library *library, char *why, size_t size)
{
    pthread_mutex_lock(&lock);
    snprintf(why, size, "%s has no name", library->package);
    for (size_t i = 0; !library->loaded && library->names[i]; i++) {
        void *handle = dlopen(library->names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            library->loaded = resolve(library, handle, library->names[i], why, size);
            if (!library->loaded)
                dlclose(handle);
        } else if (i == 0) { /* which is the one to install */
            const char *cause = dlerror();
            snprintf(why, size, "%s cannot be loaded (package %s): %s", library->names[0], library->package,
                     cause ? cause : "unknown cause");
        }
    }
    bool loaded = library->loaded;
    pthread_mutex_unlock(&lock);
    return loaded;
}

bool hh_library_need(JNIEnv *env, struct hh_library *library)
{
    char why[512];
    if (load(library, why, sizeof(why)))
        return true;
    hh_throw(env, "java/lang/UnsatisfiedLinkError", "%s", why);
    return false;
}

jstring hh_library_file(JNIEnv *env, struct hh_library *library)
{
    char why[512];
    if (library && !load(library, why, sizeof(why)))
        return (*env)->NewStringUTF(env, why);
    Dl_info info;
    const void *symbol = library ? *library->symbols[0].to : (const void *)(uintptr_t)hh_library_file;
    if (!dladdr(symbol, &info) || !info.dli_fname)
        return (*env)->NewStringUTF(env, library ? library->names[0] : "libhadoop.so");
    char *file = realpath(info.dli_fname, NULL);
    jstring result = (*env)->NewStringUTF(env, file ? file : info.dli_fname);
    free(file);
    return result;
}
