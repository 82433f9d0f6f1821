/* SPDX-License-Identifier: Apache-2.0 */

/* libdat2: loading it, what it lists, its errors in words. */

#include "transport/udapl/udapl.h"

#include <dat2/udat_redirection.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIBRARY "libdat2.so.2"

struct udapl_api udapl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char obstacle[400]; /* empty: loaded */
static _Atomic pid_t user; /* of a provider; 0: nobody */

const char *udapl_file(void)
{
    const char *file = getenv(UDAPL_FILE_ENV);
    return file && file[0] ? file : UDAPL_FILE_DEFAULT;
}

/* The library reads dat.conf when it is loaded and would only complain on standard error. */
static void load(void)
{
    if (access(udapl_file(), R_OK)) {
        snprintf(obstacle, sizeof(obstacle), "uDAPL: cannot read %s (%s); set %s to a dat.conf that lists a provider",
                 udapl_file(), strerror(errno), UDAPL_FILE_ENV);
        return;
    }
    /* Global, because providers call into it without saying that they need it. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        snprintf(obstacle, sizeof(obstacle), "uDAPL: %s; install the DAPL library (Debian: libdapl2, RHEL: dapl)",
                 dlerror());
        return;
    }
    const char *missing = NULL;
    void *symbol;
#define UDAPL_FIND(name)                                                                                               \
    if (!(symbol = dlsym(library, "dat_" #name)))                                                                      \
        missing = "dat_" #name;                                                                                        \
    memcpy(&udapl.name, &symbol, sizeof(symbol));
    UDAPL_CALLS(UDAPL_FIND)
#undef UDAPL_FIND
    if (missing) {
        snprintf(obstacle, sizeof(obstacle), "uDAPL: %s has no %s; a library of DAT 2.0 is needed", LIBRARY, missing);
        return;
    }
    DAT_PROVIDER_INFO *infos = calloc(UDAPL_PROVIDERS_MAX, sizeof(*infos));
    int count = infos ? udapl_providers(infos) : 0;
    if (count < 0)
        snprintf(obstacle, sizeof(obstacle), "%s", hd_last_error());
    else if (count == 0)
        snprintf(obstacle, sizeof(obstacle), "uDAPL: %s lists no provider; add a line for your adapter", udapl_file());
    free(infos);
}

const char *udapl_load(void)
{
    pthread_once(&once, load);
    return obstacle[0] ? obstacle : NULL;
}

/* With its last adapter closed libdat2 unloads a provider, which tells its threads to end and waits until they say that
 * they do, but not until they have left its code: they unlock and return (DAPL 2.1.10). Now and then that code is gone
 * by then. So it stays; its threads sleep, and end with the process. */
bool udapl_keep(DAT_EVD_HANDLE evd)
{
    Dl_info library;
    void *function;
    memcpy(&function, &DAT_HANDLE_TO_PROVIDER(evd)->ia_close_func, sizeof(function));
    atomic_store(&user, getpid());
    return dladdr(function, &library) && dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

bool udapl_inherited(void)
{
    pid_t pid = atomic_load(&user);
    return pid && pid != getpid();
}

int udapl_providers(DAT_PROVIDER_INFO *infos)
{
    DAT_PROVIDER_INFO *pointers[UDAPL_PROVIDERS_MAX];
    DAT_COUNT count = 0;
    for (int i = 0; i < UDAPL_PROVIDERS_MAX; i++)
        pointers[i] = &infos[i];
    DAT_RETURN ret = udapl.registry_list_providers(UDAPL_PROVIDERS_MAX, &count, pointers);
    if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER) /* the latter: there are more */
        return udapl_error(-EIO, udapl_file(), "dat_registry_list_providers", ret, "check that it is a dat.conf");
    return count < UDAPL_PROVIDERS_MAX ? (int)count : UDAPL_PROVIDERS_MAX;
}

int udapl_error(int error, const char *provider, const char *call, DAT_RETURN ret, const char *advice)
{
    const char *major = "?", *minor = "";
    if (udapl.strerror(ret, &major, &minor) != DAT_SUCCESS)
        major = "unknown DAT error";
    return hd_error(error, "uDAPL %s: %s: %s %s (0x%x); %s", provider, call, major, minor, (unsigned)ret, advice);
}

const char *udapl_event_name(DAT_EVENT_NUMBER number)
{
    switch (number) {
    case DAT_CONNECTION_EVENT_PEER_REJECTED:
        return "the peer rejected it";
    case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
        return "rejected: nobody listens there any more";
    case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
        return "the peer went away while it was accepted";
    case DAT_CONNECTION_EVENT_DISCONNECTED:
        return "the peer closed the link";
    case DAT_CONNECTION_EVENT_BROKEN:
        return "the connection broke";
    case DAT_CONNECTION_EVENT_TIMED_OUT:
        return "the peer did not answer in time";
    case DAT_CONNECTION_EVENT_UNREACHABLE:
        return "the peer's adapter cannot be reached";
    default:
        return "an event that has no place there";
    }
}

const char *udapl_status_name(DAT_DTO_COMPLETION_STATUS status)
{
    static const char *const names[] = {
        [DAT_DTO_SUCCESS] = "success",
        [DAT_DTO_ERR_FLUSHED] = "flushed, the connection had ended",
        [DAT_DTO_ERR_LOCAL_LENGTH] = "local length error",
        [DAT_DTO_ERR_LOCAL_EP] = "local endpoint error",
        [DAT_DTO_ERR_LOCAL_PROTECTION] = "local protection error",
        [DAT_DTO_ERR_BAD_RESPONSE] = "bad response",
        [DAT_DTO_ERR_REMOTE_ACCESS] = "remote access error",
        [DAT_DTO_ERR_REMOTE_RESPONDER] = "remote responder error",
        [DAT_DTO_ERR_TRANSPORT] = "transport error, the peer does not answer",
        [DAT_DTO_ERR_RECEIVER_NOT_READY] = "receiver not ready",
        [DAT_DTO_ERR_PARTIAL_PACKET] = "partial packet",
        [DAT_RMR_OPERATION_FAILED] = "memory operation failed",
    };
    return (size_t)status < HD_COUNT(names) && names[status] ? names[status] : "unknown status";
}
