/*
 * The oracle's layer, between hand-made calls and a fake driver whose paging buffers are eight
 * bytes a page: command number n of the driver's list. Defects are planted in the driver.
 */
#include "check/oracle.h"

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
    uint64_t va_pages[256]; /* local page, or 1 << 32 | system page, of the scratch range */
};

static struct driver *driver_of(struct miniport *miniport)
{
    return (struct driver *)miniport;
}

static void driver_set_host(struct miniport *self, struct miniport_host *host)
{
    driver_of(self)->host = host;
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

        if (update->hProcess != HANDLE_OF(0x101))
            return STATUS_SUCCESS;
        for (UINT i = 0; i < update->NumPageTableEntries; i++) {
            const DXGK_PTE *entry = &update->pPageTableEntries[update->Flags.Repeat ? 0 : i];

            driver->va_pages[update->FirstPteVirtualAddress / PAGE_BYTES + i] =
                entry->PageAddress | (uint64_t)!entry->Segment << 32;
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

static struct driver *new_driver(struct page_store *ram, struct page_store *local)
{
    struct driver *driver = calloc(1, sizeof *driver);

    assert_non_null(driver);
    driver->ram = ram;
    driver->local = local;
    driver->ops = miniport_forward_ops;
    driver->ops.set_host = driver_set_host;
    driver->ops.destroy = driver_destroy;
    driver->ops.query_adapter_info = driver_query;
    driver->ops.create_process = driver_create_process;
    driver->ops.create_allocation = driver_create_allocation;
    driver->ops.destroy_allocation = driver_destroy_allocation;
    driver->ops.build_paging_buffer = driver_build;
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
};

static void keep_report(void *context, const struct oracle_report *report)
{
    struct bench *bench = context;

    bench->report_count++;
    bench->last = *report;
    snprintf(bench->text, sizeof bench->text, "%s", report->text);
}

static bool resolve(void *context, const struct oracle_segment *segment, uint64_t offset,
                    uint64_t bytes, uint64_t *out_address)
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

static void assert_silent(struct bench *bench)
{
    assert_true(oracle_final_check(bench->oracle));
    assert_int_equal(bench->report_count, 0);
    assert_int_equal(oracle_counters(bench->oracle)->unmatched_packets, 0);
    assert_int_equal(oracle_counters(bench->oracle)->lost_operations, 0);
}

/* One report, of content, that says where. */
static void assert_reported(const struct bench *bench, uint64_t offset, const char *where,
                            const char *when)
{
    assert_int_equal(bench->report_count, 1);
    assert_int_equal(bench->last.problem, ORACLE_CONTENT);
    assert_int_equal(bench->last.allocation, TEXTURE);
    assert_int_equal(bench->last.page, offset / PAGE_BYTES);
    assert_int_equal(bench->last.offset, offset);
    if (!strstr(bench->text, where) || !strstr(bench->text, when))
        print_error("%s\n", bench->text);
    assert_non_null(strstr(bench->text, where));
    assert_non_null(strstr(bench->text, when));
}

/* ---- Correct flows ---- */

static void pages_are_followed_in_and_out_in_silence(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct pages other;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    assert_at(&bench, 3, bench.ram, home.pfns[MDL_POISON + 3]);
    submit(&bench);
    assert_at(&bench, 3, bench.ram, home.pfns[MDL_POISON + 3]); /* not before its fence */
    complete(&bench, bench.fence);
    assert_int_equal(bench.interrupt_count, 1);
    assert_at(&bench, 3, bench.local, 43);
    make_pages(&other, 500, TEXTURE_PAGES);
    arg = transfer(&other, 40, false, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_at(&bench, 15, bench.ram, other.pfns[MDL_POISON + 15]);
    assert_silent(&bench);
    assert_int_equal(oracle_counters(bench.oracle)->pages_checked, 3 * TEXTURE_PAGES);
    assert_int_equal(oracle_counters(bench.oracle)->packets, 2);
    close_bench(&bench);
}

static void an_operation_in_parts_is_published_with_its_last_one(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    bench.buffer_bytes = 5 * 8;
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    assert_int_equal(bench.fence, 4);
    complete(&bench, 3);
    assert_at(&bench, 0, bench.ram, home.pfns[MDL_POISON]);
    assert_int_equal(oracle_counters(bench.oracle)->packets, 3);
    complete(&bench, 4);
    assert_at(&bench, 0, bench.local, 40);
    assert_silent(&bench);
    close_bench(&bench);
}

static void pieces_of_a_move_are_where_their_offsets_say(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    for (uint32_t first = 0; first < TEXTURE_PAGES; first += 4) {
        arg = transfer(&home, 40, true, first, 4);
        build(&bench, &arg);
        if (first == 4)
            submit(&bench);
    }
    submit(&bench);
    complete(&bench, bench.fence);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_at(&bench, i, bench.local, 40 + i);
    assert_silent(&bench);
    close_bench(&bench);
}

static void packets_that_one_interrupt_completes_are_judged_by_what_is_there_now(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct pages other;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    make_pages(&other, 500, TEXTURE_PAGES);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    arg = transfer(&other, 40, false, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    page_store_fill(bench.local, PAGE_NUMBER(40), PAGE_NUMBER(4), 0xabcdef01); /* reused */
    complete(&bench, bench.fence);
    assert_at(&bench, 2, bench.ram, other.pfns[MDL_POISON + 2]);
    assert_int_equal(oracle_counters(bench.oracle)->pages_checked, TEXTURE_PAGES);
    assert_silent(&bench);
    close_bench(&bench);
}

static void a_submission_takes_what_it_covers_and_no_more(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;
    uint32_t covered;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, 8);
    build(&bench, &arg);
    covered = bench.used;
    arg = transfer(&home, 40, true, 8, 8);
    build(&bench, &arg);
    bench.used = covered;
    submit_and_complete(&bench);
    assert_at(&bench, 7, bench.local, 47);
    assert_at(&bench, 8, bench.ram, home.pfns[MDL_POISON + 8]);
    bench.used = 2 * covered;
    submit_and_complete(&bench);
    assert_at(&bench, 8, bench.local, 48);
    assert_silent(&bench);
    close_bench(&bench);
}

static DXGKARG_BUILDPAGINGBUFFER fill(uint64_t id, uint64_t local_page, uint32_t pattern)
{
    return (DXGKARG_BUILDPAGINGBUFFER){
        .Operation = DXGK_OPERATION_FILL,
        .Fill = {.hAllocation = HANDLE_OF(id),
                 .FillSize = PAGE_NUMBER(TEXTURE_PAGES),
                 .FillPattern = pattern,
                 .Destination = {.SegmentId = 1,
                                 .SegmentAddress.QuadPart =
                                     (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(local_page))}},
    };
}

static void a_fill_of_what_was_never_written_is_zero(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = fill(TEXTURE, 80, 0);
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    page_store_fill(bench.local, 0, PAGE_NUMBER(STORE_PAGES), 0x55555555);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_silent(&bench);
    arg = fill(TEXTURE, 120, 0x11);
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_reported(&bench, 0, "segment 1 page 0x78", "FILL of event");
    close_bench(&bench);
}

static void an_aperture_map_tells_where_an_allocation_lives(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    make_pages(&home, 300, TEXTURE_PAGES);
    memmove(home.pfns, home.pfns + MDL_POISON, TEXTURE_PAGES * sizeof home.pfns[0]);
    home.mdl.ByteCount = TEXTURE_PAGES * (ULONG)PAGE_BYTES;
    arg.MapApertureSegment.hAllocation = HANDLE_OF(TEXTURE);
    arg.MapApertureSegment.SegmentId = 2;
    arg.MapApertureSegment.OffsetInPages = 8;
    arg.MapApertureSegment.NumberOfPages = TEXTURE_PAGES;
    arg.MapApertureSegment.pMdl = &home.mdl;
    build(&bench, &arg);
    assert_at(&bench, 5, bench.ram, home.pfns[5]);
    assert_silent(&bench);
    page_store_fill(bench.ram, PAGE_NUMBER(home.pfns[5]) + 8, 4, 1);
    assert_false(oracle_final_check(bench.oracle));
    assert_reported(&bench, PAGE_NUMBER(5) + 8, "system page", "final check");
    close_bench(&bench);
}

static DXGKARG_BUILDPAGINGBUFFER discard(uint64_t local_page)
{
    return (DXGKARG_BUILDPAGINGBUFFER){
        .Operation = DXGK_OPERATION_DISCARD_CONTENT,
        .DiscardContent = {.hAllocation = HANDLE_OF(TEXTURE),
                           .SegmentId = 1,
                           .SegmentAddress.QuadPart =
                               (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(local_page))},
    };
}

static void a_discard_falls_back_to_the_backing_and_finds_what_is_stale(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    for (unsigned is_dirty = 0; is_dirty < 2; is_dirty++) {
        arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
        build(&bench, &arg);
        submit_and_complete(&bench);
        if (is_dirty) {
            page_store_write_tag(bench.local, PAGE_NUMBER(42), PAGE_BYTES, 9);
            oracle_cpu_write(bench.oracle, TEXTURE, PAGE_NUMBER(2), bench.local, PAGE_NUMBER(42),
                             PAGE_BYTES, 9);
        }
        arg = discard(40);
        build(&bench, &arg);
        if (is_dirty)
            break;
        assert_at(&bench, 2, bench.ram, home.pfns[MDL_POISON + 2]);
        assert_silent(&bench);
    }
    assert_reported(&bench, PAGE_NUMBER(2), "system page", "DISCARD_CONTENT");
    close_bench(&bench);
}

static void a_discard_without_a_copy_leaves_written_content_nowhere(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = fill(TEXTURE, 40, 0);
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    build(&bench, &arg);
    submit_and_complete(&bench);
    arg = discard(40);
    build(&bench, &arg);
    assert_silent(&bench); /* it was zero, and will be filled again */
    arg = fill(TEXTURE, 40, 0);
    build(&bench, &arg);
    submit_and_complete(&bench);
    oracle_cpu_write(bench.oracle, TEXTURE, PAGE_NUMBER(3), bench.local, PAGE_NUMBER(43),
                     PAGE_BYTES, 5);
    arg = discard(40);
    build(&bench, &arg);
    assert_false(oracle_final_check(bench.oracle));
    assert_int_equal(bench.report_count, 1);
    assert_int_equal(bench.last.problem, ORACLE_UNLOCATED);
    assert_int_equal(bench.last.page, 3);
    close_bench(&bench);
}

/* ---- Virtual operations ---- */

static void map_scratch(struct bench *bench, uint64_t va_page, uint32_t segment,
                        const uint64_t *pages, uint32_t count)
{
    DXGK_PTE entries[64] = {0};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .UpdatePageTable = {.pPageTableEntries = entries,
                            .NumPageTableEntries = count,
                            .hProcess = HANDLE_OF(0x101),
                            .FirstPteVirtualAddress = PAGE_NUMBER(va_page)},
    };

    for (uint32_t i = 0; i < count; i++) {
        entries[i].Valid = 1;
        entries[i].Segment = segment;
        entries[i].PageAddress = pages[i];
    }
    build(bench, &arg);
}

/* Moves the texture to local page 200 in chunks of four pages through one scratch range. */
static void move_virtually(struct bench *bench, const struct pages *home)
{
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = 1};

    miniport_create_process(bench->top, NULL, &process);
    for (uint32_t first = 0; first < TEXTURE_PAGES; first += 4) {
        uint64_t system[4];
        uint64_t local[4];
        DXGKARG_BUILDPAGINGBUFFER arg = {
            .Operation = DXGK_OPERATION_VIRTUAL_TRANSFER,
            .TransferVirtual = {.hAllocation = HANDLE_OF(TEXTURE),
                                .AllocationOffsetInBytes = PAGE_NUMBER(first),
                                .TransferSizeInBytes = PAGE_NUMBER(4),
                                .SourceVirtualAddress = PAGE_NUMBER(16),
                                .DestinationVirtualAddress = PAGE_NUMBER(32)},
        };

        for (uint32_t i = 0; i < 4; i++) {
            system[i] = home->pfns[MDL_POISON + first + i];
            local[i] = 200 + first + i;
        }
        map_scratch(bench, 16, 0, system, 4);
        map_scratch(bench, 32, 1, local, 4);
        build(bench, &arg);
    }
}

static void scratch_addresses_mean_what_they_were_mapped_to_when_it_was_built(void **state)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL arg = {.NodeOrdinal = NODE, .Flags.Paging = 1};
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    move_virtually(&bench, &home);
    arg.DmaBufferSize = bench.used;
    arg.SubmissionFenceId = ++bench.fence;
    miniport_submit_command_virtual(bench.top, NULL, &arg);
    complete(&bench, bench.fence);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        assert_at(&bench, i, bench.local, 200 + i);
    assert_silent(&bench);
    close_bench(&bench);
}

static void entries_of_a_process_tell_where_an_allocation_lives(void **state)
{
    DXGK_PTE entries[TEXTURE_PAGES] = {0};
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .UpdatePageTable = {.hAllocation = HANDLE_OF(TEXTURE),
                            .pPageTableEntries = entries,
                            .NumPageTableEntries = TEXTURE_PAGES,
                            .hProcess = HANDLE_OF(0x100),
                            .FirstPteVirtualAddress = PAGE_NUMBER(5000)},
    };
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES));
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        entries[i].Valid = 1;
        entries[i].PageAddress = 600 - 3 * i;
    }
    build(&bench, &arg);
    assert_at(&bench, 4, bench.ram, 588);
    assert_silent(&bench);
    close_bench(&bench);
}

/* ---- Planted defects ---- */

struct defect_case {
    enum defect defect;
    uint32_t first; /* the transfer that shows it */
    uint32_t count;
    bool is_in;
    uint32_t buffer_bytes;
    uint64_t offset; /* of the first wrong byte */
    const char *where;
};

/* Brings the texture to local page 40 without a defect, unless the transfer in is what shows it. */
static void show_defect(struct bench *bench, const struct defect_case *shown)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct pages other;

    open_bench(bench, NO_DEFECT);
    page_store_fill(bench->local, 0, PAGE_NUMBER(STORE_PAGES), 0x55555555);
    make_texture(bench, &home);
    make_pages(&other, 500, TEXTURE_PAGES);
    if (!shown->is_in) {
        arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
        build(bench, &arg);
        submit_and_complete(bench);
    }
    assert_int_equal(bench->report_count, 0);
    bench->driver->defect = shown->defect;
    bench->buffer_bytes = shown->buffer_bytes;
    bench->used = bench->submitted = 0;
    bench->buffer ^= 1;
    arg = transfer(shown->is_in ? &home : &other, 40, shown->is_in, shown->first, shown->count);
    build(bench, &arg);
    submit_and_complete(bench);
}

static void every_defect_is_reported_once_and_in_its_place(void **state)
{
    static const struct defect_case cases[] = {
        {WRONG_BYTE, 0, 16, true, 256, 0x5009, "segment 1 page 0x2d, byte 0x9"},
        {WRONG_BYTE, 0, 16, false, 256, 0x5009, "system page 0x2ad, byte 0x9"},
        {WRONG_ORDER, 0, 16, true, 256, 0x4000, "segment 1 page 0x2c, byte 0x0"},
        {WRONG_ORDER, 0, 16, false, 256, 0x4000, "system page 0x288"},
        {MISSING_PAGE, 0, 16, true, 256, 0x5000, "segment 1 page 0x2d"},
        {MISSING_PAGE, 0, 16, false, 256, 0x5000, "system page 0x2ad"},
        {SWALLOWED, 0, 16, true, 256, 0x0, "segment 1 page 0x28"},
        {IGNORES_OFFSET, 4, 4, true, 256, 0x4000, "segment 1 page 0x2c"},
        {IGNORES_OFFSET, 4, 4, false, 256, 0x4000, "system page 0x288"},
        {OFFSET_ON_MDL, 4, 4, true, 256, 0x4000, "segment 1 page 0x2c"},
        {OFFSET_ON_MDL, 4, 4, false, 256, 0x4000, "system page 0x288"},
        {IGNORES_MDL_OFFSET, 0, 16, true, 256, 0x0, "segment 1 page 0x28"},
        {IGNORES_MDL_OFFSET, 0, 16, false, 256, 0x0, "system page 0x1f4"},
        {RESTARTS, 0, 16, true, 32, 0x0, "segment 1 page 0x28"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct bench bench;

        show_defect(&bench, &cases[i]);
        assert_reported(&bench, cases[i].offset, cases[i].where, "TRANSFER of event");
        assert_false(oracle_final_check(bench.oracle));
        assert_int_equal(bench.report_count, 1);
        close_bench(&bench);
    }
}

static void the_same_flows_without_a_defect_are_silent(void **state)
{
    static const struct defect_case cases[] = {
        {NO_DEFECT, 0, 16, true, 256, 0, ""}, {NO_DEFECT, 0, 16, false, 256, 0, ""},
        {NO_DEFECT, 4, 4, true, 256, 0, ""},  {NO_DEFECT, 4, 4, false, 256, 0, ""},
        {NO_DEFECT, 0, 16, true, 32, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct bench bench;

        show_defect(&bench, &cases[i]);
        assert_silent(&bench);
        close_bench(&bench);
    }
}

static void content_that_changes_behind_everyone_is_found_at_the_end(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit_and_complete(&bench);
    page_store_write(bench.local, PAGE_NUMBER(47) + 100, "?", 1);
    assert_false(oracle_final_check(bench.oracle));
    assert_reported(&bench, PAGE_NUMBER(7) + 100, "segment 1 page 0x2f, byte 0x64", "final check");
    close_bench(&bench);
}

/* ---- What never ends ---- */

static void operations_that_nobody_submits_or_completes_are_reported(void **state)
{
    for (unsigned is_submitted = 0; is_submitted < 2; is_submitted++) {
        DXGKARG_BUILDPAGINGBUFFER arg;
        struct pages home;
        struct bench bench;

        open_bench(&bench, NO_DEFECT);
        make_texture(&bench, &home);
        arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
        build(&bench, &arg);
        if (is_submitted)
            submit(&bench);
        complete(&bench, is_submitted ? bench.fence - 1 : 5);
        assert_false(oracle_final_check(bench.oracle));
        assert_int_equal(bench.report_count, 1);
        assert_int_equal(bench.last.problem, ORACLE_UNFINISHED);
        assert_non_null(strstr(bench.text, is_submitted ? "fence 1 of node 1" : "never submitted"));
        close_bench(&bench);
    }
}

static void an_allocation_may_go_before_its_operation_retires(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    struct pages home;
    struct bench bench;

    open_bench(&bench, NO_DEFECT);
    make_texture(&bench, &home);
    arg = transfer(&home, 40, true, 0, TEXTURE_PAGES);
    build(&bench, &arg);
    submit(&bench);
    oracle_allocation_freed(bench.oracle, TEXTURE);
    destroy(&bench, TEXTURE);
    assert_true(oracle_check(bench.oracle));
    complete(&bench, bench.fence);
    arg = fill(TEXTURE, 40, 1); /* nobody's now */
    build(&bench, &arg);
    submit_and_complete(&bench);
    assert_int_equal(oracle_counters(bench.oracle)->operations_foreign, 1);
    assert_silent(&bench);
    close_bench(&bench);
}

static void every_nth_allocation_failure_is_told_and_leaves_it_whole(void **state)
{
    struct failing_services memory;
    unsigned told_count = 0;

    for (uint64_t n = 1;; n++) {
        struct bench bench;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        if (open_with(&bench, &memory.services) == STATUS_SUCCESS) {
            struct pages home;

            make_pages(&home, 100, TEXTURE_PAGES);
            if (create(&bench, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES)) == STATUS_SUCCESS) {
                DXGKARG_BUILDPAGINGBUFFER arg = fill(TEXTURE, 40, 0);

                build(&bench, &arg);
                submit_and_complete(&bench);
                move_virtually(&bench, &home);
                submit_and_complete(&bench);
                oracle_final_check(bench.oracle);
            }
            assert_int_equal(oracle_counters(bench.oracle)->mismatches, 0);
            told_count += oracle_counters(bench.oracle)->lost_operations != 0;
            close_bench(&bench);
        }
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
    assert_true(told_count > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_followed_in_and_out_in_silence),
        cmocka_unit_test(an_operation_in_parts_is_published_with_its_last_one),
        cmocka_unit_test(pieces_of_a_move_are_where_their_offsets_say),
        cmocka_unit_test(packets_that_one_interrupt_completes_are_judged_by_what_is_there_now),
        cmocka_unit_test(a_submission_takes_what_it_covers_and_no_more),
        cmocka_unit_test(a_fill_of_what_was_never_written_is_zero),
        cmocka_unit_test(an_aperture_map_tells_where_an_allocation_lives),
        cmocka_unit_test(a_discard_falls_back_to_the_backing_and_finds_what_is_stale),
        cmocka_unit_test(a_discard_without_a_copy_leaves_written_content_nowhere),
        cmocka_unit_test(scratch_addresses_mean_what_they_were_mapped_to_when_it_was_built),
        cmocka_unit_test(entries_of_a_process_tell_where_an_allocation_lives),
        cmocka_unit_test(every_defect_is_reported_once_and_in_its_place),
        cmocka_unit_test(the_same_flows_without_a_defect_are_silent),
        cmocka_unit_test(content_that_changes_behind_everyone_is_found_at_the_end),
        cmocka_unit_test(operations_that_nobody_submits_or_completes_are_reported),
        cmocka_unit_test(an_allocation_may_go_before_its_operation_retires),
        cmocka_unit_test(every_nth_allocation_failure_is_told_and_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
