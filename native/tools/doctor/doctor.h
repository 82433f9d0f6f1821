/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_DOCTOR_H
#define HD_DOCTOR_H

/*
 * hd-doctor: looks at everything on a node that the engine depends on, and tries what can be tried. Each check adds
 * findings; a finding that is not OK says what to do.
 *
 *   rdma.c devices, ports, GIDs     limits.c memory that may be locked, /dev/shm, pages, files
 *   cgroup.c what a container or batch job may use     udapl.c dat.conf     java.c the JDK
 *   engine.c options, topology, affinity, and data really sent over every transport
 *   findings.c the list and how it is shown     main.c options and order
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <howdah/howdah.h>

#include "base/first_line.h"

enum health { HEALTHY, WARNING, PROBLEM };

struct finding {
    enum health health;
    char section[16], name[64], value[400], advice[400];
};

struct doctor {
    struct finding *findings;
    size_t count;
    const char *sys;  /* /sys, or a copy of it */
    const char *java; /* home of the JDK that the caller would take, NULL: JAVA_HOME */
    hd_conf *conf;    /* as an engine of this environment would have it; NULL if it is refused */
    unsigned devices; /* RDMA devices, and those with an active port: */
    unsigned active;
};

/* ---- findings.c ---- */

/* Adds a finding; what to do about it follows with advise(). From one thread at a time. */
void find(struct doctor *d, enum health health, const char *section, const char *name, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void advise(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum health worst(const struct doctor *d);
void print_findings(const struct doctor *d);
void print_findings_json(const struct doctor *d);

/* "1.5 GB" */
const char *bytes(uint64_t n, char text[32]);
/* An option's value as text; "" if there is no configuration. */
const char *option(const struct doctor *d, const char *name, char *text, size_t size);
bool option_is(const struct doctor *d, const char *name, const char *value);
/* A size option in bytes. */
uint64_t option_bytes(const struct doctor *d, const char *name);

/* ---- the checks, in the order in which they run ---- */

void check_options(struct doctor *d);
void check_devices(struct doctor *d);
void check_limits(struct doctor *d);
void check_cgroup(struct doctor *d);
void check_udapl(struct doctor *d);
void check_java(struct doctor *d);
void check_topology(struct doctor *d);
void check_transports(struct doctor *d);

#endif
