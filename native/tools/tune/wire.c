/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void prepare(int fd)
{
    struct timeval patience = {.tv_sec = TUNE_WAIT / 1000000000 * 2};
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* The addresses of "HOST:PORT", "[HOST]:PORT" or, to listen, "PORT". */
static struct addrinfo *resolve(const char *where, bool to_listen)
{
    char host[256] = "";
    const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where, *begin = where;
    size_t length = colon ? (size_t)(colon - where) : 0;
    if (length >= 2 && where[0] == '[' && colon[-1] == ']') {
        begin++;
        length -= 2;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = to_listen ? AI_PASSIVE : 0}, *found = NULL;
    if (length >= sizeof(host) || (!to_listen && length == 0)) {
        fprintf(stderr, "hd-tune: '%s' is not HOST:PORT\n", where);
        return NULL;
    }
    memcpy(host, begin, length);
    int err = getaddrinfo(length ? host : NULL, port, &hints, &found);
    if (err)
        fprintf(stderr, "hd-tune: %s: %s\n", where, gai_strerror(err));
    return err ? NULL : found;
}

int tune_listen(const char *where, int *port)
{
    struct addrinfo *found = resolve(where, true);
    if (!found)
        return -1;
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    bool ok = fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
              !bind(fd, found->ai_addr, found->ai_addrlen) && !listen(fd, 8) &&
              !getsockname(fd, (struct sockaddr *)&address, &length);
    freeaddrinfo(found);
    if (!ok) {
        fprintf(stderr, "hd-tune: cannot listen on %s: %s\n", where, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                : ((struct sockaddr_in *)&address)->sin_port);
    return fd;
}

int tune_connect(const char *where)
{
    struct addrinfo *found = resolve(where, false);
    int fd = -1, error = EINVAL;
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
            error = errno;
            close(fd);
            fd = -1;
        }
    }
    if (found && fd < 0)
        fprintf(stderr, "hd-tune: cannot connect to %s: %s\n", where, strerror(error));
    if (found)
        freeaddrinfo(found);
    if (fd >= 0)
        prepare(fd);
    return fd;
}

int tune_accept(int listener, int timeout_ms)
{
    struct pollfd one = {.fd = listener, .events = POLLIN};
    int fd = poll(&one, 1, timeout_ms) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd >= 0)
        prepare(fd);
    return fd;
}

bool tune_send(int fd, const void *data, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = send(fd, (const char *)data + done, length - done, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool tune_receive(int fd, void *data, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = recv(fd, (char *)data + done, length - done, 0);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool tune_send_words(int fd, const char *words)
{
    uint16_t length = (uint16_t)strnlen(words, 500);
    return tune_send(fd, &length, sizeof(length)) && tune_send(fd, words, length);
}

bool tune_receive_words(int fd, char *words, size_t size)
{
    uint16_t length;
    if (!tune_receive(fd, &length, sizeof(length)) || length >= size || !tune_receive(fd, words, length))
        return false;
    words[length] = '\0';
    return true;
}
