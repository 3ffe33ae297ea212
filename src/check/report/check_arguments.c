/*
 * Check: what a finding tells of the call: its arguments, and whom it is about. Bytes before the
 * call are the layer's copy; those after it are the caller's, which live as long as the call does.
 */
#include "check/check_private.h"

#include "check/report/decode.h"
#include "miniport/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_handle(void *context, uint64_t handle, char *text, size_t size)
{
    const struct check *check = context;

    for (unsigned kind = 0; kind < CHECK_KIND_COUNT; kind++) {
        const struct check_object *object =
            check_find(&check->ledger, (enum check_kind)kind, (const void *)(uintptr_t)handle);

        if (object)
            return check_object_name(object, text, size);
    }
    return NULL;
}

/* "const DXGKARG_PATCH *": the name without qualifiers. */
static void name_structure(const char *type, char name[64])
{
    if (strncmp(type, "const ", 6) == 0)
        type += 6;
    snprintf(name, 64, "%.*s", (int)strcspn(type, " *"), type);
}

/* The structure of a call: its name without qualifiers, and its size. */
static bool find_structure(enum miniport_ddi ddi, char name[64], size_t *out_bytes)
{
    static const struct {
        const char *type;
        size_t bytes;
    } structures[MINIPORT_DDI_COUNT] = {
#define X(function, ddi_name, argument)                                                            \
    [MINIPORT_DDI_##ddi_name] = {#argument, sizeof *(argument)0},
        MINIPORT_DDI_LIST(X)
#undef X
            [MINIPORT_DDI_GetRootPageTableSize] = {"DXGKARG_GETROOTPAGETABLESIZE",
                                                   sizeof(DXGKARG_GETROOTPAGETABLESIZE)},
    };
    const char *type = structures[ddi].type;

    if (!type)
        return false;
    name_structure(type, name);
    *out_bytes = structures[ddi].bytes;
    return true;
}

static bool find_callback_structure(enum trace_callback callback, const char **out_name,
                                    size_t *out_bytes)
{
    switch (callback) {
    case TRACE_CALLBACK_notify_interrupt:
        *out_name = "DXGKARGCB_NOTIFY_INTERRUPT_DATA";
        *out_bytes = sizeof(DXGKARGCB_NOTIFY_INTERRUPT_DATA);
        return true;
    case TRACE_CALLBACK_create_context_allocation:
        *out_name = "DXGKARGCB_CREATECONTEXTALLOCATION";
        *out_bytes = sizeof(DXGKARGCB_CREATECONTEXTALLOCATION);
        return true;
    case TRACE_CALLBACK_update_context_allocation:
        *out_name = "DXGKARGCB_UPDATECONTEXTALLOCATION";
        *out_bytes = sizeof(DXGKARGCB_UPDATECONTEXTALLOCATION);
        return true;
    case TRACE_CALLBACK_reserve_gpu_virtual_address_range:
        *out_name = "DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE";
        *out_bytes = sizeof(DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE);
        return true;
    case TRACE_CALLBACK_enum_handle_children:
        *out_name = "DXGKARGCB_ENUMHANDLECHILDREN";
        *out_bytes = sizeof(DXGKARGCB_ENUMHANDLECHILDREN);
        return true;
    case TRACE_CALLBACK_invalidate_hw_context:
        *out_name = "DXGKARGCB_INVALIDATEHWCONTEXT";
        *out_bytes = sizeof(DXGKARGCB_INVALIDATEHWCONTEXT);
        return true;
    case TRACE_CALLBACK_is_feature_enabled:
        *out_name = "DXGKARGCB_ISFEATUREENABLED";
        *out_bytes = sizeof(DXGKARGCB_ISFEATUREENABLED);
        return true;
    case TRACE_CALLBACK_get_handle_data:
        *out_name = "DXGKARGCB_GETHANDLEDATA";
        *out_bytes = sizeof(DXGKARGCB_GETHANDLEDATA);
        return true;
    default:
        return false;
    }
}

static size_t write_status(const struct check_call *call, char *text, size_t size)
{
    const char *name = decode_status_name((uint32_t)call->status);

    return (size_t)snprintf(text, size, "(returned 0x%08x%s%s)\n", (unsigned)call->status,
                            name ? " " : "", name ? name : "");
}

/* The array that a field of the call is in; count 0: none that is known. */
struct array {
    const char *name, *structure;
    const void *first;
    size_t count, bytes;
};

#define ARRAY(array_name, element, member, member_count)                                           \
    (struct array)                                                                                 \
    {                                                                                              \
        array_name, #element, (member), (member) ? (member_count) : 0, sizeof(element)             \
    }

static struct array find_array(const struct check_call *call, const char *field)
{
    struct array found[2] = {{0}};

    switch (call->ddi) {
    case MINIPORT_DDI_CreateAllocation:
        found[0] = ARRAY("pAllocationInfo", DXGK_ALLOCATIONINFO,
                         call->before.create_allocation->pAllocationInfo,
                         call->before.create_allocation->NumAllocations);
        break;
    case MINIPORT_DDI_OpenAllocation:
        found[0] = ARRAY("pOpenAllocation", DXGK_OPENALLOCATIONINFO,
                         call->before.open_allocation->pOpenAllocation,
                         call->before.open_allocation->NumAllocations);
        break;
    case MINIPORT_DDI_Patch:
        found[0] = ARRAY("pPatchLocationList", D3DDDI_PATCHLOCATIONLIST,
                         call->before.patch->pPatchLocationList,
                         call->before.patch->PatchLocationListSize);
        found[1] =
            ARRAY("pAllocationList", DXGK_ALLOCATIONLIST, call->before.patch->pAllocationList,
                  call->before.patch->AllocationListSize);
        break;
    case MINIPORT_DDI_Render:
    case MINIPORT_DDI_RenderKm:
        found[0] = ARRAY("pPatchLocationListOut", D3DDDI_PATCHLOCATIONLIST,
                         call->before.render->pPatchLocationListOut,
                         call->before.render->PatchLocationListOutSize);
        found[1] =
            ARRAY("pAllocationList", DXGK_ALLOCATIONLIST, call->before.render->pAllocationList,
                  call->before.render->AllocationListSize);
        break;
    case MINIPORT_DDI_RenderGdi:
        found[0] =
            ARRAY("pAllocationList", DXGK_ALLOCATIONLIST, call->before.render_gdi->pAllocationList,
                  call->before.render_gdi->AllocationListSize);
        break;
    case MINIPORT_DDI_Present:
    case MINIPORT_DDI_PresentToHwQueue:
        found[0] = ARRAY("pPatchLocationListOut", D3DDDI_PATCHLOCATIONLIST,
                         call->before.present->pPatchLocationListOut,
                         call->before.present->PatchLocationListOutSize);
        found[1] = ARRAY("pAllocationList", DXGK_ALLOCATIONLIST,
                         call->before.present->pAllocationList, MINIPORT_PRESENT_ALLOCATIONS);
        break;
    case MINIPORT_DDI_BuildPagingBuffer: {
        const DXGKARG_BUILDPAGINGBUFFER *before = call->before.build_paging_buffer;

        if (before->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
            found[0] = ARRAY(
                "pPageTableEntries", DXGK_PTE, before->UpdatePageTable.pPageTableEntries,
                before->UpdatePageTable.Flags.Repeat ? 1
                                                     : before->UpdatePageTable.NumPageTableEntries);
        break;
    }
    default:
        break;
    }
    for (size_t i = 0; i < 2; i++) {
        size_t length = found[i].count ? strlen(found[i].name) : 0;

        if (length && strncmp(field, found[i].name, length) == 0 && field[length] == '[')
            return found[i];
    }
    return (struct array){0};
}

/* The arrays are the caller's, and live as long as the call. */
static void write_element(const struct check_call *call, const char *field,
                          const struct decode_request *outer, char *text, size_t size)
{
    const struct array array = find_array(call, field);
    struct decode_request request = *outer;
    unsigned long index;
    char prefix[64];

    if (!array.count)
        return;
    index = strtoul(field + strlen(array.name) + 1, NULL, 10);
    if (index >= array.count)
        return;
    snprintf(prefix, sizeof prefix, "%s[%lu].", array.name, index);
    request.structure = array.structure;
    request.prefix = prefix;
    request.bytes = array.bytes;
    request.before = (const char *)array.first + index * array.bytes;
    request.after = NULL;
    decode_structure(&request, text, size);
}

void check_write_arguments(const struct check *check, const char *field, char *text, size_t size)
{
    const struct check_call *call = check->call;
    char name[64];
    struct decode_request request = {
        .structure = name,
        .wddm = decode_wddm_of(check->ledger.interface_version),
        .name_handle = name_handle,
        .context = (void *)check,
    };
    size_t used = 0;

    text[0] = '\0';
    if (check->blamed.past) {
        request.structure = "DXGKARG_BUILDPAGINGBUFFER";
        request.before = &check->blamed.past->arg;
        request.bytes = sizeof check->blamed.past->arg;
        decode_structure(&request, text, size);
        return;
    }
    if (check->blamed.is_set)
        return;
    if (check->callback && check->callback->callback == TRACE_CALLBACK_memory) {
        const struct miniport_memory_request *memory = check->callback->data;

        name_structure(miniport_memory_type(memory->kind), name);
        request.before = memory->any;
        request.bytes = miniport_memory_bytes(memory->kind);
        decode_structure(&request, text, size);
        return;
    }
    if (check->callback) {
        request.before = check->callback->data;
        if (request.before &&
            find_callback_structure(check->callback->callback, &request.structure, &request.bytes))
            decode_structure(&request, text, size);
        return;
    }
    if (!call)
        return;
    if (call->has_returned && call->ddi != MINIPORT_DDI_GetRootPageTableSize &&
        call->ddi < MINIPORT_DDI_InterruptRoutine)
        used = write_status(call, text, size);
    if (!call->before.any || !find_structure(call->ddi, name, &request.bytes))
        return;
    request.before = call->before.any;
    request.after = call->has_returned ? call->arg.any : NULL;
    used += decode_structure(&request, text + used, size - used);
    write_element(call, field, &request, text + used, size - used);
}

const struct check_object *check_object_of_call(const struct check *check)
{
    const struct check_call *call = check->call;
    const struct check_object *object = NULL;

    if (check->blamed.past)
        return check_find(&check->ledger, CHECK_ALLOCATION,
                          miniport_operation_allocation(&check->blamed.past->arg));
    if (check->blamed.is_set)
        return check_find(&check->ledger, CHECK_CONTEXT, check->blamed.context);
    if (!call || check->callback)
        return NULL;
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        return check_find(&check->ledger, CHECK_ALLOCATION,
                          miniport_operation_allocation(call->before.build_paging_buffer));
    for (unsigned kind = 0; kind < CHECK_KIND_COUNT && !object; kind++)
        object = check_find(&check->ledger, (enum check_kind)kind, call->object);
    return object;
}
