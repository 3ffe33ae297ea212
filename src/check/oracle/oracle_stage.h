/*
 * A stage for the oracle's layer: a fake driver below it, whose paging buffers are eight bytes a
 * page (command number n of the driver's list) and in which defects are planted, and the manager's
 * side above it, made by hand.
 *
 * Place  check, tests only: included by oracle_paging_test.c.
 */
#ifndef DRYDOCK_CHECK_ORACLE_STAGE_H
#define DRYDOCK_CHECK_ORACLE_STAGE_H

#include "check/oracle/oracle.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_NUMBER(n) ((uint64_t)(n)*PAGE_BYTES)
#define STORE_PAGES    1024u
#define SEGMENT_BASE   UINT64_C(0x10000000)
#define APERTURE_BASE  (UINT64_C(1) << 40)
#define NODE           1u
#define TEXTURE        7u
#define TEXTURE_PAGES  16u
#define HANDLE_OF(id)  ((HANDLE)(uintptr_t)(0x1000 + (id)))

/* ---- The fake driver ---- */

enum defect {
    NO_DEFECT,
    WRONG_BYTE,         /* one byte of page 5 is flipped                          */
    WRONG_ORDER,        /* pages 4 and 5 change places                            */
    MISSING_PAGE,       /* page 5 is not copied                                   */
    SWALLOWED,          /* success, and nothing is written into the buffer        */
    IGNORES_OFFSET,     /* TransferOffset is not added to the segment side        */
    OFFSET_ON_MDL,      /* TransferOffset is added to the MDL side too            */
    IGNORES_MDL_OFFSET, /* the MDL is used from its first page                    */
    RESTARTS,           /* a repeat starts from the beginning of the destination  */
};

struct command {
    struct page_store *destination;
    struct page_store *source; /* NULL: fill */
    uint64_t destination_page;
    uint64_t source_page;
    uint32_t pattern;
    bool flips;
};

struct driver {
    struct miniport miniport;
    struct miniport_ops ops;
    struct miniport_host *host;
    struct page_store *ram;
    struct page_store *local;
    enum defect defect;
    uint64_t next_handle;
    struct command commands[4096];
    unsigned built_count;
    unsigned done_count;
    uint64_t va_pages[1024]; /* local page, or 1 << 32 | system page, of the scratch range */
};

static struct driver *driver_of(struct miniport *miniport)
{
    return (struct driver *)miniport;
}

static void driver_set_host(struct miniport *self, struct miniport_host *host)
{
    driver_of(self)->host = host;
}

static ULONG driver_interface_version(struct miniport *self)
{
    return DXGKDDI_INTERFACE_VERSION_WDDM2_0;
}

static void driver_destroy(struct miniport *self)
{
    free(self);
}

static NTSTATUS driver_query(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

    if (query->Type != DXGKQAITYPE_QUERYSEGMENT3)
        return STATUS_NOT_SUPPORTED;
    out->NbSegment = 2;
    if (!out->pSegmentDescriptor)
        return STATUS_SUCCESS;
    out->pSegmentDescriptor[0].BaseAddress.QuadPart = (LONGLONG)SEGMENT_BASE;
    out->pSegmentDescriptor[0].Size = PAGE_NUMBER(STORE_PAGES);
    out->pSegmentDescriptor[1].BaseAddress.QuadPart = (LONGLONG)APERTURE_BASE;
    out->pSegmentDescriptor[1].Size = PAGE_NUMBER(64);
    out->pSegmentDescriptor[1].Flags.Aperture = 1;
    return STATUS_SUCCESS;
}

static NTSTATUS driver_create_process(struct miniport *self, HANDLE object,
                                      DXGKARG_CREATEPROCESS *arg)
{
    arg->hKmdProcess = HANDLE_OF(0x100 + arg->Flags.SystemProcess);
    return STATUS_SUCCESS;
}

static NTSTATUS driver_create_allocation(struct miniport *self, HANDLE object,
                                         DXGKARG_CREATEALLOCATION *arg)
{
    arg->pAllocationInfo[0].hAllocation = HANDLE_OF(driver_of(self)->next_handle);
    return STATUS_SUCCESS;
}

static NTSTATUS driver_destroy_allocation(struct miniport *self, HANDLE object,
                                          const DXGKARG_DESTROYALLOCATION *arg)
{
    return STATUS_SUCCESS;
}

/* Page i of one side of a transfer. */
static uint64_t side_page(const struct driver *driver, const DXGKARG_BUILDPAGINGBUFFER *arg,
                          UINT segment, LARGE_INTEGER address, const MDL *mdl, uint64_t i)
{
    uint64_t offset = arg->Transfer.TransferOffset / PAGE_BYTES;

    if (segment) {
        if (driver->defect == IGNORES_OFFSET)
            offset = 0;
        return ((uint64_t)address.QuadPart - SEGMENT_BASE) / PAGE_BYTES + offset + i;
    }
    if (driver->defect != IGNORES_MDL_OFFSET)
        i += arg->Transfer.MdlOffset;
    if (driver->defect == OFFSET_ON_MDL)
        i += offset;
    return MmGetMdlPfnArray(mdl)[i];
}

static void command_of(struct driver *driver, const DXGKARG_BUILDPAGINGBUFFER *arg, uint64_t i,
                       struct command *command)
{
    uint64_t number = arg->Transfer.TransferOffset / PAGE_BYTES + i;
    uint64_t va;

    *command = (struct command){0};
    switch (arg->Operation) {
    case DXGK_OPERATION_FILL:
        command->destination = driver->local;
        command->destination_page =
            ((uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart - SEGMENT_BASE) / PAGE_BYTES +
            i;
        command->pattern = arg->Fill.FillPattern;
        return;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        va = driver->va_pages[arg->TransferVirtual.SourceVirtualAddress / PAGE_BYTES + i];
        command->source = va >> 32 ? driver->ram : driver->local;
        command->source_page = (uint32_t)va;
        va = driver->va_pages[arg->TransferVirtual.DestinationVirtualAddress / PAGE_BYTES + i];
        command->destination = va >> 32 ? driver->ram : driver->local;
        command->destination_page = (uint32_t)va;
        return;
    default:
        break;
    }
    command->source = arg->Transfer.Source.SegmentId ? driver->local : driver->ram;
    command->destination = arg->Transfer.Destination.SegmentId ? driver->local : driver->ram;
    command->destination_page =
        side_page(driver, arg, arg->Transfer.Destination.SegmentId,
                  arg->Transfer.Destination.SegmentAddress, arg->Transfer.Destination.pMdl, i);
    if (driver->defect == WRONG_ORDER && number / 2 == 2)
        i ^= 1;
    command->source_page =
        side_page(driver, arg, arg->Transfer.Source.SegmentId, arg->Transfer.Source.SegmentAddress,
                  arg->Transfer.Source.pMdl, i);
    command->flips = driver->defect == WRONG_BYTE && number == 5;
    if (driver->defect == MISSING_PAGE && number == 5)
        command->destination = NULL;
}

static uint64_t page_count_of(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        return arg->Transfer.TransferSize / PAGE_BYTES;
    case DXGK_OPERATION_FILL:
        return arg->Fill.FillSize / PAGE_BYTES;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        return arg->TransferVirtual.TransferSizeInBytes / PAGE_BYTES;
    default:
        return 0;
    }
}

static NTSTATUS driver_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct driver *driver = driver_of(self);
    uint64_t count = page_count_of(arg);
    uint8_t *at = arg->pDmaBuffer;
    uint8_t *end = at + arg->DmaSize;

    if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) {
        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
        UINT step = update->Flags.Use64KBPages ? 16 : 1;

        if (update->hProcess != HANDLE_OF(0x101))
            return STATUS_SUCCESS;
        for (UINT i = 0; i < update->NumPageTableEntries * step; i++) {
            const DXGK_PTE *entry = &update->pPageTableEntries[update->Flags.Repeat ? 0 : i / step];

            driver->va_pages[update->FirstPteVirtualAddress / PAGE_BYTES + i] =
                (entry->PageAddress + i % step) | (uint64_t)!entry->Segment << 32;
        }
        return STATUS_SUCCESS;
    }
    if (driver->defect == SWALLOWED)
        return STATUS_SUCCESS;
    for (; arg->MultipassOffset < count; arg->MultipassOffset++) {
        if (end - at < 8) {
            arg->pDmaBuffer = at;
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        assert_true(driver->built_count < ARRAY_COUNT(driver->commands));
        command_of(driver, arg, arg->MultipassOffset, &driver->commands[driver->built_count]);
        if (driver->defect == RESTARTS)
            driver->commands[driver->built_count].destination_page -=
                arg->MultipassOffset - (uint64_t)(at - (uint8_t *)arg->pDmaBuffer) / 8;
        driver->built_count++;
        at += 8;
    }
    arg->pDmaBuffer = at;
    return STATUS_SUCCESS;
}

static void execute(struct driver *driver, uint64_t bytes)
{
    for (; bytes; bytes -= 8) {
        const struct command *command = &driver->commands[driver->done_count++];
        uint8_t byte;

        if (!command->destination)
            continue;
        if (!command->source) {
            page_store_fill(command->destination, PAGE_NUMBER(command->destination_page),
                            PAGE_BYTES, command->pattern);
            continue;
        }
        page_store_copy(command->destination, command->destination_page, command->source,
                        command->source_page, 1);
        if (!command->flips)
            continue;
        page_store_read(command->destination, PAGE_NUMBER(command->destination_page) + 9, &byte, 1);
        byte ^= 0x10;
        page_store_write(command->destination, PAGE_NUMBER(command->destination_page) + 9, &byte,
                         1);
    }
}

static NTSTATUS driver_submit(struct miniport *self, HANDLE object,
                              const DXGKARG_SUBMITCOMMAND *arg)
{
    execute(driver_of(self),
            arg->DmaBufferSubmissionEndOffset - arg->DmaBufferSubmissionStartOffset);
    return STATUS_SUCCESS;
}

static NTSTATUS driver_submit_virtual(struct miniport *self, HANDLE object,
                                      const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    execute(driver_of(self), arg->DmaBufferSize);
    return STATUS_SUCCESS;
}

static NTSTATUS driver_set_power_state(struct miniport *self, ULONG device_uid,
                                       DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static struct driver *new_driver(struct page_store *ram, struct page_store *local)
{
    struct driver *driver = calloc(1, sizeof *driver);

    assert_non_null(driver);
    driver->ram = ram;
    driver->local = local;
    driver->ops = miniport_forward_ops;
    driver->ops.set_host = driver_set_host;
    driver->ops.destroy = driver_destroy;
    driver->ops.interface_version = driver_interface_version;
    driver->ops.query_adapter_info = driver_query;
    driver->ops.create_process = driver_create_process;
    driver->ops.create_allocation = driver_create_allocation;
    driver->ops.destroy_allocation = driver_destroy_allocation;
    driver->ops.build_paging_buffer = driver_build;
    driver->ops.set_power_state = driver_set_power_state;
    driver->ops.submit_command = driver_submit;
    driver->ops.submit_command_virtual = driver_submit_virtual;
    driver->miniport.ops = &driver->ops;
    return driver;
}

/* ---- The manager's side ---- */

struct bench {
    struct page_store *ram;
    struct page_store *local;
    struct oracle *oracle;
    struct driver *driver;
    struct miniport *top;
    struct miniport_host host;
    struct miniport_host_ops host_ops;
    unsigned interrupt_count;
    unsigned report_count;
    struct oracle_report last;
    char text[ORACLE_TEXT_BYTES];
    uint8_t buffers[2][256]; /* used in turn */
    unsigned buffer;
    uint32_t buffer_bytes;
    uint32_t used;
    uint32_t submitted; /* of the used ones */
    uint32_t fence;
    bool completes_full_buffers; /* at once, before the operation goes on */
};

static void keep_report(void *context, const struct oracle_report *report)
{
    struct bench *bench = context;

    bench->report_count++;
    bench->last = *report;
    snprintf(bench->text, sizeof bench->text, "%s", report->text);
}

static bool resolve(void *context, const struct oracle_segment *segment, uint64_t offset,
                    uint64_t bytes, struct page_store **out_store, uint64_t *out_address)
{
    assert_int_equal(segment->id, 1);
    assert_int_equal(segment->base, SEGMENT_BASE);
    assert_int_equal(segment->size, PAGE_NUMBER(STORE_PAGES));
    *out_address = offset;
    return true;
}

static void count_interrupt(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    container_of(host, struct bench, host)->interrupt_count++;
}

static void query_segments(struct bench *bench)
{
    DXGK_SEGMENTDESCRIPTOR3 descriptors[2] = {0};
    DXGK_QUERYSEGMENTOUT3 out = {0};
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_QUERYSEGMENT3, .pOutputData = &out, .OutputDataSize = sizeof out};

    assert_int_equal(miniport_query_adapter_info(bench->top, NULL, &query), STATUS_SUCCESS);
    assert_int_equal(out.NbSegment, 2);
    out.pSegmentDescriptor = descriptors;
    assert_int_equal(miniport_query_adapter_info(bench->top, NULL, &query), STATUS_SUCCESS);
}

/* STATUS_NO_MEMORY, with everything undone, or a stack that stands. */
static NTSTATUS open_with(struct bench *bench, const struct base_services *services)
{
    struct oracle_config config = {
        .services = services,
        .expected_bytes = 4 * PAGE_NUMBER(STORE_PAGES),
        .context = bench,
        .resolve = resolve,
        .report = keep_report,
    };
    NTSTATUS status;

    *bench = (struct bench){.buffer_bytes = 256};
    bench->ram = page_store_create(base_services_libc(), STORE_PAGES);
    bench->local = page_store_create(base_services_libc(), STORE_PAGES);
    config.ram = bench->ram;
    config.local = bench->local;
    bench->driver = new_driver(bench->ram, bench->local);
    status = oracle_create(&config, &bench->oracle);
    if (NT_SUCCESS(status))
        status = oracle_layer_create(bench->oracle, &bench->driver->miniport, &bench->top);
    if (!NT_SUCCESS(status)) {
        oracle_destroy(bench->oracle);
        free(bench->driver);
        page_store_destroy(bench->ram);
        page_store_destroy(bench->local);
        return status;
    }
    bench->host_ops = (struct miniport_host_ops){.notify_interrupt = count_interrupt};
    bench->host.ops = &bench->host_ops;
    miniport_set_host(bench->top, &bench->host);
    query_segments(bench);
    return STATUS_SUCCESS;
}

static void open_bench(struct bench *bench, enum defect defect)
{
    assert_int_equal(open_with(bench, base_services_libc()), STATUS_SUCCESS);
    bench->driver->defect = defect;
}

static void close_bench(struct bench *bench)
{
    assert_true(oracle_check(bench->oracle));
    miniport_destroy(bench->top);
    oracle_destroy(bench->oracle);
    page_store_destroy(bench->ram);
    page_store_destroy(bench->local);
}

static NTSTATUS create(struct bench *bench, uint64_t id, uint64_t bytes)
{
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_CREATEALLOCATION arg = {.NumAllocations = 1, .pAllocationInfo = &info};
    NTSTATUS status = oracle_allocation_created(bench->oracle, id, bytes, "texture");

    bench->driver->next_handle = id;
    if (NT_SUCCESS(status))
        miniport_create_allocation(bench->top, NULL, &arg);
    return status;
}

static void destroy(struct bench *bench, uint64_t id)
{
    HANDLE handle = HANDLE_OF(id);
    DXGKARG_DESTROYALLOCATION arg = {.NumAllocations = 1, .pAllocationList = &handle};

    miniport_destroy_allocation(bench->top, NULL, &arg);
}

/* Submits what the buffer holds since the last submission; gives the fence. */
static uint32_t submit(struct bench *bench)
{
    DXGKARG_SUBMITCOMMAND arg = {
        .DmaBufferSize = bench->buffer_bytes,
        .DmaBufferSubmissionStartOffset = bench->submitted,
        .DmaBufferSubmissionEndOffset = bench->used,
        .SubmissionFenceId = ++bench->fence,
        .NodeOrdinal = NODE,
        .Flags.Paging = 1,
    };

    bench->submitted = bench->used;
    assert_int_equal(miniport_submit_command(bench->top, NULL, &arg), STATUS_SUCCESS);
    return bench->fence;
}

static void complete(struct bench *bench, uint32_t fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {
        .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED,
        .DmaCompleted = {.SubmissionFenceId = fence, .NodeOrdinal = NODE},
    };

    bench->driver->host->ops->notify_interrupt(bench->driver->host, &data);
}

/* Builds one operation, submitting full buffers as PB-010 says. */
static void build(struct bench *bench, const DXGKARG_BUILDPAGINGBUFFER *operation)
{
    UINT multipass = 0;

    for (;;) {
        DXGKARG_BUILDPAGINGBUFFER arg = *operation;
        NTSTATUS status;

        arg.pDmaBuffer = bench->buffers[bench->buffer] + bench->used;
        arg.DmaSize = bench->buffer_bytes - bench->used;
        arg.MultipassOffset = multipass;
        status = miniport_build_paging_buffer(bench->top, NULL, &arg);
        multipass = arg.MultipassOffset;
        bench->used = (uint32_t)((uint8_t *)arg.pDmaBuffer - bench->buffers[bench->buffer]);
        if (status == STATUS_SUCCESS)
            return;
        assert_int_equal(status, STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        submit(bench);
        if (bench->completes_full_buffers)
            complete(bench, bench->fence);
        bench->buffer ^= 1;
        bench->used = 0;
        bench->submitted = 0;
    }
}

static void submit_and_complete(struct bench *bench)
{
    if (bench->used != bench->submitted)
        complete(bench, submit(bench));
}

/* An MDL of count pages, 37 apart from each other, behind one that nobody may touch. */
#define MDL_POISON 2u
struct pages {
    MDL mdl;
    PFN_NUMBER pfns[64];
};

static void make_pages(struct pages *pages, uint64_t first, uint32_t count)
{
    memset(pages, 0, sizeof *pages);
    pages->mdl.ByteCount = (count + MDL_POISON) * (ULONG)PAGE_BYTES;
    for (uint32_t i = 0; i < MDL_POISON; i++)
        pages->pfns[i] = STORE_PAGES - 1 - i;
    for (uint32_t i = 0; i < count; i++)
        pages->pfns[MDL_POISON + i] = (first + 37 * i) % (STORE_PAGES - MDL_POISON);
}

static DXGKARG_BUILDPAGINGBUFFER transfer(struct pages *pages, uint64_t local_page, bool is_in,
                                          uint32_t first, uint32_t count)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_TRANSFER,
        .Transfer = {.hAllocation = HANDLE_OF(TEXTURE),
                     .TransferOffset = (UINT)PAGE_NUMBER(first),
                     .TransferSize = PAGE_NUMBER(count),
                     .MdlOffset = MDL_POISON + first},
    };
    LARGE_INTEGER address = {.QuadPart = (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(local_page))};

    if (is_in) {
        arg.Transfer.Source.pMdl = &pages->mdl;
        arg.Transfer.Destination.SegmentId = 1;
        arg.Transfer.Destination.SegmentAddress = address;
    } else {
        arg.Transfer.Source.SegmentId = 1;
        arg.Transfer.Source.SegmentAddress = address;
        arg.Transfer.Destination.pMdl = &pages->mdl;
    }
    return arg;
}

/* A texture whose content the CPU wrote into these system pages. */
static void make_texture(struct bench *bench, struct pages *pages)
{
    assert_int_equal(create(bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES)), STATUS_SUCCESS);
    make_pages(pages, 100, TEXTURE_PAGES);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        uint64_t address = PAGE_NUMBER(pages->pfns[MDL_POISON + i]);

        page_store_write_tag(bench->ram, address, PAGE_BYTES, 1000 + i);
        oracle_cpu_write(bench->oracle, TEXTURE, PAGE_NUMBER(i), bench->ram, address, PAGE_BYTES,
                         1000 + i);
    }
}

static void assert_at(const struct bench *bench, uint64_t page, struct page_store *store,
                      uint64_t store_page)
{
    struct page_store *found_store;
    uint64_t found_page;

    assert_true(oracle_find_page(bench->oracle, TEXTURE, page, &found_store, &found_page));
    assert_ptr_equal(found_store, store);
    assert_int_equal(found_page, store_page);
}

#endif
