#include "miniport/lend.h"
#include "miniport/probe.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A bottom that looks at what it is given. */
struct seen {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    unsigned calls, unknown;
    ULONG offset;
    PFN_NUMBER pages[32];
    ULONG page_count;
    UINT moves; /* how far it moves the pointer for what it does not know */
};

static NTSTATUS see_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct seen *seen = (struct seen *)self;

    if (arg->Operation >= MINIPORT_OPERATION_COUNT) {
        seen->unknown++;
        arg->pDmaBuffer = (char *)arg->pDmaBuffer + seen->moves;
        return STATUS_SUCCESS;
    }
    seen->calls++;
    if (arg->Operation == DXGK_OPERATION_TRANSFER) {
        const MDL *mdl = arg->Transfer.Destination.pMdl;

        seen->offset = arg->Transfer.MdlOffset;
        seen->page_count = mdl->ByteCount / PAGE_BYTES;
        memcpy(seen->pages, MmGetMdlPfnArray(mdl), seen->page_count * sizeof seen->pages[0]);
    }
    return STATUS_SUCCESS;
}

static void see_nothing(struct miniport *self)
{
}

static void init_seen(struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
    seen->ops = miniport_forward_ops;
    seen->ops.build_paging_buffer = see_build;
    seen->ops.destroy = see_nothing;
    seen->miniport.ops = &seen->ops;
}

static void the_driver_finds_its_pages_where_the_offset_says(void **state)
{
    struct {
        MDL head;
        PFN_NUMBER pages[8];
    } list = {.head.ByteCount = 8 * PAGE_BYTES, .head.Size = sizeof list};
    unsigned shifted = 0;

    for (unsigned i = 0; i < 8; i++)
        list.pages[i] = 100 + i;
    for (uint64_t seed = 0; seed < 64; seed++) {
        struct seen seen;
        struct miniport *lend;
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

        init_seen(&seen);
        assert_int_equal(miniport_lend_create(base_services_libc(), seed, &seen.miniport, &lend),
                         0);
        arg.Transfer.Source.SegmentId = 1;
        arg.Transfer.TransferSize = 3 * PAGE_BYTES;
        arg.Transfer.MdlOffset = 2;
        arg.Transfer.Destination.pMdl = &list.head;
        assert_int_equal(miniport_build_paging_buffer(lend, NULL, &arg), STATUS_SUCCESS);
        assert_true(seen.offset >= 2 && seen.offset <= 2 + LEND_MOST_BEFORE);
        assert_int_equal(seen.page_count, 8 + seen.offset - 2);
        for (ULONG i = 0; i < seen.page_count; i++) {
            if (i >= seen.offset && i < seen.offset + 3)
                assert_int_equal(seen.pages[i], 102 + i - seen.offset);
            else
                assert_int_equal(seen.pages[i], LEND_POISON_PAGE);
        }
        assert_int_equal(arg.Transfer.MdlOffset, 2); /* the kernel's own is untouched */
        if (seed == 0)
            assert_int_equal(seen.offset, 2);
        shifted += seen.offset != 2;
        miniport_destroy(lend);
    }
    assert_true(shifted > 16);
}

static void a_probe_leaves_no_trace(void **state)
{
    struct seen seen;
    struct miniport *probe;
    char buffer[4096];

    init_seen(&seen);
    seen.moves = 64;
    assert_int_equal(miniport_probe_create(base_services_libc(), 7, &seen.miniport, &probe), 0);
    for (unsigned i = 0; i < 1000; i++) {
        DXGKARG_BUILDPAGINGBUFFER arg = {
            .Operation = DXGK_OPERATION_FILL, .pDmaBuffer = buffer, .DmaSize = sizeof buffer};

        assert_int_equal(miniport_build_paging_buffer(probe, NULL, &arg), STATUS_SUCCESS);
        assert_ptr_equal(arg.pDmaBuffer, buffer);
    }
    assert_int_equal(seen.calls, 1000);
    assert_in_range(seen.unknown, 5, 60);
    miniport_destroy(probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_finds_its_pages_where_the_offset_says),
        cmocka_unit_test(a_probe_leaves_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
