/* SPDX-License-Identifier: Apache-2.0 */

/* The default configuration: that of the class path. */

#include <stdlib.h>

#include "internal.h"

int hdfsConfGetStr(const char *key, char **val)
{
    struct hl_call call = HL_CALL(key);
    if (hl_enter(&call, key && val)) {
        jobject conf = hl_object(&call, HL_CONFIGURATION_NEW, NULL);
        char *text = hl_text(&call, hl_object(&call, HL_CONFIGURATION_GET, conf, hl_string(&call, key)), 0);
        if (!call.error)
            *val = text;
    }
    return hl_leave(&call);
}

int hdfsConfGetInt(const char *key, int32_t *val)
{
    struct hl_call call = HL_CALL(key);
    if (hl_enter(&call, key && val)) {
        jobject conf = hl_object(&call, HL_CONFIGURATION_NEW, NULL);
        jlong value = hl_number(&call, HL_CONFIGURATION_GET_INT, conf, hl_string(&call, key), (jint)*val);
        if (!call.error)
            *val = (int32_t)value;
    }
    return hl_leave(&call);
}

void hdfsConfStrFree(char *val)
{
    free(val);
}
