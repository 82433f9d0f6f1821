/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>

#include "config/conf.h"
#include "support.h"

static void the_table_is_sound(void **state)
{
    (void)state;
    const struct hd_option *option;
    hd_conf *conf = hd_conf_create();
    size_t count = 0;
    for (; (option = hd_option_at(count)); count++) {
        assert_int_equal(strncmp(option->key, "hadoop.rdma.", 12), 0);
        assert_int_equal(strncmp(option->env, "HOWDAH_", 7), 0);
        assert_true(strlen(option->help) > 20);
        assert_int_equal(option->help[strlen(option->help) - 1], '.');
        for (const char *p = option->env; *p; p++)
            assert_true(isupper((unsigned char)*p) || *p == '_');
        char value[300]; /* a printed default reads back as itself */
        assert_ok(hd_conf_get(conf, option->key, value, sizeof(value)));
        assert_ok(hd_conf_set(conf, option->key, value, "test"));
        assert_string_equal(hd_conf_origin(conf, option->key), "test");
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(hd_option_at(i)->key, option->key);
    }
    assert_int_equal(count, HD_OPT_COUNT);
    hd_conf_destroy(conf);
}

static void values_are_read(void **state)
{
    (void)state;
    struct hd_conf *conf = hd_conf_create();
    static const struct {
        const char *key, *text, *printed;
    } good[] = {
        {"chunk.size", "1048576", "1m"},
        {"chunk.size", "64k", "64k"},
        {"chunk.size", "64 KB", "64k"},
        {"chunk.size", "5000", "5000"},
        {"poll.spin", "50us", "50us"},
        {"poll.spin", "1", "1ms"},
        {"poll.spin", "0", "0ns"},
        {"connect.timeout", "90s", "90s"},
        {"link.idle.timeout", "2h", "2h"},
        {"frame.checksum", "TRUE", "true"},
        {"frame.checksum", "off", "false"},
        {"transport", "SHM", "shm"},
        {"fault.drop.rate", "0.25", "0.25"},
        {"stats.dir", "", ""},
        {"chunk.depth", "7", "7"},
        {"memory.limit", "16g", "16g"},
        {"memory.limit", "1.5g", "1536m"},
        {"chunk.size", "4.5 KB", "4608"},
        {"connect.timeout", "0.5s", "500ms"},
        {"poll.spin", "2.5", "2500us"},
        {"poll.spin", "0.000000001s", "1ns"},
        {"chunk.depth", "8.0", "8"},
        {"chunk.depth", "7", "7"},
        {"memory.limit", "16g", "16g"},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char key[80], value[80];
        snprintf(key, sizeof(key), "hadoop.rdma.%s", good[i].key);
        assert_ok(hd_conf_set(conf, key, good[i].text, "test"));
        assert_ok(hd_conf_get(conf, key, value, sizeof(value)));
        assert_string_equal(value, good[i].printed);
    }
    assert_int_equal(conf->chunk_depth, 7);
    assert_int_equal(conf->transport, HD_TR_SHM);
    assert_int_equal(conf->memory_limit, (size_t)16 << 30);
    hd_conf_destroy(conf);
}

static void bad_values_are_refused_in_words(void **state)
{
    (void)state;
    struct hd_conf *conf = hd_conf_create();
    static const struct {
        const char *key, *text;
        int error;
    } bad[] = {
        {"chunk.size", "12q", -EINVAL},
        {"chunk.size", "", -EINVAL},
        {"chunk.size", "k", -EINVAL},
        {"chunk.size", "5000.5", -EINVAL}, /* half a byte */
        {"chunk.size", "5.m", -EINVAL},
        {"chunk.size", "1.5.5m", -EINVAL},
        {"chunk.size", "1.0000000000000000001m", -EINVAL},
        {"chunk.size", "-0.5m", -ERANGE},
        {"chunk.depth", "1.5", -EINVAL},
        {"memory.limit", "9223372036854775807.5k", -ERANGE},
        {"chunk.size", "100", -ERANGE},
        {"chunk.size", "1g", -ERANGE},
        {"chunk.size", "-5", -ERANGE},
        {"chunk.size", "99999999999999999999", -EINVAL},
        {"memory.limit", "9000000000g", -ERANGE},
        {"poll.spin", "2 parsecs", -EINVAL},
        {"frame.checksum", "perhaps", -EINVAL},
        {"transport", "pigeon", -EINVAL},
        {"transport", "", -EINVAL},
        {"fault.drop.rate", "1.5", -ERANGE},
        {"fault.drop.rate", "nan", -EINVAL},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char key[80], before[80], after[80];
        snprintf(key, sizeof(key), "hadoop.rdma.%s", bad[i].key);
        assert_ok(hd_conf_get(conf, key, before, sizeof(before)));
        assert_int_equal(hd_conf_set(conf, key, bad[i].text, "core-site.xml"), bad[i].error);
        assert_non_null(strstr(hd_last_error(), key));
        assert_non_null(strstr(hd_last_error(), bad[i].text));
        assert_non_null(strstr(hd_last_error(), "core-site.xml"));
        assert_ok(hd_conf_get(conf, key, after, sizeof(after)));
        assert_string_equal(before, after);
    }
    hd_conf_set(conf, "hadoop.rdma.chunk.size", "100", "x");
    assert_non_null(strstr(hd_last_error(), "4k .. 64m"));
    hd_conf_set(conf, "hadoop.rdma.transport", "pigeon", "x");
    assert_non_null(strstr(hd_last_error(), "auto|verbs"));
    hd_conf_destroy(conf);
}

static void unknown_names_get_the_nearest(void **state)
{
    (void)state;
    hd_conf *conf = hd_conf_create();
    assert_int_equal(hd_conf_set(conf, "hadoop.rdma.chunk.sise", "1m", "x.xml"), -ENOENT);
    assert_non_null(strstr(hd_last_error(), "nearest one is hadoop.rdma.chunk.size"));
    char monster[5000];
    memset(monster, 'x', sizeof(monster) - 1);
    monster[sizeof(monster) - 1] = '\0';
    assert_int_equal(hd_conf_set(conf, monster, "1", "x.xml"), -ENOENT);
    assert_int_equal(hd_conf_get(conf, "nonsense", monster, 10), -ENOENT);
    assert_int_equal(hd_conf_get(conf, "hadoop.rdma.stats.dir", monster, 3), -ENOSPC);
    hd_conf_destroy(conf);
}

static void the_environment_overrides(void **state)
{
    (void)state;
    hd_conf *conf = hd_conf_create();
    char value[40];
    setenv("HOWDAH_CHUNK_SIZE", "1m", 1);
    setenv("HOWDAH_HOME", "/opt/howdah", 1); /* not an option, and not like one */
    assert_ok(hd_conf_read_environment(conf));
    assert_ok(hd_conf_get(conf, "hadoop.rdma.chunk.size", value, sizeof(value)));
    assert_string_equal(value, "1m");
    assert_string_equal(hd_conf_origin(conf, "hadoop.rdma.chunk.size"), "the environment");
    setenv("HOWDAH_CHUNK_SIZE", "1", 1);
    assert_int_equal(hd_conf_read_environment(conf), -ERANGE);
    assert_non_null(strstr(hd_last_error(), "HOWDAH_CHUNK_SIZE=1 (from the environment)"));
    setenv("HOWDAH_CHUNK_SIZE", "1m", 1);
    setenv("HOWDAH_CHUNK_DEPHT", "1", 1);
    assert_int_equal(hd_conf_read_environment(conf), -ENOENT);
    assert_non_null(strstr(hd_last_error(), "HOWDAH_CHUNK_DEPTH"));
    unsetenv("HOWDAH_CHUNK_SIZE");
    unsetenv("HOWDAH_CHUNK_DEPHT");
    hd_conf_destroy(conf);
}

static void a_transport_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    hd_conf *conf = hd_conf_create();
    hd_engine *engine;
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    assert_ok(hd_conf_set(conf, "hadoop.rdma.transport", "udapl", "test"));
    assert_int_equal(hd_engine_create(&params, &engine), -EINVAL);
    assert_non_null(strstr(hd_last_error(), "udapl"));
    hd_conf_destroy(conf);
}

/* What auto leaves out has a cause of its own; the option is to blame only for what it excludes. */
static void a_transport_that_is_left_out_says_why(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        test_transport = named ? "shm" : "auto";
        hd_engine *engine = test_engine(NULL);
        const char *name, *why;
        for (size_t i = 0; (name = hd_engine_transport(engine, i, &why)); i++) {
            bool switched_off = strstr(why, "switched off") != NULL;
            assert_true(named || !switched_off);
            if (strcmp(name, "self") == 0)
                assert_true(switched_off == named);
            if (strcmp(name, "shm") == 0)
                assert_string_equal(why, "");
        }
        hd_engine_destroy(engine);
    }
    test_transport = "auto";
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(bad_values_are_refused_in_words),
        cmocka_unit_test(unknown_names_get_the_nearest),
        cmocka_unit_test(the_environment_overrides),
        cmocka_unit_test(a_transport_that_is_not_there_is_an_error),
        cmocka_unit_test(a_transport_that_is_left_out_says_why),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
