/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_CONF_H
#define HD_CONF_H

/* struct hd_conf as the engine reads it: one typed member per row of options.def. */

#include <howdah/conf.h>

#define HD_KEY_PREFIX "hadoop.rdma."
#define HD_ENV_PREFIX "HOWDAH_"
#define HD_TEXT_MAX   256

enum hd_transport_choice { HD_TR_AUTO, HD_TR_VERBS, HD_TR_UDAPL, HD_TR_SHM, HD_TR_SELF, HD_TR_TCP };
enum hd_link_layer { HD_LAYER_ANY, HD_LAYER_INFINIBAND, HD_LAYER_ETHERNET };
enum hd_huge_choice { HD_HUGE_AUTO, HD_HUGE_ALWAYS, HD_HUGE_NEVER };

enum hd_option_index {
#define HD_OPTION(name, field, type, def, min, max, help) HD_OPT_##field,
#define HD_CHOICE(name, field, def, words, help)          HD_OPT_##field,
#define HD_TEXT(name, field, def, help)                   HD_OPT_##field,
#include "config/options.def"
    HD_OPT_COUNT
};

#define HD_TYPE_INT  int64_t
#define HD_TYPE_SIZE size_t
#define HD_TYPE_TIME int64_t
#define HD_TYPE_BOOL bool
#define HD_TYPE_RATE double

struct hd_conf {
#define HD_OPTION(name, field, type, def, min, max, help) HD_TYPE_##type field;
#define HD_CHOICE(name, field, def, words, help)          int field;
#define HD_TEXT(name, field, def, help)                   char field[HD_TEXT_MAX];
#include "config/options.def"
    char origin[HD_OPT_COUNT][192];
    const char *reason[HD_OPT_COUNT]; /* of values from the tuning table, else NULL */
    uint8_t level[HD_OPT_COUNT];      /* enum hd_conf_level */
    bool environment_read;
};

/* Where a value may come from, in rising precedence. */
enum hd_conf_level {
    HD_FROM_DEFAULT,
    HD_FROM_TABLE,
    HD_FROM_PROFILE,
    HD_FROM_CONFIGURATION,
    HD_FROM_ENVIRONMENT,
    HD_FROM_EXPLICIT
};

/* Sets an option unless its value comes from a higher level. `reason` is not copied. Errors as hd_conf_set(). */
int hd_conf_offer(hd_conf *conf, const char *key, const char *value, const char *where, enum hd_conf_level level,
                  const char *reason);

/* Puts every option whose value comes from this level or below back to its default. */
void hd_conf_reset(hd_conf *conf, enum hd_conf_level level);

#endif
