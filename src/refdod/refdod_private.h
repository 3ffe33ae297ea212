/*
 * The adapter, and what the files of the driver do for each other.
 */
#ifndef REFDOD_REFDOD_PRIVATE_H
#define REFDOD_REFDOD_PRIVATE_H

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>
#include <drydock/sgpu.h>

#define REFDOD_CHILD    1u /* ChildUid of the output with the connector */
#define REFDOD_CHILDREN 2u

struct refdod_adapter {
    DXGKRNL_INTERFACE dxgkrnl;
    PUCHAR registers; /* NULL: not started */
    DXGK_DISPLAY_INFORMATION post;
    PUCHAR frame;        /* the frame buffer, mapped */
    UINT64 frame_offset; /* ... in local memory */
    ULONG width, height; /* of the mode that is committed; 0: none */
    ULONG pitch;         /* of its rows in the frame buffer */
    BOOLEAN is_visible;
    /* Touched by the interrupt routine, or when no interrupt can come. */
    volatile BOOLEAN is_pending;  /* a present, until the next vertical sync */
    volatile BOOLEAN has_changed; /* the connector, and the DPC has not told it */
};

/* refdod_registers.c */
ULONG refdod_read(const struct refdod_adapter *adapter, ULONG reg);
void refdod_write(const struct refdod_adapter *adapter, ULONG reg, ULONG value);

/* refdod_modes.c */
NTSTATUS NTAPI RefDodIsSupportedVidPn(IN_CONST_HANDLE hAdapter,
                                      INOUT_PDXGKARG_ISSUPPORTEDVIDPN pIsSupportedVidPn);
NTSTATUS NTAPI RefDodRecommendFunctionalVidPn(
    IN_CONST_HANDLE hAdapter,
    IN_CONST_PDXGKARG_RECOMMENDFUNCTIONALVIDPN_CONST pRecommendFunctionalVidPn);
NTSTATUS NTAPI RefDodEnumVidPnCofuncModality(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_ENUMVIDPNCOFUNCMODALITY_CONST pEnumCofuncModality);
NTSTATUS NTAPI RefDodCommitVidPn(IN_CONST_HANDLE hAdapter,
                                 IN_CONST_PDXGKARG_COMMITVIDPN_CONST pCommitVidPn);
NTSTATUS NTAPI RefDodUpdateActiveVidPnPresentPath(
    IN_CONST_HANDLE hAdapter,
    IN_CONST_PDXGKARG_UPDATEACTIVEVIDPNPRESENTPATH_CONST pUpdateActiveVidPnPresentPath);
NTSTATUS NTAPI RefDodSetVidPnSourceVisibility(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIDPNSOURCEVISIBILITY pSetVisibility);

/* refdod_show.c */
NTSTATUS NTAPI RefDodPresentDisplayOnly(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_PRESENT_DISPLAYONLY pPresent);
NTSTATUS NTAPI RefDodSetPointerPosition(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_SETPOINTERPOSITION pSetPosition);
NTSTATUS NTAPI RefDodSetPointerShape(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_SETPOINTERSHAPE pSetShape);

#endif
