/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Profiles, as `howdah tune` writes them:
 *
 *   howdah-profile 1
 *   version 0.1
 *   arch x86_64
 *   link ib 100
 *   device MT4119
 *   measured 2026-01-31 12:00:00 on node7
 *   set chunk.size 1m
 *
 * Empty lines and those that begin with # say nothing. All lines up to `device` must be there, in any order, before
 * the first `set`.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/tuning.h"
#include "base/util.h"

#define PROFILE_MAX 65536

static const char *const covered[] = {
    HD_KEY_PREFIX "eager.threshold", HD_KEY_PREFIX "shm.eager.threshold", HD_KEY_PREFIX "rendezvous.protocol",
    HD_KEY_PREFIX "chunk.size",      HD_KEY_PREFIX "chunk.depth",         HD_KEY_PREFIX "communication.threads",
};

bool hd_tuning_covers(const char *key)
{
    for (size_t i = 0; i < HD_COUNT(covered); i++)
        if (strcmp(covered[i], key) == 0)
            return true;
    return false;
}

/* ---- reading ---- */

enum { SAID_MAGIC = 1, SAID_VERSION = 2, SAID_ARCH = 4, SAID_LINK = 8, SAID_DEVICE = 16, SAID_ALL = 31 };

struct reader {
    const char *path;
    int line;
    unsigned said;
    const struct hd_tuning_link *link;
    hd_conf *conf;
};

static int wrong(const struct reader *r, const char *what, const char *text)
{
    return hd_error(-EINVAL, "profile %s, line %d: %s%s%s%s; delete it, or run: howdah tune", r->path, r->line, what,
                    text[0] ? " \"" : "", text, text[0] ? "\"" : "");
}

/* What must be as it is here. */
static int expect(struct reader *r, unsigned what, const char *name, const char *value, const char *here)
{
    if (r->said & what)
        return wrong(r, "this was said before:", name);
    r->said |= what;
    if (strcmp(value, here) == 0)
        return 0;
    return hd_error(-EINVAL, "profile %s was measured with %s %s, this is %s; run: howdah tune", r->path, name, value,
                    here);
}

static int set_option(struct reader *r, char *rest)
{
    char key[80], where[192];
    char *space = strchr(rest, ' ');
    if (r->said != SAID_ALL)
        return wrong(r, "before the first set there must be howdah-profile, version, arch, link and device", "");
    if (!space)
        return wrong(r, "an option and a value must follow set, not", rest);
    *space = '\0';
    if (snprintf(key, sizeof(key), HD_KEY_PREFIX "%s", rest) >= (int)sizeof(key) || !hd_tuning_covers(key))
        return wrong(r, "a profile cannot set", rest);
    snprintf(where, sizeof(where), "profile %.180s", r->path);
    return hd_conf_offer(r->conf, key, space + 1, where, HD_FROM_PROFILE, NULL);
}

static int read_entry(struct reader *r, char *line)
{
    char here[48];
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = '\0';
    if (r->said == 0 && strcmp(line, "howdah-profile") != 0)
        return wrong(r, "it does not begin with howdah-profile, but", line);
    if (strcmp(line, "howdah-profile") == 0)
        return expect(r, SAID_MAGIC, "format", rest, "1");
    if (strcmp(line, "version") == 0)
        return expect(r, SAID_VERSION, "version", rest, hd_version());
    if (strcmp(line, "arch") == 0)
        return expect(r, SAID_ARCH, "architecture", rest, r->link->arch);
    if (strcmp(line, "device") == 0)
        return expect(r, SAID_DEVICE, "device", rest, r->link->model);
    snprintf(here, sizeof(here), "%s %u", r->link->kind, r->link->speed);
    if (strcmp(line, "link") == 0)
        return expect(r, SAID_LINK, "link", rest, here);
    if (strcmp(line, "measured") == 0)
        return 0;
    return strcmp(line, "set") == 0 ? set_option(r, rest) : wrong(r, "it is not known what this means:", line);
}

static int read_text(struct reader *r, char *text)
{
    for (char *next; text; text = next) {
        next = strchr(text, '\n');
        if (next)
            *next++ = '\0';
        r->line++;
        if (!text[0] || text[0] == '#')
            continue;
        int err = read_entry(r, text);
        if (err)
            return err;
    }
    return r->said == SAID_ALL ? 0 : wrong(r, "it ends before everything was said", "");
}

/* A file that others may write would let them decide what daemons do. */
static int check_file(const char *path, int fd, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st))
        return hd_error(-errno, "profile %s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size > PROFILE_MAX)
        return hd_error(-EINVAL, "profile %s is not a file of at most %d bytes", path, PROFILE_MAX);
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return hd_error(-EPERM, "profile %s can be written by others than root and this user; run: chmod go-w %s", path,
                        path);
    *size = (size_t)st.st_size;
    return 0;
}

static int load(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hd_error(-errno, "profile %s cannot be read: %s", path, strerror(errno));
    size_t length = 0, done = 0;
    ssize_t n = 0;
    int err = check_file(path, fd, &length);
    while (!err && done < size - 1 && (n = read(fd, text + done, size - 1 - done)) > 0)
        done += (size_t)n;
    if (!err && n < 0)
        err = hd_error(-errno, "profile %s cannot be read: %s", path, strerror(errno));
    close(fd);
    text[done] = '\0';
    if (!err && (done > PROFILE_MAX || strlen(text) != done))
        err = hd_error(-EINVAL, "profile %s is not a text of at most %d bytes; delete it, or run: howdah tune", path,
                       PROFILE_MAX);
    return err;
}

int hd_tuning_profile_read(const char *path, const struct hd_tuning_link *link, hd_conf *conf)
{
    char *text = malloc(PROFILE_MAX + 2);
    hd_conf *copy = malloc(sizeof(*copy));
    int err = text && copy ? load(path, text, PROFILE_MAX + 2) : hd_error(-ENOMEM, "out of memory");
    if (!err) {
        *copy = *conf;
        struct reader reader = {.path = path, .link = link, .conf = copy};
        err = read_text(&reader, text);
    }
    if (!err)
        *conf = *copy;
    free(copy);
    free(text);
    return err;
}

/* ---- where it is ---- */

/* @return false if there is no such place, or no room for its name. */
static bool file_in(const char *folder, const char *below, const struct hd_tuning_link *link, char *path, size_t size)
{
    char speed[16] = "";
    if (!folder || folder[0] != '/')
        return false;
    if (link->speed)
        snprintf(speed, sizeof(speed), "-%u", link->speed);
    int n = snprintf(path, size, "%s%s/howdah/tuning-%s-%s%s.profile", folder, below, link->arch, link->kind, speed);
    return n > 0 && (size_t)n < size;
}

int hd_tuning_profile_path(const hd_conf *conf, const struct hd_tuning_link *link, bool to_write, char *path,
                           size_t size)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *option = conf->tuning_profile;
    bool off = strcmp(option, "none") == 0, has_xdg = xdg && xdg[0] == '/';
    if (!off && strcmp(option, "auto") != 0) {
        int n = snprintf(path, size, "%s", option);
        return n >= 0 && (size_t)n < size ? 0 : hd_error(-ENOENT, "the name of the profile is too long");
    }
    if (off && !to_write) {
        path[0] = '\0';
        return 0;
    }
    bool own = has_xdg ? file_in(xdg, "", link, path, size) : file_in(getenv("HOME"), "/.config", link, path, size);
    if (to_write && own && (has_xdg || geteuid() != 0))
        return 0;
    if (!to_write && own && access(path, F_OK) == 0)
        return 0;
    bool common = file_in("/etc", "", link, path, size);
    if (to_write)
        return common && geteuid() == 0 ? 0 : hd_error(-ENOENT, "neither XDG_CONFIG_HOME nor HOME names a folder");
    if (!common || access(path, F_OK) != 0)
        path[0] = '\0';
    return 0;
}
