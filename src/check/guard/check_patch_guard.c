#include "check/guard/check_patch_guard.h"

#include "base/bits.h"
#include "check/guard/guard_map.h"

#include <string.h>

#define PAGE         GUARD_PAGE
#define POISONED     (PAGE / 2) /* from the end of the buffer on */
#define ADDRESS_BITS 8u         /* bytes of an address, at most */
#define POISON       0xdead000u /* offset in an allocation that has no such place */
#define LIST_MOST    (1u << 16) /* locations that are copied */

void patch_guard_fini(struct patch_guard *guard, const struct base_services *services)
{
    guard_map_give(guard->map, guard->map_bytes);
    base_free_array(services, guard->list, guard->list_capacity, sizeof *guard->list);
    memset(guard, 0, sizeof *guard);
}

static bool make_map(struct patch_guard *guard, size_t size)
{
    size_t bytes = align_up(size, PAGE) + 5 * PAGE, map_bytes;
    char *map;

    if (guard->map && guard->map_bytes >= bytes)
        return true;
    map = guard_map_take(bytes, GUARD_FILL, &map_bytes);
    if (!map)
        return false;
    guard_map_give(guard->map, guard->map_bytes);
    guard->map = map;
    guard->map_bytes = map_bytes;
    return true;
}

static bool make_list(struct patch_guard *guard, const struct base_services *services, size_t count)
{
    D3DDDI_PATCHLOCATIONLIST *list;

    if (guard->list_capacity >= count)
        return true;
    list = base_alloc_array(services, count, sizeof *list);
    if (!list)
        return false;
    base_free_array(services, guard->list, guard->list_capacity, sizeof *guard->list);
    guard->list = list;
    guard->list_capacity = count;
    return true;
}

static bool is_processed(const DXGKARG_PATCH *patch, uint32_t index)
{
    return index >= patch->PatchLocationListSubmissionStart &&
           index - patch->PatchLocationListSubmissionStart <
               patch->PatchLocationListSubmissionLength;
}

static void poison_list(struct patch_guard *guard, const DXGKARG_PATCH *real)
{
    for (uint32_t i = 0; i < real->PatchLocationListSize; i++) {
        guard->list[i] = real->pPatchLocationList[i];
        if (is_processed(real, i))
            continue;
        guard->list[i].AllocationIndex = 0;
        guard->list[i].AllocationOffset = POISON;
        guard->list[i].PatchOffset =
            real->DmaBufferSize + POISONED + i * ADDRESS_BITS % (POISONED - ADDRESS_BITS);
    }
}

static bool has_submission(const DXGKARG_PATCH *patch)
{
    return patch->pDmaBuffer && patch->DmaBufferSize <= GUARD_MOST_BYTES &&
           patch->DmaBufferSubmissionStartOffset <= patch->DmaBufferSubmissionEndOffset &&
           patch->DmaBufferSubmissionEndOffset <= patch->DmaBufferSize;
}

bool patch_guard_begin(struct patch_guard *guard, const struct base_services *services,
                       const DXGKARG_PATCH *real, DXGKARG_PATCH *out_lent)
{
    uint32_t start = real->DmaBufferSubmissionStartOffset;
    uint32_t end = real->DmaBufferSubmissionEndOffset;

    if (!has_submission(real) || real->PatchLocationListSize > LIST_MOST ||
        !make_map(guard, real->DmaBufferSize) ||
        !make_list(guard, services, real->PatchLocationListSize))
        return false;
    guard->copy = guard->map + 2 * PAGE + (uintptr_t)real->pDmaBuffer % PAGE;
    memcpy(guard->copy + start, (char *)real->pDmaBuffer + start, end - start);
    *out_lent = *real;
    out_lent->pDmaBuffer = guard->copy;
    if (real->PatchLocationListSize && real->pPatchLocationList) {
        poison_list(guard, real);
        out_lent->pPatchLocationList = guard->list;
    }
    return true;
}

/* The first byte from `from` on that is not fill; end: none. */
static const char *find_written(const char *from, const char *end)
{
    static const unsigned char fill[PAGE] = {[0 ... PAGE - 1] = GUARD_FILL};

    while (end - from >= (ptrdiff_t)sizeof fill && memcmp(from, fill, sizeof fill) == 0)
        from += sizeof fill;
    if (end - from < (ptrdiff_t)sizeof fill && memcmp(from, fill, (size_t)(end - from)) == 0)
        return end;
    while (from < end && (unsigned char)*from == GUARD_FILL)
        from++;
    return from;
}

void patch_guard_end(struct patch_guard *guard, const DXGKARG_PATCH *real,
                     struct patch_verdict *out_verdict)
{
    uint32_t start = real->DmaBufferSubmissionStartOffset;
    uint32_t end = real->DmaBufferSubmissionEndOffset;
    char *was = (char *)real->pDmaBuffer + start, *is = guard->copy + start;
    char *front = guard->map + PAGE;
    char *last = guard->copy + real->DmaBufferSize + PAGE;
    const char *written;

    *out_verdict = (struct patch_verdict){0};
    if (end > start && memcmp(was, is, end - start) != 0) {
        out_verdict->is_edited = true;
        while (was[out_verdict->edited_offset] == is[out_verdict->edited_offset])
            out_verdict->edited_offset++;
        out_verdict->edited_offset += start;
        memcpy(was, is, end - start);
    }
    memset(is, GUARD_FILL, end - start);
    written = find_written(front, last);
    if (written == last)
        return;
    out_verdict->is_outside = true;
    out_verdict->outside_offset = written - guard->copy;
    out_verdict->is_foreign =
        out_verdict->outside_offset >= (int64_t)real->DmaBufferSize + (int64_t)POISONED;
    memset(front, GUARD_FILL, (size_t)(last - front));
}

bool patch_guard_keep(struct patch_guard *guard, const DXGKARG_PATCH *real)
{
    if (!has_submission(real) || !make_map(guard, real->DmaBufferSize))
        return false;
    guard->copy = guard->map + 2 * PAGE;
    memcpy(guard->copy, real->pDmaBuffer, real->DmaBufferSize);
    return true;
}

/* The first of the bytes [from, end) that changed; end: none. */
static uint32_t find_changed(const struct patch_guard *guard, const DXGKARG_PATCH *real,
                             uint32_t from, uint32_t end)
{
    const char *was = guard->copy, *is = real->pDmaBuffer;

    if (from == end || memcmp(was + from, is + from, end - from) == 0)
        return end;
    while (was[from] == is[from])
        from++;
    return from;
}

void patch_guard_compare(const struct patch_guard *guard, const DXGKARG_PATCH *real,
                         struct patch_verdict *out_verdict)
{
    uint32_t start = real->DmaBufferSubmissionStartOffset;
    uint32_t end = real->DmaBufferSubmissionEndOffset;
    uint32_t in_front = find_changed(guard, real, 0, start);
    uint32_t behind = find_changed(guard, real, end, real->DmaBufferSize);

    *out_verdict = (struct patch_verdict){
        .is_kept = true,
        .is_outside = in_front < start || behind < real->DmaBufferSize,
        .outside_offset = in_front < start ? in_front : behind,
        .edited_offset = find_changed(guard, real, start, end),
    };
    out_verdict->is_edited = out_verdict->edited_offset < end;
}
