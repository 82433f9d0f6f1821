/* SPDX-License-Identifier: Apache-2.0 */

/* Shows the option table: what there is, what is in force, and where it was read. */

#include <stdio.h>
#include <string.h>

#include <howdah/conf.h>
#include <howdah/tuning.h>

static const char *const type_names[] = {"int", "size", "time", "bool", "rate", "enum", "text"};

static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void print_json(const hd_conf *conf)
{
    const struct hd_option *option;
    puts("[");
    for (size_t i = 0; (option = hd_option_at(i)); i++) {
        char value[512] = "";
        hd_conf_get(conf, option->key, value, sizeof(value));
        const char *fields[][2] = {{"key", option->key},
                                   {"env", option->env},
                                   {"type", type_names[option->type]},
                                   {"default", option->default_value},
                                   {"range", option->range},
                                   {"value", value},
                                   {"origin", hd_conf_origin(conf, option->key)},
                                   {"help", option->help},
                                   {"reason", hd_conf_reason(conf, option->key)}};
        printf("%s  {", i ? ",\n" : "");
        for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]) && fields[f][1]; f++) {
            printf("%s\"%s\": ", f ? ", " : "", fields[f][0]);
            print_json_text(fields[f][1]);
        }
        printf("}");
    }
    puts("\n]");
}

static void print_table(const hd_conf *conf, bool explain)
{
    const struct hd_option *option;
    for (size_t i = 0; (option = hd_option_at(i)); i++) {
        char value[512] = "";
        hd_conf_get(conf, option->key, value, sizeof(value));
        printf("%-36s %-10s (%s)\n", option->key, value, hd_conf_origin(conf, option->key));
        const char *reason = hd_conf_reason(conf, option->key);
        if (explain && reason)
            printf("    why here: %s\n", reason);
        if (explain)
            printf("    %s\n    %s, default %s%s%s; %s\n\n", option->help, type_names[option->type],
                   option->default_value, option->range[0] ? ", " : "", option->range, option->env);
    }
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0, explain = argc == 2 && strcmp(argv[1], "--explain") == 0;
    if (argc > 2 || (argc == 2 && !json && !explain)) {
        fprintf(stderr, "usage: howdah-conf [--explain | --json]\n");
        return 2;
    }
    char note[600] = "";
    hd_conf *conf = hd_conf_create();
    if (!conf || hd_conf_read_environment(conf) || hd_conf_tune(conf, note, sizeof(note))) {
        fprintf(stderr, "howdah-conf: %s\n", hd_last_error());
        hd_conf_destroy(conf);
        return 1;
    }
    if (note[0])
        fprintf(stderr, "howdah-conf: %s\n", note);
    if (json)
        print_json(conf);
    else
        print_table(conf, explain);
    hd_conf_destroy(conf);
    return 0;
}
