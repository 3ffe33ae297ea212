/*
 * Interfaces that DxgkDdiQueryInterface and DxgkCbQueryServices hand out: brightness, I2C,
 * output protection, Miracast, AGP, firmware tables, timed operations.
 *
 * Place   include/wdk, part of dispmprt.h.
 * Source  The public pages of dispmprt; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef DISPMPRT_INTERFACES_H
#define DISPMPRT_INTERFACES_H

#include "../d3dkmddi.h"

typedef HANDLE DXGK_DEBUG_REPORT_HANDLE;

typedef NTSTATUS(APIENTRY *DXGKCB_AGP_ALLOCATE_POOL)(HANDLE Context, ULONG AllocationSize,
                                                     MEMORY_CACHING_TYPE CacheType,
                                                     PPHYSICAL_ADDRESS PhysicalAddress,
                                                     PVOID *VirtualAddress);

typedef NTSTATUS(APIENTRY *DXGKCB_AGP_FREE_POOL)(HANDLE Context, PVOID VirtualAddress);

typedef NTSTATUS(APIENTRY *DXGKCB_AGP_SET_COMMAND)(HANDLE Context, ULONG Command);

typedef struct _DXGK_AGP_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKCB_AGP_ALLOCATE_POOL AgpAllocatePool;
    DXGKCB_AGP_FREE_POOL AgpFreePool;
    DXGKCB_AGP_SET_COMMAND AgpSetCommand;
} DXGK_AGP_INTERFACE, *PDXGK_AGP_INTERFACE;

typedef struct _DXGK_DEBUG_REPORT_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGK_DEBUG_REPORT_HANDLE(APIENTRY *DbgReportCreate)
    (HANDLE DeviceHandle, ULONG ulCode, ULONG_PTR ulpArg1, ULONG_PTR ulpArg2, ULONG_PTR ulpArg3,
     ULONG_PTR ulpArg4);
    BOOLEAN(APIENTRY *DbgReportSecondaryData)
    (DXGK_DEBUG_REPORT_HANDLE hReport, PVOID pvData, ULONG ulDataSize);
    VOID(APIENTRY *DbgReportComplete)(DXGK_DEBUG_REPORT_HANDLE hReport);
} DXGK_DEBUG_REPORT_INTERFACE, *PDXGK_DEBUG_REPORT_INTERFACE;

typedef struct _DXGK_FIRMWARE_TABLE_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    NTSTATUS(APIENTRY *EnumSystemFirmwareTables)
    (VOID *Context, ULONG ProviderSignature, ULONG BufferSize, VOID *Buffer, ULONG *RequiredSize);
    NTSTATUS(APIENTRY *ReadSystemFirmwareTable)
    (VOID *Context, ULONG ProviderSignature, ULONG TableId, ULONG BufferSize, VOID *Buffer,
     ULONG *RequiredSize);
} DXGK_FIRMWARE_TABLE_INTERFACE, *PDXGK_FIRMWARE_TABLE_INTERFACE;

typedef NTSTATUS(APIENTRY *DXGKDDI_I2C_TRANSMIT_DATA_TO_DISPLAY)(
    PVOID MiniportDeviceContext, D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
    ULONG SevenBitI2CAddress, ULONG DataLength, const VOID *Data);

typedef NTSTATUS(APIENTRY *DXGKDDI_I2C_RECEIVE_DATA_FROM_DISPLAY)(
    PVOID MiniportDeviceContext, D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
    ULONG SevenBitI2CAddress, ULONG Flags, ULONG DataLength, PVOID Data);

typedef struct _DXGK_I2C_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_I2C_TRANSMIT_DATA_TO_DISPLAY DxgkDdiI2CTransmitDataToDisplay;
    DXGKDDI_I2C_RECEIVE_DATA_FROM_DISPLAY DxgkDdiI2CReceiveDataFromDisplay;
} DXGK_I2C_INTERFACE, *PDXGK_I2C_INTERFACE;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _DXGK_MIRACAST_CAPS {
    ULONG MaxChunkPrivateDriverDataSize;
    union {
        struct {
            UINT HdcpSupport : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    } Flags;
} DXGK_MIRACAST_CAPS, *PDXGK_MIRACAST_CAPS;

#endif

typedef VOID(APIENTRY *DXGKCB_MIRACAST_SEND_MESSAGE_CALLBACK)(PVOID CallbackContext,
                                                              PIO_STATUS_BLOCK pIoStatusBlock);

typedef NTSTATUS(APIENTRY *DXGKCB_MIRACAST_SEND_MESSAGE)(
    HANDLE MiracastHandle, ULONG InputBufferSize, VOID *pInputBuffer, ULONG OutBufferSize,
    VOID *pOutputBuffer, DXGKCB_MIRACAST_SEND_MESSAGE_CALLBACK pCallback, PVOID pCallbackContext);

typedef NTSTATUS(APIENTRY *DXGKCB_MIRACAST_REPORT_CHUNK_INFO)(HANDLE MiracastHandle,
                                                              DXGK_MIRACAST_CHUNK_INFO *pChunkInfo,
                                                              PVOID pPrivateDriverData,
                                                              UINT PrivateDataDriverSize);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _DXGK_MIRACAST_DISPLAY_CALLBACKS {
    HANDLE MiracastHandle;
    DXGKCB_MIRACAST_SEND_MESSAGE DxgkCbMiracastSendMessage;
    DXGKCB_MIRACAST_REPORT_CHUNK_INFO DxgkCbReportChunkInfo;
} DXGK_MIRACAST_DISPLAY_CALLBACKS, *PDXGK_MIRACAST_DISPLAY_CALLBACKS;

typedef NTSTATUS(APIENTRY *DXGKDDI_MIRACAST_QUERY_CAPS)(PVOID DriverContext, ULONG MiracastCapsSize,
                                                        DXGK_MIRACAST_CAPS *MiracastCaps);

typedef NTSTATUS(APIENTRY *DXGKDDI_MIRACAST_CREATE_CONTEXT)(
    PVOID DriverContext, DXGK_MIRACAST_DISPLAY_CALLBACKS *MiracastCallbacks, PVOID *MiracastContext,
    ULONG *TargetId);

#endif

typedef NTSTATUS(APIENTRY *DXGKDDI_MIRACAST_HANDLE_IO_CONTROL)(
    PVOID DriverContext, PVOID MiracastContext, ULONG InputBufferSize, VOID *pInputBuffer,
    ULONG OutBufferSize, VOID *pOutputBuffer, ULONG *BytesReturned);

typedef VOID(APIENTRY *DXGKDDI_MIRACAST_DESTROY_CONTEXT)(PVOID DriverContext,
                                                         PVOID MiracastContext);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _DXGK_MIRACAST_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_MIRACAST_QUERY_CAPS DxgkDdiMiracastQueryCaps;
    DXGKDDI_MIRACAST_CREATE_CONTEXT DxgkDdiMiracastCreateContext;
    DXGKDDI_MIRACAST_HANDLE_IO_CONTROL DxgkDdiMiracastIoControl;
    DXGKDDI_MIRACAST_DESTROY_CONTEXT DxgkDdiMiracastDestroyContext;
} DXGK_MIRACAST_DISPLAY_INTERFACE, *PDXGK_MIRACAST_DISPLAY_INTERFACE;

#endif

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_GET_CERTIFICATE_SIZE)(
    PVOID MiniportDeviceContext, DXGKMDT_CERTIFICATE_TYPE CertificateType, PULONG CertificateSize);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_GET_CERTIFICATE)(PVOID MiniportDeviceContext,
                                                        DXGKMDT_CERTIFICATE_TYPE CertificateType,
                                                        ULONG CertificateSize,
                                                        PVOID CertificateBuffer);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT)(
    PVOID MiniportDeviceContext, D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
    DXGKMDT_OPM_VIDEO_OUTPUT_SEMANTICS NewVideoOutputSemantics, PHANDLE NewProtectedOutputHandle);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_GET_RANDOM_NUMBER)(PVOID MiniportDeviceContext,
                                                          HANDLE ProtectedOutputHandle,
                                                          PDXGKMDT_OPM_RANDOM_NUMBER RandomNumber);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_SET_SIGNING_KEY_AND_SEQUENCE_NUMBERS)(
    PVOID MiniportDeviceContext, HANDLE ProtectedOutputHandle,
    const DXGKMDT_OPM_ENCRYPTED_PARAMETERS *EncryptedParameters);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_GET_INFORMATION)(
    PVOID MiniportDeviceContext, HANDLE ProtectedOutputHandle,
    const DXGKMDT_OPM_GET_INFO_PARAMETERS *Parameters,
    PDXGKMDT_OPM_REQUESTED_INFORMATION RequestedInformation);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_GET_COPP_COMPATIBLE_INFORMATION)(
    PVOID MiniportDeviceContext, HANDLE ProtectedOutputHandle,
    const DXGKMDT_OPM_COPP_COMPATIBLE_GET_INFO_PARAMETERS *Parameters,
    PDXGKMDT_OPM_REQUESTED_INFORMATION RequestedInformation);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_CONFIGURE_PROTECTED_OUTPUT)(
    PVOID MiniportDeviceContext, HANDLE ProtectedOutputHandle,
    const DXGKMDT_OPM_CONFIGURE_PARAMETERS *Parameters, ULONG AdditionalParametersSize,
    const VOID *AdditionalParameters);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_DESTROY_PROTECTED_OUTPUT)(PVOID MiniportDeviceContext,
                                                                 HANDLE ProtectedOutputHandle);

typedef struct _DXGK_OPM_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_OPM_GET_CERTIFICATE_SIZE DxgkDdiOPMGetCertificateSize;
    DXGKDDI_OPM_GET_CERTIFICATE DxgkDdiOPMGetCertificate;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT DxgkDdiOPMCreateProtectedOutput;
    DXGKDDI_OPM_GET_RANDOM_NUMBER DxgkDdiOPMGetRandomNumber;
    DXGKDDI_OPM_SET_SIGNING_KEY_AND_SEQUENCE_NUMBERS DxgkDdiOPMSetSigningKeyAndSequenceNumbers;
    DXGKDDI_OPM_GET_INFORMATION DxgkDdiOPMGetInformation;
    DXGKDDI_OPM_GET_COPP_COMPATIBLE_INFORMATION DxgkDdiOPMGetCOPPCompatibleInformation;
    DXGKDDI_OPM_CONFIGURE_PROTECTED_OUTPUT DxgkDdiOPMConfigureProtectedOutput;
    DXGKDDI_OPM_DESTROY_PROTECTED_OUTPUT DxgkDdiOPMDestroyProtectedOutput;
} DXGK_OPM_INTERFACE, *PDXGK_OPM_INTERFACE;

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_NONLOCAL_DISPLAY)(
    PVOID MiniportDeviceContext, DXGKMDT_OPM_VIDEO_OUTPUT_SEMANTICS NewVideoOutputSemantics,
    UINT64 OPMEncoderContext, DXGKMDT_OPM_ACTUAL_OUTPUT_FORMAT *pActualOutputFormat,
    UINT64 NonLocalOutputId, DXGKMDT_OPM_CONNECTOR_TYPE NonLocalConnectorType,
    PHANDLE NewProtectedOutputHandle);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_SET_SRM_LIST)(PVOID MiniportDeviceContext, ULONG SrmListSize,
                                                     PVOID SrmListBuffer);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_GET_SRM_LIST_VERSION)(PVOID MiniportDeviceContext,
                                                             PULONG SrmListVersionSize,
                                                             PVOID SrmListVersionBuffer);

typedef struct _DXGK_OPM_INTERFACE_2 {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_OPM_GET_CERTIFICATE_SIZE DxgkDdiOPMGetCertificateSize;
    DXGKDDI_OPM_GET_CERTIFICATE DxgkDdiOPMGetCertificate;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT DxgkDdiOPMCreateProtectedOutput;
    DXGKDDI_OPM_GET_RANDOM_NUMBER DxgkDdiOPMGetRandomNumber;
    DXGKDDI_OPM_SET_SIGNING_KEY_AND_SEQUENCE_NUMBERS DxgkDdiOPMSetSigningKeyAndSequenceNumbers;
    DXGKDDI_OPM_GET_INFORMATION DxgkDdiOPMGetInformation;
    DXGKDDI_OPM_GET_COPP_COMPATIBLE_INFORMATION DxgkDdiOPMGetCOPPCompatibleInformation;
    DXGKDDI_OPM_CONFIGURE_PROTECTED_OUTPUT DxgkDdiOPMConfigureProtectedOutput;
    DXGKDDI_OPM_DESTROY_PROTECTED_OUTPUT DxgkDdiOPMDestroyProtectedOutput;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_NONLOCAL_DISPLAY
    DxgkDdiOPMCreateProtectedOutputNonLocalDisplay;
} DXGK_OPM_INTERFACE_2, *PDXGK_OPM_INTERFACE_2;

typedef struct _DXGK_OPM_INTERFACE_3 {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_OPM_GET_CERTIFICATE_SIZE DxgkDdiOPMGetCertificateSize;
    DXGKDDI_OPM_GET_CERTIFICATE DxgkDdiOPMGetCertificate;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT DxgkDdiOPMCreateProtectedOutput;
    DXGKDDI_OPM_GET_RANDOM_NUMBER DxgkDdiOPMGetRandomNumber;
    DXGKDDI_OPM_SET_SIGNING_KEY_AND_SEQUENCE_NUMBERS DxgkDdiOPMSetSigningKeyAndSequenceNumbers;
    DXGKDDI_OPM_GET_INFORMATION DxgkDdiOPMGetInformation;
    DXGKDDI_OPM_GET_COPP_COMPATIBLE_INFORMATION DxgkDdiOPMGetCOPPCompatibleInformation;
    DXGKDDI_OPM_CONFIGURE_PROTECTED_OUTPUT DxgkDdiOPMConfigureProtectedOutput;
    DXGKDDI_OPM_DESTROY_PROTECTED_OUTPUT DxgkDdiOPMDestroyProtectedOutput;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_NONLOCAL_DISPLAY
    DxgkDdiOPMCreateProtectedOutputNonLocalDisplay;
    DXGKDDI_OPM_SET_SRM_LIST DxgkDdiOPMSetSrmList;
    DXGKDDI_OPM_GET_SRM_LIST_VERSION DxgkDdiOPMGetSrmListVersion;
} DXGK_OPM_INTERFACE_3, *PDXGK_OPM_INTERFACE_3;

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_VIRTUAL_MODE_JTP)(
    PVOID MiniportDeviceContext, D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
    DXGKMDT_OPM_VIDEO_OUTPUT_SEMANTICS NewVideoOutputSemantics,
    DXGKMDT_OPM_ACTUAL_OUTPUT_FORMAT *pActualOutputFormat, PHANDLE NewProtectedOutputHandle);

typedef NTSTATUS(APIENTRY *DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_NONLOCAL_DISPLAY_JTP)(
    PVOID MiniportDeviceContext, DXGKMDT_OPM_VIDEO_OUTPUT_SEMANTICS NewVideoOutputSemantics,
    ULONG64 OPMEncoderContext, DXGKMDT_OPM_ACTUAL_OUTPUT_FORMAT *pActualOutputFormat,
    D3DDDI_VIDEO_PRESENT_TARGET_ID NonLocalOutputId, PHANDLE NewProtectedOutputHandle);

typedef struct _DXGK_OPM_INTERFACE_2_JTP {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_OPM_GET_CERTIFICATE_SIZE DxgkDdiOPMGetCertificateSize;
    DXGKDDI_OPM_GET_CERTIFICATE DxgkDdiOPMGetCertificate;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT DxgkDdiOPMCreateProtectedOutput;
    DXGKDDI_OPM_GET_RANDOM_NUMBER DxgkDdiOPMGetRandomNumber;
    DXGKDDI_OPM_SET_SIGNING_KEY_AND_SEQUENCE_NUMBERS DxgkDdiOPMSetSigningKeyAndSequenceNumbers;
    DXGKDDI_OPM_GET_INFORMATION DxgkDdiOPMGetInformation;
    DXGKDDI_OPM_GET_COPP_COMPATIBLE_INFORMATION DxgkDdiOPMGetCOPPCompatibleInformation;
    DXGKDDI_OPM_CONFIGURE_PROTECTED_OUTPUT DxgkDdiOPMConfigureProtectedOutput;
    DXGKDDI_OPM_DESTROY_PROTECTED_OUTPUT DxgkDdiOPMDestroyProtectedOutput;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_VIRTUAL_MODE_JTP DxgkDdiOPMCreateProtectedOutputVirtualMode;
    DXGKDDI_OPM_CREATE_PROTECTED_OUTPUT_NONLOCAL_DISPLAY_JTP
    DxgkDdiOPMCreateProtectedOutputNonLocalDisplay;
} DXGK_OPM_INTERFACE_2_JTP, *PDXGK_OPM_INTERFACE_2_JTP;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8

typedef struct _DXGK_SPB_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    NTSTATUS(APIENTRY *OpenSpbResource)
    (HANDLE DeviceHandle, LARGE_INTEGER SpbReourceId, UNICODE_STRING *SpbResourceSubName,
     ACCESS_MASK DesiredAccess, ULONG ShareAccess, ULONG OpenOptions, VOID **SpbResource);
    NTSTATUS(APIENTRY *CloseSpbResource)(HANDLE DeviceHandle, VOID *SpbResource);
    NTSTATUS(APIENTRY *ReadSpbResource)
    (HANDLE DeviceHandle, VOID *SpbResource, ULONG Length, VOID *Buffer, LARGE_INTEGER *ByteOffset,
     HANDLE EventHandle, IO_STATUS_BLOCK *IoStatusBlock);
    NTSTATUS(APIENTRY *WriteSpbResource)
    (HANDLE DeviceHandle, VOID *SpbResource, ULONG Length, VOID *Buffer, LARGE_INTEGER *ByteOffset,
     HANDLE EventHandle, IO_STATUS_BLOCK *IoStatusBlock);
    NTSTATUS(APIENTRY *SpbResourceIoControl)
    (HANDLE DeviceHandle, VOID *SpbResource, ULONG IoControlCode, ULONG InBufferSize,
     VOID *InputBuffer, ULONG OutBufferSize, VOID *OutputBuffer, HANDLE EventHandle,
     IO_STATUS_BLOCK *IoStatusBlock);
} DXGK_SPB_INTERFACE, *PDXGK_SPB_INTERFACE;

#endif

typedef struct _DXGK_TIMED_OPERATION {
    USHORT Size;
    ULONG_PTR OwnerTag;
    BOOLEAN OsHandled;
    BOOLEAN TimeoutTriggered;
    LARGE_INTEGER Timeout;
    LARGE_INTEGER StartTick;
} DXGK_TIMED_OPERATION, *PDXGK_TIMED_OPERATION;

typedef struct _DXGK_TIMED_OPERATION_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    NTSTATUS(APIENTRY *TimedOperationStart)
    (DXGK_TIMED_OPERATION *Op, const LARGE_INTEGER *Timeout, BOOLEAN OsHandled);
    NTSTATUS(APIENTRY *TimedOperationDelay)
    (DXGK_TIMED_OPERATION *Op, KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
     const LARGE_INTEGER *Interval);
    NTSTATUS(APIENTRY *TimedOperationWaitForSingleObject)
    (DXGK_TIMED_OPERATION *Op, PVOID Object, KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode,
     BOOLEAN Alertable, const LARGE_INTEGER *Timeout);
} DXGK_TIMED_OPERATION_INTERFACE, *PDXGK_TIMED_OPERATION_INTERFACE;

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET_POSSIBLE)(PVOID Context, ULONG BufferSize,
                                                         PUCHAR LevelCount,
                                                         PUCHAR BrightnessLevels);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_SET)(PVOID Context, UCHAR Brightness);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET)(PVOID Context, PUCHAR Brightness);

typedef struct _DXGK_BRIGHTNESS_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGK_BRIGHTNESS_GET_POSSIBLE GetPossibleBrightness;
    DXGK_BRIGHTNESS_SET SetBrightness;
    DXGK_BRIGHTNESS_GET GetBrightness;
} DXGK_BRIGHTNESS_INTERFACE, *PDXGK_BRIGHTNESS_INTERFACE;

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET_CAPS)(PVOID Context,
                                                     DXGK_BRIGHTNESS_CAPS *BrightnessCaps);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_SET_STATE)(PVOID Context,
                                                      DXGK_BRIGHTNESS_STATE *BrightnessState);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_SET_BACKLIGHT_OPTIMIZATION)(
    PVOID Context, DXGK_BACKLIGHT_OPTIMIZATION_LEVEL OptimizationLevel);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET_BACKLIGHT_REDUCTION)(
    PVOID Context, DXGK_BACKLIGHT_INFO *BacklightInfo);

typedef struct _DXGK_BRIGHTNESS_INTERFACE_2 {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGK_BRIGHTNESS_GET_POSSIBLE GetPossibleBrightness;
    DXGK_BRIGHTNESS_SET SetBrightness;
    DXGK_BRIGHTNESS_GET GetBrightness;
    DXGK_BRIGHTNESS_GET_CAPS GetBrightnessCaps;
    DXGK_BRIGHTNESS_SET_STATE SetBrightnessState;
    DXGK_BRIGHTNESS_SET_BACKLIGHT_OPTIMIZATION SetBacklightOptimization;
    DXGK_BRIGHTNESS_GET_BACKLIGHT_REDUCTION GetBacklightReduction;
} DXGK_BRIGHTNESS_INTERFACE_2, *PDXGK_BRIGHTNESS_INTERFACE_2;

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_SET_3)(PVOID Context, ULONG ChildUid,
                                                  PDXGK_BRIGHTNESS_SET_IN pIn);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET_3)(PVOID Context, ULONG ChildUid,
                                                  PDXGK_BRIGHTNESS_GET_OUT pOut);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET_CAPS_3)(PVOID Context, ULONG ChildUid,
                                                       DXGK_BRIGHTNESS_CAPS *pBrightnessCaps);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_GET_NIT_RANGES)(
    PVOID Context, ULONG ChildUid, PDXGK_BRIGHTNESS_GET_NIT_RANGES_OUT pOut);

typedef NTSTATUS(APIENTRY *DXGK_BRIGHTNESS_SET_BACKLIGHT_OPTIMIZATION_3)(
    PVOID Context, ULONG ChildUid, DXGK_BACKLIGHT_OPTIMIZATION_LEVEL OptimizationLevel);

typedef struct _DXGK_BRIGHTNESS_INTERFACE_3 {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGK_BRIGHTNESS_SET_3 SetBrightness;
    DXGK_BRIGHTNESS_GET_3 GetBrightness;
    DXGK_BRIGHTNESS_GET_CAPS_3 GetBrightnessCaps;
    DXGK_BRIGHTNESS_GET_NIT_RANGES GetNitRanges;
    DXGK_BRIGHTNESS_SET_BACKLIGHT_OPTIMIZATION_3 SetBacklightOptimization;
} DXGK_BRIGHTNESS_INTERFACE_3, *PDXGK_BRIGHTNESS_INTERFACE_3;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

/* Of the port driver: DxgkCbQueryServices(DxgkServicesFeature). */
typedef struct _DXGK_FEATURE_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKCB_ISFEATUREENABLED2 IsFeatureEnabled;
    DXGKCB_QUERYFEATUREINTERFACE QueryFeatureInterface;
} DXGK_FEATURE_INTERFACE, *PDXGK_FEATURE_INTERFACE;

/* Of the driver: DxgkDdiQueryInterface. */
typedef struct _DXGKDDI_FEATURE_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    PDXGKDDI_QUERYFEATURESUPPORT QueryFeatureSupport;
    PDXGKDDI_QUERYFEATUREINTERFACE QueryFeatureInterface;
} DXGKDDI_FEATURE_INTERFACE, *PDXGKDDI_FEATURE_INTERFACE;

#endif

#endif
