#include "check/guard/check_guard.h"

#include "base/bits.h"
#include "check/guard/guard_map.h"

#include <string.h>

#define PAGE              GUARD_PAGE
#define NEAR_BYTES        GUARD_NEAR_BYTES /* of a canary, looked at after every call */
#define PRIVATE_ALIGNMENT 64u              /* nobody asks for more of private data */
#define GAP_BYTES         8u /* fewer at the end may have been written so by the driver */

void guard_fini(struct guard *guard)
{
    guard_map_give(guard->map, guard->map_bytes);
    memset(guard, 0, sizeof *guard);
}

/* Canaries stand where the copy was, and will not be: at, of size bytes. */
static void leave_copy(struct guard *guard, char *at, size_t size)
{
    char *old = guard->copy, *old_end = old + guard->size, *end = at + size;

    if (old < at)
        memset(old, GUARD_CANARY, (size_t)((old_end < at ? old_end : at) - old));
    if (old_end > end)
        memset(old > end ? old : end, GUARD_CANARY, (size_t)(old_end - (old > end ? old : end)));
}

/*
 * A fresh copy of size bytes, as far behind a boundary of alignment as real is. Its bytes are
 * the caller's to write. Pages are mapped anew only when the old ones do not suffice.
 */
static bool make_copy(struct guard *guard, char *real, size_t size, size_t alignment)
{
    size_t skew = (uintptr_t)real % alignment;
    size_t bytes = align_up(skew + size, PAGE) + 4 * PAGE;

    if (!guard->map || guard->map_bytes < bytes) {
        guard_fini(guard);
        guard->map = guard_map_take(bytes, GUARD_CANARY, &guard->map_bytes);
        if (!guard->map)
            return false;
    } else {
        leave_copy(guard, guard->map + 2 * PAGE + skew, size);
    }
    guard->copy = guard->map + 2 * PAGE + skew;
    guard->real = real;
    guard->size = size;
    guard->used = 0;
    return true;
}

/* The driver's part of the copy as it is when the call returns. */
static void note_left(struct guard *guard, char *at, size_t bytes)
{
    guard->left_at = at;
    guard->left_whole = bytes;
    guard->left_bytes = min_u64(bytes, GUARD_LEFT_BYTES);
    memcpy(guard->left, at, guard->left_bytes);
}

bool guard_find_late(struct guard *guard, size_t *out_offset)
{
    size_t i = 0;

    if (!guard->left_bytes || memcmp(guard->left_at, guard->left, guard->left_bytes) == 0)
        return false;
    while (guard->left_at[i] == guard->left[i])
        i++;
    *out_offset = i;
    memcpy(guard->left_at, guard->left, guard->left_bytes);
    return true;
}

char *guard_begin(struct guard *guard, char *start, char *at, size_t bytes)
{
    size_t offset = (size_t)(at - start), size = offset + bytes;

    guard->left_bytes = 0;
    if (size > GUARD_MOST_BYTES || at < start)
        return NULL;
    if (guard->map && guard->size == size &&
        (uintptr_t)guard->real % PAGE == (uintptr_t)start % PAGE &&
        (guard->real != start || offset < guard->used)) {
        /* Another buffer of the same shape, or the same one anew. */
        memset(guard->copy, GUARD_FILL, guard->used);
        guard->used = 0;
        guard->real = start;
    }
    if (!guard->map || guard->real != start || guard->size != size) {
        if (!make_copy(guard, start, size, PAGE))
            return NULL;
        memset(guard->copy, GUARD_FILL, size);
    }
    if (guard->used < offset) { /* bytes that were written before are there */
        memcpy(guard->copy + guard->used, start + guard->used, offset - guard->used);
        guard->used = offset;
    }
    return guard->copy + offset;
}

static const unsigned char canaries[NEAR_BYTES] = {[0 ... NEAR_BYTES - 1] = GUARD_CANARY};
static const unsigned char fill[NEAR_BYTES] = {[0 ... NEAR_BYTES - 1] = GUARD_FILL};

/* Offset of the first byte that is not as wanted, bytes (NEAR_BYTES at most) if all are. */
static size_t find_other(const char *at, size_t bytes, const unsigned char *wanted)
{
    size_t i = 0;

    if (memcmp(at, wanted, bytes) == 0)
        return bytes;
    while ((unsigned char)at[i] == wanted[i])
        i++;
    return i;
}

/* The canaries of a copy whose driver's part, which ends at end, begins `lent` behind its start. */
static void look_around(struct guard *guard, size_t lent, char *end,
                        struct guard_verdict *out_verdict)
{
    size_t found = find_other(end, NEAR_BYTES, canaries);
    char *front = guard->copy - NEAR_BYTES;

    if (found < NEAR_BYTES) {
        out_verdict->is_behind = true;
        out_verdict->byte = end + found;
        out_verdict->behind_offset = found;
        memset(end, GUARD_CANARY, (size_t)(guard->map + guard->map_bytes - PAGE - end));
    }
    found = find_other(front, NEAR_BYTES, canaries);
    if (found < NEAR_BYTES) {
        out_verdict->is_before = true;
        out_verdict->byte = front + found;
        out_verdict->before_offset = lent + NEAR_BYTES - found;
        memset(guard->map + PAGE, GUARD_CANARY, (size_t)(guard->copy - (guard->map + PAGE)));
    }
}

/* What is at `at`, of which `said` bytes are said to be written, and was all fill. */
static void look_inside(char *at, size_t bytes, size_t said, struct guard_verdict *out_verdict)
{
    size_t unsaid = min_u64(bytes - said, NEAR_BYTES);
    size_t found = find_other(at + said, unsaid, fill);

    if (found < unsaid) {
        out_verdict->is_unsaid = true;
        out_verdict->byte = at + said + found;
        out_verdict->unsaid_offset = found;
        memset(at + said, GUARD_FILL, bytes - said);
    }
    while (out_verdict->gap_bytes < said &&
           (unsigned char)at[said - out_verdict->gap_bytes - 1] == GUARD_FILL)
        out_verdict->gap_bytes++;
    out_verdict->is_gap = out_verdict->gap_bytes >= GAP_BYTES;
}

static bool is_whole(const struct guard_verdict *verdict)
{
    return !verdict->is_unsaid && !verdict->is_behind && !verdict->is_before && !verdict->is_gap;
}

bool guard_end(struct guard *guard, char *at, size_t bytes, size_t written,
               struct guard_verdict *out_verdict)
{
    size_t offset = (size_t)(at - guard->real);
    char *copy = guard->copy + offset;
    size_t said = min_u64(written, bytes);

    *out_verdict = (struct guard_verdict){0};
    memcpy(at, copy, said);
    guard->used = max_u64(guard->used, offset + said);
    look_inside(copy, bytes, said, out_verdict);
    look_around(guard, 0, copy + bytes, out_verdict);
    note_left(guard, copy, bytes);
    return is_whole(out_verdict);
}

void guard_mark(const struct guard *guard, char *at, size_t bytes)
{
    if (at != guard->real || bytes != guard->size) { /* else the last call has left it so */
        memset(at, GUARD_FILL, bytes);
        memset(at + bytes, GUARD_CANARY, NEAR_BYTES);
    }
}

bool guard_look(struct guard *guard, char *at, size_t bytes, size_t written,
                struct guard_verdict *out_verdict)
{
    size_t said = min_u64(written, bytes);
    size_t found = find_other(at + bytes, NEAR_BYTES, canaries);

    *out_verdict = (struct guard_verdict){0};
    look_inside(at, bytes, said, out_verdict);
    if (found < NEAR_BYTES) {
        out_verdict->is_behind = true;
        out_verdict->byte = at + bytes + found;
        out_verdict->behind_offset = found;
        memset(at + bytes, GUARD_CANARY, NEAR_BYTES);
    }
    guard->real = at + said;
    guard->size = bytes - said;
    return is_whole(out_verdict);
}

char *guard_lend(struct guard *guard, char *real, size_t bytes)
{
    guard->left_bytes = 0;
    if (guard->is_shared && real == guard->real + guard->used &&
        bytes == guard->size - guard->used) {
        guard->lent = guard->used;
        return guard->copy + guard->lent;
    }
    guard_settle(guard);
    if (bytes > GUARD_MOST_BYTES)
        return NULL;
    if (!guard->map || guard->size != bytes ||
        (uintptr_t)guard->copy % PRIVATE_ALIGNMENT != (uintptr_t)real % PRIVATE_ALIGNMENT) {
        if (!make_copy(guard, real, bytes, PRIVATE_ALIGNMENT))
            return NULL;
    }
    guard->real = real;
    guard->used = guard->lent = 0;
    guard->is_shared = true;
    memcpy(guard->copy, real, bytes);
    return guard->copy;
}

/* What earlier calls moved over, in front of the part that was lent, is as it was then. */
static void look_at_earlier(struct guard *guard, struct guard_verdict *out_verdict)
{
    size_t near = min_u64(guard->lent, NEAR_BYTES), i = 0;
    char *copy = guard->copy + guard->lent - near;
    const char *real = guard->real + guard->lent - near;

    if (memcmp(copy, real, near) == 0)
        return;
    while (copy[i] == real[i])
        i++;
    out_verdict->is_before = true;
    out_verdict->byte = copy + i;
    out_verdict->before_offset = near - i;
    memcpy(copy, real, near);
}

bool guard_return(struct guard *guard, size_t moved, struct guard_verdict *out_verdict)
{
    *out_verdict = (struct guard_verdict){0};
    look_at_earlier(guard, out_verdict);
    look_around(guard, guard->lent, guard->copy + guard->size, out_verdict);
    if (moved > guard->size - guard->lent) {
        guard_settle(guard);
    } else {
        size_t shown = min_u64(max_u64(moved, GUARD_SHOWN_BYTES), guard->size - guard->lent);

        memcpy(guard->real + guard->lent, guard->copy + guard->lent, shown);
        guard->used = guard->lent + moved;
    }
    note_left(guard, guard->copy + guard->lent, guard->size - guard->lent);
    return !out_verdict->is_behind && !out_verdict->is_before;
}

void guard_settle(struct guard *guard)
{
    if (guard->is_shared)
        memcpy(guard->real + guard->used, guard->copy + guard->used, guard->size - guard->used);
    guard->is_shared = false;
}

bool guard_has_page(const struct guard *guard, const void *address, bool *out_is_before,
                    size_t *out_distance)
{
    const char *at = address;

    if (!guard->map || at < guard->map || at >= guard->map + guard->map_bytes)
        return false;
    *out_is_before = at < guard->map + PAGE;
    if (!*out_is_before && at < guard->map + guard->map_bytes - PAGE)
        return false;
    *out_distance = *out_is_before ? (size_t)(guard->copy + guard->lent - at)
                                   : (size_t)(at - (guard->copy + guard->size));
    return true;
}
