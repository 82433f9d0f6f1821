/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECTION  "java"
#define PATIENCE 60 /* seconds; an emulated processor takes ten */

/* Reads what a process says until it is silent for good, or for too long. */
static size_t listen_to(int fd, char *text, size_t size)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    size_t length = 0;
    ssize_t n;
    while (length < size - 1 && poll(&one, 1, PATIENCE * 1000) == 1 &&
           (n = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    return length;
}

/* Runs `java -version`. @return false if it says nothing of the kind. */
static bool ask_version(const char *java, char *text, size_t size)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[1], STDERR_FILENO);
        dup2(pipes[1], STDOUT_FILENO);
        execl(java, java, "-version", (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    if (pid > 0) {
        listen_to(pipes[0], text, size);
        kill(pid, SIGKILL); /* it has ended, or never will */
        waitpid(pid, NULL, 0);
    }
    close(pipes[0]);
    return pid > 0 && strstr(text, "version \"");
}

static void check_version(struct doctor *d, const char *java, const char *from)
{
    char text[2000] = "";
    if (!ask_version(java, text, sizeof(text))) {
        text[strcspn(text, "\n")] = '\0';
        find(d, PROBLEM, SECTION, "JDK", "%s (%s) does not run%s%.200s", java, from, text[0] ? ": " : "", text);
        advise(d, "install a JDK 8 and set JAVA_HOME to its folder");
        return;
    }
    char *version = strstr(text, "version \"") + 9;
    version[strcspn(version, "\"")] = '\0';
    bool right = strncmp(version, "1.8.", 4) == 0;
    find(d, right ? HEALTHY : PROBLEM, SECTION, "JDK", "%.60s, %s (%s)", version, java, from);
    if (!right)
        advise(d, "Hadoop and Spark of this age need Java 8: set JAVA_HOME to the folder of a JDK 8");
}

static bool search_path(char *java, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", getenv("PATH") ? getenv("PATH") : "");
    for (char *save, *folder = strtok_r(path, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
        snprintf(java, size, "%s/java", folder);
        if (access(java, X_OK) == 0)
            return true;
    }
    return false;
}

/* Jars unpack their native libraries (Snappy, LevelDB) to /tmp, or where the commands tell them to: HOWDAH_LIBRARY_DIR.
 */
static void check_libraries(struct doctor *d)
{
    const char *name = "libraries in jars", *folder = getenv("HOWDAH_LIBRARY_DIR");
    struct statvfs tmp, own;
    bool noexec = !statvfs("/tmp", &tmp) && (tmp.f_flag & ST_NOEXEC);
    if (!folder || !folder[0]) {
        if (!noexec) {
            find(d, HEALTHY, SECTION, name, "/tmp may execute");
            return;
        }
        find(d, PROBLEM, SECTION, name, "/tmp is mounted noexec: Snappy and LevelDB do not load");
    } else if (statvfs(folder, &own) || (own.f_flag & ST_NOEXEC) || access(folder, W_OK)) {
        find(d, PROBLEM, SECTION, name, "%.300s cannot be written or is mounted noexec", folder);
    } else {
        find(d, HEALTHY, SECTION, name, "%sunpacked in %.300s", noexec ? "/tmp is mounted noexec; they are " : "",
             folder);
        return;
    }
    advise(d, "set HOWDAH_LIBRARY_DIR to a folder of the user's own on a file system that is not mounted noexec");
}

static void check_jdk(struct doctor *d)
{
    char java[PATH_MAX];
    const char *home = getenv("JAVA_HOME"), *from = "JAVA_HOME";
    if (!home || !home[0]) {
        home = d->java;
        from = "found by howdah, JAVA_HOME is not set";
    }
    if (home && home[0]) {
        snprintf(java, sizeof(java), "%.3000s/bin/java", home);
        if (access(java, X_OK) == 0) {
            check_version(d, java, from);
            return;
        }
        find(d, PROBLEM, SECTION, "JDK", "JAVA_HOME=%.200s holds no bin/java: %s", home, strerror(errno));
        advise(d, "set JAVA_HOME to the folder of a JDK 8");
    } else if (search_path(java, sizeof(java))) {
        check_version(d, java, "found in PATH, JAVA_HOME is not set");
    } else {
        find(d, WARNING, SECTION, "JDK", "JAVA_HOME is not set and there is no java in PATH");
        advise(d, "install a JDK 8 and set JAVA_HOME to its folder (not needed for the engine alone)");
    }
}

void check_java(struct doctor *d)
{
    check_jdk(d);
    check_libraries(d);
}
