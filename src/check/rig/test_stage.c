/* Stage: the fake driver, and the manager's calls. */
#include "check/rig/test_stage.h"

#include "check/rig/test_told.h"

#include "miniport/operation.h"

/* ---- The fake driver ---- */

static struct stage_driver *driver_of(struct miniport *miniport)
{
    return (struct stage_driver *)miniport;
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
    out->NbSegment = 3;
    if (!out->pSegmentDescriptor)
        return STATUS_SUCCESS;
    out->pSegmentDescriptor[0].BaseAddress.QuadPart = (LONGLONG)SEGMENT_BASE;
    out->pSegmentDescriptor[0].Size = PAGE_NUMBER(STORE_PAGES);
    out->pSegmentDescriptor[1].BaseAddress.QuadPart = (LONGLONG)APERTURE_BASE;
    out->pSegmentDescriptor[1].Size = PAGE_NUMBER(64);
    out->pSegmentDescriptor[1].Flags.Aperture = 1;
    out->pSegmentDescriptor[2].BaseAddress.QuadPart =
        (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(STORE_PAGES));
    out->pSegmentDescriptor[2].Size = PAGE_NUMBER(UPPER_PAGES);
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
static uint64_t side_page(const struct stage_driver *driver, const DXGKARG_BUILDPAGINGBUFFER *arg,
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

static void command_of(struct stage_driver *driver, const DXGKARG_BUILDPAGINGBUFFER *arg,
                       uint64_t i, struct stage_command *command)
{
    uint64_t number = arg->Transfer.TransferOffset / PAGE_BYTES + i;
    uint64_t va;

    *command = (struct stage_command){0};
    switch (arg->Operation) {
    case DXGK_OPERATION_FILL:
        command->destination = driver->local;
        command->destination_page =
            ((uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart - SEGMENT_BASE) / PAGE_BYTES +
            i;
        command->pattern = arg->Fill.FillPattern;
        return;
    case DXGK_OPERATION_VIRTUAL_FILL:
        va = driver->va_pages[arg->FillVirtual.DestinationVirtualAddress / PAGE_BYTES + i];
        command->destination = va >> 32 ? driver->ram : driver->local;
        command->destination_page = (uint32_t)va;
        command->pattern = arg->FillVirtual.FillPattern;
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
    enum miniport_operation_kind kind = miniport_operation_kind((unsigned)arg->Operation);

    return kind == MINIPORT_KIND_TRANSFER || kind == MINIPORT_KIND_FILL
               ? miniport_operation_units(arg)
               : 0;
}

static NTSTATUS driver_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct stage_driver *driver = driver_of(self);
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

static void execute(struct stage_driver *driver, uint64_t bytes)
{
    for (; bytes; bytes -= 8) {
        const struct stage_command *command = &driver->commands[driver->done_count++];
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

/* Local memory keeps its bytes: what of them is believed is the oracle's choice. */
static NTSTATUS driver_reset_from_timeout(struct miniport *self, HANDLE object)
{
    return STATUS_SUCCESS;
}

static NTSTATUS driver_set_power_state(struct miniport *self, ULONG device_uid,
                                       DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static struct stage_driver *new_driver(struct page_store *ram, struct page_store *local)
{
    struct stage_driver *driver = calloc(1, sizeof *driver);

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
    driver->ops.reset_from_timeout = driver_reset_from_timeout;
    driver->ops.set_power_state = driver_set_power_state;
    driver->ops.submit_command = driver_submit;
    driver->ops.submit_command_virtual = driver_submit_virtual;
    driver->miniport.ops = &driver->ops;
    return driver;
}

/* ---- The manager's side ---- */

static void keep_report(void *context, const struct oracle_report *report)
{
    struct stage *stage = context;

    stage->report_count++;
    stage->last = *report;
    told_oracle_report(&stage->said, report);
    snprintf(stage->text, sizeof stage->text, "%s", report->text);
}

static bool resolve(void *context, const struct oracle_segment *segment, uint64_t offset,
                    uint64_t bytes, struct page_store **out_store, uint64_t *out_address)
{
    bool is_upper = segment->id == UPPER_SEGMENT;

    assert_true(is_upper || segment->id == 1);
    assert_int_equal(segment->base, SEGMENT_BASE + (is_upper ? PAGE_NUMBER(STORE_PAGES) : 0));
    assert_int_equal(segment->size, PAGE_NUMBER(is_upper ? UPPER_PAGES : STORE_PAGES));
    *out_address = segment->base - SEGMENT_BASE + offset;
    return true;
}

static void count_interrupt(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    container_of(host, struct stage, host)->interrupt_count++;
}

static void query_segments(struct stage *stage)
{
    DXGK_SEGMENTDESCRIPTOR3 descriptors[3] = {0};
    DXGK_QUERYSEGMENTOUT3 out = {0};
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_QUERYSEGMENT3, .pOutputData = &out, .OutputDataSize = sizeof out};

    assert_int_equal(miniport_query_adapter_info(stage->top, NULL, &query), STATUS_SUCCESS);
    assert_int_equal(out.NbSegment, 3);
    out.pSegmentDescriptor = descriptors;
    assert_int_equal(miniport_query_adapter_info(stage->top, NULL, &query), STATUS_SUCCESS);
}

NTSTATUS stage_open_with(struct stage *stage, const struct base_services *services)
{
    struct oracle_config config = {
        .services = services,
        .expected_bytes = 4 * PAGE_NUMBER(STORE_PAGES),
        .context = stage,
        .resolve = resolve,
        .report = keep_report,
        .counts = &stage->counts,
        .judges_reports = true,
    };
    NTSTATUS status;

    *stage = (struct stage){.buffer_bytes = 256};
    hash_init(&stage->said, 0);
    stage->ram = page_store_create(base_services_libc(), STORE_PAGES);
    stage->local = page_store_create(base_services_libc(), STORE_PAGES + UPPER_PAGES);
    config.ram = stage->ram;
    config.local = stage->local;
    stage->driver = new_driver(stage->ram, stage->local);
    status = oracle_create(&config, &stage->oracle);
    if (NT_SUCCESS(status))
        status = oracle_layer_create(stage->oracle, &stage->driver->miniport, &stage->top);
    if (!NT_SUCCESS(status)) {
        oracle_destroy(stage->oracle);
        free(stage->driver);
        page_store_destroy(stage->ram);
        page_store_destroy(stage->local);
        return status;
    }
    stage->host_ops = (struct miniport_host_ops){.notify_interrupt = count_interrupt};
    stage->host.ops = &stage->host_ops;
    miniport_set_host(stage->top, &stage->host);
    query_segments(stage);
    return STATUS_SUCCESS;
}

void stage_open(struct stage *stage, enum stage_defect defect)
{
    assert_int_equal(stage_open_with(stage, base_services_libc()), STATUS_SUCCESS);
    stage->driver->defect = defect;
}

void stage_close(struct stage *stage)
{
    told_oracle(&stage->said, stage->oracle, TEXTURE);
    told_add(&stage->counts, hash_final(&stage->said));
    assert_true(oracle_check(stage->oracle));
    miniport_destroy(stage->top);
    oracle_destroy(stage->oracle);
    page_store_destroy(stage->ram);
    page_store_destroy(stage->local);
}

NTSTATUS stage_create(struct stage *stage, uint64_t id, uint64_t bytes)
{
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_CREATEALLOCATION arg = {.NumAllocations = 1, .pAllocationInfo = &info};
    NTSTATUS status = oracle_allocation_created(stage->oracle, id, bytes, "texture");

    stage->driver->next_handle = id;
    if (NT_SUCCESS(status))
        miniport_create_allocation(stage->top, NULL, &arg);
    return status;
}

void stage_destroy(struct stage *stage, uint64_t id)
{
    HANDLE handle = HANDLE_OF(id);
    DXGKARG_DESTROYALLOCATION arg = {.NumAllocations = 1, .pAllocationList = &handle};

    miniport_destroy_allocation(stage->top, NULL, &arg);
}

uint32_t stage_submit(struct stage *stage)
{
    DXGKARG_SUBMITCOMMAND arg = {
        .DmaBufferSize = stage->buffer_bytes,
        .DmaBufferSubmissionStartOffset = stage->submitted,
        .DmaBufferSubmissionEndOffset = stage->used,
        .SubmissionFenceId = ++stage->fence,
        .NodeOrdinal = NODE,
        .Flags.Paging = 1,
    };

    stage->submitted = stage->used;
    assert_int_equal(miniport_submit_command(stage->top, NULL, &arg), STATUS_SUCCESS);
    return stage->fence;
}

void stage_complete(struct stage *stage, uint32_t fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {
        .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED,
        .DmaCompleted = {.SubmissionFenceId = fence, .NodeOrdinal = NODE},
    };

    stage->driver->host->ops->notify_interrupt(stage->driver->host, &data);
}

void stage_build(struct stage *stage, const DXGKARG_BUILDPAGINGBUFFER *operation)
{
    UINT multipass = 0;

    for (;;) {
        DXGKARG_BUILDPAGINGBUFFER arg = *operation;
        NTSTATUS status;

        arg.pDmaBuffer = stage->buffers[stage->buffer] + stage->used;
        arg.DmaSize = stage->buffer_bytes - stage->used;
        arg.MultipassOffset = multipass;
        status = miniport_build_paging_buffer(stage->top, NULL, &arg);
        multipass = arg.MultipassOffset;
        stage->used = (uint32_t)((uint8_t *)arg.pDmaBuffer - stage->buffers[stage->buffer]);
        if (status == STATUS_SUCCESS)
            return;
        assert_int_equal(status, STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        stage_submit(stage);
        if (stage->completes_full_buffers)
            stage_complete(stage, stage->fence);
        stage->buffer ^= 1;
        stage->used = 0;
        stage->submitted = 0;
    }
}

void stage_submit_and_complete(struct stage *stage)
{
    if (stage->used != stage->submitted)
        stage_complete(stage, stage_submit(stage));
}

void stage_make_pages(struct stage_pages *pages, uint64_t first, uint32_t count)
{
    memset(pages, 0, sizeof *pages);
    pages->mdl.ByteCount = (count + MDL_POISON) * (ULONG)PAGE_BYTES;
    for (uint32_t i = 0; i < MDL_POISON; i++)
        pages->pfns[i] = STORE_PAGES - 1 - i;
    for (uint32_t i = 0; i < count; i++)
        pages->pfns[MDL_POISON + i] = (first + 37 * i) % (STORE_PAGES - MDL_POISON);
}

DXGKARG_BUILDPAGINGBUFFER stage_transfer(struct stage_pages *pages, uint64_t local_page, bool is_in,
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

DXGKARG_BUILDPAGINGBUFFER stage_fill(uint64_t id, uint64_t local_page, uint32_t pattern)
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

void stage_make_texture(struct stage *stage, struct stage_pages *pages)
{
    assert_int_equal(stage_create(stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES)), STATUS_SUCCESS);
    stage_make_pages(pages, 100, TEXTURE_PAGES);
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        uint64_t address = PAGE_NUMBER(pages->pfns[MDL_POISON + i]);

        page_store_write_tag(stage->ram, address, PAGE_BYTES, 1000 + i);
        oracle_cpu_write(stage->oracle, TEXTURE, PAGE_NUMBER(i), stage->ram, address, PAGE_BYTES,
                         1000 + i);
    }
}

void stage_assert_at(const struct stage *stage, uint64_t page, struct page_store *store,
                     uint64_t store_page)
{
    struct page_store *found_store;
    uint64_t found_page;

    assert_true(oracle_find_page(stage->oracle, TEXTURE, page, &found_store, &found_page));
    assert_ptr_equal(found_store, store);
    assert_int_equal(found_page, store_page);
}

void stage_map_scratch(struct stage *stage, uint64_t va_page, uint32_t segment,
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
    stage_build(stage, &arg);
}

void stage_move_virtually(struct stage *stage, uint64_t from_page, uint64_t to_page)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {
        .Operation = DXGK_OPERATION_VIRTUAL_TRANSFER,
        .TransferVirtual = {.hAllocation = HANDLE_OF(TEXTURE),
                            .TransferSizeInBytes = PAGE_NUMBER(TEXTURE_PAGES),
                            .SourceVirtualAddress = PAGE_NUMBER(from_page),
                            .DestinationVirtualAddress = PAGE_NUMBER(to_page)},
    };
    DXGKARG_SUBMITCOMMANDVIRTUAL submission = {.NodeOrdinal = NODE, .Flags.Paging = 1};

    stage_build(stage, &arg);
    submission.DmaBufferSize = stage->used - stage->submitted;
    submission.SubmissionFenceId = ++stage->fence;
    stage->submitted = stage->used;
    miniport_submit_command_virtual(stage->top, NULL, &submission);
    stage_complete(stage, stage->fence);
}

void stage_assert_silent(struct stage *stage)
{
    assert_true(oracle_final_check(stage->oracle));
    assert_int_equal(stage->report_count, 0);
    assert_int_equal(oracle_counters(stage->oracle)->unmatched_packets, 0);
    assert_int_equal(oracle_counters(stage->oracle)->lost_operations, 0);
}

void stage_assert_reported(const struct stage *stage, uint64_t offset, const char *where,
                           const char *when)
{
    assert_int_equal(stage->report_count, 1);
    assert_int_equal(stage->last.problem, ORACLE_CONTENT);
    assert_int_equal(stage->last.allocation, TEXTURE);
    assert_int_equal(stage->last.page, offset / PAGE_BYTES);
    assert_int_equal(stage->last.offset, offset);
    if (!strstr(stage->text, where) || !strstr(stage->text, when))
        print_error("%s\n", stage->text);
    assert_non_null(strstr(stage->text, where));
    assert_non_null(strstr(stage->text, when));
}
