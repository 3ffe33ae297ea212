/* Operation: the rows, and what is read by them from the arguments of a call. */
#include "miniport/operation.h"

#include "base/bits.h"

#include <string.h>

#define AIMLESS_AT_LEAST 1024u
#define AIMLESS_A_UNIT   4u

static const struct miniport_operation rows[MINIPORT_OPERATION_COUNT] = {
#define OPERATION(operation, ...) [DXGK_OPERATION_##operation] = {.name = #operation, __VA_ARGS__},
#define BUSY(operation, rule)
#include "miniport/operation_table.inc"
#undef BUSY
#undef OPERATION
};

#define OPERATION(operation, ...)                                                                  \
    _Static_assert(MINIPORT_OPERATION_##operation == (int)DXGK_OPERATION_##operation,              \
                   "rows stand in the order of their values");
#define BUSY(operation, rule)
#include "miniport/operation_table.inc"
#undef BUSY
#undef OPERATION

static const struct miniport_operation no_row;

static inline const struct miniport_operation *row_of(unsigned operation)
{
    return operation < MINIPORT_OPERATION_COUNT ? &rows[operation] : &no_row;
}

/* ---- Members ---- */

static const uint8_t *member_at(const DXGKARG_BUILDPAGINGBUFFER *arg, uint16_t offset)
{
    return (const uint8_t *)arg + offset;
}

/* 0 for a member that the operation does not have. */
static uint64_t number_in(const DXGKARG_BUILDPAGINGBUFFER *arg,
                          const struct miniport_member *member)
{
    const uint8_t *at = member_at(arg, member->offset);
    uint64_t number = 0;
    uint32_t word;
    uint16_t half;

    switch (member->bytes) {
    case sizeof number:
        memcpy(&number, at, sizeof number);
        break;
    case sizeof word:
        memcpy(&word, at, sizeof word);
        number = word;
        break;
    case sizeof half:
        memcpy(&half, at, sizeof half);
        number = half;
        break;
    default:
        break;
    }
    return number;
}

static void *pointer_in(const DXGKARG_BUILDPAGINGBUFFER *arg, const struct miniport_member *member)
{
    void *pointer = NULL;

    if (member->bytes)
        memcpy(&pointer, member_at(arg, member->offset), sizeof pointer);
    return pointer;
}

static uint32_t word_at(const DXGKARG_BUILDPAGINGBUFFER *arg, uint16_t offset)
{
    uint32_t word;

    memcpy(&word, member_at(arg, offset), sizeof word);
    return word;
}

static uint64_t bytes_in(const DXGKARG_BUILDPAGINGBUFFER *arg, const struct miniport_extent *extent)
{
    uint64_t number = number_in(arg, &extent->member);

    return extent->unit == MINIPORT_UNIT_BYTES   ? number
           : extent->unit == MINIPORT_UNIT_PAGES ? number * PAGE_BYTES
                                                 : 0;
}

static struct miniport_place place_in(const DXGKARG_BUILDPAGINGBUFFER *arg,
                                      const struct miniport_place_members *members)
{
    return (struct miniport_place){members->kind, (unsigned)number_in(arg, &members->segment),
                                   number_in(arg, &members->address)};
}

/* ---- An operation ---- */

const struct miniport_operation *miniport_operation(unsigned operation)
{
    return row_of(operation);
}

const char *miniport_operation_name(unsigned operation)
{
    return operation < MINIPORT_OPERATION_COUNT ? rows[operation].name : "?";
}

enum miniport_operation_kind miniport_operation_kind(unsigned operation)
{
    return row_of(operation)->kind;
}

/* ---- A call ---- */

HANDLE miniport_operation_allocation(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return pointer_in(arg, &row_of((unsigned)arg->Operation)->allocation);
}

HANDLE *miniport_operation_allocation_member(DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct miniport_member *member = &row_of((unsigned)arg->Operation)->allocation;

    return member->bytes ? (HANDLE *)((uint8_t *)arg + member->offset) : NULL;
}

HANDLE miniport_operation_process(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return pointer_in(arg, &row_of((unsigned)arg->Operation)->process);
}

uint64_t miniport_update_mapped(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    uint64_t count = update->pPageTableEntries ? update->NumPageTableEntries : 0;

    while (count && !update->pPageTableEntries[update->Flags.Repeat ? 0 : count - 1].Valid)
        count = update->Flags.Repeat ? 0 : count - 1;
    return count;
}

uint64_t miniport_operation_offset(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return bytes_in(arg, &row_of((unsigned)arg->Operation)->offset);
}

uint64_t miniport_operation_bytes(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return bytes_in(arg, &row_of((unsigned)arg->Operation)->size);
}

uint64_t miniport_operation_units(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct miniport_extent *size = &row_of((unsigned)arg->Operation)->size;
    uint64_t number = number_in(arg, &size->member);

    return size->unit == MINIPORT_UNIT_BYTES ? number / PAGE_BYTES : number;
}

uint64_t miniport_operation_list_offset(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return number_in(arg, &row_of((unsigned)arg->Operation)->list_offset);
}

struct miniport_place miniport_operation_source(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return place_in(arg, &row_of((unsigned)arg->Operation)->source);
}

struct miniport_place miniport_operation_destination(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return place_in(arg, &row_of((unsigned)arg->Operation)->destination);
}

struct miniport_array miniport_operation_array(const DXGKARG_BUILDPAGINGBUFFER *arg, unsigned index)
{
    const struct miniport_operation *row = row_of((unsigned)arg->Operation);
    struct miniport_array array = {NULL, 0, NULL};

    if (index >= MINIPORT_OPERATION_ARRAYS || !row->arrays[index].element_bytes)
        return array;
    array.members = &row->arrays[index];
    array.elements = pointer_in(arg, &array.members->elements);
    array.count = number_in(arg, &array.members->count);
    /* One entry that stands for all of them. */
    if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && arg->UpdatePageTable.Flags.Repeat)
        array.count = 1;
    return array;
}

bool miniport_operation_may_be_busy(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct miniport_bit *is_idle = &row_of((unsigned)arg->Operation)->is_idle;

    return is_idle->mask && !(word_at(arg, is_idle->offset) & is_idle->mask);
}

void miniport_operation_set_idle(DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct miniport_bit *is_idle = &row_of((unsigned)arg->Operation)->is_idle;
    uint32_t word;

    if (!is_idle->mask)
        return;
    word = word_at(arg, is_idle->offset) | is_idle->mask;
    memcpy((uint8_t *)arg + is_idle->offset, &word, sizeof word);
}

bool miniport_operation_is_end(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct miniport_bit *is_end = &row_of((unsigned)arg->Operation)->is_end;

    return !is_end->mask || (word_at(arg, is_end->offset) & is_end->mask);
}

uint64_t miniport_operation_most_aimless(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return AIMLESS_AT_LEAST + AIMLESS_A_UNIT * miniport_operation_units(arg);
}
