/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fetch: named blocks on request. The server's answer is either one REPLY (an error, or a small block), or SEGMENTs
 * that together cover the block, each of which moves by rendezvous. A file range is read segment by segment by the I/O
 * threads, a few of them ahead of what the client has taken. The final answer (REPLY, or the SEGMENT that completes the
 * block) is sent exactly once.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>

#include "link.h"

enum fetch_state {
    FETCH_ASKED,   /* server: the program has not answered; client: nothing has come */
    FETCH_MOVING,  /* segments are coming or going */
    FETCH_COMPLETE /* client: the event was posted; server: everything is out */
};

struct hd_fetch {
    struct hd_link *link; /* a reference */
    bool client;
    enum fetch_state state;
    uint32_t handle;     /* the client's */
    struct hd_list node; /* client: link->tx_fetches; server: link->tx_replies */
    struct hd_event_node event;
    hd_queue *queue;
    uint64_t offset, length;
    uint16_t service_length, name_length;
    bool in_table; /* client: the final answer has not come; server: in link->served */
    bool released; /* client: the program gave up the handle */
    bool cancelled;
    int error;
    char cause[HD_CAUSE_MAX];

    /* client */
    hd_buf *into;
    size_t total, announced, received; /* bytes */
    unsigned moving;                   /* rendezvous under way */

    /* server */
    struct hd_list in_served;
    hd_buf *chunk; /* read and not yet sent */
    size_t chunk_offset, chunk_length, sent;
    unsigned inflight;
    int file; /* -1: none */
    uint64_t file_offset;
    bool io_busy;
    struct hd_list io_node;
    char text[]; /* service, 0, name */
};

static struct hd_fetch *create(struct hd_link *link, bool client, const void *service, size_t service_length,
                               const void *name, size_t name_length)
{
    struct hd_fetch *f = calloc(1, sizeof(*f) + service_length + 1 + name_length);
    if (!f) {
        hd_error(-ENOMEM, "out of memory");
        return NULL;
    }
    f->link = hd_link_ref(link);
    f->client = client;
    f->file = -1;
    hd_list_init(&f->node);
    hd_list_init(&f->in_served);
    hd_list_init(&f->io_node);
    hd_list_init(&f->event.link);
    f->event.event = (struct hd_event){.type = client ? HD_EVENT_FETCHED : HD_EVENT_FETCH, .fetch = f};
    f->service_length = (uint16_t)service_length;
    f->name_length = (uint16_t)name_length;
    memcpy(f->text, service, service_length);
    memcpy(f->text + service_length + 1, name, name_length);
    return f;
}

/* Not under the link's lock: this may be its last reference. */
static void destroy(struct hd_fetch *f)
{
    if (f->queue)
        hd_queue_unref(f->queue);
    hd_buf_unref(f->into);
    hd_buf_unref(f->chunk);
    if (f->file >= 0)
        close(f->file);
    hd_link_put(f->link);
    free(f);
}

/* Under the lock, by code that holds a reference of its own on the link. */
static void destroy_locked(struct hd_fetch *f)
{
    hd_link_ref(f->link);
    struct hd_link *link = f->link;
    destroy(f);
    atomic_fetch_sub(&link->refs, 1);
}

/* ---- client ---- */

static void complete(struct hd_fetch *f, int error, const char *cause)
{
    if (f->state == FETCH_COMPLETE)
        return;
    f->state = FETCH_COMPLETE;
    f->error = error;
    if (error && cause != f->cause)
        snprintf(f->cause, sizeof(f->cause), "%s", cause);
    hd_count(f->link->engine->stats, fetches_failed, error != 0);
    f->event.event.status = error;
    if (!f->released)
        hd_queue_post(f->queue, &f->event);
}

/* The final answer is here. */
static void forget(struct hd_fetch *f)
{
    if (f->in_table) {
        hd_table_remove(&f->link->fetches, f->handle);
        f->in_table = false;
        f->link->idle_since = hd_now();
    }
    hd_list_remove(&f->node);
    if (f->released && !f->moving)
        destroy_locked(f);
}

static bool send_request(struct hd_fetch *f)
{
    uint8_t payload[sizeof(struct hd_fetch_wire) + HD_SERVICE_MAX + HD_FETCH_NAME_MAX];
    struct hd_fetch_wire wire = {
        .offset = f->offset, .length = f->length, .service_length = f->service_length, .name_length = f->name_length};
    memcpy(payload, &wire, sizeof(wire));
    memcpy(payload + sizeof(wire), f->text, f->service_length);
    memcpy(payload + sizeof(wire) + f->service_length, f->text + f->service_length + 1, f->name_length);
    return hd_link_post(f->link, HD_FRAME_FETCH, f->handle, 0, payload,
                        sizeof(wire) + f->service_length + f->name_length) == 0;
}

static int check_params(const char *service, const struct hd_fetch_params *p)
{
    if (!p || p->size < sizeof(*p) || !p->queue || !p->name || p->name_length == 0 ||
        p->name_length > HD_FETCH_NAME_MAX)
        return hd_error(-EINVAL, "a fetch needs a queue and a name of 1 to %d bytes", HD_FETCH_NAME_MAX);
    if (!service || !service[0] || strlen(service) > HD_SERVICE_MAX)
        return hd_error(-EINVAL, "a service name has 1 to %d bytes", HD_SERVICE_MAX);
    if (p->into && p->length != HD_FETCH_ALL && p->length > p->into->length)
        return hd_error(-EINVAL, "%llu bytes are asked for and the buffer holds %zu", (unsigned long long)p->length,
                        p->into->length);
    return 0;
}

static int may_fetch(struct hd_link *link)
{
    if (!hd_link_usable(link))
        return hd_link_failure(link);
    if (link->state != HD_LINK_UP)
        return hd_error(-ESHUTDOWN, "the idle link to %s is being closed; connect again", link->peer);
    if (link->fetches.used >= link->peers.fetch_max)
        return hd_error(-EAGAIN, "%s takes no more than %u fetches at a time", link->peer, link->peers.fetch_max);
    return 0;
}

int hd_fetch_start(hd_link *link, const char *service, const struct hd_fetch_params *p, hd_fetch **out)
{
    hd_enter(link->engine);
    int err = check_params(service, p);
    struct hd_fetch *f = err ? NULL : create(link, true, service, strlen(service), p->name, p->name_length);
    if (!f)
        return err ? err : -ENOMEM;
    f->queue = hd_queue_ref(p->queue);
    f->event.event.user = p->user;
    f->offset = p->offset;
    f->length = p->length;
    f->into = p->into ? hd_buf_ref(p->into) : NULL;
    hd_link_lock(link);
    err = may_fetch(link);
    if (!err)
        err = hd_table_add(&link->fetches, f, &f->handle);
    if (!err) {
        f->in_table = true;
        hd_count(link->engine->stats, fetches, 1);
        if (!hd_list_empty(&link->tx_fetches) || !hd_link_can_send(link) || !send_request(f))
            hd_list_add_tail(&link->tx_fetches, &f->node);
    }
    hd_link_unlock(link);
    if (err)
        destroy(f);
    else
        *out = f;
    return err;
}

hd_buf *hd_fetch_data(hd_fetch *fetch)
{
    return fetch->into;
}

const char *hd_fetch_error(hd_fetch *fetch)
{
    return fetch->cause;
}

void hd_fetch_cancel(hd_fetch *f)
{
    struct hd_link *link = f->link;
    hd_link_lock(link);
    if (f->state != FETCH_COMPLETE && !f->cancelled) {
        f->cancelled = true;
        if (!hd_list_empty(&f->node)) { /* not even sent */
            complete(f, -ECANCELED, "cancelled");
            forget(f);
        } else {
            hd_link_control(link, HD_FRAME_CANCEL, f->handle, 0, NULL, 0);
            if (!f->moving)
                complete(f, -ECANCELED, "cancelled");
        }
    }
    hd_link_unlock(link);
}

void hd_fetch_release(hd_fetch *f)
{
    struct hd_link *link = hd_link_ref(f->link);
    hd_link_lock(link);
    hd_queue_cancel(f->queue, &f->event);
    f->released = true;
    bool gone = !f->in_table && !f->moving;
    if (!gone && f->state != FETCH_COMPLETE && !f->cancelled && hd_link_usable(link)) {
        f->cancelled = true;
        hd_link_control(link, HD_FRAME_CANCEL, f->handle, 0, NULL, 0);
    }
    hd_link_unlock(link);
    if (gone)
        destroy(f);
    hd_link_put(link);
}

/* The block's length is known: memory for all of it, once. */
int hd_fetch_memory(struct hd_fetch *f, hd_buf **buf, size_t *offset)
{
    if (!f->into) {
        int err = hd_arena_alloc(f->link->engine->arena, f->total ? f->total : 1, &f->into);
        if (err)
            return err;
        f->into->length = f->total;
    }
    *buf = hd_buf_ref(f->into);
    *offset += (size_t)(f->into->data - f->into->base);
    return 0;
}

static bool fits(const struct hd_fetch *f, uint64_t total)
{
    return total <= f->link->mine.message_max && (f->length == HD_FETCH_ALL || total <= f->length) &&
           (!f->into || f->state == FETCH_MOVING || total <= f->into->length);
}

int hd_fetch_on_reply(struct hd_link *link, uint32_t handle, uint64_t error, const void *payload, size_t length)
{
    struct hd_fetch *f = hd_table_get(&link->fetches, handle);
    if (!f || !hd_list_empty(&f->node))
        return hd_error(-EPROTO, "a reply to something that was not asked");
    if (error) {
        char cause[HD_CAUSE_MAX];
        hd_copy_text(cause, sizeof(cause), payload, length);
        f->error = error < 4096 ? -(int)error : -EIO;
        snprintf(f->cause, sizeof(f->cause), "%s", cause);
        if (!f->moving)
            complete(f, f->error, cause);
        forget(f);
        return 0;
    }
    if (f->state == FETCH_MOVING)
        return hd_error(-EPROTO, "a block comes in two ways at once");
    if (!f->cancelled && f->state == FETCH_ASKED) {
        if (!fits(f, length)) {
            complete(f, -EMSGSIZE, "the block is larger than what was asked for or than message.max");
        } else {
            hd_buf *buf;
            size_t offset = 0;
            f->total = length;
            if (hd_fetch_memory(f, &buf, &offset))
                return -ENOBUFS;
            if (length)
                memcpy(buf->base + offset, payload, length);
            f->into->length = length;
            hd_buf_unref(buf);
            complete(f, 0, "");
        }
    } else {
        complete(f, -ECANCELED, "cancelled");
    }
    forget(f);
    return 0;
}

int hd_fetch_on_segment(struct hd_link *link, uint32_t handle, uint64_t server_handle, const struct hd_segment *s)
{
    struct hd_fetch *f = hd_table_get(&link->fetches, handle);
    struct hd_rndv *rndv = f && hd_list_empty(&f->node) ? hd_rndv_create(link, HD_RNDV_RX) : NULL;
    if (!rndv)
        return f ? -ENOBUFS : hd_error(-EPROTO, "a segment of something that was not asked");
    int err = hd_rndv_accept(link, rndv, server_handle, &s->rts);
    bool first = f->announced == 0;
    if (!err && (s->total == 0 || s->total > INT64_MAX || s->offset != f->announced ||
                 s->rts.length > s->total - s->offset || (!first && s->total != f->total)))
        err = hd_error(-EPROTO, "a segment that does not fit its block");
    if (err) {
        hd_rndv_free(link, rndv);
        return err;
    }
    bool last = s->offset + s->rts.length == s->total;
    f->total = s->total;
    f->announced += s->rts.length;
    if (!f->cancelled && f->state == FETCH_ASKED && !fits(f, s->total)) {
        complete(f, -EMSGSIZE, "the block is larger than what was asked for or than message.max");
        f->cancelled = true;
    }
    if (f->cancelled || f->state == FETCH_COMPLETE) {
        hd_rndv_refuse(link, rndv, -ECANCELED);
    } else {
        if (first && f->into)
            f->into->length = s->total;
        f->state = FETCH_MOVING;
        f->moving++;
        rndv->fetch = f;
        rndv->offset = s->offset;
        hd_rndv_start(link, rndv);
    }
    if (last)
        forget(f);
    return 0;
}

void hd_fetch_received(struct hd_fetch *f, size_t length)
{
    f->moving--;
    f->received += length;
    if (f->moving == 0) {
        if (f->received == f->total)
            complete(f, 0, "");
        else if (f->error)
            complete(f, f->error, f->cause);
        else if (f->cancelled)
            complete(f, -ECANCELED, "cancelled");
    }
    if (f->released && !f->in_table && !f->moving)
        destroy_locked(f);
}

/* ---- server: requests ---- */

static void end_served(struct hd_fetch *f)
{
    if (f->in_table) {
        f->in_table = false;
        hd_list_remove(&f->in_served);
        f->link->served_count--;
        f->link->idle_since = hd_now();
    }
    hd_list_remove(&f->node);
}

/* Everything is out and nothing is being read: the request is done with. */
static void finish_if_done(struct hd_fetch *f)
{
    if (f->state == FETCH_COMPLETE && f->inflight == 0 && !f->io_busy) {
        end_served(f);
        destroy_locked(f);
    }
}

static void refuse(struct hd_link *link, uint32_t handle, int error, const char *cause)
{
    hd_link_control(link, HD_FRAME_REPLY, handle, (uint64_t)-error, cause, strnlen(cause, HD_CAUSE_MAX));
}

int hd_fetch_on_request(struct hd_link *link, uint32_t handle, const void *payload, size_t length)
{
    struct hd_fetch_wire wire;
    memcpy(&wire, payload, sizeof(wire));
    if (wire.service_length == 0 || wire.service_length > HD_SERVICE_MAX || wire.name_length == 0 ||
        wire.name_length > HD_FETCH_NAME_MAX || wire.reserved || handle == 0 ||
        length != sizeof(wire) + wire.service_length + wire.name_length)
        return hd_error(-EPROTO, "a malformed fetch");
    if (link->served_count >= link->mine.fetch_max)
        return hd_error(-EPROTO, "more than %u fetches at a time", link->mine.fetch_max);
    const char *service = (const char *)payload + sizeof(wire);
    struct hd_fetch *f =
        create(link, false, service, wire.service_length, service + wire.service_length, wire.name_length);
    if (!f)
        return -ENOBUFS;
    f->handle = handle;
    f->offset = wire.offset;
    f->length = wire.length;
    uint64_t user = 0;
    if (hd_service_find(link->engine, service, wire.service_length, &f->queue, &user)) {
        f->event.event.user = user;
        f->in_table = true;
        hd_list_add_tail(&link->served, &f->in_served);
        link->served_count++;
        if (hd_queue_post(f->queue, &f->event))
            return 0;
        end_served(f);
    }
    refuse(link, handle, -ENOENT, "no such service");
    destroy_locked(f);
    return 0;
}

void hd_fetch_on_cancel(struct hd_link *link, uint32_t handle)
{
    for (struct hd_list *n = link->served.next; n != &link->served; n = n->next) {
        struct hd_fetch *f = hd_container(n, struct hd_fetch, in_served);
        if (f->handle == handle) {
            f->cancelled = true;
            return;
        }
    } /* answered already: nothing to do */
}

const void *hd_fetch_name(hd_fetch *f, size_t *length)
{
    *length = f->name_length;
    return f->text + f->service_length + 1;
}

void hd_fetch_range(hd_fetch *f, uint64_t *offset, uint64_t *length)
{
    *offset = f->offset;
    *length = f->length;
}

hd_link *hd_fetch_link(hd_fetch *f)
{
    return f->link;
}

/* ---- server: answers ---- */

static void io_submit(struct hd_fetch *f);

/* Announces the piece in f->chunk, which moves by rendezvous. */
static int post_segment(struct hd_link *link, struct hd_fetch *f)
{
    struct hd_segment segment = {.total = f->total, .offset = f->sent};
    struct hd_rndv *rndv = hd_rndv_create(link, HD_RNDV_TX);
    if (!rndv)
        return -ENOMEM;
    rndv->buf = hd_buf_ref(f->chunk);
    rndv->offset = f->chunk_offset;
    rndv->length = f->chunk_length;
    hd_rndv_describe(link, rndv, hd_rndv_wish(link, (size_t)f->total), &segment.rts);
    int err = hd_link_post(link, HD_FRAME_SEGMENT, f->handle, rndv->handle, &segment, sizeof(segment));
    if (err) {
        hd_rndv_free(link, rndv);
        return err;
    }
    rndv->fetch = f;
    f->inflight++;
    f->sent += f->chunk_length;
    if (f->sent == f->total)
        f->state = FETCH_COMPLETE;
    return 0;
}

/* The next piece that is ready. @return false without credits; else f may be gone. */
static bool transmit(struct hd_link *link, struct hd_fetch *f)
{
    if (!hd_link_can_send(link))
        return false;
    if (f->cancelled && !f->error && f->sent < f->total) {
        f->error = -ECANCELED;
        snprintf(f->cause, sizeof(f->cause), "cancelled");
    }
    int err;
    if (f->error) {
        err = hd_link_post(link, HD_FRAME_REPLY, f->handle, (uint64_t)-f->error, f->cause, strlen(f->cause));
        if (!err)
            f->state = FETCH_COMPLETE;
    } else if (f->sent == 0 && f->chunk_length == f->total && f->total <= link->eager_max) {
        err = hd_link_post(link, HD_FRAME_REPLY, f->handle, 0, f->chunk ? f->chunk->base + f->chunk_offset : NULL,
                           f->total);
        if (!err)
            f->state = FETCH_COMPLETE;
    } else {
        err = post_segment(link, f);
    }
    if (err)
        return false;
    hd_list_remove(&f->node);
    hd_buf_unref(f->chunk);
    f->chunk = NULL;
    f->chunk_length = 0;
    if (f->state != FETCH_COMPLETE)
        io_submit(f);
    else
        hd_count(link->engine->stats, fetches_served, 1);
    finish_if_done(f);
    return true;
}

void hd_fetch_transmit(struct hd_link *link)
{
    while (hd_link_usable(link) && hd_link_can_send(link) && !hd_list_empty(&link->tx_fetches)) {
        struct hd_fetch *f = hd_container(link->tx_fetches.next, struct hd_fetch, node);
        if (!send_request(f))
            return;
        hd_list_remove(&f->node);
    }
    while (hd_link_usable(link) && !hd_list_empty(&link->tx_replies))
        if (!transmit(link, hd_container(link->tx_replies.next, struct hd_fetch, node)))
            return;
}

void hd_fetch_sent(struct hd_fetch *f, int error)
{
    f->inflight--;
    if (error)
        f->cancelled = true;
    if (f->state == FETCH_MOVING && hd_list_empty(&f->node) && !f->io_busy)
        io_submit(f);
    finish_if_done(f);
}

/* Under the lock. The handle is not the program's any more. @return false if the link is gone, and f with it. */
static bool begin_answer(struct hd_fetch *f)
{
    f->state = FETCH_MOVING;
    if (hd_link_usable(f->link))
        return true;
    end_served(f);
    return false;
}

static void answer(struct hd_fetch *f)
{
    hd_list_add_tail(&f->link->tx_replies, &f->node);
    hd_fetch_transmit(f->link);
}

/* Runs `how` (which may end f) under the lock of f's link. */
static int reply(struct hd_fetch *f, void (*how)(struct hd_fetch *f))
{
    struct hd_link *link = hd_link_ref(f->link);
    hd_enter(link->engine);
    hd_link_lock(link);
    bool up = begin_answer(f);
    if (up)
        how(f);
    hd_link_unlock(link);
    if (!up)
        destroy(f);
    hd_link_put(link);
    return 0;
}

static int check_answer(const struct hd_fetch *f, uint64_t length)
{
    if (f->client || f->state != FETCH_ASKED)
        return hd_error(-EINVAL, "this fetch cannot be answered");
    return length <= f->link->peers.message_max
               ? 0
               : hd_error(-EMSGSIZE, "%s takes at most %llu bytes in one fetch", f->link->peer,
                          (unsigned long long)f->link->peers.message_max);
}

int hd_fetch_reply_buf(hd_fetch *f, hd_buf *buf, size_t offset, size_t length)
{
    if (offset > buf->length || length > buf->length - offset)
        return hd_error(-EINVAL, "bytes %zu to %zu are not in a buffer of %zu", offset, offset + length, buf->length);
    int err = check_answer(f, length);
    if (err)
        return err;
    f->chunk = hd_buf_ref(buf);
    f->chunk_offset = (size_t)(buf->data - buf->base) + offset;
    f->chunk_length = f->total = length;
    return reply(f, answer);
}

int hd_fetch_reply_error(hd_fetch *f, int error, const char *cause)
{
    if (error >= 0 || f->client || f->state != FETCH_ASKED)
        return hd_error(-EINVAL, "this fetch cannot be answered so");
    f->error = error;
    snprintf(f->cause, sizeof(f->cause), "%s", cause ? cause : strerror(-error));
    return reply(f, answer);
}

int hd_fetch_reply_file(hd_fetch *f, int fd, uint64_t offset, uint64_t length)
{
    int err = check_answer(f, length);
    if (err)
        return err;
    if (length == 0) {
        f->total = 0;
        return reply(f, answer);
    }
    f->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (f->file < 0)
        return hd_error(-errno, "no descriptor: %s", strerror(errno));
    f->file_offset = offset;
    f->total = length;
    return reply(f, io_submit);
}

/* ---- I/O threads ---- */

/* Under the link's lock: has the next piece read, unless enough is under way or the fetch has ended. */
static void io_submit(struct hd_fetch *f)
{
    struct hd_engine *engine = f->link->engine;
    if (f->io_busy || f->chunk || f->inflight >= (unsigned)engine->conf.chunk_depth)
        return;
    if (f->cancelled || f->file < 0) {
        if (hd_list_empty(&f->node))
            hd_list_add_tail(&f->link->tx_replies, &f->node); /* to be told so */
        return;
    }
    f->io_busy = true;
    pthread_mutex_lock(&engine->io_lock);
    hd_list_add_tail(&engine->io_jobs, &f->io_node);
    pthread_cond_signal(&engine->io_work);
    pthread_mutex_unlock(&engine->io_lock);
}

static int read_piece(struct hd_fetch *f, size_t length, hd_buf **out)
{
    struct timespec pause = {.tv_nsec = 1000000};
    int err;
    while ((err = hd_arena_alloc(f->link->engine->arena, length, out)) == -ENOBUFS) {
        if (f->link->error || atomic_load(&f->link->engine->closing))
            return err;
        nanosleep(&pause, NULL); /* memory comes back as clients take what they asked for */
    }
    if (err)
        return err;
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(f->file, (*out)->data + done, length - done, (off_t)(f->file_offset + f->sent + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            err = n < 0 ? hd_error(-EIO, "reading the file failed: %s", strerror(errno))
                        : hd_error(-EIO, "the file ends before the range does");
            hd_buf_unref(*out);
            *out = NULL;
            return err;
        }
        done += (size_t)n;
    }
    return 0;
}

static void io_job(struct hd_fetch *f)
{
    struct hd_link *link = hd_link_ref(f->link);
    size_t left = f->total - f->sent, step = link->engine->conf.chunk_size, length = left < step ? left : step;
    hd_buf *buf = NULL;
    int err = read_piece(f, length, &buf);
    hd_link_lock(link);
    f->io_busy = false;
    bool up = hd_link_usable(link);
    if (!up) {
        end_served(f);
    } else {
        f->chunk = buf;
        f->chunk_offset = buf ? (size_t)(buf->data - buf->base) : 0;
        f->chunk_length = length;
        f->error = err;
        snprintf(f->cause, sizeof(f->cause), "%s", err ? hd_last_error() : "");
        answer(f);
    }
    hd_link_unlock(link);
    if (!up) {
        hd_buf_unref(buf);
        destroy(f);
    }
    hd_link_put(link);
}

static void *io_run(void *arg)
{
    struct hd_engine *engine = arg;
    pthread_mutex_lock(&engine->io_lock);
    for (;;) {
        while (hd_list_empty(&engine->io_jobs) && !engine->io_stop)
            pthread_cond_wait(&engine->io_work, &engine->io_lock);
        if (hd_list_empty(&engine->io_jobs))
            break;
        struct hd_fetch *f = hd_container(engine->io_jobs.next, struct hd_fetch, io_node);
        hd_list_remove(&f->io_node);
        pthread_mutex_unlock(&engine->io_lock);
        io_job(f);
        pthread_mutex_lock(&engine->io_lock);
    }
    pthread_mutex_unlock(&engine->io_lock);
    return NULL;
}

int hd_io_start(struct hd_engine *engine)
{
    engine->io_threads = calloc((size_t)engine->conf.fetch_io_threads, sizeof(*engine->io_threads));
    if (!engine->io_threads)
        return hd_error(-ENOMEM, "out of memory");
    for (int64_t i = 0; i < engine->conf.fetch_io_threads; i++) {
        int err = hd_thread_start(&engine->io_threads[i], "howdah-io", io_run, engine);
        if (err)
            return err;
        engine->io_count++;
    }
    return 0;
}

void hd_io_stop(struct hd_engine *engine)
{
    pthread_mutex_lock(&engine->io_lock);
    engine->io_stop = true;
    pthread_cond_broadcast(&engine->io_work);
    pthread_mutex_unlock(&engine->io_lock);
    for (unsigned i = 0; i < engine->io_count; i++)
        pthread_join(engine->io_threads[i], NULL);
    free(engine->io_threads);
    engine->io_threads = NULL;
    engine->io_count = 0;
}

/* ---- the end of a link ---- */

void hd_fetch_lost(struct hd_link *link)
{
    char cause[HD_CAUSE_MAX];
    snprintf(cause, sizeof(cause), "%.70s: %.86s", link->peer, link->cause);
    for (uint32_t i = 0; i < link->rndvs.room; i++) { /* transfers end without a word to their fetches */
        struct hd_rndv *rndv = hd_table_at(&link->rndvs, i);
        if (!rndv || !rndv->fetch)
            continue;
        struct hd_fetch *f = rndv->fetch;
        rndv->fetch = NULL;
        if (!f->client) {
            f->inflight--;
            continue;
        }
        f->moving--;
        if (!f->in_table && f->moving == 0) {
            complete(f, link->error, cause);
            if (f->released)
                destroy_locked(f);
        }
    }
    for (uint32_t i = 0; i < link->fetches.room; i++) {
        struct hd_fetch *f = hd_table_at(&link->fetches, i);
        if (f) {
            complete(f, link->error, cause);
            forget(f);
        }
    }
    for (struct hd_list *n = link->served.next, *after; n != &link->served; n = after) {
        struct hd_fetch *f = hd_container(n, struct hd_fetch, in_served);
        after = n->next;
        hd_list_remove(&f->node);
        if (f->state != FETCH_ASKED && !f->io_busy) { /* else the program, or the I/O thread, still has it */
            end_served(f);
            destroy_locked(f);
        }
    }
}
