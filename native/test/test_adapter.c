/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The verbs transport over an adapter that the test plays: what a real one does only now and then, or only to many
 * links at once. Its queue pairs take everything and finish nothing.
 */

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/context.h"
#include "support.h"
#include "transport/verbs/verbs.h"

/* ---- sleeps of this thread ---- */

static _Thread_local unsigned naps;

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    naps++;
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
    return errno ? -1 : 0;
}

/* ---- the adapter ---- */

struct queue { /* of completions */
    struct ibv_cq cq;
    pthread_mutex_t lock;
    unsigned count;
    struct ibv_wc wcs[8];
};

enum { VECTORS = 3, SENDS = 512, PARTITIONS = 4 };

static struct {
    struct ibv_context context;
    struct ibv_pd pd;
    enum ibv_mtu mtu;        /* that the last queue pair was connected with */
    atomic_bool slow, asked; /* answers about the port wait, once, for `go_on` */
    atomic_bool go_on;
    unsigned with_vector[VECTORS]; /* completion queues */
    struct posted {
        const char *at; /* of the payload; NULL: inline */
        size_t length;
        bool reported;
    } sent[SENDS];       /* by number */
    bool full;           /* it takes no more */
    uint32_t inline_max; /* 0: without a bound */
    unsigned asked_for_pairs;
    uint16_t partitions[PARTITIONS];
    unsigned partition_index; /* of the last queue pair */
    bool ethernet;            /* RoCE: with a table of GIDs, of which only `gid_at` is in use */
    int gid_at;
    unsigned asked_for_gids;
    int refuses; /* what connecting a queue pair ends with */
} adapter;

enum { GIDS = 300 };

static struct ibv_comp_channel *create_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));
    channel->context = context;
    channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return channel;
}

static int destroy_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    free(channel);
    return 0;
}

static struct ibv_cq *create_cq(struct ibv_context *context, int depth, void *arg, struct ibv_comp_channel *channel,
                                int vector)
{
    (void)depth, (void)arg, (void)channel;
    adapter.with_vector[vector]++;
    struct queue *queue = calloc(1, sizeof(*queue));
    pthread_mutex_init(&queue->lock, NULL);
    queue->cq.context = context;
    return &queue->cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
    free(hd_container(cq, struct queue, cq));
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wcs)
{
    struct queue *queue = hd_container(cq, struct queue, cq);
    pthread_mutex_lock(&queue->lock);
    int count = (int)queue->count < room ? (int)queue->count : room;
    memcpy(wcs, queue->wcs, (size_t)count * sizeof(*wcs));
    queue->count = 0;
    pthread_mutex_unlock(&queue->lock);
    return count;
}

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

static int no_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg)
{
    (void)channel, (void)cq, (void)arg;
    return -1;
}

static void acknowledge(struct ibv_cq *cq, unsigned count)
{
    (void)cq, (void)count;
}

static struct ibv_srq *create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    (void)attr;
    struct ibv_srq *srq = calloc(1, sizeof(*srq));
    srq->context = pd->context;
    return srq;
}

static int destroy_srq(struct ibv_srq *srq)
{
    free(srq);
    return 0;
}

static int post_receive(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)srq, (void)wr, (void)bad;
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    if (adapter.full)
        return ENOMEM;
    const struct ibv_sge *sge = wr->sg_list;
    bool here = wr->send_flags & IBV_SEND_INLINE;
    adapter.sent[wr->wr_id % SENDS] =
        (struct posted){.at = here ? NULL : (const char *)(uintptr_t)sge->addr + sizeof(struct hd_frame),
                        .length = here ? 0 : sge->length - sizeof(struct hd_frame),
                        .reported = wr->send_flags & IBV_SEND_SIGNALED};
    return 0;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    adapter.asked_for_pairs++;
    if (adapter.inline_max && attr->cap.max_inline_data > adapter.inline_max)
        return NULL;
    struct ibv_qp *qp = calloc(1, sizeof(*qp));
    qp->context = pd->context;
    qp->qp_num = 5;
    return qp;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp;
    if (adapter.refuses && mask & IBV_QP_PATH_MTU)
        return adapter.refuses;
    if (mask & IBV_QP_PATH_MTU)
        adapter.mtu = attr->path_mtu;
    if (mask & IBV_QP_PKEY_INDEX)
        adapter.partition_index = attr->pkey_index;
    return 0;
}

static int destroy_qp(struct ibv_qp *qp)
{
    free(qp);
    return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, int access)
{
    (void)pd, (void)address, (void)length, (void)access;
    return calloc(1, sizeof(struct ibv_mr));
}

static int forget_memory(struct ibv_mr *mr)
{
    free(mr);
    return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
    (void)context, (void)port;
    if (atomic_exchange(&adapter.slow, false)) {
        atomic_store(&adapter.asked, true);
        for (int i = 0; i < 2000 && !atomic_load(&adapter.go_on); i++)
            usleep(1000);
    }
    attr->state = IBV_PORT_ACTIVE;
    attr->link_layer = adapter.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    attr->gid_tbl_len = GIDS;
    attr->active_mtu = IBV_MTU_2048;
    attr->lid = 3;
    attr->pkey_tbl_len = PARTITIONS;
    return 0;
}

static int query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *key)
{
    (void)context, (void)port;
    *key = htons(adapter.partitions[index]);
    return 0;
}

static int query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void)context, (void)port;
    adapter.asked_for_gids++;
    memset(gid, adapter.ethernet && index != adapter.gid_at ? 0 : 1, sizeof(*gid));
    return 0;
}

static const char *some_words(enum ibv_event_type type)
{
    (void)type;
    return "an event";
}

static const struct verbs_api api = {.query_port = query_port,
                                     .query_gid = query_gid,
                                     .query_pkey = query_pkey,
                                     .reg_mr = register_memory,
                                     .dereg_mr = forget_memory,
                                     .create_comp_channel = create_channel,
                                     .destroy_comp_channel = destroy_channel,
                                     .create_cq = create_cq,
                                     .destroy_cq = destroy_cq,
                                     .get_cq_event = no_event,
                                     .ack_cq_events = acknowledge,
                                     .create_srq = create_srq,
                                     .destroy_srq = destroy_srq,
                                     .create_qp = create_qp,
                                     .modify_qp = modify_qp,
                                     .destroy_qp = destroy_qp,
                                     .event_type_str = some_words};

/* ---- its device, and links over it ---- */

static struct world {
    hd_engine *engine;
    struct hd_transport_ops ops;
    struct hd_device device;
    struct verbs_device verbs;
} world;

static void begin_with(const char *const *options)
{
    memset(&world, 0, sizeof(world));
    memset(&adapter, 0, sizeof(adapter));
    adapter.context.ops.poll_cq = poll_cq;
    adapter.context.ops.req_notify_cq = notify;
    adapter.context.ops.post_srq_recv = post_receive;
    adapter.context.ops.post_send = post_send;
    adapter.context.num_comp_vectors = VECTORS;
    adapter.partitions[0] = 0xffff;
    adapter.pd.context = &adapter.context;
    world.engine = test_engine(options);
    hd_transport_complete(&world.ops, &hd_verbs_ops);
    world.device = *world.engine->devices[0];
    world.device.ops = &world.ops;
    world.device.inner = NULL;
    world.device.index = HD_DEVICES_MAX - 1; /* no slab is registered with it */
    world.device.data = &world.verbs;
    world.verbs = (struct verbs_device){
        .device = &world.device,
        .api = &api,
        .context = &adapter.context,
        .pd = &adapter.pd,
        .name = "played0",
        .port = 1,
        .attr = {.max_cqe = 65536, .max_qp_wr = 65536, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16},
        .frame_max = HD_FRAME_MIN_PAYLOAD};
    pthread_mutex_init(&world.verbs.lock, NULL);
    hd_list_init(&world.verbs.eps);
}

static void begin(void)
{
    begin_with(NULL);
}

static void finish(void)
{
    hd_verbs_rings_close(&world.verbs);
    pthread_mutex_destroy(&world.verbs.lock);
    hd_engine_destroy(world.engine);
}

static struct hd_ep *endpoint_of(uint32_t credits)
{
    struct hd_limits limits = {.frame_max = HD_FRAME_MIN_PAYLOAD, .credits = credits};
    struct hd_ep_params params = {.mine = limits, .peers = limits, .guard_fd = -1};
    struct hd_ep *ep;
    assert_ok(world.ops.ep_create(&world.device, &params, &ep));
    return ep;
}

static struct hd_ep *endpoint(void)
{
    return endpoint_of(16);
}

static void answer(struct hd_ep *ep)
{
    struct verbs_address peer = {
        .version = 2, .network = VERBS_INFINIBAND, .mtu = IBV_MTU_4096, .responder = 4, .qp = 7, .psn = 1, .lid = 4};
    assert_ok(ep->ops->answer(ep, (const uint8_t *)&peer, sizeof(peer), HD_FOREVER));
}

static struct hd_ep *connected(void)
{
    struct hd_ep *ep = endpoint();
    answer(ep);
    return ep;
}

static struct verbs_ep *of(struct hd_ep *ep)
{
    return hd_container(ep, struct verbs_ep, base);
}

/* ---- tests ---- */

/* A port goes down: the thread that ends its links serves others meanwhile. */
static void the_end_of_many_links_waits_for_nothing(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    struct hd_ep *eps[COUNT];
    begin();
    for (int i = 0; i < COUNT; i++) {
        eps[i] = connected();
        if (i % 2)
            of(eps[i])->reads = 1; /* under way */
        else
            atomic_store(&of(eps[i])->event, IBV_EVENT_PORT_ERR + 1);
    }
    naps = 0;
    for (int i = 0; i < COUNT; i++) {
        eps[i]->ops->close(eps[i]);
        eps[i]->ops->retire(eps[i]);
        eps[i]->ops->quiet(eps[i]);
    }
    assert_int_equal(naps, 0);
    for (int i = 0; i < COUNT; i++) {
        while (!eps[i]->ops->quiet(eps[i]))
            usleep(1000);
        eps[i]->ops->destroy(eps[i]);
    }
    assert_int_equal(naps, 0);
    finish();
}

struct sleeper {
    struct hd_ep *ep;
    bool waits, armed;
    atomic_bool done;
};

static void *sleep_on(void *arg)
{
    struct sleeper *s = arg;
    _Atomic uint32_t word = 0;
    if (s->waits)
        s->ep->ops->wait(s->ep, &word, 0, 2 * SECOND);
    else
        s->armed = s->ep->ops->arm(s->ep);
    atomic_store(&s->done, true);
    return NULL;
}

/* Somebody looked at the queue before the completion came and has its lock yet; the adapter told nobody, because nobody
 * had asked. Whoever asks now must look himself. */
static void what_came_before_the_queue_was_armed_is_seen(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        begin();
        struct sleeper s = {.ep = connected(), .waits = waits};
        struct verbs_ep *ep = of(s.ep);
        struct queue *queue = hd_container(ep->cq, struct queue, cq);
        pthread_t thread;
        hd_lock(&ep->cq_lock);
        queue->wcs[queue->count++] = (struct ibv_wc){.wr_id = VERBS_RX_TAG};
        assert_int_equal(pthread_create(&thread, NULL, sleep_on, &s), 0);
        while (!atomic_load(&ep->cq_wanted) && !atomic_load(&s.done))
            usleep(100);
        hd_unlock(&ep->cq_lock);
        pthread_join(thread, NULL);
        assert_false(s.armed);
        assert_int_equal(atomic_load(&ep->wc_ready), 1);
        s.ep->ops->close(s.ep);
        s.ep->ops->destroy(s.ep);
        finish();
    }
}

static void *set_up_another(void *arg)
{
    (void)arg;
    return endpoint();
}

static void a_set_up_does_not_see_what_another_one_asks(void **state)
{
    (void)state;
    begin();
    struct hd_ep *ep = endpoint();
    pthread_t thread;
    void *other;
    atomic_store(&adapter.slow, true);
    assert_int_equal(pthread_create(&thread, NULL, set_up_another, NULL), 0);
    while (!atomic_load(&adapter.asked))
        usleep(100);
    answer(ep);
    atomic_store(&adapter.go_on, true);
    pthread_join(thread, &other);
    assert_int_equal(adapter.mtu, IBV_MTU_2048);
    ep->ops->destroy(ep);
    ((struct hd_ep *)other)->ops->destroy(other);
    finish();
}

static void as_much_is_inline_as_the_device_takes(void **state)
{
    (void)state;
    static const uint32_t limits[] = {1, 2, 60, 64, 100, 128, 188, 219, 220, 400};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        begin_with((const char *const[]){"verbs.inline=220", NULL});
        adapter.inline_max = limits[i];
        for (int j = 0; j < 2; j++) {
            struct hd_ep *ep = endpoint();
            assert_int_equal(of(ep)->inline_max, limits[i] < 220 ? limits[i] : 220);
            if (j == 0)
                adapter.asked_for_pairs = 0; /* the next one knows */
            ep->ops->destroy(ep);
        }
        assert_int_equal(adapter.asked_for_pairs, 1);
        finish();
    }
}

static void links_share_the_completion_vectors(void **state)
{
    (void)state;
    struct hd_ep *eps[2 * VECTORS];
    begin();
    for (int i = 0; i < 2 * VECTORS; i++)
        eps[i] = endpoint();
    for (int i = 0; i < VECTORS; i++)
        assert_int_equal(adapter.with_vector[i], 2);
    for (int i = 0; i < 2 * VECTORS; i++)
        eps[i]->ops->destroy(eps[i]);
    finish();
}

/* ---- GIDs ---- */

static void expect_gid(int index, unsigned least, unsigned most)
{
    adapter.asked_for_gids = 0;
    struct hd_ep *ep = endpoint();
    assert_int_equal(of(ep)->port.gid_index, index);
    assert_in_range(adapter.asked_for_gids, least, most);
    ep->ops->destroy(ep);
}

static void tell(enum ibv_event_type type)
{
    struct ibv_async_event event = {.event_type = type, .element.port_num = 1};
    hd_verbs_take_event(&world.verbs, &event);
}

/* Links ask the device for its GIDs only if these may have changed since. */
static void gids_are_looked_up_after_an_event_only(void **state)
{
    (void)state;
    begin();
    adapter.ethernet = true;
    adapter.gid_at = 7;
    expect_gid(7, GIDS, GIDS);
    expect_gid(7, 0, 0);
    adapter.gid_at = 9; /* nobody was told yet */
    expect_gid(7, 0, 0);
    tell(IBV_EVENT_GID_CHANGE);
    expect_gid(9, GIDS, GIDS);
    expect_gid(9, 0, 0);
    tell(IBV_EVENT_PORT_ERR);
    expect_gid(9, GIDS, GIDS);
    tell(IBV_EVENT_PKEY_CHANGE);
    expect_gid(9, GIDS, GIDS);
    finish();
}

static void gids_are_looked_up_after_a_set_up_that_failed(void **state)
{
    (void)state;
    struct verbs_address peer = {
        .version = 2, .network = VERBS_ROCE_V1, .mtu = IBV_MTU_4096, .responder = 4, .qp = 7, .psn = 1};
    begin();
    adapter.ethernet = true;
    expect_gid(0, GIDS, GIDS);
    struct hd_ep *ep = endpoint();
    adapter.refuses = ENETUNREACH;
    assert_int_equal(ep->ops->answer(ep, (const uint8_t *)&peer, sizeof(peer), HD_FOREVER), -ENETUNREACH);
    adapter.refuses = 0;
    ep->ops->destroy(ep);
    expect_gid(0, GIDS, GIDS);
    finish();
}

/* ---- partitions ---- */

static void put_into_partitions(const uint16_t keys[PARTITIONS])
{
    memcpy(adapter.partitions, keys, sizeof(adapter.partitions));
}

static void expect_partition(const char *option, const uint16_t keys[PARTITIONS], unsigned index)
{
    begin_with((const char *const[]){option, NULL});
    put_into_partitions(keys);
    struct hd_ep *ep = endpoint();
    assert_int_equal(adapter.partition_index, index);
    ep->ops->destroy(ep);
    finish();
}

static void refuse_partition(const char *option, const uint16_t keys[PARTITIONS], const char *words)
{
    struct verbs_port port;
    begin_with((const char *const[]){option, NULL});
    put_into_partitions(keys);
    assert_true(hd_verbs_look_at_port(&world.verbs, &port) < 0);
    if (!strstr(hd_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", hd_last_error(), words);
    finish();
}

static void a_port_is_used_in_its_partition(void **state)
{
    (void)state;
    expect_partition("verbs.partition=auto", (uint16_t[]){0x7fff, 0, 0x8001, 0x8002}, 2);
    expect_partition("verbs.partition=auto", (uint16_t[]){0, 0x7fff, 0x0001, 0}, 1);
    expect_partition("verbs.partition=0x8002", (uint16_t[]){0x7fff, 0, 0x8001, 0x8002}, 3);
    expect_partition("verbs.partition=0x7fff", (uint16_t[]){0x8001, 0x7fff, 0, 0xffff}, 3);
    expect_partition("verbs.partition=32769", (uint16_t[]){0x7fff, 0x0001, 0, 0}, 1);
    refuse_partition("verbs.partition=0x8003", (uint16_t[]){0xffff, 0, 0x8001, 0x8002}, "another partition than");
    refuse_partition("verbs.partition=auto", (uint16_t[]){0, 0x8000, 0, 0}, "is in no partition");
    refuse_partition("verbs.partition=red", (uint16_t[]){0xffff, 0, 0, 0}, "is no partition key");
    refuse_partition("verbs.partition=0x18001", (uint16_t[]){0xffff, 0, 0, 0}, "is no partition key");
}

/* Of a port with the first key, to one with the second. @return why not, or NULL. */
static const char *obstacle_between(uint16_t mine, uint16_t peers)
{
    struct verbs_port port;
    uint8_t blob[HD_BLOB_MAX];
    begin();
    adapter.partitions[0] = peers;
    assert_ok(hd_verbs_look_at_port(&world.verbs, &port));
    size_t length = hd_verbs_describe(&world.device, blob);
    adapter.partitions[0] = mine;
    hd_verbs_port_changed(&world.verbs);
    assert_ok(hd_verbs_look_at_port(&world.verbs, &port));
    const char *why = hd_verbs_reachable(&world.device, blob, length);
    finish();
    return why;
}

static void ports_of_two_partitions_do_not_meet(void **state)
{
    (void)state;
    assert_null(obstacle_between(0x8001, 0x8001));
    assert_null(obstacle_between(0x8001, 0x0001));
    assert_non_null(strstr(obstacle_between(0x8001, 0x8002), "another InfiniBand partition"));
    assert_non_null(strstr(obstacle_between(0x0001, 0x0001), "limited members"));
}

/* ---- send rings ---- */

static bool unspoilt(uint64_t number)
{
    const struct posted *p = &adapter.sent[number % SENDS];
    for (size_t i = 0; p->at && i < p->length; i++)
        if (p->at[i] != (char)(number * 7 + i))
            return false;
    return true;
}

/* @return what send() does. */
static int send_frame(struct verbs_ep *ep, size_t length)
{
    char payload[HD_FRAME_MIN_PAYLOAD];
    struct hd_frame frame = {.type = HD_FRAME_DATA, .flags = 1, .length = (uint32_t)length};
    for (size_t i = 0; i < length; i++)
        payload[i] = (char)(ep->tx_posted * 7 + i);
    return ep->base.ops->send(&ep->base, &frame, payload, NULL);
}

/* The adapter has sent everything up to this one, which it reports. */
static void sent_up_to(struct verbs_ep *ep, uint64_t number)
{
    struct queue *queue = hd_container(ep->cq, struct queue, cq);
    for (uint64_t i = ep->tx_done; i <= number; i++)
        if (!unspoilt(i))
            fail_msg("frame %llu was written over before it was sent", (unsigned long long)i);
    assert_true(adapter.sent[number % SENDS].reported);
    queue->wcs[queue->count++] = (struct ibv_wc){.wr_id = number};
    assert_true(ep->base.ops->progress(&ep->base, 16) >= 0);
    assert_int_equal(ep->tx_done, number + 1);
}

/* @return the number of the last send that the adapter will report, or of one that is up to so many reports before it;
 * -1: there is none. */
static int64_t reported(const struct verbs_ep *ep, unsigned before)
{
    int64_t found = -1;
    for (int64_t i = (int64_t)ep->tx_posted - 1; i >= (int64_t)ep->tx_done; i--)
        if (adapter.sent[i % SENDS].reported) {
            found = i;
            if (before-- == 0)
                break;
        }
    return found;
}

static uint64_t wide_rings(void)
{
    return counter(world.engine, "send.rings.now");
}

static void end_of(struct verbs_ep *ep)
{
    ep->base.ops->close(&ep->base);
    ep->base.ops->destroy(&ep->base);
}

static void a_link_borrows_a_wide_ring_and_gives_it_back(void **state)
{
    (void)state;
    begin();
    struct verbs_ep *ep = of(connected());
    while (wide_rings() == 0)
        assert_ok(send_frame(ep, HD_FRAME_MIN_PAYLOAD));
    uint64_t first_in_wide = ep->tx_posted - 1;
    assert_ok(send_frame(ep, HD_FRAME_MIN_PAYLOAD));
    ep->base.ops->arm(&ep->base); /* its own still has frames */
    assert_ptr_not_equal(ep->ring, ep->own.base);
    sent_up_to(ep, first_in_wide - 1);
    ep->base.ops->arm(&ep->base);
    assert_ptr_equal(ep->ring, ep->own.base);
    assert_int_equal(wide_rings(), 1); /* it has frames */
    assert_ok(send_frame(ep, 1));
    sent_up_to(ep, ep->tx_posted - 1);
    ep->base.ops->arm(&ep->base);
    assert_int_equal(wide_rings(), 0);
    end_of(ep);
    finish();
}

/* Frames of all sizes, sent by the adapter at its leisure: none is written over before, and whenever there is no room
 * the adapter is to report something, unless it is itself that takes no more. */
static void frames_are_kept_until_they_are_sent(void **state)
{
    (void)state;
    begin_with((const char *const[]){"verbs.send.buffer=128k", NULL});
    struct verbs_ep *ep = of(endpoint_of(64));
    answer(&ep->base);
    uint64_t random = 1, widened = 0;
    for (int i = 0; i < 30000; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        unsigned what = (unsigned)(random >> 33) % 100, much = (unsigned)(random >> 40) % HD_FRAME_MIN_PAYLOAD;
        uint64_t before = wide_rings();
        adapter.full = what < 2;
        if (what < 70) {
            int err = send_frame(ep, what < 10 ? much % 180 : much);
            if (err)
                assert_int_equal(err, -EAGAIN);
            if (err && !adapter.full)
                assert_true(reported(ep, 0) >= 0);
        } else if (what < (i / 300 % 2 ? 73 : 97)) { /* slow and quick by turns */
            int64_t number = reported(ep, much % 16);
            if (number >= 0)
                sent_up_to(ep, (uint64_t)number);
        } else {
            ep->base.ops->arm(&ep->base);
        }
        widened += wide_rings() > before;
    }
    assert_true(widened > 20);
    end_of(ep);
    assert_int_equal(wide_rings(), 0);
    finish();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_many_links_waits_for_nothing),
        cmocka_unit_test(what_came_before_the_queue_was_armed_is_seen),
        cmocka_unit_test(a_set_up_does_not_see_what_another_one_asks),
        cmocka_unit_test(links_share_the_completion_vectors),
        cmocka_unit_test(as_much_is_inline_as_the_device_takes),
        cmocka_unit_test(gids_are_looked_up_after_an_event_only),
        cmocka_unit_test(gids_are_looked_up_after_a_set_up_that_failed),
        cmocka_unit_test(a_port_is_used_in_its_partition),
        cmocka_unit_test(ports_of_two_partitions_do_not_meet),
        cmocka_unit_test(a_link_borrows_a_wide_ring_and_gives_it_back),
        cmocka_unit_test(frames_are_kept_until_they_are_sent),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
