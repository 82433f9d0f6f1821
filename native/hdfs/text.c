/* SPDX-License-Identifier: Apache-2.0 */

/* Text between C, which has UTF-8, and Java, which has UTF-16. JNI's own conversion is of another form of UTF-8, in
 * which characters above U+FFFF differ. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The character at *at, which moves on; -1 if it is none. Overlong forms, surrogates and what is above U+10FFFF are
 * none. */
static int32_t text_next(const unsigned char **at)
{
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned char first = *(*at)++;
    if (first < 0x80)
        return first;
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4)
        return -1;
    int32_t character = first & (0x3f >> more);
    for (int i = 0; i < more; i++) {
        if ((**at & 0xc0) != 0x80)
            return -1;
        character = character << 6 | (*(*at)++ & 0x3f);
    }
    bool surrogate = character >= 0xd800 && character <= 0xdfff;
    return character < least[more] || character > 0x10ffff || surrogate ? -1 : character;
}

ptrdiff_t hl_utf16(const char *text, jchar *units)
{
    const unsigned char *at = (const unsigned char *)text;
    ptrdiff_t count = 0;
    while (*at) {
        int32_t character = text_next(&at);
        if (character < 0)
            return -1;
        if (character >= 0x10000) {
            units[count++] = (jchar)(0xd800 + ((character - 0x10000) >> 10));
            character = 0xdc00 + (character & 0x3ff);
        }
        units[count++] = (jchar)character;
    }
    return count;
}

static size_t text_put(uint32_t character, char *text)
{
    if (character < 0x80) {
        text[0] = (char)character;
        return 1;
    }
    int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    for (int i = more; i > 0; i--, character >>= 6)
        text[i] = (char)(0x80 | (character & 0x3f));
    text[0] = (char)(0xff << (7 - more) | character);
    return (size_t)more + 1;
}

size_t hl_utf8(const jchar *units, size_t count, char *text)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t character = units[i];
        if (character >= 0xd800 && character < 0xdc00 && i + 1 < count && units[i + 1] >= 0xdc00 &&
            units[i + 1] < 0xe000)
            character = 0x10000 + ((character - 0xd800) << 10) + (units[++i] - 0xdc00u);
        else if (character >= 0xd800 && character < 0xe000)
            character = 0xfffd; /* half a character, for which there is no UTF-8 */
        length += text_put(character, text + length);
    }
    text[length] = 0;
    return length;
}

jstring hl_string(struct hl_call *call, const char *text)
{
    if (call->error || !text)
        return NULL;
    jchar *units = malloc((strlen(text) + 1) * sizeof(*units));
    ptrdiff_t count = units ? hl_utf16(text, units) : 0;
    jstring string = NULL;
    if (!units)
        hl_fail(call, ENOMEM);
    else if (count < 0 || count > INT32_MAX)
        hl_fail(call, EILSEQ);
    else if (!(string = (*call->env)->NewString(call->env, units, (jsize)count)))
        hl_caught(call);
    free(units);
    return string;
}

char *hl_text(struct hl_call *call, jstring string, size_t extra)
{
    if (call->error || !string)
        return NULL;
    size_t count = (size_t)(*call->env)->GetStringLength(call->env, string);
    jchar *units = malloc((count + 1) * sizeof(*units));
    char *text = units ? malloc(3 * count + 1) : NULL;
    char *result = NULL;
    if (text) {
        (*call->env)->GetStringRegion(call->env, string, 0, (jsize)count, units);
        size_t length = hl_utf8(units, count, text) + 1;
        result = realloc(text, length + extra);
        if (result)
            memset(result + length, 0, extra);
        else
            free(text);
    }
    free(units);
    if (!result)
        hl_fail(call, ENOMEM);
    return result;
}
