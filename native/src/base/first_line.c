/* SPDX-License-Identifier: Apache-2.0 */
#include "base/first_line.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hd_first_line(char *text, size_t size, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    text[0] = '\0';
    FILE *file = fopen(path, "re");
    bool ok = file && fgets(text, (int)size, file);
    if (file)
        fclose(file);
    text[ok ? strcspn(text, "\n") : 0] = '\0';
    return ok;
}
