/* SPDX-License-Identifier: Apache-2.0 */

/* Processes of two users on one host: they talk, but neither may map the other's memory. Needs root to become somebody
 * else. */

#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define NOBODY 65534

/* Echoes one message of any size as another user. */
static void stranger(int fd)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
        _exit(2);
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
    hd_stream_close(event.stream);
    hd_link_put(result.link);
    hd_queue_destroy(queue);
    hd_engine_destroy(engine);
    _exit(0);
}

static void users_exchange_messages_without_sharing_memory(void **state)
{
    (void)state;
    int fds[2], status;
    test_sockets(fds);
    pid_t pid = fork();
    if (pid == 0)
        stranger(fds[1]);
    hd_engine *engine = test_engine(NULL);
    struct hd_connect_result result = {.size = sizeof(result)};
    hd_stream *stream;
    hd_buf *msg;
    assert_ok(hd_connect(engine, fds[0], "stranger:1", PATIENCE, &result));
    assert_int_equal(result.outcome, HD_LINKED);
    assert_ok(hd_stream_open(result.link, "test", NULL, &stream));
    char *data = malloc(3000000);
    for (size_t size = 1; size < 3000000; size = size * 5 + 3) {
        fill(data, size, size);
        assert_ok(hd_send(stream, data, size, PATIENCE));
        assert_ok(hd_recv(stream, &msg, PATIENCE));
        assert_int_equal(hd_buf_length(msg), size);
        assert_true(filled(hd_buf_data(msg), size, size));
        hd_buf_unref(msg);
    }
    free(data);
    assert_true(counter(engine, "messages.copy") > 0);
    assert_int_equal(counter(engine, "messages.read"), 0);
    hd_stream_close(stream);
    hd_link_put(result.link);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    hd_engine_destroy(engine);
    close(fds[0]);
    close(fds[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(users_exchange_messages_without_sharing_memory)};
    if (geteuid() != 0) {
        printf("skipped: becoming another user needs root\n");
        return 77;
    }
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
