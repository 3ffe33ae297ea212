/*
 * What every group of kernel services needs: linkage and the types that drivers only point at.
 *
 * Place  include/wdk/wdm. Included by the other parts; drivers include wdm.h.
 */
#ifndef WDM_BASE_H
#define WDM_BASE_H

#include "../ntstatus.h"
#include "../sdkddkver.h"
#include "../windef.h"

typedef struct _DRIVER_OBJECT DRIVER_OBJECT, *PDRIVER_OBJECT;
typedef struct _DEVICE_OBJECT DEVICE_OBJECT, *PDEVICE_OBJECT;
typedef struct _FILE_OBJECT FILE_OBJECT, *PFILE_OBJECT;
typedef struct _IRP IRP, *PIRP;
typedef struct _EPROCESS *PEPROCESS;
typedef struct _KTHREAD *PKTHREAD, *PETHREAD;

typedef CCHAR KPROCESSOR_MODE;
typedef enum _MODE { KernelMode = 0, UserMode = 1, MaximumMode = 2 } MODE;

/* Addresses of processes lie below: those of 64 bits have 128 TiB, without the last 64 KiB. */
#define MM_USER_PROBE_ADDRESS ((ULONG_PTR)0x7FFFFFFF0000)

/* What the filter of an __except answers. */
#define EXCEPTION_EXECUTE_HANDLER    1
#define EXCEPTION_CONTINUE_SEARCH    0
#define EXCEPTION_CONTINUE_EXECUTION (-1)

/* Builds without DBG do not read what is asserted: it may name what is not there. */
#if defined(DBG) && DBG
#define NT_ASSERT(expression) ((void)(0 && (expression)))
#else
#define NT_ASSERT(expression) ((void)0)
#endif
/* Unlike what is asserted, its expression is evaluated in every build. */
#define NT_VERIFY(expression) ((void)(expression))
/* A statement of nothing. */
#ifndef NOTHING
#define NOTHING
#endif
#ifndef ASSERT
#define ASSERT(expression) NT_ASSERT(expression)
#endif

#endif
