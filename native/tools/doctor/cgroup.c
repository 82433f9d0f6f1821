/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTION "limits"

/* Where a controller's files of this process are, for cgroup v1 ("memory") or v2 (""). */
struct place {
    char mount[PATH_MAX / 2], path[PATH_MAX / 2]; /* the folder is mount + path */
};

/* Whether a list "a,b,c" has a word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += length)
        if ((p == list || p[-1] == ',') && (p[length] == ',' || p[length] == '\0'))
            return true;
    return false;
}

/* This process' group: a line "N:controllers:/path" of /proc/self/cgroup. */
static bool find_group(const char *controller, char *path, size_t size)
{
    char line[PATH_MAX];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        found = controller[0] ? has_word(names + 1, controller) : names[1] == '\0';
        if (found)
            snprintf(path, size, "%s", group);
    }
    if (file)
        fclose(file);
    return found;
}

/* The mount: "ID PARENT DEV ROOT POINT OPTIONS ... - TYPE SOURCE SUPER-OPTIONS". Within a container ROOT is a part of
 * the path that the mount begins at. */
static bool find_mount(const char *controller, struct place *place)
{
    char line[PATH_MAX], root[PATH_MAX / 2], point[PATH_MAX / 2], type[32], super[256];
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %2047s %2047s", root, point) != 2 ||
            sscanf(rest, " - %31s %*s %255s", type, super) != 2)
            continue;
        found =
            controller[0] ? strcmp(type, "cgroup") == 0 && has_word(super, controller) : strcmp(type, "cgroup2") == 0;
    }
    if (file)
        fclose(file);
    if (!found)
        return false;
    snprintf(place->mount, sizeof(place->mount), "%s", point);
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(place->path, root, length) == 0)
        memmove(place->path, place->path + length, strlen(place->path + length) + 1);
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s%s", place->mount, place->path);
    if (access(folder, F_OK) != 0) /* a container sees its own group as the root */
        place->path[0] = '\0';
    return true;
}

static bool find_place(const char *controller, struct place *place)
{
    return find_group(controller, place->path, sizeof(place->path)) && find_mount(controller, place);
}

/* The least value of a file in the group and the groups above it. UINT64_MAX: no limit. */
static uint64_t least(const struct place *place, const char *name)
{
    char path[PATH_MAX / 2], text[64];
    uint64_t limit = UINT64_MAX;
    snprintf(path, sizeof(path), "%s", place->path);
    for (;;) {
        if (hd_first_line(text, sizeof(text), "%s%s/%s", place->mount, path, name) && strcmp(text, "max") != 0) {
            uint64_t value = strtoull(text, NULL, 10);
            limit = value < limit ? value : limit;
        }
        char *slash = strrchr(path, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

#define NO_LIMIT ((uint64_t)1 << 62) /* v1 says "no limit" by a number as large as it has */

static void check_memory_group(struct doctor *d)
{
    struct place place;
    char a[32], b[32];
    bool v1 = find_place("memory", &place), v2 = !v1 && find_place("", &place);
    uint64_t limit = v1 ? least(&place, "memory.limit_in_bytes") : v2 ? least(&place, "memory.max") : UINT64_MAX;
    uint64_t need = option_bytes(d, "memory.limit");
    const char *version = v1 ? "v1" : v2 ? "v2" : "none";
    if (limit >= NO_LIMIT) {
        find(d, HEALTHY, SECTION, "cgroup memory", "no limit (cgroup %s)", version);
        return;
    }
    enum health health = need >= limit ? PROBLEM : need > limit / 2 ? WARNING : HEALTHY;
    find(d, health, SECTION, "cgroup memory", "%s (cgroup %s); buffers of one process may take %s", bytes(limit, a),
         version, bytes(need, b));
    if (health != HEALTHY)
        advise(d, "buffers count against the job's memory: ask for more, or lower hadoop.rdma.memory.limit");
}

static void check_cpuset(struct doctor *d)
{
    struct place place;
    cpu_set_t set;
    char list[200] = "";
    if (find_place("cpuset", &place))
        hd_first_line(list, sizeof(list), "%s%s/cpuset.cpus", place.mount, place.path);
    else if (find_place("", &place))
        hd_first_line(list, sizeof(list), "%s%s/cpuset.cpus.effective", place.mount, place.path);
    int may = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
    find(d, HEALTHY, SECTION, "processors", "%d of %ld may be used%s%s", may, sysconf(_SC_NPROCESSORS_ONLN),
         list[0] ? ", cpuset " : "", list);
}

/* "mlx5_0 hca_handle=2 hca_object=2000"; every link takes objects. */
static void check_rdma_group(struct doctor *d)
{
    struct place place;
    char text[200];
    if (!d->devices || (!find_place("rdma", &place) && !find_place("", &place)) ||
        !hd_first_line(text, sizeof(text), "%s%s/rdma.max", place.mount, place.path))
        return;
    bool limited = strchr(text, '=') && strspn(strchr(text, '=') + 1, "0123456789") > 0;
    find(d, limited ? WARNING : HEALTHY, SECTION, "cgroup rdma", "%s", text);
    if (limited)
        advise(d, "every link takes a few RDMA objects of this limit; ask for a larger one if links fail");
}

void check_cgroup(struct doctor *d)
{
    check_memory_group(d);
    check_cpuset(d);
    check_rdma_group(d);
}
