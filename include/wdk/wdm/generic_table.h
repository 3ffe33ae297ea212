/*
 * Generic tables: sorted elements of the driver's, which compares, allocates and frees them.
 *
 * Place   include/wdk/wdm.
 * Model   The caller's data lies behind a header in each element: 32 bytes in AVL tables, 40 in the
 *         others. With RTL_USE_AVL_TABLES defined, the names of the others mean AVL tables.
 * Source  Public documentation of the functions; layouts as debuggers show them for x64.
 */
#ifndef WDM_GENERIC_TABLE_H
#define WDM_GENERIC_TABLE_H

#include "base.h"

typedef enum _RTL_GENERIC_COMPARE_RESULTS {
    GenericLessThan = 0,
    GenericGreaterThan = 1,
    GenericEqual = 2,
} RTL_GENERIC_COMPARE_RESULTS;

typedef enum _TABLE_SEARCH_RESULT {
    TableEmptyTree = 0,
    TableFoundNode = 1,
    TableInsertAsLeft = 2,
    TableInsertAsRight = 3,
} TABLE_SEARCH_RESULT;

typedef ULONG CLONG, *PCLONG;

typedef struct _RTL_SPLAY_LINKS {
    struct _RTL_SPLAY_LINKS *Parent;
    struct _RTL_SPLAY_LINKS *LeftChild;
    struct _RTL_SPLAY_LINKS *RightChild;
} RTL_SPLAY_LINKS, *PRTL_SPLAY_LINKS;

typedef struct _RTL_BALANCED_LINKS {
    struct _RTL_BALANCED_LINKS *Parent;
    struct _RTL_BALANCED_LINKS *LeftChild;
    struct _RTL_BALANCED_LINKS *RightChild;
    CHAR Balance;
    UCHAR Reserved[3];
} RTL_BALANCED_LINKS, *PRTL_BALANCED_LINKS;

struct _RTL_GENERIC_TABLE;
struct _RTL_AVL_TABLE;

typedef RTL_GENERIC_COMPARE_RESULTS NTAPI RTL_GENERIC_COMPARE_ROUTINE(
    struct _RTL_GENERIC_TABLE *Table, PVOID FirstStruct, PVOID SecondStruct);
typedef RTL_GENERIC_COMPARE_ROUTINE *PRTL_GENERIC_COMPARE_ROUTINE;
typedef PVOID NTAPI RTL_GENERIC_ALLOCATE_ROUTINE(struct _RTL_GENERIC_TABLE *Table, CLONG ByteSize);
typedef RTL_GENERIC_ALLOCATE_ROUTINE *PRTL_GENERIC_ALLOCATE_ROUTINE;
typedef VOID NTAPI RTL_GENERIC_FREE_ROUTINE(struct _RTL_GENERIC_TABLE *Table, PVOID Buffer);
typedef RTL_GENERIC_FREE_ROUTINE *PRTL_GENERIC_FREE_ROUTINE;

typedef RTL_GENERIC_COMPARE_RESULTS NTAPI RTL_AVL_COMPARE_ROUTINE(struct _RTL_AVL_TABLE *Table,
                                                                  PVOID FirstStruct,
                                                                  PVOID SecondStruct);
typedef RTL_AVL_COMPARE_ROUTINE *PRTL_AVL_COMPARE_ROUTINE;
typedef PVOID NTAPI RTL_AVL_ALLOCATE_ROUTINE(struct _RTL_AVL_TABLE *Table, CLONG ByteSize);
typedef RTL_AVL_ALLOCATE_ROUTINE *PRTL_AVL_ALLOCATE_ROUTINE;
typedef VOID NTAPI RTL_AVL_FREE_ROUTINE(struct _RTL_AVL_TABLE *Table, PVOID Buffer);
typedef RTL_AVL_FREE_ROUTINE *PRTL_AVL_FREE_ROUTINE;
typedef NTSTATUS NTAPI RTL_AVL_MATCH_FUNCTION(struct _RTL_AVL_TABLE *Table, PVOID UserData,
                                              PVOID MatchData);
typedef RTL_AVL_MATCH_FUNCTION *PRTL_AVL_MATCH_FUNCTION;

typedef struct _RTL_GENERIC_TABLE {
    PRTL_SPLAY_LINKS TableRoot;
    LIST_ENTRY InsertOrderList;
    PLIST_ENTRY OrderedPointer;
    ULONG WhichOrderedElement;
    ULONG NumberGenericTableElements;
    PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine;
    PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine;
    PRTL_GENERIC_FREE_ROUTINE FreeRoutine;
    PVOID TableContext;
} RTL_GENERIC_TABLE, *PRTL_GENERIC_TABLE;

typedef struct _RTL_AVL_TABLE {
    RTL_BALANCED_LINKS BalancedRoot;
    PVOID OrderedPointer;
    ULONG WhichOrderedElement;
    ULONG NumberGenericTableElements;
    ULONG DepthOfTree;
    PRTL_BALANCED_LINKS RestartKey;
    ULONG DeleteCount;
    PRTL_AVL_COMPARE_ROUTINE CompareRoutine;
    PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine;
    PRTL_AVL_FREE_ROUTINE FreeRoutine;
    PVOID TableContext;
} RTL_AVL_TABLE, *PRTL_AVL_TABLE;

C_ASSERT(sizeof(RTL_GENERIC_TABLE) == 0x48);
C_ASSERT(sizeof(RTL_AVL_TABLE) == 0x68);
C_ASSERT(sizeof(RTL_BALANCED_LINKS) == 0x20);

EXTERN_C_START

NTSYSAPI VOID NTAPI RtlInitializeGenericTable(PRTL_GENERIC_TABLE Table,
                                              PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine,
                                              PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine,
                                              PRTL_GENERIC_FREE_ROUTINE FreeRoutine,
                                              PVOID TableContext);
/* The caller's data in the element that is there afterwards; NULL: no memory. */
NTSYSAPI PVOID NTAPI RtlInsertElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                                  CLONG BufferSize, PBOOLEAN NewElement);
NTSYSAPI PVOID NTAPI RtlInsertElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                                      CLONG BufferSize, PBOOLEAN NewElement,
                                                      PVOID NodeOrParent,
                                                      TABLE_SEARCH_RESULT SearchResult);
NTSYSAPI BOOLEAN NTAPI RtlDeleteElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer);
NTSYSAPI PVOID NTAPI RtlLookupElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer);
NTSYSAPI PVOID NTAPI RtlLookupElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                                      PVOID *NodeOrParent,
                                                      TABLE_SEARCH_RESULT *SearchResult);
NTSYSAPI PVOID NTAPI RtlEnumerateGenericTable(PRTL_GENERIC_TABLE Table, BOOLEAN Restart);
NTSYSAPI PVOID NTAPI RtlEnumerateGenericTableWithoutSplaying(PRTL_GENERIC_TABLE Table,
                                                             PVOID *RestartKey);
/* In the order in which they were inserted. */
NTSYSAPI PVOID NTAPI RtlGetElementGenericTable(PRTL_GENERIC_TABLE Table, ULONG I);
NTSYSAPI ULONG NTAPI RtlNumberGenericTableElements(PRTL_GENERIC_TABLE Table);
NTSYSAPI BOOLEAN NTAPI RtlIsGenericTableEmpty(PRTL_GENERIC_TABLE Table);

NTSYSAPI VOID NTAPI RtlInitializeGenericTableAvl(PRTL_AVL_TABLE Table,
                                                 PRTL_AVL_COMPARE_ROUTINE CompareRoutine,
                                                 PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine,
                                                 PRTL_AVL_FREE_ROUTINE FreeRoutine,
                                                 PVOID TableContext);
NTSYSAPI PVOID NTAPI RtlInsertElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                     CLONG BufferSize, PBOOLEAN NewElement);
NTSYSAPI PVOID NTAPI RtlInsertElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                         CLONG BufferSize, PBOOLEAN NewElement,
                                                         PVOID NodeOrParent,
                                                         TABLE_SEARCH_RESULT SearchResult);
NTSYSAPI BOOLEAN NTAPI RtlDeleteElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer);
NTSYSAPI PVOID NTAPI RtlLookupElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer);
NTSYSAPI PVOID NTAPI RtlLookupElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                         PVOID *NodeOrParent,
                                                         TABLE_SEARCH_RESULT *SearchResult);
/* The first in the table's order that is equal to Buffer; RestartKey is for enumerating on. */
NTSYSAPI PVOID NTAPI RtlLookupFirstMatchingElementGenericTableAvl(PRTL_AVL_TABLE Table,
                                                                  PVOID Buffer, PVOID *RestartKey);
NTSYSAPI PVOID NTAPI RtlEnumerateGenericTableAvl(PRTL_AVL_TABLE Table, BOOLEAN Restart);
NTSYSAPI PVOID NTAPI RtlEnumerateGenericTableWithoutSplayingAvl(PRTL_AVL_TABLE Table,
                                                                PVOID *RestartKey);
/* In the table's order. */
NTSYSAPI PVOID NTAPI RtlGetElementGenericTableAvl(PRTL_AVL_TABLE Table, ULONG I);
NTSYSAPI ULONG NTAPI RtlNumberGenericTableElementsAvl(PRTL_AVL_TABLE Table);
NTSYSAPI BOOLEAN NTAPI RtlIsGenericTableEmptyAvl(PRTL_AVL_TABLE Table);

EXTERN_C_END

#ifdef RTL_USE_AVL_TABLES
#define RTL_GENERIC_TABLE                       RTL_AVL_TABLE
#define PRTL_GENERIC_TABLE                      PRTL_AVL_TABLE
#define RTL_GENERIC_COMPARE_ROUTINE             RTL_AVL_COMPARE_ROUTINE
#define PRTL_GENERIC_COMPARE_ROUTINE            PRTL_AVL_COMPARE_ROUTINE
#define RTL_GENERIC_ALLOCATE_ROUTINE            RTL_AVL_ALLOCATE_ROUTINE
#define PRTL_GENERIC_ALLOCATE_ROUTINE           PRTL_AVL_ALLOCATE_ROUTINE
#define RTL_GENERIC_FREE_ROUTINE                RTL_AVL_FREE_ROUTINE
#define PRTL_GENERIC_FREE_ROUTINE               PRTL_AVL_FREE_ROUTINE
#define RtlInitializeGenericTable               RtlInitializeGenericTableAvl
#define RtlInsertElementGenericTable            RtlInsertElementGenericTableAvl
#define RtlInsertElementGenericTableFull        RtlInsertElementGenericTableFullAvl
#define RtlDeleteElementGenericTable            RtlDeleteElementGenericTableAvl
#define RtlLookupElementGenericTable            RtlLookupElementGenericTableAvl
#define RtlLookupElementGenericTableFull        RtlLookupElementGenericTableFullAvl
#define RtlEnumerateGenericTable                RtlEnumerateGenericTableAvl
#define RtlEnumerateGenericTableWithoutSplaying RtlEnumerateGenericTableWithoutSplayingAvl
#define RtlGetElementGenericTable               RtlGetElementGenericTableAvl
#define RtlNumberGenericTableElements           RtlNumberGenericTableElementsAvl
#define RtlIsGenericTableEmpty                  RtlIsGenericTableEmptyAvl
#endif

#endif
