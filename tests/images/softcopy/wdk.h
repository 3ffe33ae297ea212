/*
 * What bindgen makes wdk.rs of. It reads no macro that has a cast: such a constant becomes a
 * variable here, with a `k` before its name.
 */
#include <ntddk.h>
#include <ntstatus.h>

#include <d3dkmddi.h>
#include <dispmprt.h>

#define CONSTANT(name) static const NTSTATUS k##name = name;

CONSTANT(STATUS_SUCCESS)
CONSTANT(STATUS_BUFFER_TOO_SMALL)
CONSTANT(STATUS_DEVICE_NOT_CONNECTED)
CONSTANT(STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
CONSTANT(STATUS_INVALID_HANDLE)
CONSTANT(STATUS_INVALID_PARAMETER)
CONSTANT(STATUS_INVALID_USER_BUFFER)
CONSTANT(STATUS_NOT_SUPPORTED)
CONSTANT(STATUS_NO_MEMORY)
