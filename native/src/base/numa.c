/* SPDX-License-Identifier: Apache-2.0 */
#include "base/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/first_line.h"

#define NODES_MAX 1024
#define NODE_BITS (8 * sizeof(unsigned long))

int hd_numa_node_by(const char *device, const char *online)
{
    char *end;
    long node = strtol(device, &end, 10);
    bool several = strpbrk(online, "-,") != NULL; /* "0-1" or "0,8" */
    return end != device && several && node >= 0 && node < NODES_MAX ? (int)node : -1;
}

int hd_numa_node_of(const char *numa_node_file)
{
    char device[32], online[256];
    if (!hd_first_line(device, sizeof(device), "%s", numa_node_file) ||
        !hd_first_line(online, sizeof(online), "/sys/devices/system/node/online"))
        return -1;
    return hd_numa_node_by(device, online);
}

/* The C library has these calls in libnuma only. */
int hd_numa_prefer(int node)
{
    unsigned long nodes[NODES_MAX / NODE_BITS] = {0};
    int policy = MPOL_DEFAULT;
    nodes[(unsigned)node / NODE_BITS] = 1UL << (unsigned)node % NODE_BITS;
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0))
        return -errno;
    if (policy != MPOL_DEFAULT)
        return -EEXIST;
    /* The kernel takes one bit less than it is told. */
    return syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, NODES_MAX + 1) ? -errno : 0;
}

void hd_numa_restore(void)
{
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}
