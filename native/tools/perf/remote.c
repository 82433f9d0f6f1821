/* SPDX-License-Identifier: Apache-2.0 */

/* hd-perf between hosts: one process listens and serves one client after the other, each in a child of its own. A
 * client makes two connections, which it marks with the same token: for orders, and for the engine's link. */

#include "perf.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GREETING_TIME 10 /* seconds for a client to say what it is */
#define STRANGERS     16 /* connections of others that come between a client's two */

static const char magic[8] = "HDPERF2";

struct hello {
    char magic[sizeof(magic)];
    uint8_t token[16]; /* of all connections of a client */
};

static _Noreturn void remote_die(const char *what, const char *why)
{
    fprintf(stderr, "hd-perf: %s: %s\n", what, why);
    exit(1);
}

static void remote_prepare(int fd, int seconds)
{
    struct timeval limit = {.tv_sec = seconds};
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* ---- client ---- */

/* HOST:PORT, [ADDRESS]:PORT for IPv6. */
static struct addrinfo *remote_resolve(const char *where)
{
    char host[256];
    snprintf(host, sizeof(host), "%s", where);
    char *port = strrchr(host, ':'), *name = host;
    if (!port || port == host)
        remote_die(where, "not HOST:PORT");
    *port++ = '\0';
    if (name[0] == '[' && port[-2] == ']') {
        port[-2] = '\0';
        name++;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int err = getaddrinfo(name, port, &hints, &found);
    if (err)
        remote_die(where, gai_strerror(err));
    return found;
}

static int remote_connect(const char *where, const struct hello *hello)
{
    struct addrinfo *all = remote_resolve(where);
    int fd = -1;
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
            int err = errno;
            close(fd);
            fd = -1;
            errno = err;
        }
    }
    if (fd < 0)
        remote_die(where, strerror(errno));
    freeaddrinfo(all);
    remote_prepare(fd, (int)(PERF_WAIT / 1000000000));
    char ready;
    if (send(fd, hello, sizeof(*hello), MSG_NOSIGNAL) != sizeof(*hello) || recv(fd, &ready, 1, MSG_WAITALL) != 1)
        remote_die(where, "no hd-perf listens there, or it serves somebody else");
    return fd;
}

void remote_client(const char *where, int *tcp, int *guard)
{
    struct hello hello;
    memcpy(hello.magic, magic, sizeof(magic));
    if (getrandom(hello.token, sizeof(hello.token), 0) != sizeof(hello.token))
        remote_die("random bytes", strerror(errno));
    *tcp = remote_connect(where, &hello);
    *guard = remote_connect(where, &hello);
}

/* ---- server ---- */

static int remote_listen(const char *port)
{
    struct addrinfo hints = {.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *all = NULL;
    int on = 1, off = 0, fd = -1;
    for (int family = 0; family < 2 && fd < 0; family++) { /* IPv6, which takes IPv4 as well; where it is off, IPv4 */
        hints.ai_family = family ? AF_INET : AF_INET6;
        int err = getaddrinfo(NULL, port, &hints, &all);
        if (err)
            remote_die(port, gai_strerror(err));
        fd = socket(all->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0) {
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
            if (!family)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
            if (bind(fd, all->ai_addr, all->ai_addrlen) || listen(fd, STRANGERS))
                remote_die(port, strerror(errno));
        }
        freeaddrinfo(all);
    }
    if (fd < 0)
        remote_die("a socket to listen on", strerror(errno));
    return fd;
}

static int remote_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &length))
        remote_die("the port", strerror(errno));
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

/* A connection that begins as ours do. @return -1: of somebody else, or none came in `timeout` milliseconds */
static int remote_accept(int listener, int timeout, struct hello *hello)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    if (poll(&p, 1, timeout) <= 0)
        return -1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    remote_prepare(fd, GREETING_TIME);
    if (recv(fd, hello, sizeof(*hello), MSG_WAITALL) == sizeof(*hello) &&
        memcmp(hello->magic, magic, sizeof(magic)) == 0 && send(fd, magic, 1, MSG_NOSIGNAL) == 1)
        return fd;
    close(fd);
    return -1;
}

/* The second connection of a client. */
static int remote_second(int listener, const struct hello *first)
{
    struct hello second;
    for (int i = 0; i < STRANGERS; i++) {
        int fd = remote_accept(listener, GREETING_TIME * 1000, &second);
        if (fd >= 0 && memcmp(second.token, first->token, sizeof(second.token)) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

static _Noreturn void remote_serve(int tcp, int guard)
{
    struct ends e = {.tcp = tcp, .memory = tcp_memory()};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    remote_prepare(tcp, 0);
    ends_begin(&e, guard, NULL);
    ends_serve(&e, 1);
    ends_finish(&e);
    free(e.memory);
    exit(0);
}

_Noreturn void remote_listen_forever(const char *port)
{
    int listener = remote_listen(port);
    printf("hd-perf listens on port %d. It serves whoever connects: end it when you have measured.\n",
           remote_port(listener));
    fflush(stdout);
    for (;;) {
        struct hello hello;
        int tcp = remote_accept(listener, -1, &hello), guard = tcp < 0 ? -1 : remote_second(listener, &hello);
        pid_t pid = guard < 0 ? 0 : fork();
        if (guard >= 0 && pid == 0)
            remote_serve(tcp, guard);
        if (pid < 0)
            fprintf(stderr, "hd-perf: no process for a client: %s\n", strerror(errno));
        if (tcp >= 0)
            close(tcp);
        if (guard >= 0)
            close(guard);
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
}
