/* SPDX-License-Identifier: Apache-2.0 */

/* The tuning table, profiles, and which value wins. */

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"
#include "config/tuning.h"

static char folder[] = "/tmp/howdah-tuning-XXXXXX";

__attribute__((format(printf, 2, 3))) static void make_file(const char *text, const char *format, ...)
{
    char path[600];
    va_list args;
    va_start(args, format);
    int n = snprintf(path, sizeof(path), "%s/", folder);
    vsnprintf(path + n, sizeof(path) - (size_t)n, format, args);
    va_end(args);
    for (char *slash = path + n; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0755);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, 0644), 0);
}

/* A device as sysfs shows it, below `root`. */
static void make_device(const char *root, const char *bus, const char *name, const char *layer, const char *state,
                        const char *rate)
{
    char from[300], to[300];
    make_file("MT4119\n", "%s/devices/%s/%s/hca_type", root, bus, name);
    make_file(state, "%s/devices/%s/%s/ports/1/state", root, bus, name);
    make_file(layer, "%s/devices/%s/%s/ports/1/link_layer", root, bus, name);
    make_file(rate, "%s/devices/%s/%s/ports/1/rate", root, bus, name);
    make_file("", "%s/class/infiniband/.keep", root);
    snprintf(from, sizeof(from), "../../devices/%s/%s", bus, name);
    snprintf(to, sizeof(to), "%s/%s/class/infiniband/%s", folder, root, name);
    assert_int_equal(symlink(from, to), 0);
}

static struct hd_tuning_link look_for(const char *root, const char *wanted, enum hd_link_layer layer)
{
    char path[200];
    struct hd_tuning_link link = {.size = sizeof(link), .kind = "shm", .model = "-"};
    snprintf(path, sizeof(path), "%s/%s", folder, root);
    hd_tuning_look(path, wanted, layer, &link);
    return link;
}

static struct hd_tuning_link look(const char *root, const char *wanted)
{
    return look_for(root, wanted, HD_LAYER_ANY);
}

static void assert_link(struct hd_tuning_link link, const char *kind, const char *device, unsigned speed)
{
    assert_string_equal(link.kind, kind);
    assert_string_equal(link.device, device);
    assert_int_equal(link.speed, speed);
}

static void the_link_at_hand_is_the_first_active_port(void **state)
{
    (void)state;
    assert_link(look("nothing", NULL), "shm", "", 0);
    make_device("down", "pci0", "mlx5_0", "InfiniBand\n", "1: DOWN\n", "100 Gb/sec (4X EDR)\n");
    assert_link(look("down", NULL), "shm", "", 0);
    make_device("soft", "virtual", "rxe0", "Ethernet\n", "4: ACTIVE\n", "2.5 Gb/sec (1X SDR)\n");
    assert_link(look("soft", NULL), "soft", "rxe0", 2);
    make_device("many", "pci9", "odd0", "Unspecified\n", "4: ACTIVE\n", "800 Gb/sec\n");
    make_device("many", "pci8", "mlx4_0", "InfiniBand\n", "2: INIT\n", "40 Gb/sec (4X QDR)\n");
    make_device("many", "pci0", "mlx5_0", "Ethernet\n", "4: ACTIVE\n", "25 Gb/sec (1X EDR)\n");
    make_device("many", "pci1", "mlx5_1", "InfiniBand\n", "4: ACTIVE\n", "56 Gb/sec (4X FDR)\n");
    make_device("many", "pci2", "mlx5_10", "InfiniBand\n", "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n");
    make_device("many", "virtual", "rxe0", "Ethernet\n", "4: ACTIVE\n", "400 Gb/sec\n");
    assert_link(look("many", NULL), "roce", "mlx5_0", 25);
    assert_link(look("many", ""), "roce", "mlx5_0", 25);
    assert_link(look("many", "mlx5_1"), "ib", "mlx5_1", 56);
    assert_link(look("many", "mlx5_1:1"), "ib", "mlx5_1", 56);
    assert_link(look("many", "mlx5_10"), "ib", "mlx5_10", 200);
    assert_link(look("many", "mlx5_9"), "shm", "", 0);
    assert_string_equal(look("many", NULL).model, "MT4119");
    assert_link(look_for("many", NULL, HD_LAYER_INFINIBAND), "ib", "mlx5_1", 56);
    assert_link(look_for("many", NULL, HD_LAYER_ETHERNET), "roce", "mlx5_0", 25);
    assert_link(look_for("many", "mlx5_1", HD_LAYER_ETHERNET), "shm", "", 0);
    assert_link(look_for("soft", NULL, HD_LAYER_INFINIBAND), "shm", "", 0);
}

static const char *value(const hd_conf *conf, const char *name)
{
    static char text[300];
    char key[80];
    snprintf(key, sizeof(key), "hadoop.rdma.%s", name);
    assert_ok(hd_conf_get(conf, key, text, sizeof(text)));
    return text;
}

static struct hd_tuning_link a_link(const char *arch, const char *kind, unsigned speed)
{
    struct hd_tuning_link link = {.size = sizeof(link), .model = "MT4119", .speed = speed};
    snprintf(link.arch, sizeof(link.arch), "%s", arch);
    snprintf(link.kind, sizeof(link.kind), "%s", kind);
    return link;
}

static void the_table_goes_by_machine_and_link(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *kind;
        unsigned speed;
        const char *eager, *chunk, *threads, *spin;
    } cases[] = {
        {"x86_64", "shm", 0, "32k", "512k", "1", "20us"},       {"x86_64", "soft", 2, "32k", "512k", "1", "2ms"},
        {"x86_64", "roce", 10, "64k", "256k", "1", "20us"},     {"x86_64", "roce", 40, "32k", "512k", "2", "20us"},
        {"x86_64", "ib", 56, "32k", "512k", "2", "20us"},       {"x86_64", "ib", 100, "16k", "512k", "2", "20us"},
        {"x86_64", "ib", 400, "16k", "1m", "2", "20us"},        {"power8", "ib", 100, "16k", "512k", "6", "50us"},
        {"power9", "ib", 100, "16k", "512k", "4", "50us"},      {"power8", "shm", 0, "32k", "512k", "1", "50us"},
        {"other", "ib", 100, "16k", "512k", "1", "20us"},       {"x86_64", "udapl", 0, "32k", "512k", "1", "20us"},
        {"x86_64", "udapl-soft", 2, "32k", "512k", "1", "2ms"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hd_conf *conf = hd_conf_create();
        struct hd_tuning_link link = a_link(cases[i].arch, cases[i].kind, cases[i].speed);
        assert_ok(hd_tuning_apply_table(conf, &link));
        assert_string_equal(value(conf, "eager.threshold"), cases[i].eager);
        assert_string_equal(value(conf, "chunk.size"), cases[i].chunk);
        assert_string_equal(value(conf, "communication.threads"), cases[i].threads);
        assert_string_equal(value(conf, "poll.spin"), cases[i].spin);
        hd_conf_destroy(conf);
    }
}

static void every_row_is_sound_and_has_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *kind;
        unsigned speed;
        const char *key, *value, *why;
    } rows[] = {
#define HD_TUNE(arch, kind, speed, option, value, why) {arch, kind, speed, "hadoop.rdma." option, value, why},
#include "config/tuning.def"
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hd_conf *conf = hd_conf_create();
        assert_ok(hd_conf_set(conf, rows[i].key, rows[i].value, "tuning.def"));
        assert_true(strlen(rows[i].why) > 20 && strchr(rows[i].why, ':'));
        hd_conf_destroy(conf);
        for (size_t j = 0; j < i; j++) /* the last row that fits holds: it must be the faster link's */
            if (!strcmp(rows[j].key, rows[i].key) && !strcmp(rows[j].arch, rows[i].arch))
                assert_true(rows[j].speed <= rows[i].speed);
    }
}

#define HEAD "howdah-profile 1\nversion 0.1\narch x86_64\nlink ib 100\ndevice MT4119\n"

static int read_profile(hd_conf *conf, const char *text)
{
    char path[200];
    struct hd_tuning_link link = a_link("x86_64", "ib", 100);
    make_file(text, "a.profile");
    snprintf(path, sizeof(path), "%s/a.profile", folder);
    return hd_tuning_profile_read(path, &link, conf);
}

/* Reads it; the error must be of a kind and hold some words, and nothing may have been set. */
static void bad_profile(const char *text, int error, const char *words)
{
    hd_conf *conf = hd_conf_create();
    assert_int_equal(read_profile(conf, text), error);
    if (!strstr(hd_last_error(), words) || !strstr(hd_last_error(), "a.profile"))
        fail_msg("%s: %s", words, hd_last_error());
    assert_string_equal(value(conf, "chunk.size"), "512k");
    hd_conf_destroy(conf);
}

static void bad_profiles_are_refused_in_words(void **state)
{
    (void)state;
    bad_profile("", -EINVAL, "ends before");
    bad_profile("hello\n", -EINVAL, "line 1");
    bad_profile("howdah-profile 2\n", -EINVAL, "format 2, this is 1");
    bad_profile("howdah-profile 1\nversion 9.9\n", -EINVAL, "version 9.9, this is 0.1");
    bad_profile("howdah-profile 1\nversion 0.1\narch power8\n", -EINVAL, "architecture power8, this is x86_64");
    bad_profile("howdah-profile 1\nlink ib 56\n", -EINVAL, "link ib 56, this is ib 100");
    bad_profile("howdah-profile 1\ndevice MT4115\n", -EINVAL, "device MT4115, this is MT4119");
    bad_profile("howdah-profile 1\nset chunk.size 1m\n", -EINVAL, "before the first set");
    bad_profile(HEAD "arch x86_64\n", -EINVAL, "said before");
    bad_profile(HEAD "set chunk.size 1m\nset log.level debug\n", -EINVAL, "line 7: a profile cannot set \"log.level\"");
    bad_profile(HEAD "set chunk.size 1m\nset chunk.depth\n", -EINVAL, "line 7");
    bad_profile(HEAD "set chunk.size 1m\nset chunk.depth 1000\n", -ERANGE, "out of range");
    bad_profile(HEAD "set chunk.size 1m\nwhat ever\n", -EINVAL, "line 7");
    char *large = calloc(1, 70001);
    memset(large, '#', 70000);
    bad_profile(large, -EINVAL, "65536");
    free(large);
}

static void a_profile_that_others_can_write_is_refused(void **state)
{
    (void)state;
    char path[200];
    struct hd_tuning_link link = a_link("x86_64", "ib", 100);
    hd_conf *conf = hd_conf_create();
    make_file(HEAD "set chunk.size 1m\n", "open.profile");
    snprintf(path, sizeof(path), "%s/open.profile", folder);
    assert_ok(hd_tuning_profile_read(path, &link, conf));
    assert_string_equal(value(conf, "chunk.size"), "1m");
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(hd_tuning_profile_read(path, &link, conf), -EPERM);
    assert_non_null(strstr(hd_last_error(), "chmod go-w"));
    assert_int_equal(hd_tuning_profile_read("/nonexistent", &link, conf), -ENOENT);
    hd_conf_destroy(conf);
}

/* Table, profile, configuration, environment, explicit: each new one wins, in whatever order they come. */
static void the_higher_source_wins(void **state)
{
    (void)state;
    struct hd_tuning_link link = a_link("x86_64", "ib", 400);
    hd_conf *conf = hd_conf_create();
    const char *key = "hadoop.rdma.chunk.size";
    assert_string_equal(hd_conf_origin(conf, key), "default");
    assert_null(hd_conf_reason(conf, key));
    assert_ok(hd_tuning_apply_table(conf, &link));
    assert_string_equal(value(conf, "chunk.size"), "1m");
    assert_string_equal(hd_conf_origin(conf, key), "tuning table for x86_64, ib, 400 Gb/s");
    assert_non_null(hd_conf_reason(conf, key));
    assert_ok(read_profile(conf, HEAD "measured today\n\n# so\nset chunk.size 2m\nset chunk.depth 8\n"));
    assert_ok(hd_tuning_apply_table(conf, &link));
    assert_string_equal(value(conf, "chunk.size"), "2m");
    assert_string_equal(value(conf, "chunk.depth"), "8");
    assert_non_null(strstr(hd_conf_origin(conf, key), "a.profile"));
    assert_null(hd_conf_reason(conf, key));
    assert_ok(hd_conf_set(conf, key, "3m", "core-site.xml"));
    assert_ok(read_profile(conf, HEAD "set chunk.size 2m\nset chunk.depth 16\n"));
    assert_string_equal(value(conf, "chunk.size"), "3m");
    assert_string_equal(value(conf, "chunk.depth"), "16");
    setenv("HOWDAH_CHUNK_SIZE", "4m", 1);
    assert_ok(hd_conf_read_environment(conf));
    unsetenv("HOWDAH_CHUNK_SIZE");
    assert_string_equal(value(conf, "chunk.size"), "4m");
    assert_string_equal(hd_conf_origin(conf, key), "the environment");
    assert_ok(hd_conf_set(conf, key, "5m", "the command line"));
    assert_ok(read_profile(conf, HEAD "set chunk.size 2m\n"));
    assert_string_equal(value(conf, "chunk.size"), "5m");
    hd_conf_destroy(conf);
}

static void engines_follow_the_profile(void **state)
{
    (void)state;
    char path[200], text[400], note[600], option[300];
    struct hd_tuning_link link = {.size = sizeof(link)};
    hd_conf *conf = hd_conf_create();
    assert_ok(hd_conf_set(conf, "hadoop.rdma.transport", "shm", "test"));
    assert_ok(hd_tuning_link_find(conf, &link));
    assert_string_equal(link.kind, "shm");
    setenv("XDG_CONFIG_HOME", folder, 1);
    assert_ok(hd_tuning_profile_path(conf, &link, true, path, sizeof(path)));
    snprintf(text, sizeof(text), "howdah-profile 1\nversion %s\narch %s\nlink shm 0\ndevice -\nset chunk.depth 9\n",
             hd_version(), link.arch);
    assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
    make_file(text, "%s", path + strlen(folder) + 1);
    assert_ok(hd_conf_tune(conf, note, sizeof(note)));
    assert_string_equal(note, "");
    assert_string_equal(value(conf, "chunk.depth"), "9");

    make_file("nonsense\n", "%s", path + strlen(folder) + 1); /* found by itself: said, and left out */
    assert_ok(hd_conf_tune(conf, note, sizeof(note)));
    assert_non_null(strstr(note, "line 1"));
    assert_string_equal(value(conf, "chunk.depth"), "4");

    assert_ok(hd_conf_set(conf, "hadoop.rdma.tuning.profile", path, "test")); /* asked for: refused */
    assert_int_equal(hd_conf_tune(conf, note, sizeof(note)), -EINVAL);
    hd_engine *engine;
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf};
    assert_int_equal(hd_engine_create(&params, &engine), -EINVAL);
    assert_non_null(strstr(hd_last_error(), "line 1"));
    assert_ok(hd_conf_set(conf, "hadoop.rdma.tuning.profile", "none", "test"));
    assert_ok(hd_conf_tune(conf, note, sizeof(note)));
    assert_string_equal(note, "");
    hd_conf_destroy(conf);

    make_file(text, "b.profile");
    snprintf(option, sizeof(option), "tuning.profile=%s/b.profile", folder);
    const char *options[] = {option, NULL};
    engine = test_engine(options);
    hd_engine_destroy(engine);
    unsetenv("XDG_CONFIG_HOME");
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_link_at_hand_is_the_first_active_port),
        cmocka_unit_test(the_table_goes_by_machine_and_link),
        cmocka_unit_test(every_row_is_sound_and_has_its_reason),
        cmocka_unit_test(bad_profiles_are_refused_in_words),
        cmocka_unit_test(a_profile_that_others_can_write_is_refused),
        cmocka_unit_test(the_higher_source_wins),
        cmocka_unit_test_teardown(engines_follow_the_profile, remove_folder),
    };
    if (!mkdtemp(folder))
        return 1;
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
