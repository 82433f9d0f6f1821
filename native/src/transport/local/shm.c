/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The transport between processes of one host. Frames go through rings in a memfd; memory of the peer is read and
 * written through mappings of its slabs, so that a large transfer is one copy.
 *
 * The two ends meet on a Unix socket in the abstract name space, which also tells apart containers with network name
 * spaces of their own. The socket stays: it brings descriptors of slabs, and its end says that the peer's mappings are
 * no longer in use.
 *
 * Trust: slabs are mapped only between processes of the same user in the same user name space, who could read each
 * other's memory anyway. To all others everything is copied through the rings. Each end asks the kernel, and tells the
 * other what it found: memory is shared if both agree. What the peer sends is sealed against shrinking, or it is
 * refused: a mapping that shrinks would kill us.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/first_line.h"
#include "transport/local/ring.h"

#define NAME_PREFIX "howdah-"
#define NAME_LENGTH (sizeof(NAME_PREFIX) - 1 + 32)
#define MAPS_MAX    4096
#define BACKLOG     64 /* connections in front of the client's socket */
#define STRANGERS   64 /* of those, taken in and silent so far: one more sends the oldest away */
#define CAPS        (HD_CAP_GET | HD_CAP_PUT | HD_CAP_COPY)
#define OWN_MAX     32 /* mappings of slabs that hold one large buffer each: those come and go */

struct host { /* what identifies a host to another process on it */
    char boot[40];
    uint64_t network;
};

struct hello { /* server to client, with three descriptors: segment, server's event, client's event */
    uint8_t token[HD_ID_LENGTH];
    uint64_t segment_size;
};

struct word {      /* server to client in its answer, client to server in its confirmation */
    uint32_t caps; /* HD_CAP_*: what this end allows */
};

struct announcement { /* a slab; its descriptor comes along */
    uint64_t size;
    uint32_t id, own;
};

struct peer_map {
    uint32_t id;
    bool own;
    int users;
    char *base;
    size_t size;
};

struct shm_ep {
    struct hd_ring_ep ring;
    struct hd_ep_params params;
    int listener, socket;
    int strangers[STRANGERS]; /* connections to the listener that have not said who they are; the oldest first */
    unsigned stranger_count;
    unsigned peers_caps; /* what the peer said that it allows */
    void *segment;
    size_t segment_size;
    bool closed;
    uint8_t *announced; /* bit per slab id of ours */
    size_t announced_bytes;
    pthread_mutex_t maps_lock;
    struct peer_map *maps;
    unsigned map_count;
};

/* ---- who can meet whom ---- */

static int read_host(struct host *host)
{
    memset(host, 0, sizeof(*host));
    struct stat st;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, host->boot, sizeof(host->boot) - 1);
    if (fd >= 0)
        close(fd);
    if (n < 36 || stat("/proc/self/ns/net", &st))
        return -errno;
    host->boot[36] = '\0';
    host->network = st.st_ino;
    return 0;
}

static const char *shm_probe(void)
{
    struct host host;
    if (read_host(&host))
        return "/proc does not tell host and network name space";
    int fd = memfd_create("howdah-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return "memfd_create does not work here";
    close(fd);
    return NULL;
}

static size_t shm_describe(struct hd_device *device, uint8_t *blob)
{
    (void)device;
    struct host host;
    read_host(&host);
    memcpy(blob, &host, sizeof(host));
    return sizeof(host);
}

static const char *shm_reachable(struct hd_device *device, const uint8_t *blob, size_t length)
{
    (void)device;
    struct host mine, peers;
    if (length < sizeof(peers) || read_host(&mine))
        return "the peer's host is unknown";
    memcpy(&peers, blob, sizeof(peers));
    if (memcmp(mine.boot, peers.boot, sizeof(mine.boot)) != 0)
        return "the peer is on another host";
    return mine.network == peers.network ? NULL : "the peer is in another network name space";
}

/* ---- descriptors over the socket ---- */

static int send_fds(int socket, const void *bytes, size_t length, const int *fds, size_t count)
{
    union {
        char space[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr align;
    } control;
    memset(&control, 0, sizeof(control));
    struct iovec iov = {(void *)bytes, length};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    ssize_t n = sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n == (ssize_t)length ? 0 : n < 0 ? -errno : -EPROTO;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Exactly `length` bytes and `count` descriptors. @return 0, -EAGAIN, -ECONNRESET at the end, -EPROTO. */
static int receive_fds(int socket, void *bytes, size_t length, int *fds, size_t count)
{
    union {
        char space[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {bytes, length};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof(control.space)};
    ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECONNRESET;
    int got[8];
    size_t have = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(got + have, CMSG_DATA(c), here * sizeof(int)); /* at most 8 in all: so much room has `control` */
        have += here;
    }
    if (n == 0 && have == 0)
        return -ECONNRESET;
    if ((size_t)n != length || have != count || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        close_all(got, have);
        return -EPROTO;
    }
    memcpy(fds, got, count * sizeof(int));
    return 0;
}

/* Maps what the peer sent, if it is memory of that size that cannot shrink. */
static void *map_sealed(int fd, size_t size)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || (uint64_t)st.st_size < size || size == 0)
        return NULL;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

static bool is_eventfd(int fd)
{
    char path[40], target[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = '\0';
    return strncmp(target, "anon_inode:[eventfd]", 20) == 0;
}

/* ---- meeting ---- */

static int shm_create(struct hd_device *device, const struct hd_ep_params *params, struct hd_ep **out)
{
    struct shm_ep *ep = calloc(1, sizeof(*ep));
    if (!ep)
        return hd_error(-ENOMEM, "out of memory");
    ep->ring.base = (struct hd_ep){.ops = device->ops,
                                   .device = device,
                                   .sink = params->sink,
                                   .frame_tx = params->peers.frame_max,
                                   .frame_rx = params->mine.frame_max};
    ep->ring.shared = true;
    ep->ring.event_fd = ep->ring.peer_event_fd = ep->listener = ep->socket = -1;
    ep->params = *params;
    ep->peers_caps = CAPS; /* an older peer does not say, and decides as we do */
    pthread_mutex_init(&ep->maps_lock, NULL);
    *out = &ep->ring.base;
    return 0;
}

static socklen_t abstract_address(struct sockaddr_un *un, const char *name)
{
    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path + 1, name, NAME_LENGTH);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + NAME_LENGTH);
}

static int shm_offer(struct hd_ep *base, uint8_t *address, uint16_t *length)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    uint8_t noise[16];
    char name[NAME_LENGTH + 1] = NAME_PREFIX;
    int err = hd_random_bytes(noise, sizeof(noise));
    if (err)
        return err;
    for (int i = 0; i < 16; i++)
        snprintf(name + sizeof(NAME_PREFIX) - 1 + 2 * i, 3, "%02x", noise[i]);
    struct sockaddr_un un;
    socklen_t size = abstract_address(&un, name);
    ep->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ep->listener < 0 || bind(ep->listener, (struct sockaddr *)&un, size) || listen(ep->listener, BACKLOG))
        return hd_error(-errno, "no Unix socket to meet the peer on: %s", strerror(errno));
    memcpy(address, name, NAME_LENGTH);
    *length = NAME_LENGTH;
    return 0;
}

/* What the kernel shows for every user that our user name space does not know. */
static uid_t overflow_uid(void)
{
    char line[32];
    hd_first_line(line, sizeof(line), "/proc/sys/kernel/overflowuid");
    return line[0] ? (uid_t)strtoul(line, NULL, 10) : 65534;
}

/* Also false if it cannot be told: the process is in a PID name space that ours does not see, or gone. */
static bool same_user_namespace(pid_t pid)
{
    char path[48];
    struct stat mine, peers;
    if (stat("/proc/self/ns/user", &mine))
        return errno == ENOENT; /* a kernel without user name spaces */
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    return pid > 0 && stat(path, &peers) == 0 && mine.st_dev == peers.st_dev && mine.st_ino == peers.st_ino;
}

/* Whether the process at the other end of the socket may map our slabs. Its user's number was translated into our user
 * name space: equal numbers are one user, but for the number of the unknown. */
static bool may_share(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid() &&
           peer.uid != overflow_uid() && same_user_namespace(peer.pid);
}

static bool shm_user(struct hd_ep *base, uid_t *uid)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(((struct shm_ep *)base)->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return false;
    *uid = peer.uid;
    return true;
}

static void decide_caps(struct shm_ep *ep)
{
    ep->ring.base.caps = may_share(ep->socket) ? CAPS & ep->peers_caps : 0;
}

static int say_caps(struct hd_ep *base, uint8_t *bytes, uint16_t *length)
{
    struct word word = {.caps = base->caps};
    memcpy(bytes, &word, sizeof(word));
    *length = sizeof(word);
    return 0;
}

/* All or nothing: a pair of ends of which one reads and the other does not write is no use. */
static int hear_caps(struct hd_ep *base, const uint8_t *bytes, size_t length)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    struct word word;
    if (length < sizeof(word))
        return 0;
    memcpy(&word, bytes, sizeof(word));
    ep->peers_caps = (word.caps & CAPS) == CAPS ? CAPS : 0;
    base->caps &= ep->peers_caps;
    return 0;
}

static int segment_create(struct shm_ep *ep)
{
    ep->segment_size = hd_ring_segment_size(&ep->params.peers, &ep->params.mine);
    int fd = memfd_create("howdah-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return hd_error(-errno, "no memory for a link: %s", strerror(errno));
    if (ftruncate(fd, (off_t)ep->segment_size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
        !(ep->segment = map_sealed(fd, ep->segment_size))) {
        int err = errno ? -errno : -ENOMEM;
        close(fd);
        return hd_error(err, "no memory for a link: %s", strerror(-err));
    }
    return fd;
}

/* Connects to the client and passes it what it needs. */
static int reach(struct shm_ep *ep, const uint8_t *address, int segment)
{
    struct sockaddr_un un;
    socklen_t size = abstract_address(&un, (const char *)address);
    ep->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ep->socket < 0 || connect(ep->socket, (struct sockaddr *)&un, size))
        return hd_error(-errno, "cannot reach the peer's Unix socket: %s", strerror(errno));
    struct hello hello = {.segment_size = ep->segment_size};
    memcpy(hello.token, ep->params.token, HD_ID_LENGTH);
    int fds[3] = {segment, ep->ring.event_fd, ep->ring.peer_event_fd};
    int err = send_fds(ep->socket, &hello, sizeof(hello), fds, 3);
    return err ? hd_error(err, "cannot pass memory to the peer: %s", strerror(-err)) : 0;
}

/* Any process of this host can find the client's socket and fill the queue in front of it. The client empties it while
 * it waits for us, but it may take us for one of those if it looks just before we have said who we are. */
static int reach_through_strangers(struct shm_ep *ep, const uint8_t *address, int segment, int64_t deadline)
{
    struct timespec pause = {.tv_nsec = 1000000};
    int err = reach(ep, address, segment);
    while ((err == -EAGAIN || err == -EPIPE || err == -ECONNRESET) && !hd_expired(deadline)) {
        if (ep->socket >= 0)
            close(ep->socket);
        nanosleep(&pause, NULL);
        err = reach(ep, address, segment);
    }
    return err;
}

static int shm_answer(struct hd_ep *base, const uint8_t *address, size_t length, int64_t deadline)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    if (length != NAME_LENGTH || memcmp(address, NAME_PREFIX, sizeof(NAME_PREFIX) - 1) != 0)
        return hd_error(-EPROTO, "the peer's shm address is malformed");
    ep->ring.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ep->ring.peer_event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ep->ring.event_fd < 0 || ep->ring.peer_event_fd < 0)
        return hd_error(-errno, "no event descriptors: %s", strerror(errno));
    int segment = segment_create(ep);
    if (segment < 0)
        return segment;
    hd_ring_attach(&ep->ring, ep->segment, false, &ep->params);
    int err = reach_through_strangers(ep, address, segment, deadline);
    close(segment);
    if (!err)
        decide_caps(ep);
    return err;
}

static bool same_token(const uint8_t *a, const uint8_t *b)
{
    unsigned difference = 0;
    for (int i = 0; i < HD_ID_LENGTH; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

/* Takes what the server passed. @return -EAGAIN: nothing was said yet; other errors: this is not the server. */
static int take_hello(struct shm_ep *ep, int socket)
{
    struct hello hello;
    int fds[3];
    int err = receive_fds(socket, &hello, sizeof(hello), fds, 3);
    if (err)
        return err;
    ep->segment_size = hd_ring_segment_size(&ep->params.mine, &ep->params.peers);
    if (same_token(hello.token, ep->params.token) && hello.segment_size == ep->segment_size && is_eventfd(fds[1]) &&
        is_eventfd(fds[2]))
        ep->segment = map_sealed(fds[0], ep->segment_size);
    close(fds[0]);
    if (!ep->segment) {
        close_all(fds + 1, 2);
        return -EPROTO;
    }
    ep->ring.peer_event_fd = fds[1];
    ep->ring.event_fd = fds[2];
    return 0;
}

static void drop_stranger(struct shm_ep *ep, unsigned i, bool stays_open)
{
    if (!stays_open)
        close(ep->strangers[i]);
    memmove(&ep->strangers[i], &ep->strangers[i + 1], (--ep->stranger_count - i) * sizeof(*ep->strangers));
}

/* Looks for the server among those who came. Whoever does not know the token is sent away; who is silent stays. */
static void hear_strangers(struct shm_ep *ep)
{
    for (unsigned i = 0; i < ep->stranger_count && !ep->segment;) {
        int err = take_hello(ep, ep->strangers[i]);
        if (!err) {
            ep->socket = ep->strangers[i];
            hd_ring_attach(&ep->ring, ep->segment, true, &ep->params);
        }
        if (err == -EAGAIN)
            i++;
        else
            drop_stranger(ep, i, !err);
    }
}

/* Takes in who has come. @return whether there was somebody; more may wait. */
static bool take_in(struct shm_ep *ep)
{
    bool any = false;
    for (int i = 0; i < BACKLOG && !ep->segment; i++) {
        int fd = accept4(ep->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            break;
        any = true;
        if (fd < 0)
            continue;
        if (ep->stranger_count == STRANGERS)
            hear_strangers(ep);
        if (ep->stranger_count == STRANGERS)
            drop_stranger(ep, 0, false);
        ep->strangers[ep->stranger_count++] = fd;
    }
    hear_strangers(ep);
    return any;
}

static int shm_meeting_fd(struct hd_ep *base)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    return ep->segment ? -1 : ep->listener;
}

static void shm_meet(struct hd_ep *base)
{
    take_in((struct shm_ep *)base);
}

/* The server passes what we need before it answers, so it is among those who have come by now. */
static int shm_finish(struct hd_ep *base, int64_t deadline)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    while (!ep->segment) {
        if (!take_in(ep) && !ep->segment)
            return hd_error(-ECONNRESET, "the peer's connection is not among those to our Unix socket");
        if (!ep->segment && hd_expired(deadline))
            return hd_error(-ETIMEDOUT, "strangers keep our Unix socket busy");
    }
    while (ep->stranger_count)
        drop_stranger(ep, 0, false);
    close(ep->listener);
    ep->listener = -1;
    decide_caps(ep);
    return 0;
}

/* ---- memory of the peer ---- */

static int announce(struct shm_ep *ep, struct hd_slab *slab)
{
    size_t byte = slab->id / 8;
    if (byte >= ep->announced_bytes) {
        size_t bytes = hd_align(byte + 1, 64);
        uint8_t *more = realloc(ep->announced, bytes);
        if (!more)
            return -ENOMEM;
        memset(more + ep->announced_bytes, 0, bytes - ep->announced_bytes);
        ep->announced = more;
        ep->announced_bytes = bytes;
    }
    if (ep->announced[byte] & 1U << slab->id % 8)
        return 0;
    struct announcement a = {.size = slab->size, .id = slab->id, .own = slab->own};
    int err = send_fds(ep->socket, &a, sizeof(a), &slab->fd, 1);
    if (!err)
        ep->announced[byte] |= (uint8_t)(1U << slab->id % 8);
    return err;
}

/* The peer is given a descriptor, which the program's own memory has none of. */
static int shm_slab_add(struct hd_device *device, struct hd_slab *slab)
{
    (void)device;
    return slab->fd < 0 ? -EOPNOTSUPP : 0;
}

static int shm_locate(struct hd_ep *base, hd_buf *buf, size_t offset, uint64_t *key, uint64_t *address)
{
    if (!buf->slab->device[base->device->index].registered || !base->caps)
        return -EOPNOTSUPP;
    int err = announce((struct shm_ep *)base, buf->slab);
    if (err)
        return err;
    *key = buf->slab->id;
    *address = (uint64_t)(buf->base - buf->slab->base) + offset;
    return 0;
}

/* Under maps_lock: makes room by letting go of the oldest unused mapping of a one-buffer slab once there are many. */
static void evict(struct shm_ep *ep)
{
    unsigned own = 0, oldest = UINT32_MAX;
    for (unsigned i = ep->map_count; i-- > 0;) {
        own += ep->maps[i].own;
        if (ep->maps[i].own && ep->maps[i].users == 0)
            oldest = i;
    }
    if (own < OWN_MAX || oldest == UINT32_MAX)
        return;
    munmap(ep->maps[oldest].base, ep->maps[oldest].size);
    memmove(&ep->maps[oldest], &ep->maps[oldest + 1], (ep->map_count - oldest - 1) * sizeof(*ep->maps));
    ep->map_count--;
}

/* Under maps_lock. */
static int take_announcement(struct shm_ep *ep)
{
    struct announcement a;
    int fd;
    int err = receive_fds(ep->socket, &a, sizeof(a), &fd, 1);
    if (err)
        return err;
    evict(ep);
    struct peer_map *maps = realloc(ep->maps, (ep->map_count + 1) * sizeof(*maps));
    void *base = NULL;
    if (maps) {
        ep->maps = maps;
        if (ep->map_count < MAPS_MAX)
            base = map_sealed(fd, a.size);
    }
    close(fd);
    if (!base)
        return hd_error(-EPROTO, "cannot map the peer's memory");
    ep->maps[ep->map_count++] = (struct peer_map){.id = a.id, .own = a.own != 0, .base = base, .size = a.size};
    return 0;
}

/* Pins the mapping with [address, address + length). @return its index in use count, or NULL with *err set. */
static char *pin(struct shm_ep *ep, const struct hd_rma *rma, int *err)
{
    char *at = NULL;
    pthread_mutex_lock(&ep->maps_lock);
    for (*err = 0; !at && !*err;) {
        for (unsigned i = ep->map_count; i-- > 0 && !at;) {
            struct peer_map *map = &ep->maps[i];
            if (map->id != rma->key)
                continue;
            if (rma->address > map->size || rma->length > map->size - rma->address) {
                *err = hd_error(-EPROTO, "the peer named memory outside of its slab");
                break;
            }
            map->users++;
            at = map->base + rma->address;
        }
        if (!at && !*err)
            *err = take_announcement(ep);
    }
    pthread_mutex_unlock(&ep->maps_lock);
    if (*err == -EAGAIN)
        *err = hd_error(-EPROTO, "the peer named memory that it did not announce");
    return at;
}

static void unpin(struct shm_ep *ep, const struct hd_rma *rma)
{
    pthread_mutex_lock(&ep->maps_lock);
    for (unsigned i = ep->map_count; i-- > 0;)
        if (ep->maps[i].id == rma->key) {
            ep->maps[i].users--;
            break;
        }
    pthread_mutex_unlock(&ep->maps_lock);
}

static int copy(struct shm_ep *ep, const struct hd_rma *rma, bool to_peer)
{
    int err;
    char *there = pin(ep, rma, &err);
    if (!there)
        return err;
    if (hd_ring_peer_closed(&ep->ring))
        ; /* said below */
    else if (to_peer)
        memcpy(there, rma->buf->base + rma->offset, rma->length);
    else
        hd_rma_copy(rma, there);
    unpin(ep, rma);
    /* A peer that has closed may have reused the memory while we copied. */
    atomic_thread_fence(memory_order_acquire);
    return hd_ring_peer_closed(&ep->ring) ? hd_error(-ECONNRESET, "the peer closed the link") : 0;
}

static int copy_unlocked(struct hd_ep *base, const struct hd_rma *rma, bool to_peer)
{
    base->sink.unlock(base->sink.arg);
    int err = copy((struct shm_ep *)base, rma, to_peer);
    base->sink.lock(base->sink.arg);
    return err;
}

static int shm_get(struct hd_ep *base, const struct hd_rma *rma)
{
    return copy_unlocked(base, rma, false);
}

static int shm_put(struct hd_ep *base, const struct hd_rma *rma)
{
    return copy_unlocked(base, rma, true);
}

/* A mapping in use is not let go of. */
static int shm_hold(struct hd_ep *base, const struct hd_rma *rma)
{
    int err;
    return pin((struct shm_ep *)base, rma, &err) ? 0 : err;
}

static void shm_unhold(struct hd_ep *base, const struct hd_rma *rma)
{
    unpin((struct shm_ep *)base, rma);
}

/* ---- the end ---- */

static void shm_close(struct hd_ep *base)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    if (ep->segment && !ep->closed)
        hd_ring_close(base);
    ep->closed = true;
}

static void shm_retire(struct hd_ep *base)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    if (ep->socket >= 0)
        shutdown(ep->socket, SHUT_WR);
}

/* The peer's end of the socket closes when it retires, or when it dies. It matters only if the peer was given some of
 * our memory. */
static bool shm_quiet(struct hd_ep *base)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    if (ep->socket < 0 || !base->caps || !ep->announced)
        return true;
    for (;;) {
        struct announcement a;
        int fd, err = receive_fds(ep->socket, &a, sizeof(a), &fd, 1);
        if (err == -EAGAIN)
            return false;
        if (err == -ECONNRESET)
            return true;
        if (!err)
            close(fd);
    }
}

static void shm_destroy(struct hd_ep *base)
{
    struct shm_ep *ep = (struct shm_ep *)base;
    shm_close(base);
    for (unsigned i = 0; i < ep->map_count; i++)
        munmap(ep->maps[i].base, ep->maps[i].size);
    free(ep->maps);
    free(ep->announced);
    if (ep->segment)
        munmap(ep->segment, ep->segment_size);
    while (ep->stranger_count)
        drop_stranger(ep, 0, false);
    int fds[] = {ep->listener, ep->socket, ep->ring.event_fd, ep->ring.peer_event_fd};
    close_all(fds, HD_COUNT(fds));
    pthread_mutex_destroy(&ep->maps_lock);
    free(ep);
}

const struct hd_transport_ops hd_shm_ops = {
    .size = sizeof(struct hd_transport_ops),
    .name = "shm",
    .probe = shm_probe,
    .slab_add = shm_slab_add,
    .describe = shm_describe,
    .reachable = shm_reachable,
    .user = shm_user,
    .ep_create = shm_create,
    .offer = shm_offer,
    .answer = shm_answer,
    .reply = say_caps,
    .meeting_fd = shm_meeting_fd,
    .meet = shm_meet,
    .learn = hear_caps,
    .finish = shm_finish,
    .confirm = say_caps,
    .confirmed = hear_caps,
    .locate = shm_locate,
    HD_RING_OPERATIONS,
    .get = shm_get,
    .put = shm_put,
    .hold = shm_hold,
    .unhold = shm_unhold,
    .close = shm_close,
    .retire = shm_retire,
    .quiet = shm_quiet,
    .destroy = shm_destroy,
};
