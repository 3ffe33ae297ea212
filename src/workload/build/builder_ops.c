/*
 * The operations of a builder: each checks what it names, then appends one struct workload_op.
 */
#include "workload/build/builder_private.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <string.h>

struct workload_op *workload_builder_op(struct workload_builder *builder,
                                        enum workload_op_kind kind, uint32_t object)
{
    struct workload_owned *out = builder->out;
    struct workload_op *op;

    if (!workload_builder_end_header(builder))
        return NULL;
    if (builder->in_list) {
        workload_builder_fail(builder, "%s inside a submission (expected submit_end before it)",
                              workload_op_name(kind));
        return NULL;
    }
    if (builder->is_off && kind != WORKLOAD_OP_NOTE) {
        workload_builder_fail(builder, "%s without power (expected power on before it)",
                              workload_op_name(kind));
        return NULL;
    }
    if (out->view.op_count >= WORKLOAD_MAX_OPS) {
        workload_builder_fail(builder, "too many operations (expected at most %u)",
                              WORKLOAD_MAX_OPS);
        return NULL;
    }
    if (!workload_grow(out->services, &out->ops, &out->op_room, out->view.op_count, 1,
                       sizeof *op)) {
        workload_builder_fail_memory(builder);
        return NULL;
    }
    op = &out->ops[out->view.op_count++];
    *op = (struct workload_op){.kind = (uint8_t)kind, .line = builder->line, .object = object};
    return op;
}

const char *workload_builder_name_of(const struct workload_builder *builder, uint32_t allocation)
{
    return builder->out->strings + builder->out->allocations[allocation].name;
}

struct workload_allocation *workload_builder_live_allocation(struct workload_builder *builder,
                                                             uint32_t allocation)
{
    struct workload_allocation *found;

    if (builder->failed)
        return NULL;
    if (allocation >= builder->out->view.allocation_count) {
        workload_builder_fail(builder, "allocation %u does not exist (expected below %u)",
                              allocation, builder->out->view.allocation_count);
        return NULL;
    }
    found = &builder->out->allocations[allocation];
    if (found->free_op != WORKLOAD_NONE) {
        workload_builder_fail(builder, "%s is already freed (expected a live allocation)",
                              workload_builder_name_of(builder, allocation));
        return NULL;
    }
    return found;
}

bool workload_builder_check_range(struct workload_builder *builder, uint32_t allocation,
                                  uint64_t offset, uint64_t *size)
{
    const struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);

    if (!a)
        return false;
    if (*size == 0 && offset < a->size)
        *size = a->size - offset;
    if (*size == 0 || offset >= a->size || *size > a->size - offset) {
        workload_builder_fail(builder,
                              "range of %" PRIu64 " bytes at %" PRIu64
                              " is not inside %s (expected it within %" PRIu64 " bytes)",
                              *size, offset, workload_builder_name_of(builder, allocation),
                              a->size);
        return false;
    }
    return true;
}

bool workload_builder_check_process(struct workload_builder *builder, uint32_t process)
{
    if (!workload_builder_end_header(builder))
        return false;
    if (process >= builder->out->view.process_count) {
        workload_builder_fail(builder, "process %u does not exist (expected below %u)", process,
                              builder->out->view.process_count);
        return false;
    }
    return true;
}

bool workload_builder_check_va(struct workload_builder *builder, uint64_t va, uint64_t size,
                               uint64_t page)
{
    if (!is_aligned(va, page) || !is_aligned(size, page)) {
        workload_builder_fail(builder,
                              "va 0x%" PRIx64 " and its %" PRIu64
                              " bytes are not whole pages (expected multiples of %" PRIu64 ")",
                              va, size, page);
        return false;
    }
    if (size == 0 || va >= WORKLOAD_MAX_VA || size > WORKLOAD_MAX_VA - va) {
        workload_builder_fail(builder,
                              "va range of %" PRIu64 " bytes at 0x%" PRIx64
                              " (expected it not empty and below 0x%llx)",
                              size, va, WORKLOAD_MAX_VA);
        return false;
    }
    return true;
}

/* Allocations -------------------------------------------------------------------------------- */

static bool check_info(struct workload_builder *builder, const char *name, int length,
                       const struct workload_allocation_info *info)
{
    const struct workload *view = &builder->out->view;

    if (info->size == 0 || info->size > WORKLOAD_MAX_ALLOCATION) {
        workload_builder_fail(builder,
                              "size %" PRIu64 " of %.*s (expected 1 to %llu bytes, 1024 GiB)",
                              info->size, length, name, WORKLOAD_MAX_ALLOCATION);
        return false;
    }
    if (info->align && (!is_power_of_two(info->align) || info->align > GiB)) {
        workload_builder_fail(builder,
                              "alignment %" PRIu64 " of %.*s (expected a power of two up to 1G)",
                              info->align, length, name);
        return false;
    }
    if (info->device >= view->device_count) {
        workload_builder_fail(builder, "device %u does not exist (expected below %u)", info->device,
                              view->device_count);
        return false;
    }
    if (info->segment_count > WORKLOAD_MAX_SEGMENTS) {
        workload_builder_fail(builder, "%u segments for %.*s (expected at most %u)",
                              info->segment_count, length, name, WORKLOAD_MAX_SEGMENTS);
        return false;
    }
    for (uint32_t i = 0; i < info->segment_count; i++) {
        bool repeats = memchr(info->segments, info->segments[i], i) != NULL;

        if (info->segments[i] >= WORKLOAD_SEGMENT_COUNT || repeats) {
            workload_builder_fail(builder,
                                  "segments of %.*s: number %u is unknown or repeated (expected "
                                  "each of local, local-invisible, aperture, system at most once)",
                                  length, name, i + 1);
            return false;
        }
    }
    for (uint32_t bits = info->flags; bits; bits &= bits - 1) {
        if (!workload_allocation_flag_name(bits & (0u - bits))) {
            workload_builder_fail(builder, "flags 0x%x of %.*s (expected known bits)", info->flags,
                                  length, name);
            return false;
        }
    }
    if (info->va && info->va != WORKLOAD_VA_AUTO &&
        !workload_builder_check_va(builder, info->va, align_up(info->size, PAGE_BYTES), PAGE_BYTES))
        return false;
    if (info->va && info->va != WORKLOAD_VA_AUTO && (info->flags & WORKLOAD_ALLOCATION_NOMAP)) {
        workload_builder_fail(builder, "%.*s has a va and the flag nomap (expected one of them)",
                              length, name);
        return false;
    }
    return true;
}

uint32_t workload_builder_alloc_n(struct workload_builder *builder, const char *name, size_t length,
                                  const struct workload_allocation_info *info)
{
    struct workload_owned *out = builder->out;
    struct workload_name *entry;
    struct workload_allocation *a;
    uint32_t id = out->view.allocation_count;

    if (!workload_builder_end_header(builder))
        return WORKLOAD_NONE;
    if (!workload_is_identifier(name, length)) {
        workload_builder_fail(builder,
                              "'%.*s' is no name for an allocation (expected a letter or '_', then "
                              "letters, digits or one of _.-/, at most %d characters)",
                              (int)(length > 80 ? 80 : length), name, WORKLOAD_MAX_NAME);
        return WORKLOAD_NONE;
    }
    if (!check_info(builder, name, (int)length, info))
        return WORKLOAD_NONE;
    if (id >= WORKLOAD_MAX_ALLOCATIONS) {
        workload_builder_fail(builder, "too many allocations (expected at most %u)",
                              WORKLOAD_MAX_ALLOCATIONS);
        return WORKLOAD_NONE;
    }
    entry = workload_builder_intern(builder, name, length);
    if (!entry)
        return WORKLOAD_NONE;
    if (entry->allocation != WORKLOAD_NONE) {
        workload_builder_fail(builder, "%.*s is alive already (expected a new name, or free first)",
                              (int)length, name);
        return WORKLOAD_NONE;
    }
    if (!workload_grow(out->services, &out->allocations, &out->allocation_room, id, 1, sizeof *a) ||
        !workload_grow(out->services, &builder->stamps, &builder->stamp_room, id, 1,
                       sizeof *builder->stamps)) {
        workload_builder_fail_memory(builder);
        return WORKLOAD_NONE;
    }
    if (!workload_builder_op(builder, WORKLOAD_OP_ALLOC, id))
        return WORKLOAD_NONE;

    a = &out->allocations[id];
    *a = (struct workload_allocation){
        .name = entry->text,
        .device = info->device,
        .size = info->size,
        .va = info->va ? info->va : WORKLOAD_VA_AUTO,
        .align = info->align,
        .priority = info->priority ? info->priority : WORKLOAD_PRIORITY_NORMAL,
        .flags = info->flags,
        .segment_count = info->segment_count,
        .alloc_op = out->view.op_count - 1,
        .free_op = WORKLOAD_NONE,
    };
    memcpy(a->segments, info->segments, info->segment_count);
    builder->stamps[id] = 0;
    entry->allocation = entry->last_allocation = id;
    out->view.allocation_count = id + 1;
    return id;
}

uint32_t workload_builder_alloc(struct workload_builder *builder, const char *name,
                                const struct workload_allocation_info *info)
{
    return workload_builder_alloc_n(builder, name, strlen(name), info);
}

uint32_t workload_builder_find(const struct workload_builder *builder, const char *name)
{
    const struct workload_name *entry = workload_builder_lookup(builder, name, strlen(name));

    return entry ? entry->allocation : WORKLOAD_NONE;
}

void workload_builder_free(struct workload_builder *builder, uint32_t allocation)
{
    struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);
    struct workload_name *entry;
    const char *text;

    if (!a || !workload_builder_op(builder, WORKLOAD_OP_FREE, allocation))
        return;
    a->free_op = builder->out->view.op_count - 1;
    text = workload_builder_name_of(builder, allocation);
    entry = workload_builder_intern(builder, text, strlen(text));
    if (entry)
        entry->allocation = WORKLOAD_NONE;
}

/* Between an offer and its reclaim nothing may use an allocation. */
static bool check_not_offered(struct workload_builder *builder, const uint32_t *allocations,
                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct workload_allocation *a =
            workload_builder_live_allocation(builder, allocations[i]);

        if (!a)
            return false;
        if (a->is_offered) {
            workload_builder_fail(builder, "%s is offered (expected a reclaim before it is used)",
                                  workload_builder_name_of(builder, allocations[i]));
            return false;
        }
    }
    return true;
}

static void add_access(struct workload_builder *builder, enum workload_op_kind kind,
                       uint32_t allocation, uint64_t offset, uint64_t size, uint64_t key)
{
    struct workload_op *op;

    if (!workload_builder_check_range(builder, allocation, offset, &size) ||
        !check_not_offered(builder, &allocation, 1))
        return;
    op = workload_builder_op(builder, kind, allocation);
    if (!op)
        return;
    op->offset = offset;
    op->size = size;
    op->value = key;
}

void workload_builder_write(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                            uint64_t size, uint64_t key)
{
    add_access(builder, WORKLOAD_OP_WRITE, allocation, offset, size, key);
}

void workload_builder_read(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                           uint64_t size)
{
    add_access(builder, WORKLOAD_OP_READ, allocation, offset, size, 0);
}

/* Lists of references ------------------------------------------------------------------------ */

static void begin_list(struct workload_builder *builder, enum workload_op_kind kind,
                       uint32_t object, uint64_t value)
{
    struct workload_op *op = workload_builder_op(builder, kind, object);

    if (!op)
        return;
    op->value = value;
    op->first_ref = builder->out->view.ref_count;
    builder->in_list = true;
    builder->list_bytes = 0;
}

void workload_builder_add_ref(struct workload_builder *builder, const struct workload_ref *ref)
{
    struct workload_owned *out = builder->out;
    struct workload_op *op = &out->ops[out->view.op_count - 1];

    if (op->ref_count >= WORKLOAD_MAX_OP_REFS || out->view.ref_count >= WORKLOAD_MAX_REFS) {
        workload_builder_fail(builder, "too many references in one operation (expected at most %u)",
                              WORKLOAD_MAX_OP_REFS);
        return;
    }
    if (!workload_grow(out->services, &out->refs, &out->ref_room, out->view.ref_count, 1,
                       sizeof *ref)) {
        workload_builder_fail_memory(builder);
        return;
    }
    out->refs[out->view.ref_count++] = *ref;
    op->ref_count++;
    if (builder->stamps[ref->allocation] != out->view.op_count) {
        builder->stamps[ref->allocation] = out->view.op_count;
        builder->list_bytes += out->allocations[ref->allocation].size;
    }
}

void workload_builder_submit_begin(struct workload_builder *builder, uint32_t context,
                                   uint64_t duration_ns)
{
    if (!workload_builder_end_header(builder))
        return;
    if (context >= builder->out->view.context_count) {
        workload_builder_fail(builder, "context %u does not exist (expected below %u)", context,
                              builder->out->view.context_count);
        return;
    }
    if (duration_ns > WORKLOAD_MAX_DURATION_NS) {
        workload_builder_fail(builder, "duration %" PRIu64 " ns (expected at most %llu)",
                              duration_ns, WORKLOAD_MAX_DURATION_NS);
        return;
    }
    begin_list(builder, WORKLOAD_OP_SUBMIT, context, duration_ns);
}

void workload_builder_null(struct workload_builder *builder)
{
    struct workload_op *op;

    if (builder->failed)
        return;
    if (!builder->in_list) {
        workload_builder_fail(builder,
                              "null= outside a submission (expected submit_begin before it)");
        return;
    }
    op = &builder->out->ops[builder->out->view.op_count - 1];
    if (op->offset) {
        workload_builder_fail(builder,
                              "null= with signal= (expected one of them: what does not run "
                              "signals nothing)");
        return;
    }
    op->flags |= WORKLOAD_SUBMIT_NULL;
}

/* Only the device's own allocations and shared ones may be referred to. */
static bool check_device(struct workload_builder *builder, uint32_t allocation, uint32_t device)
{
    const struct workload_owned *out = builder->out;
    const struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);

    if (!a)
        return false;
    if (a->device != device && !(a->flags & WORKLOAD_ALLOCATION_SHARED)) {
        workload_builder_fail(builder,
                              "%s belongs to device %s, not %s (expected an allocation of that "
                              "device or one with the flag shared)",
                              workload_builder_name_of(builder, allocation),
                              out->strings + out->devices[a->device].name,
                              out->strings + out->devices[device].name);
        return false;
    }
    return true;
}

void workload_builder_ref(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                          uint64_t size, uint32_t access, uint64_t key)
{
    const struct workload_owned *out = builder->out;
    struct workload_ref ref = {
        .allocation = allocation, .access = access, .offset = offset, .size = size, .key = key};
    uint32_t device;

    if (builder->failed)
        return;
    if (!builder->in_list) {
        workload_builder_fail(builder,
                              "a reference outside a submission (expected submit_begin before it)");
        return;
    }
    if (access == 0 || access > (WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE)) {
        workload_builder_fail(builder, "access %u (expected r, w or rw)", access);
        return;
    }
    if (key && !(access & WORKLOAD_ACCESS_WRITE)) {
        workload_builder_fail(builder, "a key on a read (expected it on w or rw only)");
        return;
    }
    device = out->contexts[out->ops[out->view.op_count - 1].object].device;
    if (workload_builder_check_range(builder, allocation, offset, &ref.size) &&
        check_device(builder, allocation, device) && check_not_offered(builder, &allocation, 1))
        workload_builder_add_ref(builder, &ref);
}

void workload_builder_submit_end(struct workload_builder *builder)
{
    if (builder->failed)
        return;
    if (!builder->in_list) {
        workload_builder_fail(builder,
                              "the end of no submission (expected submit_begin before it)");
        return;
    }
    builder->in_list = false;
    builder->out->largest_submission_bytes =
        max_u64(builder->out->largest_submission_bytes, builder->list_bytes);
}

static void add_residency(struct workload_builder *builder, enum workload_op_kind kind,
                          uint32_t device, const uint32_t *allocations, uint32_t count,
                          uint64_t value)
{
    const struct workload_allocation *first;

    if (builder->failed)
        return;
    if (count == 0) {
        workload_builder_fail(builder, "%s of nothing (expected at least one allocation)",
                              workload_op_name(kind));
        return;
    }
    first = workload_builder_live_allocation(builder, allocations[0]);
    if (!first)
        return;
    if (device == WORKLOAD_NONE)
        device = first->device;
    if (device >= builder->out->view.device_count) {
        workload_builder_fail(builder, "device %u does not exist (expected below %u)", device,
                              builder->out->view.device_count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!check_device(builder, allocations[i], device))
            return;
    }
    begin_list(builder, kind, device, value);
    for (uint32_t i = 0; i < count && !builder->failed; i++) {
        struct workload_ref ref = {.allocation = allocations[i],
                                   .size = builder->out->allocations[allocations[i]].size};

        workload_builder_add_ref(builder, &ref);
    }
    builder->in_list = false;
}

void workload_builder_resident(struct workload_builder *builder, uint32_t device,
                               const uint32_t *allocations, uint32_t count)
{
    if (check_not_offered(builder, allocations, count))
        add_residency(builder, WORKLOAD_OP_RESIDENT, device, allocations, count, 0);
}

void workload_builder_evict(struct workload_builder *builder, uint32_t device,
                            const uint32_t *allocations, uint32_t count)
{
    add_residency(builder, WORKLOAD_OP_EVICT, device, allocations, count, 0);
}

void workload_builder_offer(struct workload_builder *builder, uint32_t device,
                            const uint32_t *allocations, uint32_t count, uint32_t priority)
{
    if (priority > 2) {
        workload_builder_fail(builder, "offer of priority %u (expected 0, 1 or 2)", priority);
        return;
    }
    if (!check_not_offered(builder, allocations, count))
        return;
    add_residency(builder, WORKLOAD_OP_OFFER, device, allocations, count, priority);
    for (uint32_t i = 0; i < count && !builder->failed; i++) {
        if (builder->out->allocations[allocations[i]].is_offered)
            workload_builder_fail(builder, "%s is named twice (expected each once)",
                                  workload_builder_name_of(builder, allocations[i]));
        builder->out->allocations[allocations[i]].is_offered = true;
    }
}

void workload_builder_reclaim(struct workload_builder *builder, uint32_t device,
                              const uint32_t *allocations, uint32_t count)
{
    add_residency(builder, WORKLOAD_OP_RECLAIM, device, allocations, count, 0);
    for (uint32_t i = 0; i < count && !builder->failed; i++) {
        if (!builder->out->allocations[allocations[i]].is_offered)
            workload_builder_fail(builder, "%s is not offered (expected an offer before)",
                                  workload_builder_name_of(builder, allocations[i]));
        builder->out->allocations[allocations[i]].is_offered = false;
    }
}

void workload_builder_priority(struct workload_builder *builder, uint32_t allocation,
                               uint32_t priority)
{
    struct workload_op *op;

    if (!workload_builder_live_allocation(builder, allocation))
        return;
    if (!priority) {
        workload_builder_fail(builder, "priority 0 (expected at least 1)");
        return;
    }
    op = workload_builder_op(builder, WORKLOAD_OP_PRIORITY, allocation);
    if (op)
        op->value = priority;
}

void workload_builder_move(struct workload_builder *builder, uint32_t allocation,
                           enum workload_segment segment)
{
    struct workload_op *op;

    if (!check_not_offered(builder, &allocation, 1))
        return;
    if (segment != WORKLOAD_SEGMENT_LOCAL && segment != WORKLOAD_SEGMENT_LOCAL_INVISIBLE) {
        workload_builder_fail(builder, "%s moves to %s memory (expected local or local-invisible)",
                              workload_builder_name_of(builder, allocation),
                              workload_segment_name(segment));
        return;
    }
    op = workload_builder_op(builder, WORKLOAD_OP_MOVE, allocation);
    if (op)
        op->segment = (uint8_t)segment;
}

void workload_builder_budget(struct workload_builder *builder, uint32_t process, uint64_t bytes)
{
    struct workload_op *op;

    if (builder->failed)
        return;
    if (process >= builder->out->view.process_count) {
        workload_builder_fail(builder, "process %u does not exist (expected below %u)", process,
                              builder->out->view.process_count);
        return;
    }
    op = workload_builder_op(builder, WORKLOAD_OP_BUDGET, process);
    if (op)
        op->value = bytes;
}

/* The rest ----------------------------------------------------------------------------------- */

void workload_builder_wait(struct workload_builder *builder, uint32_t context)
{
    if (!workload_builder_end_header(builder))
        return;
    if (context != WORKLOAD_NONE && context >= builder->out->view.context_count) {
        workload_builder_fail(builder, "context %u does not exist (expected below %u)", context,
                              builder->out->view.context_count);
        return;
    }
    workload_builder_op(builder, WORKLOAD_OP_WAIT, context);
}

void workload_builder_step(struct workload_builder *builder, const char *name)
{
    uint32_t text;
    struct workload_op *op;

    if (!workload_builder_text(builder, "the step's name", name, &text))
        return;
    if (!text) {
        workload_builder_fail(builder, "a step without a name (expected one)");
        return;
    }
    op = workload_builder_op(builder, WORKLOAD_OP_STEP, 0);
    if (op)
        op->text = text;
}

void workload_builder_note(struct workload_builder *builder, const char *text)
{
    uint32_t offset;
    struct workload_op *op;

    if (!workload_builder_text(builder, "the note", text, &offset))
        return;
    op = workload_builder_op(builder, WORKLOAD_OP_NOTE, 0);
    if (op)
        op->text = offset;
}

void workload_builder_label(struct workload_builder *builder, uint32_t process, uint64_t va,
                            uint64_t size, const char *text)
{
    uint32_t offset;
    struct workload_op *op;

    /* Resources begin and end anywhere, not only at pages. */
    if (!workload_builder_text(builder, "the label", text, &offset) ||
        !workload_builder_check_process(builder, process) ||
        !workload_builder_check_va(builder, va, size, 1))
        return;
    op = workload_builder_op(builder, WORKLOAD_OP_LABEL, process);
    if (!op)
        return;
    op->offset = va;
    op->size = size;
    op->text = offset;
}
