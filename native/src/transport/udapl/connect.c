/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From endpoints to a connection, and its end. The client listens on a service point of its own and offers where; the
 * server connects to it with the link's token as private data; the client accepts whoever knows the token.
 *
 * The server does not wait for the connection while it answers, since the client cannot accept before it has the
 * answer. Until the connection is there, sends find no room.
 */

#include "transport/udapl/udapl.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CREDIT_SLOTS  8 /* frames that need no credit; at most three are under way */
#define TRANSFERS_MAX 64
#define CONNECT_QUEUE 8
#define PORT_MIN      32768
#define PORT_COUNT    28000
#define PORT_TRIES    64
#define NAP           ((int64_t)500000) /* while setting up */

/* Nanoseconds after close() for: the last frame, the disconnection. */
#define FAREWELL_PATIENCE ((int64_t)500000000)
#define PATIENCE          ((int64_t)1000000000)

struct offer {
    uint64_t qualifier;
    uint8_t address[sizeof(DAT_SOCK_ADDR6)];
};

struct greeting { /* private data of the connection request */
    uint8_t magic[8], token[HD_ID_LENGTH];
};

static const uint8_t magic[8] = "howdah2";

/* ---- what an endpoint is made of ---- */

static uint32_t power_of_two(uint32_t n)
{
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static uint32_t smaller(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* Sizes within what the adapter can do and what the peer takes; the peer's word never makes us take more memory than
 * our own limits do. */
static int plan(struct udapl_ep *ep)
{
    const struct udapl_device *device = ep->device;
    const struct hd_limits *mine = &ep->params.mine, *peers = &ep->params.peers;
    ep->base.frame_rx = mine->frame_max;
    ep->base.frame_tx = smaller(mine->frame_max, peers->frame_max);
    ep->slot_size = hd_align(udapl_room(ep->base.frame_rx), HD_CACHE_LINE);
    ep->tx_slot_size = hd_align(udapl_room(ep->base.frame_tx), HD_CACHE_LINE);
    ep->rx_slots = mine->credits + CREDIT_SLOTS;
    ep->tx_slots = smaller(mine->credits, peers->credits) + CREDIT_SLOTS;
    ep->framing.kept_max = udapl_kept_max(mine->credits);
    ep->rma_max = TRANSFERS_MAX;
    ep->reads_max = smaller(TRANSFERS_MAX, device->reads_out > 0 ? (uint64_t)device->reads_out : 0);
    uint64_t requests = ep->tx_slots + ep->rma_max, events = requests + ep->rx_slots;
    if (requests > (uint64_t)device->requests_max || ep->rx_slots > (uint64_t)device->receives_max ||
        events > (uint64_t)device->events_max)
        return hd_error(-EINVAL, "uDAPL %s cannot have %u frames under way on a link; set %s lower", device->provider,
                        mine->credits, HD_KEY_PREFIX "link.credits");
    if (ep->slot_size > device->message_max || ep->tx_slot_size > device->message_max)
        return hd_error(-EINVAL, "uDAPL %s sends at most %llu bytes at a time; set %s lower", device->provider,
                        (unsigned long long)device->message_max, HD_KEY_PREFIX "eager.threshold");
    return 0;
}

size_t udapl_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers)
{
    (void)device;
    uint32_t credits = smaller(mine->credits, peers->credits), frame_tx = smaller(mine->frame_max, peers->frame_max);
    return (mine->credits + CREDIT_SLOTS) * hd_align(udapl_room(mine->frame_max), HD_CACHE_LINE) +
           (credits + CREDIT_SLOTS) * hd_align(udapl_room(frame_tx), HD_CACHE_LINE);
}

static int take_memory(struct udapl_ep *ep)
{
    ep->request_room = power_of_two(ep->tx_slots + ep->rma_max);
    ep->requests = calloc(ep->request_room, sizeof(*ep->requests));
    ep->arrival_room = power_of_two(ep->rx_slots);
    ep->arrivals = calloc(ep->arrival_room, sizeof(*ep->arrivals));
    ep->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ep->memory_size = ep->rx_slots * ep->slot_size + ep->tx_slots * ep->tx_slot_size;
    void *memory = mmap(NULL, ep->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        ep->memory = memory;
        hd_count(ep->base.device->stats, memory_receive, ep->memory_size);
    }
    if (!ep->requests || !ep->arrivals || !ep->memory)
        return hd_error(-ENOMEM, "no memory for the frames of a link (%zu bytes)", ep->memory_size);
    if (ep->event_fd < 0)
        return hd_error(-errno, "no event descriptor: %s", strerror(errno));
    DAT_RMR_CONTEXT unused; /* no peer gets at these */
    return udapl_register(ep->device, ep->memory, ep->memory_size, UDAPL_LOCAL, &ep->lmr, &ep->key, &unused);
}

/* Under *mutex. */
static int create_events(struct udapl_ep *ep)
{
    const char *name = ep->device->provider, *advice = "other programs may use up the adapter; close some links";
    DAT_IA_HANDLE ia = ep->device->ia;
    DAT_OS_WAIT_PROXY_AGENT agent = {.instance_data = ep, .proxy_agent_func = udapl_ring};
    DAT_RETURN ret = udapl.cno_create(ia, agent, &ep->cno);
    if (ret != DAT_SUCCESS)
        return udapl_error(-ENODEV, name, "dat_cno_create", ret, "the provider must support notification by agent");
    ret = udapl.evd_create(ia, CONNECT_QUEUE, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &ep->connect_evd);
    if (ret == DAT_SUCCESS)
        ret =
            udapl.evd_create(ia, (DAT_COUNT)(ep->rx_slots + ep->request_room), ep->cno, DAT_EVD_DTO_FLAG, &ep->dto_evd);
    if (ret == DAT_SUCCESS)
        ret = udapl.evd_disable(ep->dto_evd);
    return ret == DAT_SUCCESS ? 0 : udapl_error(-ENODEV, name, "dat_evd_create", ret, advice);
}

/* Under *mutex. */
static int create_endpoint(struct udapl_ep *ep)
{
    const struct udapl_device *device = ep->device;
    DAT_EP_ATTR attr = {
        .service_type = DAT_SERVICE_TYPE_RC,
        .max_message_size = (DAT_SEG_LENGTH)(ep->slot_size > ep->tx_slot_size ? ep->slot_size : ep->tx_slot_size),
        .max_rdma_size = device->rdma_max,
        .qos = DAT_QOS_BEST_EFFORT,
        .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
        .request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
        .max_recv_dtos = (DAT_COUNT)ep->rx_slots,
        .max_request_dtos = (DAT_COUNT)(ep->tx_slots + ep->rma_max),
        .max_recv_iov = 1,
        .max_request_iov = 1,
        .max_rdma_read_in = device->reads_in < TRANSFERS_MAX ? device->reads_in : TRANSFERS_MAX,
        .max_rdma_read_out = (DAT_COUNT)ep->reads_max,
        .max_rdma_read_iov = 1,
        .max_rdma_write_iov = 1,
    };
    DAT_RETURN ret = udapl.ep_create(device->ia, device->pz, ep->dto_evd, ep->dto_evd, ep->connect_evd, &attr, &ep->ep);
    if (ret != DAT_SUCCESS)
        return udapl_error(-ENODEV, device->provider, "dat_ep_create", ret,
                           "other programs may use up the adapter; close some links or lower link.credits");
    for (uint32_t slot = 0; slot < ep->rx_slots && ret == DAT_SUCCESS; slot++)
        ret = udapl_post_slot(ep, slot);
    return ret == DAT_SUCCESS ? 0
                              : udapl_error(-ENODEV, device->provider, "dat_ep_post_recv", ret, "lower link.credits");
}

int udapl_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **out)
{
    struct udapl_ep *ep = calloc(1, sizeof(*ep));
    if (!ep)
        return hd_error(-ENOMEM, "out of memory");
    ep->base = (struct hd_ep){.ops = device->ops, .device = device, .sink = params->sink};
    ep->device = device->data;
    ep->params = *params;
    ep->event_fd = -1;
    hd_list_init(&ep->in_device);
    ep->mutex = ep->device->serial ? &ep->device->mutex : &ep->own_mutex;
    int err = plan(ep);
    if (!err)
        err = take_memory(ep);
    if (!err) {
        hd_lock(ep->mutex);
        err = create_events(ep);
        if (!err)
            err = create_endpoint(ep);
        hd_unlock(ep->mutex);
    }
    if (err) {
        udapl_destroy(&ep->base);
        return err;
    }
    ep->base.caps = HD_CAP_ENDS | HD_CAP_PUT | (ep->reads_max ? HD_CAP_GET : 0);
    pthread_mutex_lock(&ep->device->eps_lock);
    hd_list_add_tail(&ep->device->eps, &ep->in_device);
    pthread_mutex_unlock(&ep->device->eps_lock);
    *out = &ep->base;
    return 0;
}

/* ---- events of the connection ---- */

enum udapl_state udapl_look(struct udapl_ep *ep)
{
    DAT_EVENT event;
    hd_lock(ep->mutex);
    while (ep->ep && udapl.evd_dequeue(ep->connect_evd, &event) == DAT_SUCCESS) {
        if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
            atomic_store(&ep->state, UDAPL_UP);
        } else if (atomic_load(&ep->state) != UDAPL_OVER) {
            if (!ep->why[0]) /* a failed transfer knows better */
                snprintf(ep->why, sizeof(ep->why), "%s", udapl_event_name(event.event_number));
            atomic_store(&ep->state, UDAPL_OVER);
        }
    }
    hd_unlock(ep->mutex);
    return (enum udapl_state)atomic_load(&ep->state);
}

/* Whether the peer is gone: it says nothing on the guard while we connect, so there is either silence or the end. */
static bool alone(const struct udapl_ep *ep)
{
    char byte;
    ssize_t n = recv(ep->params.guard_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static int nap(const struct udapl_ep *ep, int64_t deadline, const char *what)
{
    if (hd_expired(deadline))
        return hd_error(-ETIMEDOUT, "%s in time", what);
    if (alone(ep))
        return hd_error(-ECONNRESET, "%s: the peer is gone", what);
    struct timespec pause = {.tv_nsec = NAP};
    nanosleep(&pause, NULL);
    return 0;
}

/* ---- client ---- */

static int listen_somewhere(struct udapl_ep *ep, uint64_t *qualifier)
{
    DAT_RETURN ret = DAT_SUCCESS;
    for (int i = 0; i < PORT_TRIES; i++) {
        uint16_t noise;
        int err = hd_random_bytes(&noise, sizeof(noise));
        if (err)
            return err;
        *qualifier = PORT_MIN + noise % PORT_COUNT;
        ret = udapl.psp_create(ep->device->ia, *qualifier, ep->request_evd, DAT_PSP_CONSUMER_FLAG, &ep->psp);
        if (ret == DAT_SUCCESS)
            return 0;
        ep->psp = DAT_HANDLE_NULL;
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
            break;
    }
    return udapl_error(-EADDRINUSE, ep->device->provider, "dat_psp_create", ret,
                       "check that the adapter's address is configured on this host");
}

int udapl_offer(struct hd_ep *base, uint8_t *address, uint16_t *length)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    struct offer offer;
    memset(&offer, 0, sizeof(offer));
    hd_lock(ep->mutex);
    DAT_RETURN ret =
        udapl.evd_create(ep->device->ia, CONNECT_QUEUE, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &ep->request_evd);
    int err = ret == DAT_SUCCESS ? listen_somewhere(ep, &offer.qualifier)
                                 : udapl_error(-ENODEV, ep->device->provider, "dat_evd_create", ret,
                                               "other programs may use up the adapter; close some links");
    hd_unlock(ep->mutex);
    if (err)
        return err;
    memcpy(offer.address, &ep->device->address, udapl_address_length(&ep->device->address));
    memcpy(address, &offer, sizeof(offer));
    *length = sizeof(offer);
    return 0;
}

static void greet(const struct udapl_ep *ep, struct greeting *greeting)
{
    memcpy(greeting->magic, magic, sizeof(magic));
    memcpy(greeting->token, ep->params.token, HD_ID_LENGTH);
}

/* Whether the request knows the token. The provider may pad private data, so there may be more. */
static bool knows_token(struct udapl_ep *ep, DAT_CR_HANDLE request)
{
    struct greeting expected;
    DAT_CR_PARAM param;
    memset(&param, 0, sizeof(param));
    greet(ep, &expected);
    if (udapl.cr_query(request, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS || !param.private_data ||
        param.private_data_size < (DAT_COUNT)sizeof(expected))
        return false;
    unsigned difference = 0;
    for (size_t i = 0; i < sizeof(expected); i++)
        difference |= ((const uint8_t *)&expected)[i] ^ ((const uint8_t *)param.private_data)[i];
    return difference == 0;
}

/* Accepts a request that knows the token; others are sent away. @return 1 accepted, 0 not yet, or an error. */
static int accept_one(struct udapl_ep *ep)
{
    DAT_EVENT event;
    int result = 0;
    hd_lock(ep->mutex);
    if (udapl.evd_dequeue(ep->request_evd, &event) == DAT_SUCCESS &&
        event.event_number == DAT_CONNECTION_REQUEST_EVENT) {
        DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
        bool known = knows_token(ep, request);
        DAT_RETURN ret = known ? udapl.cr_accept(request, ep->ep, 0, NULL) : udapl.cr_reject(request, 0, NULL);
        result = known;
        if (known && ret != DAT_SUCCESS)
            result = udapl_error(-ECONNRESET, ep->device->provider, "dat_cr_accept", ret, "try again");
    }
    hd_unlock(ep->mutex);
    return result;
}

static void stop_listening(struct udapl_ep *ep)
{
    if (ep->psp)
        udapl.psp_free(ep->psp);
    ep->psp = DAT_HANDLE_NULL;
    if (ep->request_evd)
        udapl.evd_free(ep->request_evd);
    ep->request_evd = DAT_HANDLE_NULL;
}

int udapl_finish(struct hd_ep *base, int64_t deadline)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    int accepted;
    while ((accepted = accept_one(ep)) == 0) {
        int err = nap(ep, deadline, "uDAPL: the peer's connection did not come");
        if (err)
            return err;
    }
    if (accepted < 0)
        return accepted;
    ep->was_connecting = true;
    for (;;) {
        enum udapl_state state = udapl_look(ep);
        if (state == UDAPL_OVER)
            return hd_error(-ECONNRESET, "uDAPL %s: no connection: %s", ep->device->provider, ep->why);
        if (state == UDAPL_UP)
            break;
        int err = nap(ep, deadline, "uDAPL: the accepted connection did not come up");
        if (err)
            return err;
    }
    hd_lock(ep->mutex);
    stop_listening(ep);
    hd_unlock(ep->mutex);
    return 0;
}

/* ---- server ---- */

/* Whether somebody can be at that address at all. */
static bool plausible(const struct udapl_device *device, const DAT_SOCK_ADDR6 *address)
{
    if (address->sin6_family != device->address.sin6_family)
        return false;
    if (address->sin6_family != AF_INET)
        return true; /* some providers put numbers of their own into it */
    uint32_t ip = ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
    return ip >> 24 != 0 && ip >> 24 != 127 && ip >> 28 < 14;
}

int udapl_answer(struct hd_ep *base, const uint8_t *bytes, size_t length, int64_t deadline)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    struct offer offer;
    DAT_SOCK_ADDR6 address;
    struct greeting greeting;
    if (length != sizeof(offer))
        return hd_error(-EPROTO, "the peer's uDAPL address is malformed");
    memcpy(&offer, bytes, sizeof(offer));
    memcpy(&address, offer.address, sizeof(address));
    if (!plausible(ep->device, &address) || offer.qualifier == 0 || offer.qualifier > UINT16_MAX)
        return hd_error(-EPROTO, "the peer's uDAPL address is not one to connect to");
    int64_t left = deadline == HD_FOREVER ? INT32_MAX : (deadline - hd_now()) / 1000;
    if (left <= 0)
        return hd_error(-ETIMEDOUT, "no time left to connect by uDAPL");
    greet(ep, &greeting);
    ep->was_connecting = true;
    atomic_store(&ep->state, UDAPL_CONNECTING);
    hd_lock(ep->mutex);
    DAT_RETURN ret = udapl.ep_connect(ep->ep, (DAT_IA_ADDRESS_PTR)&address, offer.qualifier,
                                      (DAT_TIMEOUT)(left < INT32_MAX ? left : INT32_MAX), sizeof(greeting), &greeting,
                                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    hd_unlock(ep->mutex);
    return ret == DAT_SUCCESS ? 0
                              : udapl_error(-ECONNREFUSED, ep->device->provider, "dat_ep_connect", ret,
                                            "check that both hosts' adapters are on one network");
}

/* ---- the end ---- */

/* Under *mutex. Once this is done the adapter does not touch any memory for this connection any more. */
static void free_endpoint(struct udapl_ep *ep)
{
    if (ep->ep && udapl.ep_free(ep->ep) == DAT_SUCCESS)
        ep->ep = DAT_HANDLE_NULL;
}

/* The graceful form does not block here, and ends reads and writes at once all the same; the abrupt one may wait for a
 * peer that is not there any more, and comes with dat_ep_free(). */
static void disconnect(struct udapl_ep *ep)
{
    if (ep->disconnecting || !ep->was_connecting)
        return;
    ep->disconnecting = true;
    hd_lock(ep->mutex);
    udapl.ep_disconnect(ep->ep, DAT_CLOSE_GRACEFUL_FLAG);
    hd_unlock(ep->mutex);
}

/* A last frame tells the peer, and its completion says that what was sent before it has arrived. If reads or writes of
 * ours are under way, the disconnection ends them; quiet() says when. */
void udapl_close(struct hd_ep *base)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    if (ep->closed)
        return;
    ep->closed = true;
    ep->closed_at = hd_now();
    hd_lock(ep->mutex);
    bool said = atomic_load(&ep->state) == UDAPL_UP && !atomic_load(&ep->broken) && ep->rma == 0 &&
                udapl_post_farewell(ep) == DAT_SUCCESS;
    hd_unlock(ep->mutex);
    if (!said)
        disconnect(ep);
}

bool udapl_quiet(struct hd_ep *base)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    int64_t since = hd_now() - ep->closed_at;
    if (ep->ep && !ep->disconnecting) {
        udapl_drain(ep);
        if (ep->request_tail <= ep->farewell && !atomic_load(&ep->broken) && since < FAREWELL_PATIENCE)
            return false;
        disconnect(ep);
    }
    if (ep->ep && udapl_look(ep) != UDAPL_OVER && since < PATIENCE)
        return false;
    hd_lock(ep->mutex);
    free_endpoint(ep);
    hd_unlock(ep->mutex);
    return !ep->ep;
}

void udapl_destroy(struct hd_ep *base)
{
    struct udapl_ep *ep = udapl_ep_of(base);
    pthread_mutex_lock(&ep->device->eps_lock);
    hd_list_remove(&ep->in_device);
    pthread_mutex_unlock(&ep->device->eps_lock);
    hd_lock(ep->mutex);
    stop_listening(ep);
    free_endpoint(ep);
    bool leaks = ep->ep != DAT_HANDLE_NULL; /* then the adapter may still write into the slots */
    if (!leaks && ep->dto_evd)
        udapl.evd_free(ep->dto_evd);
    if (!leaks && ep->connect_evd)
        udapl.evd_free(ep->connect_evd);
    if (!leaks && ep->cno)
        udapl.cno_free(ep->cno);
    hd_unlock(ep->mutex);
    if (leaks)
        return;
    if (ep->lmr)
        udapl_deregister(ep->device, ep->lmr);
    if (ep->memory) {
        munmap(ep->memory, ep->memory_size);
        hd_count(ep->base.device->stats, memory_receive, -ep->memory_size);
    }
    if (ep->event_fd >= 0)
        close(ep->event_fd);
    free(ep->requests);
    free(ep->arrivals);
    free(ep);
}
