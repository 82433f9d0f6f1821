/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct server {
    hd_engine *engine;
    hd_queue *queue;
    hd_link *links[TUNE_LINKS];
    unsigned link_count;
    hd_buf *block;
};

/* Sends everything back until the client ends the stream. */
static int echo(struct server *s)
{
    struct hd_event event;
    int n = hd_queue_wait(s->queue, &event, 1, TUNE_WAIT);
    if (n < 0)
        return n;
    hd_buf *msg;
    int err;
    while ((err = hd_recv(event.stream, &msg, TUNE_WAIT)) == 0) {
        err = hd_send_buf(event.stream, msg, 0, hd_buf_length(msg), TUNE_WAIT);
        hd_buf_unref(msg);
        if (err)
            break;
    }
    hd_stream_close(event.stream);
    return err < 0 ? err : 0;
}

/* Answers "SIZE" with so many bytes, until every link has sent "end". */
static int give(struct server *s)
{
    struct hd_event events[16];
    for (unsigned ends = 0; ends < s->link_count;) {
        int n = hd_queue_wait(s->queue, events, 16, TUNE_WAIT);
        if (n < 0)
            return n;
        for (int i = 0; i < n; i++) {
            char name[32] = "";
            size_t length;
            const void *given = hd_fetch_name(events[i].fetch, &length);
            memcpy(name, given, length < sizeof(name) ? length : sizeof(name) - 1);
            size_t size = strtoul(name, NULL, 10);
            bool end = strcmp(name, "end") == 0;
            ends += end;
            int err = end || size == 0 || size > TUNE_BLOCK_MAX
                          ? hd_fetch_reply_error(events[i].fetch, -ENOENT, "no such block")
                          : hd_fetch_reply_buf(events[i].fetch, s->block, 0, size);
            if (err)
                return err;
        }
    }
    return 0;
}

static int open_engine(struct server *s, const struct tune_order *order)
{
    hd_conf *conf = tune_conf(order->settings, order->setting_count);
    struct hd_engine_params params = {.size = sizeof(params), .conf = conf, .name = "hd-tune"};
    int err = conf ? hd_engine_create(&params, &s->engine) : -EINVAL;
    hd_conf_destroy(conf);
    if (!err)
        err = hd_queue_create(s->engine, &s->queue);
    if (!err)
        err = hd_engine_listen(s->engine, "tune", s->queue, 0);
    if (!err)
        err = hd_buf_alloc(s->engine, order->kind == TUNE_PULL ? TUNE_BLOCK_MAX : 4096, &s->block);
    if (!err)
        memset(hd_buf_data(s->block), 3, hd_buf_length(s->block));
    return err;
}

static int accept_links(struct server *s, int listener, unsigned count)
{
    for (; s->link_count < count; s->link_count++) {
        struct hd_connect_result result = {.size = sizeof(result)};
        int fd = tune_accept(listener, (int)(TUNE_WAIT / 1000000));
        if (fd < 0)
            return -ETIMEDOUT;
        int err = hd_accept(s->engine, fd, NULL, 0, TUNE_WAIT, &result);
        close(fd);
        if (err || result.outcome != HD_LINKED)
            return err ? err : -EPROTO;
        s->links[s->link_count] = result.link;
    }
    return 0;
}

static void close_engine(struct server *s)
{
    for (unsigned i = 0; i < s->link_count; i++)
        hd_link_put(s->links[i]);
    hd_buf_unref(s->block);
    if (s->queue)
        hd_queue_destroy(s->queue);
    hd_engine_destroy(s->engine);
}

/* The client is not trusted more than any other peer: what it asks for has bounds. */
static bool order_is_sane(struct tune_order *order)
{
    bool sane = order->kind <= TUNE_PULL && order->links >= 1 && order->links <= TUNE_LINKS &&
                order->setting_count <= TUNE_SETTINGS;
    for (unsigned i = 0; sane && i < TUNE_SETTINGS; i++) {
        struct tune_setting *setting = &order->settings[i];
        sane = memchr(setting->key, '\0', sizeof(setting->key)) && memchr(setting->value, '\0', sizeof(setting->value));
        sane = sane && (i >= order->setting_count || hd_tuning_covers(setting->key) ||
                        strcmp(setting->key, "hadoop.rdma.transport") == 0);
    }
    return sane;
}

/* @return false: the connection is of no more use. */
static bool serve_order(int listener, int control, const struct tune_order *order)
{
    struct server s = {0};
    int err = open_engine(&s, order);
    bool alive = tune_send_words(control, err ? hd_last_error() : "");
    if (!err && alive) {
        err = accept_links(&s, listener, order->links);
        if (!err)
            err = order->kind == TUNE_PING ? echo(&s) : give(&s);
        alive = tune_send_words(control, err ? hd_last_error() : "");
    }
    close_engine(&s);
    return alive;
}

int tune_serve(int listener, int control)
{
    struct tune_order order;
    while (tune_receive(control, &order, sizeof(order))) {
        if (order.kind == TUNE_QUIT)
            return 0;
        if (!order_is_sane(&order)) {
            fprintf(stderr, "hd-tune: what the client asks for is not understood; are both of one version?\n");
            return 1;
        }
        if (!serve_order(listener, control, &order))
            break;
    }
    fprintf(stderr, "hd-tune: the client has gone\n");
    return 1;
}
