/* SPDX-License-Identifier: Apache-2.0 */

/* A hostile client (first byte even) or server (odd) in the greeting: each input is what it says, all at once, before
 * it hangs up. */

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <howdah/howdah.h>

#include "core/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void no_log(void *arg, enum hd_log_level level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static hd_engine *the_engine(void)
{
    static hd_engine *engine;
    struct hd_engine_params params = {.size = sizeof(params), .name = "fuzz", .log = no_log};
    if (!engine) {
        if (hd_engine_create(&params, &engine))
            abort();
        memset(engine->id, 7, sizeof(engine->id)); /* an input may claim to be this engine */
    }
    return engine;
}

/* Puts right what a random input would hardly ever hit: the magic, and the kind that is due. */
static size_t repair(uint8_t *bytes, size_t size, bool client)
{
    static const enum hd_note_kind from_client[] = {HD_NOTE_CLIENT, HD_NOTE_CHOICE, HD_NOTE_CONFIRM};
    static const enum hd_note_kind from_server[] = {HD_NOTE_SERVER, HD_NOTE_ANSWER, HD_NOTE_ANSWER};
    struct hd_note blank = {.kind = HD_NOTE_CONFIRM};
    uint8_t good[sizeof(struct hd_note_head) + HD_BODY_MAX];
    hd_note_encode(&blank, good);
    size_t at = 0;
    for (int i = 0; i < 3 && size - at >= sizeof(struct hd_note_head); i++) {
        struct hd_note_head head;
        memcpy(&head, bytes + at, sizeof(head));
        memcpy(head.magic, good, HD_MAGIC_LENGTH);
        head.major = HD_WIRE_MAJOR;
        head.kind = (uint16_t)(client ? from_client[i] : from_server[i]);
        head.length %= 600;
        memcpy(bytes + at, &head, sizeof(head));
        at += sizeof(head) + head.length;
        if (at > size)
            break;
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fds[2];
    if (size < 2 || size > 8192 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return 0;
    bool client = data[0] % 2 == 0;
    uint8_t *copy = malloc(size - 1);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 2)
        repair(copy, size - 1, client);
    if (send(fds[0], copy, size - 1, 0) < 0)
        abort();
    shutdown(fds[0], SHUT_WR);
    struct hd_connect_result result = {.size = sizeof(result)};
    int err = client ? hd_accept(the_engine(), fds[1], NULL, 0, 20000000, &result)
                     : hd_connect(the_engine(), fds[1], "fuzz:1", 20000000, &result);
    if (!err && result.outcome == HD_LINKED)
        hd_link_put(result.link);
    close(fds[0]);
    close(fds[1]);
    free(copy);
    return 0;
}
