/*
 * The hardware of a run: machine and GPU go up; others hear of their events and ask about them.
 *
 * The oracle hears of the reads and writes of a client's work, the checking layer of submissions,
 * fences, flushes and faults. Both ask questions that only a model of the GPU, or the machine, can
 * answer: where a page table leads, which page an aperture slot shows.
 */
#include "bench/run/run_private.h"

#include "base/bits.h"
#include "bench/board/foreign_board.h"
#include "bench/board/foreign_registers.h"
#include "bench/board/sgpu_walk.h"
#include "bench/config/run_mmu.h"
#include "machine/page_window.h"
#include "workload/case/surroundings.h"
#include "workload/summary.h"

#include <string.h>

/* ---- Going up -------------------------------------------------------------------------------- */

static uint32_t straps_of(const struct run_config *config)
{
    static const uint32_t modes[] = {
        [RUN_UPDATE_GPU_VIRTUAL] = SGPU_STRAP_UPDATE_GPU_VIRTUAL,
        [RUN_UPDATE_GPU_PHYSICAL] = SGPU_STRAP_UPDATE_GPU_PHYSICAL,
        [RUN_UPDATE_CPU] = SGPU_STRAP_UPDATE_CPU,
    };

    return modes[config->update_mode] << SGPU_STRAP_UPDATE_MODE_SHIFT |
           (config->has_tables_in_system_memory ? SGPU_STRAP_TABLES_IN_SYSTEM : 0) |
           run_mmu_straps(&config->mmu) |
           (config->has_host_aperture && config->model != RUN_PHYSICAL ? SGPU_STRAP_HOST_APERTURE
                                                                       : 0) |
           (config->tells_tables_in_transfer ? SGPU_STRAP_TABLES_IN_COPY : 0) |
           (config->has_coherent_aperture ? SGPU_STRAP_COHERENT_APERTURE : 0) |
           (config->native_fences ? SGPU_STRAP_FENCE_UNIT : 0) |
           (config->hardware_queues && config->model == RUN_GPUMMU ? SGPU_STRAP_QUEUES : 0) |
           (config->components ? SGPU_STRAP_POWER : 0) |
           (config->components == RUN_COMPONENTS_SLOW ? SGPU_STRAP_SLOW_POWER : 0) |
           (config->has_display || run_is_display_only(config->driver) ? SGPU_STRAP_DISPLAY : 0) |
           (config->pages_through_aperture ? SGPU_STRAP_PAGING_APERTURE : 0) |
           (config->has_half_aperture ? SGPU_STRAP_HALF_APERTURE : 0) |
           (config->dma_through_aperture ? SGPU_STRAP_DMA_APERTURE : 0) |
           (config->has_seen_aperture ? SGPU_STRAP_SEEN_APERTURE : 0) |
           (config->has_banks && config->model == RUN_PHYSICAL ? SGPU_STRAP_BANKS : 0) |
           (config->has_pitch ? SGPU_STRAP_PITCH : 0) |
           (config->evicts_through_aperture ? SGPU_STRAP_SLOW_LISTS : 0) |
           (config->copies_both_ways ? SGPU_STRAP_BOTH_WAYS : 0) |
           (config->has_no_ranges ? SGPU_STRAP_NO_RANGES : 0) |
           (config->preserve ? SGPU_STRAP_KEEPS_STANDBY : 0) |
           (config->preserve > RUN_PRESERVE_STANDBY ? SGPU_STRAP_KEEPS_HIBERNATE : 0);
}

_Static_assert(WORKLOAD_MAX_NODES == SGPU_MAX_NODES, "cases name no node that no GPU has");

/*
 * The size of a range that a driver of WDDM 2 keeps to itself; an eighth of the memory at most, so
 * that such ranges do not meet.
 */
static uint64_t reserved_bytes(const struct run_config *config, uint64_t bytes)
{
    return config->model == RUN_GPUMMU
               ? align_down(min_u64(bytes, config->local_bytes / 8), 64 * KiB)
               : 0;
}

static bool is_drydock_gpu(const struct run_config *config)
{
    return strcmp(config->gpu, RUN_GPU_DRYDOCK) == 0;
}

/*
 * The CPU sees pages that the driver chooses, so all of local memory is one segment: a board of the
 * Drydock GPU alone can be so.
 */
static bool has_chosen_pages(const struct run_config *config)
{
    return config->has_host_aperture && config->model == RUN_GPUMMU && is_drydock_gpu(config);
}

/*
 * Where the board has what would be at that offset of local memory without option far-memory: each
 * of its segments has so many bytes more, in front.
 */
static uint64_t place_on_board(const struct run_config *config, uint64_t offset)
{
    const bool is_behind = !has_chosen_pages(config) && offset >= config->visible_bytes &&
                           config->visible_bytes < config->local_bytes;

    return offset + config->far_bytes * (is_behind ? 2 : 1);
}

/*
 * Local memory that nobody has written is not zero, so that a driver shows that skips a fill, or
 * that reads what it never wrote. The manager takes each segment from its beginning on: so many
 * bytes there are enough for nearly all cases, and cost no time in runs of gigabytes.
 */
#define FRESH_BYTES (64 * MiB)

static void switch_memory_on(struct machine *machine, const struct run_config *config)
{
    struct page_store *local = machine_local(machine);
    const uint64_t visible = min_u64(config->visible_bytes, config->local_bytes);
    const uint64_t starts[] = {0, visible, config->local_bytes};

    for (unsigned i = 0; local && i + 1 < ARRAY_COUNT(starts); i++)
        page_store_fill(local, place_on_board(config, starts[i]),
                        min_u64(FRESH_BYTES, starts[i + 1] - starts[i]), MACHINE_FRESH_PATTERN);
}

/* More memory than a run can follow is refused before anything is made. */
static bool has_room(struct run_assembly *run)
{
    struct workload_summary summary;

    workload_summarise(run->workload, &summary);
    return (summary.peak_live_bytes <= RUN_MAX_BYTES && run->config->ram_bytes <= RUN_MAX_BYTES) ||
           run_refuse(run,
                      "too much memory: %llu bytes are alive at the peak of the case, and the "
                      "machine has %llu bytes of system memory (expected at most %llu each)",
                      (unsigned long long)summary.peak_live_bytes,
                      (unsigned long long)run->config->ram_bytes,
                      (unsigned long long)RUN_MAX_BYTES);
}

/* Where the case wants the BARs; those of base address 4 lie behind those of 0. */
static void place_bars(const struct run_config *config, struct machine_config *out)
{
    const char *surroundings = config->surroundings;
    struct workload_surrounding word;

    while (workload_surroundings_next(&surroundings, &word)) {
        if (word.kind == WORKLOAD_SURROUNDING_ADDRESS)
            *(word.place ? &out->window_pa : &out->registers_pa) = word.address;
    }
}

static bool raise_machine(struct run_assembly *run)
{
    const struct run_config *config = run->config;
    struct machine_config machine_config;

    machine_config_defaults(&machine_config, config->seed);
    machine_config.ram_bytes = config->ram_bytes;
    machine_config.local_bytes = place_on_board(config, config->local_bytes);
    machine_config.visible_bytes =
        config->visible_bytes + (has_chosen_pages(config) ? 0 : config->far_bytes);
    /* What may be committed to it is as much as the option says. */
    machine_config.aperture_bytes = config->aperture_bytes << config->has_half_aperture;
    machine_config.shows_aperture = config->has_seen_aperture && is_drydock_gpu(config);
    machine_config.scatter = config->scatter;
    machine_config.jitter_ns = config->jitter_ns;
    if (config->link_bytes_per_second)
        machine_config.pcie_bytes_per_second = config->link_bytes_per_second;
    if (config->local_bytes_per_second)
        machine_config.local_bytes_per_second = config->local_bytes_per_second;
    place_bars(config, &machine_config);
    run->machine = machine_create(&run->own.services, &machine_config);
    if (run->machine)
        switch_memory_on(run->machine, config);
    return run->machine ||
           run_refuse(run,
                      "no machine with %llu bytes of system memory, %llu bytes of local memory "
                      "(%llu visible) and an aperture of %llu bytes%s",
                      (unsigned long long)config->ram_bytes,
                      (unsigned long long)config->local_bytes,
                      (unsigned long long)config->visible_bytes,
                      (unsigned long long)config->aperture_bytes,
                      machine_config.registers_pa || machine_config.window_pa
                          ? ", at the addresses of its base addresses (expected: above system "
                            "memory, apart, at multiples of 128M and of the window's size)"
                          : "");
}

/* Those that the case asks for, and those of the board that the driver is for. */
static uint32_t traits_of(const struct run_config *config)
{
    struct run_driver driver;

    if (!run_find_driver(config->driver, &driver))
        return config->local_traits; /* who raises the driver says so */
    return config->local_traits | driver.local_traits;
}

static bool raise_drydock_gpu(struct run_assembly *run)
{
    const struct run_config *config = run->config;
    struct sgpu_config gpu_config = {
        .straps = straps_of(config),
        .kept_bytes = config->preserve == RUN_PRESERVE_PART
                          ? place_on_board(config, align_up(config->local_bytes / 4, PAGE_BYTES))
                          : 0,
        .node_count = config->node_count,
        .traits = traits_of(config),
        .protected_offset = place_on_board(config, align_down(config->local_bytes / 4, 64 * KiB)),
        .protected_bytes = reserved_bytes(config, config->protected_bytes),
        .picture_offset = place_on_board(config, align_down(config->local_bytes / 4 * 3, 64 * KiB)),
        .picture_bytes = reserved_bytes(config, config->picture_bytes),
        .own_bytes = reserved_bytes(config, config->own_bytes),
        .dead_offset = place_on_board(config, align_down(config->local_bytes / 2, 64 * KiB)),
        /* A driver can report it from WDDM 2.0 on; before, such a board cannot be sold. */
        .dead_bytes = config->model == RUN_PHYSICAL ? 0 : config->dead_bytes,
    };

    if (config->mmu.gpu_page && config->mmu.pages_64k)
        return run_refuse(run, "no GPU with larger GPU pages (gpu-page) and tables of 64 KiB pages "
                               "(pages-64k)");
    run_mmu_index_bits(&config->mmu, gpu_config.index_bits);
    run->gpu = sgpu_create(run->machine, &gpu_config);
    return run->gpu || run_refuse(run, "no memory for the GPU");
}

static bool raise_gpu(struct run_assembly *run)
{
    const struct run_config *config = run->config;
    char why[GPU_PLUGIN_ERROR_BYTES];

    if (config->node_count < 2 || config->node_count > SGPU_MAX_NODES)
        return run_refuse(run, "no GPU with %u nodes (expected 2 to %u)", config->node_count,
                          SGPU_MAX_NODES);
    if (strcmp(config->gpu, RUN_GPU_NONE) == 0) {
        const char *lack = foreign_registers_open(&run->own.services, run->machine,
                                                  config->surroundings, &run->registers);

        return !lack || run_refuse(run, "%s", lack);
    }
    if (gpu_plugin_is_path(config->gpu))
        return gpu_plugin_load(&run->own.services, config->gpu, run->machine, &run->plugin, why) ||
               run_refuse(run, "%s", why);
    if (!is_drydock_gpu(config))
        return run_refuse(run,
                          "there is no GPU '%s' (expected sgpu, none, or the path of a model: "
                          "./mygpu.so)",
                          config->gpu);
    return raise_drydock_gpu(run);
}

/* ---- What the Drydock GPU tells -------------------------------------------------------------- */

static uint64_t on_token_of(void *context, uint32_t node, uint32_t fence)
{
    return oracle_token_of(((struct run_assembly *)context)->oracle, node, fence);
}

static void on_render_begin(void *context, uint64_t token, uint32_t node)
{
    oracle_render_begin(((struct run_assembly *)context)->oracle, token, node);
}

static void on_render_read(void *context, uint64_t token, uint32_t index, uint64_t offset,
                           struct page_store *store, uint64_t address, uint64_t bytes)
{
    oracle_render_read(((struct run_assembly *)context)->oracle, token, index, offset, store,
                       address, bytes);
}

static void on_render_write(void *context, uint64_t token, uint32_t index, uint64_t offset,
                            struct page_store *store, uint64_t address, uint64_t bytes)
{
    oracle_render_write(((struct run_assembly *)context)->oracle, token, index, offset, store,
                        address, bytes);
}

static void on_render_piece_end(void *context, uint64_t token)
{
    oracle_render_piece_end(((struct run_assembly *)context)->oracle, token);
}

static void on_render_end(void *context, uint64_t token)
{
    oracle_render_end(((struct run_assembly *)context)->oracle, token);
}

static bool is_same_command(const struct sgpu_command *a, const struct sgpu_command *b)
{
    return a->node == b->node && a->fence == b->fence && a->offset == b->offset &&
           a->bytes == b->bytes;
}

/* The operation that a command belongs to, for the oracle; 0: none that the checker knows. */
static uint64_t writer_of(const struct run_assembly *run, const struct sgpu_command *command)
{
    struct finding_commands commands = {0};
    uint64_t operation = run->check
                             ? check_running_operation(run->check, command->node, command->fence,
                                                       command->offset, &commands)
                             : 0;

    commands.bytes = command->bytes;
    return run_writers_number(run->writers, operation, &commands);
}

/* A command writes page by page; who it belongs to is looked for once. */
static void on_wrote(void *context, const struct sgpu_command *command, struct page_store *store,
                     uint64_t address, uint64_t bytes)
{
    struct run_assembly *run = context;

    if (!is_same_command(&run->writing.command, command)) {
        run->writing.command = *command;
        run->writing.writer = writer_of(run, command);
    }
    oracle_wrote(run->oracle, store, address, bytes, run->writing.writer);
}

static void tell_check(struct run_assembly *run, const struct check_gpu_event *event)
{
    if (run->check)
        check_gpu(run->check, event);
}

/* Of a root as the GPU's registers and packets hold it. */
static uint64_t root_address(uint64_t root, bool *out_is_system)
{
    uint64_t address = root & ~(uint64_t)SGPU_ROOT_BITS_MASK;

    *out_is_system = address >= SGPU_PA_SYSTEM;
    return *out_is_system ? address - SGPU_PA_SYSTEM : address;
}

static void on_submission_queued(void *context, uint32_t node, uint32_t fence, uint64_t address,
                                 uint32_t bytes, const uint64_t *root, uint64_t root_entries)
{
    struct check_gpu_event event = {.kind = CHECK_GPU_QUEUED,
                                    .node = node,
                                    .fence = fence,
                                    .address = address,
                                    .bytes = bytes,
                                    .has_root = root,
                                    .tells_drops = ((struct run_assembly *)context)->gpu != NULL,
                                    .root_entries = root_entries,
                                    .has_start = ((struct run_assembly *)context)->gpu != NULL,
                                    .starts_in_system = address >= SGPU_PA_SYSTEM};

    event.first_byte = event.starts_in_system ? address - SGPU_PA_SYSTEM : address;
    if (root)
        event.root = root_address(*root, &event.is_system);
    tell_check(context, &event);
}

static void on_submission_begins(void *context, uint32_t node, uint32_t fence)
{
    struct run_assembly *run = context;

    run->writing.command = (struct sgpu_command){0};
    run_record_packet_begins(&run->record, node, fence);
}

static void on_submission_done(void *context, uint32_t node, uint32_t fence)
{
    struct run_assembly *run = context;

    run_record_packet_ends(&run->record, node, fence, STATUS_SUCCESS);
    tell_check(context,
               &(struct check_gpu_event){.kind = CHECK_GPU_DONE, .node = node, .fence = fence});
}

static void on_submission_dropped(void *context, uint32_t node, uint32_t fence)
{
    struct run_assembly *run = context;

    run_record_packet_ends(&run->record, node, fence, STATUS_CANCELLED);
    tell_check(context,
               &(struct check_gpu_event){.kind = CHECK_GPU_DROPPED, .node = node, .fence = fence});
}

static void on_system_reached(void *context)
{
    tell_check(context, &(struct check_gpu_event){.kind = CHECK_GPU_SYSTEM});
}

static void on_touched_gone(void *context, uint64_t offset, bool is_write)
{
    tell_check(context,
               &(struct check_gpu_event){.kind = CHECK_GPU_TOUCHED,
                                         .address = offset,
                                         .access = is_write ? CHECK_GPU_WRITES : CHECK_GPU_READS});
}

static void on_touched_off(void *context, uint32_t node, uint64_t offset)
{
    tell_check(context, &(struct check_gpu_event){
                            .kind = CHECK_GPU_UNPOWERED, .node = node, .address = offset});
}

static void on_fence_passed(void *context, uint32_t node)
{
    tell_check(context, &(struct check_gpu_event){.kind = CHECK_GPU_FENCE, .node = node});
}

static void on_fence_written(void *context, uint32_t node, uint64_t address, uint64_t value)
{
    struct run_assembly *run = context;

    run_record_manager_fence_written(&run->managers_record, node, address, value);
    if (!(address & (SGPU_PA_APERTURE | SGPU_PA_PITCHED)))
        tell_check(context, &(struct check_gpu_event){.kind = CHECK_GPU_VALUE,
                                                      .node = node,
                                                      .is_system = (address & SGPU_PA_SYSTEM) != 0,
                                                      .address = address & ~SGPU_PA_SYSTEM});
}

/* The display reads all of the surface, as the CPU would. */
static void read_surface(struct run_assembly *run, uint64_t address)
{
    uint64_t bytes, offset = 0;
    uint32_t id;

    if (!run->oracle || !run->player || !player_shown(run->player, &id, &bytes))
        return;
    while (offset < bytes) {
        struct page_store *store;
        uint64_t at, length;

        if (!sgpu_resolve(run->gpu, address + offset, bytes - offset, &store, &at, &length))
            return;
        oracle_cpu_read(run->oracle, id, offset, store, at, length);
        offset += length;
    }
}

static void on_scanned(void *context, uint64_t address)
{
    struct run_assembly *run = context;

    if (run->is_display_only)
        return; /* no manager has given it the address */
    tell_check(run, &(struct check_gpu_event){.kind = CHECK_GPU_SCANS, .address = address});
    read_surface(run, address);
}

static void on_tlb_flushed(void *context, uint32_t node, uint64_t root, uint64_t start,
                           uint64_t end)
{
    struct check_gpu_event event = {
        .kind = CHECK_GPU_FLUSHED, .node = node, .start = start, .end = end};

    event.address = root_address(root, &event.is_system);
    tell_check(context, &event);
}

static void on_entries_written(void *context, const struct sgpu_command *command,
                               struct page_store *store, uint64_t address, uint64_t bytes)
{
    const struct run_assembly *run = context;

    tell_check(context, &(struct check_gpu_event){
                            .kind = CHECK_GPU_ENTRIES,
                            .node = command->node,
                            .fence = command->fence,
                            .offset = command->offset,
                            .bytes = (uint32_t)bytes,
                            .place = {store == machine_ram(run->machine), address},
                        });
}

static void on_gpu_fault(void *context, const struct sgpu_fault *fault)
{
    static const char *const kinds[] = {
        [SGPU_FAULT_NONE] = "no fault",
        [SGPU_FAULT_NOT_VALID] = "no valid translation",
        [SGPU_FAULT_READ_ONLY] = "write to a read-only page",
        [SGPU_FAULT_NO_EXECUTE] = "commands fetched from a no-execute page",
        [SGPU_FAULT_BUS] = "nothing answers",
        [SGPU_FAULT_PACKET] = "malformed packet",
        [SGPU_FAULT_SAVE_AREA] = "not the context's save area",
        [SGPU_FAULT_NO_HOME] = "a fence without a home is signalled",
    };
    static const enum check_gpu_access accesses[] = {
        [SGPU_FAULT_READ_ONLY] = CHECK_GPU_WRITES,
        [SGPU_FAULT_NO_EXECUTE] = CHECK_GPU_READS,
    };
    struct run_assembly *run = context;
    bool is_meant =
        run->player && player_expects_fault(run->player, fault->node, fault->token, fault->address);
    uint32_t line = run->player ? player_line_of(run->player, fault->token) : 0;
    const struct check_gpu_event event = {
        .kind = CHECK_GPU_FAULT,
        .node = fault->node,
        .fence = fault->fence,
        .address = fault->address,
        .offset = fault->packet_offset,
        .bytes = fault->packet_bytes,
        .access = fault->kind < ARRAY_COUNT(accesses) ? accesses[fault->kind] : CHECK_GPU_ACCESSES,
        .is_malformed_packet = fault->kind == SGPU_FAULT_PACKET,
    };
    struct run_finding *finding = NULL;

    tell_check(run, &event); /* a rule that tells why goes before the fault */
    if (!is_meant)
        finding = run_result_report(
            run->result, RUN_FINDING_FAULT, line, machine_now(run->machine),
            "the GPU faulted on node %u, fence %u, packet at offset 0x%llx: %s at 0x%llx",
            fault->node, fault->fence, (unsigned long long)fault->packet_offset,
            fault->kind < ARRAY_COUNT(kinds) ? kinds[fault->kind] : "unknown fault",
            (unsigned long long)fault->address);
    if (finding && run->check)
        check_place_fault(run->check, &event, &finding->detail);
    if (run->player && !is_meant)
        player_note_fault(run->player);
}

static const struct sgpu_observer *gpu_observer(bool follows_content)
{
    static const struct sgpu_observer observer = {
        .token_of = on_token_of,
        .render_begin = on_render_begin,
        .render_read = on_render_read,
        .render_write = on_render_write,
        .render_piece_end = on_render_piece_end,
        .render_end = on_render_end,
        .wrote = on_wrote,
        .wrote_entries = on_entries_written,
        .fault = on_gpu_fault,
        .submission_queued = on_submission_queued,
        .submission_begins = on_submission_begins,
        .submission_done = on_submission_done,
        .submission_dropped = on_submission_dropped,
        .fence_passed = on_fence_passed,
        .fence_written = on_fence_written,
        .scanned = on_scanned,
        .tlb_flushed = on_tlb_flushed,
        .system_reached = on_system_reached,
        .touched_gone = on_touched_gone,
        .touched_off = on_touched_off,
    };
    static const struct sgpu_observer faults_only = {
        .wrote_entries = on_entries_written,
        .fault = on_gpu_fault,
        .submission_queued = on_submission_queued,
        .submission_begins = on_submission_begins,
        .submission_done = on_submission_done,
        .submission_dropped = on_submission_dropped,
        .fence_passed = on_fence_passed,
        .fence_written = on_fence_written,
        .scanned = on_scanned,
        .tlb_flushed = on_tlb_flushed,
        .system_reached = on_system_reached,
        .touched_gone = on_touched_gone,
        .touched_off = on_touched_off,
    };

    return follows_content ? &observer : &faults_only;
}

/* ---- What another GPU model tells ------------------------------------------------------------ */

/* The command as the Drydock GPU would tell of it; false: it is in no submission. */
static bool find_command(const struct run_assembly *run, const struct gpu_plugin_command *command,
                         struct sgpu_command *out)
{
    *out = (struct sgpu_command){.node = command->node, .bytes = command->bytes};
    return run->check && command->bytes &&
           check_find_running(run->check, command->node, command->address, &out->fence,
                              &out->offset);
}

static void on_plugin_wrote(void *context, const struct gpu_plugin_command *command,
                            struct page_store *store, uint64_t address, uint64_t bytes)
{
    struct run_assembly *run = context;
    struct sgpu_command found;

    if (find_command(run, command, &found))
        oracle_wrote(run->oracle, store, address, bytes, writer_of(run, &found));
}

static void on_plugin_fault(void *context, uint32_t node, uint32_t fence, uint64_t address,
                            const char *text, const struct gpu_plugin_command *command)
{
    struct run_assembly *run = context;
    struct sgpu_command found;
    struct run_finding *finding =
        run_result_report(run->result, RUN_FINDING_FAULT, 0, machine_now(run->machine),
                          "the GPU faulted on node %u, fence %u: %s at 0x%llx", node, fence, text,
                          (unsigned long long)address);

    if (finding && find_command(run, command, &found))
        check_place_fault(run->check,
                          &(struct check_gpu_event){.kind = CHECK_GPU_FAULT,
                                                    .node = found.node,
                                                    .fence = found.fence,
                                                    .offset = found.offset,
                                                    .bytes = found.bytes},
                          &finding->detail);
    if (run->player)
        player_note_fault(run->player);
}

static void on_plugin_flushed(void *context, const struct drydock_gpu_place *root, uint64_t start,
                              uint64_t end)
{
    tell_check(context, &(struct check_gpu_event){
                            .kind = CHECK_GPU_FLUSHED,
                            .address = root ? root->address : 0,
                            .is_system = root && !root->is_local,
                            .is_everywhere = !root,
                            .start = start,
                            .end = end,
                        });
}

static void on_plugin_endless(void *context, const char *text)
{
    struct run_assembly *run = context;

    run_refuse(run, "%s", text);
    longjmp(run->bug_check, 1);
}

static struct gpu_plugin_observer plugin_observer(struct run_assembly *run)
{
    struct gpu_plugin_observer observer = {
        .context = run,
        .fault = on_plugin_fault,
        .flushed = on_plugin_flushed,
        .endless = on_plugin_endless,
    };

    if (run->config->checks_content) {
        observer.wrote = on_plugin_wrote;
        observer.begin = on_render_begin;
        observer.read = on_render_read;
        observer.write = on_render_write;
        observer.end = on_render_end;
    }
    return observer;
}

static void watch_gpu(struct run_assembly *run)
{
    const struct gpu_plugin_observer observer = plugin_observer(run);

    if (run->gpu)
        sgpu_set_observer(run->gpu, gpu_observer(run->config->checks_content), run);
    if (run->plugin)
        gpu_plugin_set_observer(run->plugin, &observer);
}

/* ---- What the checking layer and the oracle ask ---------------------------------------------- */

/* The Drydock GPU takes bus addresses; behind an AGP bridge the system's are marked. */
static bool patched_address(void *context, DXGK_SEGMENTFLAGS segment, uint64_t address,
                            uint64_t offset, bool is_pitched, uint64_t *out_bits)
{
    address = is_pitched ? SGPU_PITCHED(address, offset) | SGPU_PA_PITCHED : address + offset;
    *out_bits = segment.Agp ? SGPU_PA_SYSTEM | address : address;
    return true;
}

/* The references in a buffer of the Drydock GPU's packets. */
static uint32_t count_references(void *context, const void *commands, uint64_t bytes)
{
    const char *next = commands;
    uint32_t count = 0, header;

    while (bytes >= sizeof header) {
        const struct sgpu_packet_render *packet = (const struct sgpu_packet_render *)next;
        uint64_t size;

        memcpy(&header, next, sizeof header);
        size = SGPU_PACKET_WORDS(header) * 4ull;
        if (size < sizeof header || size > bytes)
            break;
        if (SGPU_PACKET_OPCODE(header) == SGPU_OP_RENDER && size >= sizeof *packet)
            count += packet->ref_count;
        next += size;
        bytes -= size;
    }
    return count;
}

/* The RAM page behind what the device calls a system page. */
static bool find_system_page(void *context, uint64_t page, uint64_t *out_page)
{
    struct machine_iommu *iommu = machine_iommu(((struct run_assembly *)context)->machine);

    *out_page = page;
    return !machine_iommu_is_remapping(iommu) ||
           machine_iommu_find(iommu, MACHINE_NO_PASID, page, out_page);
}

/* The slot's number on the board; apertures of the driver's own making have none. */
static bool find_slot(uint64_t base, uint64_t slot, uint64_t *out_slot)
{
    *out_slot = (base - SGPU_PA_APERTURE) / PAGE_BYTES + slot;
    return base >= SGPU_PA_APERTURE;
}

static bool find_slot_page(void *context, uint64_t base, uint64_t slot, uint64_t *out_page)
{
    struct run_assembly *run = context;

    *out_page = find_slot(base, slot, &slot) ? sgpu_aperture_page(run->gpu, slot) : SGPU_NO_PAGE;
    return *out_page != SGPU_NO_PAGE;
}

static bool is_slot_coherent(void *context, uint64_t base, uint64_t slot)
{
    struct run_assembly *run = context;

    return find_slot(base, slot, &slot) && sgpu_aperture_is_coherent(run->gpu, slot);
}

static uint32_t find_enabled_interrupts(void *context)
{
    return sgpu_enabled_interrupts(((const struct run_assembly *)context)->gpu);
}

static bool read_device_page(void *context, uint64_t page, void *out, uint32_t bytes)
{
    struct run_assembly *run = context;

    if (!find_system_page(run, page, &page) || !machine_page_is_allocated(run->machine, page))
        return false;
    page_store_read(machine_ram(run->machine), page * PAGE_BYTES, out, bytes);
    return true;
}

static bool find_local_behind(void *context, uint64_t address, uint64_t *out_address)
{
    struct run_assembly *run = context;
    struct machine_target target = {0};
    bool is_found = machine_bus_find(run->machine, address, PAGE_BYTES, &target) &&
                    target.kind == MACHINE_LOCAL;

    *out_address = target.address;
    return is_found;
}

/* Of RAM, of the board's memory: a byte of one is not next to a byte of the other. */
static bool find_memory_behind(void *context, uint64_t address, uint64_t *out_number)
{
    struct run_assembly *run = context;
    struct machine_target target = {0};
    bool is_found = machine_bus_find(run->machine, address, PAGE_BYTES, &target) && target.store;

    *out_number =
        target.address | (target.store == machine_ram(run->machine)) * (UINT64_C(1) << 63);
    return is_found;
}

static uint64_t machine_time(void *context)
{
    return machine_now(((const struct run_assembly *)context)->machine);
}

static bool find_in_segment(void *context, const struct oracle_segment *segment, uint64_t offset,
                            uint64_t bytes, struct page_store **out_store, uint64_t *out_address)
{
    const struct run_assembly *run = context;

    return foreign_board_resolve(run->foreign_board, segment, offset, bytes, out_store,
                                 out_address);
}

/* By the pages of windows (page_window.h): a mapping of less than 16 MiB is not watched. */
static bool watch_place(void *context, unsigned segment, uint64_t base, uint64_t offset,
                        uint64_t bytes)
{
    struct run_assembly *run = context;
    const struct oracle_segment known = {.id = segment};
    struct page_store *store = machine_local(run->machine);
    uint64_t address = base + offset;

    if (run->foreign_board
            ? !foreign_board_resolve(run->foreign_board, &known, offset, bytes, &store, &address)
            : !store || !page_store_contains(store, address, bytes))
        return false;
    run->watched = address - offset;
    return page_windows_watch(store, address / PAGE_BYTES,
                              bytes_to_pages(address % PAGE_BYTES + bytes));
}

static bool end_watch(void *context, uint64_t *out_offset)
{
    const struct run_assembly *run = context;
    uint64_t page;
    const bool is_touched = page_windows_end_watch(&page);

    *out_offset = page * PAGE_BYTES - run->watched;
    return is_touched;
}

static bool walk_tables(void *context, bool is_system, uint64_t root, uint64_t va,
                        struct check_gpu_walk *out_walk)
{
    return sgpu_walk_tables(((struct run_assembly *)context)->gpu, is_system, root, va, out_walk);
}

/* A model tells of the entry that maps a page, whatever its tables look like. */
static bool walk_plugin(void *context, bool is_system, uint64_t root, uint64_t va,
                        struct check_gpu_walk *out_walk)
{
    const struct run_assembly *run = context;
    const struct drydock_gpu_place place = {.is_local = !is_system, .address = root};
    struct drydock_gpu_translation translation = {0};

    memset(out_walk, 0, sizeof *out_walk);
    if (!gpu_plugin_translate(run->plugin, place, va, &translation))
        return false;
    out_walk->entries[translation.page_bytes > 64 * KiB] = (struct check_gpu_entry){
        .is_read = true,
        .is_64k = translation.page_bytes == 64 * KiB,
        .is_large = translation.page_bytes > 64 * KiB,
        .is_valid = translation.is_valid,
        .is_system = !translation.at.is_local,
        .is_zero = translation.is_zero,
        .is_read_only = translation.is_read_only,
        .is_no_execute = translation.is_no_execute,
        .address = translation.at.address,
        .protection = translation.protection & translation.protection_mask,
        .protection_mask = translation.protection_mask,
    };
    return true;
}

static uint64_t last_call(void *context)
{
    return ((struct run_assembly *)context)->result->calls.last;
}

void run_hardware_for_oracle(struct run_assembly *run, struct oracle_config *config)
{
    config->event = run->config->checks_rules ? last_call : NULL;
    config->system_page = run->config->remaps_dma ? find_system_page : NULL;
    config->resolve = run->gpu ? NULL : find_in_segment;
}

static uint64_t count_system_bytes(void *context)
{
    return nt_system_bytes(((const struct run_assembly *)context)->nt);
}

void run_hardware_for_check(struct run_assembly *run, struct check_config *config)
{
    /* Only a model of the GPU knows these; without one, the rules behind them are not judged. */
    if (run->gpu) {
        config->patched_address = patched_address;
        config->count_references = count_references;
        config->walk = walk_tables;
        config->slot_page = find_slot_page;
        config->slot_is_coherent = is_slot_coherent;
        config->enabled_interrupts = find_enabled_interrupts;
        config->bus_local = find_local_behind; /* else segments may lie in system memory, too */
    } else {
        config->bus_memory = find_memory_behind;
    }
    if (!run->retold) /* whose time passes as the record is read */
        config->now = machine_time;
    if (!run->gpu && !run->plugin)
        config->timeout_ns =
            run->config->timeout_ns ? run->config->timeout_ns : VIDMM_DEFAULT_TIMEOUT_NS;
    if (run->plugin && gpu_plugin_model(run->plugin)->translate)
        config->walk = walk_plugin;
    config->hears_flushes = run->plugin && gpu_plugin_tells_flushes(run->plugin);
    config->read_page = read_device_page;
    if (!run->retold) { /* of a driver that is not there neither the pool is known nor what it
                           touches */
        config->system_bytes = count_system_bytes;
        config->watch_place = watch_place;
        config->end_watch = end_watch;
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool run_raise_hardware(struct run_assembly *run)
{
    if (!has_room(run) || !raise_machine(run) || !raise_gpu(run))
        return false;
    watch_gpu(run);
    return true;
}
