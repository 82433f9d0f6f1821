/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOWDAH_JNI_CRC32C_H
#define HOWDAH_JNI_CRC32C_H

/* Checksums of chunks: for the engine's binding, and for libhadoop.so. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_CRC32C_GOOD SIZE_MAX

/* Whether the processor has the instruction. Without it hd_crc32c_chunks() must not be called. */
bool hd_crc32c_is_fast(void);

/* Writes the sums of chunks, or compares them; big endian, four bytes each; the last chunk may be shorter. Returns
 * HD_CRC32C_GOOD, or, where a sum differs, an offset at or up to two chunks before the first chunk that is bad. */
size_t hd_crc32c_chunks(const unsigned char *data, size_t length, size_t chunk, unsigned char *sums, bool verify);

#endif
