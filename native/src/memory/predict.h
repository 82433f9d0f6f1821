/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_PREDICT_H
#define HD_PREDICT_H

/* Sizes to expect, from history: one estimate per kind, in a table of fixed size. Up at once, down by an eighth of the
 * difference, so a buffer of the predicted size is rarely too small. Races lose a sample, nothing else. */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HD_PREDICT_SLOTS 1024

struct hd_predict {
    struct {
        _Atomic uint64_t kind; /* 0: free */
        _Atomic uint64_t size;
    } slots[HD_PREDICT_SLOTS];
};

void hd_predict_record(struct hd_predict *predict, uint64_t kind, size_t bytes);
size_t hd_predict_size(struct hd_predict *predict, uint64_t kind, size_t fallback);

#endif
