/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE (20 * (int64_t)1000000000)
#define LARGE    ((size_t)1 << 20)
#define PINGS    200

/* ---- options ---- */

void check_options(struct doctor *d)
{
    char note[600];
    struct hd_tuning_link link = {.size = sizeof(link)};
    d->conf = hd_conf_create();
    if (!d->conf || hd_conf_read_environment(d->conf) || hd_conf_tune(d->conf, note, sizeof(note))) {
        find(d, PROBLEM, "options", "options", "refused: %s", hd_last_error());
        advise(d, "no engine starts with this: correct the variable or the profile");
        hd_conf_destroy(d->conf);
        d->conf = hd_conf_create(); /* the other checks go by the defaults */
        return;
    }
    char changed[300] = "";
    unsigned count = 0;
    const struct hd_option *o;
    for (size_t i = 0; (o = hd_option_at(i)); i++)
        if (strcmp(hd_conf_origin(d->conf, o->key), "default") != 0 && count++ < 8)
            snprintf(changed + strlen(changed), sizeof(changed) - strlen(changed), " %s",
                     o->key + strlen("hadoop.rdma."));
    find(d, HEALTHY, "options", "options", "%u differ from the built-in defaults%s%s (howdah conf --explain)", count,
         count ? ":" : "", changed);
    hd_tuning_link_find(d->conf, &link);
    find(d, note[0] ? WARNING : HEALTHY, "options", "tuned for", "%s, %s%s%s%s%s", link.arch, link.kind,
         link.device[0] ? " " : "", link.device, note[0] ? "; " : "", note);
    if (note[0])
        advise(d, "measure anew by howdah tune, or delete the profile");
}

/* ---- topology ---- */

void check_topology(struct doctor *d)
{
    char file[300];
    struct hd_topo_params params = {.size = sizeof(params), .xml = option(d, "affinity.topology", file, sizeof(file))};
    struct hd_topo_summary s;
    hd_topo *topo;
    int err = hd_topo_load(&params, &topo);
    if (err) {
        find(d, WARNING, "topology", "topology", "%s", hd_last_error());
        advise(d, "%s",
               err == -ENOSYS ? "install libhwloc (libhwloc15): without it threads are not bound"
                              : "threads are not bound until this is put right");
        return;
    }
    hd_topo_summarize(topo, &s);
    find(d, HEALTHY, "topology", "topology", "%s%s%u sockets, %u cores, %u SMT threads of which %u may be used, %s",
         s.model, s.model[0] ? ": " : "", s.sockets, s.cores, s.pus, s.allowed, s.source);
    struct hd_topo_device device;
    for (unsigned i = 0; hd_topo_device_at(topo, i, &device) == 0; i++) {
        bool far = device.socket >= 0 && device.allowed == 0;
        find(d, far ? WARNING : HEALTHY, "topology", device.name, "%s%d, %u SMT threads there may be used",
             device.socket < 0 ? "socket not known, " : "socket ", device.socket, device.allowed);
        if (far)
            advise(d, "ask the batch system for processors of that socket: from another one RDMA is slower");
    }
    hd_topo_destroy(topo);
}

/* ---- an exchange ---- */

struct ends {
    hd_engine *a, *b; /* the same over self */
    hd_link *client, *server;
    hd_queue *queue;
    hd_stream *out, *in;
    double us; /* one way */
    const char *step;
};

static int sockets(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds[1] = -1;
    if (listener >= 0 && fds[0] >= 0 && !bind(listener, (struct sockaddr *)&address, length) && !listen(listener, 1) &&
        !getsockname(listener, (struct sockaddr *)&address, &length) &&
        !connect(fds[0], (struct sockaddr *)&address, length))
        fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    int err = fds[1] < 0 ? -errno : 0;
    if (listener >= 0)
        close(listener);
    return err;
}

struct acceptor {
    hd_engine *engine;
    int fd, err;
    struct hd_connect_result result;
    char words[400];
};

static void *accept_link(void *arg)
{
    struct acceptor *a = arg;
    a->err = hd_accept(a->engine, a->fd, NULL, 0, PATIENCE, &a->result);
    snprintf(a->words, sizeof(a->words), "%s", a->err ? hd_last_error() : a->result.reason);
    return NULL;
}

/* `words` gets the cause of a failure. */
static bool connect_ends(struct ends *e, char *words, size_t size)
{
    pthread_t thread;
    int fds[2];
    struct hd_connect_result result = {.size = sizeof(result)};
    struct acceptor acceptor = {.engine = e->b, .result.size = sizeof(acceptor.result)};
    int err = sockets(fds);
    acceptor.fd = fds[1];
    if (err || pthread_create(&thread, NULL, accept_link, &acceptor)) {
        snprintf(words, size, "no TCP connection over loopback, or no thread: %s", strerror(err ? -err : EAGAIN));
        return false;
    }
    err = hd_connect(e->a, fds[0], "localhost:0", PATIENCE, &result);
    snprintf(words, size, "%s", err ? hd_last_error() : result.reason);
    pthread_join(thread, NULL);
    close(fds[0]);
    close(fds[1]);
    e->client = err ? NULL : result.link;
    e->server = acceptor.err ? NULL : acceptor.result.link;
    if (e->client && !e->server)
        snprintf(words, size, "%s", acceptor.words);
    return e->client && e->server;
}

static void fill(unsigned char *data, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        data[i] = (unsigned char)((i * 2654435761U + seed) >> 8);
}

static bool filled(const unsigned char *data, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        if (data[i] != (unsigned char)((i * 2654435761U + seed) >> 8))
            return false;
    return true;
}

/* One message, checked byte by byte. */
static int carry(struct ends *e, hd_stream *from, hd_stream *to, size_t length, unsigned seed)
{
    hd_buf *buf, *msg;
    int err = hd_buf_alloc(e->a, length, &buf);
    if (err)
        return err;
    fill(hd_buf_data(buf), length, seed);
    err = hd_send_buf(from, buf, 0, length, PATIENCE);
    hd_buf_unref(buf);
    if (!err)
        err = hd_recv(to, &msg, PATIENCE);
    if (err)
        return err < 0 ? err : -ECONNRESET;
    bool right = hd_buf_length(msg) == length && filled(hd_buf_data(msg), length, seed);
    hd_buf_unref(msg);
    return right ? 0 : -EBADMSG;
}

static int stream_by(struct ends *e, enum hd_protocol protocol)
{
    struct hd_stream_params params = {.size = sizeof(params), .protocol = protocol};
    struct hd_event event;
    e->step = protocol == HD_PROTOCOL_READ    ? "1 MB by read"
              : protocol == HD_PROTOCOL_WRITE ? "1 MB by write"
                                              : "messages";
    int err = hd_stream_open(e->client, "doctor", &params, &e->out);
    if (!err)
        err = hd_queue_wait(e->queue, &event, 1, PATIENCE);
    if (err < 0)
        return err;
    e->in = event.stream;
    if (protocol != HD_PROTOCOL_DEFAULT)
        return carry(e, e->out, e->in, LARGE, protocol);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (unsigned i = 0; i < PINGS; i++) {
        err = carry(e, e->out, e->in, 64, i);
        if (!err)
            err = carry(e, e->in, e->out, 64, i + 1);
        if (err)
            return err;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    e->us = ((double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) / 1e3) / PINGS / 2;
    return 0;
}

static void streams_close(struct ends *e)
{
    if (e->out)
        hd_stream_close(e->out);
    if (e->in)
        hd_stream_close(e->in);
    e->out = e->in = NULL;
}

static int fetch_block(struct ends *e)
{
    hd_fetch *fetch;
    hd_buf *buf;
    struct hd_event event;
    struct hd_fetch_params params = {
        .size = sizeof(params), .name = "block", .name_length = 5, .length = HD_FETCH_ALL, .queue = e->queue};
    e->step = "a fetch of 1 MB";
    int err = hd_buf_alloc(e->b, LARGE, &buf);
    if (err)
        return err;
    fill(hd_buf_data(buf), LARGE, 77);
    err = hd_fetch_start(e->client, "doctor", &params, &fetch);
    for (int events = 0; events < 2 && err >= 0; events++) { /* it is asked for, and it has come */
        err = hd_queue_wait(e->queue, &event, 1, PATIENCE);
        if (err > 0 && event.type == HD_EVENT_FETCH)
            err = hd_fetch_reply_buf(event.fetch, buf, 0, LARGE);
        else if (err > 0)
            err = event.status;
    }
    if (!err && !filled(hd_buf_data(hd_fetch_data(fetch)), LARGE, 77))
        err = -EBADMSG;
    if (err >= 0)
        hd_fetch_release(fetch);
    hd_buf_unref(buf);
    return err < 0 ? err : 0;
}

static bool exchange(struct ends *e, char *words, size_t size)
{
    static const enum hd_protocol protocols[] = {HD_PROTOCOL_DEFAULT, HD_PROTOCOL_READ, HD_PROTOCOL_WRITE};
    int err = 0;
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]) && !err; i++) {
        err = stream_by(e, protocols[i]);
        if (err)
            snprintf(words, size, "%s: %s", e->step, err == -EBADMSG ? "other bytes arrived" : hd_last_error());
        streams_close(e);
    }
    if (err || !(err = fetch_block(e)))
        return !err;
    snprintf(words, size, "%s: %s", e->step, err == -EBADMSG ? "other bytes arrived" : hd_last_error());
    return false;
}

/* ---- transports ---- */

static void quiet(void *arg, enum hd_log_level level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static int open_by(const char *transport, hd_engine **engine)
{
    hd_conf *conf = hd_conf_create();
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf, .name = "hd-doctor", .log = quiet};
    int err = conf ? hd_conf_read_environment(conf) : -ENOMEM;
    if (!err)
        err = hd_conf_set(conf, "hadoop.rdma.transport", transport, "hd-doctor");
    if (!err)
        err = hd_engine_create(&params, engine);
    hd_conf_destroy(conf);
    return err;
}

static void ends_close(struct ends *e)
{
    if (e->client)
        hd_link_put(e->client);
    if (e->server)
        hd_link_put(e->server);
    if (e->queue)
        hd_queue_destroy(e->queue);
    if (e->b != e->a)
        hd_engine_destroy(e->b);
    hd_engine_destroy(e->a);
}

/* Opens a transport, registers memory, makes a link and sends data. @return whether all of it worked; `used` gets the
 * link's transport, for auto. */
static bool try_transport(const char *name, struct ends *e, char *used, size_t used_size, char *words, size_t size)
{
    memset(e, 0, sizeof(*e));
    int err = open_by(name, &e->a);
    if (!err && strcmp(name, "self") == 0)
        e->b = e->a;
    else if (!err)
        err = open_by(name, &e->b);
    if (!err)
        err = hd_queue_create(e->b, &e->queue);
    if (!err)
        err = hd_engine_listen(e->b, "doctor", e->queue, 0);
    snprintf(words, size, "%s", err ? hd_last_error() : "");
    bool ok = !err && connect_ends(e, words, size);
    if (ok)
        snprintf(used, used_size, "%s", hd_link_transport(e->client));
    ok = ok && exchange(e, words, size);
    ends_close(e);
    return ok;
}

static void check_transport(struct doctor *d, const char *name, const char *why)
{
    struct ends e;
    char words[500], used[32];
    bool remote = strcmp(name, "verbs") == 0 || strcmp(name, "udapl") == 0;
    if (why[0]) {
        bool missed = strcmp(name, "verbs") == 0 && d->active && option_is(d, "transport", "auto");
        find(d, missed ? PROBLEM : HEALTHY, "transports", name, "not used: %s", why);
        if (missed)
            advise(d, "there is a device with an active port, but the engine cannot use it; see above");
    } else if (try_transport(name, &e, used, sizeof(used), words, sizeof(words))) {
        find(d, HEALTHY, "transports", name, "works: messages, 1 MB by read and by write, a fetch; 64 B take %.1f us%s",
             e.us, remote ? ", with this node as both ends" : "");
    } else {
        find(d, PROBLEM, "transports", name, "fails: %s", words);
        advise(d, "programs that use it will fail alike; hadoop.rdma.transport can name another one meanwhile");
    }
}

/* Lines may come from any thread, findings only from one: they are kept until the engine has ended. */
struct listener {
    pthread_mutex_t lock;
    unsigned count;
    struct {
        enum hd_log_level level;
        char text[300];
    } lines[8];
};

static void hear(void *arg, enum hd_log_level level, const char *line)
{
    struct listener *l = arg;
    pthread_mutex_lock(&l->lock);
    if (level <= HD_LOG_WARN && l->count < sizeof(l->lines) / sizeof(l->lines[0])) {
        l->lines[l->count].level = level;
        snprintf(l->lines[l->count++].text, sizeof(l->lines[0].text), "%s", line);
    }
    pthread_mutex_unlock(&l->lock);
}

static void repeat(struct doctor *d, const struct listener *l)
{
    for (unsigned i = 0; i < l->count; i++)
        find(d, l->lines[i].level == HD_LOG_ERROR ? PROBLEM : WARNING, "engine", "the engine says", "%s",
             l->lines[i].text);
}

/* What auto comes to, between processes of this node and of others. */
static void check_choice(struct doctor *d, bool rdma)
{
    struct ends e;
    char words[500] = "", used[32] = "sockets", choice[32];
    option(d, "transport", choice, sizeof(choice));
    if (strcmp(choice, "tcp") == 0) {
        find(d, WARNING, "engine", "chosen transport", "none: the engine is switched off (hadoop.rdma.transport=tcp)");
        return;
    }
    bool ok = try_transport(choice, &e, used, sizeof(used), words, sizeof(words));
    find(d, ok ? HEALTHY : PROBLEM, "engine", "chosen transport", "%s: %s on this node%s%s", choice, used,
         rdma ? ", RDMA between nodes" : ", sockets between nodes", ok ? "" : words);
}

void check_transports(struct doctor *d)
{
    struct listener listener = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct hd_engine_params params = {
        .size = sizeof(params), .conf = d->conf, .name = "hd-doctor", .log = hear, .log_arg = &listener};
    hd_engine *engine;
    int err = hd_engine_create(&params, &engine);
    repeat(d, &listener);
    if (err) {
        find(d, PROBLEM, "engine", "engine", "does not start: %s", hd_last_error());
        advise(d, "programs fall back to sockets, or fail if hadoop.rdma.transport names a transport");
        return;
    }
    const char *name, *why, *counters = hd_stats_path(engine);
    find(d, HEALTHY, "engine", "engine", "version %s starts; counters in %s", hd_version(),
         counters[0] ? counters : "no file");
    find(d, HEALTHY, "engine", "affinity", "%s", hd_engine_affinity_text(engine));
    bool rdma = false;
    for (size_t i = 0; (name = hd_engine_transport(engine, i, &why)); i++)
        rdma = rdma || (!why[0] && (strcmp(name, "verbs") == 0 || strcmp(name, "udapl") == 0));
    check_choice(d, rdma);
    for (size_t i = 0; (name = hd_engine_transport(engine, i, &why)); i++)
        check_transport(d, name, why);
    hd_engine_destroy(engine);
}
