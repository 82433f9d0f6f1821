/* SPDX-License-Identifier: Apache-2.0 */

/* org.apache.hadoop.crypto: AES in counter mode and random bytes by libcrypto 1.1 or 3, which need no locks of ours. */

#include <limits.h>

#include "hadoop.h"

#define BLOCK 16

static void *(*new_context)(void);
static void (*free_context)(void *context);
static int (*init)(void *context, const void *cipher, void *engine, const unsigned char *key, const unsigned char *iv,
                   int encrypt);
static int (*set_padding)(void *context, int padding);
static int (*update)(void *context, unsigned char *to, int *made, const unsigned char *from, int length);
static int (*final)(void *context, unsigned char *to, int *made);
static const void *(*aes_128)(void), *(*aes_192)(void), *(*aes_256)(void);
static int (*random_bytes)(unsigned char *to, int length);

static const struct hh_symbol symbols[] = {
    {"EVP_CIPHER_CTX_new", (void **)&new_context}, {"EVP_CIPHER_CTX_free", (void **)&free_context},
    {"EVP_CipherInit_ex", (void **)&init},         {"EVP_CIPHER_CTX_set_padding", (void **)&set_padding},
    {"EVP_CipherUpdate", (void **)&update},        {"EVP_CipherFinal_ex", (void **)&final},
    {"EVP_aes_128_ctr", (void **)&aes_128},        {"EVP_aes_192_ctr", (void **)&aes_192},
    {"EVP_aes_256_ctr", (void **)&aes_256},        {"RAND_bytes", (void **)&random_bytes},
};
static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", NULL};
static struct hh_library library = {names, "libssl3, libssl1.1 or openssl-libs", symbols, HH_COUNT(symbols), false};

HH_METHOD(void, crypto_OpensslCipher_initIDs, JNIEnv *env, jclass class)
{
    (void)class;
    hh_library_need(env, &library);
}

HH_METHOD(jstring, crypto_OpensslCipher_getLibraryName, JNIEnv *env, jclass class)
{
    (void)class;
    return hh_library_file(env, &library);
}

/* Java knows one algorithm, AES in counter mode, and no padding: the number 0 for both. */
HH_METHOD(jlong, crypto_OpensslCipher_initContext, JNIEnv *env, jclass class, jint algorithm, jint padding)
{
    (void)class;
    if (algorithm != 0 || padding != 0) {
        hh_throw(env, "java/security/NoSuchAlgorithmException", "no algorithm %d with the padding %d", algorithm,
                 padding);
        return 0;
    }
    if (!hh_library_need(env, &library))
        return 0;
    void *context = new_context();
    if (!context)
        hh_throw(env, "java/lang/OutOfMemoryError", "no memory for a cipher");
    return (jlong)(uintptr_t)context;
}

static const void *cipher_for(jint key_length)
{
    switch (key_length) {
    case 16:
        return aes_128();
    case 24:
        return aes_192();
    case 32:
        return aes_256();
    default:
        return NULL;
    }
}

/* The context, anew: key and initialization vector, for encryption or decryption. */
HH_METHOD(jlong, crypto_OpensslCipher_init, JNIEnv *env, jobject object, jlong handle, jint mode, jint algorithm,
          jint padding, jbyteArray key, jbyteArray iv)
{
    (void)object;
    unsigned char key_bytes[32], iv_bytes[BLOCK];
    if (!key || !iv) {
        hh_throw(env, "java/lang/NullPointerException", "a cipher needs a key and an initialization vector");
        return handle;
    }
    jint key_length = (*env)->GetArrayLength(env, key), iv_length = (*env)->GetArrayLength(env, iv);
    const void *cipher = hh_library_need(env, &library) ? cipher_for(key_length) : NULL;
    if ((*env)->ExceptionCheck(env))
        return handle;
    if (!cipher || iv_length != BLOCK) {
        hh_throw(env, "java/lang/IllegalArgumentException",
                 "a key of %d bytes and an initialization vector of %d: AES takes 16, 24 or 32, and 16", key_length,
                 iv_length);
        return handle;
    }
    bool fresh = handle == 0;
    if (fresh) { /* clean() was called */
        handle = Java_org_apache_hadoop_crypto_OpensslCipher_initContext(env, NULL, algorithm, padding);
        if (!handle)
            return 0;
    }
    (*env)->GetByteArrayRegion(env, key, 0, key_length, (jbyte *)key_bytes);
    (*env)->GetByteArrayRegion(env, iv, 0, iv_length, (jbyte *)iv_bytes);
    void *context = (void *)(uintptr_t)handle;
    bool good = init(context, cipher, NULL, key_bytes, iv_bytes, mode == 1) == 1 && set_padding(context, 0) == 1;
    __builtin_memset(key_bytes, 0, sizeof(key_bytes));
    __asm__ volatile("" : : "r"(key_bytes) : "memory"); /* the key does not stay on the stack */
    if (good)
        return handle;
    if (fresh)
        free_context(context);
    hh_throw(env, "java/lang/InternalError", "libcrypto could not set up AES with a key of %d bytes", key_length);
    return fresh ? 0 : handle;
}

static void *context_of(JNIEnv *env, jlong handle)
{
    if (!handle)
        hh_throw(env, "java/lang/NullPointerException", "the cipher is closed");
    return (void *)(uintptr_t)handle;
}

/* Counter mode makes as many bytes as it takes. */
HH_METHOD(jint, crypto_OpensslCipher_update, JNIEnv *env, jobject object, jlong handle, jobject input,
          jint input_offset, jint length, jobject output, jint output_offset, jint room)
{
    (void)object;
    void *context = context_of(env, handle);
    if (!context)
        return 0;
    if (room < length) {
        hh_throw(env, "javax/crypto/ShortBufferException", "%d bytes do not fit into %d", length, room);
        return 0;
    }
    unsigned char *from = hh_direct(env, input, input_offset, length);
    unsigned char *to = from ? hh_direct(env, output, output_offset, length) : NULL;
    int made = 0;
    if (to && length > 0 && update(context, to, &made, from, length) != 1)
        hh_throw(env, "java/lang/InternalError", "libcrypto could not go on with %d bytes", length);
    return made;
}

HH_METHOD(jint, crypto_OpensslCipher_doFinal, JNIEnv *env, jobject object, jlong handle, jobject output, jint offset,
          jint room)
{
    (void)object;
    unsigned char last[2 * BLOCK];
    int made = 0;
    void *context = context_of(env, handle);
    if (!context)
        return 0;
    if (final(context, last, &made) != 1) {
        hh_throw(env, "java/lang/InternalError", "libcrypto could not end");
        return 0;
    }
    if (made > room) {
        hh_throw(env, "javax/crypto/ShortBufferException", "%d bytes do not fit into %d", made, room);
        return 0;
    }
    unsigned char *to = hh_direct(env, output, offset, made);
    if (to)
        __builtin_memcpy(to, last, (size_t)made);
    return to ? made : 0;
}

HH_METHOD(void, crypto_OpensslCipher_clean, JNIEnv *env, jobject object, jlong handle)
{
    (void)env, (void)object;
    if (handle)
        free_context((void *)(uintptr_t)handle);
}

HH_METHOD(void, crypto_random_OpensslSecureRandom_initSR, JNIEnv *env, jclass class)
{
    (void)class;
    hh_library_need(env, &library);
}

/* False makes Java ask another source, which it does not have while this one is in use; so a failure is an error. */
HH_METHOD(jboolean, crypto_random_OpensslSecureRandom_nextRandBytes, JNIEnv *env, jobject object, jbyteArray array)
{
    (void)object;
    unsigned char bytes[1024];
    if (!hh_in_array(env, array, 0, 0) || !hh_library_need(env, &library))
        return JNI_FALSE;
    jint length = (*env)->GetArrayLength(env, array);
    for (jint done = 0; done < length;) {
        jint step = length - done < (jint)sizeof(bytes) ? length - done : (jint)sizeof(bytes);
        if (random_bytes(bytes, step) != 1) {
            hh_throw(env, "java/lang/InternalError", "libcrypto has no random bytes");
            return JNI_FALSE;
        }
        (*env)->SetByteArrayRegion(env, array, done, step, (const jbyte *)bytes);
        done += step;
    }
    return JNI_TRUE;
}
