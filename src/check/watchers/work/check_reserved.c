/*
 * Watcher: reserved members are zero (CALL), in what the system hands over, in what the driver
 * fills in, in what it hands to callbacks and in the table that it registers, whose other members
 * are functions.
 *
 * Which members are reserved the fact tables say (scripts/ddi-reserved.awk). Pages say of some that
 * they should be set to zero, of others that nobody uses them: what a driver leaves there is
 * advice.
 */
#include "check/check_watch.h"

#include <stdio.h>
#include <string.h>

struct reserved {
    const char *structure, *member;
    unsigned offset, size;
    unsigned bit, bits; /* bits 0: the whole member */
};

static const struct reserved table[] = {
#define RESERVED(...) {__VA_ARGS__},
#define SLOT(member, offset)
#include "ddi_reserved.inc"
#undef SLOT
#undef RESERVED
};

/* Functions in DRIVER_INITIALIZATION_DATA. */
static const struct {
    const char *member;
    unsigned offset;
} slots[] = {
#define RESERVED(...)
#define SLOT(...) {__VA_ARGS__},
#include "ddi_reserved.inc"
#undef SLOT
#undef RESERVED
};

/* Rows of one structure, which stand together. */
struct rows {
    const struct reserved *first;
    unsigned count;
};

#define OPERATIONS 32

struct reserved_watch {
    struct rows calls[MINIPORT_DDI_COUNT];
    struct rows operations[OPERATIONS];
    struct rows segment, segment3, segment4, caps, mmu, adapter, device;
    struct rows registered, interrupt, handle_data, context_allocation;
};

static struct rows find_rows(const char *structure)
{
    struct rows rows = {0};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].structure, structure) != 0)
            continue;
        if (!rows.count++)
            rows.first = &table[i];
    }
    return rows;
}

static uint64_t read_member(const struct reserved *row, const void *structure)
{
    uint64_t value = 0;

    memcpy(&value, (const char *)structure + row->offset, row->size);
    return row->bits ? value >> row->bit & ((UINT64_C(1) << row->bits) - 1) : value;
}

static const void *bytes_before(const struct check_call *call)
{
    return call->before.build_paging_buffer; /* a union of pointers */
}

/* ---- The system's ---------------------------------------------------------------------------- */

static void check_passed(struct check *check, const struct rows *rows, const void *structure)
{
    uint64_t all = 0;

    if (!rows->count)
        return;
    for (unsigned i = 0; i < rows->count; i++)
        all |= read_member(&rows->first[i], structure);
    if (!all) {
        check_looked_at(check, RULE_CALL_001); /* once a call, which is often */
        return;
    }
    for (unsigned i = 0; i < rows->count; i++) {
        uint64_t value = read_member(&rows->first[i], structure);

        CHECK_RULE(check, RULE_CALL_001, !value, NULL, rows->first[i].member,
                   "is {0x%llx}, and is reserved{=~0~}", (unsigned long long)value);
    }
}

static void check_registered(struct check *check, const struct reserved_watch *watch);

static void before(struct check *check, void *state, const struct check_call *call)
{
    const struct reserved_watch *watch = state;
    const void *structure = bytes_before(call);
    unsigned operation;

    if (call->ddi == MINIPORT_DDI_AddDevice)
        check_registered(check, watch);
    if (!structure)
        return;
    /* pInfo shares its place with Flags. */
    if (call->ddi == MINIPORT_DDI_CreateDevice && !check_has_contexts(check_ledger(check)))
        return;
    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer) {
        check_passed(check, &watch->calls[call->ddi], structure);
        return;
    }
    operation = (unsigned)call->before.build_paging_buffer->Operation;
    if (operation < OPERATIONS)
        check_passed(check, &watch->operations[operation], structure);
}

/* ---- The driver's ---------------------------------------------------------------------------- */

/* was: as the system had left it; NULL: zero. */
static void check_filled(struct check *check, const struct rows *rows, const void *structure,
                         const void *was, size_t bytes)
{
    for (unsigned i = 0; structure && i < rows->count; i++) {
        const struct reserved *row = &rows->first[i];
        uint64_t value;

        if (row->offset + row->size > bytes)
            continue; /* of a later version */
        value = read_member(row, structure);
        CHECK_ADVICE(check, RULE_CALL_002, check_configuration(check)->profile.wants_reserved_zero,
                     !value || (was && read_member(row, was) == value), NULL, row->member,
                     "is {0x%llx}, and is reserved{=~0~}", (unsigned long long)value);
    }
}

static void check_registered(struct check *check, const struct reserved_watch *watch)
{
    const struct check_config *config = check_configuration(check);

    if (!config->registered)
        return;
    check_filled(check, &watch->registered, config->registered, NULL, sizeof *config->registered);
    for (size_t i = 0; config->is_code && i < sizeof slots / sizeof slots[0]; i++) {
        const void *function;

        memcpy(&function, (const char *)config->registered + slots[i].offset, sizeof function);
        if (function)
            CHECK_RULE(check, RULE_CALL_003, config->is_code(config->context, function), NULL,
                       slots[i].member,
                       "is 0x%llx in the table that was registered, where the "
                       "driver has no code",
                       (unsigned long long)(uintptr_t)function);
    }
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    const struct reserved_watch *watch = state;

    switch ((unsigned)callback->callback) {
    case TRACE_CALLBACK_notify_interrupt:
        check_filled(check, &watch->interrupt, callback->data, NULL,
                     sizeof(DXGKARGCB_NOTIFY_INTERRUPT_DATA));
        break;
    case TRACE_CALLBACK_get_handle_data:
        check_filled(check, &watch->handle_data, callback->data, NULL,
                     sizeof(DXGKARGCB_GETHANDLEDATA));
        break;
    case TRACE_CALLBACK_create_context_allocation:
        check_filled(check, &watch->context_allocation, callback->data, NULL,
                     sizeof(DXGKARGCB_CREATECONTEXTALLOCATION));
        break;
    default:
        break;
    }
}

static void check_answer(struct check *check, const struct reserved_watch *watch,
                         const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_QUERYSEGMENTOUT *segments = query->pOutputData;
    const DXGK_QUERYSEGMENTOUT3 *segments3 = query->pOutputData;
    const DXGK_QUERYSEGMENTOUT4 *segments4 = query->pOutputData;

    if (!query->pOutputData)
        return;
    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_QUERYSEGMENT:
        for (UINT i = 0; segments->pSegmentDescriptor && i < segments->NbSegment; i++)
            check_filled(check, &watch->segment, &segments->pSegmentDescriptor[i], NULL,
                         sizeof *segments->pSegmentDescriptor);
        break;
    case DXGKQAITYPE_QUERYSEGMENT3:
        for (UINT i = 0; segments3->pSegmentDescriptor && i < segments3->NbSegment; i++)
            check_filled(check, &watch->segment3, &segments3->pSegmentDescriptor[i], NULL,
                         sizeof *segments3->pSegmentDescriptor);
        break;
    case DXGKQAITYPE_QUERYSEGMENT4:
        for (UINT i = 0; segments4->pSegmentDescriptor && i < segments4->NbSegment; i++)
            check_filled(check, &watch->segment4,
                         segments4->pSegmentDescriptor + i * segments4->SegmentDescriptorStride,
                         NULL, segments4->SegmentDescriptorStride);
        break;
    case DXGKQAITYPE_DRIVERCAPS:
        check_filled(check, &watch->caps, query->pOutputData, NULL, query->OutputDataSize);
        break;
    case DXGKQAITYPE_GPUMMUCAPS:
        check_filled(check, &watch->mmu, query->pOutputData, NULL, query->OutputDataSize);
        break;
    case DXGKQAITYPE_PHYSICALADAPTERCAPS:
        check_filled(check, &watch->adapter, query->pOutputData, NULL, query->OutputDataSize);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    const struct reserved_watch *watch = state;

    if (!NT_SUCCESS(call->status))
        return;
    if (call->ddi == MINIPORT_DDI_QueryAdapterInfo)
        check_answer(check, watch, call->arg.query_adapter_info);
    else if (call->ddi == MINIPORT_DDI_CreateContext)
        check_filled(check, &watch->calls[call->ddi], call->arg.create_context,
                     call->before.create_context, sizeof *call->arg.create_context);
    else if (call->ddi == MINIPORT_DDI_CreateDevice && !check_has_contexts(check_ledger(check)))
        check_filled(check, &watch->device, call->arg.create_device->pInfo, NULL,
                     sizeof *call->arg.create_device->pInfo);
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void init(struct check *check, void *state)
{
    static const char *const types[MINIPORT_DDI_COUNT] = {
#define X(function, ddi_name, argument) [MINIPORT_DDI_##ddi_name] = #argument,
        MINIPORT_DDI_LIST(X)
#undef X
    };
    struct reserved_watch *watch = state;
    char name[64];

    for (unsigned ddi = 0; ddi < MINIPORT_DDI_COUNT; ddi++) {
        const char *type = types[ddi] ? types[ddi] : "";

        if (strncmp(type, "const ", 6) == 0)
            type += 6;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(type, " *"), type);
        watch->calls[ddi] = find_rows(name);
    }
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        snprintf(name, sizeof name, "DXGKARG_BUILDPAGINGBUFFER/%u", operation);
        watch->operations[operation] = find_rows(name);
    }
    watch->segment = find_rows("DXGK_SEGMENTDESCRIPTOR");
    watch->segment3 = find_rows("DXGK_SEGMENTDESCRIPTOR3");
    watch->segment4 = find_rows("DXGK_SEGMENTDESCRIPTOR4");
    watch->caps = find_rows("DXGK_DRIVERCAPS");
    watch->mmu = find_rows("DXGK_GPUMMUCAPS");
    watch->adapter = find_rows("DXGK_PHYSICALADAPTERCAPS");
    watch->device = find_rows("DXGK_DEVICEINFO");
    watch->registered = find_rows("DRIVER_INITIALIZATION_DATA");
    watch->interrupt = find_rows("DXGKARGCB_NOTIFY_INTERRUPT_DATA");
    watch->handle_data = find_rows("DXGKARGCB_GETHANDLEDATA");
    watch->context_allocation = find_rows("DXGKARGCB_CREATECONTEXTALLOCATION");
}

const struct check_watcher check_reserved_watcher = {
    .name = "reserved",
    .state_bytes = sizeof(struct reserved_watch),
    .init = init,
    .before = before,
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_CreateContext,
                               MINIPORT_DDI_CreateDevice),
    .callback = callback,
};
