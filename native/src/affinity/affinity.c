/* SPDX-License-Identifier: Apache-2.0 */
#include "affinity.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan.h"
#include "base/util.h"

/*
 * The cache is the thread itself: a thread-local record remembers which affinities have dealt with the
 * thread. A hit reads one thread-local word and counts in another; everything else happens under one lock for
 * the whole process, which is taken when a thread comes or goes. Ids are never used twice, so a record cannot
 * mistake a new affinity for a destroyed one at the same address.
 */

struct hd_affinity {
    uint64_t id;
    unsigned count; /* of sets */
    struct hd_cpuset *sets;
    unsigned *threads; /* that have set i */
    unsigned next;     /* set that is looked at first for the next thread */
    struct hd_cpuset allowed;
    bool real, callers;
    bool closed; /* under the lock */
    hd_affinity_say_fn say;
    void *say_arg;
    atomic_bool said;
    struct hd_affinity_words words;
    _Atomic uint64_t hits, misses, bound_now, refused; /* what the words are if nobody gives others */
};

/* What one affinity did with a thread. */
struct place {
    _Atomic uint64_t id;   /* 0: unused */
    _Atomic uint64_t hits; /* written by the thread alone */
    uint64_t flushed;      /* of these hits */
    hd_affinity *affinity;
    int set; /* -1: none, because it was refused or another affinity had bound the thread */
};

#define PLACES 4 /* engines that a thread uses in turn without being forgotten */

struct record {
    struct record *next, **back; /* all records with a used place */
    struct place places[PLACES];
    unsigned evict;
    pid_t tid;
    struct place *bound;           /* the place whose set is in force */
    struct hd_cpuset before, mask; /* the thread's mask without and with us */
};

static _Thread_local struct record self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records;
static _Atomic uint64_t last_id;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static int key_error;

static int get_mask(pid_t tid, struct hd_cpuset *mask)
{
    memset(mask, 0, sizeof(*mask));
    return sched_getaffinity(tid, sizeof(*mask), (cpu_set_t *)mask) ? -errno : 0;
}

static int set_mask(pid_t tid, const struct hd_cpuset *mask)
{
    return sched_setaffinity(tid, sizeof(*mask), (const cpu_set_t *)mask) ? -errno : 0;
}

static void add(_Atomic uint64_t *word, uint64_t n)
{
    atomic_fetch_add_explicit(word, n, memory_order_relaxed);
}

/* ---- under the lock ---- */

static void flush(struct place *place)
{
    uint64_t hits = atomic_load_explicit(&place->hits, memory_order_relaxed);
    add(place->affinity->words.hits, hits - place->flushed);
    place->flushed = hits;
}

/* A mask that somebody else has set since is left alone. */
static void unbind(struct record *record)
{
    struct place *place = record->bound;
    hd_affinity *affinity = place->affinity;
    struct hd_cpuset now;
    if (affinity->real && get_mask(record->tid, &now) == 0 && hd_cpuset_equal(&now, &record->mask))
        set_mask(record->tid, &record->before);
    affinity->threads[place->set]--;
    add(affinity->words.bound_now, (uint64_t)-1);
    record->bound = NULL;
}

static void vacate(struct record *record, struct place *place)
{
    if (atomic_load_explicit(&place->id, memory_order_relaxed) == 0)
        return;
    flush(place);
    if (record->bound == place)
        unbind(record);
    atomic_store_explicit(&place->id, 0, memory_order_relaxed);
}

/* Without a used place a record need not be known. */
static void tidy(struct record *record)
{
    for (size_t i = 0; i < PLACES; i++)
        if (atomic_load_explicit(&record->places[i].id, memory_order_relaxed))
            return;
    if (!record->back)
        return;
    *record->back = record->next;
    if (record->next)
        record->next->back = record->back;
    record->back = NULL;
}

static void enlist(struct record *record)
{
    if (record->back)
        return;
    record->tid = (pid_t)syscall(SYS_gettid);
    record->back = &records;
    record->next = records;
    if (records)
        records->back = &record->next;
    records = record;
    pthread_setspecific(exit_key, record);
}

static struct place *free_place(struct record *record)
{
    for (size_t i = 0; i < PLACES; i++)
        if (atomic_load_explicit(&record->places[i].id, memory_order_relaxed) == 0)
            return &record->places[i];
    struct place *victim;
    do
        victim = &record->places[record->evict++ % PLACES];
    while (victim == record->bound); /* or the thread would be bound without anybody knowing */
    vacate(record, victim);
    return victim;
}

/* The set with the fewest threads; in turn among equals, which is round-robin as long as no thread leaves. */
static unsigned choose_set(hd_affinity *affinity)
{
    unsigned best = affinity->next;
    for (unsigned k = 1; k < affinity->count && affinity->threads[best]; k++) {
        unsigned i = (affinity->next + k) % affinity->count;
        if (affinity->threads[i] < affinity->threads[best])
            best = i;
    }
    affinity->next = (best + 1) % affinity->count;
    return best;
}

/* A thread that a bound one created has inherited its set; that is not what it should go back to. */
static void remember_before(struct record *record, const hd_affinity *affinity, const struct hd_cpuset *before)
{
    record->before = *before;
    for (unsigned i = 0; i < affinity->count; i++)
        if (hd_cpuset_equal(before, &affinity->sets[i]))
            record->before = affinity->allowed;
}

static int bind_thread(struct record *record, struct place *place, hd_affinity *affinity)
{
    unsigned set = choose_set(affinity);
    if (affinity->real) {
        struct hd_cpuset before;
        int err = get_mask(record->tid, &before);
        if (!err)
            err = set_mask(record->tid, &affinity->sets[set]);
        if (!err)
            err = get_mask(record->tid, &record->mask); /* the kernel leaves out what is not there */
        if (err) {
            affinity->next = set;
            add(affinity->words.refused, 1);
            return err;
        }
        remember_before(record, affinity, &before);
    }
    place->set = (int)set;
    record->bound = place;
    affinity->threads[set]++;
    add(affinity->words.bound_now, 1);
    return 0;
}

static int first_entry(hd_affinity *affinity)
{
    enlist(&self);
    struct place *place = free_place(&self);
    *place = (struct place){.affinity = affinity, .set = -1};
    int err = self.bound ? 0 : bind_thread(&self, place, affinity);
    atomic_store_explicit(&place->id, affinity->id, memory_order_relaxed);
    add(affinity->words.misses, 1);
    return err;
}

/* ---- entering and leaving ---- */

static void forget_thread(void *arg)
{
    struct record *record = arg;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < PLACES; i++)
        vacate(record, &record->places[i]);
    tidy(record);
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    key_error = pthread_key_create(&exit_key, forget_thread);
}

/* A thread that ends after the library was unloaded must not call into it. */
__attribute__((destructor)) static void delete_key(void)
{
    pthread_once(&key_once, make_key);
    if (!key_error)
        pthread_key_delete(exit_key);
}

static struct place *known(const hd_affinity *affinity)
{
    for (size_t i = 0; i < PLACES; i++)
        if (atomic_load_explicit(&self.places[i].id, memory_order_relaxed) == affinity->id)
            return &self.places[i];
    return NULL;
}

static inline void hit(struct place *place)
{
    uint64_t hits = atomic_load_explicit(&place->hits, memory_order_relaxed) + 1;
    atomic_store_explicit(&place->hits, hits, memory_order_relaxed);
    if (__builtin_expect(hits % HD_AFFINITY_BATCH == 0, 0) && pthread_mutex_trylock(&lock) == 0) {
        flush(place);
        pthread_mutex_unlock(&lock);
    }
}

__attribute__((noinline)) static void enter_slowly(hd_affinity *affinity, bool binds)
{
    if (affinity->count == 0)
        return;
    struct place *place = known(affinity);
    if (place) {
        hit(place);
        return;
    }
    if (!binds)
        return;
    pthread_mutex_lock(&lock);
    int err = affinity->closed ? 0 : first_entry(affinity);
    pthread_mutex_unlock(&lock);
    if (!err || !affinity->say || atomic_exchange(&affinity->said, true))
        return;
    char line[256];
    snprintf(line, sizeof(line),
             "affinity: the system does not let us bind a thread (%s); threads that it refuses run where it "
             "puts them",
             strerror(-err));
    affinity->say(affinity->say_arg, line);
}

void hd_affinity_enter(hd_affinity *affinity)
{
    struct place *place = &self.places[0];
    if (__builtin_expect(atomic_load_explicit(&place->id, memory_order_relaxed) == affinity->id, 1))
        hit(place);
    else
        enter_slowly(affinity, affinity->callers);
}

void hd_affinity_enter_communication(hd_affinity *affinity)
{
    struct place *place = &self.places[0];
    if (__builtin_expect(atomic_load_explicit(&place->id, memory_order_relaxed) == affinity->id, 1))
        hit(place);
    else
        enter_slowly(affinity, true);
}

/* A thread that we bound is free for the other affinities that know it: they shall look at it anew. */
static void forget_affinity(struct record *record, const hd_affinity *affinity)
{
    bool ours = record->bound && record->bound->affinity == affinity;
    for (size_t i = 0; i < PLACES; i++)
        if (ours || record->places[i].affinity == affinity)
            vacate(record, &record->places[i]);
    tidy(record);
}

void hd_affinity_leave(hd_affinity *affinity)
{
    pthread_mutex_lock(&lock);
    forget_affinity(&self, affinity);
    pthread_mutex_unlock(&lock);
}

int hd_affinity_current(const hd_affinity *affinity)
{
    const struct place *place = known(affinity);
    return place && place->set >= 0 ? place->set : hd_error(-ENOENT, "this thread was not bound");
}

/* ---- life ---- */

static int copy_sets(hd_affinity *affinity, const hd_plan *plan)
{
    if (!plan || plan->count == 0)
        return 0;
    affinity->sets = malloc(plan->count * sizeof(*affinity->sets));
    affinity->threads = calloc(plan->count, sizeof(*affinity->threads));
    if (!affinity->sets || !affinity->threads)
        return hd_error(-ENOMEM, "no memory for %u sets of processors", plan->count);
    memcpy(affinity->sets, plan->sets, plan->count * sizeof(*affinity->sets));
    affinity->count = plan->count;
    return 0;
}

int hd_affinity_create(const hd_plan *plan, const struct hd_affinity_params *given, hd_affinity **affinity)
{
    struct hd_affinity_params params;
    int err = hd_params_take(&params, sizeof(params), given, 0, "affinity parameters");
    if (err)
        return err;
    pthread_once(&key_once, make_key);
    if (key_error)
        return hd_error(-key_error, "no thread-specific key: %s", strerror(key_error));
    hd_affinity *made = calloc(1, sizeof(*made));
    if (!made)
        return hd_error(-ENOMEM, "no memory for affinity");
    err = copy_sets(made, plan);
    if (err) {
        free(made->sets);
        free(made->threads);
        free(made);
        return err;
    }
    made->id = atomic_fetch_add(&last_id, 1) + 1;
    if (plan) {
        made->real = plan->real;
        made->allowed = plan->allowed;
    }
    made->callers = params.threads == HD_AFFINITY_ALL;
    made->say = params.say;
    made->say_arg = params.say_arg;
    made->words = (struct hd_affinity_words){&made->hits, &made->misses, &made->bound_now, &made->refused};
    *affinity = made;
    return 0;
}

void hd_affinity_count_in(hd_affinity *affinity, const struct hd_affinity_words *words)
{
    affinity->words = *words;
}

unsigned hd_affinity_sets(const hd_affinity *affinity)
{
    return affinity->count;
}

void hd_affinity_close(hd_affinity *affinity)
{
    if (!affinity)
        return;
    pthread_mutex_lock(&lock);
    affinity->closed = true;
    for (struct record *record = records, *next; record; record = next) {
        next = record->next;
        forget_affinity(record, affinity);
    }
    pthread_mutex_unlock(&lock);
}

void hd_affinity_destroy(hd_affinity *affinity)
{
    if (!affinity)
        return;
    hd_affinity_close(affinity);
    free(affinity->sets);
    free(affinity->threads);
    free(affinity);
}

void hd_affinity_count(const hd_affinity *affinity, struct hd_affinity_counters *counters)
{
    pthread_mutex_lock(&lock);
    const struct hd_affinity_words *words = &affinity->words;
    struct hd_affinity_counters now = {
        .hits = atomic_load_explicit(words->hits, memory_order_relaxed),
        .misses = atomic_load_explicit(words->misses, memory_order_relaxed),
        .bound_now = atomic_load_explicit(words->bound_now, memory_order_relaxed),
        .refused = atomic_load_explicit(words->refused, memory_order_relaxed),
    };
    for (const struct record *record = records; record; record = record->next)
        for (size_t i = 0; i < PLACES; i++) {
            const struct place *place = &record->places[i];
            if (atomic_load_explicit(&place->id, memory_order_relaxed) == affinity->id)
                now.hits += atomic_load_explicit(&place->hits, memory_order_relaxed) - place->flushed;
        }
    pthread_mutex_unlock(&lock);
    *counters = now;
}
