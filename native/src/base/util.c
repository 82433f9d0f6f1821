/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local char last_error[512];

const char *hd_last_error(void)
{
    return last_error;
}

const char *hd_version(void)
{
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
    return TEXT(HD_VERSION_MAJOR) "." TEXT(HD_VERSION_MINOR);
}

int hd_error(int error, const char *format, ...)
{
    char text[sizeof(last_error)]; /* the arguments may point into last_error */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(last_error, text, sizeof(text));
    return error;
}

int hd_error_context(int error, const char *format, ...)
{
    char text[2 * sizeof(last_error)];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(last_error), format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof(last_error))
        n = sizeof(last_error) - 1;
    snprintf(text + n, sizeof(text) - (size_t)n, ": %s", last_error);
    memcpy(last_error, text, sizeof(last_error) - 1);
    return error;
}

void hd_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout, bool shared)
{
    struct timespec ts = {0}, *limit = NULL;
    if (timeout != HD_FOREVER) {
        ts.tv_sec = timeout / 1000000000;
        ts.tv_nsec = timeout % 1000000000;
        limit = &ts;
    }
    syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, expected, limit, NULL, 0);
}

void hd_futex_wake(_Atomic uint32_t *word, int count, bool shared)
{
    syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static uint32_t crc_table[256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_build(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78U : 0);
        crc_table[i] = crc;
    }
}

static uint32_t crc_portable(uint32_t crc, const unsigned char *p, size_t length)
{
    pthread_once(&crc_once, crc_build);
    while (length--)
        crc = (crc >> 8) ^ crc_table[(crc ^ *p++) & 0xff];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const unsigned char *p, size_t length)
{
    uint64_t wide = crc;
    for (; length >= 8; length -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    while (length--)
        crc = __builtin_ia32_crc32qi(crc, *p++);
    return crc;
}
#endif

uint32_t hd_crc32c(uint32_t crc, const void *data, size_t length)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_sse42(~crc, data, length);
#endif
    return ~crc_portable(~crc, data, length);
}

int hd_random_bytes(void *data, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = getrandom((char *)data + done, length - done, 0);
        if (n < 0 && errno != EINTR)
            return hd_error(-errno, "no random bytes: %s", strerror(errno));
        if (n > 0)
            done += (size_t)n;
    }
    return 0;
}

int hd_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t most, before;
    sigfillset(&most);
    for (size_t i = 0; i < HD_COUNT(faults); i++)
        sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    int err = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return hd_error(-err, "cannot start a thread: %s", strerror(err));
    pthread_setname_np(*thread, name);
    return 0;
}

int hd_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

void *hd_alloc_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return aligned_alloc(page, hd_align(size, page));
}

int hd_params_take(void *ours, size_t size, const void *theirs, size_t least, const char *what)
{
    size_t given = 0;
    memset(ours, 0, size);
    if (theirs)
        memcpy(&given, theirs, sizeof(given));
    if (theirs ? given < least || given < sizeof(given) : least > 0)
        return hd_error(-EINVAL, "%s are missing or have %zu bytes where %zu are the least", what, given, least);
    for (size_t i = size; i < given; i++)
        if (((const char *)theirs)[i])
            return hd_error(-EINVAL, "%s of %zu bytes use something that this library (%s) does not know", what, given,
                            hd_version());
    if (theirs)
        memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof(size));
    return 0;
}

void hd_params_give(void *theirs, const void *ours, size_t size)
{
    size_t given;
    memcpy(&given, theirs, sizeof(given));
    if (given > sizeof(given))
        memcpy((char *)theirs + sizeof(given), (const char *)ours + sizeof(given),
               (given < size ? given : size) - sizeof(given));
}
