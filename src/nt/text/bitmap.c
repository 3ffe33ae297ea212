/*
 * Bitmaps. Memory is the driver's; a range that leaves the bitmap is cut, as its size says.
 */
#include "nt/nt_private.h"

#include <wdm/bitmap.h>

#define NOT_FOUND 0xffffffffu

static bool is_set(const RTL_BITMAP *map, ULONG bit)
{
    return map->Buffer[bit / 32] >> (bit % 32) & 1;
}

static void write_bit(PRTL_BITMAP map, ULONG bit, bool value)
{
    if (value)
        map->Buffer[bit / 32] |= 1u << (bit % 32);
    else
        map->Buffer[bit / 32] &= ~(1u << (bit % 32));
}

static void write_bits(PRTL_BITMAP map, ULONG start, ULONG count, bool value)
{
    for (ULONG i = 0; i < count && start + i < map->SizeOfBitMap; i++)
        write_bit(map, start + i, value);
}

VOID NTAPI RtlInitializeBitMap(PRTL_BITMAP Map, PULONG Buffer, ULONG Bits)
{
    Map->SizeOfBitMap = Bits;
    Map->Buffer = Buffer;
}

VOID NTAPI RtlClearAllBits(PRTL_BITMAP Map)
{
    for (ULONG i = 0; i < (Map->SizeOfBitMap + 31) / 32; i++)
        Map->Buffer[i] = 0;
}

VOID NTAPI RtlSetAllBits(PRTL_BITMAP Map)
{
    for (ULONG i = 0; i < (Map->SizeOfBitMap + 31) / 32; i++)
        Map->Buffer[i] = 0xffffffff;
}

VOID NTAPI RtlClearBit(PRTL_BITMAP Map, ULONG Bit)
{
    write_bit(Map, Bit, false);
}

VOID NTAPI RtlSetBit(PRTL_BITMAP Map, ULONG Bit)
{
    write_bit(Map, Bit, true);
}

BOOLEAN NTAPI RtlTestBit(PRTL_BITMAP Map, ULONG Bit)
{
    return is_set(Map, Bit);
}

VOID NTAPI RtlClearBits(PRTL_BITMAP Map, ULONG Start, ULONG Count)
{
    write_bits(Map, Start, Count, false);
}

VOID NTAPI RtlSetBits(PRTL_BITMAP Map, ULONG Start, ULONG Count)
{
    write_bits(Map, Start, Count, true);
}

/* How many bits from start on have the value, at most limit. */
static ULONG run_of(const RTL_BITMAP *map, ULONG start, ULONG limit, bool value)
{
    ULONG length = 0;

    while (length < limit && start + length < map->SizeOfBitMap &&
           is_set(map, start + length) == value)
        length++;
    return length;
}

static BOOLEAN are_bits(const RTL_BITMAP *map, ULONG start, ULONG count, bool value)
{
    return count && (uint64_t)start + count <= map->SizeOfBitMap &&
           run_of(map, start, count, value) == count;
}

BOOLEAN NTAPI RtlAreBitsClear(PRTL_BITMAP Map, ULONG Start, ULONG Count)
{
    return are_bits(Map, Start, Count, false);
}

BOOLEAN NTAPI RtlAreBitsSet(PRTL_BITMAP Map, ULONG Start, ULONG Count)
{
    return are_bits(Map, Start, Count, true);
}

ULONG NTAPI RtlNumberOfSetBits(PRTL_BITMAP Map)
{
    ULONG count = 0;

    for (ULONG i = 0; i < Map->SizeOfBitMap; i++)
        count += is_set(Map, i);
    return count;
}

ULONG NTAPI RtlNumberOfClearBits(PRTL_BITMAP Map)
{
    return Map->SizeOfBitMap - RtlNumberOfSetBits(Map);
}

static ULONG find_from(const RTL_BITMAP *map, ULONG start, ULONG count, bool value)
{
    while (start < map->SizeOfBitMap && count <= map->SizeOfBitMap - start) {
        ULONG length = run_of(map, start, count, value);

        if (length == count)
            return start;
        start += length + 1;
    }
    return NOT_FOUND;
}

/* A count of 0 finds the hint, rounded down to a byte of the map. */
static ULONG find(const RTL_BITMAP *map, ULONG count, ULONG hint, bool value)
{
    ULONG found;

    if (hint >= map->SizeOfBitMap)
        hint = 0;
    if (!count)
        return hint & ~7u;
    found = find_from(map, hint, count, value);
    return found == NOT_FOUND && hint ? find_from(map, 0, count, value) : found;
}

ULONG NTAPI RtlFindClearBits(PRTL_BITMAP Map, ULONG Count, ULONG Hint)
{
    return find(Map, Count, Hint, false);
}

ULONG NTAPI RtlFindSetBits(PRTL_BITMAP Map, ULONG Count, ULONG Hint)
{
    return find(Map, Count, Hint, true);
}

ULONG NTAPI RtlFindClearBitsAndSet(PRTL_BITMAP Map, ULONG Count, ULONG Hint)
{
    ULONG found = find(Map, Count, Hint, false);

    if (found != NOT_FOUND)
        write_bits(Map, found, Count, true);
    return found;
}

ULONG NTAPI RtlFindSetBitsAndClear(PRTL_BITMAP Map, ULONG Count, ULONG Hint)
{
    ULONG found = find(Map, Count, Hint, true);

    if (found != NOT_FOUND)
        write_bits(Map, found, Count, false);
    return found;
}

ULONG NTAPI RtlFindNextForwardRunClear(PRTL_BITMAP Map, ULONG From, PULONG Start)
{
    while (From < Map->SizeOfBitMap && is_set(Map, From))
        From++;
    *Start = From;
    return From < Map->SizeOfBitMap ? run_of(Map, From, Map->SizeOfBitMap - From, false) : 0;
}

ULONG NTAPI RtlFindFirstRunClear(PRTL_BITMAP Map, PULONG Start)
{
    return RtlFindNextForwardRunClear(Map, 0, Start);
}

ULONG NTAPI RtlFindLongestRunClear(PRTL_BITMAP Map, PULONG Start)
{
    ULONG longest = 0, at = 0, length;

    *Start = 0;
    for (ULONG from = 0; (length = RtlFindNextForwardRunClear(Map, from, &at)) != 0;
         from = at + length) {
        if (length > longest) {
            longest = length;
            *Start = at;
        }
    }
    return longest;
}

CCHAR NTAPI RtlFindMostSignificantBit(ULONGLONG Set)
{
    return Set ? (CCHAR)(63 - __builtin_clzll(Set)) : -1;
}

CCHAR NTAPI RtlFindLeastSignificantBit(ULONGLONG Set)
{
    return Set ? (CCHAR)__builtin_ctzll(Set) : -1;
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlInitializeBitMap),
    NT_SERVICE(RtlClearAllBits),
    NT_SERVICE(RtlSetAllBits),
    NT_SERVICE(RtlClearBit),
    NT_SERVICE(RtlSetBit),
    NT_SERVICE(RtlTestBit),
    NT_SERVICE(RtlClearBits),
    NT_SERVICE(RtlSetBits),
    NT_SERVICE(RtlAreBitsClear),
    NT_SERVICE(RtlAreBitsSet),
    NT_SERVICE(RtlNumberOfSetBits),
    NT_SERVICE(RtlNumberOfClearBits),
    NT_SERVICE(RtlFindClearBits),
    NT_SERVICE(RtlFindSetBits),
    NT_SERVICE(RtlFindClearBitsAndSet),
    NT_SERVICE(RtlFindSetBitsAndClear),
    NT_SERVICE(RtlFindNextForwardRunClear),
    NT_SERVICE(RtlFindFirstRunClear),
    NT_SERVICE(RtlFindLongestRunClear),
    NT_SERVICE(RtlFindMostSignificantBit),
    NT_SERVICE(RtlFindLeastSignificantBit),
    {0},
};

const struct nt_area nt_bitmap_area = {.exports = services};
