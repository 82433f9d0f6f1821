/* SPDX-License-Identifier: Apache-2.0 */
#include "config/conf.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <howdah/tuning.h>

#include "base/util.h"

extern char **environ;

struct row {
    struct hd_option pub;
    size_t at; /* of the value in struct hd_conf */
    int64_t min_int, max_int;
};

static char env_names[HD_OPT_COUNT][64];
static char ranges[HD_OPT_COUNT][64];

static struct row rows[HD_OPT_COUNT] = {
#define HD_OPTION(name, field, kind, def, lo, hi, text)                                                                \
    [HD_OPT_##field] = {.pub = {.key = HD_KEY_PREFIX name,                                                             \
                                .env = env_names[HD_OPT_##field],                                                      \
                                .type = HD_OPTION_##kind,                                                              \
                                .default_value = def,                                                                  \
                                .range = ranges[HD_OPT_##field],                                                       \
                                .help = text},                                                                         \
                        .at = offsetof(struct hd_conf, field),                                                         \
                        .min_int = lo,                                                                                 \
                        .max_int = hi},
#define HD_CHOICE(name, field, def, words, text)                                                                       \
    [HD_OPT_##field] = {.pub = {.key = HD_KEY_PREFIX name,                                                             \
                                .env = env_names[HD_OPT_##field],                                                      \
                                .type = HD_OPTION_ENUM,                                                                \
                                .default_value = def,                                                                  \
                                .range = words,                                                                        \
                                .help = text},                                                                         \
                        .at = offsetof(struct hd_conf, field)},
#define HD_TEXT(name, field, def, text)                                                                                \
    [HD_OPT_##field] = {.pub = {.key = HD_KEY_PREFIX name,                                                             \
                                .env = env_names[HD_OPT_##field],                                                      \
                                .type = HD_OPTION_TEXT,                                                                \
                                .default_value = def,                                                                  \
                                .range = "",                                                                           \
                                .help = text},                                                                         \
                        .at = offsetof(struct hd_conf, field)},
#include "config/options.def"
};

struct unit {
    const char *name;
    int64_t factor;
};

/* Largest first: printing takes the first that divides the value. */
static const struct unit size_units[] = {{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}, {"", 1}};
static const struct unit time_units[] = {{"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
                                         {"ms", 1000000},      {"us", 1000},       {"ns", 1}};

static const struct unit *units_of(enum hd_option_type type, size_t *count)
{
    static const struct unit none[] = {{"", 1}};
    *count = type == HD_OPTION_SIZE ? HD_COUNT(size_units) : type == HD_OPTION_TIME ? HD_COUNT(time_units) : 1;
    return type == HD_OPTION_SIZE ? size_units : type == HD_OPTION_TIME ? time_units : none;
}

static int print_units(enum hd_option_type type, int64_t value, char *text, size_t size)
{
    size_t count;
    const struct unit *units = units_of(type, &count);
    for (size_t i = 0; i < count; i++)
        if (value % units[i].factor == 0 && (value != 0 || i == count - 1))
            return snprintf(text, size, "%" PRId64 "%s", value / units[i].factor, units[i].name);
    return snprintf(text, size, "%" PRId64, value);
}

static void name_environment(const char *key, char *env, size_t size)
{
    int n = snprintf(env, size, HD_ENV_PREFIX);
    for (const char *p = key + strlen(HD_KEY_PREFIX); *p && n < (int)size - 1; p++)
        env[n++] = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
    env[n] = '\0';
}

__attribute__((constructor)) static void fill_table(void)
{
    for (size_t i = 0; i < HD_OPT_COUNT; i++) {
        struct row *row = &rows[i];
        name_environment(row->pub.key, env_names[i], sizeof(env_names[i]));
        if (row->pub.range != ranges[i])
            continue;
        char low[24], high[24];
        print_units(row->pub.type, row->min_int, low, sizeof(low));
        print_units(row->pub.type, row->max_int, high, sizeof(high));
        snprintf(ranges[i], sizeof(ranges[i]), "%s .. %s", low, high);
    }
}

const struct hd_option *hd_option_at(size_t i)
{
    return i < HD_OPT_COUNT ? &rows[i].pub : NULL;
}

static const struct row *find(const char *key)
{
    for (size_t i = 0; i < HD_OPT_COUNT; i++)
        if (strcmp(rows[i].pub.key, key) == 0)
            return &rows[i];
    return NULL;
}

/* Edit distance, capped by the longest name that can be an option. */
static size_t distance(const char *a, const char *b)
{
    size_t line[80], n = strlen(b);
    if (n >= HD_COUNT(line) || strlen(a) >= HD_COUNT(line))
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        line[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = line[0];
        line[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = line[j];
            size_t best = line[j] < line[j - 1] ? line[j] + 1 : line[j - 1] + 1;
            line[j] = replace < best ? replace : best;
        }
    }
    return line[n];
}

static const struct row *nearest(const char *name, bool env, size_t *how_far)
{
    const struct row *best = &rows[0];
    *how_far = SIZE_MAX;
    for (size_t i = 0; i < HD_OPT_COUNT; i++) {
        size_t d = distance(name, env ? rows[i].pub.env : rows[i].pub.key);
        if (d < *how_far) {
            *how_far = d;
            best = &rows[i];
        }
    }
    return best;
}

/* Takes ".digits" at *text. @return 0, or -EINVAL for no or too many digits. */
static int parse_fraction(char **text, int64_t *digits, int64_t *power)
{
    int count = 0;
    *digits = 0;
    *power = 1;
    if (**text != '.')
        return 0;
    for (++*text; isdigit((unsigned char)**text); ++*text, count++) {
        if (count >= 18)
            return -EINVAL;
        *digits = *digits * 10 + (**text - '0');
        *power *= 10;
    }
    return count ? 0 : -EINVAL;
}

/* (whole + digits / power) * factor, which must be whole. */
static int scale(int64_t whole, int64_t digits, int64_t power, bool negative, int64_t factor, int64_t *value)
{
    __int128 fraction = (__int128)digits * factor;
    if (fraction % power)
        return -EINVAL;
    int64_t part = (int64_t)(fraction / power);
    if (__builtin_mul_overflow(whole, factor, value) || __builtin_add_overflow(*value, negative ? -part : part, value))
        return -ERANGE;
    return 0;
}

/* A number with an optional unit; plain numbers are bytes or milliseconds. Fractions are allowed where the result is
 * whole: 1.5g, 0.5s. */
static int parse_units(const struct row *row, const char *text, int64_t *value)
{
    enum hd_option_type type = row->pub.type;
    size_t count;
    const struct unit *units = units_of(type, &count);
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (end == text || errno)
        return -EINVAL;
    int64_t digits, power, factor = 0;
    if (parse_fraction(&end, &digits, &power))
        return -EINVAL;
    while (*end == ' ')
        end++;
    if (*end == '\0')
        factor = type == HD_OPTION_TIME ? 1000000 : 1;
    for (size_t i = 0; i < count && *end; i++) {
        size_t n = strlen(units[i].name);
        const char *rest = end + n;
        if (n == 0 || strncasecmp(end, units[i].name, n) != 0)
            continue;
        if (type == HD_OPTION_SIZE && strcasecmp(rest, "b") == 0)
            rest++;
        if (*rest == '\0')
            factor = units[i].factor;
    }
    if (factor == 0)
        return -EINVAL;
    return scale(whole, digits, power, strchr(text, '-') != NULL, factor, value);
}

static int parse_bool(const char *text, int64_t *value)
{
    static const char *const words[] = {"false", "true", "no", "yes", "0", "1", "off", "on"};
    for (size_t i = 0; i < HD_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0) {
            *value = (int64_t)(i & 1);
            return 0;
        }
    return -EINVAL;
}

static int parse_choice(const struct row *row, const char *text, int64_t *value)
{
    size_t n = strlen(text);
    int64_t index = 0;
    for (const char *word = row->pub.range; n && word; index++) {
        const char *bar = strchr(word, '|');
        size_t length = bar ? (size_t)(bar - word) : strlen(word);
        if (length == n && strncasecmp(word, text, n) == 0) {
            *value = index;
            return 0;
        }
        word = bar ? bar + 1 : NULL;
    }
    return -EINVAL;
}

static int parse_rate(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || isnan(*value))
        return -EINVAL;
    return *value < 0 || *value > 1 ? -ERANGE : 0;
}

static int store_number(const struct row *row, void *at, const char *text)
{
    int64_t value = 0;
    int err = row->pub.type == HD_OPTION_BOOL   ? parse_bool(text, &value)
              : row->pub.type == HD_OPTION_ENUM ? parse_choice(row, text, &value)
                                                : parse_units(row, text, &value);
    if (err)
        return err;
    if (row->pub.type != HD_OPTION_ENUM && (value < row->min_int || value > row->max_int))
        return -ERANGE;
    if (row->pub.type == HD_OPTION_BOOL)
        *(bool *)at = value != 0;
    else if (row->pub.type == HD_OPTION_ENUM)
        *(int *)at = (int)value;
    else if (row->pub.type == HD_OPTION_SIZE)
        *(size_t *)at = (size_t)value;
    else
        *(int64_t *)at = value;
    return 0;
}

static int store(struct hd_conf *conf, const struct row *row, const char *text)
{
    void *at = (char *)conf + row->at;
    if (row->pub.type == HD_OPTION_TEXT) {
        if (strlen(text) >= HD_TEXT_MAX)
            return -ERANGE;
        strcpy(at, text);
        return 0;
    }
    if (row->pub.type == HD_OPTION_RATE) {
        double rate;
        int err = parse_rate(text, &rate);
        if (!err)
            *(double *)at = rate;
        return err;
    }
    return store_number(row, at, text);
}

static int set_row(struct hd_conf *conf, const struct row *row, const char *name, const char *value, const char *where,
                   enum hd_conf_level level)
{
    int err = store(conf, row, value);
    if (err == -ERANGE)
        return hd_error(err, "%s=%s (from %s) is out of range: %s", name, value, where,
                        row->pub.type == HD_OPTION_TEXT ? "at most 255 characters" : row->pub.range);
    if (err)
        return hd_error(err, "%s=%s (from %s) is not a value of this option; it takes %s, for example %s", name, value,
                        where, row->pub.range, row->pub.default_value);
    snprintf(conf->origin[row - rows], sizeof(conf->origin[0]), "%s", where);
    conf->level[row - rows] = (uint8_t)level;
    conf->reason[row - rows] = NULL;
    return 0;
}

hd_conf *hd_conf_create(void)
{
    struct hd_conf *conf = calloc(1, sizeof(*conf));
    if (!conf)
        return NULL;
    hd_conf_reset(conf, HD_FROM_EXPLICIT);
    return conf;
}

void hd_conf_reset(hd_conf *conf, enum hd_conf_level level)
{
    for (size_t i = 0; i < HD_OPT_COUNT; i++)
        if (conf->level[i] <= level &&
            set_row(conf, &rows[i], rows[i].pub.key, rows[i].pub.default_value, "default", HD_FROM_DEFAULT))
            abort(); /* a default outside of its own range: found by the first test that runs */
}

void hd_conf_destroy(hd_conf *conf)
{
    free(conf);
}

int hd_conf_set(hd_conf *conf, const char *key, const char *value, const char *where)
{
    if (!conf || !key || !value)
        return hd_error(-EINVAL, "conf, key and value are needed");
    const struct row *row = find(key);
    if (row)
        return set_row(conf, row, key, value, where ? where : "the program",
                       conf->environment_read ? HD_FROM_EXPLICIT : HD_FROM_CONFIGURATION);
    size_t how_far;
    row = nearest(key, false, &how_far);
    return hd_error(-ENOENT, "%s (from %s) is not an option; the nearest one is %s", key, where ? where : "the program",
                    row->pub.key);
}

int hd_conf_offer(hd_conf *conf, const char *key, const char *value, const char *where, enum hd_conf_level level,
                  const char *reason)
{
    const struct row *row = find(key);
    if (!row)
        return hd_error(-ENOENT, "%s (from %s) is not an option", key, where);
    if (conf->level[row - rows] > level)
        return 0;
    int err = set_row(conf, row, key, value, where, level);
    if (!err)
        conf->reason[row - rows] = reason;
    return err;
}

/* The scripts around us have HOWDAH_ variables of their own; only what is nearly an option is taken for a mistake. */
static int read_variable(hd_conf *conf, const char *name, const char *value)
{
    for (size_t i = 0; i < HD_OPT_COUNT; i++)
        if (strcmp(rows[i].pub.env, name) == 0)
            return set_row(conf, &rows[i], name, value, "the environment", HD_FROM_ENVIRONMENT);
    size_t how_far;
    const struct row *row = nearest(name, true, &how_far);
    if (how_far > 2)
        return 0;
    return hd_error(-ENOENT, "%s (from the environment) is not an option; the nearest one is %s", name, row->pub.env);
}

int hd_conf_read_environment(hd_conf *conf)
{
    conf->environment_read = true;
    for (char **entry = environ; *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        char name[80];
        if (!equals || strncmp(*entry, HD_ENV_PREFIX, strlen(HD_ENV_PREFIX)) != 0 ||
            (size_t)(equals - *entry) >= sizeof(name))
            continue;
        memcpy(name, *entry, (size_t)(equals - *entry));
        name[equals - *entry] = '\0';
        int err = read_variable(conf, name, equals + 1);
        if (err)
            return err;
    }
    return 0;
}

static int print_choice(const struct row *row, int index, char *text, size_t size)
{
    const char *word = row->pub.range;
    for (; index > 0; index--)
        word = strchr(word, '|') + 1;
    return snprintf(text, size, "%.*s", (int)strcspn(word, "|"), word);
}

int hd_conf_get(const hd_conf *conf, const char *key, char *text, size_t size)
{
    const struct row *row = find(key);
    if (!row)
        return hd_error(-ENOENT, "%s is not an option", key);
    const void *at = (const char *)conf + row->at;
    int n = 0;
    switch (row->pub.type) {
    case HD_OPTION_BOOL:
        n = snprintf(text, size, "%s", *(const bool *)at ? "true" : "false");
        break;
    case HD_OPTION_RATE:
        n = snprintf(text, size, "%g", *(const double *)at);
        break;
    case HD_OPTION_ENUM:
        n = print_choice(row, *(const int *)at, text, size);
        break;
    case HD_OPTION_TEXT:
        n = snprintf(text, size, "%s", (const char *)at);
        break;
    case HD_OPTION_SIZE:
        n = print_units(row->pub.type, (int64_t) * (const size_t *)at, text, size);
        break;
    case HD_OPTION_INT:
    case HD_OPTION_TIME:
        n = print_units(row->pub.type, *(const int64_t *)at, text, size);
        break;
    }
    return n >= 0 && (size_t)n < size ? n : hd_error(-ENOSPC, "%s needs %d characters", key, n + 1);
}

const char *hd_conf_origin(const hd_conf *conf, const char *key)
{
    const struct row *row = find(key);
    return row ? conf->origin[row - rows] : NULL;
}

const char *hd_conf_reason(const hd_conf *conf, const char *key)
{
    const struct row *row = find(key);
    return row ? conf->reason[row - rows] : NULL;
}
