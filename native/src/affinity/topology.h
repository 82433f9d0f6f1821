/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TOPOLOGY_H
#define HD_TOPOLOGY_H

/* A topology in our own terms. hwloc.c fills it; libhwloc is not needed afterwards. Indexes are logical:
 * position in the arrays. Only `os` of a PU, and sets, are in the system's numbers. */

#include <howdah/affinity.h>

#include "cpuset.h"

struct hd_topo_pu {
    unsigned os;
    unsigned core;
};

struct hd_topo_core {
    unsigned socket;
    unsigned first_pu, pus;
};

struct hd_topo_socket {
    unsigned first_core, cores;
    struct hd_cpuset cpus;
};

struct hd_topo_hca {
    char name[64];
    char pci[16];
    bool down;
    bool located;
    struct hd_cpuset near; /* the PUs of what it is attached to, whole sockets; if located */
};

struct hd_topo {
    struct hd_topo_pu *pus;
    struct hd_topo_core *cores;
    struct hd_topo_socket *sockets;
    struct hd_topo_hca *hcas;
    unsigned pu_count, core_count, socket_count, hca_count;
    struct hd_cpuset all;
    struct hd_cpuset allowed;
    unsigned cache_line;
    bool this_system;
    char model[64];
    char source[256];
};

/* Reads the machine (xml NULL) or a file into an empty topology; `allowed` is what the cgroup or file allows.
 */
int hd_hwloc_read(const char *xml, struct hd_topo *topo);

/* Whether an HCA is close to a socket; false if nobody knows where it is. */
bool hd_topo_near(const struct hd_topo *topo, const struct hd_topo_hca *hca, unsigned socket);

/* Lists names of devices for an error. */
void hd_topo_names(const struct hd_topo *topo, char *text, size_t size);

/* Reads "0", "12"; -EINVAL for anything else. */
int hd_topo_number(const char *text, unsigned *number);

#endif
