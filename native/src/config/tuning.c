/* SPDX-License-Identifier: Apache-2.0 */

/* The tuning table, and the order in which table and profile come. */

#include "config/tuning.h"

#include <stdio.h>

#include "base/util.h"

struct row {
    const char *arch, *kind;
    unsigned speed;
    const char *key, *value, *why;
};

static const struct row table[] = {
#define HD_TUNE(arch, kind, speed, option, value, why) {arch, kind, speed, HD_KEY_PREFIX option, value, why},
#include "config/tuning.def"
};

static bool fits(const struct row *row, const struct hd_tuning_link *link)
{
    bool soft = strcmp(link->kind, "soft") == 0 || strcmp(link->kind, "udapl-soft") == 0;
    bool rdma = !soft && strcmp(link->kind, "shm") != 0;
    return (strcmp(row->arch, "*") == 0 || strcmp(row->arch, link->arch) == 0) &&
           (strcmp(row->kind, "*") == 0 || strcmp(row->kind, link->kind) == 0 ||
            (rdma && strcmp(row->kind, "rdma") == 0) || (soft && strcmp(row->kind, "soft") == 0)) &&
           row->speed <= link->speed;
}

int hd_tuning_apply_table(hd_conf *conf, const struct hd_tuning_link *link)
{
    char where[80];
    int n = snprintf(where, sizeof(where), "tuning table for %s, %s", link->arch, link->kind);
    if (link->speed)
        snprintf(where + n, sizeof(where) - (size_t)n, ", %u Gb/s", link->speed);
    int err = 0;
    for (size_t i = 0; i < HD_COUNT(table) && !err; i++)
        if (fits(&table[i], link))
            err = hd_conf_offer(conf, table[i].key, table[i].value, where, HD_FROM_TABLE, table[i].why);
    return err;
}

static int apply_profile(hd_conf *conf, const struct hd_tuning_link *link, char *note, size_t size)
{
    char path[512];
    bool named = strcmp(conf->tuning_profile, "auto") != 0;
    int err = hd_tuning_profile_path(conf, link, false, path, sizeof(path));
    if (err || !path[0])
        return err;
    err = hd_tuning_profile_read(path, link, conf);
    if (!err || named)
        return err;
    snprintf(note, size, "%s; going on without it", hd_last_error());
    return 0;
}

int hd_conf_tune(hd_conf *conf, char *note, size_t size)
{
    struct hd_tuning_link link = {.size = sizeof(link)};
    if (size)
        note[0] = '\0';
    hd_conf_reset(conf, HD_FROM_PROFILE);
    int err = hd_tuning_link_find(conf, &link);
    if (!err)
        err = hd_tuning_apply_table(conf, &link);
    return err ? err : apply_profile(conf, &link, note, size);
}
