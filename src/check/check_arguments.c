/*
 * Check: what a finding tells of the call's arguments. Bytes before the call are the layer's copy; those
 * after it are the caller's, which live as long as the call does.
 */
#include "check/check_private.h"

#include "check/decode.h"

#include <stdio.h>
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
    if (strncmp(type, "const ", 6) == 0)
        type += 6;
    snprintf(name, 64, "%.*s", (int)strcspn(type, " *"), type);
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

void check_write_arguments(const struct check *check, char *text, size_t size)
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
    decode_structure(&request, text + used, size - used);
}
