/*
 * Adapter caps: one query, and how a report that breaks a rule is refused.
 */
#include "vidmm/adapter/adapter_caps_private.h"

#include <stdio.h>

NTSTATUS caps_fail(struct caps_query *query, const char *rule, const char *path, uint64_t value,
                   const char *expected)
{
    snprintf(query->failure->rule, sizeof query->failure->rule, "%s", rule);
    snprintf(query->failure->text, sizeof query->failure->text, "%s is 0x%llx; expected %s", path,
             (unsigned long long)value, expected);
    return STATUS_INVALID_PARAMETER;
}

NTSTATUS caps_no_memory(struct caps_query *query)
{
    snprintf(query->failure->text, sizeof query->failure->text,
             "no memory for the answers of DxgkDdiQueryAdapterInfo");
    return STATUS_NO_MEMORY;
}

NTSTATUS caps_ask(struct caps_query *query, DXGK_QUERYADAPTERINFOTYPE type, const char *name,
                  void *input, UINT input_bytes, void *output, UINT output_bytes)
{
    DXGKARG_QUERYADAPTERINFO arg = {
        .Type = type,
        .pInputData = input,
        .InputDataSize = input_bytes,
        .pOutputData = output,
        .OutputDataSize = output_bytes,
    };
    NTSTATUS status = miniport_query_adapter_info(query->miniport, NULL, &arg);

    if (!NT_SUCCESS(status))
        snprintf(query->failure->text, sizeof query->failure->text,
                 "DxgkDdiQueryAdapterInfo(%s) returned 0x%08x", name, (unsigned)status);
    return status;
}
