/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_CONF_H
#define HOWDAH_CONF_H

/** @file
 * Options. There is one table of them (src/config/options.def); keys, types, ranges, environment names, documentation
 * and the Java constants come from it. An option `chunk.size` is the key `hadoop.rdma.chunk.size` and the environment
 * variable `HOWDAH_CHUNK_SIZE`.
 *
 * A bad value is refused with -EINVAL (not of the type) or -ERANGE, and the error names option, value, range and
 * where it was read. Nothing is clamped. A hd_conf must not be used by two threads at once.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hd_option_type {
    HD_OPTION_INT,
    HD_OPTION_SIZE, /**< bytes; accepts k, m, g suffixes (powers of 1024) */
    HD_OPTION_TIME, /**< nanoseconds; accepts ns, us, ms, s, m, h suffixes, plain numbers are milliseconds */
    HD_OPTION_BOOL,
    HD_OPTION_RATE, /**< a probability between 0 and 1 */
    HD_OPTION_ENUM, /**< one of a list of words */
    HD_OPTION_TEXT
};

/** One row of the option table. The texts live as long as the library. */
struct hd_option {
    const char *key; /**< hadoop.rdma.chunk.size */
    const char *env; /**< HOWDAH_CHUNK_SIZE */
    enum hd_option_type type;
    const char *default_value; /**< as a user would write it */
    const char *range;         /**< "4k .. 64m", or the words of an enum separated by | */
    const char *help;
};

/** Row `i` of the option table, NULL behind the last. */
HD_API const struct hd_option *hd_option_at(size_t i);

/** All options at their defaults. NULL only without memory. */
HD_API hd_conf *hd_conf_create(void);
HD_API void hd_conf_destroy(hd_conf *conf);

/** Sets an option by key. Before hd_conf_read_environment() this is configuration, which the environment overrides;
 *  after it it is explicit and overrides the environment (howdah/tuning.h has the whole order). `where` says where the
 * value was read ("core-site.xml"), for errors and hd_conf_origin().
 *  @return -ENOENT for an unknown key (the error has the nearest match), -EINVAL, -ERANGE. */
HD_API int hd_conf_set(hd_conf *conf, const char *key, const char *value, const char *where);

/** Takes every HOWDAH_* variable of the environment that names an option; unknown ones that look like a misspelt
 *  option are refused like an unknown key. */
HD_API int hd_conf_read_environment(hd_conf *conf);

/** The value in force, as a user would write it. @return length, or -ENOENT, or -ENOSPC if `size` is too small. */
HD_API int hd_conf_get(const hd_conf *conf, const char *key, char *text, size_t size);

/** Where the value in force was read; "default" if nowhere. NULL for an unknown key. */
HD_API const char *hd_conf_origin(const hd_conf *conf, const char *key);

#ifdef __cplusplus
}
#endif

#endif
