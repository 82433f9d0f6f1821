/* SPDX-License-Identifier: Apache-2.0 */

/* Two processes of one host, of one user or of two, in one set of name spaces or in several. They always talk; they map
 * each other's memory only if they are of one user in one user name space, and both ends come to the same conclusion.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define NOBODY  65534
#define ALICE   1001
#define REFUSED 77 /* exit status: the system does not allow this here */
#define LARGEST 3000000

/* ---- who an end is ---- */

typedef int (*become_fn)(void);

static int root(void)
{
    return 0;
}

static int user(unsigned id)
{
    /* A change of user makes a process unreadable to its own user until the next exec(). */
    return setresgid(id, id, id) || setresuid(id, id, id) || prctl(PR_SET_DUMPABLE, 1) ? -1 : 0;
}

static int nobody(void)
{
    return user(NOBODY);
}

static int alice(void)
{
    return user(ALICE);
}

/* `unshare --user`: no user of the outside has a number here. */
static int alice_unmapped(void)
{
    return user(ALICE) || unshare(CLONE_NEWUSER) ? -1 : 0;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return n < 0 ? -1 : 0;
}

/* `unshare --map-root-user`, as a rootless container does. */
static int map_root(unsigned outside)
{
    char line[32];
    if (unshare(CLONE_NEWUSER))
        return -1;
    snprintf(line, sizeof(line), "0 %u 1", outside);
    return write_file("/proc/self/setgroups", "deny") || write_file("/proc/self/uid_map", line) ||
                   write_file("/proc/self/gid_map", line)
               ? -1
               : 0;
}

static int root_mapped(void)
{
    return map_root(0);
}

static int alice_container(void)
{
    return user(ALICE) ? -1 : map_root(ALICE);
}

/* `unshare --pid --ipc --fork`: the parent only passes on how the child ended. */
static int root_in_pid_and_ipc(void)
{
    int status;
    if (unshare(CLONE_NEWPID | CLONE_NEWIPC))
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        return 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* ---- the two ends ---- */

static void serve(int fd)
{
    hd_engine *engine = test_engine(NULL);
    hd_queue *queue;
    struct hd_connect_result result = {.size = sizeof(result)};
    struct hd_event event;
    hd_buf *msg;
    if (hd_queue_create(engine, &queue) || hd_engine_listen(engine, "test", queue, 0) ||
        hd_accept(engine, fd, NULL, 0, PATIENCE, &result) || result.outcome != HD_LINKED ||
        hd_queue_wait(queue, &event, 1, PATIENCE) != 1)
        _exit(3);
    while (hd_recv(event.stream, &msg, PATIENCE) == 0) {
        if (hd_send_buf(event.stream, msg, 0, hd_buf_length(msg), PATIENCE))
            _exit(4);
        hd_buf_unref(msg);
    }
    bool sound = counter(engine, "protocol.errors") == 0;
    hd_stream_close(event.stream);
    hd_link_put(result.link);
    hd_queue_destroy(queue);
    hd_engine_destroy(engine);
    _exit(sound ? 0 : 5);
}

static void ask(int fd, int report)
{
    hd_engine *engine = test_engine(NULL);
    struct hd_connect_result result = {.size = sizeof(result)};
    hd_stream *stream;
    hd_buf *msg;
    char *data = calloc(1, LARGEST);
    if (!data || hd_connect(engine, fd, "other:1", PATIENCE, &result) || result.outcome != HD_LINKED ||
        hd_stream_open(result.link, "test", NULL, &stream))
        _exit(3);
    for (size_t size = 1; size < LARGEST; size = size * 5 + 3) {
        fill(data, size, size);
        if (hd_send(stream, data, size, PATIENCE) || hd_recv(stream, &msg, PATIENCE) || hd_buf_length(msg) != size ||
            !filled(hd_buf_data(msg), size, size))
            _exit(4);
        hd_buf_unref(msg);
    }
    free(data);
    uint64_t moved[2] = {counter(engine, "messages.read"), counter(engine, "messages.copy")};
    hd_stream_close(stream);
    hd_link_put(result.link);
    hd_engine_destroy(engine);
    _exit(write(report, moved, sizeof(moved)) == sizeof(moved) ? 0 : 5);
}

/* @param other the other end, which would never hang up if it were open here, too */
static pid_t start(become_fn become, int fd, int other, int report)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    close(other);
    if (become())
        _exit(errno == EPERM || errno == ENOSPC || errno == EINVAL ? REFUSED : 2);
    if (report >= 0)
        ask(fd, report);
    serve(fd);
    _exit(1); /* not reached */
}

static int end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Messages of all sizes there and back. @return whether memory was shared. */
static bool shares(become_fn client, become_fn server)
{
    int fds[2], report[2];
    uint64_t moved[2] = {0, 0};
    test_sockets(fds);
    assert_int_equal(pipe(report), 0);
    pid_t asks = start(client, fds[0], fds[1], report[1]), serves = start(server, fds[1], fds[0], -1);
    close(fds[0]);
    close(fds[1]);
    close(report[1]);
    int asked = end_of(asks), served = end_of(serves);
    if (asked == REFUSED || served == REFUSED) {
        printf("skipped: name spaces cannot be made here (unshare: not permitted)\n");
        close(report[0]);
        skip();
    }
    assert_int_equal(asked, 0);
    assert_int_equal(served, 0);
    assert_int_equal(read(report[0], moved, sizeof(moved)), sizeof(moved));
    close(report[0]);
    assert_true((moved[0] > 0) != (moved[1] > 0)); /* all one way */
    return moved[0] > 0;
}

static void one_user_shares_memory(void **state)
{
    (void)state;
    assert_true(shares(root, root));
    assert_true(shares(alice, alice));
}

static void two_users_do_not(void **state)
{
    (void)state;
    assert_false(shares(root, alice));
    assert_false(shares(alice, root));
    assert_false(shares(nobody, root));
    assert_false(shares(alice, nobody));
}

static void the_number_of_the_unknown_is_nobodys(void **state)
{
    (void)state;
    assert_false(shares(nobody, nobody)); /* it could be anybody */
    assert_false(shares(alice_unmapped, root));
    assert_false(shares(root, alice_unmapped));
    assert_false(shares(alice_unmapped, alice));
    assert_false(shares(alice, alice_unmapped));
    assert_false(shares(alice_unmapped, nobody));
    assert_false(shares(alice_unmapped, alice_unmapped));
}

static void a_user_name_space_is_a_border(void **state)
{
    (void)state;
    assert_false(shares(root_mapped, root));
    assert_false(shares(root, root_mapped));
    assert_false(shares(alice_container, root)); /* "root" both */
    assert_false(shares(alice, alice_container));
    assert_false(shares(alice_container, alice_container)); /* two containers */
    assert_false(shares(alice_container, alice_unmapped));
}

static void processes_that_do_not_see_each_other_talk(void **state)
{
    (void)state;
    shares(root_in_pid_and_ipc, root);
    shares(root, root_in_pid_and_ipc);
    shares(root_in_pid_and_ipc, root_in_pid_and_ipc);
    assert_false(shares(root_in_pid_and_ipc, alice_container));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_user_shares_memory),
        cmocka_unit_test(two_users_do_not),
        cmocka_unit_test(the_number_of_the_unknown_is_nobodys),
        cmocka_unit_test(a_user_name_space_is_a_border),
        cmocka_unit_test(processes_that_do_not_see_each_other_talk),
    };
    if (geteuid() != 0) {
        printf("skipped: becoming another user needs root\n");
        return 77;
    }
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
