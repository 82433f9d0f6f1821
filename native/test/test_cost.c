/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a message of 64 B there and back costs at one end: instructions of the processor, and atomic operations among
 * them, in the program, the engine and its libraries. One thread is traced step by step; the peer's thread answers at
 * its own speed, so the answer is there before the traced thread looks for it. Now and then another thread comes in
 * between and has the lock. The median of many exchanges is what one costs.
 *
 * HOWDAH_TEST_PROFILE=1 prints where the instructions of that exchange are: object, offset and how many, for addr2line.
 */

#include "link/link.h"
#include "support.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(SANITIZED)

#define WARM      2000
#define EXCHANGES 15
#define LENGTH    64
#define MARK()    __asm__ volatile("int3" ::: "memory")
#define MARK_CODE 0xcc

/* ---- the traced process ---- */

static void *answer(void *arg)
{
    hd_buf *msg;
    while (hd_recv(arg, &msg, PATIENCE) == 0) {
        int err = hd_send_buf(arg, msg, 0, hd_buf_length(msg), PATIENCE);
        hd_buf_unref(msg);
        if (err)
            break;
    }
    return NULL;
}

static void there_and_back(hd_stream *stream, const char *data, int64_t patience)
{
    hd_buf *msg;
    if (hd_send(stream, data, LENGTH, patience) || hd_recv(stream, &msg, patience))
        _exit(3);
    hd_buf_unref(msg);
}

static void exchange_messages(void)
{
    struct pair pair;
    hd_stream *client, *server;
    char data[LENGTH];
    int64_t patience = PATIENCE; /* which asks the environment */
    pthread_t thread;
    fill(data, sizeof(data), 1);
    /* The peer does not sleep meanwhile, and communication threads look at the links as seldom as can be. */
    pair_open(&pair, (const char *const[]){"poll.spin=1s", "poll.handover=1s", NULL});
    pair_stream(&pair, NULL, &client, &server);
    if (pthread_create(&thread, NULL, answer, server))
        _exit(2);
    /* As if another thread polled the link for a queue: the communication thread leaves it alone, however slow we are.
     */
    atomic_fetch_add(&pair.client->poll.queue_pollers, 1);
    int warm = test_rounds(WARM);
    for (int i = 0; i < warm; i++)
        there_and_back(client, data, patience);
    for (int i = 0; i < EXCHANGES; i++) {
        MARK();
        there_and_back(client, data, patience);
        MARK();
    }
    atomic_fetch_sub(&pair.client->poll.queue_pollers, 1);
    hd_stream_finish(client);
    pthread_join(thread, NULL);
    hd_stream_close(client);
    hd_stream_close(server);
    pair_close(&pair);
    _exit(0);
}

/* ---- the tracer ---- */

#define PLACES 8192 /* a power of two, of the instructions that an exchange passes */

struct place {
    uint64_t at;
    unsigned count;
    bool atomic, mark;
};

struct cost {
    unsigned instructions, atomics;
    struct place places[PLACES];
};

/* Whether an instruction has a lock prefix, exchanges with memory, which implies it, or is a full fence. */
static bool is_atomic(const uint8_t *code)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
    while (memchr(prefixes, *code, sizeof(prefixes)))
        code++;
    if (*code == 0xf0)
        return true;
    if ((*code & 0xf0) == 0x40) /* REX */
        code++;
    if (*code == 0x86 || *code == 0x87)
        return code[1] >> 6 != 3;
    return code[0] == 0x0f && code[1] == 0xae && code[2] == 0xf0;
}

static struct place *place_of(struct cost *cost, pid_t pid, uint64_t at)
{
    struct place *place = &cost->places[(at * 0x9e3779b97f4a7c15ULL) >> 51];
    while (place->at && place->at != at)
        place = place == &cost->places[PLACES - 1] ? cost->places : place + 1;
    if (!place->at) {
        long words[2] = {ptrace(PTRACE_PEEKTEXT, pid, at, NULL), ptrace(PTRACE_PEEKTEXT, pid, at + sizeof(long), NULL)};
        uint8_t code[sizeof(words)];
        memcpy(code, words, sizeof(code));
        *place = (struct place){.at = at, .atomic = is_atomic(code), .mark = code[0] == MARK_CODE};
    }
    return place;
}

/* Waits for the next stop of the traced thread. @return whether it is a trap: a mark, or a step */
static bool stopped(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(WIFSTOPPED(status));
    return WSTOPSIG(status) == SIGTRAP;
}

static void go_on(pid_t pid, enum __ptrace_request how)
{
    assert_int_equal(ptrace(how, pid, NULL, NULL), 0);
    assert_true(stopped(pid));
}

/* From the mark at which the thread stands to the next one. */
static void count_exchange(pid_t pid, struct cost *cost)
{
    struct user_regs_struct registers;
    memset(cost, 0, sizeof(*cost));
    for (;;) {
        assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &registers), 0);
        struct place *place = place_of(cost, pid, registers.rip);
        if (place->mark)
            break;
        place->count++;
        cost->instructions++;
        cost->atomics += place->atomic;
        go_on(pid, PTRACE_SINGLESTEP);
    }
    go_on(pid, PTRACE_CONT);
}

/* The object that an address is in, and where in its file. */
static void tell_place(pid_t pid, const struct place *place)
{
    char name[64], line[512], file[256] = "?";
    uint64_t from, to, offset, in_file = place->at;
    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        char path[256] = "?";
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &from, &to, &offset, path) < 3 || place->at < from ||
            place->at >= to)
            continue;
        in_file = place->at - from + offset;
        snprintf(file, sizeof(file), "%s", path);
    }
    if (maps)
        fclose(maps);
    printf("profile: %s 0x%lx %u%s\n", file, in_file, place->count, place->atomic ? " atomic" : "");
}

/* What an exchange may take. Over verbs that is with the adapter's library. */
static struct bar {
    const char *transport;
    unsigned instructions, atomics;
} bars[] = {{"shm", 1000, 8}, {"verbs", 2100, 18}};

static void compare(const struct cost *cost)
{
    printf("cost: transport=%s bytes=%d instructions=%u atomics=%u\n", test_transport, LENGTH, cost->instructions,
           cost->atomics);
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++)
        if (strcmp(bars[i].transport, test_transport) == 0) {
            assert_in_range(cost->instructions, 1, bars[i].instructions);
            assert_in_range(cost->atomics, 1, bars[i].atomics);
        }
}

static int by_instructions(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return (x->instructions > y->instructions) - (x->instructions < y->instructions);
}

static void a_small_message_is_cheap(void **state)
{
    static struct cost costs[EXCHANGES];
    const struct cost *median = &costs[EXCHANGES / 2];
    (void)state;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(77);
        exchange_messages();
    }
    assert_true(stopped(pid));
    for (int i = 0; i < EXCHANGES; i++) {
        if (i)
            go_on(pid, PTRACE_CONT);
        count_exchange(pid, &costs[i]);
    }
    qsort(costs, EXCHANGES, sizeof(costs[0]), by_instructions);
    if (from_environment("HOWDAH_TEST_PROFILE", 0))
        for (size_t i = 0; i < PLACES; i++)
            if (median->places[i].count)
                tell_place(pid, &median->places[i]);
    int status;
    assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    compare(median);
}

/* Why nothing can be counted here, or NULL. */
static const char *obstacle(void)
{
    int status = 0;
    const char *with = getenv("HOWDAH_TEST_WITH");
    if (with && strstr(with, "valgrind"))
        return "valgrind runs other instructions than those of the program";
    pid_t pid = fork();
    if (pid == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
    return waitpid(pid, &status, 0) == pid && status == 0 ? NULL : "this system does not allow to trace a process";
}

#else

static void a_small_message_is_cheap(void **state)
{
    (void)state;
}

static const char *obstacle(void)
{
    return "instructions are counted on x86-64 without sanitizers only";
}

#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_message_is_cheap)};
    const char *why = obstacle();
    if (why) {
        printf("skipped: cost: %s\n", why);
        return 77;
    }
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
