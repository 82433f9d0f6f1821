/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"ok", "warning", "problem"};

void find(struct doctor *d, enum health health, const char *section, const char *name, const char *format, ...)
{
    struct finding *grown = realloc(d->findings, (d->count + 1) * sizeof(*grown));
    if (!grown) {
        fprintf(stderr, "hd-doctor: out of memory\n");
        exit(3);
    }
    d->findings = grown;
    struct finding *f = &grown[d->count++];
    *f = (struct finding){.health = health};
    snprintf(f->section, sizeof(f->section), "%s", section);
    snprintf(f->name, sizeof(f->name), "%s", name);
    va_list args;
    va_start(args, format);
    vsnprintf(f->value, sizeof(f->value), format, args);
    va_end(args);
}

void advise(struct doctor *d, const char *format, ...)
{
    struct finding *f = &d->findings[d->count - 1];
    va_list args;
    va_start(args, format);
    vsnprintf(f->advice, sizeof(f->advice), format, args);
    va_end(args);
}

enum health worst(const struct doctor *d)
{
    enum health health = HEALTHY;
    for (size_t i = 0; i < d->count; i++)
        health = d->findings[i].health > health ? d->findings[i].health : health;
    return health;
}

void print_findings(const struct doctor *d)
{
    static const char *const marks[] = {"OK     ", "WARNING", "PROBLEM"};
    unsigned counts[3] = {0};
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        if (i == 0 || strcmp(f->section, d->findings[i - 1].section) != 0)
            printf("%s%s\n", i ? "\n" : "", f->section);
        printf("  %s  %-22s %s\n", marks[f->health], f->name, f->value);
        if (f->advice[0])
            printf("           -> %s\n", f->advice);
        counts[f->health]++;
    }
    printf("\n%u OK, %u warning%s, %u problem%s\n", counts[0], counts[1], counts[1] == 1 ? "" : "s", counts[2],
           counts[2] == 1 ? "" : "s");
}

static void print_text(const char *name, const char *text, const char *after)
{
    printf("\"%s\": \"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    }
    printf("\"%s", after);
}

void print_findings_json(const struct doctor *d)
{
    printf("{");
    print_text("version", hd_version(), ", ");
    print_text("status", words[worst(d)], ",\n \"findings\": [\n");
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        printf("  {");
        print_text("section", f->section, ", ");
        print_text("name", f->name, ", ");
        print_text("status", words[f->health], ", ");
        print_text("value", f->value, ", ");
        print_text("advice", f->advice, i + 1 < d->count ? "},\n" : "}\n");
    }
    puts(" ]}");
}

/* ---- small things of the checks ---- */

const char *bytes(uint64_t n, char text[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double value = (double)n;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        value /= 1024;
    snprintf(text, 32, value < 10 && unit && value != (double)(int)value ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *option(const struct doctor *d, const char *name, char *text, size_t size)
{
    char key[80];
    snprintf(key, sizeof(key), "hadoop.rdma.%s", name);
    if (!d->conf || hd_conf_get(d->conf, key, text, size) < 0)
        text[0] = '\0';
    return text;
}

bool option_is(const struct doctor *d, const char *name, const char *value)
{
    char text[300];
    return strcmp(option(d, name, text, sizeof(text)), value) == 0;
}

uint64_t option_bytes(const struct doctor *d, const char *name)
{
    char text[300], *end;
    uint64_t value = strtoull(option(d, name, text, sizeof(text)), &end, 10);
    return value << (*end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0);
}
