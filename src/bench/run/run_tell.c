/*
 * Run: what others tell while it is played.
 *
 * Findings of the checking layer and the oracle, errors and bug checks of the driver, faults and
 * packets of the GPU, evictions and trims of the manager; and what the checking layer asks about
 * the hardware.
 */
#include "base/assert.h"
#include "bench/board/bare_device.h"
#include "bench/run/run_private.h"
#include "bench/board/run_tables.h"
#include "bench/child/vigil.h"
#include "miniport/raw.h"
#include "nt/machine/exception.h"

#include <stdio.h>
#include <string.h>

static const char *where_it_runs(const struct run_assembly *run)
{
    static char text[32];
    const char *ddi = miniport_raw_running();
    uint32_t thread = run->nt ? nt_running_thread(run->nt) : 0;

    snprintf(text, sizeof text, "its thread %u", thread);
    if (thread)
        return text;
    if (ddi)
        return ddi;
    if (run->is_in_entry)
        return "DriverEntry";
    return run->is_in_unload ? "DriverUnload" : "code of its own";
}

/* Frames of the image, if it is one, from where it called the bench. */
static void tell_frames(const struct run_assembly *run, struct run_finding *finding)
{
    char frames[2048];

    if (finding && run->nt && exception_backtrace(run->nt, NULL, frames, sizeof frames))
        run_result_explain(finding, frames);
}

static void __attribute__((noreturn)) stop_machine(struct run_assembly *run)
{
    run->has_stopped_machine = true;
    longjmp(run->bug_check, 1);
}

static struct run_finding *report_bug_check(struct run_assembly *run, enum run_finding_kind kind,
                                            uint32_t code, const uint64_t parameters[4],
                                            const char *what)
{
    const char *name = nt_bug_check_name(code);

    return run_result_report(
        run->result, kind, 0, machine_now(run->machine),
        "the driver stopped the machine in %s: bug check 0x%x%s%s (0x%llx, 0x%llx, 0x%llx, "
        "0x%llx)%s%s",
        where_it_runs(run), code, name[0] ? " " : "", name, (unsigned long long)parameters[0],
        (unsigned long long)parameters[1], (unsigned long long)parameters[2],
        (unsigned long long)parameters[3], what[0] ? ": " : "", what);
}

static void on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    struct run_assembly *run = context;
    struct run_finding *finding = report_bug_check(run, RUN_FINDING_DRIVER, code, parameters, "");

    if (finding)
        run_result_explain(finding, nt_stopped_at(run->nt));
    stop_machine(run);
}

static void on_crash(void *context, const struct nt_crash *crash)
{
    struct run_assembly *run = context;
    struct run_finding *finding = report_bug_check(run, RUN_FINDING_CRASHED, crash->bug_check,
                                                   crash->parameters, crash->what);

    if (finding)
        run_result_explain(finding, crash->state);
    stop_machine(run);
}

/* The guard pages of the checking layer, which tell a rule. */
static bool owns_address(void *context, const void *address)
{
    struct run_assembly *run = context;
    struct finding finding;

    return run->check && check_explain_address(run->check, address, &finding);
}

/* What the driver calls an error it found in what it was asked to do, or in itself. */
static void on_driver_log(void *context, uint32_t component, uint32_t level, const char *text)
{
    struct run_assembly *run = context;

    if (component == DPFLTR_IHVVIDEO_ID && level == DPFLTR_ERROR_LEVEL)
        run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                          "the driver prints: %.*s", (int)strcspn(text, "\n"), text);
}

static void on_adapter_ended(void *context)
{
    struct run_assembly *run = context;

    player_adapter_ended(run->player);
}

/* What the checking layer has told already is not told again by the manager, which saw it too. */
static void on_driver_error(void *context, const char *rule, const char *text)
{
    struct run_assembly *run = context;
    enum rule_id id = rule_find(rule);
    struct run_finding *finding;

    if (id != RULE_NONE && run->result->rules.broken[id])
        return;
    finding = run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine), "%s",
                                text);
    if (!finding)
        return;
    snprintf(finding->rule, sizeof finding->rule, "%s", rule);
    run_result_place(finding);
}

/* A rule of our own side that is broken is a defect of ours, which fails the tests. */
static void on_finding(void *context, const struct finding *found)
{
    struct run_assembly *run = context;
    const struct rule *rule = rule_get(found->rule);
    enum run_finding_kind kind = found->is_carried_out        ? RUN_FINDING_CONTENT
                                 : rule->side == RULE_SIDE_OS ? RUN_FINDING_MANAGER
                                                              : RUN_FINDING_DRIVER;
    struct run_finding *finding =
        run_result_report(run->result, kind, 0, machine_now(run->machine), "%s", found->text);

    if (!finding)
        return;
    snprintf(finding->rule, sizeof finding->rule, "%s", rule->id);
    finding->detail = found->detail;
}

/* The Drydock GPU takes bus addresses; behind an AGP bridge the system's are marked. */
static bool patched_address(void *context, DXGK_SEGMENTFLAGS segment, uint64_t address,
                            uint64_t offset, bool is_pitched, uint64_t *out_bits)
{
    address = is_pitched ? SGPU_PITCHED(address, offset) | SGPU_PA_PITCHED : address + offset;
    *out_bits = segment.Agp ? SGPU_PA_SYSTEM | address : address;
    return true;
}

/* Of the Drydock GPU's packets. */
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

static unsigned driver_irql(void *context)
{
    return nt_irql(((struct run_assembly *)context)->nt);
}

static void on_evicted(void *context, struct vidmm_allocation *allocation, const char *reason)
{
    struct run_result *result = ((struct run_assembly *)context)->result;
    unsigned i = 0;

    while (i < result->eviction_reason_count && strcmp(result->eviction_reasons[i], reason) != 0)
        i++;
    if (i == ARRAY_COUNT(result->eviction_reasons))
        return;
    if (i == result->eviction_reason_count)
        result->eviction_reasons[result->eviction_reason_count++] = reason;
    result->evictions_by_reason[i]++;
}

static void on_page_fault(void *context, unsigned node, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct run_assembly *run = context;

    if (run->player)
        player_note_fault(run->player);
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

static bool find_in_segment(void *context, const struct oracle_segment *segment, uint64_t offset,
                            uint64_t bytes, struct page_store **out_store, uint64_t *out_address)
{
    const struct run_assembly *run = context;

    return bare_device_resolve(run->bare, segment, offset, bytes, out_store, out_address);
}

static void on_oracle_report(void *context, const struct oracle_report *report)
{
    struct run_assembly *run = context;
    size_t line = strcspn(report->text, "\n");
    struct run_finding *finding =
        run_result_report(run->result, RUN_FINDING_CONTENT, 0, machine_now(run->machine), "%.*s",
                          (int)line, report->text);
    struct finding_detail *detail = finding ? &finding->detail : NULL;

    if (!detail)
        return;
    if (report->rule)
        snprintf(finding->rule, sizeof finding->rule, "%s", rule_get(report->rule)->id);
    detail->event = report->event;
    snprintf(detail->where, sizeof detail->where, "%s", report->where);
    snprintf(detail->bytes, sizeof detail->bytes, "%s", report->bytes);
    snprintf(detail->arguments, sizeof detail->arguments, "%s", report->arguments);
    run_result_explain(finding, report->text + line);
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

static void tell_check(struct run_assembly *run, const struct check_gpu_event *event)
{
    if (run->check)
        check_gpu(run->check, event);
}

/* A process was asked to hold less: what it does about it is the case's business. */
static void on_trim(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
                    uint64_t bytes)
{
    struct run_assembly *run = context;

    if (run->check)
        check_client(run->check, &(struct check_client_event){.kind = CHECK_CLIENT_TRIM,
                                                              .device = process,
                                                              .group = group,
                                                              .bytes = bytes});
}

static void on_submission_queued(void *context, uint32_t node, uint32_t fence, uint64_t address,
                                 uint32_t bytes)
{
    tell_check(context, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                  .node = node,
                                                  .fence = fence,
                                                  .address = address,
                                                  .bytes = bytes});
}

static void on_tlb_flushed(void *context, uint32_t node, uint64_t root, uint64_t start,
                           uint64_t end)
{
    uint64_t address = root & ~(uint64_t)SGPU_ROOT_BITS_MASK;
    bool is_system = address >= SGPU_PA_SYSTEM;

    tell_check(context, &(struct check_gpu_event){
                            .kind = CHECK_GPU_FLUSHED,
                            .node = node,
                            .address = is_system ? address - SGPU_PA_SYSTEM : address,
                            .is_system = is_system,
                            .start = start,
                            .end = end,
                        });
}

static bool walk_tables(void *context, bool is_system, uint64_t root, uint64_t va,
                        struct check_gpu_walk *out_walk)
{
    return run_tables_walk(((struct run_assembly *)context)->gpu, is_system, root, va, out_walk);
}

/* A model tells of leaves, whatever its tables look like. */
static bool walk_plugin(void *context, bool is_system, uint64_t root, uint64_t va,
                        struct check_gpu_walk *out_walk)
{
    const struct run_assembly *run = context;
    const struct drydock_gpu_place place = {.is_local = !is_system, .address = root};
    struct drydock_gpu_translation translation = {0};

    memset(out_walk, 0, sizeof *out_walk);
    if (!gpu_plugin_translate(run->plugin, place, va, &translation))
        return false;
    out_walk->entries[0] = (struct check_gpu_entry){
        .is_read = true,
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

static void on_plugin_fault(void *context, uint32_t node, uint32_t fence, uint64_t address,
                            const char *text)
{
    struct run_assembly *run = context;

    run_result_report(run->result, RUN_FINDING_FAULT, 0, machine_now(run->machine),
                      "the GPU faulted on node %u, fence %u: %s at 0x%llx", node, fence, text,
                      (unsigned long long)address);
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
    run->has_stopped_machine = true;
    longjmp(run->bug_check, 1);
}

static void on_submission_done(void *context, uint32_t node, uint32_t fence)
{
    tell_check(context,
               &(struct check_gpu_event){.kind = CHECK_GPU_DONE, .node = node, .fence = fence});
}

static void on_system_reached(void *context)
{
    tell_check(context, &(struct check_gpu_event){.kind = CHECK_GPU_SYSTEM});
}

static void on_fence_passed(void *context, uint32_t node)
{
    tell_check(context, &(struct check_gpu_event){.kind = CHECK_GPU_FENCE, .node = node});
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
    struct run_assembly *run = context;
    uint32_t line = run->player ? player_line_of(run->player, fault->token) : 0;

    run_result_report(run->result, RUN_FINDING_FAULT, line, machine_now(run->machine),
                      "the GPU faulted on node %u, fence %u, packet at offset 0x%llx: %s at 0x%llx",
                      fault->node, fault->fence, (unsigned long long)fault->packet_offset,
                      fault->kind < ARRAY_COUNT(kinds) ? kinds[fault->kind] : "unknown fault",
                      (unsigned long long)fault->address);
    tell_check(run,
               &(struct check_gpu_event){.kind = CHECK_GPU_FAULT,
                                         .node = fault->node,
                                         .fence = fault->fence,
                                         .address = fault->address,
                                         .is_malformed_packet = fault->kind == SGPU_FAULT_PACKET});
    if (run->player)
        player_note_fault(run->player);
}

static void on_content_lost(void *context, struct vidmm_allocation *allocation)
{
    struct run_assembly *run = context;
    const void *name = allocation;

    if (run->player)
        player_note_lost(run->player, allocation);
    if (run->check)
        check_client(run->check, &(struct check_client_event){
                                     .kind = CHECK_CLIENT_LOST, .count = 1, .allocations = &name});
}

static void on_instance_ended(void *context, struct vidmm_allocation *allocation,
                              const void *instance)
{
    struct run_assembly *run = context;
    const void *name = allocation;

    if (run->oracle && instance)
        oracle_instance_ended(run->oracle, instance);
    if (run->check)
        check_client(run->check, &(struct check_client_event){.kind = CHECK_CLIENT_INSTANCE_ENDED,
                                                              .count = 1,
                                                              .allocations = &name,
                                                              .instance = instance});
}

static const void *on_paging(void *context)
{
    const struct run_assembly *run = context;

    return run->vidmm ? vidmm_paging_instance(run->vidmm) : NULL;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void on_missing(void *context, const char *name)
{
    struct run_assembly *run = context;
    bool is_display_only = strcmp(name, "DxgkInitializeDisplayOnlyDriver") == 0;

    tell_frames(run,
                run_result_report(
                    run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                    "in %s the driver calls %s, which the bench does not have%s",
                    where_it_runs(run), name,
                    is_display_only ? ": a display-only driver has no memory DDIs to check" : ""));
}

static void on_misuse(void *context, const char *text)
{
    struct run_assembly *run = context;

    tell_frames(run,
                run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                                  "in %s: %s", where_it_runs(run), text));
}

static void on_deadlock(void *context, const char *text)
{
    struct run_assembly *run = context;

    tell_frames(run,
                run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                                  "in %s: %s", where_it_runs(run), text));
    stop_machine(run);
}

void run_tell_overwritten(void *context, enum miniport_ddi ddi, const char *member)
{
    struct run_assembly *run = context;
    struct run_finding *finding;

    if (run->has_overwritten[ddi])
        return;
    run->has_overwritten[ddi] = true;
    finding = run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                                "%s%s%s: the driver has overwritten %s, which it may only read; "
                                "the bench goes on with what was there",
                                miniport_ddi_name(ddi), member[0] ? "." : "", member,
                                member[0] ? "it" : "its argument structure");
    if (finding)
        run_result_place(finding);
}

static bool runs_model(void *context)
{
    return vigil_runs_model();
}

struct nt_host run_tell_kernel(struct run_assembly *run)
{
    return (struct nt_host){.context = run,
                            .log = on_driver_log,
                            .bug_check = on_bug_check,
                            .missing = on_missing,
                            .crash = on_crash,
                            .owns_address = owns_address,
                            .runs_foreign = runs_model,
                            .misuse = on_misuse,
                            .deadlock = on_deadlock};
}

struct vidmm_events run_tell_manager(struct run_assembly *run)
{
    return (struct vidmm_events){
        .context = run,
        .driver_error = on_driver_error,
        .adapter_ended = on_adapter_ended,
        .page_fault = on_page_fault,
        .evicted = on_evicted,
        .content_lost = on_content_lost,
        .trim = on_trim,
        .instance_ended = on_instance_ended,
    };
}

struct instances run_tell_instances(struct run_assembly *run)
{
    return (struct instances){.instance = on_paging, .context = run};
}

void run_tell_oracle(struct run_assembly *run, struct oracle_config *config)
{
    config->context = run;
    config->report = on_oracle_report;
    config->system_page = run->config->remaps_dma ? find_system_page : NULL;
    config->resolve = run->gpu ? NULL : find_in_segment;
}

static void stand_in(void *context, const void *copy, const void *buffer, size_t bytes)
{
    const struct run_assembly *run = context;

    nt_stand_in(run->nt, copy, buffer, bytes);
}

void run_tell_check(struct run_assembly *run, struct check_config *config)
{
    config->context = run;
    config->report = on_finding;
    config->irql = driver_irql;
    /* What only a model of the GPU can tell: without one, the rules behind it are not judged. */
    if (run->gpu) {
        config->patched_address = patched_address;
        config->count_references = count_references;
        config->walk = walk_tables;
        config->slot_page = find_slot_page;
        config->slot_is_coherent = is_slot_coherent;
        config->bus_local = find_local_behind; /* else segments may lie in system memory, too */
    }
    if (run->plugin && gpu_plugin_model(run->plugin)->translate)
        config->walk = walk_plugin;
    config->hears_flushes = run->plugin && gpu_plugin_tells_flushes(run->plugin);
    config->read_page = read_device_page;
    config->stands_in = stand_in;
}

const struct sgpu_observer *run_tell_gpu(bool follows_content)
{
    static const struct sgpu_observer observer = {
        .render_begin = on_render_begin,
        .render_read = on_render_read,
        .render_write = on_render_write,
        .render_piece_end = on_render_piece_end,
        .render_end = on_render_end,
        .fault = on_gpu_fault,
        .submission_queued = on_submission_queued,
        .submission_done = on_submission_done,
        .fence_passed = on_fence_passed,
        .tlb_flushed = on_tlb_flushed,
        .system_reached = on_system_reached,
    };
    static const struct sgpu_observer faults_only = {
        .fault = on_gpu_fault,
        .submission_queued = on_submission_queued,
        .submission_done = on_submission_done,
        .fence_passed = on_fence_passed,
        .tlb_flushed = on_tlb_flushed,
        .system_reached = on_system_reached,
    };

    return follows_content ? &observer : &faults_only;
}

struct gpu_plugin_observer run_tell_plugin(struct run_assembly *run)
{
    struct gpu_plugin_observer observer = {
        .context = run,
        .fault = on_plugin_fault,
        .flushed = on_plugin_flushed,
        .endless = on_plugin_endless,
    };

    if (run->config->checks_content) {
        observer.begin = on_render_begin;
        observer.read = on_render_read;
        observer.write = on_render_write;
        observer.end = on_render_end;
    }
    return observer;
}
