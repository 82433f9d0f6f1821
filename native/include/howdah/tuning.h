/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_TUNING_H
#define HOWDAH_TUNING_H

/** @file
 * Defaults that depend on the machine. An option's value comes from the last of these that says something:
 *
 *   built-in default < tuning table < profile file < configuration < environment < explicit
 *
 * The table (src/config/tuning.def) goes by architecture, kind and speed of the link at hand. A profile is what `howdah
 * tune` measured; the option tuning.profile says where it is. Configuration is what hd_conf_set() is told before
 * hd_conf_read_environment(), explicit what it is told after. hd_engine_create() does all of this by itself.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the values depend on. */
struct hd_tuning_link {
    size_t size;
    char arch[16];   /**< x86_64, power8, power9, other */
    char kind[16];   /**< ib, roce, soft (a software device: rxe, siw), udapl, udapl-soft, shm (no RDMA) */
    char device[64]; /**< mlx5_0; "" with shm */
    char model[64];  /**< what the device says of itself (MT4119); "-" if nothing, or with shm */
    unsigned speed;  /**< Gb/s of the port, rounded down; 0: not known, or shm */
};

/** The link at hand: the first active port of this machine, or of the device that the configuration names, as the
 *  kernel tells it and as the transport verbs takes it; shm if there is none or the option transport excludes RDMA.
 * Nothing is opened.
 *  @return -EINVAL for a structure of another version. */
HD_API int hd_tuning_link_find(const hd_conf *conf, struct hd_tuning_link *link);

/** Applies table and profile to the options that nobody has set. May be called again after the configuration has
 * changed. `note` gets what the user should know ("" if nothing): a profile that was found by itself and does not fit
 * is left out and named here.
 *  @return 0, or the error of a profile that the configuration names: -ENOENT, -EINVAL (malformed, or for another
 *  machine or version), -EPERM (others than root and the user can write it). */
HD_API int hd_conf_tune(hd_conf *conf, char *note, size_t size);

/** Why the tuning table has the value in force; NULL if the value is not from there. */
HD_API const char *hd_conf_reason(const hd_conf *conf, const char *key);

/** Whether profiles may set this option. */
HD_API bool hd_tuning_covers(const char *key);

/** Where the profile for this link is read from (`to_write` false: the first file that exists; "" if none does), or
 * should be written to: the option tuning.profile, else howdah/tuning-ARCH-KIND[-SPEED].profile in $XDG_CONFIG_HOME (or
 * ~/.config), else in /etc. Root writes to /etc if XDG_CONFIG_HOME is not set. @return -ENOENT: no place to write to.
 */
HD_API int hd_tuning_profile_path(const hd_conf *conf, const struct hd_tuning_link *link, bool to_write, char *path,
                                  size_t size);

/** Reads a profile into the options that nobody has set, all or nothing. Errors as hd_conf_tune(). */
HD_API int hd_tuning_profile_read(const char *path, const struct hd_tuning_link *link, hd_conf *conf);

#ifdef __cplusplus
}
#endif

#endif
