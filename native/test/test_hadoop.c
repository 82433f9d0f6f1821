/* SPDX-License-Identifier: Apache-2.0 */

/* Methods of libhadoop.so, called as Java calls them, where no JVM runs (jvm.h). java/natives tests them through
 * Hadoop. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../hadoop/hadoop.h"
#include "jvm.h"

#define STATUS "org/apache/hadoop/io/nativeio/NativeIO$POSIX$Stat"
#define FD     "java/io/FileDescriptor"

/* The method of a class, which has no header of its own. */
#define METHOD(type, class_and_method, ...)                                                                            \
    HH_METHOD(type, class_and_method, JNIEnv *env, __VA_ARGS__);                                                       \
    static type (*const class_and_method)(JNIEnv *, __VA_ARGS__) = Java_org_apache_hadoop_##class_and_method

METHOD(void, util_NativeCrc32_nativeComputeChunkedSums, jclass, jint, jint, jobject, jint, jobject, jint, jint, jstring,
       jlong, jboolean);
METHOD(void, util_NativeCrc32_nativeComputeChunkedSumsByteArray, jclass, jint, jint, jbyteArray, jint, jbyteArray, jint,
       jint, jstring, jlong, jboolean);
METHOD(jintArray, net_unix_DomainSocket_socketpair0, jclass);
METHOD(void, net_unix_DomainSocket_setAttribute0, jclass, jint, jint, jint);
METHOD(jint, net_unix_DomainSocket_getAttribute0, jobject, jint, jint);
METHOD(void, net_unix_DomainSocket_writeArray0, jclass, jint, jbyteArray, jint, jint);
METHOD(jint, net_unix_DomainSocket_readArray0, jclass, jint, jbyteArray, jint, jint);
METHOD(void, net_unix_DomainSocket_sendFileDescriptors0, jclass, jint, jobjectArray, jbyteArray, jint, jint);
METHOD(jint, net_unix_DomainSocket_receiveFileDescriptors0, jclass, jint, jobjectArray, jbyteArray, jint, jint);
METHOD(void, net_unix_DomainSocket_close0, jclass, jint);
METHOD(void, net_unix_DomainSocketWatcher_anchorNative, jclass);
METHOD(jlong, net_unix_DomainSocketWatcher_00024FdSet_alloc0, jclass);
METHOD(void, net_unix_DomainSocketWatcher_00024FdSet_add, jobject, jint);
METHOD(void, net_unix_DomainSocketWatcher_00024FdSet_remove, jobject, jint);
METHOD(jobject, net_unix_DomainSocketWatcher_00024FdSet_getAndClearReadableFds, jobject);
METHOD(void, net_unix_DomainSocketWatcher_00024FdSet_close, jobject);
METHOD(jint, net_unix_DomainSocketWatcher_doPoll0, jclass, jint, jobject);
METHOD(jobject, io_nativeio_NativeIO_00024POSIX_open, jclass, jstring, jint, jint);
METHOD(jobject, io_nativeio_NativeIO_00024POSIX_fstat, jclass, jobject);
METHOD(void, io_nativeio_NativeIO_00024POSIX_chmodImpl, jclass, jstring, jint);
METHOD(void, io_nativeio_NativeIO_00024POSIX_posix_1fadvise, jclass, jobject, jlong, jlong, jint);
METHOD(void, io_nativeio_NativeIO_00024POSIX_sync_1file_1range, jclass, jobject, jlong, jlong, jint);
METHOD(void, io_nativeio_NativeIO_00024POSIX_mlock_1native, jclass, jobject, jlong);
METHOD(jlong, io_nativeio_NativeIO_00024POSIX_mmap, jclass, jobject, jint, jboolean, jlong);
METHOD(void, io_nativeio_NativeIO_00024POSIX_munmap, jclass, jlong, jlong);
METHOD(jstring, io_nativeio_NativeIO_00024POSIX_getUserName__I, jclass, jint);
METHOD(jobjectArray, security_JniBasedUnixGroupsMapping_getGroupsForUser, jclass, jstring);
METHOD(void, crypto_OpensslCipher_initIDs, jclass);
METHOD(jlong, crypto_OpensslCipher_initContext, jclass, jint, jint);
METHOD(jlong, crypto_OpensslCipher_init, jobject, jlong, jint, jint, jint, jbyteArray, jbyteArray);
METHOD(jint, crypto_OpensslCipher_update, jobject, jlong, jobject, jint, jint, jobject, jint, jint);
METHOD(void, crypto_OpensslCipher_clean, jobject, jlong);
METHOD(void, io_compress_lz4_Lz4Compressor_initIDs, jclass);
METHOD(void, io_compress_lz4_Lz4Decompressor_initIDs, jclass);
METHOD(jint, io_compress_lz4_Lz4Compressor_compressBytesDirect, jobject);
METHOD(jint, io_compress_lz4_Lz4Compressor_compressBytesDirectHC, jobject);
METHOD(jint, io_compress_lz4_Lz4Decompressor_decompressBytesDirect, jobject);
METHOD(void, io_compress_snappy_SnappyCompressor_initIDs, jclass);
METHOD(void, io_compress_snappy_SnappyDecompressor_initIDs, jclass);
METHOD(jint, io_compress_snappy_SnappyCompressor_compressBytesDirect, jobject);
METHOD(jint, io_compress_snappy_SnappyDecompressor_decompressBytesDirect, jobject);
METHOD(void, io_compress_zlib_ZlibCompressor_initIDs, jclass);
METHOD(void, io_compress_zlib_ZlibDecompressor_initIDs, jclass);
METHOD(jlong, io_compress_zlib_ZlibCompressor_init, jclass, jint, jint, jint);
METHOD(jlong, io_compress_zlib_ZlibDecompressor_init, jclass, jint);
METHOD(jint, io_compress_zlib_ZlibCompressor_deflateBytesDirect, jobject);
METHOD(jint, io_compress_zlib_ZlibDecompressor_inflateBytesDirect, jobject);
METHOD(void, io_compress_zlib_ZlibCompressor_end, jclass, jlong);
METHOD(void, io_compress_zlib_ZlibDecompressor_end, jclass, jlong);
METHOD(void, io_compress_bzip2_Bzip2Compressor_initIDs, jclass, jstring);
METHOD(void, io_compress_bzip2_Bzip2Decompressor_initIDs, jclass, jstring);
METHOD(jlong, io_compress_bzip2_Bzip2Compressor_init, jclass, jint, jint);
METHOD(jlong, io_compress_bzip2_Bzip2Decompressor_init, jclass, jint);
METHOD(jint, io_compress_bzip2_Bzip2Compressor_deflateBytesDirect, jobject);
METHOD(jint, io_compress_bzip2_Bzip2Decompressor_inflateBytesDirect, jobject);
METHOD(void, io_compress_bzip2_Bzip2Compressor_end, jclass, jlong);
METHOD(void, io_compress_bzip2_Bzip2Decompressor_end, jclass, jlong);

static JNIEnv *env;

static void assert_quiet(void)
{
    const char *message, *class = test_thrown(&message);
    if (*class)
        fail_msg("%s: %s", class, message);
}

static void assert_thrown(const char *class, const char *part)
{
    const char *message;
    assert_string_equal(test_thrown(&message), class);
    if (!strstr(message, part))
        fail_msg("'%s' is not in '%s'", part, message);
}

static jstring string(const char *text)
{
    return (*env)->NewStringUTF(env, text);
}

static int clear(void **state)
{
    (void)state;
    test_jvm_clear();
    return 0;
}

static void checksums_are_those_of_the_standards(void **state)
{
    (void)state;
    static const struct {
        jint type;
        unsigned char sum[4];
    } known[] = {{1, {0xcb, 0xf4, 0x39, 0x26}}, {2, {0xe3, 0x06, 0x92, 0x83}}}; /* of "123456789", in network order */
    unsigned char text[2 + 3 * 9] = "..123456789123456789123456789", sums[3 * 4];
    for (size_t i = 0; i < HH_COUNT(known); i++) {
        jbyteArray array = test_bytes(text, sizeof(text)), made = test_bytes(NULL, 1 + sizeof(sums));
        util_NativeCrc32_nativeComputeChunkedSumsByteArray(env, NULL, 9, known[i].type, made, 1, array, 2, 27, NULL, 0,
                                                           0);
        assert_quiet();
        jobject buffer = test_buffer(text, sizeof(text)), to = test_buffer(sums, sizeof(sums));
        util_NativeCrc32_nativeComputeChunkedSums(env, NULL, 9, known[i].type, to, 0, buffer, 2, 27, NULL, 0, 0);
        assert_quiet();
        assert_memory_equal(sums, (char *)test_memory(made) + 1, sizeof(sums));
        for (int chunk = 0; chunk < 3; chunk++)
            assert_memory_equal(sums + 4 * chunk, known[i].sum, 4);
        ((char *)test_memory(array))[2 + 9 + 5] ^= 1;
        util_NativeCrc32_nativeComputeChunkedSumsByteArray(env, NULL, 9, known[i].type, made, 1, array, 2, 27,
                                                           string("/f"), 1000, 1);
        assert_thrown("org/apache/hadoop/fs/ChecksumException", "Checksum error: /f at 1009 exp: ");
    }
    util_NativeCrc32_nativeComputeChunkedSums(env, NULL, 9, 2, test_buffer(sums, 11), 0, test_buffer(text, 29), 2, 27,
                                              NULL, 0, 0);
    assert_thrown("java/lang/IllegalArgumentException", "12 bytes at 0 are not within a buffer of 11");
}

static void sockets_carry_bytes_and_descriptors(void **state)
{
    (void)state;
    jint *pair = test_memory(net_unix_DomainSocket_socketpair0(env, NULL));
    net_unix_DomainSocket_setAttribute0(env, NULL, pair[1], 4, 1500);
    assert_int_equal(net_unix_DomainSocket_getAttribute0(env, NULL, pair[1], 4), 1500);
    net_unix_DomainSocket_writeArray0(env, NULL, pair[0], test_bytes("..camel", 7), 2, 5);
    jbyteArray got = test_bytes(NULL, 20);
    assert_int_equal(net_unix_DomainSocket_readArray0(env, NULL, pair[1], got, 3, 17), 5);
    assert_memory_equal((char *)test_memory(got) + 3, "camel", 5);

    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    jobjectArray sent = test_objects(2), received = test_objects(2);
    for (int i = 0; i < 2; i++) {
        jobject descriptor = test_object(FD);
        test_field(descriptor, "fd")->i = pipe_ends[i];
        ((jobject *)test_memory(sent))[i] = descriptor;
    }
    net_unix_DomainSocket_sendFileDescriptors0(env, NULL, pair[0], sent, test_bytes("x", 1), 0, 1);
    assert_quiet();
    assert_int_equal(net_unix_DomainSocket_receiveFileDescriptors0(env, NULL, pair[1], received, got, 0, 20), 1);
    jint ends[2];
    for (int i = 0; i < 2; i++)
        ends[i] = test_field(((jobject *)test_memory(received))[i], "fd")->i;
    assert_int_equal(write(ends[1], "to and fro", 10), 10);
    char text[10];
    assert_int_equal(read(pipe_ends[0], text, 10), 10);
    assert_memory_equal(text, "to and fro", 10);

    net_unix_DomainSocket_close0(env, NULL, pair[0]);
    assert_int_equal(net_unix_DomainSocket_readArray0(env, NULL, pair[1], got, 0, 20), -1);
    assert_quiet();
    net_unix_DomainSocket_close0(env, NULL, pair[1]);
    for (int i = 0; i < 2; i++) {
        close(pipe_ends[i]);
        close(ends[i]);
    }
}

static void a_watcher_finds_what_is_readable(void **state)
{
    (void)state;
    net_unix_DomainSocketWatcher_anchorNative(env, NULL);
    int pipes[40][2];
    jobject set = test_object("org/apache/hadoop/net/unix/DomainSocketWatcher$FdSet");
    test_field(set, "data")->j = net_unix_DomainSocketWatcher_00024FdSet_alloc0(env, NULL);
    for (size_t i = 0; i < HH_COUNT(pipes); i++) {
        assert_int_equal(pipe(pipes[i]), 0);
        net_unix_DomainSocketWatcher_00024FdSet_add(env, set, pipes[i][0]);
    }
    net_unix_DomainSocketWatcher_00024FdSet_remove(env, set, pipes[7][0]);
    assert_int_equal(net_unix_DomainSocketWatcher_doPoll0(env, NULL, 0, set), 0);
    assert_int_equal(write(pipes[7][1], "x", 1), 1);
    assert_int_equal(write(pipes[33][1], "x", 1), 1);
    assert_int_equal(net_unix_DomainSocketWatcher_doPoll0(env, NULL, 10000, set), 1);
    jobject ready = net_unix_DomainSocketWatcher_00024FdSet_getAndClearReadableFds(env, set);
    assert_int_equal((*env)->GetArrayLength(env, ready), 1);
    assert_int_equal(*(jint *)test_memory(ready), pipes[33][0]);
    net_unix_DomainSocketWatcher_00024FdSet_close(env, set);
    for (size_t i = 0; i < HH_COUNT(pipes); i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    assert_quiet();
}

static void files_are_opened_described_advised_and_mapped(void **state)
{
    (void)state;
    char path[] = "/tmp/howdah-test-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "camel", 5), 5);
    close(fd);
    io_nativeio_NativeIO_00024POSIX_chmodImpl(env, NULL, string(path), 0640);
    jobject file = io_nativeio_NativeIO_00024POSIX_open(env, NULL, string(path), 0, 0);
    jobject status = io_nativeio_NativeIO_00024POSIX_fstat(env, NULL, file);
    assert_quiet();
    assert_int_equal(test_field(status, "arg0")->i, (jint)getuid());
    assert_int_equal(test_field(status, "arg2")->i & 07777, 0640);
    io_nativeio_NativeIO_00024POSIX_posix_1fadvise(env, NULL, file, 0, 5, 4);
    io_nativeio_NativeIO_00024POSIX_sync_1file_1range(env, NULL, file, 0, 5, 2);
    const char *message;
    const char *class = test_thrown(&message);
    /* An emulator may not know the call. */
    assert_true(!*class || strcmp(class, "java/lang/UnsupportedOperationException") == 0);
    jlong memory = io_nativeio_NativeIO_00024POSIX_mmap(env, NULL, file, 1, 1, 5);
    assert_quiet();
    assert_memory_equal((void *)(uintptr_t)memory, "camel", 5);
    io_nativeio_NativeIO_00024POSIX_mlock_1native(env, NULL, test_buffer((void *)(uintptr_t)memory, 5), 5);
    io_nativeio_NativeIO_00024POSIX_munmap(env, NULL, memory, 5);
    assert_quiet();
    close(test_field(file, "fd")->i);
    unlink(path);
    assert_null(io_nativeio_NativeIO_00024POSIX_open(env, NULL, string(path), 0, 0));
    assert_thrown("org/apache/hadoop/io/nativeio/NativeIOException", "No such file or directory");
}

static void users_and_groups_have_names(void **state)
{
    (void)state;
    assert_string_equal(test_text(io_nativeio_NativeIO_00024POSIX_getUserName__I(env, NULL, 0)), "root");
    io_nativeio_NativeIO_00024POSIX_getUserName__I(env, NULL, 2000000123);
    assert_thrown("java/io/IOException", "uid not found: 2000000123");
    jobjectArray groups = security_JniBasedUnixGroupsMapping_getGroupsForUser(env, NULL, string("root"));
    assert_quiet();
    assert_true((*env)->GetArrayLength(env, groups) >= 1);
    assert_string_equal(test_text(((jobject *)test_memory(groups))[0]), "root");
    groups = security_JniBasedUnixGroupsMapping_getGroupsForUser(env, NULL, string("no-such-user"));
    assert_quiet();
    assert_int_equal((*env)->GetArrayLength(env, groups), 0);
}

/* NIST SP 800-38A, F.5.1: CTR-AES128, the first two blocks. */
static void aes_is_that_of_the_standard(void **state)
{
    (void)state;
    static const unsigned char key[] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                        0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    static const unsigned char counter[] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                            0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
    unsigned char plain[] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e,
                             0x11, 0x73, 0x93, 0x17, 0x2a, 0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03,
                             0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51};
    static const unsigned char sealed[] = {0x87, 0x4d, 0x61, 0x91, 0xb6, 0x20, 0xe3, 0x26, 0x1b, 0xef, 0x68,
                                           0x64, 0x99, 0x0d, 0xb6, 0xce, 0x98, 0x06, 0xf6, 0x6b, 0x79, 0x70,
                                           0xfd, 0xff, 0x86, 0x17, 0x18, 0x7b, 0xb9, 0xff, 0xfd, 0xff};
    unsigned char made[sizeof(plain)];
    crypto_OpensslCipher_initIDs(env, NULL);
    assert_quiet();
    jlong context = crypto_OpensslCipher_initContext(env, NULL, 0, 0);
    context = crypto_OpensslCipher_init(env, NULL, context, 1, 0, 0, test_bytes(key, 16), test_bytes(counter, 16));
    assert_quiet();
    jobject from = test_buffer(plain, sizeof(plain)), to = test_buffer(made, sizeof(made));
    for (jint at = 0; at < (jint)sizeof(plain); at += 8) /* in pieces: the counter goes on */
        assert_int_equal(crypto_OpensslCipher_update(env, NULL, context, from, at, 8, to, at, 8), 8);
    assert_quiet();
    assert_memory_equal(made, sealed, sizeof(sealed));
    crypto_OpensslCipher_init(env, NULL, context, 1, 0, 0, test_bytes(key, 15), test_bytes(counter, 16));
    assert_thrown("java/lang/IllegalArgumentException", "a key of 15 bytes");
    crypto_OpensslCipher_clean(env, NULL, context);
}

#define SIZE 30000

/* A compressor or decompressor: its buffers, full of length bytes. */
static jobject coder(void *plain, void *packed, jint plain_length, jint packed_length, jlong stream)
{
    jobject made = test_object("coder");
    test_field(made, "uncompressedDirectBuf")->l = test_buffer(plain, 2 * SIZE);
    test_field(made, "compressedDirectBuf")->l = test_buffer(packed, 2 * SIZE);
    test_field(made, "directBufferSize")->i = 2 * SIZE;
    test_field(made, "uncompressedDirectBufLen")->i = plain_length;
    test_field(made, "compressedDirectBufLen")->i = packed_length;
    test_field(made, "stream")->j = stream;
    test_field(made, "finish")->z = 1;
    return made;
}

/* What is packed is smaller, and the same after it is unpacked; streams, where a codec has them, end. */
static void goes_to_and_fro(jint (*pack)(JNIEnv *, jobject), jint (*unpack)(JNIEnv *, jobject), jlong packing,
                            jlong unpacking)
{
    static unsigned char plain[2 * SIZE], packed[2 * SIZE], again[2 * SIZE];
    for (int i = 0; i < SIZE; i++)
        plain[i] = (unsigned char)(i / 7 % 3 == 0 ? i * i : 'a' + i % 13);
    assert_quiet();
    jobject compressor = coder(plain, packed, SIZE, 0, packing);
    jint length = pack(env, compressor);
    assert_quiet();
    assert_in_range(length, 10, SIZE - 1);
    assert_int_equal(test_field(compressor, "uncompressedDirectBufLen")->i, 0);
    memset(again, 0, sizeof(again));
    jobject decompressor = coder(again, packed, 0, length, unpacking);
    assert_int_equal(unpack(env, decompressor), SIZE);
    assert_quiet();
    assert_memory_equal(again, plain, SIZE);
    if (packing) {
        assert_true(test_field(compressor, "finished")->z);
        assert_true(test_field(decompressor, "finished")->z);
    }
}

static void snappy_and_lz4_go_to_and_fro(void **state)
{
    (void)state;
    io_compress_snappy_SnappyCompressor_initIDs(env, NULL);
    io_compress_snappy_SnappyDecompressor_initIDs(env, NULL);
    goes_to_and_fro(io_compress_snappy_SnappyCompressor_compressBytesDirect,
                    io_compress_snappy_SnappyDecompressor_decompressBytesDirect, 0, 0);
    io_compress_lz4_Lz4Compressor_initIDs(env, NULL);
    io_compress_lz4_Lz4Decompressor_initIDs(env, NULL);
    goes_to_and_fro(io_compress_lz4_Lz4Compressor_compressBytesDirect,
                    io_compress_lz4_Lz4Decompressor_decompressBytesDirect, 0, 0);
    goes_to_and_fro(io_compress_lz4_Lz4Compressor_compressBytesDirectHC,
                    io_compress_lz4_Lz4Decompressor_decompressBytesDirect, 0, 0);
}

static void zlib_and_bzip2_go_to_and_fro(void **state)
{
    (void)state;
    io_compress_zlib_ZlibCompressor_initIDs(env, NULL);
    io_compress_zlib_ZlibDecompressor_initIDs(env, NULL);
    assert_quiet();
    for (jint bits = 15; bits <= 31; bits += 16) { /* zlib's header, and gzip's */
        jlong packing = io_compress_zlib_ZlibCompressor_init(env, NULL, 6, 0, bits);
        jlong unpacking = io_compress_zlib_ZlibDecompressor_init(env, NULL, bits);
        goes_to_and_fro(io_compress_zlib_ZlibCompressor_deflateBytesDirect,
                        io_compress_zlib_ZlibDecompressor_inflateBytesDirect, packing, unpacking);
        io_compress_zlib_ZlibCompressor_end(env, NULL, packing);
        io_compress_zlib_ZlibDecompressor_end(env, NULL, unpacking);
    }
    io_compress_bzip2_Bzip2Compressor_initIDs(env, NULL, string("system-native"));
    io_compress_bzip2_Bzip2Decompressor_initIDs(env, NULL, string("system-native"));
    assert_quiet();
    jlong packing = io_compress_bzip2_Bzip2Compressor_init(env, NULL, 9, 30);
    jlong unpacking = io_compress_bzip2_Bzip2Decompressor_init(env, NULL, 0);
    goes_to_and_fro(io_compress_bzip2_Bzip2Compressor_deflateBytesDirect,
                    io_compress_bzip2_Bzip2Decompressor_inflateBytesDirect, packing, unpacking);
    io_compress_bzip2_Bzip2Compressor_end(env, NULL, packing);
    io_compress_bzip2_Bzip2Decompressor_end(env, NULL, unpacking);
}

int main(void)
{
    env = test_jvm();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(checksums_are_those_of_the_standards, clear),
        cmocka_unit_test_teardown(sockets_carry_bytes_and_descriptors, clear),
        cmocka_unit_test_teardown(a_watcher_finds_what_is_readable, clear),
        cmocka_unit_test_teardown(files_are_opened_described_advised_and_mapped, clear),
        cmocka_unit_test_teardown(users_and_groups_have_names, clear),
        cmocka_unit_test_teardown(aes_is_that_of_the_standard, clear),
        cmocka_unit_test_teardown(snappy_and_lz4_go_to_and_fro, clear),
        cmocka_unit_test_teardown(zlib_and_bzip2_go_to_and_fro, clear),
    };
    return cmocka_run_group_tests_name("hadoop", tests, NULL, NULL);
}
