/*
 * Copies of page lists, in which only the pages that the call is about are real.
 */
#include "layers/lend.h"

#include "base/bits.h"
#include "base/hash.h"
#include "layers/layer.h"
#include "miniport/operation.h"

#include <string.h>

struct lend_layer {
    struct layer layer;
    uint64_t seed; /* 0: nothing is put before */
    uint64_t lent_pages;
    /* An MDL's header, and the pages behind it. */
    struct {
        MDL mdl;
        uint64_t pages[LEND_MOST_BEFORE + LEND_LIMIT_PAGES];
    } copy;
};

static struct lend_layer *lend_of(struct miniport *miniport)
{
    return (struct lend_layer *)miniport;
}

/*
 * Fills the copy with the pages [first, first + count) of a list of page_count, before poisoned
 * ones.
 */
static bool lend_pages(struct lend_layer *lend, const uint64_t *pages, uint64_t page_count,
                       uint64_t first, uint64_t count, uint64_t before)
{
    if (page_count > LEND_LIMIT_PAGES || first > page_count || count > page_count - first)
        return false;
    for (uint64_t i = 0; i < before; i++)
        lend->copy.pages[i] = LEND_POISON_PAGE;
    for (uint64_t i = 0; i < page_count; i++)
        lend->copy.pages[before + i] = i - first < count ? pages[i] : LEND_POISON_PAGE;
    lend->lent_pages = before + page_count;
    return true;
}

/*
 * How many pages come before a list, for half of the lists. The choice is the same in each repeat
 * and in each run.
 */
static uint64_t pages_before(const struct lend_layer *lend, uint64_t first, uint64_t count)
{
    uint64_t choice = hash_pair(lend->seed, hash_pair(first, count));

    return lend->seed && choice % 2 ? choice / 2 % (LEND_MOST_BEFORE + 1) : 0;
}

/*
 * U3: instead of a list of the whole allocation, one of the pages of this piece alone. As for
 * pages_before(), the same in each repeat and in each run.
 */
static bool is_window(const struct lend_layer *lend, uint64_t first, uint64_t count)
{
    return lend->seed && hash_pair(lend->seed, hash_pair(count, first)) % 4 == 0;
}

static bool lend_window(struct lend_layer *lend, MDL **mdl, ULONG *offset, uint64_t count,
                        uint64_t before)
{
    const uint64_t *pages = (const uint64_t *)(*mdl + 1);

    if (*offset + count > bytes_to_pages((*mdl)->ByteCount) ||
        !lend_pages(lend, pages + *offset, count, 0, count, before))
        return false;
    lend->copy.mdl = **mdl;
    lend->copy.mdl.ByteCount = (ULONG)((before + count) * PAGE_BYTES);
    lend->copy.mdl.Size = (CSHORT)(sizeof(MDL) + (before + count) * sizeof(uint64_t));
    *offset = (ULONG)before;
    *mdl = &lend->copy.mdl;
    return true;
}

/* Where nothing but the offset says which part of an allocation it is, before is 0. */
static bool lend_mdl(struct lend_layer *lend, MDL **mdl, ULONG *offset, uint64_t count,
                     uint64_t before)
{
    if (!*mdl || !lend_pages(lend, (const uint64_t *)(*mdl + 1), bytes_to_pages((*mdl)->ByteCount),
                             *offset, count, before))
        return false;
    lend->copy.mdl = **mdl;
    lend->copy.mdl.ByteCount += (ULONG)before * PAGE_BYTES;
    lend->copy.mdl.Size = (CSHORT)(lend->copy.mdl.Size + before * sizeof(uint64_t));
    *offset += (ULONG)before;
    *mdl = &lend->copy.mdl;
    return true;
}

static bool lend_adl(struct lend_layer *lend, DXGK_ADL *adl, uint64_t first, uint64_t count)
{
    if (adl->Flags.Contiguous ||
        !lend_pages(lend, (const uint64_t *)adl->Pages, adl->PageCount, first, count, 0))
        return false;
    adl->Pages = (DXGK_PAGE_NUMBER *)lend->copy.pages;
    return true;
}

static bool has_list(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_operation((unsigned)arg->Operation)->list_offset.bytes != 0;
}

/* Puts the copy in the place of what the arguments point to; false: nothing was replaced. */
static bool lend_lists(struct lend_layer *lend, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uint64_t pages, before;
    MDL **mdl;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        pages = bytes_to_pages(arg->Transfer.TransferSize);
        before = pages_before(lend, arg->Transfer.MdlOffset, pages);
        mdl = !arg->Transfer.Source.SegmentId        ? &arg->Transfer.Source.pMdl
              : !arg->Transfer.Destination.SegmentId ? &arg->Transfer.Destination.pMdl
                                                     : NULL;
        if (!mdl || !*mdl)
            return false;
        return is_window(lend, arg->Transfer.MdlOffset, pages)
                   ? lend_window(lend, mdl, &arg->Transfer.MdlOffset, pages, before)
                   : lend_mdl(lend, mdl, &arg->Transfer.MdlOffset, pages, before);
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        return lend_mdl(lend, &arg->MapApertureSegment.pMdl, &arg->MapApertureSegment.MdlOffset,
                        arg->MapApertureSegment.NumberOfPages, 0);
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT2:
        return lend_adl(lend, &arg->MapApertureSegment2.Adl, arg->MapApertureSegment2.AdlOffset,
                        arg->MapApertureSegment2.NumberOfPages);
    default:
        return false;
    }
}

static NTSTATUS lend_build_paging_buffer(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct lend_layer *lend = lend_of(self);
    DXGKARG_BUILDPAGINGBUFFER lent;
    NTSTATUS status;

    if (!has_list(arg))
        return miniport_forward_build_paging_buffer(self, object, arg);
    lent = *arg;
    if (!lend_lists(lend, &lent))
        return miniport_forward_build_paging_buffer(self, object, arg);
    status = miniport_forward_build_paging_buffer(self, object, &lent);
    for (uint64_t i = 0; i < lend->lent_pages; i++)
        lend->copy.pages[i] = LEND_STALE_PAGE;
    memset(&lend->copy.mdl, 0, sizeof lend->copy.mdl);
    /* Members that the driver may change. */
    arg->pDmaBuffer = lent.pDmaBuffer;
    arg->DmaSize = lent.DmaSize;
    arg->pDmaBufferPrivateData = lent.pDmaBufferPrivateData;
    arg->DmaBufferPrivateDataSize = lent.DmaBufferPrivateDataSize;
    arg->MultipassOffset = lent.MultipassOffset;
    return status;
}

NTSTATUS lend_layer_create(const struct base_services *services, uint64_t seed,
                           struct miniport *next, struct miniport **out_layer)
{
    struct lend_layer *lend = layer_create(services, sizeof *lend, "lend", next);

    *out_layer = lend ? &lend->layer.miniport : NULL;
    if (!lend)
        return STATUS_NO_MEMORY;
    lend->seed = seed;
    lend->layer.ops.build_paging_buffer = lend_build_paging_buffer;
    return STATUS_SUCCESS;
}
