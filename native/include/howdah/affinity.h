/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_AFFINITY_H
#define HOWDAH_AFFINITY_H

/** @file
 * Where communication threads run. Four steps, each usable without the next:
 *
 *   topology   what the machine (or an XML file of hwloc's) looks like and what of it this process may use
 *   policy     which sets of SMT threads a communication thread may get
 *   plan       the policy applied to a topology and a device: the list of sets
 *   affinity   binds each thread once, when it first enters the engine, and remembers that it did
 *
 * Sockets, cores and devices are numbered as hwloc numbers them logically: 0, 1, 2 ... in the order of the
 * machine's tree. Lists of processors ("0-7,16") are in the system's numbers, as in taskset, cgroups and
 * /proc.
 */
#include <stdio.h>

#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_topo hd_topo;
typedef struct hd_plan hd_plan;
typedef struct hd_affinity hd_affinity;

/* ---- policy ---- */

enum hd_policy_kind {
    HD_POLICY_AUTO,  /**< o2acs if an HCA is used and its socket is known and usable, none otherwise */
    HD_POLICY_NONE,  /**< threads run where the system puts them */
    HD_POLICY_O2NTS, /**< n SMT threads of the socket close to the HCA */
    HD_POLICY_O2ACS, /**< all cores of that socket */
    HD_POLICY_O2OCS, /**< one core of that socket, in turn */
    HD_POLICY_O2NTC, /**< n SMT threads of any socket */
    HD_POLICY_O2OCC  /**< one core of any socket, in turn */
};

struct hd_policy {
    enum hd_policy_kind kind;
    unsigned n; /**< of o2nts and o2ntc, 0 for the others */
};

/** Reads "auto", "none", "o2acs", "o2ocs", "o2occ", "o2nts:6", "o2ntc:6" (or "O2NTS(6)"; case does not
 * matter).
 *  @return -EINVAL if it is none of them, -ERANGE if n is not in 1 .. 4096. */
HD_API int hd_policy_parse(const char *text, struct hd_policy *policy);

/** Writes a policy as hd_policy_parse() reads it. @return its length, -ENOSPC if `size` is too small. */
HD_API int hd_policy_print(const struct hd_policy *policy, char *text, size_t size);

/* ---- topology ---- */

struct hd_topo_params {
    size_t size;
    const char *xml;  /**< hwloc XML file; NULL or "": this machine, or what HWLOC_XMLFILE names */
    const char *cpus; /**< further restricts what may be used ("0-7,16"); NULL or "": no restriction */
};

/** Reads a topology. What the process may use is what its cgroup and, for the machine itself, its threads'
 * affinity masks allow. The result is not changed by anything and may be used by any number of threads.
 * @param params may be NULL.
 *  @return -ENOSYS without a libhwloc, -ENOENT / -EINVAL for a missing or bad file, -EINVAL for a bad list,
 *  -EXDEV if nothing is left to use, -E2BIG for processor numbers of 4096 and more. */
HD_API int hd_topo_load(const struct hd_topo_params *params, hd_topo **topo);
HD_API void hd_topo_destroy(hd_topo *topo);

struct hd_topo_summary {
    unsigned sockets, cores, pus; /**< PU: what runs one thread, an SMT thread */
    unsigned allowed;             /**< PUs that this process may use */
    unsigned smt;                 /**< most PUs of a core */
    unsigned devices;             /**< RDMA devices */
    unsigned cache_line;          /**< bytes, 0 if not known */
    unsigned page_size;           /**< bytes, of the machine that we run on */
    bool this_system;             /**< false: read from a file, so nothing can be bound */
    char model[64];               /**< of the processor, "" if not known */
    char source[256];             /**< the file, or "this machine" */
};

HD_API void hd_topo_summarize(const hd_topo *topo, struct hd_topo_summary *summary);

struct hd_topo_device {
    unsigned number;  /**< in the order of the PCI tree */
    char name[64];    /**< mlx5_0 */
    char pci[16];     /**< 0004:01:00.0, "" if not known */
    int socket;       /**< the (first) socket that it is close to, -1 if not known */
    unsigned sockets; /**< how many it is equally close to, 0 if not known */
    bool down;        /**< the topology says that none of its ports is active */
    unsigned allowed; /**< PUs of its sockets that this process may use */
};

/** Device number `i`. @return -ENODEV behind the last. */
HD_API int hd_topo_device_at(const hd_topo *topo, unsigned i, struct hd_topo_device *device);

/** A device by name ("mlx5_0"), by number ("1") or "auto": of those with an active port the one with most
 * usable PUs on its socket, the first of equals. @return -ENODEV if there is none; the error lists those that
 * there are. */
HD_API int hd_topo_device_find(const hd_topo *topo, const char *choice, struct hd_topo_device *device);

/** Lists the PUs of a socket (`socket` -1: of all) that may be used, or all if !allowed_only.
 *  @return length, -ENOENT if there is no such socket, -ENOSPC if `size` is too small. */
HD_API int hd_topo_cpus(const hd_topo *topo, int socket, bool allowed_only, char *text, size_t size);

/* ---- plan ---- */

struct hd_plan_params {
    size_t size;
    const char *policy; /**< NULL: auto */
    const char *device; /**< as for hd_topo_device_find(); NULL: auto */
    const char *socket; /**< number of the close socket where the machine does not know it; NULL or "auto": ask */
    bool rdma;          /**< an HCA is used: what auto decides by */
};

/** Applies a policy. A policy that was asked for by name is followed or refused; auto gives way to none, and
 * the plan says why.
 *  @return -EINVAL / -ERANGE for bad texts and an n larger than the machine's part,
 *  -ENODEV if the policy needs an HCA and there is none,
 *  -ENXIO if its socket is not known, -EXDEV if the process may not use any PU of that socket. */
HD_API int hd_plan_create(const hd_topo *topo, const struct hd_plan_params *params, hd_plan **plan);
HD_API void hd_plan_destroy(hd_plan *plan);

/** The policy in force; never auto. */
HD_API void hd_plan_policy(const hd_plan *plan, struct hd_policy *policy);

/** Why it is this one, or what is odd about it, in words; "" if there is nothing to say. */
HD_API const char *hd_plan_note(const hd_plan *plan);

/** Name of the device that the plan is made for, "" if none. */
HD_API const char *hd_plan_device(const hd_plan *plan);

/** How many sets threads are dealt to in turn; 0 with policy none. */
HD_API unsigned hd_plan_sets(const hd_plan *plan);

/** Set `i` as a list. @return length, -ENOENT behind the last, -ENOSPC if `size` is too small. */
HD_API int hd_plan_set(const hd_plan *plan, unsigned i, char *text, size_t size);

/** Writes topology and plan (which may be NULL) for people or, with `json`, as one JSON object.
 *  @return -EIO if writing failed. */
HD_API int hd_plan_report(FILE *out, const hd_topo *topo, const hd_plan *plan, bool json);

/* ---- affinity ---- */

enum hd_affinity_threads {
    HD_AFFINITY_COMMUNICATION, /**< only threads that hd_affinity_enter_communication() declared */
    HD_AFFINITY_ALL            /**< every thread that enters the engine */
};

/** Receives a line that the user should see, from any thread, at most once per cause. */
typedef void (*hd_affinity_say_fn)(void *arg, const char *line);

struct hd_affinity_params {
    size_t size;
    enum hd_affinity_threads threads;
    hd_affinity_say_fn say; /**< NULL: nothing is said */
    void *say_arg;
};

/** Prepares binding by a plan, which is copied; without a plan nobody is bound. @param params may be NULL. */
HD_API int hd_affinity_create(const hd_plan *plan, const struct hd_affinity_params *params, hd_affinity **affinity);

/** Gives every thread that is still bound the mask back that it had before, unless somebody changed it since.
 * No thread may be in a call with this affinity. */
HD_API void hd_affinity_destroy(hd_affinity *affinity);

/** Called by every thread on its way into the engine. The first call of a thread binds it to the next set,
 * all others find it in the cache: no lock, no system call, no allocation. A thread that another living
 * affinity of the process bound keeps that binding. Where the system forbids binding this is counted, said
 * once and not tried again for this thread. */
HD_API void hd_affinity_enter(hd_affinity *affinity);

/** The same for a thread whose work is communication. */
HD_API void hd_affinity_enter_communication(hd_affinity *affinity);

/** Releases the calling thread: its old mask comes back and its place is free. Exiting does the same. */
HD_API void hd_affinity_leave(hd_affinity *affinity);

/** The set that the calling thread was given. @return -ENOENT if it has none. */
HD_API int hd_affinity_current(const hd_affinity *affinity);

struct hd_affinity_counters {
    uint64_t hits;      /**< entries of threads that the cache knew */
    uint64_t misses;    /**< first entries */
    uint64_t bound_now; /**< threads that have a set (which is really bound if the topology is this machine's) */
    uint64_t refused;   /**< threads that the system did not let us bind */
};

/** Exact if no thread enters meanwhile. */
HD_API void hd_affinity_count(const hd_affinity *affinity, struct hd_affinity_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
