/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Completion vectors. Each is an interrupt of the adapter, which the system sends to certain processors. A completion
 * queue uses a vector whose interrupt comes to a processor of its communication thread, so that the thread is woken
 * where it runs. /proc/interrupts has the number of a vector's interrupt if the driver names it so, as mlx4, mlx5 and
 * bnxt_re do. Where that is unknown, or no vector fits, communication threads take all vectors in turn.
 */

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "affinity/cpuset.h"
#include "base/first_line.h"
#include "transport/verbs/vector.h"

bool hd_verbs_vector_parse(const char *line, const char *address, unsigned *vector, unsigned *interrupt)
{
    static const char *const names[] = {"mlx5_comp", "mlx4-comp-", "bnxt_re-nq-"};
    char *end;
    unsigned long number = strtoul(line, &end, 10);
    const char *name = strrchr(line, ' ');
    if (end == line || *end != ':' || !name)
        return false;
    for (size_t i = 0; i < HD_COUNT(names); i++) {
        size_t length = strlen(names[i]);
        if (strncmp(name + 1, names[i], length) != 0 || !isdigit((unsigned char)name[1 + length]))
            continue;
        *vector = (unsigned)strtoul(name + 1 + length, &end, 10);
        *interrupt = (unsigned)number;
        size_t rest = strcspn(end, "\n"), prefix = strlen("@pci:");
        return strncmp(end, "@pci:", prefix) == 0 && rest == prefix + strlen(address) &&
               strncmp(end + prefix, address, rest - prefix) == 0;
    }
    return false;
}

static bool vector_fits(const struct hd_cpuset *interrupt, const struct hd_cpuset *thread)
{
    struct hd_cpuset both = *interrupt;
    hd_cpuset_and(&both, thread);
    return hd_cpuset_count(&both) != 0;
}

unsigned hd_verbs_vector_choose(const struct hd_cpuset *interrupts, unsigned vectors, const struct hd_cpuset *thread,
                                unsigned turn)
{
    unsigned fitting = 0;
    for (unsigned i = 0; i < vectors; i++)
        fitting += vector_fits(&interrupts[i], thread);
    if (!fitting)
        return turn % vectors;
    for (unsigned i = 0, left = turn % fitting; i < vectors; i++)
        if (vector_fits(&interrupts[i], thread) && left-- == 0)
            return i;
    return 0; /* not reached */
}

/* ---- what the system says ---- */

static bool vector_interrupt_set(unsigned interrupt, struct hd_cpuset *set)
{
    char text[1024];
    return (hd_first_line(text, sizeof(text), "/proc/irq/%u/effective_affinity_list", interrupt) ||
            hd_first_line(text, sizeof(text), "/proc/irq/%u/smp_affinity_list", interrupt)) &&
           hd_cpuset_parse(text, set) == 0;
}

/* Where each vector's interrupt comes to; empty sets: unknown. */
static void vector_read_interrupts(const char *address, struct hd_cpuset *interrupts, unsigned vectors)
{
    FILE *file = fopen("/proc/interrupts", "re");
    char *line = NULL;
    size_t room = 0;
    unsigned vector, interrupt;
    while (file && getline(&line, &room, file) > 0)
        if (hd_verbs_vector_parse(line + strspn(line, " "), address, &vector, &interrupt) && vector < vectors &&
            !vector_interrupt_set(interrupt, &interrupts[vector]))
            interrupts[vector] = (struct hd_cpuset){0};
    free(line);
    if (file)
        fclose(file);
}

/* The adapter's place on the bus, as 0000:03:00.0. */
static bool vector_address(const char *device, char *address, size_t size)
{
    char path[256], target[1024];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", device);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    const char *name = strrchr(target, '/');
    return snprintf(address, size, "%s", name ? name + 1 : target) < (int)size;
}

unsigned hd_verbs_vector(const char *device, unsigned vectors, pid_t thread, unsigned turn)
{
    struct hd_cpuset runs = {0};
    char address[64];
    if (vectors < 2)
        return 0;
    bool known = thread && sched_getaffinity(thread, sizeof(runs), (cpu_set_t *)&runs) == 0 &&
                 vector_address(device, address, sizeof(address));
    struct hd_cpuset *interrupts = known ? calloc(vectors, sizeof(*interrupts)) : NULL;
    if (!interrupts)
        return turn % vectors;
    vector_read_interrupts(address, interrupts, vectors);
    unsigned vector = hd_verbs_vector_choose(interrupts, vectors, &runs, turn);
    free(interrupts);
    return vector;
}
