/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Libraries of providers, from the first adapter that is opened to the last that is closed.
 *
 * libdat2 loads a provider's library and takes it out of memory when its last adapter is closed. DAPL's has a thread,
 * which it tells to end but does not join: one that is not done leaving then is somewhere in code that is gone, and the
 * process crashes. So the library is held here until the thread has ended. The thread is known by its name, which a new
 * thread has from the one that made it. To hold the library forever would not do: how far its thread got is in its
 * variables, and one that has ended is never started again.
 */

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "udapl.h"

#define TASKS         "/proc/self/task"
#define NAME_LENGTH   16 /* of a thread, the zero included */
#define NEW_THREAD    "howdah-dapl"
#define LEAVING_MILLI 10000

struct udapl_library {
    struct udapl_library *next;
    char *path;
    unsigned number; /* in the names of its threads */
    unsigned users;
    void *handle; /* while there are users */
};

/* Held while a provider is opened or closed, so that no two threads load and unload a library at once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct udapl_library *libraries;

static void name_of(const struct udapl_library *library, char name[NAME_LENGTH])
{
    snprintf(name, NAME_LENGTH, NEW_THREAD "-%u", library->number % 1000);
}

/* Number of this process's threads that are called `name`; they get the name `renamed` if that is not NULL. */
static unsigned threads_called(const char *name, const char *renamed)
{
    unsigned count = 0;
    DIR *dir = opendir(TASKS);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[sizeof(TASKS) + sizeof(entry->d_name) + 8], found[NAME_LENGTH + 1];
        snprintf(path, sizeof(path), TASKS "/%s/comm", entry->d_name);
        int fd = entry->d_name[0] == '.' ? -1 : open(path, O_RDWR | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, found, sizeof(found) - 1);
        found[length > 0 ? length - 1 : 0] = '\0'; /* a line's end is last */
        if (strcmp(found, name) == 0) {
            count++;
            if (renamed && write(fd, renamed, strlen(renamed)) < 0) {
                /* it has ended */
            }
        }
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    return count;
}

/* That of the provider which has the handle; made when it is seen for the first time. NULL: it can't be told. */
static struct udapl_library *library_of(DAT_HANDLE handle)
{
    DAT_PROVIDER *provider = DAT_HANDLE_TO_PROVIDER(handle);
    void *code;
    Dl_info info;
    memcpy(&code, &provider->ia_close_func, sizeof(code));
    if (!dladdr(code, &info) || !info.dli_fname)
        return NULL;
    unsigned number = 0;
    for (struct udapl_library *library = libraries; library; library = library->next, number++)
        if (strcmp(library->path, info.dli_fname) == 0)
            return library;
    struct udapl_library *library = calloc(1, sizeof(*library));
    if (!library || !(library->path = strdup(info.dli_fname))) {
        free(library);
        return NULL;
    }
    library->number = number;
    library->next = libraries;
    libraries = library;
    return library;
}

static struct udapl_library *hold(DAT_HANDLE handle)
{
    struct udapl_library *library = library_of(handle);
    if (!library)
        return NULL;
    if (library->users++ == 0)
        library->handle = dlopen(library->path, RTLD_NOW | RTLD_NOLOAD);
    char name[NAME_LENGTH];
    name_of(library, name);
    threads_called(NEW_THREAD, name);
    return library;
}

DAT_RETURN udapl_open_adapter(const DAT_PROVIDER_INFO *info, DAT_COUNT events, DAT_EVD_HANDLE *async_evd,
                              DAT_IA_HANDLE *ia, struct udapl_library **library)
{
    char name[NAME_LENGTH];
    pthread_mutex_lock(&mutex);
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, NEW_THREAD);
    DAT_RETURN ret = udapl.ia_openv((DAT_NAME_PTR)info->ia_name, events, async_evd, ia, info->dapl_version_major,
                                    info->dapl_version_minor, info->is_thread_safe);
    prctl(PR_SET_NAME, name);
    *library = ret == DAT_SUCCESS ? hold(*async_evd) : NULL;
    pthread_mutex_unlock(&mutex);
    return ret;
}

/* Whether the library's threads have ended; waits for that. */
static bool have_left(const struct udapl_library *library)
{
    char name[NAME_LENGTH];
    name_of(library, name);
    for (int milli = 0; milli < LEAVING_MILLI; milli++) {
        if (threads_called(name, NULL) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

bool udapl_close_adapter(DAT_IA_HANDLE ia, struct udapl_library *library)
{
    bool left = true;
    pthread_mutex_lock(&mutex);
    udapl.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG); /* takes along what is left of it */
    if (library && --library->users == 0 && library->handle) {
        left = have_left(library);
        if (left)
            dlclose(library->handle);
        library->handle = NULL;
    }
    pthread_mutex_unlock(&mutex);
    return left;
}
