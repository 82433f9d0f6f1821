/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bringing up a link over a TCP connection that belongs to a host protocol:
 *
 *   client                                    server
 *   CLIENT  who, limits, transports   ->
 *                                     <-      SERVER  who, limits, transports      (or the host protocol: not ours)
 *   CHOICE  transport, address, token ->              (or: attach to link `token`; or: none)
 *                                     <-      ANSWER  accepted or refused
 *   CONFIRM up or not                 ->
 *
 * After a refusal at any point both ends know it and may use the connection for the host protocol.
 *
 * Time: each end says in its first note how long it still waits. A step that the peer waits for (the server's answer,
 * the client's finish) gets half of what is left to whoever gives up first, so a set-up that does not come to an end is
 * refused while the peer still listens.
 */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/registry.h"

struct greeting {
    struct hd_engine *engine;
    int fd;
    int64_t deadline;
    int64_t peers_deadline;           /* when the peer gives up, at the earliest */
    struct hd_note mine, peers, step; /* hello notes, and the one at hand */
    struct hd_ep *meets;              /* client: where the server comes to while it prepares its answer, or NULL */
    const uint8_t *ahead;             /* read by the caller before, and not yet used */
    size_t ahead_length;
    uint8_t bytes[sizeof(struct hd_note_head) + HD_BODY_MAX];
};

/* ---- bytes ---- */

/* Like recv() without waiting, but takes first what the caller has read before. */
static ssize_t greeting_receive(struct greeting *g, void *bytes, size_t length)
{
    if (g->ahead_length == 0)
        return recv(g->fd, bytes, length, MSG_DONTWAIT);
    size_t n = length < g->ahead_length ? length : g->ahead_length;
    memcpy(bytes, g->ahead, n);
    g->ahead += n;
    g->ahead_length -= n;
    return (ssize_t)n;
}

static int greeting_ready(struct greeting *g, short events)
{
    int64_t left = g->deadline - hd_now();
    if (left <= 0)
        return hd_error(-ETIMEDOUT, "the peer did not finish the greeting in time");
    if (atomic_load(&g->engine->closing))
        return hd_error(-ESHUTDOWN, "the engine was closed");
    int meeting = g->meets ? g->meets->ops->meeting_fd(g->meets) : -1;
    struct pollfd p[2] = {{.fd = g->fd, .events = events}, {.fd = meeting, .events = POLLIN}};
    int64_t ms = left / 1000000 + 1;
    /* Looks at `closing` now and then. */
    if (poll(p, 2, ms > 500 ? 500 : (int)ms) > 0 && p[1].revents)
        g->meets->ops->meet(g->meets);
    return 0;
}

static int greeting_put(struct greeting *g, const struct hd_note *note)
{
    size_t length = hd_note_encode(note, g->bytes);
    for (size_t done = 0; done < length;) {
        ssize_t n = send(g->fd, g->bytes + done, length - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return hd_error(-ECONNRESET, "the connection broke during the greeting: %s", strerror(errno));
        int err = greeting_ready(g, POLLOUT);
        if (err)
            return err;
    }
    return 0;
}

static int greeting_take(struct greeting *g, void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = greeting_receive(g, (char *)bytes + done, length - done);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n == 0)
            return hd_error(-ECONNRESET, "the peer closed the connection during the greeting");
        if (errno != EAGAIN && errno != EINTR)
            return hd_error(-ECONNRESET, "the connection broke during the greeting: %s", strerror(errno));
        int err = greeting_ready(g, POLLIN);
        if (err)
            return err;
    }
    return 0;
}

/* The rest of a note of which `have` bytes of the header are in g->bytes. */
static int greeting_get_rest(struct greeting *g, enum hd_note_kind kind, size_t have, struct hd_note *note)
{
    int err = greeting_take(g, g->bytes + have, sizeof(struct hd_note_head) - have);
    if (err)
        return err;
    int length = hd_note_head_decode(g->bytes, kind);
    if (length < 0)
        return length;
    err = greeting_take(g, g->bytes, (size_t)length);
    return err ? err : hd_note_decode(g->bytes, (size_t)length, kind, note);
}

static int greeting_get(struct greeting *g, enum hd_note_kind kind, struct hd_note *note)
{
    return greeting_get_rest(g, kind, 0, note);
}

/* ---- time ---- */

static uint32_t greeting_patience(const struct greeting *g)
{
    int64_t ms = (g->deadline - hd_now()) / 1000000;
    return ms < 1 ? 1 : ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

/* The peer waited for us since `since`, or began to later. */
static void greeting_learn_patience(struct greeting *g, int64_t since)
{
    g->peers_deadline = g->peers.patience ? since + (int64_t)g->peers.patience * 1000000 : g->deadline;
}

/* By when a step that the peer waits for must be over. */
static int64_t greeting_step_deadline(const struct greeting *g)
{
    int64_t now = hd_now(), end = g->deadline < g->peers_deadline ? g->deadline : g->peers_deadline;
    return end > now ? now + (end - now) / 2 : now;
}

/* ---- what we say of ourselves ---- */

static uint32_t greeting_frame_limit(size_t threshold)
{
    return threshold > HD_FRAME_MIN_PAYLOAD ? (uint32_t)threshold : HD_FRAME_MIN_PAYLOAD;
}

static void greeting_name_offer(struct hd_offer *offer, const struct hd_device *device)
{
    snprintf(offer->name, sizeof(offer->name), "%s", (device->inner ? device->inner : device)->ops->name);
}

static void greeting_introduce(struct greeting *g, enum hd_note_kind kind)
{
    const struct hd_conf *conf = &g->engine->conf;
    char host[48] = "?";
    gethostname(host, sizeof(host) - 1);
    g->mine = (struct hd_note){.kind = kind,
                               .patience = greeting_patience(g),
                               .limits = {.frame_max = greeting_frame_limit(conf->eager_threshold),
                                          .local_frame_max = greeting_frame_limit(conf->shm_eager_threshold),
                                          .credits = (uint32_t)conf->link_credits,
                                          .stream_max = (uint32_t)conf->stream_max,
                                          .fetch_max = (uint32_t)conf->fetch_max,
                                          .window = conf->stream_window,
                                          .message_max = conf->message_max,
                                          .checksum = conf->frame_checksum}};
    snprintf(g->mine.name, sizeof(g->mine.name), "%.60s %d on %s", g->engine->name, (int)getpid(), host);
    memcpy(g->mine.engine, g->engine->id, HD_ID_LENGTH);
    for (unsigned i = 0; i < g->engine->device_count; i++) {
        struct hd_device *device = g->engine->devices[i];
        struct hd_offer *offer = &g->mine.offers[g->mine.offer_count++];
        greeting_name_offer(offer, device);
        offer->length = (uint16_t)device->ops->describe(device, offer->blob);
    }
}

static struct hd_device *greeting_device_named(struct hd_engine *engine, const char *name)
{
    for (unsigned i = 0; i < engine->device_count; i++) {
        struct hd_device *device = engine->devices[i];
        if (strcmp((device->inner ? device->inner : device)->ops->name, name) == 0)
            return device;
    }
    return NULL;
}

static bool greeting_is_local(const char *transport)
{
    return strcmp(transport, "shm") == 0 || strcmp(transport, "self") == 0;
}

/* ---- outcomes ---- */

static int greeting_fall_back(struct greeting *g, struct hd_connect_result *result, const char *reason)
{
    int choice = g->engine->conf.transport;
    result->outcome = HD_FALLBACK;
    snprintf(result->reason, sizeof(result->reason), "%s", reason);
    hd_count(g->engine->stats, fallbacks, 1);
    if (choice != HD_TR_AUTO && choice != HD_TR_TCP)
        return hd_error(-EOPNOTSUPP, "%s was asked for by name: %s", HD_KEY_PREFIX "transport", reason);
    return 0;
}

static void greeting_linked(struct hd_connect_result *result, struct hd_link *link, bool shared)
{
    result->outcome = HD_LINKED;
    result->link = link;
    result->shared = shared;
    if (shared)
        hd_count(link->engine->stats, links_shared, 1);
}

/* A living link to the same engine, by its identity or by the token that only its two ends know. A link of an engine to
 * itself has both ends here: the client takes the initiator's, the server the other one. */
static struct hd_link *greeting_existing(struct hd_engine *engine, const uint8_t *peer_id, const uint8_t *token)
{
    bool both_ends = memcmp(peer_id, engine->id, HD_ID_LENGTH) == 0, client = !token;
    struct hd_link *found = hd_registry_by_peer(engine, peer_id, token, both_ends, client);
    if (!found)
        return NULL;
    if (hd_link_open_for_more(found))
        return found;
    hd_link_put(found);
    return NULL;
}

/* Lets the kernel notice a peer host that is gone; fails harmlessly on sockets that are not TCP. */
static int greeting_guard_of(struct greeting *g)
{
    int fd = fcntl(g->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return hd_error(-errno, "no descriptor for the guard connection: %s", strerror(errno));
    int on = 1, total = (int)(g->engine->conf.guard_timeout / 1000000), third = total / 3000 > 0 ? total / 3000 : 1,
        probes = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &third, sizeof(third));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &third, sizeof(third));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &total, sizeof(total));
    return fd;
}

/* Gives back what a link has that was not started. */
static void greeting_discard(struct hd_link *link)
{
    struct hd_engine *engine = link->engine;
    pthread_mutex_lock(&engine->lock);
    hd_admit_end(engine, &link->admission);
    pthread_cond_broadcast(&engine->link_gone);
    pthread_mutex_unlock(&engine->lock);
    close(link->guard.fd);
    hd_link_discard(link);
}

#define LINK_COST ((size_t)16384) /* of the link itself and its descriptors */

/* A link that the peer asks for needs a place. */
static int greeting_admit(const struct greeting *g, struct hd_link *link, struct hd_device *device)
{
    struct hd_party_name name = hd_party_of_connection(g->fd);
    return hd_admit(link, &name, LINK_COST + device->ops->cost(device, &link->mine, &link->peers),
                    greeting_step_deadline(g));
}

/* What the transport has found out about the peer: within a host, users share the room, not the host. */
static int greeting_admit_user(const struct greeting *g, struct hd_link *link, struct hd_ep *ep)
{
    uid_t uid;
    if (!ep->ops->user(ep, &uid))
        return 0;
    struct hd_party_name name = hd_party_of_user(uid);
    return hd_admit(link, &name, link->admission.bytes, greeting_step_deadline(g));
}

/* A link and an endpoint for it, neither started. */
static int greeting_prepare(struct greeting *g, struct hd_device *device, const char *address, const uint8_t *token,
                            bool initiator, struct hd_link **link, struct hd_ep **ep)
{
    const char *transport = (device->inner ? device->inner : device)->ops->name;
    struct hd_link_params params = {.address = address,
                                    .peer_name = g->peers.name,
                                    .peer_id = g->peers.engine,
                                    .token = token,
                                    .initiator = initiator,
                                    .local = greeting_is_local(transport),
                                    .mine = g->mine.limits,
                                    .peers = g->peers.limits};
    if (params.local) {
        params.mine.frame_max = params.mine.local_frame_max;
        params.peers.frame_max = params.peers.local_frame_max;
    }
    params.guard_fd = greeting_guard_of(g);
    if (params.guard_fd < 0)
        return params.guard_fd;
    struct hd_ep_params ep_params = {.mine = params.mine, .peers = params.peers, .guard_fd = params.guard_fd};
    memcpy(ep_params.token, token, HD_ID_LENGTH);
    int err = hd_link_create(g->engine, &params, link, &ep_params.sink);
    if (err) {
        close(params.guard_fd);
        return err;
    }
    ep_params.thread = (*link)->comm.thread;
    ep_params.thread_id = atomic_load(&g->engine->comm_ids[ep_params.thread]);
    err = initiator ? 0 : greeting_admit(g, *link, device);
    if (!err)
        err = device->ops->ep_create(device, &ep_params, ep);
    if (err)
        greeting_discard(*link);
    return err;
}

static void greeting_unprepare(struct hd_link *link, struct hd_ep *ep)
{
    ep->ops->destroy(ep);
    greeting_discard(link);
}

/* ---- client ---- */

/* The first of our transports that the peer has too and that reaches it; else why there is none. */
static struct hd_device *greeting_choose(struct greeting *g, char *why, size_t size)
{
    size_t n = 0;
    snprintf(why, size, "the peer offers no transport");
    for (unsigned i = 0; i < g->engine->device_count && g->peers.offer_count; i++) {
        struct hd_device *device = g->engine->devices[i];
        const char *name = (device->inner ? device->inner : device)->ops->name, *obstacle = "the peer does not have it";
        for (unsigned j = 0; j < g->peers.offer_count; j++)
            if (strcmp(g->peers.offers[j].name, name) == 0)
                obstacle = device->ops->reachable(device, g->peers.offers[j].blob, g->peers.offers[j].length);
        if (!obstacle)
            return device;
        int more = snprintf(why + n, size - n, "%s%s: %s", n ? "; " : "", name, obstacle);
        n = more > 0 && n + (size_t)more < size ? n + (size_t)more : size - 1;
    }
    return NULL;
}

/* Tries to use a link that exists. @return 1 if that worked, 0 if not, or an error. */
static int greeting_attach(struct greeting *g, struct hd_connect_result *result)
{
    struct hd_link *link = greeting_existing(g->engine, g->peers.engine, NULL);
    if (!link)
        return 0;
    struct hd_note choice = {.kind = HD_NOTE_CHOICE, .attach = true};
    memcpy(choice.token, link->token, HD_ID_LENGTH);
    int err = greeting_put(g, &choice);
    if (!err)
        err = greeting_get(g, HD_NOTE_ANSWER, &g->step);
    if (!err && !g->step.refused) {
        greeting_linked(result, link, true);
        return 1;
    }
    hd_link_put(link);
    return err;
}

static int greeting_decline(struct greeting *g, struct hd_connect_result *result, enum hd_note_kind kind,
                            const char *why)
{
    char reason[HD_CAUSE_MAX];
    snprintf(reason, sizeof(reason), "%s", why);
    struct hd_note note = {.kind = kind, .refused = true};
    memcpy(note.reason, reason, sizeof(reason));
    int err = greeting_put(g, &note);
    return err ? err : greeting_fall_back(g, result, reason);
}

static int greeting_bring_up(struct greeting *g, struct hd_device *device, const char *address,
                             struct hd_connect_result *result)
{
    struct hd_note choice = {.kind = HD_NOTE_CHOICE, .offer_count = 1};
    struct hd_link *link;
    struct hd_ep *ep;
    int err = hd_random_bytes(choice.token, HD_ID_LENGTH);
    if (!err)
        err = greeting_prepare(g, device, address, choice.token, true, &link, &ep);
    if (err)
        return greeting_decline(g, result, HD_NOTE_CHOICE, hd_last_error());
    greeting_name_offer(&choice.offers[0], device);
    err = ep->ops->offer(ep, choice.offers[0].blob, &choice.offers[0].length);
    if (err) {
        greeting_unprepare(link, ep);
        return greeting_decline(g, result, HD_NOTE_CHOICE, hd_last_error());
    }
    g->meets = ep;
    err = greeting_put(g, &choice);
    if (!err)
        err = greeting_get(g, HD_NOTE_ANSWER, &g->step);
    g->meets = NULL;
    if (err || g->step.refused) {
        greeting_unprepare(link, ep);
        return err ? err : greeting_fall_back(g, result, g->step.reason);
    }
    const struct hd_offer *theirs = &g->step.offers[0]; /* empty if the transport's server has nothing to say */
    struct hd_note confirm = {.kind = HD_NOTE_CONFIRM};
    struct hd_offer *word = &confirm.offers[0];
    if ((err = ep->ops->learn(ep, theirs->blob, theirs->length)) ||
        (err = ep->ops->finish(ep, greeting_step_deadline(g))) ||
        (err = ep->ops->confirm(ep, word->blob, &word->length))) {
        greeting_unprepare(link, ep);
        return greeting_decline(g, result, HD_NOTE_CONFIRM, hd_last_error());
    }
    greeting_name_offer(word, device);
    confirm.offer_count = word->length > 0;
    err = greeting_put(g, &confirm);
    if (err) {
        greeting_unprepare(link, ep);
        return err;
    }
    hd_link_ref(link);
    hd_link_start(link, ep);
    greeting_linked(result, link, false);
    return 0;
}

static int greeting_connect_side(struct greeting *g, const char *address, struct hd_connect_result *result)
{
    greeting_introduce(g, HD_NOTE_CLIENT);
    int64_t began = hd_now();
    int err = greeting_put(g, &g->mine);
    if (!err)
        err = greeting_get(g, HD_NOTE_SERVER, &g->peers);
    if (err)
        return err;
    greeting_learn_patience(g, began);
    memcpy(result->service, g->peers.service, sizeof(result->service));
    err = greeting_attach(g, result);
    if (err)
        return err < 0 ? err : 0;
    char why[HD_CAUSE_MAX];
    struct hd_device *device = greeting_choose(g, why, sizeof(why));
    return device ? greeting_bring_up(g, device, address, result) : greeting_decline(g, result, HD_NOTE_CHOICE, why);
}

/* ---- server ---- */

static int greeting_refuse_choice(struct greeting *g, const char *why)
{
    struct hd_note answer = {.kind = HD_NOTE_ANSWER, .refused = true};
    char reason[HD_CAUSE_MAX];
    snprintf(reason, sizeof(reason), "%s", why);
    memcpy(answer.reason, reason, sizeof(reason));
    return greeting_put(g, &answer);
}

static int greeting_answer_side(struct greeting *g, struct hd_connect_result *result)
{
    const struct hd_offer *chosen = &g->step.offers[0];
    struct hd_device *device = greeting_device_named(g->engine, chosen->name);
    struct hd_link *link;
    struct hd_ep *ep;
    int err = device ? greeting_prepare(g, device, "", g->step.token, false, &link, &ep)
                     : hd_error(-EOPNOTSUPP, "transport %s is not in use here", chosen->name);
    struct hd_note answer = {.kind = HD_NOTE_ANSWER}, *confirm = &g->step;
    struct hd_offer *mine = &answer.offers[0];
    if (!err && ((err = ep->ops->answer(ep, chosen->blob, chosen->length, greeting_step_deadline(g))) ||
                 (err = greeting_admit_user(g, link, ep)) || (err = ep->ops->reply(ep, mine->blob, &mine->length))))
        greeting_unprepare(link, ep);
    if (err) {
        char reason[HD_CAUSE_MAX];
        snprintf(reason, sizeof(reason), "%s", hd_last_error());
        err = greeting_refuse_choice(g, reason);
        return err ? err : greeting_fall_back(g, result, reason);
    }
    memcpy(mine->name, chosen->name, sizeof(mine->name));
    answer.offer_count = mine->length > 0;
    err = greeting_put(g, &answer);
    if (!err)
        err = greeting_get(g, HD_NOTE_CONFIRM, confirm);
    if (err || confirm->refused) {
        greeting_unprepare(link, ep);
        return err ? err : greeting_fall_back(g, result, confirm->reason);
    }
    err = ep->ops->confirmed(ep, confirm->offers[0].blob, confirm->offers[0].length);
    if (err) { /* the client has its end up: it learns by the connection's end */
        greeting_unprepare(link, ep);
        return err;
    }
    hd_link_ref(link);
    hd_link_start(link, ep);
    greeting_linked(result, link, false);
    return 0;
}

/* The client may first try to attach, then to connect. */
static int greeting_serve_choices(struct greeting *g, struct hd_connect_result *result)
{
    for (int attempts = 0; attempts < 2; attempts++) {
        int err = greeting_get(g, HD_NOTE_CHOICE, &g->step);
        if (err)
            return err;
        if (g->step.refused)
            return greeting_fall_back(g, result, g->step.reason);
        if (!g->step.attach)
            return greeting_answer_side(g, result);
        struct hd_link *link = greeting_existing(g->engine, g->peers.engine, g->step.token);
        if (link) {
            struct hd_note answer = {.kind = HD_NOTE_ANSWER};
            err = greeting_put(g, &answer);
            if (err)
                hd_link_put(link);
            else
                greeting_linked(result, link, true);
            return err;
        }
        err = greeting_refuse_choice(g, "no such link");
        if (err)
            return err;
    }
    return hd_error(-EPROTO, "the peer cannot make up its mind about a link");
}

/* Reads until it is clear whether the peer is one of us. @return 1 yes, 0 no, or an error. */
static int greeting_recognise(struct greeting *g, struct hd_connect_result *result)
{
    size_t have = 0;
    int err;
    while (have < HD_MAGIC_LENGTH && hd_magic_matches(g->bytes, have)) {
        ssize_t n = greeting_receive(g, g->bytes + have, HD_MAGIC_LENGTH - have);
        if (n > 0)
            have += (size_t)n;
        else if (n == 0 && have > 0)
            break; /* a short foreign greeting: the host protocol shall deal with it */
        else if (n == 0)
            return hd_error(-ECONNRESET, "the peer closed the connection before it said anything");
        else if (errno != EAGAIN && errno != EINTR)
            return hd_error(-ECONNRESET, "the connection broke: %s", strerror(errno));
        else if ((err = greeting_ready(g, POLLIN)) != 0)
            return err;
    }
    if (have == HD_MAGIC_LENGTH && hd_magic_matches(g->bytes, have))
        return 1;
    memcpy(result->unread, g->bytes, have);
    result->unread_length = have;
    return 0;
}

static int greeting_accept_side(struct greeting *g, struct hd_connect_result *result)
{
    int ours = greeting_recognise(g, result);
    if (ours < 0)
        return ours;
    if (!ours) { /* not even a forced transport makes an ordinary client an error */
        result->outcome = HD_FALLBACK;
        snprintf(result->reason, sizeof(result->reason), "the peer speaks the host protocol");
        hd_count(g->engine->stats, fallbacks, 1);
        hd_count(g->engine->stats, fallback_foreign, 1);
        return 0;
    }
    int err = greeting_get_rest(g, HD_NOTE_CLIENT, HD_MAGIC_LENGTH, &g->peers);
    if (err)
        return err;
    greeting_learn_patience(g, hd_now());
    greeting_introduce(g, HD_NOTE_SERVER);
    memcpy(g->mine.service, result->service, sizeof(g->mine.service));
    err = greeting_put(g, &g->mine);
    return err ? err : greeting_serve_choices(g, result);
}

/* ---- API ---- */

static struct greeting *greeting_begin(struct hd_engine *engine, int fd, int64_t timeout)
{
    struct greeting *g = calloc(1, sizeof(*g));
    if (!g) {
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    g->engine = engine;
    g->fd = fd;
    g->deadline = hd_now() + (timeout > 0 ? timeout : engine->conf.connect_timeout);
    return g;
}

static int greeting_end(struct greeting *g, const char *who, int err, struct hd_connect_result *to,
                        const struct hd_connect_result *result)
{
    if (!err)
        hd_params_give(to, result, sizeof(*result));
    free(g);
    return err ? hd_error_context(err, "%s", who) : 0;
}

/* `result` gets what the caller asks for; the rest of it is empty. */
static int greeting_check(struct hd_engine *engine, const struct hd_connect_result *from,
                          struct hd_connect_result *result)
{
    struct hd_connect_result asked;
    int err = hd_params_take(&asked, sizeof(asked), from, offsetof(struct hd_connect_result, service),
                             "the members of the result");
    if (err)
        return err;
    *result = (struct hd_connect_result){.size = sizeof(*result)};
    memcpy(result->service, asked.service, sizeof(result->service));
    result->service[HD_SERVICE_MAX] = '\0';
    return atomic_load(&engine->closing) ? hd_error(-ESHUTDOWN, "the engine was closed") : 0;
}

int hd_connect(hd_engine *engine, int fd, const char *address, int64_t timeout, struct hd_connect_result *out)
{
    struct hd_connect_result result;
    int err = greeting_check(engine, out, &result);
    if (err)
        return err;
    result.service[0] = '\0'; /* the server says it */
    hd_enter(engine);
    struct greeting *g = greeting_begin(engine, fd, timeout);
    if (!g)
        return -ENOMEM;
    if (engine->device_count == 0)
        err = greeting_fall_back(g, &result, "the engine has no transport to use");
    else
        err = greeting_connect_side(g, address, &result);
    return greeting_end(g, address, err, out, &result);
}

int hd_accept(hd_engine *engine, int fd, const void *prefix, size_t prefix_length, int64_t timeout,
              struct hd_connect_result *out)
{
    struct hd_connect_result result;
    int err = greeting_check(engine, out, &result);
    if (err)
        return err;
    hd_enter(engine);
    bool greeting = prefix_length >= HD_MAGIC_LENGTH && hd_magic_matches(prefix, HD_MAGIC_LENGTH);
    if (prefix_length > (greeting ? HD_PREFIX_MAX : HD_UNREAD_MAX))
        return hd_error(-EINVAL, "at most %d bytes can have been read before, %d of a greeting", HD_UNREAD_MAX,
                        HD_PREFIX_MAX);
    struct greeting *g = greeting_begin(engine, fd, timeout);
    if (!g)
        return -ENOMEM;
    g->ahead = prefix;
    g->ahead_length = prefix_length;
    return greeting_end(g, "client", greeting_accept_side(g, &result), out, &result);
}
