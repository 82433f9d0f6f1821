/* SPDX-License-Identifier: Apache-2.0 */
#include "crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

#define FRAMES 64

static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/* Of what is called here, signal handlers should not call snprintf() and backtrace(). Neither takes memory here, the
 * latter because it has been called before; and whoever gets here has nothing left to lose. */
static void say_where(int number)
{
    char line[96], thread[16] = "?";
    void *frames[FRAMES];
    prctl(PR_GET_NAME, thread);
    int length = snprintf(line, sizeof(line), "crashed by signal %d in process %d, thread %ld (%s):\n", number,
                          (int)getpid(), syscall(SYS_gettid), thread);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(126);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

void crash_watch(void)
{
    void *frame;
    backtrace(&frame, 1); /* loads what it needs */
    for (size_t i = 0; i < HD_COUNT(crashes); i++)
        signal(crashes[i], say_where);
}

#define LONG ((int64_t)3000000000)

/* In the place of each test: cmocka sets its own handlers just before. Says what takes long. */
static void run_one(void **state)
{
    const struct CMUnitTest *test = *state;
    void *none = NULL;
    int64_t start = hd_now();
    crash_watch();
    test->test_func(&none);
    int64_t time = hd_now() - start;
    if (time >= LONG)
        printf("time: test=%s ms=%lld\n", test->name, (long long)(time / 1000000));
}

int crash_run(const char *name, const struct CMUnitTest *tests, size_t count)
{
    struct CMUnitTest *wrapped = calloc(count, sizeof(*wrapped));
    if (!wrapped)
        return 1;
    for (size_t i = 0; i < count; i++) {
        wrapped[i] = tests[i];
        wrapped[i].test_func = run_one;
        wrapped[i].initial_state = (void *)(uintptr_t)&tests[i];
    }
    int failed = _cmocka_run_group_tests(name, wrapped, count, NULL, NULL);
    free(wrapped);
    return failed;
}
