/* The area for what a driver saves of its own local memory, with and without an IOMMU. */
#include "nt/rig/test_fault.h"
#include "nt/rig/test_kernel.h"

#include "nt/memory/device_memory.h"
#include "nt/memory/save_area.h"

#include "base/bits.h"

#include <string.h>

#define AREA_BYTES (48 * PAGE_SIZE)

static const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE unpin;

static void *map(struct test_kernel *kernel, SIZE_T offset, SIZE_T bytes, SIZE_T *out_into)
{
    DXGKARGCB_MAPFRAMEBUFFERPOINTER arg = {.Size = bytes, .Offset = offset};

    assert_int_equal(nt_device_map_save_area(kernel->nt, &arg), STATUS_SUCCESS);
    *out_into = arg.Offset;
    return arg.pBaseAddress;
}

static NTSTATUS unmap(struct test_kernel *kernel, void *address)
{
    const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER arg = {.pBaseAddress = address};

    return nt_device_unmap_save_area(kernel->nt, &arg);
}

/* What is written as a whole is read in pieces, behind the unpin. */
static void the_area_keeps_what_is_in_it(void **state)
{
    struct test_kernel *kernel = *state;
    const uint64_t free_before = machine_free_page_count(kernel->machine);
    DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {.CommitSize = 40 * PAGE_SIZE};
    uint64_t left;
    SIZE_T into;
    uint8_t *view, *whole;

    assert_true(nt_set_save_area(kernel->nt, AREA_BYTES));
    assert_int_equal(machine_free_page_count(kernel->machine), free_before - 48);
    assert_int_equal(nt_device_memory_count(kernel->nt, &left), 0);
    assert_int_equal(nt_device_pin_save_area(kernel->nt, &pin), STATUS_SUCCESS);
    assert_int_equal(pin.pMdl->ByteCount, 40 * PAGE_SIZE);
    whole = MmGetSystemAddressForMdlSafe(pin.pMdl, NormalPagePriority);
    for (unsigned i = 0; i < 40; i++)
        whole[i * PAGE_SIZE] = (uint8_t)(i + 1);
    assert_int_equal(nt_device_unpin_save_area(kernel->nt, &unpin), STATUS_SUCCESS);
    assert_true(faults(whole));

    for (unsigned i = 0; i < 40; i++) {
        view = map(kernel, i * PAGE_SIZE, PAGE_SIZE, &into);
        assert_int_equal(into, i % 16 * PAGE_SIZE); /* views begin at 64 KiB */
        assert_int_equal(view[into], i + 1);
        assert_int_equal(unmap(kernel, view), STATUS_SUCCESS);
        assert_true(faults(view));
    }
    assert_true(nt_set_save_area(kernel->nt, 0));
    assert_int_equal(machine_free_page_count(kernel->machine), free_before);
}

static void what_cannot_be_is_refused(void **state)
{
    struct test_kernel *kernel = *state;
    const struct {
        UINT adapter;
        SIZE_T offset, bytes;
    } wrong[] = {
        {1, 0, PAGE_SIZE},
        {0, 0, 0},
        {0, 0, 100},
        {0, 0, AREA_BYTES + PAGE_SIZE},
    };
    const SIZE_T places[] = {100, AREA_BYTES, (SIZE_T)0 - PAGE_SIZE};

    for (unsigned has_area = 0; has_area < 2; has_area++) {
        assert_true(nt_set_save_area(kernel->nt, has_area ? AREA_BYTES : 0));
        for (unsigned i = 0; i < ARRAY_COUNT(wrong) + !has_area; i++) {
            const UINT adapter = i < ARRAY_COUNT(wrong) ? wrong[i].adapter : 0;
            const SIZE_T bytes = i < ARRAY_COUNT(wrong) ? wrong[i].bytes : PAGE_SIZE;
            DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {adapter, bytes, &(MDL){0}};
            DXGKARGCB_PINFRAMEBUFFERFORSAVE2 pin_2 = {.PhysicalAdapterIndex = adapter,
                                                      .CommitSize = bytes};
            DXGKARGCB_MAPFRAMEBUFFERPOINTER piece = {adapter, bytes, 0, kernel};

            assert_int_equal(nt_device_pin_save_area(kernel->nt, &pin), STATUS_INVALID_PARAMETER);
            assert_null(pin.pMdl);
            assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2),
                             STATUS_INVALID_PARAMETER);
            assert_int_equal(nt_device_map_save_area(kernel->nt, &piece), STATUS_INVALID_PARAMETER);
            assert_null(piece.pBaseAddress);
        }
        assert_int_equal(nt_device_unpin_save_area(kernel->nt, &unpin), STATUS_INVALID_PARAMETER);
        assert_int_equal(unmap(kernel, kernel), STATUS_INVALID_PARAMETER);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(places); i++) {
        DXGKARGCB_MAPFRAMEBUFFERPOINTER piece = {0, 2 * PAGE_SIZE, places[i], NULL};

        assert_int_equal(nt_device_map_save_area(kernel->nt, &piece), STATUS_INVALID_PARAMETER);
    }
    assert_false(nt_set_save_area(kernel->nt, UINT64_C(1) << 50));
    assert_int_equal(unmap(kernel, kernel), STATUS_INVALID_PARAMETER);
}

/* As an MDL or an ADL, not both; the other adapter of the chain has none. */
static void it_is_pinned_once(void **state)
{
    struct test_kernel *kernel = *state;
    DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {.CommitSize = PAGE_SIZE};
    DXGKARGCB_PINFRAMEBUFFERFORSAVE2 pin_2 = {.CommitSize = 3 * PAGE_SIZE};
    const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE other = {.PhysicalAdapterIndex = 1};

    assert_true(nt_set_save_area(kernel->nt, AREA_BYTES));
    assert_int_equal(nt_device_pin_save_area(kernel->nt, &pin), STATUS_SUCCESS);
    assert_int_equal(nt_device_pin_save_area(kernel->nt, &pin), STATUS_ALREADY_COMMITTED);
    assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2), STATUS_ALREADY_COMMITTED);
    assert_int_equal(nt_device_unpin_save_area(kernel->nt, &other), STATUS_INVALID_PARAMETER);
    assert_int_equal(nt_device_unpin_save_area(kernel->nt, &unpin), STATUS_SUCCESS);
    pin_2.Flags.Reserved = 1;
    assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2), STATUS_INVALID_PARAMETER);
    pin_2.Flags.Reserved = 0;
    assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2), STATUS_SUCCESS);
    assert_int_equal(pin_2.pAdl->PageCount, 3);
    assert_true(machine_page_is_allocated(kernel->machine, pin_2.pAdl->Pages[2]));
    assert_int_equal(nt_device_pin_save_area(kernel->nt, &pin), STATUS_ALREADY_COMMITTED);
    assert_int_equal(nt_device_unpin_save_area(kernel->nt, &unpin), STATUS_SUCCESS);
    assert_int_equal(nt_device_unpin_save_area(kernel->nt, &unpin), STATUS_INVALID_PARAMETER);
}

/* ---- With an IOMMU ---- */

static struct {
    uint64_t shown;
    bool has_no_memory;
} iommu;

static bool show(void *context, const uint64_t *pfns, uint64_t count, uint64_t *out_first)
{
    iommu.shown += iommu.has_no_memory ? 0 : count;
    *out_first = 0x5000;
    return !iommu.has_no_memory;
}

static void hide(void *context, const uint64_t *pfns, uint64_t count)
{
    iommu.shown -= count;
}

static void a_remapped_device_has_logical_addresses(void **state)
{
    struct test_kernel *kernel = *state;
    const struct nt_device_pages pages = {NULL, show, hide};
    DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {.CommitSize = PAGE_SIZE};
    DXGKARGCB_PINFRAMEBUFFERFORSAVE2 pin_2 = {.CommitSize = 3 * PAGE_SIZE,
                                              .Flags.PreferContiguous = 1};

    memset(&iommu, 0, sizeof iommu);
    nt_set_device_pages(kernel->nt, &pages);
    assert_true(nt_set_save_area(kernel->nt, AREA_BYTES));
    assert_int_equal(nt_device_pin_save_area(kernel->nt, &pin), STATUS_NOT_SUPPORTED);
    iommu.has_no_memory = true;
    assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2), STATUS_NO_MEMORY);
    iommu.has_no_memory = false;
    assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2), STATUS_SUCCESS);
    assert_true(pin_2.pAdl->Flags.Contiguous);
    assert_int_equal(pin_2.pAdl->BasePageNumber, 0x5000);
    assert_int_equal(iommu.shown, AREA_BYTES / PAGE_SIZE);
    assert_int_equal(nt_device_unpin_save_area(kernel->nt, &unpin), STATUS_SUCCESS);
    assert_int_equal(iommu.shown, 0);
    assert_int_equal(nt_device_pin_save_area_2(kernel->nt, &pin_2), STATUS_SUCCESS);
    nt_set_save_area(kernel->nt, 0); /* and the driver had not unpinned it */
    assert_int_equal(iommu.shown, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(the_area_keeps_what_is_in_it),
        MACHINE_TEST(what_cannot_be_is_refused),
        MACHINE_TEST(it_is_pinned_once),
        MACHINE_TEST(a_remapped_device_has_logical_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
