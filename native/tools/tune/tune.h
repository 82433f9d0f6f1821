/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TUNE_H
#define HD_TUNE_H

/*
 * hd-tune: two processes, here or on two hosts. The client tries candidates for options; for each trial both ends make
 * engines with the same settings, the client measures, and both close them again, so nothing of a candidate is left
 * when the next one is tried.
 *
 *   choose.c  what the figures of candidates say
 *   trial.c   one trial, the client's side           serve.c  the server's side
 *   wire.c    the control connection
 *   report.c  table, JSON, profile                   main.c   options and the order of it all
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <howdah/howdah.h>

#define TUNE_WAIT       (60 * (int64_t)1000000000)
#define TUNE_VALUE      32 /* bytes of a value's text */
#define TUNE_CANDIDATES 10
#define TUNE_ROUNDS     51
#define TUNE_LINKS      4
#define TUNE_SETTINGS   8
#define TUNE_BLOCK_MAX  ((size_t)8 << 20)

/* ---- choose.c ---- */

struct tune_samples { /* lower is better */
    double value[TUNE_ROUNDS];
    int count;
};

double tune_median(const struct tune_samples *s);
/* Between the first and the third quartile. */
double tune_spread(const struct tune_samples *s);
/* Whether `candidate` is better than `holder` by more than the spread of either, and by more than one part in fifty,
 * below which a choice is not worth having. */
bool tune_better(const struct tune_samples *candidate, const struct tune_samples *holder);
/* The candidate with the best median if it is better than the holder in that sense, else the holder. */
int tune_choose(const struct tune_samples *all, int count, int holder);

/* ---- wire.c: client and server speak over one TCP connection ---- */

enum tune_kind { TUNE_PING, TUNE_PULL, TUNE_QUIT };

struct tune_setting {
    char key[64], value[TUNE_VALUE];
};

struct tune_order {
    uint32_t kind;
    uint32_t links; /* connections that follow, 1 .. TUNE_LINKS */
    struct tune_setting settings[TUNE_SETTINGS];
    uint32_t setting_count;
};

int tune_listen(const char *where, int *port); /* "PORT" or "HOST:PORT", port 0 for any. @return socket or -1 */
int tune_connect(const char *where);           /* "HOST:PORT". @return socket or -1 */
int tune_accept(int listener, int timeout_ms); /* @return socket or -1 */
bool tune_send(int fd, const void *data, size_t length);
bool tune_receive(int fd, void *data, size_t length);
/* One sentence, "" for well. */
bool tune_send_words(int fd, const char *words);
bool tune_receive_words(int fd, char *words, size_t size);

/* ---- serve.c ---- */

/* Serves one client until it says so or goes away. @return exit status. */
int tune_serve(int listener, int control);

/* ---- trial.c ---- */

struct tune_task {
    const char *option; /* without prefix */
    const char *what;   /* is measured, for people */
    const char *unit;
    enum tune_kind kind;
    unsigned links, in_flight;
    const size_t *sizes; /* ended by 0 */
    const char *candidates[TUNE_CANDIDATES];
};

struct tune_session {
    const char *where; /* of the server's port */
    int control;
    struct tune_setting settings[TUNE_SETTINGS]; /* of every trial */
    unsigned setting_count;
    char transport[32]; /* of the last trial's links */
};

int tune_set(struct tune_setting *settings, unsigned *count, const char *key, const char *value);
hd_conf *tune_conf(const struct tune_setting *settings, unsigned count);
/* Measures with `value` for the task's option. @return false with hd_last_error()-like words on standard error. */
bool tune_trial(struct tune_session *session, const struct tune_task *task, const char *value, double *result);
void tune_quit(struct tune_session *session);
double tune_now(void); /* seconds */

/* ---- report.c ---- */

struct tune_result {
    const struct tune_task *task;
    char skipped[200]; /* why it was not measured */
    char values[TUNE_CANDIDATES][TUNE_VALUE];
    struct tune_samples samples[TUNE_CANDIDATES];
    int count, holder, best, chosen; /* best: of the first pass */
    double gain, spread;             /* of the best over the holder, as fractions of the holder's median */
};

struct tune_report {
    struct tune_link_words {
        char arch[16], kind[16], model[64];
        unsigned speed;
    } link;
    const char *transport, *peer, *profile; /* profile: "" if none was written */
    int rounds;
    const struct tune_result *results;
    int count;
};

void tune_print(const struct tune_result *result);
void tune_print_json(const struct tune_report *report);
/* Writes the whole profile or nothing. @return 0 or a negative errno, with words on standard error. */
int tune_write_profile(const struct tune_report *report, const char *path);

#endif
