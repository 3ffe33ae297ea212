#include "refkmd/rig/test_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* DxgkInitialize() and DxgkCbGetHandleData() have no other way to find the kernel under test. */
static struct test_kernel *current;

NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
    current->ddi = *DriverInitializationData;
    return STATUS_SUCCESS;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

void test_bind(struct test_kernel *kernel)
{
    current = kernel;
    nt_bind(kernel->nt);
}

static NTSTATUS NTAPI test_get_device_information(HANDLE handle, PDXGK_DEVICE_INFO info)
{
    struct test_kernel *kernel = handle;

    info->TranslatedResourceList = &kernel->resources.list;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI test_map_memory(HANDLE handle, PHYSICAL_ADDRESS address, ULONG length,
                                      BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                                      MEMORY_CACHING_TYPE cache_type, PVOID *out)
{
    struct test_kernel *kernel = handle;

    assert_false(in_io_space);
    assert_false(map_to_user_mode);
    assert_int_equal(cache_type, MmNonCached);
    assert_int_equal(length, SGPU_BAR0_BYTES);
    *out = machine_map_physical(kernel->machine, (uint64_t)address.QuadPart, length);
    return *out ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS NTAPI test_unmap_memory(HANDLE handle, PVOID pointer)
{
    struct test_kernel *kernel = handle;

    machine_unmap_physical(kernel->machine, pointer, SGPU_BAR0_BYTES);
    return STATUS_SUCCESS;
}

static BOOLEAN NTAPI test_queue_dpc(HANDLE handle)
{
    struct test_kernel *kernel = handle;
    BOOLEAN was_queued = kernel->is_dpc_queued;

    assert_int_equal(KeGetCurrentIrql(), NT_DEVICE_IRQL);
    kernel->is_dpc_queued = TRUE;
    return !was_queued;
}

static VOID NTAPI test_notify_interrupt(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct test_kernel *kernel = handle;

    assert_int_equal(KeGetCurrentIrql(), NT_DEVICE_IRQL);
    assert_true(kernel->log_count < TEST_LOG_ENTRIES);
    kernel->log[kernel->log_count++] = *data;
}

static VOID NTAPI test_notify_dpc(HANDLE handle)
{
    struct test_kernel *kernel = handle;

    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    kernel->notified_dpc_count++;
}

static void test_run_dpc(struct test_kernel *kernel)
{
    KIRQL before;

    if (!kernel->is_dpc_queued)
        return;
    kernel->is_dpc_queued = FALSE;
    kernel->dpc_count++;
    before = nt_set_irql(kernel->nt, DISPATCH_LEVEL);
    kernel->ddi.DxgkDdiDpcRoutine(kernel->adapter);
    nt_set_irql(kernel->nt, before);
}

static NTSTATUS NTAPI test_synchronize(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine, PVOID context,
                                       ULONG message, PBOOLEAN result)
{
    struct test_kernel *kernel = handle;
    KIRQL before = nt_set_irql(kernel->nt, NT_DEVICE_IRQL);

    *result = routine(context);
    nt_set_irql(kernel->nt, before);
    return STATUS_SUCCESS;
}

static PVOID NTAPI test_get_handle_data(const DXGKARGCB_GETHANDLEDATA *query)
{
    assert_int_equal(query->Type, DXGK_HANDLE_ALLOCATION);
    return query->hObject < TEST_HANDLES ? current->handles[query->hObject] : NULL;
}

/* All allocations are of one resource, whose handle is none of theirs. */
static D3DKMT_HANDLE NTAPI test_get_handle_parent(D3DKMT_HANDLE allocation)
{
    return allocation < TEST_HANDLES ? TEST_HANDLES : 0;
}

static D3DKMT_HANDLE NTAPI test_enum_handle_children(const DXGKARGCB_ENUMHANDLECHILDREN *query)
{
    assert_int_equal(query->hObject, TEST_HANDLES);
    return !current->children || query->Index < current->children ? query->Index + 1 : 0;
}

void test_on_interrupt(void *context)
{
    struct test_kernel *kernel = context;
    KIRQL before = nt_set_irql(kernel->nt, NT_DEVICE_IRQL);

    assert_true(kernel->ddi.DxgkDdiInterruptRoutine(kernel->adapter, 0));
    nt_set_irql(kernel->nt, before);
    test_run_dpc(kernel);
}

static void test_on_log(void *context, uint32_t component, uint32_t level, const char *text)
{
    struct test_kernel *kernel = context;

    snprintf(kernel->last_line, sizeof kernel->last_line, "%s", text);
}

static void test_on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    fail_msg("bug check 0x%x, 0x%llx", code, (unsigned long long)parameters[0]);
    abort();
}

/* ---- Start and stop -------------------------------------------------------------------------- */

static void test_add_resource(struct test_kernel *kernel, uint64_t pa, uint64_t bytes)
{
    CM_PARTIAL_RESOURCE_LIST *list = &kernel->resources.list.List[0].PartialResourceList;
    CM_PARTIAL_RESOURCE_DESCRIPTOR *range = &list->PartialDescriptors[list->Count++];

    kernel->resources.list.Count = 1;
    range->Type = CmResourceTypeMemory;
    range->u.Memory.Start.QuadPart = (LONGLONG)pa;
    range->u.Memory.Length = (ULONG)bytes;
}

void test_config_defaults(struct machine_config *config, struct sgpu_config *gpu_config)
{
    machine_config_defaults(config, 7);
    config->ram_bytes = 64 << 20;
    config->local_bytes = 16 << 20;
    config->visible_bytes = 16 << 20;
    config->aperture_bytes = 8 << 20;
    memset(gpu_config, 0, sizeof *gpu_config);
}

NTSTATUS test_start(struct test_kernel *kernel)
{
    DXGK_START_INFO start = {.RequiredDmaQueueEntry = SGPU_QUEUE_SLOTS};
    ULONG sources = 1;
    ULONG children = 1;
    NTSTATUS status;

    status = kernel->ddi.DxgkDdiStartDevice(kernel->adapter, &start, &kernel->dxgkrnl, &sources,
                                            &children);
    kernel->is_started = NT_SUCCESS(status);
    assert_int_equal(sources, 0);
    assert_int_equal(children, 0);
    return status;
}

void test_create(struct test_kernel *kernel, PDRIVER_INITIALIZE driver_entry,
                 const struct machine_config *config, const struct sgpu_config *gpu_config)
{
    const struct nt_host host = {
        .context = kernel, .log = test_on_log, .bug_check = test_on_bug_check};

    memset(kernel, 0, sizeof *kernel);
    current = kernel;
    failing_services_init(&kernel->memory);
    kernel->machine = machine_create(&kernel->memory.services, config);
    assert_non_null(kernel->machine);
    kernel->gpu = sgpu_create(kernel->machine, gpu_config);
    assert_non_null(kernel->gpu);
    kernel->nt = nt_create(&kernel->memory.services, kernel->machine, &host);
    assert_non_null(kernel->nt);
    nt_bind(kernel->nt);
    machine_set_interrupt_handler(kernel->machine, test_on_interrupt, kernel);

    test_add_resource(kernel, machine_bar0_pa(kernel->machine), SGPU_BAR0_BYTES);
    test_add_resource(kernel, machine_bar1_pa(kernel->machine), config->visible_bytes);
    kernel->dxgkrnl.Size = sizeof kernel->dxgkrnl;
    kernel->dxgkrnl.DeviceHandle = kernel;
    kernel->dxgkrnl.DxgkCbGetDeviceInformation = test_get_device_information;
    kernel->dxgkrnl.DxgkCbMapMemory = test_map_memory;
    kernel->dxgkrnl.DxgkCbUnmapMemory = test_unmap_memory;
    kernel->dxgkrnl.DxgkCbQueueDpc = test_queue_dpc;
    kernel->dxgkrnl.DxgkCbNotifyInterrupt = test_notify_interrupt;
    kernel->dxgkrnl.DxgkCbNotifyDpc = test_notify_dpc;
    kernel->dxgkrnl.DxgkCbSynchronizeExecution = test_synchronize;
    kernel->dxgkrnl.DxgkCbGetHandleData = test_get_handle_data;
    kernel->dxgkrnl.DxgkCbGetHandleParent = test_get_handle_parent;
    kernel->dxgkrnl.DxgkCbEnumHandleChildren = test_enum_handle_children;

    assert_int_equal(driver_entry(NULL, NULL), STATUS_SUCCESS);
    kernel->dxgkrnl.Version = kernel->ddi.Version;
    assert_int_equal(kernel->ddi.DxgkDdiAddDevice(NULL, &kernel->adapter), STATUS_SUCCESS);

    assert_true(
        machine_alloc_contiguous(kernel->machine, TEST_BUFFER_PAGES, 1, &kernel->buffer_pfn));
    kernel->buffer = machine_map_physical(kernel->machine, kernel->buffer_pfn << SGPU_PAGE_SHIFT,
                                          TEST_BUFFER_PAGES * SGPU_PAGE_BYTES);
    assert_non_null(kernel->buffer);
}

void test_destroy(struct test_kernel *kernel)
{
    if (kernel->is_started)
        assert_int_equal(kernel->ddi.DxgkDdiStopDevice(kernel->adapter), STATUS_SUCCESS);
    assert_int_equal(kernel->ddi.DxgkDdiRemoveDevice(kernel->adapter), STATUS_SUCCESS);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);

    machine_unmap_physical(kernel->machine, kernel->buffer, TEST_BUFFER_PAGES * SGPU_PAGE_BYTES);
    nt_destroy(kernel->nt);
    sgpu_destroy(kernel->gpu);
    machine_destroy(kernel->machine);
    assert_int_equal(kernel->memory.live_blocks, 0);
}

void test_create_default(struct test_kernel *kernel, PDRIVER_INITIALIZE driver_entry)
{
    struct machine_config config;
    struct sgpu_config gpu_config;

    test_config_defaults(&config, &gpu_config);
    test_create(kernel, driver_entry, &config, &gpu_config);
    assert_int_equal(test_start(kernel), STATUS_SUCCESS);
}

NTSTATUS test_query(struct test_kernel *kernel, DXGK_QUERYADAPTERINFOTYPE type, void *in,
                    UINT in_bytes, void *out, UINT out_bytes)
{
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = type,
        .pInputData = in,
        .InputDataSize = in_bytes,
        .pOutputData = out,
        .OutputDataSize = out_bytes,
    };

    return kernel->ddi.DxgkDdiQueryAdapterInfo(kernel->adapter, &query);
}

/* ---- Submission ------------------------------------------------------------------------------ */

void test_run(struct test_kernel *kernel)
{
    while (machine_run_next(kernel->machine))
        ;
}

NTSTATUS test_submit(struct test_kernel *kernel, DXGKARG_SUBMITCOMMAND *args)
{
    KIRQL before = nt_set_irql(kernel->nt, DISPATCH_LEVEL);
    NTSTATUS status = kernel->ddi.DxgkDdiSubmitCommand(kernel->adapter, args);

    assert_int_equal(nt_set_irql(kernel->nt, before), DISPATCH_LEVEL);
    return status;
}

NTSTATUS test_submit_virtual(struct test_kernel *kernel, DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    KIRQL before = nt_set_irql(kernel->nt, DISPATCH_LEVEL);
    NTSTATUS status = kernel->ddi.DxgkDdiSubmitCommandVirtual(kernel->adapter, args);

    assert_int_equal(nt_set_irql(kernel->nt, before), DISPATCH_LEVEL);
    return status;
}

void test_run_paging(struct test_kernel *kernel, UINT start, UINT end, UINT private_bytes)
{
    UINT fence = ++kernel->fences[SGPU_NODE_COPY];
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *last;

    if (kernel->paging_context) {
        DXGKARG_SUBMITCOMMANDVIRTUAL args = {
            .hContext = kernel->paging_context,
            .DmaBufferVirtualAddress = kernel->buffer_va + start,
            .DmaBufferSize = end - start,
            .pDmaBufferPrivateData = kernel->private_data,
            .DmaBufferPrivateDataSize = private_bytes,
            .SubmissionFenceId = fence,
        };

        args.Flags.Paging = 1;
        assert_int_equal(test_submit_virtual(kernel, &args), STATUS_SUCCESS);
    } else {
        DXGKARG_SUBMITCOMMAND args = {
            .DmaBufferPhysicalAddress.QuadPart = (LONGLONG)(kernel->buffer_pfn << SGPU_PAGE_SHIFT),
            .DmaBufferSize = TEST_BUFFER_PAGES * SGPU_PAGE_BYTES,
            .DmaBufferSubmissionStartOffset = start,
            .DmaBufferSubmissionEndOffset = end,
            .pDmaBufferPrivateData = kernel->private_data,
            .DmaBufferPrivateDataSize = TEST_PRIVATE_BYTES,
            .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
            .SubmissionFenceId = fence,
            .NodeOrdinal = SGPU_NODE_COPY,
        };

        args.Flags.Paging = 1;
        assert_int_equal(test_submit(kernel, &args), STATUS_SUCCESS);
    }
    test_run(kernel);

    assert_true(kernel->log_count > 0);
    last = &kernel->log[kernel->log_count - 1];
    assert_int_equal(last->InterruptType, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(last->DmaCompleted.SubmissionFenceId, fence);
    assert_int_equal(last->DmaCompleted.NodeOrdinal, SGPU_NODE_COPY);
    kernel->log_count = 0;
}

bool test_is_poison(const uint8_t *bytes, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (bytes[i] != TEST_POISON)
            return false;
    return true;
}

void test_build_at(struct test_kernel *kernel, DXGKARG_BUILDPAGINGBUFFER *args, UINT start,
                   UINT dma_bytes)
{
    DXGKARG_BUILDPAGINGBUFFER before;
    NTSTATUS status;

    args->MultipassOffset = 0;
    kernel->pass_count = 0;
    do {
        UINT private_bytes;
        UINT end;

        memset(kernel->buffer + start, TEST_POISON, dma_bytes + TEST_GUARD_BYTES);
        memset(kernel->private_data, TEST_POISON, sizeof kernel->private_data);
        args->pDmaBuffer = kernel->buffer + start;
        args->DmaSize = dma_bytes;
        args->pDmaBufferPrivateData = kernel->private_data;
        args->DmaBufferPrivateDataSize = TEST_PRIVATE_BYTES;
        args->DmaBufferGpuVirtualAddress = kernel->buffer_va;
        args->DmaBufferWriteOffset = start;
        before = *args;

        status = kernel->ddi.DxgkDdiBuildPagingBuffer(kernel->adapter, args);
        assert_true(status == STATUS_SUCCESS || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
        assert_memory_equal((uint8_t *)args + TEST_UNION_OFFSET,
                            (uint8_t *)&before + TEST_UNION_OFFSET, TEST_UNION_BYTES);
        assert_int_equal(args->DmaSize, dma_bytes);

        end = (UINT)((uint8_t *)args->pDmaBuffer - kernel->buffer);
        assert_true(end >= start && end <= start + dma_bytes);
        assert_int_equal(end % SGPU_SUBMIT_ALIGN, 0);
        assert_true(
            test_is_poison(kernel->buffer + end, start + dma_bytes + TEST_GUARD_BYTES - end));
        private_bytes = (UINT)((uint8_t *)args->pDmaBufferPrivateData - kernel->private_data);
        assert_true(private_bytes <= TEST_PRIVATE_BYTES);
        assert_true((private_bytes > 0) == (end > start));
        assert_true(test_is_poison(kernel->private_data + private_bytes,
                                   sizeof kernel->private_data - private_bytes));
        if (status != STATUS_SUCCESS)
            assert_true(end > start && args->MultipassOffset > before.MultipassOffset);
        if (end > start)
            test_run_paging(kernel, start, end, private_bytes);
        kernel->pass_count++;
    } while (status != STATUS_SUCCESS);
}

void test_build(struct test_kernel *kernel, DXGKARG_BUILDPAGINGBUFFER *args, UINT dma_bytes)
{
    test_build_at(kernel, args, 0, dma_bytes);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void test_mdl_init(struct test_kernel *kernel, struct test_mdl *mdl, uint64_t count)
{
    uint64_t pfns[160];
    uint64_t i;

    memset(mdl, 0, sizeof *mdl);
    assert_true(count <= 160);
    assert_true(machine_alloc_pages(kernel->machine, count, pfns));
    mdl->count = count;
    for (i = 0; i < count; i++)
        mdl->pfn[i] = pfns[i];
    mdl->mdl.ByteCount = (ULONG)(count * SGPU_PAGE_BYTES);
    assert_ptr_equal(MmGetMdlPfnArray(&mdl->mdl), mdl->pfn);
}

void test_mdl_fini(struct test_kernel *kernel, struct test_mdl *mdl)
{
    uint64_t pfns[160];
    uint64_t i;

    for (i = 0; i < mdl->count; i++)
        pfns[i] = mdl->pfn[i];
    machine_free_pages(kernel->machine, pfns, mdl->count);
}
