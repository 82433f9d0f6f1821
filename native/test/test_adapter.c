/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The verbs transport over an adapter that the test plays: what a real one does only now and then, or only to many
 * links at once. Its queue pairs take everything and finish nothing.
 */

#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/numa.h"
#include "core/context.h"
#include "support.h"
#include "transport/verbs/cq.h"
#include "transport/verbs/vector.h"

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
    union {
        struct ibv_cq cq;
        struct ibv_cq_ex extended;
    };
    pthread_mutex_t lock;
    unsigned count, asked; /* asked: times that it was to tell */
    struct ibv_wc wcs[128];
};

enum { VECTORS = 3, SENDS = 512, PARTITIONS = 4 };

static struct {
    struct verbs_context verbs;
    struct ibv_pd pd;
    enum ibv_mtu mtu;        /* that the last queue pair was connected with */
    atomic_bool slow, asked; /* answers about the port wait, once, for `go_on` */
    atomic_bool go_on;
    unsigned with_vector[VECTORS];     /* completion queues */
    bool rigid;                        /* they do not grow */
    unsigned receives;                 /* posted */
    uint32_t last_number, next_number; /* of queue pairs; 0: another one each time */
    void (*destroys)(struct ibv_qp *qp);
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

    /* What only newer ones have: bits of enum verbs_feature, and how often each was asked for. */
    unsigned lacks, asked_for[4];
    unsigned domains; /* thread domains that there are */
    unsigned extended_queues, extended_pairs;
    unsigned unguarded; /* queue pairs destroyed without the lock of their extended queue */
    bool broken;        /* its completion queues */
    uint64_t posted_id;
    struct posted posted; /* by ibv_wr_*, and not complete */
    int access;           /* of the last registration */
    int policy;           /* of the thread during it: MPOL_* */
} adapter;

static bool extended_adapter; /* that tests play */

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
    (void)arg, (void)channel;
    adapter.with_vector[vector]++;
    struct queue *queue = calloc(1, sizeof(*queue));
    pthread_mutex_init(&queue->lock, NULL);
    queue->cq.context = context;
    queue->cq.cqe = depth;
    return &queue->cq;
}

static int resize_cq(struct ibv_cq *cq, int depth)
{
    if (adapter.rigid)
        return EOPNOTSUPP;
    cq->cqe = depth;
    return 0;
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
    queue->count -= (unsigned)count;
    memmove(queue->wcs, queue->wcs + count, queue->count * sizeof(*wcs));
    pthread_mutex_unlock(&queue->lock);
    return count;
}

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    hd_container(cq, struct queue, cq)->asked++;
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
    adapter.receives++;
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
    struct ibv_qp *qp = calloc(1, sizeof(struct ibv_qp_ex));
    qp->context = pd->context;
    qp->pd = pd;
    qp->qp_num = adapter.next_number ? adapter.next_number : ++adapter.last_number;
    qp->send_cq = attr->send_cq;
    qp->qp_context = attr->qp_context;
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
    struct verbs_cq *cq = ((struct verbs_ep *)qp->qp_context)->cq;
    if (cq->extended && hd_trylock(&cq->lock)) {
        adapter.unguarded++;
        hd_unlock(&cq->lock);
    }
    if (adapter.destroys)
        adapter.destroys(qp);
    free(qp);
    return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, int access)
{
    (void)pd, (void)address, (void)length;
    adapter.access = access;
    syscall(SYS_get_mempolicy, &adapter.policy, NULL, 0, NULL, 0);
    return calloc(1, sizeof(struct ibv_mr));
}

/* ---- what only newer ones have ---- */

/* Whether it has it, which is asked for now. */
static bool has(enum verbs_feature feature)
{
    adapter.asked_for[feature]++;
    errno = EOPNOTSUPP;
    return !(adapter.lacks & 1U << feature);
}

static struct ibv_td *create_thread_domain(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    (void)attr;
    if (!has(VERBS_DOMAINS))
        return NULL;
    adapter.domains++;
    struct ibv_td *domain = calloc(1, sizeof(*domain));
    domain->context = context;
    return domain;
}

static int destroy_thread_domain(struct ibv_td *domain)
{
    adapter.domains--;
    free(domain);
    return 0;
}

static struct ibv_pd *create_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
    assert_ptr_equal(attr->pd, &adapter.pd);
    assert_non_null(attr->td);
    struct ibv_pd *domain = calloc(1, sizeof(*domain));
    domain->context = context;
    return domain;
}

static int destroy_domain(struct ibv_pd *domain)
{
    assert_ptr_not_equal(domain, &adapter.pd);
    free(domain);
    return 0;
}

static void wr_start(struct ibv_qp_ex *qp)
{
    (void)qp;
    adapter.posted = (struct posted){0};
}

static void wr_send(struct ibv_qp_ex *qp)
{
    adapter.posted_id = qp->wr_id;
    adapter.posted.reported = qp->wr_flags & IBV_SEND_SIGNALED;
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 word)
{
    (void)word;
    wr_send(qp);
}

static void wr_set_inline(struct ibv_qp_ex *qp, void *data, size_t length)
{
    (void)data, (void)length;
    assert_true(qp->wr_flags & IBV_SEND_INLINE);
}

static void wr_set_piece(struct ibv_qp_ex *qp, uint32_t key, uint64_t address, uint32_t length)
{
    (void)key;
    assert_false(qp->wr_flags & IBV_SEND_INLINE);
    adapter.posted.at = (const char *)(uintptr_t)address + sizeof(struct hd_frame);
    adapter.posted.length = length - sizeof(struct hd_frame);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
    (void)qp;
    if (adapter.full)
        return ENOSPC;
    adapter.sent[adapter.posted_id % SENDS] = adapter.posted;
    return 0;
}

static struct ibv_qp *create_extended_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    (void)context;
    if (!has(VERBS_WR))
        return NULL;
    struct ibv_qp *qp = create_qp(attr->pd, (struct ibv_qp_init_attr *)attr); /* it begins so */
    if (!qp)
        return NULL;
    adapter.extended_pairs++;
    struct ibv_qp_ex *extended = (struct ibv_qp_ex *)qp;
    extended->wr_start = wr_start;
    extended->wr_send = wr_send;
    extended->wr_send_imm = wr_send_imm;
    extended->wr_set_inline_data = wr_set_inline;
    extended->wr_set_sge = wr_set_piece;
    extended->wr_complete = wr_complete;
    return qp;
}

static struct ibv_qp_ex *to_extended_qp(struct ibv_qp *qp)
{
    return (struct ibv_qp_ex *)qp;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
    (void)attr;
    struct queue *queue = hd_container(cq, struct queue, extended);
    pthread_mutex_lock(&queue->lock);
    int err = adapter.broken ? EIO : queue->count ? 0 : ENOENT;
    queue->extended.wr_id = queue->wcs[0].wr_id;
    queue->extended.status = queue->wcs[0].status;
    if (err)
        pthread_mutex_unlock(&queue->lock);
    return err;
}

static void end_poll(struct ibv_cq_ex *cq)
{
    struct queue *queue = hd_container(cq, struct queue, extended);
    queue->count--;
    memmove(queue->wcs, queue->wcs + 1, queue->count * sizeof(*queue->wcs));
    pthread_mutex_unlock(&queue->lock);
}

static const struct ibv_wc *shown(struct ibv_cq_ex *cq)
{
    struct queue *queue = hd_container(cq, struct queue, extended);
    return &queue->wcs[0];
}

static uint32_t read_number(struct ibv_cq_ex *cq)
{
    return shown(cq)->qp_num;
}

static uint32_t read_length(struct ibv_cq_ex *cq)
{
    return shown(cq)->byte_len;
}

static uint32_t read_vendor_error(struct ibv_cq_ex *cq)
{
    return shown(cq)->vendor_err;
}

static unsigned read_flags(struct ibv_cq_ex *cq)
{
    return shown(cq)->wc_flags;
}

static __be32 read_word(struct ibv_cq_ex *cq)
{
    return shown(cq)->imm_data;
}

static struct ibv_cq_ex *create_extended_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    if (!has(VERBS_CQ_EX))
        return NULL;
    assert_int_equal(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
    struct ibv_cq *cq = create_cq(context, (int)attr->cqe, attr->cq_context, attr->channel, (int)attr->comp_vector);
    struct ibv_cq_ex *extended = (struct ibv_cq_ex *)cq;
    adapter.extended_queues++;
    extended->start_poll = start_poll;
    extended->end_poll = end_poll;
    extended->read_qp_num = read_number;
    extended->read_byte_len = read_length;
    extended->read_vendor_err = read_vendor_error;
    extended->read_wc_flags = read_flags;
    extended->read_imm_data = read_word;
    return extended;
}

static struct ibv_mr *register_relaxed(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned access)
{
    assert_int_equal(iova, (uintptr_t)address);
    return has(VERBS_RELAXED) ? register_memory(pd, address, length, (int)access) : NULL;
}

static void make_extended(struct verbs_context *verbs)
{
    verbs->sz = sizeof(*verbs);
    verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    verbs->alloc_td = create_thread_domain;
    verbs->dealloc_td = destroy_thread_domain;
    verbs->alloc_parent_domain = create_parent_domain;
    verbs->create_qp_ex = create_extended_qp;
    verbs->create_cq_ex = create_extended_cq;
}

/* ---- what all have ---- */

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
                                     .resize_cq = resize_cq,
                                     .destroy_cq = destroy_cq,
                                     .get_cq_event = no_event,
                                     .ack_cq_events = acknowledge,
                                     .create_srq = create_srq,
                                     .destroy_srq = destroy_srq,
                                     .create_qp = create_qp,
                                     .modify_qp = modify_qp,
                                     .destroy_qp = destroy_qp,
                                     .dealloc_pd = destroy_domain,
                                     .qp_to_qp_ex = to_extended_qp,
                                     .reg_mr_iova2 = register_relaxed,
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
    adapter.verbs.context.ops.poll_cq = poll_cq;
    adapter.verbs.context.ops.req_notify_cq = notify;
    adapter.verbs.context.ops.post_srq_recv = post_receive;
    adapter.verbs.context.ops.post_send = post_send;
    adapter.verbs.context.num_comp_vectors = VECTORS;
    adapter.partitions[0] = 0xffff;
    adapter.pd.context = &adapter.verbs.context;
    if (extended_adapter)
        make_extended(&adapter.verbs);
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
        .context = &adapter.verbs.context,
        .pd = &adapter.pd,
        .name = "played0",
        .port = 1,
        .numa_node = -1,
        .attr = {.max_cqe = 65536, .max_qp_wr = 65536, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16},
        .frame_max = HD_FRAME_MIN_PAYLOAD};
    pthread_mutex_init(&world.verbs.lock, NULL);
    hd_list_init(&world.verbs.eps);
    hd_list_init(&world.verbs.cqs);
}

static void begin(void)
{
    begin_with(NULL);
}

static void finish(void)
{
    assert_true(hd_list_empty(&world.verbs.cqs));
    hd_verbs_rings_close(&world.verbs);
    pthread_mutex_destroy(&world.verbs.lock);
    hd_engine_destroy(world.engine);
}

static unsigned rings; /* for armed endpoints */

static void count_ring(void *arg)
{
    (void)arg;
    rings++;
}

static struct hd_ep *endpoint_of(uint32_t credits, unsigned communication_thread)
{
    struct hd_limits limits = {.frame_max = HD_FRAME_MIN_PAYLOAD, .credits = credits};
    struct hd_ep_params params = {
        .mine = limits, .peers = limits, .sink.ring = count_ring, .thread = communication_thread, .guard_fd = -1};
    struct hd_ep *ep;
    assert_ok(world.ops.ep_create(&world.device, &params, &ep));
    return ep;
}

static struct hd_ep *endpoint(void)
{
    return endpoint_of(16, 0);
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

static struct queue *queue_of(struct verbs_ep *ep)
{
    return hd_container(ep->cq->cq, struct queue, cq);
}

/* The adapter reports something of a queue pair. */
static void report(struct queue *queue, uint32_t number, uint64_t id)
{
    pthread_mutex_lock(&queue->lock);
    queue->wcs[queue->count++] = (struct ibv_wc){.wr_id = id, .qp_num = number};
    pthread_mutex_unlock(&queue->lock);
}

static unsigned arrivals_of(struct verbs_ep *ep)
{
    return atomic_load(&ep->inbox.rx_put) - atomic_load(&ep->inbox.rx_taken);
}

static void end_of(struct verbs_ep *ep)
{
    ep->base.ops->close(&ep->base);
    ep->base.ops->destroy(&ep->base);
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
        s->ep->ops->wait(s->ep, &word, 0, PATIENCE);
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
        pthread_t thread;
        hd_lock(&ep->cq->lock);
        report(queue_of(ep), ep->number, VERBS_RX_TAG);
        assert_int_equal(pthread_create(&thread, NULL, sleep_on, &s), 0);
        while (!atomic_load(&ep->cq->wanted) && !atomic_load(&s.done))
            usleep(100);
        hd_unlock(&ep->cq->lock);
        pthread_join(thread, NULL);
        assert_false(s.armed);
        assert_int_equal(arrivals_of(ep), 1);
        end_of(ep);
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

/* ---- completion queues ---- */

static void links_of_a_thread_share_a_queue_with_its_own_vector(void **state)
{
    (void)state;
    struct hd_ep *eps[100];
    begin();
    for (unsigned i = 0; i < HD_COUNT(eps); i++)
        eps[i] = endpoint_of(16, i % VECTORS);
    for (int i = 0; i < VECTORS; i++)
        assert_int_equal(adapter.with_vector[i], 1);
    for (unsigned i = VECTORS; i < HD_COUNT(eps); i++)
        assert_ptr_equal(of(eps[i])->cq, of(eps[i % VECTORS])->cq);
    for (unsigned i = 0; i < HD_COUNT(eps); i++)
        eps[i]->ops->destroy(eps[i]);
    finish();
}

/* All that can be under way of the queue's endpoints, and all that can arrive. */
static void expect_room(const struct verbs_cq *cq)
{
    uint64_t needed = cq->pool->room;
    for (struct hd_list *n = world.verbs.eps.next; n != &world.verbs.eps; n = n->next) {
        const struct verbs_ep *ep = hd_container(n, struct verbs_ep, node);
        if (ep->cq == cq)
            needed += ep->tx_depth;
    }
    assert_true(needed <= (uint64_t)cq->cq->cqe);
    assert_true(cq->cq->cqe <= world.verbs.attr.max_cqe);
}

static unsigned queues_with_room(void)
{
    unsigned count = 0;
    for (struct hd_list *n = world.verbs.cqs.next; n != &world.verbs.cqs; n = n->next, count++)
        expect_room(hd_container(n, struct verbs_cq, node));
    return count;
}

/* @return how many queues a thread's links have, with so many completions in each at most. */
static unsigned queues_of_many(int most, bool rigid)
{
    struct hd_ep *eps[300];
    begin();
    world.verbs.attr.max_cqe = most;
    adapter.rigid = rigid;
    for (unsigned i = 0; i < HD_COUNT(eps); i++) {
        eps[i] = endpoint_of(i % 2 ? 64 : 16, 0);
        queues_with_room();
    }
    unsigned queues = queues_with_room();
    for (unsigned i = 0; i < HD_COUNT(eps); i++)
        eps[i]->ops->destroy(eps[i]);
    finish();
    return queues;
}

static void a_completion_queue_cannot_overflow(void **state)
{
    (void)state;
    assert_int_equal(queues_of_many(1 << 20, false), 1);
    assert_in_range(queues_of_many(16384, false), 2, 8);
    assert_in_range(queues_of_many(1 << 20, true), 2, 30);
}

static void whoever_polls_hands_over_to_other_links(void **state)
{
    (void)state;
    begin();
    struct verbs_ep *a = of(connected()), *b = of(connected()), *c = of(connected());
    rings = 0;
    assert_true(b->base.ops->arm(&b->base));
    report(queue_of(a), b->number, VERBS_RX_TAG);
    report(queue_of(a), b->number, VERBS_RX_TAG | 1);
    report(queue_of(a), c->number, VERBS_RX_TAG | 2);
    assert_false(a->base.ops->pending(&a->base));
    assert_int_equal(arrivals_of(a), 0);
    assert_int_equal(arrivals_of(b), 2);
    assert_int_equal(arrivals_of(c), 1); /* a caller polls it, or will arm it */
    assert_int_equal(rings, 1);
    assert_true(c->base.ops->pending(&c->base));
    assert_false(c->base.ops->arm(&c->base));
    end_of(a);
    end_of(b);
    end_of(c);
    finish();
}

/* One that sleeps listens to the channel. When it gets up, another one does, and is not woken for anything else. */
static void sleepers_take_turns_at_the_channel(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    struct sleeper sleepers[COUNT];
    pthread_t threads[COUNT];
    begin();
    for (int i = 0; i < COUNT; i++) {
        sleepers[i] = (struct sleeper){.ep = connected(), .waits = true};
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_on, &sleepers[i]), 0);
    }
    struct verbs_cq *cq = of(sleepers[0].ep)->cq;
    for (int left = COUNT; left > 0; left--) {
        struct verbs_ep *watcher = NULL;
        for (unsigned asleep = 0; asleep < (unsigned)left; usleep(100)) {
            asleep = 0;
            hd_verbs_cq_seize(cq);
            for (struct hd_list *n = cq->sleepers.next; n != &cq->sleepers; n = n->next)
                asleep++;
            watcher = cq->watcher;
            hd_unlock(&cq->lock);
        }
        assert_non_null(watcher);
        hd_verbs_wake(&watcher->base);
        for (int i = 0; i < COUNT; i++)
            if (sleepers[i].ep == &watcher->base)
                pthread_join(threads[i], NULL);
        unsigned up = 0;
        for (int i = 0; i < COUNT; i++)
            up += atomic_load(&sleepers[i].done);
        assert_int_equal(up, COUNT - left + 1);
    }
    assert_null(cq->watcher);
    for (int i = 0; i < COUNT; i++)
        end_of(of(sleepers[i].ep));
    finish();
}

static struct hd_ep *successor;
static unsigned receives_before;

/* What the adapter still has of the queue pair is there to be polled, and its number is given away at once. */
static void leave_something_behind(struct ibv_qp *qp)
{
    struct queue *queue = hd_container(qp->send_cq, struct queue, cq);
    adapter.destroys = NULL;
    report(queue, qp->qp_num, VERBS_RX_TAG | 3);
    report(queue, qp->qp_num, 0);
    adapter.next_number = qp->qp_num;
    successor = connected();
    adapter.next_number = 0;
    report(queue, qp->qp_num, VERBS_RX_TAG | 4);
    receives_before = adapter.receives;
}

static void a_number_used_again_brings_nothing_of_before(void **state)
{
    (void)state;
    begin();
    struct verbs_ep *a = of(connected()), *b = of(connected());
    a->base.ops->close(&a->base); /* with a last frame, number 0 */
    adapter.destroys = leave_something_behind;
    a->base.ops->destroy(&a->base);
    struct verbs_ep *c = of(successor);
    assert_int_equal(c->number, 1);
    assert_int_equal(arrivals_of(c), 1); /* its own */
    assert_int_equal(atomic_load(&c->inbox.tx_put), 0);
    assert_int_equal(adapter.receives - receives_before, 1); /* the buffer is in the queue again */
    assert_int_equal(arrivals_of(b), 0);
    report(queue_of(b), 77, VERBS_RX_TAG | 5); /* nobody's */
    report(queue_of(b), 77, 9);
    assert_false(b->base.ops->pending(&b->base));
    assert_int_equal(adapter.receives - receives_before, 2);
    end_of(b);
    end_of(c);
    finish();
}

static void a_peer_that_overruns_its_credits_costs_others_nothing(void **state)
{
    (void)state;
    enum { FLOOD = 100 };
    begin();
    struct verbs_ep *a = of(connected()), *b = of(connected());
    unsigned before = adapter.receives;
    for (unsigned i = 0; i < FLOOD; i++)
        report(queue_of(a), a->number, VERBS_RX_TAG | i % 16);
    for (int i = 0; i < FLOOD / VERBS_BATCH + 1; i++)
        b->base.ops->pending(&b->base);
    assert_int_equal(queue_of(a)->count, 0);
    assert_true(atomic_load(&a->inbox.overrun));
    assert_false(atomic_load(&b->inbox.overrun));
    assert_int_equal(arrivals_of(a) + adapter.receives - before, FLOOD);
    end_of(a);
    assert_int_equal(adapter.receives - before, FLOOD);
    end_of(b);
    finish();
}

/* ---- what only newer adapters have ---- */

static int send_frame(struct verbs_ep *ep, size_t length);
static unsigned lines; /* logged about what is missing */

static void count_line(void *arg, enum hd_log_level level, const char *line)
{
    (void)arg;
    lines += level == HD_LOG_INFO && strstr(line, "goes without") != NULL;
}

static struct hd_log counting_log = {.write = count_line, .level = HD_LOG_INFO};

static void begin_newer(unsigned lacks, const char *option)
{
    extended_adapter = true;
    begin_with((const char *const[]){option, NULL});
    extended_adapter = false;
    adapter.lacks = lacks;
    lines = 0;
    world.device.log = &counting_log;
}

enum { DOMAINS = 64, NEWER_LINKS = 100 };

/* A frame sent and reported, one arrived, on each of many links. */
static void use_links(struct verbs_ep *eps[NEWER_LINKS])
{
    for (unsigned i = 0; i < NEWER_LINKS; i++) {
        struct verbs_ep *ep = eps[i] = of(connected());
        ep->report_every = 1;
        assert_ok(send_frame(ep, 8));
        assert_true(adapter.sent[0].reported);
        adapter.sent[0].reported = false;
        report(queue_of(ep), ep->number, 0);
        report(queue_of(ep), ep->number, VERBS_RX_TAG | 1);
        assert_true(ep->base.ops->pending(&ep->base));
        assert_int_equal(atomic_load(&ep->inbox.tx_put), 1);
        assert_int_equal(arrivals_of(ep), 1);
    }
}

static void end_links(struct verbs_ep *eps[NEWER_LINKS])
{
    for (unsigned i = 0; i < NEWER_LINKS; i++) {
        atomic_store(&eps[i]->last_wqe, true); /* then nothing waits for the adapter */
        end_of(eps[i]);
    }
    assert_int_equal(adapter.domains, 0);
    assert_int_equal(adapter.unguarded, 0);
    finish();
}

/* Each queue pair has a domain of its own, or the device's. */
static void expect_own_domains(struct verbs_ep *const eps[NEWER_LINKS], unsigned wanted)
{
    unsigned own = 0;
    for (unsigned i = 0; i < NEWER_LINKS; i++) {
        own += eps[i]->qp->pd != &adapter.pd;
        for (unsigned j = 0; j < i; j++)
            assert_true(eps[i]->qp->pd == &adapter.pd || eps[i]->qp->pd != eps[j]->qp->pd);
    }
    assert_int_equal(own, wanted);
    assert_int_equal(adapter.domains, wanted);
}

static void what_a_newer_adapter_has_is_used(void **state)
{
    (void)state;
    struct verbs_ep *eps[NEWER_LINKS];
    begin_newer(0, NULL);
    use_links(eps);
    assert_int_equal(adapter.extended_pairs, NEWER_LINKS);
    assert_int_equal(adapter.extended_queues, 1);
    assert_true(adapter.access & IBV_ACCESS_RELAXED_ORDERING);
    expect_own_domains(eps, DOMAINS);
    assert_int_equal(lines, 0);
    end_links(eps);
}

static void what_an_adapter_lacks_is_tried_once_and_said(void **state)
{
    (void)state;
    static const enum verbs_feature features[] = {VERBS_WR, VERBS_CQ_EX, VERBS_DOMAINS, VERBS_RELAXED};
    for (size_t i = 0; i < HD_COUNT(features); i++) {
        struct verbs_ep *eps[NEWER_LINKS];
        begin_newer(1U << features[i], NULL);
        use_links(eps);
        assert_int_equal(adapter.asked_for[features[i]], 1);
        assert_int_equal(lines, 1);
        assert_int_equal(adapter.extended_pairs, features[i] == VERBS_WR ? 0 : NEWER_LINKS);
        assert_int_equal(adapter.extended_queues, features[i] != VERBS_CQ_EX);
        assert_int_equal((adapter.access & IBV_ACCESS_RELAXED_ORDERING) != 0, features[i] != VERBS_RELAXED);
        expect_own_domains(eps, features[i] == VERBS_DOMAINS ? 0 : DOMAINS);
        end_links(eps);
    }
}

static void an_option_leaves_out_what_is_newer(void **state)
{
    (void)state;
    struct verbs_ep *eps[NEWER_LINKS];
    begin_newer(0, "verbs.extended=false");
    use_links(eps);
    for (size_t i = 0; i < HD_COUNT(adapter.asked_for); i++)
        assert_int_equal(adapter.asked_for[i], 0);
    assert_int_equal(lines, 0);
    end_links(eps);
}

/* That is refused for what is asked of it, which says nothing about ibv_wr_*. */
static void an_extended_queue_pair_takes_as_much_inline(void **state)
{
    (void)state;
    begin_newer(0, "verbs.inline=220");
    adapter.inline_max = 60;
    struct verbs_ep *ep = of(connected());
    assert_int_equal(ep->inline_max, 60);
    assert_non_null(ep->extended);
    assert_int_equal(lines, 0);
    end_of(ep);
    assert_int_equal(adapter.unguarded, 0);
    finish();
}

static void a_broken_extended_queue_ends_its_links(void **state)
{
    (void)state;
    begin_newer(0, NULL);
    struct verbs_ep *ep = of(connected());
    assert_false(ep->base.ops->pending(&ep->base));
    adapter.broken = true;
    assert_false(ep->base.ops->pending(&ep->base));
    assert_int_equal(atomic_load(&ep->event), (int)IBV_EVENT_CQ_ERR + 1);
    adapter.broken = false;
    end_of(ep);
    finish();
}

/* ---- completion vectors ---- */

static void expect_vector(const char *line, bool found, unsigned vector, unsigned interrupt)
{
    unsigned v = 0, n = 0;
    assert_int_equal(hd_verbs_vector_parse(line, "0000:3b:00.0", &v, &n), found);
    assert_int_equal(v, vector);
    assert_int_equal(n, interrupt);
}

static void interrupts_tell_their_vector(void **state)
{
    (void)state;
    expect_vector("64:  12  0  IR-PCI-MSI 31457281-edge      mlx5_comp7@pci:0000:3b:00.0\n", true, 7, 64);
    expect_vector("64:  12  0  IR-PCI-MSIX-0000:3b:00.0    8-edge      mlx5_comp7@pci:0000:3b:00.0", true, 7, 64);
    expect_vector("131: 0 0 PCI-MSI 4-edge mlx4-comp-11@pci:0000:3b:00.0\n", true, 11, 131);
    expect_vector("9: 0 0 PCI-MSI 4-edge bnxt_re-nq-2@pci:0000:3b:00.0\n", true, 2, 9);
    unsigned v, n;
    assert_false(hd_verbs_vector_parse("64: 1 mlx5_comp7@pci:0000:3b:00.1\n", "0000:3b:00.0", &v, &n));
    assert_false(hd_verbs_vector_parse("64: 1 mlx5_comp7@pci:0000:3b:00.01\n", "0000:3b:00.0", &v, &n));
    assert_false(hd_verbs_vector_parse("64: 1 mlx5_async0@pci:0000:3b:00.0\n", "0000:3b:00.0", &v, &n));
    assert_false(hd_verbs_vector_parse("64: 1 mlx5_comp@pci:0000:3b:00.0\n", "0000:3b:00.0", &v, &n));
    assert_false(hd_verbs_vector_parse("NMI: 1 2 Non-maskable interrupts\n", "0000:3b:00.0", &v, &n));
    assert_false(hd_verbs_vector_parse("           CPU0       CPU1\n", "0000:3b:00.0", &v, &n));
    assert_false(hd_verbs_vector_parse("", "0000:3b:00.0", &v, &n));
}

static unsigned vector_for(const char *const interrupts[4], const char *thread, unsigned turn)
{
    struct hd_cpuset sets[4] = {0}, runs = {0};
    for (int i = 0; i < 4; i++)
        if (interrupts[i])
            assert_ok(hd_cpuset_parse(interrupts[i], &sets[i]));
    assert_ok(hd_cpuset_parse(thread, &runs));
    return hd_verbs_vector_choose(sets, 4, &runs, turn);
}

static void a_thread_is_interrupted_where_it_runs(void **state)
{
    (void)state;
    const char *const each[4] = {"0", "1", "8", "9"}, *const some[4] = {NULL, "2-5", NULL, "4-7"},
                      *const none[4] = {NULL};
    assert_int_equal(vector_for(each, "8", 0), 2);
    assert_int_equal(vector_for(each, "8", 7), 2);
    assert_int_equal(vector_for(each, "8-15", 0), 2);
    assert_int_equal(vector_for(each, "8-15", 1), 3);
    assert_int_equal(vector_for(each, "8-15", 2), 2);
    for (unsigned turn = 0; turn < 8; turn++) {
        assert_int_equal(vector_for(each, "0-15", turn), turn % 4);
        assert_int_equal(vector_for(each, "3", turn), turn % 4); /* none fits */
        assert_int_equal(vector_for(none, "3", turn), turn % 4); /* none is known */
    }
    assert_int_equal(vector_for(some, "5", 0), 1);
    assert_int_equal(vector_for(some, "5", 1), 3);
    assert_int_equal(vector_for(some, "2", 1), 1);
}

/* ---- memory ---- */

static void memory_for_peers_is_relaxed_where_the_adapter_can(void **state)
{
    (void)state;
    char bytes[64];
    for (int lacking = 0; lacking < 2; lacking++) {
        struct hd_slab slab = {.base = bytes, .size = sizeof(bytes)};
        begin_newer(lacking ? 1U << VERBS_RELAXED : 0, NULL);
        assert_ok(hd_verbs_slab_add(&world.device, &slab));
        assert_int_equal(adapter.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                             (lacking ? 0 : IBV_ACCESS_RELAXED_ORDERING));
        hd_verbs_slab_remove(&world.device, &slab);
        finish();
    }
}

static void the_node_of_an_adapter_counts_if_there_are_several(void **state)
{
    (void)state;
    assert_int_equal(hd_numa_node_by("1", "0-1"), 1);
    assert_int_equal(hd_numa_node_by("0", "0,8"), 0);
    assert_int_equal(hd_numa_node_by("8", "0,8"), 8);
    assert_int_equal(hd_numa_node_by("0", "0"), -1);
    assert_int_equal(hd_numa_node_by("-1", "0-1"), -1);
    assert_int_equal(hd_numa_node_by("", "0-1"), -1);
    assert_int_equal(hd_numa_node_by("99999", "0-1"), -1);
    assert_int_equal(hd_numa_node_of("/no/such/file"), -1);
}

static int own_policy(void)
{
    int policy = -1;
    syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0);
    return policy;
}

static void register_on_node(int node)
{
    char bytes[64];
    adapter.policy = -1;
    world.verbs.numa_node = node;
    struct ibv_mr *mr = hd_verbs_register(&world.verbs, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(mr);
    forget_memory(mr);
}

/* A container may forbid it: then memory is registered all the same. */
static void memory_is_registered_on_the_node_of_the_adapter(void **state)
{
    (void)state;
    unsigned long nodes = 1;
    bool allowed = syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) == 0;
    printf("the system lets a thread prefer a node: %s\n", allowed ? "yes" : "no");
    begin();
    register_on_node(-1);
    assert_int_equal(adapter.policy, own_policy());
    register_on_node(0);
    assert_int_equal(adapter.policy, allowed ? MPOL_PREFERRED : own_policy());
    assert_false(allowed && own_policy() != MPOL_DEFAULT);
    assert_int_equal(atomic_load(&world.verbs.told_of_node), !allowed);
    if (allowed && syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 8 * sizeof(nodes)) == 0) {
        register_on_node(0); /* the program has a policy */
        assert_int_equal(adapter.policy, MPOL_INTERLEAVE);
        assert_int_equal(own_policy(), MPOL_INTERLEAVE);
        assert_true(atomic_load(&world.verbs.told_of_node));
        hd_numa_restore();
    }
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
    for (uint64_t i = ep->tx_done; i <= number; i++)
        if (!unspoilt(i))
            fail_msg("frame %llu was written over before it was sent", (unsigned long long)i);
    assert_true(adapter.sent[number % SENDS].reported);
    report(queue_of(ep), ep->number, number);
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
static void keep_frames_until_they_are_sent(void)
{
    begin_with((const char *const[]){"verbs.send.buffer=128k", NULL});
    struct verbs_ep *ep = of(endpoint_of(64, 0));
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

static void frames_are_kept_until_they_are_sent(void **state)
{
    (void)state;
    keep_frames_until_they_are_sent();
}

static void frames_are_kept_until_an_extended_queue_sent_them(void **state)
{
    (void)state;
    extended_adapter = true;
    keep_frames_until_they_are_sent();
    extended_adapter = false;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_many_links_waits_for_nothing),
        cmocka_unit_test(what_came_before_the_queue_was_armed_is_seen),
        cmocka_unit_test(a_set_up_does_not_see_what_another_one_asks),
        cmocka_unit_test(links_of_a_thread_share_a_queue_with_its_own_vector),
        cmocka_unit_test(a_completion_queue_cannot_overflow),
        cmocka_unit_test(whoever_polls_hands_over_to_other_links),
        cmocka_unit_test(sleepers_take_turns_at_the_channel),
        cmocka_unit_test(a_number_used_again_brings_nothing_of_before),
        cmocka_unit_test(a_peer_that_overruns_its_credits_costs_others_nothing),
        cmocka_unit_test(as_much_is_inline_as_the_device_takes),
        cmocka_unit_test(what_a_newer_adapter_has_is_used),
        cmocka_unit_test(what_an_adapter_lacks_is_tried_once_and_said),
        cmocka_unit_test(an_option_leaves_out_what_is_newer),
        cmocka_unit_test(an_extended_queue_pair_takes_as_much_inline),
        cmocka_unit_test(a_broken_extended_queue_ends_its_links),
        cmocka_unit_test(interrupts_tell_their_vector),
        cmocka_unit_test(a_thread_is_interrupted_where_it_runs),
        cmocka_unit_test(memory_for_peers_is_relaxed_where_the_adapter_can),
        cmocka_unit_test(the_node_of_an_adapter_counts_if_there_are_several),
        cmocka_unit_test(memory_is_registered_on_the_node_of_the_adapter),
        cmocka_unit_test(gids_are_looked_up_after_an_event_only),
        cmocka_unit_test(gids_are_looked_up_after_a_set_up_that_failed),
        cmocka_unit_test(a_port_is_used_in_its_partition),
        cmocka_unit_test(ports_of_two_partitions_do_not_meet),
        cmocka_unit_test(a_link_borrows_a_wide_ring_and_gives_it_back),
        cmocka_unit_test(frames_are_kept_until_they_are_sent),
        cmocka_unit_test(frames_are_kept_until_an_extended_queue_sent_them),
    };
    return test_run(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
