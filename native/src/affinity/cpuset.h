/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_CPUSET_H
#define HD_CPUSET_H

/* A set of processors by the system's numbers, laid out as sched_setaffinity() takes it. */

#include <stdbool.h>
#include <stddef.h>

#define HD_CPU_MAX   4096
#define HD_CPU_WORD  (8 * sizeof(unsigned long))
#define HD_CPU_WORDS (HD_CPU_MAX / HD_CPU_WORD)

struct hd_cpuset {
    unsigned long words[HD_CPU_WORDS];
};

static inline void hd_cpuset_add(struct hd_cpuset *set, unsigned cpu)
{
    set->words[cpu / HD_CPU_WORD] |= 1UL << (cpu % HD_CPU_WORD);
}

static inline bool hd_cpuset_has(const struct hd_cpuset *set, unsigned cpu)
{
    return cpu < HD_CPU_MAX && (set->words[cpu / HD_CPU_WORD] >> (cpu % HD_CPU_WORD) & 1);
}

void hd_cpuset_or(struct hd_cpuset *set, const struct hd_cpuset *other);
void hd_cpuset_and(struct hd_cpuset *set, const struct hd_cpuset *other);
unsigned hd_cpuset_count(const struct hd_cpuset *set);
bool hd_cpuset_equal(const struct hd_cpuset *a, const struct hd_cpuset *b);

/* "0-7,16". Reading takes spaces around numbers and a newline at the end, as the kernel's files have them,
 * but not the empty list. -EINVAL, -ERANGE. Printing returns the length, or -ENOSPC. */
int hd_cpuset_parse(const char *text, struct hd_cpuset *set);
int hd_cpuset_print(const struct hd_cpuset *set, char *text, size_t size);

#endif
