/*
 * Loans: every pointer of every argument structure has a row, or stands in the list of those that
 * the call does not lend.
 */
#include "miniport/loans.h"
#include "miniport/test_raw.h"

/* Pointers that lead to no memory of the call's. */
static const char *const not_lent[] = {
    "DXGKARG_RENDER pCommand", /* the user's */
    /* They share the place of pAllocationList: reserved for the system, and of overlays. */
    "DXGKARG_PRESENT pAllocationInfo", "DXGKARG_PRESENT pPresentMultiPlaneOverlayInfo",
    /* They share the place of those that the system asks for here. */
    "DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA pCreateShadowSurfaceData",
    "DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA pCreateStagingSurfaceData",
    "DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA pCreateGdiSurfaceData",
    "DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA pCreateVirtualGpuSurfaceData",
    /* Fences of hardware queues, which stay as long as those. */
    "DXGKARG_CREATEHWQUEUE HwQueueProgressFenceCPUVirtualAddress",
    "DXGKARG_SUBMITCOMMANDTOHWQUEUE HwQueueProgressFenceCpuVa",
    "DXGKARG_SETSCHEDULINGLOGBUFFER LogBufferCpuVa", /* until the next call */
    "DXGKARG_CREATEDEVICE pInfo",                    /* shares its place with Flags */
    "DXGKARG_BUILDPAGINGBUFFER InitContextResource.Destination.VirtualAddress", /* a mapping */
    "DXGKARG_BUILDPAGINGBUFFER UpdatePageTable.PageTableAddress.CpuVirtual",    /* a mapping */
    "DXGKARG_BUILDPAGINGBUFFER MapApertureSegment2.CpuVisibleAddress",          /* a mapping */
};

struct look {
    const struct loan_structure *structure;
    unsigned pointers;
};

static bool has_row(struct loan_rows rows, size_t offset, const char *name)
{
    for (uint16_t i = 0; i < rows.count; i++) {
        if (rows.members[i].kind != LOAN_VALUE && rows.members[i].offset == offset &&
            strcmp(rows.members[i].name, name) == 0)
            return true;
    }
    return false;
}

static void pointer_has_row(char **columns, void *context)
{
    struct look *look = context;
    const char *type = columns[2];
    size_t offset = (size_t)strtoull(columns[3], NULL, 10);
    char name[128];

    if (!strchr(type, '*') && strcmp(type, "PMDL") != 0 && strcmp(type, "PVOID") != 0)
        return;
    look->pointers++;
    snprintf(name, sizeof name, "%s %s", look->structure->name, columns[1]);
    for (size_t i = 0; i < ARRAY_COUNT(not_lent); i++) {
        if (strcmp(not_lent[i], name) == 0)
            return;
    }
    if (has_row(look->structure->rows, offset, columns[1]))
        return;
    for (uint16_t i = 0; i < look->structure->variant_count; i++) {
        if (has_row(look->structure->variants[i], offset, columns[1]))
            return;
    }
    print_error("%s has no row in src/miniport/loans.c\n", name);
    fail();
}

static void every_pointer_of_every_argument_has_a_row(void **state)
{
    struct look look = {0};

    for (unsigned ddi = 0; ddi < MINIPORT_DDI_COUNT; ddi++) {
        look.structure = loans_of((enum miniport_ddi)ddi);
        if (look.structure && ddi != MINIPORT_DDI_StartDevice)
            test_read_layout(look.structure->name, pointer_has_row, &look);
    }
    assert_in_range(look.pointers, 35, 200);
}

/* The sizes and places are the compiler's; that a row counts by the right member is the table's. */
static void rows_count_by_a_member_of_their_structure(void **state)
{
    for (unsigned ddi = 0; ddi < MINIPORT_DDI_COUNT; ddi++) {
        const struct loan_structure *structure = loans_of((enum miniport_ddi)ddi);

        for (uint16_t i = 0; structure && i < structure->rows.count; i++) {
            const struct loan_member *member = &structure->rows.members[i];

            assert_true(member->offset + member->bytes <= structure->bytes);
            if (member->kind == LOAN_VALUE) {
                assert_int_equal(member->count.bytes, 0);
                continue;
            }
            assert_int_equal(member->bytes, sizeof(void *));
            assert_true(member->kind == LOAN_MDL || member->element_bytes);
            assert_true(member->count.offset + member->count.bytes <= structure->bytes);
        }
    }
}

static void a_union_has_the_rows_of_the_member_that_is_there(void **state)
{
    const struct loan_structure *structure = loans_of(MINIPORT_DDI_BuildPagingBuffer);
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};
    struct loan_rows rows = loan_variant(structure, &arg);

    assert_int_equal(rows.count, 2);
    assert_true(loan_is_there(&rows.members[0], &arg));
    arg.Transfer.Source.SegmentId = 1;
    assert_false(loan_is_there(&rows.members[0], &arg));
    arg.Operation = DXGK_OPERATION_FILL;
    assert_int_equal(loan_variant(structure, &arg).count, 0);
    arg.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)1000;
    assert_int_equal(loan_variant(structure, &arg).count, 0);
    arg.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    arg.UpdatePageTable.Flags.Repeat = 1;
    rows = loan_variant(structure, &arg);
    assert_true(loan_is_there(&rows.members[0], &arg));
    assert_false(loan_is_there(&rows.members[1], &arg));
    assert_int_equal(rows.members[0].count.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pointer_of_every_argument_has_a_row),
        cmocka_unit_test(rows_count_by_a_member_of_their_structure),
        cmocka_unit_test(a_union_has_the_rows_of_the_member_that_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
