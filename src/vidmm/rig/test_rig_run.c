#include "vidmm/rig/test_rig_run.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_build.h"
#include "vidmm/rig/test_rig_driver.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_notes.h"
#include "vidmm/rig/test_rig_told.h"
#include "vidmm/rig/test_rig_views.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/list.h"
#include "base/rng.h"
#include "miniport/miniport.h"
#include "tests/told.h"

/* ---- Completion ------------------------------------------------------------------------------ */

static void rig_run_step(struct rig *rig, struct rig_page *page, uint32_t number,
                         uint32_t number_page, bool is_write, uint64_t value)
{
    struct rig_allocation *allocation = rig->allocations[number - 1];

    EXPECT(page->owner == number && page->owner_page == number_page);
    EXPECT(page->content == (allocation->is_swizzled ? rig_swizzle(allocation->model[number_page])
                                                     : allocation->model[number_page]));
    if (is_write) {
        allocation->model[number_page] = value;
        page->content = allocation->is_swizzled ? rig_swizzle(value) : value;
    }
}

static void rig_run_commands(struct rig *rig, const struct rig_packet *packet)
{
    const uint8_t *at;

    for (at = packet->start; at < packet->end; at += sizeof(struct rig_command)) {
        const struct rig_command *command = (const struct rig_command *)at;
        uint64_t page = (command->address - rig_segment_base(command->segment)) / PAGE_BYTES;
        struct rig_page *target;

        EXPECT(command->magic == RIG_COMMAND_MAGIC && command->segment);
        if (command->program)
            EXPECT(command->step == rig_program_at(rig, command->program)->run_count++);
        if (rig_is_aperture(rig, command->segment)) {
            EXPECT(page < rig->config.aperture_pages);
            page = rig_slot(rig, command->segment, page);
            EXPECT(rig->slots[page]);
            target = rig_page(rig, 0, rig->slots[page] - 1);
        } else {
            target = rig_page(rig, command->segment, page);
        }
        rig_run_step(rig, target, command->number, command->page, command->is_write,
                     command->value);
    }
}

static void rig_run_program(struct rig *rig, const struct rig_packet *packet,
                            D3DGPU_PHYSICAL_ADDRESS root)
{
    struct rig_program *program = packet->program;

    EXPECT(!program->run_count);
    program->run_count = program->count;
    for (unsigned i = 0; i < program->count; i++) {
        const struct rig_step *step = &program->steps[i];

        rig_run_step(rig, rig_access(rig, program->process, root, step->va), step->number,
                     step->page, step->is_write, step->value);
    }
}

static void rig_run_records(struct rig *rig, struct rig_packet *packet)
{
    const uint8_t *at = packet->start;

    EXPECT(packet->start < packet->end);
    while (at < packet->end) {
        const struct rig_record *record = (const struct rig_record *)at;
        struct rig_operation *operation;

        EXPECT(record->magic == RIG_MAGIC && record->operation < rig->operation_count);
        EXPECT(record->check == record->operation * 2654435761u + (uint32_t)record->first);
        for (uint64_t i = 0; i < (record->bytes - sizeof *record) / 8; i++)
            EXPECT(record->payload[i] == record->check + i);
        operation = rig->operations[record->operation];
        EXPECT(operation);
        rig_run_operation(rig, operation, record->first, record->count);
        EXPECT(packet->operation_count < ARRAY_COUNT(packet->operations));
        packet->operations[packet->operation_count++] = record->operation;
        at += record->bytes;
    }
    EXPECT(at == packet->end);
}

void rig_run_next(struct rig *rig, unsigned node)
{
    struct rig_packet *packet =
        container_of(list_pop_front(&rig->queued[node]), struct rig_packet, link);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    if (packet->is_switch)
        EXPECT(!packet->start && !packet->program);
    else if (packet->is_paging)
        rig_run_records(rig, packet);
    else if (packet->program)
        rig_run_program(rig, packet, packet->program->root);
    else
        rig_run_commands(rig, packet);
    list_push_back(&rig->reported[node], &packet->link);
    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = packet->fence;
    data.DmaCompleted.NodeOrdinal = node;
    vidmm_notify_interrupt(rig->vidmm, &data);
}

/* The packet is done for the manager too, or about to be: nothing is pinned for it any more. */
static void rig_end_packet(struct rig *rig, struct rig_packet *packet)
{
    for (size_t i = 0; i < packet->pin_count; i++)
        packet->pins[i]->packet_pins--;
    for (size_t i = 0; i < packet->operation_count; i++) {
        struct rig_operation *operation = rig->operations[packet->operations[i]];

        if (--operation->records == 0 && operation->is_complete)
            rig_end_operation(rig, packet->operations[i]);
    }
    free(packet->pins);
    free(packet);
}

void rig_tell(struct rig *rig)
{
    struct list *link;

    for (unsigned node = 0; node < 2; node++) {
        while ((link = list_pop_front(&rig->reported[node])) != NULL)
            rig_end_packet(rig, container_of(link, struct rig_packet, link));
    }
    vidmm_notify_dpc(rig->vidmm);
}

bool rig_step_machine(struct rig *rig)
{
    unsigned node = (unsigned)rng_below(&rig->rng, 2);
    bool has_reported = !list_is_empty(&rig->reported[0]) || !list_is_empty(&rig->reported[1]);

    if (list_is_empty(&rig->queued[node]))
        node ^= 1;
    if (has_reported && (list_is_empty(&rig->queued[node]) || rng_chance(&rig->rng, 1, 2))) {
        rig_tell(rig);
        return true;
    }
    if (list_is_empty(&rig->queued[node]))
        return false;
    rig_run_next(rig, node);
    return true;
}

void rig_drain(struct rig *rig)
{
    while (rig_step_machine(rig))
        ;
    EXPECT(vidmm_is_idle(rig->vidmm));
    EXPECT(vidmm_check(rig->vidmm));
    rig_notes_check(rig);
    rig_told_state(rig);
}

void rig_forget_packets(struct rig *rig)
{
    struct list *link;

    for (unsigned node = 0; node < 2; node++) {
        list_splice(&rig->reported[node], &rig->queued[node]);
        while ((link = list_pop_front(&rig->reported[node])) != NULL) {
            struct rig_packet *packet = container_of(link, struct rig_packet, link);

            if (packet->is_paging && !packet->is_switch && !packet->operation_count) {
                const uint8_t *at = packet->start;

                for (; at < packet->end; at += ((const struct rig_record *)at)->bytes)
                    packet->operations[packet->operation_count++] =
                        ((const struct rig_record *)at)->operation;
            }
            rig_end_packet(rig, packet);
        }
    }
}

/* Builds nothing and says that all is well. */
static bool rig_build_nothing(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    return true;
}

void rig_forget_work(struct rig *rig)
{
    rig_forget_packets(rig);
    for (uint32_t i = 0; i < rig->operation_count; i++) {
        if (rig->operations[i])
            rig_end_operation(rig, i);
    }
    rig->pending = NULL;
}

void rig_hang(struct rig *rig)
{
    rig_forget_work(rig);
    rig->is_hung = true;
    rig->build_hook = rig_build_nothing;
    rig->expected_rules = "NTF-007"; /* nobody writes paging fences */
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void rig_driver_error(void *context, const char *rule, const char *text)
{
    struct rig *rig = context;

    if (!rig->expected_rules || !strstr(rig->expected_rules, rule))
        print_error("driver error %s: %s\n", rule, text);
    told_text(rule);
    told_text(text);
    EXPECT(rig->expected_rules && strstr(rig->expected_rules, rule));
    rig->rule_count++;
}

static void rig_refused(void *context, const char *rule, const char *text)
{
    struct rig *rig = context;

    told_text(rule);
    told_text(text);
    EXPECT(strlen(rule) < sizeof rig->refusal_rule && text[0]);
    snprintf(rig->refusal_rule, sizeof rig->refusal_rule, "%s", rule);
}

/*
 * It was offered and is dropped: zero is what it holds then, and no page is its own any more; in
 * the physical model from DISCARD_CONTENT on.
 */
static void rig_forget_content(struct rig *rig, struct rig_allocation *allocation)
{
    for (unsigned segment = 0; rig->config.is_virtual && segment < rig->segment_count; segment++) {
        for (uint64_t i = 0; rig->segments[segment] && i < rig->segment_pages[segment]; i++) {
            if (rig->segments[segment][i].owner == allocation->number)
                rig->segments[segment][i].owner = 0;
        }
    }
    memset(allocation->model, 0, allocation->page_count * sizeof *allocation->model);
}

static void rig_evicted(void *context, struct vidmm_allocation *allocation, const char *reason)
{
    struct rig *rig = context;

    EXPECT(reason[0]);
    told_text(reason);
    rig->eviction_count++;
    rig->last_evicted = allocation;
    if (strcmp(reason, "offered") == 0)
        rig_forget_content(rig, rig_allocation_of(rig, allocation->driver_handle));
}

static void rig_trim(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
                     uint64_t bytes)
{
    struct rig *rig = context;

    EXPECT(bytes > 0);
    told_number((uint64_t)group << 60 ^ bytes);
    rig->trim_count++;
    rig->last_trim_bytes = bytes;
}

static void rig_set_ops(struct rig *rig)
{
    rig->ops = miniport_forward_ops;
    rig->ops.name = "rig";
    rig->ops.interface_version = rig_version;
    rig->ops.has = rig_has;
    rig->ops.query_adapter_info = rig_query;
    rig->ops.collect_dbg_info = rig_collect;
    rig->ops.collect_dbg_info2 = rig_collect2;
    rig->ops.create_process = rig_create_process;
    rig->ops.destroy_process = rig_destroy_process;
    rig->ops.create_device = rig_create_device;
    rig->ops.destroy_device = rig_destroy_device;
    rig->ops.create_context = rig_create_context;
    rig->ops.destroy_context = rig_destroy_context;
    rig->ops.create_allocation = rig_create_allocation;
    rig->ops.destroy_allocation = rig_destroy_allocation;
    rig->ops.open_allocation = rig_open_allocation;
    rig->ops.close_allocation = rig_close_allocation;
    rig->ops.set_root_page_table = rig_set_root;
    rig->ops.get_root_page_table_size = rig_root_size;
    rig->ops.build_paging_buffer = rig_build;
    rig->ops.render = rig_render;
    rig->ops.patch = rig_patch;
    rig->ops.submit_command = rig_submit;
    rig->ops.submit_command_virtual = rig_submit_virtual;
    rig->ops.map_cpu_host_aperture = rig_map_host;
    rig->ops.unmap_cpu_host_aperture = rig_unmap_host;
    rig->ops.acquire_swizzling_range = rig_acquire_range;
    rig->ops.release_swizzling_range = rig_release_range;
    rig->miniport.ops = &rig->ops;
    rig->top = rig_told_begin(rig);
}

struct rig *rig_new(const struct rig_config *config)
{
    struct rig *rig = calloc(1, sizeof *rig);
    unsigned i;

    assert_non_null(rig);
    rig->config = *config;
    if (!rig->config.memory_segments)
        rig->config.memory_segments = 1;
    if (!rig->config.aperture_pages)
        rig->config.aperture_pages = 64;
    if (!rig->config.buffer_bytes)
        rig->config.buffer_bytes = 4096;
    if (!rig->config.system_pages)
        rig->config.system_pages = 8192;
    if (!rig->config.dma_bytes)
        rig->config.dma_bytes = 512;
    if (!rig->config.scratch_bytes)
        rig->config.scratch_bytes = rig_coverage(1);
    rng_init(&rig->rng, config->seed);
    failing_services_init(&rig->memory);
    rig->segment_count = rig->config.memory_segments + (config->has_two_apertures ? 2 : 1);
    for (i = 0; i < rig->config.memory_segments; i++) {
        rig->segment_pages[i] = config->segment_pages[i] ? config->segment_pages[i] : 256;
        rig->segments[i] = calloc(rig->segment_pages[i], sizeof *rig->segments[i]);
        assert_non_null(rig->segments[i]);
    }
    rig->slots = calloc(2 * rig->config.aperture_pages, sizeof *rig->slots);
    rig->slot_owner = calloc(2 * rig->config.aperture_pages, sizeof *rig->slot_owner);
    rig->slot_is_busy = calloc(2 * rig->config.aperture_pages, sizeof *rig->slot_is_busy);
    rig->host_shown = calloc(rig->config.host_slots + 1, sizeof *rig->host_shown);
    rig->system = calloc(rig->config.system_pages, sizeof *rig->system);
    rig->system_free = calloc(rig->config.system_pages, sizeof *rig->system_free);
    assert_true(rig->config.swizzling_ranges <= RIG_RANGES);
    assert_true(rig->host_shown && rig->slots && rig->slot_owner && rig->slot_is_busy &&
                rig->system && rig->system_free);
    for (i = 0; i < 2; i++) {
        list_init(&rig->queued[i]);
        list_init(&rig->reported[i]);
    }
    list_init(&rig->programs);
    rig_set_ops(rig);
    rig->manager.platform = (struct vidmm_platform){
        .context = rig,
        .services = &rig->memory.services,
        .take_pages = rig_take_pages,
        .release_pages = rig_release_pages,
        .take_contiguous = rig_take_contiguous,
        .release_contiguous = rig_release_contiguous,
        .map_pages = rig_map_pages,
        .unmap_pages = rig_unmap_pages,
        .map_bus = rig_map_bus,
        .unmap_bus = rig_unmap_bus,
    };
    rig->manager.events = (struct vidmm_events){
        .context = rig,
        .driver_error = rig_driver_error,
        .refused = rig_refused,
        .evicted = rig_evicted,
        .trim = rig_trim,
        .told = rig_notes_hear,
    };
    rig->notes = rig_notes_create();
    rig->manager.paging_buffer_bytes = rig->config.buffer_bytes;
    rig->manager.paging_buffer_count = rig->config.buffer_count;
    rig->manager.local_start = PAGE_BYTES_OF(rig->config.start_pages);
    rig->manager.scratch_bytes = rig->config.scratch_bytes;
    rig->manager.skips_patch_for_paging = rig->config.skips_patch;
    rig->manager.hides_buffer_address = rig->config.hides_address;
    rig->manager.initialises_in_pieces = rig->config.initialises_in_pieces;
    rig->manager.writes_neighbours = rig->config.writes_neighbours;
    rig->manager.pages_in_patched_only = rig->config.pages_in_patched_only;
    rig->manager.first_paging_fence = rig->config.first_paging_fence;
    rig->manager.splits_dma_buffers = rig->config.splits_dma_buffers;
    rig->manager.pins_anywhere = rig->config.pins_anywhere;
    rig->manager.switches_to_null_context = rig->config.switches_to_null;
    rig->manager.policy = rig->config.policy;
    return rig;
}

void rig_draw_options(struct rig *rig, uint64_t seed)
{
    struct vidmm_config *options = &rig->manager;
    struct rng rng;

    rng_init(&rng, ~seed);
    options->hardware_queue_depth = (unsigned)rng_below(&rng, 4);
    options->ids_before_wrap = rng_chance(&rng, 1, 4) ? 1 + (uint32_t)rng_below(&rng, 40) : 0;
    options->frees_empty_tables = rng_chance(&rng, 1, 3);
    options->marks_paging_only = rng_chance(&rng, 1, 3);
    options->announces_idle = rng_chance(&rng, 1, 3);
    options->transfer_bytes = rng_chance(&rng, 1, 2) ? PAGE_BYTES_OF(1 + rng_below(&rng, 12)) : 0;
    options->aperture_piece_pages = rng_chance(&rng, 1, 3) ? 1 + rng_below(&rng, 20) : 0;
    options->inits_contexts_by_driver_handle = rng_chance(&rng, 1, 2);
    options->starts_as_observed = rng_chance(&rng, 1, 3);
    if (rng_chance(&rng, 1, 8))
        options->events.told = NULL; /* nobody listens, and nothing else is different */
}

NTSTATUS rig_start(struct rig *rig)
{
    struct vidmm_failure failure;
    NTSTATUS status;

    rig_notes_free(rig->notes);
    rig->notes = rig_notes_create();
    status = vidmm_create(rig->top, &rig->manager, &rig->vidmm);
    if (!NT_SUCCESS(status)) {
        EXPECT(!rig->vidmm);
        return status;
    }
    status = vidmm_start(rig->vidmm, &failure);
    if (!NT_SUCCESS(status)) {
        EXPECT(failure.text[0]);
        told_text(failure.text);
        vidmm_destroy(rig->vidmm);
        rig->vidmm = NULL;
    }
    return status;
}

NTSTATUS rig_open(struct rig *rig)
{
    NTSTATUS status = vidmm_process_create(rig->vidmm, &rig->process);

    if (NT_SUCCESS(status))
        status = vidmm_device_create(rig->process, &rig->device);
    if (NT_SUCCESS(status))
        status = vidmm_context_create(rig->device, 0, NULL, 0, &rig->context);
    return status;
}

struct rig *rig_create(const struct rig_config *config)
{
    struct rig *rig = rig_new(config);

    EXPECT(rig_start(rig) == STATUS_SUCCESS);
    EXPECT(rig_open(rig) == STATUS_SUCCESS);
    return rig;
}

static void rig_close(struct rig *rig)
{
    if (rig->context) {
        vidmm_context_destroy(rig->context);
        rig_drain(rig); /* its DMA buffers leave the process */
    }
    if (rig->device)
        vidmm_device_destroy(rig->device);
    if (rig->process)
        vidmm_process_destroy(rig->process);
    if (rig->config.invalidates_tables)
        rig_drain(rig); /* its tables go */
    rig->context = NULL;
    rig->device = NULL;
    rig->process = NULL;
}

void rig_free(struct rig *rig)
{
    struct list *link;

    if (rig->vidmm) {
        rig_drain(rig);
        rig_close(rig);
        rig_notes_check(rig);
        vidmm_stop(rig->vidmm);
        rig_notes_stopped(rig);
        vidmm_destroy(rig->vidmm);
    }
    rig_notes_free(rig->notes);
    EXPECT(rig->memory.live_blocks == 0 && rig->memory.live_bytes == 0);
    EXPECT(!rig->taken_pages && !rig->taken_blocks && !rig->mapped_ranges);
    EXPECT(!rig->live_handles && !rig->live_contexts && !rig->live_devices && !rig->live_processes);
    EXPECT(rig_shows_nothing(rig));
    for (size_t i = 0; i < rig->operation_count; i++)
        EXPECT(!rig->operations[i]);
    for (uint32_t i = 0; i < rig->allocation_count; i++) {
        free(rig->allocations[i]->model);
        free(rig->allocations[i]);
    }
    for (size_t i = 0; i < rig->table_count; i++) {
        rig_free_entries(&rig->tables[i]);
    }
    while ((link = list_pop_front(&rig->programs)) != NULL)
        free(container_of(link, struct rig_program, link));
    for (unsigned i = 0; i < rig->config.memory_segments; i++)
        free(rig->segments[i]);
    free(rig->tables);
    free(rig->operations);
    free(rig->slots);
    free(rig->slot_owner);
    free(rig->slot_is_busy);
    free(rig->host_shown);
    free(rig->system);
    free(rig->system_free);
    rig_told_end(rig->top);
    free(rig);
}

/* ---- What clients do ------------------------------------------------------------------------- */

void rig_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct rig_done *done = context;

    told_number((uint32_t)status);
    told_number(needed);
    told_number(available);
    done->calls++;
    done->status = status;
    done->needed = needed;
    done->available = available;
}

NTSTATUS rig_try_object(struct rig *rig, struct vidmm_device *device,
                        const struct rig_request *request, struct rig_object *object)
{
    NTSTATUS status;

    memset(object, 0, sizeof *object);
    status = (request->is_primary ? vidmm_primary_create : vidmm_allocation_create)(
        device, request, sizeof *request, object, &object->allocation);
    EXPECT(NT_SUCCESS(status) == (object->allocation != NULL));
    if (!NT_SUCCESS(status))
        return status;
    object->driver = rig->allocations[rig->allocation_count - 1];
    object->pages = object->driver->page_count;
    EXPECT(vidmm_allocation_size(object->allocation) == PAGE_BYTES_OF(object->pages));
    EXPECT(vidmm_allocation_cookie(object->allocation) == object);
    return STATUS_SUCCESS;
}

void rig_object(struct rig *rig, uint64_t pages, unsigned segment, struct rig_object *object)
{
    struct rig_request request = {.bytes = PAGE_BYTES_OF(pages), .preferred = {segment}};

    EXPECT(rig_try_object(rig, rig->device, &request, object) == STATUS_SUCCESS);
}

void rig_destroy_object(struct rig *rig, struct rig_object *object)
{
    struct vidmm_allocation *allocation = object->allocation;

    vidmm_allocation_destroy(allocation);
    for (; object->references; object->references--)
        vidmm_evict(rig->device, 1, &allocation);
    object->allocation = NULL;
}

void rig_make_resident(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    uint64_t fence;
    NTSTATUS status =
        vidmm_make_resident(rig->device, 1, &object->allocation, rig_done, &done, &fence);

    if (status == STATUS_PENDING) {
        EXPECT(fence != 0);
        rig_drain(rig);
        EXPECT(done.calls == 1);
        status = done.status;
    }
    EXPECT(status == STATUS_SUCCESS && vidmm_allocation_is_resident(object->allocation));
    object->references++;
}

void rig_evict(struct rig *rig, struct rig_object *object)
{
    object->references--;
    vidmm_evict(rig->device, 1, &object->allocation);
}

void rig_map(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};

    EXPECT(vidmm_map_gpu_va(rig->process,
                            &(struct vidmm_map_request){.allocation = object->allocation,
                                                        .bytes = PAGE_BYTES_OF(object->pages),
                                                        .done = rig_done,
                                                        .context = &done},
                            &object->va) == STATUS_SUCCESS);
    rig_drain(rig);
    EXPECT(done.calls == 1 && done.status == STATUS_SUCCESS);
}

void rig_lock(struct rig *rig, struct rig_object *object)
{
    NTSTATUS status = vidmm_lock(object->allocation);

    for (unsigned i = 0; i < 2 && status == STATUS_GRAPHICS_ALLOCATION_BUSY; i++) {
        rig_drain(rig);
        status = vidmm_lock(object->allocation);
    }
    EXPECT(status == STATUS_SUCCESS);
}

void rig_touch_locked(struct rig *rig, struct rig_object *object, bool is_write)
{
    for (uint64_t i = 0; i < object->pages; i++) {
        uint64_t address = vidmm_locked_page_address(object->allocation, i);

        EXPECT(rig_cpu_read(rig, address) == object->driver->model[i]);
        if (is_write) {
            object->driver->model[i] = rng_next(&rig->rng);
            rig_cpu_write(rig, address, object->driver->model[i]);
        }
    }
}

void rig_cpu(struct rig *rig, struct rig_object *object, bool is_write)
{
    rig_lock(rig, object);
    rig_touch_locked(rig, object, is_write);
    vidmm_unlock(object->allocation);
}

/* All of its steps have run, once each, or it has failed; and who lacked memory has run nothing. */
static void rig_program_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct rig_program *program = context;
    bool is_judged = !program->has_hook && !program->rig->is_hung;

    if (NT_SUCCESS(status))
        EXPECT(!is_judged || program->run_count == program->count);
    else if (status == STATUS_NO_MEMORY || status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
        EXPECT(!program->run_count);
    if (program->done)
        program->done(program->done_context, status, needed, available);
}

NTSTATUS rig_gpu_in(struct rig *rig, struct vidmm_context *context,
                    struct rig_object *const *objects, unsigned count, unsigned step_count,
                    vidmm_done done, void *done_context)
{
    struct vidmm_reference references[RIG_PROGRAM_STEPS];
    struct rig_program *program = calloc(1, sizeof *program);

    EXPECT(program && step_count <= RIG_PROGRAM_STEPS && count <= RIG_PROGRAM_STEPS);
    program->count = step_count;
    program->number = ++rig->program_count;
    program->rig = rig;
    program->has_hook = rig->render_hook != NULL;
    program->done = done;
    program->done_context = done_context;
    list_push_back(&rig->programs, &program->link);
    for (unsigned i = 0; i < step_count; i++) {
        const struct rig_object *object = objects[i % count];
        struct rig_step *step = &program->steps[i];

        step->is_write = rng_chance(&rig->rng, 1, 2);
        step->value = rng_next(&rig->rng);
        step->reference = i % count;
        step->number = object->driver->number;
        step->page = (uint32_t)rng_below(&rig->rng, object->pages);
        step->va = object->va + PAGE_BYTES_OF(step->page);
    }
    for (unsigned i = 0; i < count; i++)
        references[i] = (struct vidmm_reference){objects[i]->allocation, true};
    if (rig->config.is_virtual && program->number % 2)
        return vidmm_submit_virtual(context, program->number, 1, rig_program_done, program);
    if (rig->config.is_virtual)
        return vidmm_submit_virtual_with(
            context, &(struct vidmm_virtual_work){.va = program->number, .bytes = 1},
            rig_program_done, program);
    return vidmm_render(context, program->steps, step_count * (uint32_t)sizeof program->steps[0],
                        count, references, rig_program_done, program);
}

void rig_gpu(struct rig *rig, struct rig_object *object, unsigned step_count)
{
    struct rig_done done = {0};

    EXPECT(rig_gpu_in(rig, rig->context, &object, 1, step_count, rig_done, &done) ==
           STATUS_SUCCESS);
    rig_drain(rig);
    EXPECT(done.calls == 1 && done.status == STATUS_SUCCESS);
}

uint64_t rig_count(const struct rig *rig, unsigned operation)
{
    return vidmm_statistics(rig->vidmm)->operations[operation];
}

struct rig_config rig_model(unsigned index)
{
    static const DXGK_PAGETABLEUPDATEMODE modes[] = {DXGK_PAGETABLEUPDATE_GPU_VIRTUAL,
                                                     DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                                     DXGK_PAGETABLEUPDATE_CPU_VIRTUAL};
    struct rig_config config = {.is_virtual = index > 0};

    if (index) {
        config.mode = modes[index - 1];
        config.keeps_tables_in_system = config.mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    }
    return config;
}
