/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_HELP_H
#define HD_HELP_H

/* A caller that waits for events polls in the place of the communication threads, and serves their links: what several
 * links share (struct hd_source), so that it costs the same for any number of them. */

#include "progress/comm.h"

#define HD_HELP_SOURCES 16 /* those beyond are left to their threads */

struct hd_help {
    struct {
        struct hd_comm *comm;
        struct hd_source *source;
    } at[HD_HELP_SOURCES];
    unsigned count;
};

/* @return whether there is something to poll. */
bool hd_help_begin(struct hd_help *help, struct hd_engine *engine);
/* Looks once, and gives links for which something came a turn. */
void hd_help_poll(struct hd_help *help);
/* `to_sleep`: the communication threads are to wake the caller, from the next arrival on. */
void hd_help_end(struct hd_help *help, bool to_sleep);

#endif
