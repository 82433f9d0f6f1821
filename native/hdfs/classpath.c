/* SPDX-License-Identifier: Apache-2.0 */

/* The class path: CLASSPATH, or that of the tree which this library is in. A JVM in a program expands no wildcards. */

#include <dirent.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

extern char **environ;

static int classpath_is_jar(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcasecmp(entry->d_name + length - 4, ".jar") == 0;
}

/* The jars of a folder, in the order of their names, each with the colon before it. A folder that is not there has
 * none. */
static void classpath_add_jars(FILE *out, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, classpath_is_jar, alphasort);
    for (int i = 0; i < count; i++) {
        fprintf(out, ":%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

char *hl_expand(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    char *copy = strdup(path), *rest = copy, *entry;
    if (!out || !copy) {
        free(copy);
        if (out)
            fclose(out);
        free(text);
        return NULL;
    }
    while ((entry = strsep(&rest, ":"))) {
        size_t length = strlen(entry);
        if (length >= 2 && strcmp(entry + length - 2, "/*") == 0) {
            entry[length - 2] = 0;
            classpath_add_jars(out, entry);
        } else if (strcmp(entry, "*") == 0) {
            classpath_add_jars(out, ".");
        } else if (length) {
            fprintf(out, ":%s", entry);
        }
    }
    free(copy);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    memmove(text, text + (size > 0), size + (size == 0)); /* without the first colon */
    return text;
}

char *hl_folder(void)
{
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)hl_folder, &info) || !info.dli_fname)
        return NULL;
    char *file = realpath(info.dli_fname, NULL);
    char *slash = file ? strrchr(file, '/') : NULL;
    if (slash)
        *slash = 0;
    return file;
}

/* bin/hadoop of the tree that this library is in, else of HADOOP_HOME; for free(). */
static char *classpath_command(void)
{
    char *folder = hl_folder(), *command = NULL;
    const char *home = getenv("HADOOP_HOME");
    if (folder && asprintf(&command, "%s/../../bin/hadoop", folder) < 0)
        command = NULL;
    free(folder);
    if (command && access(command, X_OK) == 0)
        return command;
    free(command);
    command = NULL;
    if (home && asprintf(&command, "%s/bin/hadoop", home) < 0)
        command = NULL;
    if (command && access(command, X_OK) == 0)
        return command;
    free(command);
    return NULL;
}

/* Starts `hadoop classpath`; the end of its output to read from, or -1. */
static int classpath_spawn(char *command, pid_t *pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    char word[] = "classpath";
    char *arguments[] = {command, word, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (!error)
            error = posix_spawn(pid, command, &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (!error)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* The first line that the command prints, for free(); NULL if it prints none. Its status may have been taken by the
 * program. */
static char *classpath_ask(char *command)
{
    pid_t pid;
    int fd = classpath_spawn(command, &pid);
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    if (in) {
        ssize_t length = getline(&line, &size, in);
        if (length > 0)
            line[strcspn(line, "\n")] = 0;
        if (length <= 1) {
            free(line);
            line = NULL;
        }
        fclose(in);
    } else if (fd >= 0) {
        close(fd);
    }
    if (fd >= 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    return line;
}

char *hl_classpath(void)
{
    const char *given = getenv("CLASSPATH");
    if (given && *given)
        return hl_expand(given);
    char *command = classpath_command();
    char *line = command ? classpath_ask(command) : NULL;
    char *path = line ? hl_expand(line) : NULL;
    if (!path)
        hl_say("CLASSPATH is not set, and %s: set it to what 'hadoop classpath --glob' prints",
               command ? "bin/hadoop classpath prints none" : "this library is not in a Hadoop tree");
    free(line);
    free(command);
    return path;
}
