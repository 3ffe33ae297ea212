/* A driver that answers nothing is not started, and the library says which answer was missing. */
#include <vidmm/vidmm.h>

#include <base/services.h>
#include <miniport/raw.h>

#include <stdio.h>

static NTSTATUS NTAPI answer_nothing(IN_CONST_HANDLE adapter,
                                     IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    (void)adapter;
    (void)query;
    return STATUS_NOT_SUPPORTED;
}

int main(void)
{
    DRIVER_INITIALIZATION_DATA table = {.Version = DXGKDDI_INTERFACE_VERSION_WDDM1_3,
                                        .DxgkDdiQueryAdapterInfo = answer_nothing};
    struct vidmm_config config = {.platform = {.services = base_services_libc()}};
    struct vidmm_failure failure = {0};
    struct miniport *miniport;
    struct vidmm *vidmm;

    if (!NT_SUCCESS(miniport_raw_create(config.platform.services, &table, &miniport)) ||
        !NT_SUCCESS(vidmm_create(miniport, &config, &vidmm)))
        return 1;
    if (NT_SUCCESS(vidmm_start(vidmm, &failure)))
        return 1;
    printf("not started: %s %s\n", failure.rule, failure.text);
    vidmm_destroy(vidmm);
    miniport_destroy(miniport);
    return failure.text[0] == '\0';
}
