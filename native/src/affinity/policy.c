/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <howdah/affinity.h>

#include "cpuset.h"
#include "base/util.h"

static const struct {
    const char *name;
    bool takes_n;
} kinds[] = {
    [HD_POLICY_AUTO] = {"auto", false},   [HD_POLICY_NONE] = {"none", false},   [HD_POLICY_O2NTS] = {"o2nts", true},
    [HD_POLICY_O2ACS] = {"o2acs", false}, [HD_POLICY_O2OCS] = {"o2ocs", false}, [HD_POLICY_O2NTC] = {"o2ntc", true},
    [HD_POLICY_O2OCC] = {"o2occ", false},
};

/* ":6" or "(6)" */
static int parse_n(const char *rest, unsigned *n)
{
    const char *close = rest[0] == '(' ? ")" : "";
    if ((rest[0] != ':' && rest[0] != '(') || !isdigit((unsigned char)rest[1]))
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long value = strtoul(rest + 1, &end, 10);
    if (strcmp(end, close) != 0)
        return -EINVAL;
    if (errno || value < 1 || value > HD_CPU_MAX)
        return -ERANGE;
    *n = (unsigned)value;
    return 0;
}

int hd_policy_parse(const char *text, struct hd_policy *policy)
{
    for (size_t i = 0; i < HD_COUNT(kinds); i++) {
        size_t length = strlen(kinds[i].name);
        if (strncasecmp(text, kinds[i].name, length) != 0)
            continue;
        struct hd_policy found = {.kind = (enum hd_policy_kind)i};
        int err = kinds[i].takes_n ? parse_n(text + length, &found.n) : text[length] ? -EINVAL : 0;
        if (err == -ERANGE)
            return hd_error(err, "affinity policy \"%s\": the number of SMT threads must be 1 .. %d", text, HD_CPU_MAX);
        if (err && kinds[i].takes_n)
            return hd_error(err, "affinity policy \"%s\" is to be written %s:N, for example %s:8", text, kinds[i].name,
                            kinds[i].name);
        if (err)
            break;
        *policy = found;
        return 0;
    }
    return hd_error(-EINVAL, "affinity policy \"%s\" is none of auto, none, o2acs, o2ocs, o2nts:N, o2occ, o2ntc:N",
                    text);
}

int hd_policy_print(const struct hd_policy *policy, char *text, size_t size)
{
    const char *name = kinds[policy->kind].name;
    int length =
        kinds[policy->kind].takes_n ? snprintf(text, size, "%s:%u", name, policy->n) : snprintf(text, size, "%s", name);
    return length >= 0 && (size_t)length < size ? length
                                                : hd_error(-ENOSPC, "a policy needs %d characters", length + 1);
}
