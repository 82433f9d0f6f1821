/* SPDX-License-Identifier: Apache-2.0 */

/* libhdfs as far as it goes without a JVM: text, class path, errno, builders, and what it says where there is no Java.
 * tests/e2e/libhdfs.bats calls all of it on a cluster. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "internal.h"

/* Standard error goes to a file between the two; the text is static. */
static FILE *said;
static int said_before;

static void listen(void)
{
    fflush(stderr);
    said = tmpfile();
    said_before = dup(STDERR_FILENO);
    assert_non_null(said);
    assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
}

static const char *heard(void)
{
    static char text[4096];
    dup2(said_before, STDERR_FILENO);
    close(said_before);
    rewind(said);
    size_t length = fread(text, 1, sizeof(text) - 1, said);
    text[length] = 0;
    fclose(said);
    return text;
}

static void assert_one_line(const char *text, const char *part)
{
    assert_true(strncmp(text, "libhdfs: ", 9) == 0);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_non_null(strstr(text, part));
}

static void test_text(void **state)
{
    (void)state;
    static const char all[] = "/a \xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xaa\xf4\x8f\xbf\xbf";
    jchar units[sizeof(all)];
    char back[3 * sizeof(all)];
    ptrdiff_t count = hl_utf16(all, units);
    assert_int_equal(count, 11);
    assert_int_equal(units[3], 0xe9);
    assert_int_equal(units[5], 0x20ac);
    assert_int_equal(units[7], 0xd83d);
    assert_int_equal(units[8], 0xdc2a);
    assert_int_equal(hl_utf8(units, (size_t)count, back), sizeof(all) - 1);
    assert_string_equal(back, all);
    assert_int_equal(hl_utf16("", units), 0);
}

static void test_text_that_is_none(void **state)
{
    (void)state;
    /* A lone continuation, cut off, overlong, surrogates, above U+10FFFF. */
    static const char *const bad[] = {
        "\x80",         "\xc3",         "a\xc3z",           "\xe2\x82",         "\xc0\x80",
        "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xff"};
    jchar units[8];
    for (size_t i = 0; i < HL_COUNT(bad); i++)
        assert_int_equal(hl_utf16(bad[i], units), -1);
    const jchar halves[] = {0xd83d, 'x', 0xdc2a};
    char text[10];
    hl_utf8(halves, 3, text);
    assert_string_equal(text, "\xef\xbf\xbdx\xef\xbf\xbd");
}

static void make_file(const char *folder, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void remove_all(const char *folder)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void test_classpath(void **state)
{
    (void)state;
    char folder[] = "/tmp/howdah-test.XXXXXX", path[256], wanted[512];
    assert_non_null(mkdtemp(folder));
    make_file(folder, "b.jar");
    make_file(folder, "a.JAR");
    make_file(folder, "notes.txt");
    snprintf(path, sizeof(path), "/conf::%s/*:/nowhere/*:%s/b.jar", folder, folder);
    snprintf(wanted, sizeof(wanted), "/conf:%s/a.JAR:%s/b.jar:%s/b.jar", folder, folder, folder);
    char *expanded = hl_expand(path);
    assert_string_equal(expanded, wanted);
    free(expanded);
    expanded = hl_expand("");
    assert_string_equal(expanded, "");
    free(expanded);
    remove_all(folder);
}

static void test_classpath_of_the_tree(void **state)
{
    (void)state;
    char folder[] = "/tmp/howdah-test.XXXXXX", path[256];
    unsetenv("CLASSPATH");
    unsetenv("HADOOP_HOME");
    listen();
    assert_null(hl_classpath());
    assert_one_line(heard(), "CLASSPATH is not set, and this library is not in a Hadoop tree");

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/bin", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/bin/hadoop", folder);
    FILE *script = fopen(path, "w");
    assert_non_null(script);
    fprintf(script, "#!/bin/sh\n[ \"$*\" = classpath ] && echo /conf:/jars/one.jar\n");
    fclose(script);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("HADOOP_HOME", folder, 1);
    char *found = hl_classpath();
    assert_string_equal(found, "/conf:/jars/one.jar");
    free(found);

    script = fopen(path, "w");
    assert_non_null(script);
    fprintf(script, "#!/bin/sh\nexit 1\n");
    fclose(script);
    listen();
    assert_null(hl_classpath());
    /* The script may have words of its own, as of a library to preload that is not for it. */
    assert_non_null(strstr(heard(), "libhdfs: CLASSPATH is not set, and bin/hadoop classpath prints none"));
    setenv("CLASSPATH", "/given", 1);
    found = hl_classpath();
    assert_string_equal(found, "/given");
    free(found);
    remove_all(folder);
    unsetenv("CLASSPATH");
    unsetenv("HADOOP_HOME");
}

static void test_errors(void **state)
{
    (void)state;
    assert_int_equal(hl_errno_of("java.io.FileNotFoundException"), ENOENT);
    assert_int_equal(hl_errno_of("org.apache.hadoop.security.AccessControlException"), EACCES);
    assert_int_equal(hl_errno_of("java.io.IOException"), EIO);
    assert_int_equal(hl_errno_of("java.lang.Object"), 0);
    assert_true(hl_is_plain(ENOENT));
    assert_false(hl_is_plain(EIO));
    listen();
    hl_say("%s: %s", "hdfsRead()", "first\nat second\n");
    assert_string_equal(heard(), "libhdfs: hdfsRead(): first\n");
}

static void test_builder(void **state)
{
    (void)state;
    struct hdfsBuilder *bld = hdfsNewBuilder();
    char name[] = "localhost";
    hdfsBuilderSetNameNode(bld, name);
    name[0] = 0; /* it was copied */
    hdfsBuilderSetNameNode(bld, "other");
    hdfsBuilderSetNameNodePort(bld, 9000);
    hdfsBuilderSetUserName(bld, "somebody");
    hdfsBuilderSetKerbTicketCachePath(bld, "/tmp/ticket");
    hdfsBuilderSetForceNewInstance(bld);
    assert_int_equal(hdfsBuilderConfSetStr(bld, "a", "b"), 0);
    assert_int_equal(hdfsBuilderConfSetStr(bld, "a", "c"), 0);
    assert_int_equal(hdfsBuilderConfSetStr(bld, "a", NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hdfsBuilderConfSetStr(bld, NULL, "c"), -1);
    hdfsFreeBuilder(bld);
    hdfsFreeBuilder(NULL);
}

static void test_stream_builder(void **state)
{
    (void)state;
    struct hdfs_internal fs = {0};
    assert_null(hdfsStreamBuilderAlloc(&fs, NULL, O_RDONLY));
    assert_int_equal(errno, EINVAL);
    struct hdfsStreamBuilder *bld = hdfsStreamBuilderAlloc(&fs, "/x", O_RDONLY);
    assert_int_equal(hdfsStreamBuilderSetBufferSize(bld, 4096), 0);
    assert_int_equal(hdfsStreamBuilderSetBufferSize(bld, -1), -1);
    assert_int_equal(hdfsStreamBuilderSetReplication(bld, 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hdfsStreamBuilderSetDefaultBlockSize(bld, 1 << 20), -1);
    hdfsStreamBuilderFree(bld);
    bld = hdfsStreamBuilderAlloc(&fs, "/x", O_WRONLY);
    assert_int_equal(hdfsStreamBuilderSetReplication(bld, 1), 0);
    assert_int_equal(hdfsStreamBuilderSetDefaultBlockSize(bld, INT64_C(4) << 30), 0);
    hdfsStreamBuilderFree(bld);
    hdfsStreamBuilderFree(NULL);
    assert_null(hdfsStreamBuilderBuild(hdfsStreamBuilderAlloc(&fs, "/x", O_RDWR)));
    assert_int_equal(errno, ENOTSUP);
}

static void test_no_java(void **state)
{
    (void)state;
    setenv("JAVA_HOME", "/nonexistent", 1);
    for (int i = 0; i < 2; i++) { /* it is asked for anew, as it may have been set */
        listen();
        assert_null(hdfsConnect("default", 0));
        assert_int_equal(errno, ELIBACC);
        assert_one_line(heard(), "JAVA_HOME=/nonexistent has no ");
    }
    assert_null(hdfsGetLastExceptionRootCause());
    assert_null(hdfsGetLastExceptionStackTrace());
}

static void test_java_that_is_none(void **state)
{
    (void)state;
    char folder[] = "/tmp/howdah-test.XXXXXX", path[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/lib", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/lib/server", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    make_file(path, "libjvm.so");
    setenv("JAVA_HOME", folder, 1);
    int32_t value = 7;
    listen();
    assert_int_equal(hdfsConfGetInt("io.file.buffer.size", &value), -1);
    assert_int_equal(errno, ELIBACC);
    assert_one_line(heard(), "the JVM does not load: ");
    assert_int_equal(value, 7);
    remove_all(folder);
}

static void test_arguments(void **state)
{
    (void)state;
    struct hdfs_internal fs = {0};
    struct hdfsFile_internal out = {.output = true}, in = {.output = false};
    char byte;
    assert_int_equal(hdfsExists(NULL, "/"), -1);
    assert_int_equal(errno, EINVAL);
    assert_null(hdfsGetPathInfo(&fs, NULL));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hdfsRead(&fs, &out, &byte, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(hdfsWrite(&fs, &in, &byte, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(hdfsRead(&fs, &in, &byte, -1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hdfsPread(&fs, &in, -1, &byte, 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hdfsCloseFile(&fs, NULL), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(hdfsDisconnect(NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_true(hdfsFileIsOpenForWrite(&out) && !hdfsFileIsOpenForRead(&out));
    assert_true(hdfsFileIsOpenForRead(&in) && !hdfsFileIsOpenForWrite(&in));
    assert_false(hdfsFileIsOpenForRead(NULL) || hdfsFileIsOpenForWrite(NULL));
    hdfsFreeFileInfo(NULL, 3);
    hdfsFreeHosts(NULL);
    hdfsConfStrFree(NULL);
    struct hadoopRzOptions *options = hadoopRzOptionsAlloc();
    assert_int_equal(hadoopRzOptionsSetSkipChecksum(options, 1), 0);
    assert_int_equal(hadoopRzOptionsSetByteBufferPool(options, NULL), 0);
    hadoopRzOptionsFree(options);
    hadoopRzOptionsFree(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_that_is_none),
        cmocka_unit_test(test_classpath),
        cmocka_unit_test(test_classpath_of_the_tree),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_builder),
        cmocka_unit_test(test_stream_builder),
        cmocka_unit_test(test_no_java),
        cmocka_unit_test(test_java_that_is_none),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
