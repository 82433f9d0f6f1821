/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_UDAPL_H
#define HD_UDAPL_H

/*
 * The uDAPL transport: DAT 2.0 through libdat2, which is loaded at run time.
 *
 *   udapl_api.c      the library, and its errors in words
 *   udapl_device.c   one interface adapter: opening it, registering slabs, who can reach whom
 *   udapl_async.c    what the adapter reports of itself
 *   udapl_connect.c  from two endpoints to a connection, and its end
 *   udapl_ep.c       frames, reads and writes; polling and sleeping
 *
 * Locks: every DAT call on an endpoint is made under *ep->mutex. That is the endpoint's own mutex, or the device's for
 * all of them if dat.conf calls the provider nonthreadsafe. No upcall is made and no buffer allocated under it.
 */

#include <dat2/udat.h>
#include <netinet/in.h>

#include "base/lock.h"
#include "transport/transport.h"
#include "transport/udapl/frame.h"

/* ---- the library ---- */

#define UDAPL_CALLS(X)                                                                                                 \
    X(registry_list_providers)                                                                                         \
    X(strerror)                                                                                                        \
    X(ia_openv)                                                                                                        \
    X(ia_query)                                                                                                        \
    X(ia_close)                                                                                                        \
    X(pz_create)                                                                                                       \
    X(pz_free)                                                                                                         \
    X(lmr_create)                                                                                                      \
    X(lmr_free)                                                                                                        \
    X(cno_create)                                                                                                      \
    X(cno_modify_agent)                                                                                                \
    X(cno_wait)                                                                                                        \
    X(cno_free)                                                                                                        \
    X(evd_create)                                                                                                      \
    X(evd_dequeue)                                                                                                     \
    X(evd_enable)                                                                                                      \
    X(evd_modify_cno)                                                                                                  \
    X(evd_disable)                                                                                                     \
    X(evd_free)                                                                                                        \
    X(ep_create)                                                                                                       \
    X(ep_connect)                                                                                                      \
    X(ep_disconnect)                                                                                                   \
    X(ep_post_send)                                                                                                    \
    X(ep_post_recv)                                                                                                    \
    X(ep_post_rdma_read)                                                                                               \
    X(ep_post_rdma_write)                                                                                              \
    X(ep_free)                                                                                                         \
    X(psp_create)                                                                                                      \
    X(psp_free)                                                                                                        \
    X(cr_query)                                                                                                        \
    X(cr_accept)                                                                                                       \
    X(cr_reject)

/* The functions of libdat2, without the dat_ of their names. */
struct udapl_api {
#define UDAPL_MEMBER(name) __typeof__(&dat_##name) name;
    UDAPL_CALLS(UDAPL_MEMBER)
#undef UDAPL_MEMBER
};

extern struct udapl_api udapl;

/* Loads libdat2, once; it stays. NULL, or why not in words. Any thread. */
const char *udapl_load(void);

#define UDAPL_PROVIDERS_MAX 64
#define UDAPL_FILE_ENV      "DAT_OVERRIDE"
#define UDAPL_FILE_DEFAULT  "/etc/dat.conf"

/* The configuration that libdat2 reads: $DAT_OVERRIDE or /etc/dat.conf. */
const char *udapl_file(void);

/* Fills `infos` (UDAPL_PROVIDERS_MAX of them) with what dat.conf lists. @return how many, or -EIO. */
int udapl_providers(DAT_PROVIDER_INFO *infos);

/* Keeps the library of the provider that this event dispatcher is of in this process, for good, and notes the process
 * as its user. @return false if it cannot be kept. Any thread. */
bool udapl_keep(DAT_EVD_HANDLE evd);

/* Whether this process was forked from a user of a provider. Any thread. */
bool udapl_inherited(void);

/* Sets hd_last_error() to provider, call and both parts of the DAT error, and what to do. @return `error`. */
int udapl_error(int error, const char *provider, const char *call, DAT_RETURN ret, const char *advice)
    __attribute__((cold));

/* Names of what connections and transfers end with. */
const char *udapl_event_name(DAT_EVENT_NUMBER number);
const char *udapl_status_name(DAT_DTO_COMPLETION_STATUS status);

/* ---- device ---- */

struct udapl_device {
    char provider[DAT_NAME_MAX_LENGTH];
    char adapter[64];
    bool complained; /* that memory could not be registered; under the arena's lock */
    bool serial;     /* the provider is not thread-safe: one call at a time */
    struct hd_lock mutex;
    DAT_IA_HANDLE ia;
    DAT_EVD_HANDLE async_evd;
    DAT_CNO_HANDLE async_cno;
    int bell_fd; /* rung when async_evd has something */
    bool watched;
    _Atomic bool stopping;
    pthread_t watcher;
    pthread_mutex_t eps_lock; /* taken before the mutex of an endpoint */
    struct hd_list eps;
    DAT_PZ_HANDLE pz;
    DAT_COUNT requests_max, receives_max, events_max, reads_in, reads_out;
    DAT_SEG_LENGTH message_max, rdma_max;
    DAT_SOCK_ADDR6 address; /* the provider's own form if the family is not AF_INET */
};

#define UDAPL_LOCAL (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/* Registers memory. Takes the device's mutex. */
int udapl_register(struct udapl_device *device, void *base, size_t size, DAT_MEM_PRIV_FLAGS access, DAT_LMR_HANDLE *lmr,
                   DAT_LMR_CONTEXT *local_key, DAT_RMR_CONTEXT *remote_key);
void udapl_deregister(struct udapl_device *device, DAT_LMR_HANDLE lmr);

int udapl_device_open(struct hd_device *device);
void udapl_device_close(struct hd_device *device);
const char *udapl_hardware(struct hd_device *device);
int udapl_slab_add(struct hd_device *device, struct hd_slab *slab);
void udapl_slab_remove(struct hd_device *device, struct hd_slab *slab);
size_t udapl_describe(struct hd_device *device, uint8_t *blob);
const char *udapl_reachable(struct hd_device *device, const uint8_t *blob, size_t length);
/* Bytes of an address that say where it is. */
size_t udapl_address_length(const DAT_SOCK_ADDR6 *address);

/* Ends links when the adapter reports that it failed. Once `data` is set up; unwatch before the adapter is closed. */
int udapl_watch(struct hd_device *device);
void udapl_unwatch(struct hd_device *device);

/* ---- endpoint ---- */

enum udapl_state {
    UDAPL_NEW,
    UDAPL_CONNECTING,
    UDAPL_UP,
    UDAPL_OVER /* disconnected, refused or failed */
};

enum udapl_kind { UDAPL_SEND, UDAPL_GET, UDAPL_PUT };

/* What was posted to the request queue; completes in order. Successful sends say so only now and then. */
struct udapl_request {
    uint64_t cookie; /* of a get or put */
    enum udapl_kind kind;
};

struct udapl_arrival {
    uint32_t slot, length;
};

enum { UDAPL_WAKE_THREAD = 1, UDAPL_WAKE_EVENT = 2 };

struct udapl_ep {
    struct hd_ep base;
    struct udapl_device *device;
    struct hd_list in_device;
    struct hd_ep_params params;
    struct hd_lock own_mutex, *mutex;

    DAT_EP_HANDLE ep;
    DAT_EVD_HANDLE dto_evd, connect_evd, request_evd; /* request_evd: of the service point */
    DAT_PSP_HANDLE psp;
    DAT_CNO_HANDLE cno;
    _Atomic int state;   /* enum udapl_state */
    bool was_connecting; /* there is something to disconnect */
    bool closed;         /* nothing of the engine's is posted any more */
    bool disconnecting;
    int64_t closed_at;
    uint64_t farewell; /* request number of the last frame; once it is done the peer has everything */
    char why[192];     /* the connection ended */

    /* frames: receive slots, then send slots, in one registration of their own */
    char *memory;
    size_t memory_size, slot_size, tx_slot_size;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT key;
    uint32_t rx_slots, tx_slots;
    uint64_t tx_head, tx_tail; /* slots in use: so many were taken, so many given back, in turn */
    uint32_t tx_next;          /* the slot that is taken next */
    uint32_t unsignalled;
    struct udapl_framing framing;

    /* requests under way: [tail, head) modulo request_room, a power of two */
    struct udapl_request *requests;
    uint32_t request_room;
    uint64_t request_head, request_tail;
    uint32_t reads, reads_max, rma, rma_max;

    /* arrived, not yet taken: [tail, head) modulo arrival_room, a power of two */
    struct udapl_arrival *arrivals;
    uint32_t arrival_room;
    uint64_t arrival_head, arrival_tail;
    _Atomic uint32_t waiting; /* their number: pending() looks without the lock */
    uint32_t repost;          /* 1 + slot of the last one taken, to be posted when there is time; under *mutex */
    DAT_RETURN repost_error;

    /* one event that pending() found; under *mutex */
    DAT_EVENT stash;
    atomic_bool stashed;
    _Atomic int broken; /* error that progress() returns once everything that arrived is taken */

    /* sleeping */
    _Atomic uint32_t wanted; /* UDAPL_WAKE_*: whom the provider's thread shall wake */
    _Atomic uint32_t word;   /* futex */
    _Atomic uint32_t rung;   /* the provider's notification was used up */
    bool enabled;            /* it was asked for; under *mutex */
    int event_fd;
};

static inline struct udapl_ep *udapl_ep_of(struct hd_ep *ep)
{
    return (struct udapl_ep *)ep;
}

/* Sets up what an endpoint needs before it connects. */
size_t udapl_cost(struct hd_device *device, const struct hd_limits *mine, const struct hd_limits *peers);
int udapl_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **ep);
int udapl_offer(struct hd_ep *ep, uint8_t *address, uint16_t *length);
int udapl_answer(struct hd_ep *ep, const uint8_t *address, size_t length, int64_t deadline);
int udapl_finish(struct hd_ep *ep, int64_t deadline);
void udapl_close(struct hd_ep *ep);
bool udapl_quiet(struct hd_ep *ep);
void udapl_destroy(struct hd_ep *ep);

/* Takes events of the connection. @return the state. */
enum udapl_state udapl_look(struct udapl_ep *ep);

/* Ends the link from outside: whoever serves or polls it learns of it. Any thread. */
void udapl_break(struct udapl_ep *ep, const char *why);

/* Takes events without delivering anything, once the link is closed. */
void udapl_drain(struct udapl_ep *ep);
/* Posts the last frame, an empty message. Under *mutex. */
DAT_RETURN udapl_post_farewell(struct udapl_ep *ep);

/* Posts the receive of a slot. Under *mutex. */
DAT_RETURN udapl_post_slot(struct udapl_ep *ep, uint32_t slot);

int udapl_locate(struct hd_ep *ep, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address);
int udapl_send(struct hd_ep *ep, const struct hd_frame *frame, const void *payload, hd_buf *owner);
int udapl_get(struct hd_ep *ep, const struct hd_rma *rma);
int udapl_put(struct hd_ep *ep, const struct hd_rma *rma);
int udapl_progress(struct hd_ep *ep, int budget);
bool udapl_pending(struct hd_ep *ep);
void udapl_wait(struct hd_ep *ep, const _Atomic uint32_t *word, uint32_t seen, int64_t timeout);
void udapl_wake(struct hd_ep *ep);
bool udapl_woken(struct hd_ep *ep);
bool udapl_arm(struct hd_ep *ep);
void udapl_disarm(struct hd_ep *ep);
int udapl_event_fd(struct hd_ep *ep);
/* The provider's notification arrives here, on a thread of its own. */
void udapl_ring(DAT_PVOID ep, DAT_EVD_HANDLE evd);

#endif
