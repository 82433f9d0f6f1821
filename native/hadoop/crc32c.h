/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_HADOOP_CRC32C_H
#define HOWDAH_HADOOP_CRC32C_H

/* CRC32C of chunks by the processor's instruction. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HH_CRC32C_GOOD SIZE_MAX

/* Whether the processor has the instruction. Without it hh_crc32c_chunks() must not be called. */
bool hh_crc32c_is_fast(void);

/* Writes the sums of chunks, or compares them; big endian, four bytes each; the last chunk may be shorter. Returns
 * HH_CRC32C_GOOD, or, where a sum differs, an offset at or up to two chunks before the first chunk that is bad. */
size_t hh_crc32c_chunks(const unsigned char *data, size_t length, size_t chunk, unsigned char *sums, bool verify);

#endif
