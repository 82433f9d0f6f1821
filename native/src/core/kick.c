/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kick.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

static _Thread_local struct hd_kick *own; /* on a communication thread */

int hd_kick_open(struct hd_kick *kick)
{
    kick->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return kick->fd < 0 ? hd_error(-errno, "no descriptor to wake a thread with: %s", strerror(errno)) : 0;
}

void hd_kick_close(struct hd_kick *kick)
{
    if (kick->fd >= 0)
        close(kick->fd);
}

void hd_kick_enter(struct hd_kick *kick)
{
    own = kick;
}

void hd_kick_now(struct hd_kick *kick)
{
    uint64_t one = 1;
    if (write(kick->fd, &one, sizeof(one)) < 0) {
        /* full: it will wake anyway */
    }
}

void hd_kick_soon(struct hd_kick *kick)
{
    if (kick == own && own)
        own->soon = true; /* a kick would have it look again at once, and again find nothing */
    else if (kick && !atomic_exchange(&kick->quick, true))
        hd_kick_now(kick);
}
