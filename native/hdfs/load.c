/* SPDX-License-Identifier: Apache-2.0 */

/* libjvm.so: loaded at the first call, so that this library loads where there is no Java. */

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#if defined(__x86_64__)
#define ARCHITECTURE "amd64"
#elif defined(__powerpc64__)
#define ARCHITECTURE "ppc64le"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#error "the folder of libjvm.so in a JDK 8 for this architecture"
#endif

/* Below the folder of a JDK 8 or JRE 8, or of a later one. */
static const char *const places[] = {
    "jre/lib/" ARCHITECTURE "/server/libjvm.so",
    "lib/" ARCHITECTURE "/server/libjvm.so",
    "lib/server/libjvm.so",
};

/* Where distributions put a JDK 8, the preferred one first. */
static const char *const homes[] = {
    "/usr/lib/jvm/java-8-openjdk*", "/usr/lib/jvm/java-1.8.0*",  "/usr/lib/jvm/temurin-8-*",
    "/usr/lib/jvm/*-8-*",           "/usr/lib/jvm/default-java",
};

/* In ISO C a pointer to data is none to a function. */
static bool load_calls(void *library, struct hl_jvm_calls *calls)
{
    *(void **)&calls->created = dlsym(library, "JNI_GetCreatedJavaVMs");
    *(void **)&calls->create = dlsym(library, "JNI_CreateJavaVM");
    return calls->created && calls->create;
}

/* The file in a Java's folder; false if it has none. */
static bool load_find(const char *home, char *file, size_t size)
{
    for (size_t i = 0; i < HL_COUNT(places); i++) {
        int length = snprintf(file, size, "%s/%s", home, places[i]);
        if (length > 0 && (size_t)length < size && access(file, R_OK) == 0)
            return true;
    }
    return false;
}

/* The Java that the shell would run: two folders above the program. */
static bool load_find_on_path(char *file, size_t size)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char program[PATH_MAX], real[PATH_MAX];
        if (snprintf(program, sizeof(program), "%.*s/java", (int)length, path) < (int)sizeof(program) &&
            access(program, X_OK) == 0 && realpath(program, real)) {
            for (int i = 0; i < 2; i++) {
                char *slash = strrchr(real, '/');
                if (slash)
                    *slash = 0;
            }
            return load_find(real, file, size);
        }
        path += length + (path[length] == ':');
    }
    return false;
}

static bool load_guess(char *file, size_t size)
{
    for (size_t i = 0; i < HL_COUNT(homes); i++) {
        glob_t found;
        bool have = false;
        if (glob(homes[i], 0, NULL, &found) == 0) {
            for (size_t j = 0; !have && j < found.gl_pathc; j++)
                have = load_find(found.gl_pathv[j], file, size);
            globfree(&found);
        }
        if (have)
            return true;
    }
    return load_find_on_path(file, size);
}

/* What is on the loader's path by its plain name is tried last. */
static void *load_open(void)
{
    char file[PATH_MAX];
    const char *home = getenv("JAVA_HOME");
    if (home && *home && !load_find(home, file, sizeof(file))) {
        hl_say("JAVA_HOME=%s has no %s: set it to the folder of a JDK 8", home, places[0]);
        return NULL;
    }
    bool found = (home && *home) || load_guess(file, sizeof(file));
    void *library = dlopen(found ? file : "libjvm.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *cause = dlerror();
        if (found)
            hl_say("the JVM does not load: %s", cause ? cause : file);
        else
            hl_say("no Java was found: install a JDK 8 and set JAVA_HOME to its folder");
    }
    return library;
}

bool hl_load(struct hl_jvm_calls *calls)
{
    if (load_calls(RTLD_DEFAULT, calls))
        return true;
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD); /* loaded by others, for themselves */
    if (!library)
        library = load_open();
    if (!library)
        return false;
    if (load_calls(library, calls))
        return true;
    hl_say("libjvm.so is not a JVM: it has no JNI_CreateJavaVM");
    return false;
}
