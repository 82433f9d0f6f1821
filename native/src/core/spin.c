/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spin.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/context.h"

#define LOOKS        64U  /* one to three microseconds over shm */
#define LOOKS_LONGER 256U /* covers the turn-around of a peer that has just been woken, in Java too */
#define PAUSE_MIN    8U
#define PAUSE_MAX    64U
#define PAUSE_SHORT  4U                 /* where spinning takes nobody's processor */
#define TRIAL        10                 /* times poll.spin: longer than a futex and a processor need to wake up */
#define LONG         ((int64_t)1000000) /* nanoseconds: such a wait of one who waits for answers says little */
#define TRIALS       64                 /* that may go well before the machine is looked at again */

static unsigned spin_value(const _Atomic unsigned *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void spin_set(_Atomic unsigned *word, unsigned to)
{
    atomic_store_explicit(word, to, memory_order_relaxed);
}

unsigned hd_spin_looks(const struct hd_engine *engine, const struct hd_spin *spin)
{
    if (engine->conf.poll_spin == 0)
        return 0;
    if (spin_value(&spin->pause) == 0)
        return LOOKS;
    return atomic_load_explicit(&spin->futile, memory_order_relaxed) ? 0 : LOOKS_LONGER;
}

/* Whether more threads than processors want to run, in the system's own words; if it has none, as if there were. */
static bool spin_machine_is_crowded(struct hd_engine *engine)
{
    char text[128];
    ssize_t n = engine->load_fd < 0 ? -1 : pread(engine->load_fd, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return true;
    text[n] = '\0';
    char *p = text; /* three averages, then running/all */
    for (int i = 0; p && i < 3; i++) {
        p = strchr(p, ' ');
        p += p != NULL;
    }
    return !p || strtol(p, NULL, 10) > engine->processors_online;
}

int64_t hd_spin_begin(struct hd_engine *engine, struct hd_spin *spin)
{
    int64_t time = engine->conf.poll_spin;
    unsigned pause = spin_value(&spin->pause);
    if (pause)
        spin_set(&spin->pause, pause - 1);
    if (time == 0 || pause)
        return 0;
    if (atomic_fetch_add_explicit(&engine->spinners, 1, memory_order_relaxed) >= engine->spinners_max) {
        hd_spin_end(engine);
        return 0;
    }
    if (spin_value(&spin->longer) && spin_value(&spin->longer) % TRIALS == 0 && spin_machine_is_crowded(engine))
        spin_set(&spin->longer, 0);
    bool trial = spin_value(&spin->misses) && !atomic_load_explicit(&spin->futile, memory_order_relaxed);
    return trial || spin_value(&spin->longer) ? TRIAL * time : time;
}

void hd_spin_end(struct hd_engine *engine)
{
    atomic_fetch_sub_explicit(&engine->spinners, 1, memory_order_relaxed);
}

void hd_spin_open(struct hd_engine *engine)
{
    engine->load_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    engine->processors_online = sysconf(_SC_NPROCESSORS_ONLN);
}

void hd_spin_close(struct hd_engine *engine)
{
    if (engine->load_fd >= 0)
        close(engine->load_fd);
}

void hd_spin_learn_hit(struct hd_spin *spin)
{
    spin_set(&spin->misses, 0);
    spin_set(&spin->pause, 0);
    spin_set(&spin->next_pause, PAUSE_MIN);
}

void hd_spin_came(struct hd_engine *engine, struct hd_spin *spin, int64_t waited)
{
    if (waited > engine->conf.poll_spin)
        spin_set(&spin->longer, spin_value(&spin->longer) + 1);
    hd_spin_hit(spin);
}

void hd_spin_missed(struct hd_spin *spin, bool futile)
{
    spin_set(&spin->longer, 0);
    unsigned misses = spin_value(&spin->misses) + 1, next = spin_value(&spin->next_pause);
    atomic_store_explicit(&spin->futile, futile, memory_order_relaxed);
    spin_set(&spin->misses, misses < 2 ? misses : 1); /* the trial after the pause decides */
    if (misses < 2)
        return;
    next = !futile || next < PAUSE_MIN ? PAUSE_MIN : next;
    spin_set(&spin->pause, futile ? next : PAUSE_SHORT);
    spin_set(&spin->next_pause, !futile ? PAUSE_MIN : next < PAUSE_MAX ? 2 * next : PAUSE_MAX);
}

void hd_spin_learn_miss(struct hd_engine *engine, struct hd_spin *spin, int64_t waited)
{
    bool longer = waited == HD_FOREVER || waited > TRIAL * engine->conf.poll_spin;
    hd_spin_missed(spin, longer || spin_machine_is_crowded(engine));
}

void hd_spin_learn_wait(struct hd_engine *engine, struct hd_spin *spin, int64_t waited)
{
    if (waited < LONG)
        hd_spin_learn_miss(engine, spin, waited);
    else
        spin_set(&spin->longer, 0);
}
