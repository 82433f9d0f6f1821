/* SPDX-License-Identifier: Apache-2.0 */

/* Writes what the fuzzers begin with: greetings as the engine's own encoder makes them, and rows of frames that get a
 * peer somewhere. make_corpus FOLDER fills FOLDER/greeting and FOLDER/frames. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "transport/wire.h"

#define HANDLE (1U << 20) /* the first that a table gives out */

struct input {
    uint8_t bytes[8192];
    size_t length;
};

static void save(const char *folder, const char *kind, const char *name, const struct input *input)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, kind);
    mkdir(folder, 0777);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/%s/%s", folder, kind, name);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(input->bytes, 1, input->length, file) != input->length || fclose(file)) {
        fprintf(stderr, "make_corpus: cannot write %s\n", path);
        exit(1);
    }
}

/* ---- greetings: first what the fuzzer takes for its selector ---- */

static void say(struct input *input, const struct hd_note *note)
{
    input->length += hd_note_encode(note, input->bytes + input->length);
}

static struct hd_note hello(enum hd_note_kind kind, const char *transport, size_t blob)
{
    struct hd_note note = {.kind = kind,
                           .name = "fuzz 1 on host",
                           .limits = {.frame_max = 32768,
                                      .credits = 64,
                                      .stream_max = 100,
                                      .fetch_max = 100,
                                      .window = 1 << 20,
                                      .message_max = 1 << 28,
                                      .local_frame_max = 2048},
                           .offer_count = transport ? 1 : 0};
    memset(note.engine, 7, sizeof(note.engine)); /* the fuzzed engine's own, as it happens */
    if (transport)
        snprintf(note.offers[0].name, sizeof(note.offers[0].name), "%s", transport);
    note.offers[0].length = (uint16_t)blob;
    memset(note.offers[0].blob, 7, blob);
    return note;
}

static struct hd_note choice(const char *transport, const char *address)
{
    struct hd_note note = {.kind = HD_NOTE_CHOICE, .offer_count = 1};
    memset(note.token, 9, sizeof(note.token));
    snprintf(note.offers[0].name, sizeof(note.offers[0].name), "%s", transport);
    note.offers[0].length = (uint16_t)strlen(address);
    memcpy(note.offers[0].blob, address, strlen(address));
    return note;
}

static struct hd_note plain(enum hd_note_kind kind, bool refused)
{
    return (struct hd_note){.kind = kind, .refused = refused, .reason = "no"};
}

static void greetings(const char *folder)
{
    static const char shm[] = "howdah-00112233445566778899aabbccddeeff", self[] = "0123456789abcdef";
    static const char *const transports[] = {"shm", "self", "verbs", NULL};
    for (int selector = 0; selector < 4; selector++) {
        bool client = selector % 2 == 0;
        for (int i = 0; i < 4; i++)
            for (int refused = 0; refused < 2; refused++) {
                struct input in = {.bytes = {(uint8_t)selector}, .length = 1};
                struct hd_note first = hello(client ? HD_NOTE_CLIENT : HD_NOTE_SERVER, transports[i], i == 0 ? 48 : 16);
                struct hd_note pick = i == 3 ? plain(HD_NOTE_CHOICE, true) : choice(transports[i], i ? self : shm);
                struct hd_note attach = {.kind = HD_NOTE_CHOICE, .attach = true};
                struct hd_note answer = plain(HD_NOTE_ANSWER, refused), confirm = plain(HD_NOTE_CONFIRM, refused);
                char name[64];
                say(&in, &first);
                if (client && refused)
                    say(&in, &attach);
                say(&in, client ? &pick : &answer);
                say(&in, client ? &confirm : &answer);
                snprintf(name, sizeof(name), "%s-%d-%d-%d", client ? "client" : "server", selector, i, refused);
                save(folder, "greeting", name, &in);
            }
    }
}

/* ---- frames ---- */

static void frame(struct input *in, enum hd_frame_type type, uint32_t id, uint64_t arg, const void *payload,
                  size_t length)
{
    struct hd_frame f = {.type = (uint8_t)type, .length = (uint32_t)length, .id = id, .arg = arg};
    memcpy(in->bytes + in->length, &f, sizeof(f));
    if (length)
        memcpy(in->bytes + in->length + sizeof(f), payload, length);
    in->length += sizeof(f) + length;
}

static void streams(const char *folder)
{
    static const char data[1500];
    for (uint32_t mode = HD_MODE_READ; mode <= HD_MODE_COPY; mode++) {
        struct hd_rts rts = {.length = 9000, .key = 1, .mode = mode};
        struct input in = {.length = 0};
        char name[32];
        frame(&in, HD_FRAME_OPEN, 2, 0, "t", 1);
        frame(&in, HD_FRAME_DATA, 2, 0, data, 700);
        frame(&in, HD_FRAME_RTS, 2, HANDLE, &rts, sizeof(rts));
        frame(&in, HD_FRAME_FRAG, HANDLE, 0, data, sizeof(data));
        frame(&in, HD_FRAME_FRAG, HANDLE, sizeof(data), data, sizeof(data));
        frame(&in, HD_FRAME_DONE, HANDLE, 0, NULL, 0);
        frame(&in, HD_FRAME_CREDIT, 0, 0, NULL, 0);
        frame(&in, HD_FRAME_CLOSE, 2, 0, NULL, 0);
        frame(&in, HD_FRAME_WINDOW, 1, 100, NULL, 0);
        frame(&in, HD_FRAME_RESET, 1, 32, "no", 2);
        snprintf(name, sizeof(name), "streams-%u", mode);
        save(folder, "frames", name, &in);
    }
}

/* The peer answers what the fuzzed engine announced and asked for. */
static void answers(const char *folder)
{
    static const char data[1500];
    for (uint32_t mode = HD_MODE_READ; mode <= HD_MODE_COPY; mode++) {
        struct hd_cts cts = {.key = 1, .handle = HANDLE, .mode = mode};
        struct hd_segment segment = {.total = 3000, .rts = {.length = 3000, .key = 1, .mode = mode}};
        struct input in = {.length = 0};
        char name[32];
        frame(&in, HD_FRAME_CTS, HANDLE, 0, &cts, sizeof(cts));
        frame(&in, HD_FRAME_SEGMENT, HANDLE, HANDLE, &segment, sizeof(segment));
        frame(&in, HD_FRAME_FRAG, HANDLE + 1, 0, data, sizeof(data));
        frame(&in, HD_FRAME_FRAG, HANDLE + 1, sizeof(data), data, sizeof(data));
        frame(&in, HD_FRAME_DONE, HANDLE + 1, 0, NULL, 0);
        frame(&in, HD_FRAME_FIN, HANDLE, 0, NULL, 0);
        frame(&in, HD_FRAME_DATA, 1, 0, data, 10);
        frame(&in, HD_FRAME_CLOSE, 1, 0, NULL, 0);
        snprintf(name, sizeof(name), "answers-%u", mode);
        save(folder, "frames", name, &in);
    }
}

static void fetches(const char *folder)
{
    struct hd_fetch_wire wire = {.length = UINT64_MAX, .service_length = 1, .name_length = 1};
    struct input in = {.length = 0};
    uint8_t ask[sizeof(wire) + 2];
    memcpy(ask, &wire, sizeof(wire));
    memcpy(ask + sizeof(wire), "tx", 2);
    for (uint32_t i = 0; i < 4; i++)
        frame(&in, HD_FRAME_FETCH, HANDLE + i, 0, ask, sizeof(ask));
    frame(&in, HD_FRAME_CANCEL, HANDLE, 0, NULL, 0);
    for (uint32_t i = 0; i < 4; i++)
        frame(&in, HD_FRAME_FIN, HANDLE + i, i == 3 ? 5 : 0, NULL, 0);
    frame(&in, HD_FRAME_REPLY, HANDLE, 2, "not here", 8);
    frame(&in, HD_FRAME_RETIRE, 0, 1, NULL, 0);
    save(folder, "frames", "fetches", &in);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_corpus FOLDER\n");
        return 2;
    }
    greetings(argv[1]);
    streams(argv[1]);
    answers(argv[1]);
    fetches(argv[1]);
    return 0;
}
