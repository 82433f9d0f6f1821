/* SPDX-License-Identifier: Apache-2.0 */

/* CRC32C of many chunks in a row, by the processor's own instruction. */

#include <endian.h>
#include <string.h>

#include "crc32c.h"

#if defined(__x86_64__)

bool hh_crc32c_is_fast(void)
{
    return __builtin_cpu_supports("sse4.2");
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t sum_of(const unsigned char *p, size_t length)
{
    uint64_t sum = UINT32_MAX;
    for (; length >= 8; length -= 8, p += 8)
        sum = __builtin_ia32_crc32di(sum, word_at(p));
    uint32_t rest = (uint32_t)sum;
    while (length--)
        rest = __builtin_ia32_crc32qi(rest, *p++);
    return ~rest;
}

/* Of three chunks in a row: the instruction gives its result late, and can begin anew in each cycle. */
__attribute__((target("sse4.2"))) static void sums_of_three(const unsigned char *p, size_t chunk, uint32_t sums[3])
{
    uint64_t a = UINT32_MAX, b = UINT32_MAX, c = UINT32_MAX;
    size_t at = 0;
    for (; at + 8 <= chunk; at += 8) {
        a = __builtin_ia32_crc32di(a, word_at(p + at));
        b = __builtin_ia32_crc32di(b, word_at(p + chunk + at));
        c = __builtin_ia32_crc32di(c, word_at(p + 2 * chunk + at));
    }
    uint32_t rest[3] = {(uint32_t)a, (uint32_t)b, (uint32_t)c};
    for (size_t i = 0; i < 3; i++) {
        for (size_t tail = at; tail < chunk; tail++)
            rest[i] = __builtin_ia32_crc32qi(rest[i], p[i * chunk + tail]);
        sums[i] = ~rest[i];
    }
}

#else /* what Java does itself is as good */

bool hh_crc32c_is_fast(void)
{
    return false;
}

static uint32_t sum_of(const unsigned char *p, size_t length)
{
    (void)p, (void)length;
    return 0;
}

static void sums_of_three(const unsigned char *p, size_t chunk, uint32_t sums[3])
{
    (void)p, (void)chunk;
    memset(sums, 0, 3 * sizeof(*sums));
}

#endif

size_t hh_crc32c_chunks(const unsigned char *data, size_t length, size_t chunk, unsigned char *sums, bool verify)
{
    const unsigned char *begin = data;
    while (length > 0) {
        uint32_t found[3];
        size_t count = length / 3 >= chunk ? 3 : 1;
        size_t step = count == 3 ? 3 * chunk : length < chunk ? length : chunk;
        if (count == 3)
            sums_of_three(data, chunk, found);
        else
            found[0] = sum_of(data, step);
        for (size_t i = 0; i < count; i++)
            found[i] = htobe32(found[i]);
        if (!verify)
            memcpy(sums, found, count * 4);
        else if (memcmp(sums, found, count * 4) != 0)
            return (size_t)(data - begin);
        data += step;
        length -= step;
        sums += count * 4;
    }
    return HH_CRC32C_GOOD;
}
