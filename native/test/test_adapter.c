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

static struct {
    struct ibv_context context;
    struct ibv_pd pd;
    enum ibv_mtu mtu;        /* that the last queue pair was connected with */
    atomic_bool slow, asked; /* answers about the port wait, once, for `go_on` */
    atomic_bool go_on;
} adapter;

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
    (void)depth, (void)arg, (void)channel, (void)vector;
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
    (void)qp, (void)wr, (void)bad;
    return 0;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)attr;
    struct ibv_qp *qp = calloc(1, sizeof(*qp));
    qp->context = pd->context;
    qp->qp_num = 5;
    return qp;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp;
    if (mask & IBV_QP_PATH_MTU)
        adapter.mtu = attr->path_mtu;
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
    attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
    attr->active_mtu = IBV_MTU_2048;
    attr->lid = 3;
    return 0;
}

static int query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void)context, (void)port, (void)index;
    memset(gid, 1, sizeof(*gid));
    return 0;
}

static const char *some_words(enum ibv_event_type type)
{
    (void)type;
    return "an event";
}

static const struct verbs_api api = {.query_port = query_port,
                                     .query_gid = query_gid,
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

static void begin(void)
{
    memset(&world, 0, sizeof(world));
    memset(&adapter, 0, sizeof(adapter));
    adapter.context.ops.poll_cq = poll_cq;
    adapter.context.ops.req_notify_cq = notify;
    adapter.context.ops.post_srq_recv = post_receive;
    adapter.context.ops.post_send = post_send;
    adapter.pd.context = &adapter.context;
    world.engine = test_engine(NULL);
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

static void finish(void)
{
    pthread_mutex_destroy(&world.verbs.lock);
    hd_engine_destroy(world.engine);
}

static struct hd_ep *endpoint(void)
{
    struct hd_limits limits = {.frame_max = HD_FRAME_MIN_PAYLOAD, .credits = 16};
    struct hd_ep_params params = {.mine = limits, .peers = limits, .guard_fd = -1};
    struct hd_ep *ep;
    assert_ok(world.ops.ep_create(&world.device, &params, &ep));
    return ep;
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_many_links_waits_for_nothing),
        cmocka_unit_test(what_came_before_the_queue_was_armed_is_seen),
        cmocka_unit_test(a_set_up_does_not_see_what_another_one_asks),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
