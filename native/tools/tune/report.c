/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double low(const struct tune_samples *s)
{
    double least = s->value[0];
    for (int i = 1; i < s->count; i++)
        least = s->value[i] < least ? s->value[i] : least;
    return least;
}

static double high(const struct tune_samples *s)
{
    double most = s->value[0];
    for (int i = 1; i < s->count; i++)
        most = s->value[i] > most ? s->value[i] : most;
    return most;
}

void tune_print(const struct tune_result *r)
{
    printf("%s: %s\n", r->task->option, r->skipped[0] ? r->skipped : r->task->what);
    for (int i = 0; i < r->count && !r->skipped[0]; i++)
        printf("  %-6s %10.2f %s  (%.2f .. %.2f)%s%s\n", r->values[i], tune_median(&r->samples[i]), r->task->unit,
               low(&r->samples[i]), high(&r->samples[i]), i == r->holder ? "  in force" : "",
               i == r->chosen && i != r->holder ? "  better" : "");
    if (!r->skipped[0] && r->chosen != r->holder)
        printf("  -> %s: better by %.1f %%, with a spread of %.1f %%, twice\n", r->values[r->chosen], 100 * r->gain,
               100 * r->spread);
    else if (!r->skipped[0] && r->best != r->holder)
        printf("  -> stays %s: %s is ahead by %.1f %% with a spread of %.1f %%, which is not enough\n",
               r->values[r->holder], r->values[r->best], 100 * r->gain, 100 * r->spread);
    else if (!r->skipped[0])
        printf("  -> stays %s\n", r->values[r->holder]);
    fflush(stdout);
}

static void print_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= ' ')
            putchar(*text);
    }
    putchar('"');
}

static void print_field(const char *name, const char *text)
{
    printf("\"%s\": ", name);
    print_text(text);
    printf(", ");
}

static void print_result_json(const struct tune_result *r)
{
    printf("    {");
    print_field("option", r->task->option);
    print_field("measure", r->task->what);
    print_field("unit", r->task->unit);
    if (r->skipped[0]) {
        printf("\"skipped\": ");
        print_text(r->skipped);
        printf("}");
        return;
    }
    print_field("in_force", r->values[r->holder]);
    print_field("chosen", r->values[r->chosen]);
    print_field("best", r->values[r->best]);
    printf("\"gain\": %.4f, \"spread\": %.4f,\n     \"candidates\": [", r->gain, r->spread);
    for (int i = 0; i < r->count; i++)
        printf("%s{\"value\": \"%s\", \"median\": %.3f, \"spread\": [%.3f, %.3f], \"runs\": %d}", i ? ",\n       " : "",
               r->values[i], tune_median(&r->samples[i]), low(&r->samples[i]), high(&r->samples[i]),
               r->samples[i].count);
    printf("]}");
}

void tune_print_json(const struct tune_report *report)
{
    printf("{");
    print_field("arch", report->link.arch);
    print_field("kind", report->link.kind);
    print_field("model", report->link.model);
    print_field("transport", report->transport);
    print_field("peer", report->peer);
    print_field("profile", report->profile);
    printf("\"speed\": %u, \"rounds\": %d,\n  \"options\": [\n", report->link.speed, report->rounds);
    for (int i = 0; i < report->count; i++) {
        print_result_json(&report->results[i]);
        puts(i + 1 < report->count ? "," : "");
    }
    puts("  ]}");
}

/* ---- the profile ---- */

static void write_lines(FILE *file, const struct tune_report *report)
{
    char host[128] = "", when[40];
    time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof(host) - 1);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &utc));
    fprintf(file, "howdah-profile 1\nversion %s\narch %s\nlink %s %u\ndevice %s\nmeasured %s on %s\n", hd_version(),
            report->link.arch, report->link.kind, report->link.speed, report->link.model, when, host);
    fprintf(file, "# transport %s, peer %s, medians of %d rounds\n", report->transport, report->peer, report->rounds);
    for (int i = 0; i < report->count; i++) {
        const struct tune_result *r = &report->results[i];
        if (r->skipped[0])
            fprintf(file, "\n# %s: %s\n", r->task->option, r->skipped);
        else if (r->chosen == r->holder)
            fprintf(file, "\n# %s stays %s: nothing was better beyond the spread\n", r->task->option,
                    r->values[r->holder]);
        else
            fprintf(file, "\n# %s: %.2f %s, with %s it was %.2f\nset %s %s\n", r->task->what,
                    tune_median(&r->samples[r->chosen]), r->task->unit, r->values[r->holder],
                    tune_median(&r->samples[r->holder]), r->task->option, r->values[r->chosen]);
    }
}

static int make_folders(const char *path)
{
    char part[600];
    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(part, 0755) && errno != EEXIST)
            return -errno;
    }
    return 0;
}

int tune_write_profile(const struct tune_report *report, const char *path)
{
    char fresh[640];
    snprintf(fresh, sizeof(fresh), "%.600s.%d", path, (int)getpid());
    int err = make_folders(path);
    int fd = err ? -1 : open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file) {
        write_lines(file, report);
        bool bad = fflush(file) || ferror(file) || fsync(fd);
        err = fclose(file) || bad ? -EIO : 0;
        if (!err && rename(fresh, path))
            err = -errno;
        if (err)
            unlink(fresh);
    } else if (!err) {
        err = -errno;
    }
    if (err)
        fprintf(stderr, "hd-tune: the profile %s cannot be written: %s\n", path, strerror(-err));
    return err;
}
