#include "bench/exec/client_rules_own.h"

#include "base/bits.h"

#include <inttypes.h>

/* The page of a fence's value is the system's. */
static const struct seen_object *fence_in(const struct seen_process *process, uint64_t start,
                                          uint64_t end)
{
    const struct seen_object *fence;

    list_for_each (fence, &process->fences, struct seen_object, link) {
        const uint64_t page = align_down(PLAIN_ADDRESS(fence->va), 4096);

        if (!fence->is_destroyed && fence->va && page < end && page + 4096 > start)
            return fence;
    }
    return NULL;
}

static void check_limits(struct client_rules *rules, uint64_t base, uint64_t minimum,
                         uint64_t maximum, uint64_t bytes)
{
    if (!base && maximum &&
        (PLAIN_ADDRESS(maximum) <= PLAIN_ADDRESS(minimum) ||
         bytes > PLAIN_ADDRESS(maximum) - PLAIN_ADDRESS(minimum)))
        client_rules_break(rules, CLIENT_RULE_NO_ROOM_BETWEEN,
                           "0x%" PRIx64 " bytes between 0x%" PRIx64
                           " and {@MaximumAddress} {0x%" PRIx64 "}{=~room for the range~}",
                           bytes, minimum, maximum);
}

/* What is mapped there: it goes when work that uses it has ended, and for no Zero or NoAccess. */
static void check_covered(struct client_rules *rules, uint64_t start, uint64_t end, bool is_none)
{
    for (size_t i = 0; i < rules->process->mapping_count; i++) {
        const struct seen_mapping *mapping = &rules->process->mappings[i];

        if (mapping->start >= end || mapping->end <= start)
            continue;
        if (is_none)
            client_rules_break(rules, CLIENT_RULE_ZERO_OVER_ALLOCATION,
                               "a%u is mapped at 0x%" PRIx64, mapping->allocation->number,
                               mapping->start);
        else if (client_rules_is_running(&mapping->used))
            client_rules_break(rules, CLIENT_RULE_ADDRESS_IN_USE,
                               "0x%" PRIx64 " is used by work of c%u that has not ended",
                               mapping->start, mapping->used.context->number);
    }
}

void client_rules_map(struct client_rules *rules, const D3DDDI_MAPGPUVIRTUALADDRESS *arguments)
{
    const struct seen_object *allocation = client_rules_find(rules, arguments->hAllocation);
    const uint64_t pages = allocation ? allocation->bytes / 4096 : 0;
    const uint64_t start = PLAIN_ADDRESS(arguments->BaseAddress);
    const uint64_t bytes = arguments->SizeInPages * 4096, end = start + bytes;
    const struct seen_object *fence = start ? fence_in(rules->process, start, end) : NULL;

    if (arguments->BaseAddress % 4096 ||
        (!arguments->BaseAddress && arguments->MinimumAddress % 4096))
        client_rules_break(rules, CLIENT_RULE_MAP_ALIGNMENT,
                           "{@BaseAddress} {0x%" PRIx64 "}, MinimumAddress 0x%" PRIx64
                           "{=~multiples of 0x1000~}",
                           (uint64_t)arguments->BaseAddress, (uint64_t)arguments->MinimumAddress);
    if (pages && (arguments->OffsetInPages > pages ||
                  arguments->SizeInPages > pages - arguments->OffsetInPages))
        client_rules_break(rules, CLIENT_RULE_MAP_RANGE,
                           "{@~SizeInPages~}pages {%" PRIu64 " + %" PRIu64
                           "} of a%u, which has {=~at most ~%" PRIu64 "}",
                           (uint64_t)arguments->OffsetInPages, (uint64_t)arguments->SizeInPages,
                           allocation->number, pages);
    check_limits(rules, arguments->BaseAddress, arguments->MinimumAddress,
                 arguments->MaximumAddress, bytes);
    if (fence)
        client_rules_break(rules, CLIENT_RULE_MAP_OVER_SYSTEM,
                           "{@BaseAddress} {0x%" PRIx64 "} is over fence %u{=~free, or the "
                           "client's~}",
                           start, fence->number);
    else if (start)
        check_covered(rules, start, end,
                      arguments->Protection.Zero || arguments->Protection.NoAccess);
}

void client_rules_reserve(struct client_rules *rules,
                          const D3DDDI_RESERVEGPUVIRTUALADDRESS *arguments)
{
    const uint64_t start = PLAIN_ADDRESS(arguments->BaseAddress), end = start + arguments->Size;
    bool is_taken = false;

    check_limits(rules, start, arguments->MinimumAddress, arguments->MaximumAddress,
                 arguments->Size);
    for (size_t i = 0; start && i < rules->process->mapping_count; i++)
        is_taken |=
            rules->process->mappings[i].start < end && rules->process->mappings[i].end > start;
    if (start && (is_taken || fence_in(rules->process, start, end) ||
                  seen_ranges_touch(&rules->process->reserved, start, end)))
        client_rules_break(rules, CLIENT_RULE_RESERVE_TWICE,
                           "{@BaseAddress} {0x%" PRIx64 "} + 0x%" PRIx64
                           " is in use{=~a free range~}",
                           start, (uint64_t)arguments->Size);
}

static void check_tiles(struct client_rules *rules, uint64_t address, uint64_t bytes)
{
    const uint64_t start = PLAIN_ADDRESS(address);

    if (bytes && !seen_ranges_cover(&rules->process->reserved, start, start + bytes))
        client_rules_break(rules, CLIENT_RULE_TILES_NOT_RESERVED,
                           "0x%" PRIx64 " + 0x%" PRIx64 " is not reserved", start, bytes);
}

void client_rules_tiles(struct client_rules *rules, const D3DKMT_UPDATEGPUVIRTUALADDRESS *arguments)
{
    for (UINT i = 0; arguments->Operations && i < arguments->NumOperations; i++) {
        const D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operation = &arguments->Operations[i];

        switch (operation->OperationType) {
        case D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP:
        case D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT:
            check_tiles(rules, operation->Map.BaseAddress, operation->Map.SizeInBytes);
            break;
        case D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP:
            check_tiles(rules, operation->Unmap.BaseAddress, operation->Unmap.SizeInBytes);
            break;
        case D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY:
            check_tiles(rules, operation->Copy.SourceAddress, operation->Copy.SizeInBytes);
            check_tiles(rules, operation->Copy.DestAddress, operation->Copy.SizeInBytes);
            break;
        default:
            break;
        }
    }
}

void client_rules_free_addresses(struct client_rules *rules,
                                 const D3DKMT_FREEGPUVIRTUALADDRESS *arguments)
{
    const uint64_t start = PLAIN_ADDRESS(arguments->BaseAddress), end = start + arguments->Size;

    if ((arguments->BaseAddress | arguments->Size) % 4096)
        client_rules_break(rules, CLIENT_RULE_FREE_ALIGNMENT,
                           "{@BaseAddress} {0x%" PRIx64 "}, Size 0x%" PRIx64
                           "{=~multiples of 0x1000~}",
                           (uint64_t)arguments->BaseAddress, (uint64_t)arguments->Size);
    else if (arguments->Size && !seen_ranges_touch(&rules->process->given, start, end))
        client_rules_break(rules, CLIENT_RULE_FREE_NOTHING,
                           "0x%" PRIx64 " + 0x%" PRIx64 " was neither reserved nor mapped", start,
                           (uint64_t)arguments->Size);
    for (size_t i = 0; i < rules->process->mapping_count; i++) {
        const struct seen_mapping *mapping = &rules->process->mappings[i];

        if (mapping->start < end && mapping->end > start && client_rules_is_running(&mapping->used))
            client_rules_break(rules, CLIENT_RULE_FREE_IN_USE,
                               "0x%" PRIx64 " is used by work of c%u that has not ended",
                               mapping->start, mapping->used.context->number);
    }
}
