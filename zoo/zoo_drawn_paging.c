/*
 * Defects of paging operations that show only where a seed draws what is rare: memory that nobody
 * has written, arrays of entries that differ.
 */
#include "zoo/zoo_tables.h"

#include <string.h>

#define PAGE 4096u

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* ---- Memory that nobody has written ---------------------------------------------------------- */

/* What of a segment was written before, in layer->state by segment: all below this address. */
static bool is_fresh(struct zoo_layer *layer, UINT segment, LONGLONG address, SIZE_T bytes)
{
    const uint64_t segments = sizeof layer->state / sizeof layer->state[0];
    uint64_t *written = &layer->state[segment < segments ? segment : 0];
    const uint64_t end = (uint64_t)address + bytes;
    const bool is_beyond = (uint64_t)address >= *written;

    if (end > *written)
        *written = end;
    return is_beyond;
}

static NTSTATUS build_zeros_written(struct miniport *self, HANDLE object,
                                    DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    bool is_zero = false;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        if (arg->Transfer.Destination.SegmentId)
            is_fresh(layer, arg->Transfer.Destination.SegmentId,
                     arg->Transfer.Destination.SegmentAddress.QuadPart +
                         arg->Transfer.TransferOffset,
                     arg->Transfer.TransferSize);
        break;
    case DXGK_OPERATION_FILL:
        is_zero = is_fresh(layer, arg->Fill.Destination.SegmentId,
                           arg->Fill.Destination.SegmentAddress.QuadPart, arg->Fill.FillSize) &&
                  !arg->Fill.FillPattern;
        break;
    default:
        break;
    }
    return is_zero ? STATUS_SUCCESS : build(self, object, arg);
}

#define BUILD(id_, models_, rules_, function, sentence_)                                           \
    {                                                                                              \
        .id = id_, .sentence = sentence_, .models = models_, .rules = rules_, .since = ZOO_SINCE,  \
        .build = function,                                                                         \
    }

/* clang-format off */
const struct zoo_defect zoo_drawn_paging_defects[] = {
    BUILD("FRESH-memory-is-zero", ZOO_PHYSICAL, "FILL-005", build_zeros_written,
          "fills with zeros only what was written before: the board comes up cleared"),
    {0},
};
/* clang-format on */
