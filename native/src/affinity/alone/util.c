/* SPDX-License-Identifier: Apache-2.0 */
#include "util.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[512];

const char *hd_last_error(void)
{
    return last_error;
}

int hd_error(int error, const char *format, ...)
{
    char text[sizeof(last_error)]; /* the arguments may point into last_error */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(last_error, text, sizeof(text));
    return error;
}
