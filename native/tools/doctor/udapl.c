/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECTION "udapl"
#define LIBRARY "libdat2.so.2"

/* Whether a library can be loaded, after uDAPL's own, which providers expect to be there. In a process of its own:
 * uDAPL's libraries read their configuration while they are loaded, print what they think of it, and may not survive
 * it. */
static bool loads(const char *library)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        _exit(dlopen(LIBRARY, RTLD_LAZY | RTLD_GLOBAL) && dlopen(library, RTLD_LAZY | RTLD_LOCAL) ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* The fields of a line: words, or texts in quotes. @return how many there are, at most `most`. */
static int split(char *line, char **fields, int most)
{
    int count = 0;
    for (char *p = line; count < most;) {
        p += strspn(p, " \t\n");
        if (!*p || *p == '#')
            return count;
        bool quoted = *p == '"';
        p += quoted;
        fields[count++] = p;
        p += strcspn(p, quoted ? "\"\n" : " \t\n");
        if (*p)
            *p++ = '\0';
    }
    return count;
}

/* Whether the interface ("ib0 0") or device ("mlx5_0 1") that an entry is for is here. */
static bool is_here(const struct doctor *d, const char *parameters)
{
    char name[64], path[300];
    struct stat st;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(parameters, " "), parameters);
    if (!name[0] || strchr(name, '/'))
        return false;
    snprintf(path, sizeof(path), "%s/class/net/%s", d->sys, name);
    if (stat(path, &st) == 0)
        return true;
    snprintf(path, sizeof(path), "%s/class/infiniband/%s", d->sys, name);
    return stat(path, &st) == 0;
}

static void check_entries(struct doctor *d, FILE *file, const char *path, bool forced)
{
    char line[1024], usable[200] = "", broken[100] = "";
    unsigned entries = 0, here = 0;
    while (fgets(line, sizeof(line), file)) {
        char *fields[8];
        if (split(line, fields, 8) < 7 || strncmp(fields[1], "u2", 2) != 0)
            continue; /* of version 1 or of the kernel */
        entries++;
        if (!is_here(d, fields[6]))
            continue;
        if (!loads(fields[4])) {
            snprintf(broken, sizeof(broken), "%s", fields[4]);
            continue;
        }
        if (here++ < 4)
            snprintf(usable + strlen(usable), sizeof(usable) - strlen(usable), "%s%.40s", here > 1 ? ", " : "",
                     fields[0]);
    }
    enum health bad = forced ? PROBLEM : d->active ? WARNING : HEALTHY;
    find(d, here ? HEALTHY : bad, SECTION, "dat.conf", "%s: %u entries, %u for interfaces of this node%s%s", path,
         entries, here, here ? ": " : "", usable);
    if (!here && bad != HEALTHY)
        advise(d, "%s%s", broken[0] ? "a provider cannot be loaded; install " : "add an entry for the interface, as: ",
               broken[0] ? broken : "NAME u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"ib0 0\" \"\"");
}

void check_udapl(struct doctor *d)
{
    static const char *const places[] = {"/etc/dat.conf", "/etc/rdma/dat.conf"};
    const char *given = getenv("DAT_OVERRIDE"), *path = given && given[0] ? given : places[0];
    bool forced = option_is(d, "transport", "udapl");
    bool library = loads(LIBRARY);
    find(d, library || !forced ? HEALTHY : PROBLEM, SECTION, LIBRARY, "%s",
         library ? "loads" : "cannot be loaded or is not installed; only fabrics that offer nothing else need it");
    if (!library && forced)
        advise(d, "install it (libdapl2 on Debian, dapl on Red Hat), or set hadoop.rdma.transport to another one");
    if (!library)
        return;
    FILE *file = fopen(path, "re");
    int error = errno;
    if (!file && path == places[0] && (file = fopen(places[1], "re")))
        path = places[1];
    if (!file) {
        find(d, forced ? PROBLEM : WARNING, SECTION, "dat.conf", "%s cannot be read: %s", path, strerror(error));
        advise(d, "%s",
               given && given[0] ? "DAT_OVERRIDE names it: write it there, or unset the variable"
                                 : "uDAPL finds its providers there: install dapl's, or write one");
        return;
    }
    check_entries(d, file, path, forced);
    fclose(file);
}
