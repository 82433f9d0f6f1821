/* SPDX-License-Identifier: Apache-2.0 */
#include "cpuset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"

void hd_cpuset_or(struct hd_cpuset *set, const struct hd_cpuset *other)
{
    for (size_t i = 0; i < HD_CPU_WORDS; i++)
        set->words[i] |= other->words[i];
}

void hd_cpuset_and(struct hd_cpuset *set, const struct hd_cpuset *other)
{
    for (size_t i = 0; i < HD_CPU_WORDS; i++)
        set->words[i] &= other->words[i];
}

unsigned hd_cpuset_count(const struct hd_cpuset *set)
{
    unsigned n = 0;
    for (size_t i = 0; i < HD_CPU_WORDS; i++)
        n += (unsigned)__builtin_popcountl(set->words[i]);
    return n;
}

bool hd_cpuset_equal(const struct hd_cpuset *a, const struct hd_cpuset *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* One number; *p is moved behind it and the space around it. */
static int parse_number(const char **p, unsigned *number)
{
    *p = skip_space(*p);
    if (!isdigit((unsigned char)**p)) /* strtoul would take a sign */
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long value = strtoul(*p, &end, 10);
    if (errno || value >= HD_CPU_MAX)
        return -ERANGE;
    *p = skip_space(end);
    *number = (unsigned)value;
    return 0;
}

static int parse_range(const char **p, struct hd_cpuset *set)
{
    unsigned first, last;
    int err = parse_number(p, &first);
    last = first;
    if (!err && **p == '-') {
        ++*p;
        err = parse_number(p, &last);
    }
    if (err || last < first)
        return err ? err : -EINVAL;
    for (unsigned cpu = first; cpu <= last; cpu++)
        hd_cpuset_add(set, cpu);
    return 0;
}

int hd_cpuset_parse(const char *text, struct hd_cpuset *set)
{
    struct hd_cpuset result = {0};
    for (const char *p = text;; p++) {
        int err = parse_range(&p, &result);
        if (!err && *p != ',' && *p != '\0')
            err = -EINVAL;
        if (err == -ERANGE)
            return hd_error(err, "\"%s\" names a processor above %d", text, HD_CPU_MAX - 1);
        if (err)
            return hd_error(err, "\"%s\" is not a list of processors such as 0-7,16", text);
        if (*p == '\0')
            break;
    }
    *set = result;
    return 0;
}

int hd_cpuset_print(const struct hd_cpuset *set, char *text, size_t size)
{
    size_t n = 0;
    if (size)
        text[0] = '\0';
    for (unsigned cpu = 0; cpu < HD_CPU_MAX; cpu++) {
        if (!hd_cpuset_has(set, cpu))
            continue;
        unsigned last = cpu;
        while (hd_cpuset_has(set, last + 1))
            last++;
        char range[32];
        int length =
            last > cpu ? snprintf(range, sizeof(range), "%u-%u", cpu, last) : snprintf(range, sizeof(range), "%u", cpu);
        if (n + (size_t)length + 2 > size)
            return hd_error(-ENOSPC, "a list of processors needs more than %zu characters", size);
        n += (size_t)sprintf(text + n, "%s%s", n ? "," : "", range);
        cpu = last;
    }
    return size ? (int)n : hd_error(-ENOSPC, "no room for a list of processors");
}
