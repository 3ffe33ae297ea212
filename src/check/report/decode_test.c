#include "check/report/decode.h"

#include "base/bits.h"

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *name_of_7(void *context, uint64_t handle, char *text, size_t size)
{
    if (handle != 7)
        return NULL;
    snprintf(text, size, "allocation a3");
    return text;
}

static const char *decode(const char *structure, const void *before, const void *after,
                          size_t bytes, unsigned wddm)
{
    static char text[2048];
    const struct decode_request request = {
        .structure = structure,
        .before = before,
        .after = after,
        .bytes = bytes,
        .wddm = wddm,
        .name_handle = name_of_7,
    };
    size_t used = decode_structure(&request, text, sizeof text);

    assert_int_equal(used, strlen(text));
    return text;
}

static DXGKARG_BUILDPAGINGBUFFER transfer(void)
{
    return (DXGKARG_BUILDPAGINGBUFFER){
        .pDmaBuffer = (void *)0x5000,
        .DmaSize = 16384,
        .Operation = DXGK_OPERATION_TRANSFER,
        .Transfer = {.hAllocation = (HANDLE)7,
                     .TransferSize = 4096,
                     .Source = {.SegmentId = 1, .SegmentAddress = {.QuadPart = 0x240000}},
                     .Destination = {.pMdl = (void *)0x6000},
                     .Flags = {.TransferStart = 1, .TransferEnd = 1}},
    };
}

static void a_paging_operation_tells_its_own_members(void **state)
{
    const DXGKARG_BUILDPAGINGBUFFER before = transfer();
    const char *text = decode("DXGKARG_BUILDPAGINGBUFFER", &before, NULL, sizeof before, 20);

    assert_non_null(strstr(text, "\nDmaSize                         16384 (0x4000)\n"));
    assert_non_null(strstr(text, " 0 DXGK_OPERATION_TRANSFER\n"));
    assert_non_null(strstr(text, "Transfer.hAllocation            allocation a3\n"));
    assert_non_null(strstr(text, "Transfer.Source.SegmentAddress  0x240000\n"));
    assert_non_null(strstr(text, "Transfer.Flags                  0x18 TransferStart"
                                 " TransferEnd\n"));
    /* A place in a segment, and a page list in the other one: never both. */
    assert_null(strstr(text, "Transfer.Source.pMdl"));
    assert_non_null(strstr(text, "Transfer.Destination.pMdl       not NULL\n"));
    assert_null(strstr(text, "Transfer.Destination.SegmentAddress"));
    /* Of no other operation. */
    assert_null(strstr(text, "Fill."));
    assert_null(strstr(text, "Notify"));
}

static void what_the_driver_changed_is_told_with_both_values(void **state)
{
    const DXGKARG_BUILDPAGINGBUFFER before = transfer();
    DXGKARG_BUILDPAGINGBUFFER after = before;
    const char *text;

    after.pDmaBuffer = (char *)before.pDmaBuffer + 288;
    after.DmaSize -= 288;
    after.hSystemContext = (HANDLE)0x9000;
    text = decode("DXGKARG_BUILDPAGINGBUFFER", &before, &after, sizeof before, 20);
    assert_non_null(strstr(text, "not NULL, moved by 288 bytes\n"));
    assert_non_null(strstr(text, "16384 (0x4000) -> 16096 (0x3ee0)\n"));
    assert_non_null(strstr(text, "NULL -> not NULL\n"));
    after.pDmaBuffer = (void *)(UINT64_C(1) << 40);
    text = decode("DXGKARG_BUILDPAGINGBUFFER", &before, &after, sizeof before, 20);
    assert_non_null(strstr(text, "not NULL -> another\n"));
}

/* Where the host put something is in no line: a run tells the same every time. */
static void no_pointer_is_printed_or_followed(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER before = transfer();
    const char *text;

    before.Transfer.hAllocation = (HANDLE)0xdeadbeef0;
    before.Transfer.Destination.pMdl = (void *)0xdeadbeef0;
    before.pDmaBuffer = (void *)0xdeadbeef0;
    text = decode("DXGKARG_BUILDPAGINGBUFFER", &before, NULL, sizeof before, 20);
    assert_null(strstr(text, "deadbeef"));
}

static void members_of_later_versions_are_left_out(void **state)
{
    const DXGKARG_SUBMITCOMMAND submit = {.DmaBufferSize = 64};

    assert_null(strstr(decode("DXGKARG_SUBMITCOMMAND", &submit, NULL, sizeof submit, 10),
                       "DmaBufferVirtualAddress"));
    assert_non_null(strstr(decode("DXGKARG_SUBMITCOMMAND", &submit, NULL, sizeof submit, 11),
                           "DmaBufferVirtualAddress"));
}

/* The sanitizer sees a read behind the end. */
static void nothing_behind_the_bytes_given_is_read(void **state)
{
    for (size_t bytes = 0; bytes <= sizeof(DXGKARG_BUILDPAGINGBUFFER); bytes += 4) {
        const DXGKARG_BUILDPAGINGBUFFER before = transfer();
        char *part = malloc(bytes + 1);

        assert_non_null(part);
        memcpy(part, &before, bytes);
        decode("DXGKARG_BUILDPAGINGBUFFER", part, part, bytes, 32);
        free(part);
    }
}

static void every_operation_fits_in_a_finding(void **state)
{
    for (unsigned operation = 0; operation <= 22; operation++) {
        DXGKARG_BUILDPAGINGBUFFER before, after;
        char text[1536];
        const struct decode_request request = {
            .structure = "DXGKARG_BUILDPAGINGBUFFER",
            .before = &before,
            .after = &after,
            .bytes = sizeof before,
            .wddm = 32,
        };

        memset(&before, 0x11, sizeof before);
        before.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)operation;
        after = before;
        after.DmaSize++;
        decode_structure(&request, text, sizeof text);
        assert_null(strstr(text, "\n..."));
        /* More than the nine members that all have. */
        for (unsigned i = 0, lines = 0; text[i]; i++) {
            lines += text[i] == '\n';
            if (!text[i + 1])
                assert_true(lines > 10);
        }
    }
}

static void a_text_that_is_too_small_says_so(void **state)
{
    const DXGKARG_BUILDPAGINGBUFFER before = transfer();
    const struct decode_request request = {
        .structure = "DXGKARG_BUILDPAGINGBUFFER",
        .before = &before,
        .bytes = sizeof before,
        .wddm = 20,
    };

    for (size_t size = 1; size < 400; size++) {
        char *text = malloc(size);
        size_t used;

        assert_non_null(text);
        used = decode_structure(&request, text, size);
        assert_true(used < size);
        assert_true(size < 8 || strcmp(text + used - 4, "...\n") == 0);
        free(text);
    }
}

/* Of lines that do not fit there is none, and the others are whole: a text is filled to its end. */
static void a_text_has_whole_lines_at_every_size(void **state)
{
    const DXGKARG_BUILDPAGINGBUFFER before = transfer();
    const char *whole = decode("DXGKARG_BUILDPAGINGBUFFER", &before, NULL, sizeof before, 20);
    const struct decode_request request = {
        .structure = "DXGKARG_BUILDPAGINGBUFFER",
        .before = &before,
        .bytes = sizeof before,
        .wddm = 20,
        .name_handle = name_of_7,
    };
    const size_t more = sizeof "...\n";

    for (size_t size = more + 1; size <= strlen(whole) + more; size++) {
        char text[2048];
        size_t lines = decode_structure(&request, text, size) - (more - 1);

        assert_memory_equal(text, whole, lines);
        assert_string_equal(text + lines, "...\n");
        assert_true(!lines || text[lines - 1] == '\n');
        /* The next line would not have fitted. */
        assert_true(lines + (size_t)(strchr(whole + lines, '\n') + 1 - (whole + lines)) >=
                    size - more);
    }
}

static void an_interrupt_tells_what_its_type_has(void **state)
{
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {
        .InterruptType = DXGK_INTERRUPT_DMA_FAULTED,
        .DmaFaulted = {.FaultedFenceId = 12, .Status = STATUS_NO_MEMORY, .NodeOrdinal = 1},
    };
    const char *text = decode("DXGKARGCB_NOTIFY_INTERRUPT_DATA", &data, NULL, sizeof data, 20);

    assert_non_null(strstr(text, "DmaFaulted.FaultedFenceId  12 (0xc)\n"));
    assert_non_null(strstr(text, "DmaFaulted.Status          0xc0000017 STATUS_NO_MEMORY\n"));
    assert_null(strstr(text, "DmaCompleted"));
}

static void interface_versions_are_wddm_levels(void **state)
{
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_VISTA), 10);
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_WIN7), 11);
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_WIN8), 12);
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_WDDM1_3), 13);
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_WDDM2_0), 20);
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_WDDM2_9), 29);
    assert_int_equal(decode_wddm_of(DXGKDDI_INTERFACE_VERSION_WDDM3_2), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paging_operation_tells_its_own_members),
        cmocka_unit_test(what_the_driver_changed_is_told_with_both_values),
        cmocka_unit_test(no_pointer_is_printed_or_followed),
        cmocka_unit_test(members_of_later_versions_are_left_out),
        cmocka_unit_test(nothing_behind_the_bytes_given_is_read),
        cmocka_unit_test(every_operation_fits_in_a_finding),
        cmocka_unit_test(a_text_that_is_too_small_says_so),
        cmocka_unit_test(a_text_has_whole_lines_at_every_size),
        cmocka_unit_test(an_interrupt_tells_what_its_type_has),
        cmocka_unit_test(interface_versions_are_wddm_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
