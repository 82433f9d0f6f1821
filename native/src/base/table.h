/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HD_TABLE_H
#define HD_TABLE_H

/* Handles that go over the wire in place of pointers: 20 bits of index, 12 bits that change with each use of the slot,
 * so that a stale or invented handle finds nothing. 0 is never a handle. */

#include <stdint.h>

struct hd_table {
    struct {
        void *object;
        uint32_t generation, next_free;
    } * slots;
    uint32_t room, free, used;
};

int hd_table_add(struct hd_table *table, void *object, uint32_t *handle);
void *hd_table_get(const struct hd_table *table, uint32_t handle);
void hd_table_remove(struct hd_table *table, uint32_t handle);
void hd_table_destroy(struct hd_table *table);

/* Object of a slot, NULL if it is free; for i < table->room. */
static inline void *hd_table_at(const struct hd_table *table, uint32_t i)
{
    return table->slots[i].object;
}

#endif
