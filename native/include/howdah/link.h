/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_LINK_H
#define HOWDAH_LINK_H

/** @file
 * Links: one per pair of engines and transport, shared by everything that the two processes have to say.
 *
 * A link is made over an ordinary TCP connection to the host protocol's ordinary port. The client calls hd_connect()
 * before it has sent anything; the server calls hd_accept() before it has read anything. If both ends are ours and
 * have a transport in common, the link comes up (or the existing link to that process is found) and the connection
 * stays as its guard: when it breaks, the peer is gone. If not, both ends learn why and use the connection for the host
 * protocol, as if nothing had happened.
 */
#include <howdah/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hd_outcome {
    HD_LINKED,  /**< `link` is up */
    HD_FALLBACK /**< speak the host protocol on the connection; `reason` says why */
};

/** Most bytes of a foreign protocol that hd_accept() can have read before it knew. */
#define HD_UNREAD_MAX 8
/** Most bytes of a connection that begins with a greeting that the caller of hd_accept() can have read before. */
#define HD_PREFIX_MAX 4096
/** Longest name of a service. */
#define HD_SERVICE_MAX 64

struct hd_connect_result {
    size_t size;
    enum hd_outcome outcome;
    hd_link *link;                       /**< HD_LINKED: a reference, released with hd_link_put() */
    bool shared;                         /**< the link existed already; the connection is not needed */
    size_t unread_length;                /**< hd_accept() and HD_FALLBACK: bytes of the host protocol already taken */
    unsigned char unread[HD_UNREAD_MAX]; /**< from the connection, to be treated as read first */
    char reason[200];
    /** hd_accept(): to be filled by the caller, "" for nothing: the service that the client of this connection is meant
     * to open streams to. hd_connect(): what the server's side gave there. Where ports are forwarded, or a program has
     * several servers, the client cannot know it otherwise. */
    char service[HD_SERVICE_MAX + 1];
};

/** Client side. `fd` is a connected stream socket, blocking or not; the engine keeps a duplicate if it needs one, so
 * the caller always closes its own. `address` ("host:port") names the peer in errors and finds the link again with
 * hd_link_find(). Note that a server that knows nothing of us may drop the connection because of our greeting: then
 * -EPROTO or -ECONNRESET comes back, and the caller connects anew for the host protocol.
 *  @return 0 with `result` filled, -EPROTO: the peer answered in another protocol, -ETIMEDOUT, -ECONNRESET, and with
 *  a forced transport -EOPNOTSUPP instead of HD_FALLBACK. */
HD_API int hd_connect(hd_engine *engine, int fd, const char *address, int64_t timeout,
                      struct hd_connect_result *result);

/** Server side. `prefix` has the bytes that the caller had to read already: at most HD_UNREAD_MAX, which come back in
 *  `unread` if they are not ours, or, if hd_is_greeting() says so of HD_UNREAD_MAX of them, at most HD_PREFIX_MAX.
 *  Returns at the first byte that is not of our greeting. Errors as hd_connect(). */
HD_API int hd_accept(hd_engine *engine, int fd, const void *prefix, size_t prefix_length, int64_t timeout,
                     struct hd_connect_result *result);

/** Whether a connection that begins with these bytes can be ours. With fewer than HD_UNREAD_MAX bytes a true may turn
 *  into a false later. */
HD_API bool hd_is_greeting(const void *bytes, size_t length);

/** The living link that hd_connect() made for `address`. @return -ENOENT if there is none; connect then. */
HD_API int hd_link_find(hd_engine *engine, const char *address, hd_link **link);

HD_API hd_link *hd_link_ref(hd_link *link);

/** Gives a reference back. The link itself stays up until it was idle for link.idle.timeout. */
HD_API void hd_link_put(hd_link *link);

/** Closes the link at once; everything on it fails with -ESHUTDOWN here and -ECONNRESET at the peer. */
HD_API void hd_link_close(hd_link *link);

/** 0 while the link is up, else the negative errno it ended with; hd_last_error() has the cause. */
HD_API int hd_link_status(hd_link *link);

/** The peer, for people: "address (program 1234 on host)". Valid as long as the reference. */
HD_API const char *hd_link_peer(hd_link *link);
HD_API const char *hd_link_transport(hd_link *link);

#ifdef __cplusplus
}
#endif

#endif
