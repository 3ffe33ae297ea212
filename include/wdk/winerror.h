/*
 * Error codes of the Win32 side that driver source returns to miniport interfaces of old, and
 * HRESULTs.
 *
 * Place   include/wdk, above windef.h.
 * Source  Public documentation: "System Error Codes", "Common HRESULT Values".
 */
#ifndef _WINERROR_
#define _WINERROR_

#include "windef.h"

#define ERROR_SUCCESS             0L
#define NO_ERROR                  0L
#define ERROR_INVALID_FUNCTION    1L
#define ERROR_FILE_NOT_FOUND      2L
#define ERROR_ACCESS_DENIED       5L
#define ERROR_INVALID_HANDLE      6L
#define ERROR_NOT_ENOUGH_MEMORY   8L
#define ERROR_INVALID_DATA        13L
#define ERROR_OUTOFMEMORY         14L
#define ERROR_NOT_READY           21L
#define ERROR_BAD_COMMAND         22L
#define ERROR_GEN_FAILURE         31L
#define ERROR_NOT_SUPPORTED       50L
#define ERROR_DEV_NOT_EXIST       55L
#define ERROR_INVALID_PARAMETER   87L
#define ERROR_INSUFFICIENT_BUFFER 122L
#define ERROR_BUSY                170L
#define ERROR_MORE_DATA           234L
#define ERROR_IO_PENDING          997L
#define ERROR_IO_DEVICE           1117L

#endif
