/* SPDX-License-Identifier: Apache-2.0 */

/* Names of users and groups by number (NativeIO.POSIX), and the groups of a user (JniBasedUnixGroups*Mapping). */

#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hadoop.h"

#define ENTRY_MAX  (1 << 24) /* a group of this many bytes is no group */
#define GROUPS_MAX (1 << 20)

/* Some name services crash when two threads ask at once (hadoop.workaround.non.threadsafe.getpwuid, true by default).
 */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* What to look up, and the entry that is found. */
union entry {
    struct passwd user;
    struct group group;
};

typedef int lookup(const void *key, union entry *entry, char *text, size_t size, bool *found);

static int user_of_id(const void *key, union entry *entry, char *text, size_t size, bool *found)
{
    struct passwd *result = NULL;
    int error = getpwuid_r(*(const uid_t *)key, &entry->user, text, size, &result);
    *found = result != NULL;
    return error;
}

static int user_of_name(const void *key, union entry *entry, char *text, size_t size, bool *found)
{
    struct passwd *result = NULL;
    int error = getpwnam_r(key, &entry->user, text, size, &result);
    *found = result != NULL;
    return error;
}

static int group_of_id(const void *key, union entry *entry, char *text, size_t size, bool *found)
{
    struct group *result = NULL;
    int error = getgrgid_r(*(const gid_t *)key, &entry->group, text, size, &result);
    *found = result != NULL;
    return error;
}

/* The entry; its strings are in *text, for free(). 0, ENOENT or what went wrong. */
static int look_up(lookup *by, const void *key, union entry *entry, char **text)
{
    *text = NULL;
    for (size_t size = 4096; size <= ENTRY_MAX; size *= 4) {
        char *grown = realloc(*text, size);
        if (!grown)
            return ENOMEM;
        *text = grown;
        bool found = false;
        int error;
        do
            error = by(key, entry, grown, size, &found);
        while (error == EINTR);
        if (error == ERANGE)
            continue;
        /* Name services say "no such entry" in many ways (getpwnam(3), RETURN VALUE). */
        if (!found && (error == 0 || error == ESRCH || error == EBADF || error == EPERM))
            error = ENOENT;
        return error;
    }
    return ERANGE;
}

static int look_up_locked(lookup *by, const void *key, union entry *entry, char **text)
{
    pthread_mutex_lock(&one_at_a_time);
    int error = look_up(by, key, entry, text);
    pthread_mutex_unlock(&one_at_a_time);
    return error;
}

static jstring name_of(JNIEnv *env, lookup *by, const void *key, const char *what, unsigned int id)
{
    union entry entry;
    char *text;
    jstring name = NULL;
    int error = look_up_locked(by, key, &entry, &text);
    if (error == ENOENT)
        hh_throw(env, "java/io/IOException", "%s not found: %u", what, id);
    else if (error)
        hh_throw_errno(env, error);
    else
        name = (*env)->NewStringUTF(env, by == group_of_id ? entry.group.gr_name : entry.user.pw_name);
    free(text);
    return name;
}

HH_METHOD(jstring, io_nativeio_NativeIO_00024POSIX_getUserName__I, JNIEnv *env, jclass class, jint id)
{
    (void)class;
    uid_t user = (uid_t)id;
    return name_of(env, user_of_id, &user, "uid", user);
}

HH_METHOD(jstring, io_nativeio_NativeIO_00024POSIX_getUserName__J, JNIEnv *env, jclass class, jlong id)
{
    (void)class;
    uid_t user = (uid_t)id;
    return name_of(env, user_of_id, &user, "uid", user);
}

HH_METHOD(jstring, io_nativeio_NativeIO_00024POSIX_getGroupName, JNIEnv *env, jclass class, jint id)
{
    (void)class;
    gid_t group = (gid_t)id;
    return name_of(env, group_of_id, &group, "gid", group);
}

HH_METHOD(void, security_JniBasedUnixGroupsMapping_anchorNative, JNIEnv *env, jclass class)
{
    (void)env, (void)class;
}

/* The ids of all groups of a user, the first being that of the account; for free(). 0 or what went wrong. */
static int ids_of(const char *name, gid_t **ids, int *count)
{
    union entry entry;
    char *text;
    *ids = NULL;
    int error = look_up(user_of_name, name, &entry, &text);
    gid_t own = error ? 0 : entry.user.pw_gid;
    free(text);
    for (int room = 64; !error && room <= GROUPS_MAX; room *= 4) {
        gid_t *grown = realloc(*ids, (size_t)room * sizeof(**ids));
        if (!grown)
            return ENOMEM;
        *ids = grown;
        *count = room;
        if (getgrouplist(name, own, *ids, count) >= 0)
            return 0;
    }
    return error ? error : ERANGE;
}

/* One group's name; NULL where it has none, which Java logs, or with an exception pending. */
static jstring group_name(JNIEnv *env, jclass class, gid_t id)
{
    union entry entry;
    char *text, words[128];
    jstring name = NULL;
    int error = look_up(group_of_id, &id, &entry, &text);
    if (!error) {
        name = (*env)->NewStringUTF(env, entry.group.gr_name);
    } else {
        jmethodID log = (*env)->GetStaticMethodID(env, class, "logError", "(ILjava/lang/String;)V");
        jstring why = log ? (*env)->NewStringUTF(env, strerror_r(error, words, sizeof(words))) : NULL;
        if (why)
            (*env)->CallStaticVoidMethod(env, class, log, (jint)id, why);
    }
    free(text);
    return name;
}

/* An array of the first count elements of names. */
static jobjectArray trimmed(JNIEnv *env, jclass string, jobjectArray names, jint count)
{
    if (count == (*env)->GetArrayLength(env, names))
        return names;
    jobjectArray result = (*env)->NewObjectArray(env, count, string, NULL);
    for (jint i = 0; result && i < count; i++) {
        jobject name = (*env)->GetObjectArrayElement(env, names, i);
        (*env)->SetObjectArrayElement(env, result, i, name);
        (*env)->DeleteLocalRef(env, name);
    }
    return result;
}

static jobjectArray names_of(JNIEnv *env, jclass class, const gid_t *ids, int count)
{
    jclass string = (*env)->FindClass(env, "java/lang/String");
    jobjectArray names = string ? (*env)->NewObjectArray(env, count, string, NULL) : NULL;
    jint kept = 0;
    for (int i = 0; names && i < count; i++) {
        jstring name = group_name(env, class, ids[i]);
        if ((*env)->ExceptionCheck(env))
            return NULL;
        if (name) {
            (*env)->SetObjectArrayElement(env, names, kept++, name);
            (*env)->DeleteLocalRef(env, name);
        }
    }
    return names ? trimmed(env, string, names, kept) : NULL;
}

/* A user that nobody knows has no groups. */
HH_METHOD(jobjectArray, security_JniBasedUnixGroupsMapping_getGroupsForUser, JNIEnv *env, jclass class, jstring name)
{
    char *user = hh_path(env, name), words[128];
    if (!user)
        return NULL;
    gid_t *ids;
    int count = 0, error = ids_of(user, &ids, &count);
    if (error == ENOENT)
        count = error = 0;
    jobjectArray result = NULL;
    if (error)
        hh_throw(env, "java/io/IOException", "cannot look up the user %s: %s", user,
                 strerror_r(error, words, sizeof(words)));
    else
        result = names_of(env, class, ids, count);
    free(ids);
    free(user);
    return result;
}

/* Users that are in the list already are left out: a netgroup has one entry for each user, host and domain. */
struct users {
    char **names;
    size_t count, room;
};

static bool add_user(struct users *users, const char *name)
{
    for (size_t i = 0; i < users->count; i++)
        if (strcmp(users->names[i], name) == 0)
            return true;
    if (users->count == users->room) {
        size_t room = users->room ? 2 * users->room : 64;
        char **grown = realloc(users->names, room * sizeof(*grown));
        if (!grown)
            return false;
        users->names = grown;
        users->room = room;
    }
    users->names[users->count] = strdup(name);
    return users->names[users->count] && ++users->count;
}

/* The C library goes through one netgroup at a time. False: no memory. */
static bool read_netgroup(const char *group, struct users *users)
{
    char text[8192], *host, *user, *domain;
    bool enough = true;
    pthread_mutex_lock(&one_at_a_time);
    if (setnetgrent(group) == 1)
        while (enough && getnetgrent_r(&host, &user, &domain, text, sizeof(text)) == 1)
            if (user)
                enough = add_user(users, user);
    endnetgrent();
    pthread_mutex_unlock(&one_at_a_time);
    return enough;
}

HH_METHOD(jobjectArray, security_JniBasedUnixGroupsNetgroupMapping_getUsersForNetgroupJNI, JNIEnv *env, jobject object,
          jstring name)
{
    (void)object;
    char *group = hh_path(env, name);
    if (!group)
        return NULL;
    struct users users = {NULL, 0, 0};
    bool enough = read_netgroup(group, &users);
    free(group);
    jobjectArray result = NULL;
    if (!enough) {
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory for the users of a netgroup");
    } else {
        jclass string = (*env)->FindClass(env, "java/lang/String");
        result = string ? (*env)->NewObjectArray(env, (jint)users.count, string, NULL) : NULL;
        for (size_t i = 0; result && i < users.count; i++) {
            jstring user = (*env)->NewStringUTF(env, users.names[i]);
            if (!user)
                break;
            (*env)->SetObjectArrayElement(env, result, (jint)i, user);
            (*env)->DeleteLocalRef(env, user);
        }
    }
    for (size_t i = 0; i < users.count; i++)
        free(users.names[i]);
    free(users.names);
    return result;
}
