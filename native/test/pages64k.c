/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A machine with pages of 64 KB, faked: preloaded into a test, this answers every question for the page size with 65536
 * and holds mappings to it. Addresses come in multiples of it; offsets and addresses that are not are refused, as such
 * a kernel would; whole pages are reserved and given back. The product has no switch for this.
 *
 * What the C library does inside of itself is not seen.
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE     ((size_t)65536)
#define EXPORTED __attribute__((visibility("default")))

static size_t whole(size_t length)
{
    return (length + PAGE - 1) & ~(PAGE - 1);
}

static void *map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

EXPORTED void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if ((uintptr_t)offset % PAGE || ((flags & MAP_FIXED) && (uintptr_t)address % PAGE)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (flags & MAP_FIXED)
        return map(address, length, protection, flags, fd, offset);
    /* Reserve enough to find whole pages in it; what lies behind `length` in the last one stays out of bounds. */
    size_t size = whole(length);
    char *room = map(NULL, size + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return MAP_FAILED;
    char *at = (char *)whole((uintptr_t)room);
    if (at > room)
        syscall(SYS_munmap, room, at - room);
    if (at + size < room + size + PAGE)
        syscall(SYS_munmap, at + size, (size_t)(room + size + PAGE - (at + size)));
    void *base = map(at, length, protection, flags | MAP_FIXED, fd, offset);
    if (base == MAP_FAILED) {
        int err = errno;
        syscall(SYS_munmap, at, size);
        errno = err;
    }
    return base;
}

EXPORTED void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, length, protection, flags, fd, offset);
}

static int refuse_odd(const void *address)
{
    errno = EINVAL;
    return (uintptr_t)address % PAGE ? -1 : 0;
}

EXPORTED int munmap(void *address, size_t length)
{
    return refuse_odd(address) ? -1 : (int)syscall(SYS_munmap, address, whole(length));
}

EXPORTED int mprotect(void *address, size_t length, int protection)
{
    return refuse_odd(address) ? -1 : (int)syscall(SYS_mprotect, address, length, protection);
}

EXPORTED int madvise(void *address, size_t length, int advice)
{
    return refuse_odd(address) ? -1 : (int)syscall(SYS_madvise, address, length, advice);
}

EXPORTED int getpagesize(void)
{
    return (int)PAGE;
}

EXPORTED long sysconf(int name)
{
    static long (*real)(int);
    if (name == _SC_PAGESIZE)
        return (long)PAGE;
    if (!real && !(real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf")))
        abort();
    return real(name);
}

EXPORTED unsigned long getauxval(unsigned long type)
{
    static unsigned long (*real)(unsigned long);
    if (type == AT_PAGESZ)
        return PAGE;
    if (!real && !(real = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval")))
        abort();
    return real(type);
}
