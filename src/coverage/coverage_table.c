/*
 * Coverage: the members, which of several alternatives is meant, and the members that cannot be
 * covered.
 *
 * A reason is a fact about the contract or about this bench, in one sentence; "not written yet" is
 * none.
 */
#include "coverage/coverage_private.h"

#include "base/bits.h"

#include <string.h>

const struct coverage_member coverage_members[] = {
#define MEMBER(...) {__VA_ARGS__},
#include "ddi_members.inc"
#undef MEMBER
};
const unsigned coverage_members_count = ARRAY_COUNT(coverage_members);

/* ---- Alternatives ---------------------------------------------------------------------------- */

typedef bool meaning(const void *structure, const DXGKARG_BUILDPAGINGBUFFER *around);

static bool never(const void *structure, const DXGKARG_BUILDPAGINGBUFFER *around)
{
    return false;
}

static bool entry_is_leaf(const void *structure, const DXGKARG_BUILDPAGINGBUFFER *around)
{
    return around->UpdatePageTable.PageTableLevel == 0;
}

static bool entry_is_link(const void *structure, const DXGKARG_BUILDPAGINGBUFFER *around)
{
    return around->UpdatePageTable.PageTableLevel != 0;
}

static bool segment_has_window(const void *structure, const DXGKARG_BUILDPAGINGBUFFER *around)
{
    return !((const DXGK_SEGMENTDESCRIPTOR4 *)structure)->Flags.SupportsCpuHostAperture;
}

static bool segment_has_host_aperture(const void *structure,
                                      const DXGKARG_BUILDPAGINGBUFFER *around)
{
    return ((const DXGK_SEGMENTDESCRIPTOR4 *)structure)->Flags.SupportsCpuHostAperture;
}

/*
 * Alternatives that are not decided by a word of the same structure. A name that ends in '.' stands
 * for all members under it.
 */
static const struct alternative {
    unsigned group;
    const char *name;
    meaning *is_meant;
} alternatives[] = {
    {COVERAGE_PTE, "PageAddress", entry_is_leaf},
    {COVERAGE_PTE, "PageTableAddress", entry_is_link},
    {COVERAGE_PATCH, "hDevice", never},
    {COVERAGE_ALLOCATION_LIST, "VirtualAddress", never},
    {COVERAGE_SEGMENT4, "CpuTranslatedAddress", segment_has_window},
    {COVERAGE_SEGMENT4, "CpuHostAperture.", segment_has_host_aperture},
};

static bool name_is_under(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);

    return pattern[length - 1] == '.' ? strncmp(name, pattern, length) == 0
                                      : strcmp(name, pattern) == 0;
}

static const struct alternative *find_alternative(const struct coverage_member *member)
{
    for (size_t i = 0; i < ARRAY_COUNT(alternatives); i++) {
        if (alternatives[i].group == member->group &&
            name_is_under(member->name, alternatives[i].name))
            return &alternatives[i];
    }
    return NULL;
}

bool coverage_member_is_meant(const struct coverage_member *member, const void *structure,
                              const DXGKARG_BUILDPAGINGBUFFER *around)
{
    const struct alternative *alternative;

    if (member->when_bytes)
        return (coverage_word_at(structure, member->when, member->when_bytes) ==
                member->when_value) == member->is_equal;
    alternative = find_alternative(member);
    return !alternative || alternative->is_meant(structure, around);
}

bool coverage_member_is_always_meant(const struct coverage_member *member)
{
    return !member->when_bytes && !find_alternative(member);
}

/* ---- Reasons --------------------------------------------------------------------------------- */

#define WHOLE_ROWS                                                                                 \
    "the same in all commands: surfaces are as wide as a page, and rows are drawn whole"

static const struct reason {
    unsigned group;
    const char *name;
    const char *text;
} reasons[] = {
    {DXGK_OPERATION_UPDATE_PAGE_TABLE, "Flags.NativeFence",
     "its page has the name alone: said of the entries that map a fence's values, or of a table "
     "that has only such entries; no page table maps a fence here"},
    {COVERAGE_SEGMENT4, "Flags.Agp",
     "there is no AGP segment from WDDM 2.0 on: a driver that reports one does not start "
     "(BANK-006)"},
    {COVERAGE_SEGMENT4, "Flags.UseBanking",
     "this descriptor has no table of banks, so that no driver can use them"},
    {COVERAGE_SEGMENT4, "Flags.PitchAlignment",
     "PitchAlignedSize is of WDDM 1, whose descriptors this is not (XFER-018)"},
    {COVERAGE_SEGMENT4, "CpuHostAperture.PhysicalAddress",
     "the bus address of BAR 1, for which the modelled machine has one place"},
    {COVERAGE_PATCH, "hDevice",
     "shares its place with hContext, which is what a driver with contexts is given; one without "
     "(WDDM 1.0) gets the device there"},
    {COVERAGE_PTE, "PhysicalAdapterIndex",
     "names another adapter of a link; the adapter modelled is one, whose index is 0"},
    {COVERAGE_RENDER, "pDmaBufferPrivateData",
     "the driver asks for no private data of client DMA buffers: nothing has to outlive Render"},
    {COVERAGE_RENDER, "DmaBufferPrivateDataSize",
     "0: the driver asks for no private data of client DMA buffers"},
    {COVERAGE_RENDER, "PatchLocationListOutSize",
     "what the driver declares for its contexts, which is one number"},
    {COVERAGE_RENDER, "pPatchLocationListIn",
     "the client's commands hold all that the driver's own list is made of"},
    {COVERAGE_RENDER, "PatchLocationListInSize",
     "the client's commands hold all that the driver's own list is made of"},
    {COVERAGE_RENDER_GDI, "pDmaBufferPrivateData",
     "the driver asks for no private data of client DMA buffers: nothing has to outlive the call"},
    {COVERAGE_RENDER_GDI, "DmaBufferPrivateDataSize",
     "0: the driver asks for no private data of client DMA buffers"},
    {COVERAGE_RENDER_GDI, "DmaBufferGpuVirtualAddress",
     "the driver's commands do not name the buffer that they stand in"},
    {COVERAGE_DRAWING, "Command.BitBlt.SrcRect.left", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.BitBlt.SrcRect.right", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.BitBlt.DstRect.left", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.BitBlt.DstRect.right", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.BitBlt.SrcPitch", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.BitBlt.DstPitch", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.BitBlt.Rop", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.BitBlt.Rop3", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.ColorFill.DstRect.left", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.ColorFill.DstRect.right", WHOLE_ROWS},
    {COVERAGE_DRAWING, "Command.ColorFill.DstAllocationIndex",
     "0: a fill has one surface, and the list has what the commands refer to"},
    {COVERAGE_DRAWING, "Command.ColorFill.Rop", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.ColorFill.Rop3", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.AlphaBlend.", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.StretchBlt.", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.TransparentBlt.", COVERAGE_NO_RASTER},
    {COVERAGE_DRAWING, "Command.ClearTypeBlend.", COVERAGE_NO_RASTER},
    {COVERAGE_PATCH, "EngineOrdinal", "0: its page reserves it (CALL-001)"},
    {COVERAGE_PATCH_LOCATION_LIST, "SlotId",
     "the driver's commands name allocations by their place in the list and have no slots"},
    {COVERAGE_PATCH_LOCATION_LIST, "DriverId",
     "the driver's own name for a location, which it needs none of and nobody else reads"},
    {COVERAGE_PATCH_LOCATION_LIST, "SplitOffset",
     "no use for the driver in Patch: it is what the driver tells the system"},
    {COVERAGE_ALLOCATION_LIST, "VirtualAddress",
     "shares its place with PhysicalAddress; nothing is patched where addresses are virtual"},
};

static bool is_reserved(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;

    return strncmp(last, "Reserved", 8) == 0 || strncmp(last, "Padding", 7) == 0 ||
           strncmp(last, "SystemReserved", 14) == 0;
}

/* Bits that have no name before a version: who sets them does not start (SEG-014). */
static bool is_newer_flag(const struct coverage_member *member)
{
    return strncmp(member->name, "Flags.", 6) == 0 &&
           ((member->group == COVERAGE_SEGMENT && member->first_bit >= 7) ||
            (member->group == COVERAGE_SEGMENT3 && member->first_bit >= 11));
}

const char *coverage_member_reason(const struct coverage_member *member)
{
    /* The same structure, from the same buffers. */
    unsigned group = member->group == COVERAGE_RENDER_KM ? COVERAGE_RENDER : member->group;

    if (is_reserved(member->name))
        return "reserved: zero in every call (CALL-001, CALL-002)";
    if (member->group >= COVERAGE_COLLECT)
        return "of a call that is not watched: the arms tell what it said";
    if (member->group >= COVERAGE_MEMORY_OBJECT)
        return "of a request, which a driver fills in as it likes: the arms tell what it asked for";
    if (is_newer_flag(member))
        return "has no name in the versions that use this descriptor: a driver that sets it does "
               "not "
               "start (SEG-014)";
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++) {
        if (reasons[i].group == group && name_is_under(member->name, reasons[i].name))
            return reasons[i].text;
    }
    return NULL;
}
