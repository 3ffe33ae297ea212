/* Operation: the rows against the headers, and what is read by them. */
#include "miniport/operation.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define PLACE_OF(member) offsetof(DXGKARG_BUILDPAGINGBUFFER, member)

static DXGKARG_BUILDPAGINGBUFFER call(unsigned operation)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    memset(&arg, 0, sizeof arg);
    arg.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)operation;
    return arg;
}

static void the_rows_say_what_the_headers_say(void **state)
{
    static const struct {
        unsigned operation;
        const char *name;
        size_t offset, bytes;
        size_t allocation; /* 0: none */
    } expected[] = {
#define ROW(operation, name, member)                                                               \
    {DXGK_OPERATION_##operation, name, PLACE_OF(member),                                           \
     sizeof((DXGKARG_BUILDPAGINGBUFFER *)0)->member, PLACE_OF(member.hAllocation)}
#define ROW_OF_NONE(operation, name, member)                                                       \
    {                                                                                              \
        DXGK_OPERATION_##operation, name, PLACE_OF(member),                                        \
            sizeof((DXGKARG_BUILDPAGINGBUFFER *)0)->member, 0                                      \
    }
        ROW(TRANSFER, "TRANSFER", Transfer),
        ROW_OF_NONE(READ_PHYSICAL, "READ_PHYSICAL", ReadPhysical),
        ROW(UNMAP_APERTURE_SEGMENT, "UNMAP_APERTURE_SEGMENT", UnmapApertureSegment),
        ROW(SPECIAL_LOCK_TRANSFER, "SPECIAL_LOCK_TRANSFER", SpecialLockTransfer),
        ROW(VIRTUAL_TRANSFER, "VIRTUAL_TRANSFER", TransferVirtual),
        ROW(UPDATE_PAGE_TABLE, "UPDATE_PAGE_TABLE", UpdatePageTable),
        ROW_OF_NONE(FLUSH_TLB, "FLUSH_TLB", FlushTlb),
        ROW(MAP_APERTURE_SEGMENT2, "MAP_APERTURE_SEGMENT2", MapApertureSegment2),
        ROW(UNMAP_MMU, "UNMAP_MMU", UnmapMmu),
        ROW(NOTIFY_ALLOC, "NOTIFY_ALLOC", NotifyAllocation),
#undef ROW_OF_NONE
#undef ROW
    };

    for (size_t i = 0; i < ARRAY_COUNT(expected); i++) {
        const struct miniport_operation *row = miniport_operation(expected[i].operation);
        DXGKARG_BUILDPAGINGBUFFER arg = call(expected[i].operation);
        HANDLE *at = miniport_operation_allocation_member(&arg);

        assert_string_equal(row->name, expected[i].name);
        assert_int_equal(row->member.offset, expected[i].offset);
        assert_int_equal(row->member.bytes, expected[i].bytes);
        if (!expected[i].allocation) {
            assert_null(at);
            continue;
        }
        assert_ptr_equal(at, (uint8_t *)&arg + expected[i].allocation);
        assert_null(miniport_operation_allocation(&arg));
        *at = &arg;
        assert_ptr_equal(miniport_operation_allocation(&arg), &arg);
    }
}

static void the_last_valid_entry_ends_what_is_mapped(void **state)
{
    DXGK_PTE entries[4] = {{.Valid = 1}, {.Valid = 0}, {.Valid = 1}, {.Valid = 0}};
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE update = {.pPageTableEntries = entries,
                                                     .NumPageTableEntries = 4};

    assert_int_equal(miniport_update_mapped(&update), 3);
    entries[2].Valid = 0;
    assert_int_equal(miniport_update_mapped(&update), 1);
    update.Flags.Repeat = 1;
    assert_int_equal(miniport_update_mapped(&update), 4);
    entries[0].Valid = 0;
    assert_int_equal(miniport_update_mapped(&update), 0);
    update.pPageTableEntries = NULL;
    assert_int_equal(miniport_update_mapped(&update), 0);
}

static void every_row_is_whole(void **state)
{
    for (unsigned operation = 0; operation < MINIPORT_OPERATION_COUNT; operation++) {
        const struct miniport_operation *row = miniport_operation(operation);

        assert_non_null(row->name);
        assert_ptr_equal(miniport_operation_name(operation), row->name);
        assert_int_equal(row->member.offset, PLACE_OF(Transfer));
        assert_true(row->member.bytes > 0);
        assert_int_not_equal(row->kind, MINIPORT_KIND_NONE);
        assert_int_equal(!row->size.member.bytes, row->size.unit == MINIPORT_UNIT_NONE);
        assert_int_equal(!row->source.address.bytes, row->source.kind == MINIPORT_PLACE_NONE);
    }
}

static void a_value_that_is_no_operation_has_nothing(void **state)
{
    static const unsigned values[] = {MINIPORT_OPERATION_COUNT, 0x7fffffff, UINT32_MAX};

    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        DXGKARG_BUILDPAGINGBUFFER arg = call(values[i]);

        memset(&arg.Reserved, 0xff, sizeof arg.Reserved);
        assert_string_equal(miniport_operation_name(values[i]), "?");
        assert_int_equal(miniport_operation_kind(values[i]), MINIPORT_KIND_NONE);
        assert_null(miniport_operation_allocation(&arg));
        assert_null(miniport_operation_process(&arg));
        assert_int_equal(miniport_operation_units(&arg), 0);
        assert_int_equal(miniport_operation_source(&arg).kind, MINIPORT_PLACE_NONE);
        assert_null(miniport_operation_array(&arg, 0).members);
        assert_false(miniport_operation_may_be_busy(&arg));
        assert_true(miniport_operation_is_end(&arg));
    }
}

static void extents_have_units(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = call(DXGK_OPERATION_TRANSFER);

    arg.Transfer.TransferOffset = 0x3000;
    arg.Transfer.TransferSize = 0x5000;
    arg.Transfer.MdlOffset = 3;
    assert_int_equal(miniport_operation_list_offset(&arg), 3);
    assert_int_equal(miniport_operation_offset(&arg), 0x3000);
    assert_int_equal(miniport_operation_bytes(&arg), 0x5000);
    assert_int_equal(miniport_operation_units(&arg), 5);
    arg = call(DXGK_OPERATION_UNMAP_MMU);
    arg.UnmapMmu.AllocationOffset = 2;
    arg.UnmapMmu.NumberOfPages = 7;
    assert_int_equal(miniport_operation_offset(&arg), 0x2000);
    assert_int_equal(miniport_operation_bytes(&arg), 0x7000);
    assert_int_equal(miniport_operation_units(&arg), 7);
    arg = call(DXGK_OPERATION_UPDATE_PAGE_TABLE);
    arg.UpdatePageTable.NumPageTableEntries = 512;
    assert_int_equal(miniport_operation_bytes(&arg), 0);
    assert_int_equal(miniport_operation_units(&arg), 512);
}

static void places_have_terms(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = call(DXGK_OPERATION_TRANSFER);
    struct miniport_place place;

    arg.Transfer.Source.SegmentId = 2;
    arg.Transfer.Source.SegmentAddress.QuadPart = 0x123456789000;
    place = miniport_operation_source(&arg);
    assert_int_equal(place.kind, MINIPORT_PLACE_ADDRESS);
    assert_int_equal(place.segment, 2);
    assert_int_equal(place.address, 0x123456789000);
    assert_int_equal(miniport_operation_destination(&arg).segment, 0);
    arg = call(DXGK_OPERATION_MAP_APERTURE_SEGMENT);
    arg.MapApertureSegment.SegmentId = 3;
    arg.MapApertureSegment.OffsetInPages = 17;
    place = miniport_operation_destination(&arg);
    assert_int_equal(place.kind, MINIPORT_PLACE_SLOT);
    assert_int_equal(place.segment, 3);
    assert_int_equal(place.address, 17);
    arg = call(DXGK_OPERATION_NOTIFY_RESIDENCY);
    arg.NotifyResidency.PhysicalAddress.SegmentId = 1;
    arg.NotifyResidency.PhysicalAddress.SegmentOffset = 0x4000;
    place = miniport_operation_source(&arg);
    assert_int_equal(place.kind, MINIPORT_PLACE_OFFSET);
    assert_int_equal(place.address, 0x4000);
    arg = call(DXGK_OPERATION_NOTIFY_RESIDENCY2);
    arg.NotifyResidency2.SegmentId = 2;
    arg.NotifyResidency2.PhysicalAddress.SegmentId = 2;
    arg.NotifyResidency2.PhysicalAddress.SegmentOffset = 0x5000;
    place = miniport_operation_source(&arg);
    assert_int_equal(place.kind, MINIPORT_PLACE_OFFSET);
    assert_int_equal(place.segment, 2);
    assert_int_equal(place.address, 0x5000);
    arg = call(DXGK_OPERATION_NOTIFY_RESIDENCY2);
    arg.NotifyResidency2.Mdl = (PMDL)&arg; /* where the address would be */
    assert_int_equal(miniport_operation_source(&arg).segment, 0);
    arg = call(DXGK_OPERATION_VIRTUAL_FILL);
    arg.FillVirtual.DestinationVirtualAddress = 0x10000;
    place = miniport_operation_destination(&arg);
    assert_int_equal(place.kind, MINIPORT_PLACE_VIRTUAL);
    assert_int_equal(place.segment, 0);
    assert_int_equal(place.address, 0x10000);
}

static void idle_and_end_are_bits_of_the_flags(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = call(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);

    assert_true(miniport_operation_may_be_busy(&arg));
    assert_false(miniport_operation_is_end(&arg));
    miniport_operation_set_idle(&arg);
    assert_true(arg.SpecialLockTransfer.Flags.AllocationIsIdle);
    assert_false(miniport_operation_may_be_busy(&arg));
    arg.SpecialLockTransfer.Flags.TransferEnd = 1;
    assert_true(miniport_operation_is_end(&arg));
    arg = call(DXGK_OPERATION_DISCARD_CONTENT);
    assert_true(miniport_operation_may_be_busy(&arg));
    miniport_operation_set_idle(&arg);
    assert_int_equal(arg.DiscardContent.Flags.Value, 1);
    arg = call(DXGK_OPERATION_FILL);
    miniport_operation_set_idle(&arg);
    assert_false(miniport_operation_may_be_busy(&arg));
    assert_int_equal(arg.Fill.FillSize, 0);
}

static void arrays_are_as_long_as_their_count(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = call(DXGK_OPERATION_UPDATE_PAGE_TABLE);
    DXGK_PTE entries[3];
    struct miniport_array array;

    arg.UpdatePageTable.pPageTableEntries = entries;
    arg.UpdatePageTable.NumPageTableEntries = 3;
    array = miniport_operation_array(&arg, 0);
    assert_ptr_equal(array.elements, entries);
    assert_int_equal(array.count, 3);
    assert_string_equal(array.members->type, "DXGK_PTE");
    assert_int_equal(array.members->element_bytes, sizeof *entries);
    arg.UpdatePageTable.Flags.Repeat = 1;
    assert_int_equal(miniport_operation_array(&arg, 0).count, 1);
    assert_null(miniport_operation_array(&arg, 1).elements);
    assert_null(miniport_operation_array(&arg, MINIPORT_OPERATION_ARRAYS).members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_say_what_the_headers_say),
        cmocka_unit_test(the_last_valid_entry_ends_what_is_mapped),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(a_value_that_is_no_operation_has_nothing),
        cmocka_unit_test(extents_have_units),
        cmocka_unit_test(places_have_terms),
        cmocka_unit_test(idle_and_end_are_bits_of_the_flags),
        cmocka_unit_test(arrays_are_as_long_as_their_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
