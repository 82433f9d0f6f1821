/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <stdlib.h>

#include "base/util.h"

#define INDEX_BITS 20
#define INDEX_MASK ((1U << INDEX_BITS) - 1)
#define NONE       UINT32_MAX

static int grow(struct hd_table *table)
{
    uint32_t room = table->room ? 2 * table->room : 16;
    if (room > INDEX_MASK + 1)
        return hd_error(-EMFILE, "too many transfers under way on a link");
    void *slots = realloc(table->slots, room * sizeof(*table->slots));
    if (!slots)
        return hd_error(-ENOMEM, "out of memory");
    table->slots = slots;
    for (uint32_t i = room; i-- > table->room;) {
        table->slots[i].object = NULL;
        table->slots[i].generation = 1;
        table->slots[i].next_free = i == room - 1 ? NONE : i + 1;
    }
    table->free = table->room;
    table->room = room;
    return 0;
}

int hd_table_add(struct hd_table *table, void *object, uint32_t *handle)
{
    if (table->used == table->room) {
        int err = grow(table);
        if (err)
            return err;
    }
    uint32_t i = table->free;
    table->free = table->slots[i].next_free;
    table->slots[i].object = object;
    table->used++;
    *handle = table->slots[i].generation << INDEX_BITS | i;
    return 0;
}

void *hd_table_get(const struct hd_table *table, uint32_t handle)
{
    uint32_t i = handle & INDEX_MASK;
    return i < table->room && table->slots[i].generation == handle >> INDEX_BITS ? table->slots[i].object : NULL;
}

void hd_table_remove(struct hd_table *table, uint32_t handle)
{
    uint32_t i = handle & INDEX_MASK;
    table->slots[i].object = NULL;
    table->slots[i].generation = table->slots[i].generation % ((1U << (32 - INDEX_BITS)) - 1) + 1;
    table->slots[i].next_free = table->used == table->room ? NONE : table->free;
    table->free = i;
    table->used--;
}

void hd_table_destroy(struct hd_table *table)
{
    free(table->slots);
    *table = (struct hd_table){0};
}
