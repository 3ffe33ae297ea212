/*
 * Lookaside lists: entries of one size, taken from and given back to a list that keeps some.
 *
 * Place   include/wdk/wdm.
 * Model   Lists have the size that they have on Windows x64, for drivers that embed them, and no
 *         public members. A list has to be aligned to 16 bytes; 64 of the older two is the
 *         layout's, and native builds leave that out, where the pool gives 16.
 * Source  Public documentation of the functions; sizes as debuggers show them for x64.
 */
#ifndef WDM_LOOKASIDE_H
#define WDM_LOOKASIDE_H

#include "lock.h"
#include "memory.h"

#ifdef _WIN32
#define LOOKASIDE_ALIGN DECLSPEC_ALIGN(64)
#else
#define LOOKASIDE_ALIGN DECLSPEC_ALIGN(16)
#endif

typedef struct LOOKASIDE_ALIGN _NPAGED_LOOKASIDE_LIST {
    ULONG_PTR Reserved[16];
} NPAGED_LOOKASIDE_LIST, *PNPAGED_LOOKASIDE_LIST;

typedef struct LOOKASIDE_ALIGN _PAGED_LOOKASIDE_LIST {
    ULONG_PTR Reserved[16];
} PAGED_LOOKASIDE_LIST, *PPAGED_LOOKASIDE_LIST;

typedef struct DECLSPEC_ALIGN(16) _LOOKASIDE_LIST_EX {
    ULONG_PTR Reserved[12];
} LOOKASIDE_LIST_EX, *PLOOKASIDE_LIST_EX;

C_ASSERT(sizeof(NPAGED_LOOKASIDE_LIST) == 0x80);
C_ASSERT(sizeof(PAGED_LOOKASIDE_LIST) == 0x80);
C_ASSERT(sizeof(LOOKASIDE_LIST_EX) == 0x60);

/* No entry is smaller: a free one is linked by its first bytes. */
#define LOOKASIDE_MINIMUM_BLOCK_SIZE (RTL_SIZEOF_THROUGH_FIELD(SLIST_ENTRY, Next))

#define EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL 0x00000001u
#define EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE 0x00000002u

typedef PVOID NTAPI ALLOCATE_FUNCTION(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
typedef ALLOCATE_FUNCTION *PALLOCATE_FUNCTION;
typedef VOID NTAPI FREE_FUNCTION(PVOID Buffer);
typedef FREE_FUNCTION *PFREE_FUNCTION;
typedef PVOID NTAPI ALLOCATE_FUNCTION_EX(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
                                         PLOOKASIDE_LIST_EX Lookaside);
typedef ALLOCATE_FUNCTION_EX *PALLOCATE_FUNCTION_EX;
typedef VOID NTAPI FREE_FUNCTION_EX(PVOID Buffer, PLOOKASIDE_LIST_EX Lookaside);
typedef FREE_FUNCTION_EX *PFREE_FUNCTION_EX;

EXTERN_C_START

NTKERNELAPI VOID NTAPI ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside,
                                                       PALLOCATE_FUNCTION Allocate,
                                                       PFREE_FUNCTION Free, ULONG Flags,
                                                       SIZE_T Size, ULONG Tag, USHORT Depth);
NTKERNELAPI PVOID NTAPI ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI VOID NTAPI ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry);
NTKERNELAPI VOID NTAPI ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside);

NTKERNELAPI VOID NTAPI ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside,
                                                      PALLOCATE_FUNCTION Allocate,
                                                      PFREE_FUNCTION Free, ULONG Flags, SIZE_T Size,
                                                      ULONG Tag, USHORT Depth);
NTKERNELAPI PVOID NTAPI ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI VOID NTAPI ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry);
NTKERNELAPI VOID NTAPI ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside);

NTKERNELAPI NTSTATUS NTAPI ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside,
                                                       PALLOCATE_FUNCTION_EX Allocate,
                                                       PFREE_FUNCTION_EX Free, POOL_TYPE PoolType,
                                                       ULONG Flags, SIZE_T Size, ULONG Tag,
                                                       USHORT Depth);
NTKERNELAPI PVOID NTAPI ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI VOID NTAPI ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry);
NTKERNELAPI VOID NTAPI ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI VOID NTAPI ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);

EXTERN_C_END

#endif
