/*
 * Structured exceptions: what __try, __except and __finally stand on, and who raises.
 *
 * Place   include/wdk/wdm.
 * Model   __try is the compiler's: MSVC's, or clang's for the Windows x64 target. Clang looks at
 *         calls only: a fault in the __try block itself is not covered, one in a function that it
 *         calls is. From version 17 on, -fasync-exceptions covers both. A native build has no
 *         __try; there every exception is unhandled. Records have the layout that is documented for
 *         x64.
 */
#ifndef WDM_EXCEPTION_H
#define WDM_EXCEPTION_H

#include "base.h"

#define EXCEPTION_NONCONTINUABLE     0x01
#define EXCEPTION_UNWINDING          0x02
#define EXCEPTION_EXIT_UNWIND        0x04
#define EXCEPTION_STACK_INVALID      0x08
#define EXCEPTION_NESTED_CALL        0x10
#define EXCEPTION_TARGET_UNWIND      0x20
#define EXCEPTION_COLLIDED_UNWIND    0x40
#define EXCEPTION_UNWIND             0x66
#define EXCEPTION_MAXIMUM_PARAMETERS 15

#ifdef _WIN32
#ifdef __cplusplus
extern "C" {
#endif
unsigned long __cdecl _exception_code(void);
void *__cdecl _exception_info(void);
int __cdecl _abnormal_termination(void);
#ifdef __cplusplus
}
#endif
#define GetExceptionCode          _exception_code
#define exception_code            _exception_code
#define GetExceptionInformation() ((struct _EXCEPTION_POINTERS *)_exception_info())
#define exception_info()          ((struct _EXCEPTION_POINTERS *)_exception_info())
#define AbnormalTermination       _abnormal_termination
#define abnormal_termination      _abnormal_termination
#endif

typedef struct _EXCEPTION_RECORD {
    NTSTATUS ExceptionCode;
    ULONG ExceptionFlags;
    struct _EXCEPTION_RECORD *ExceptionRecord;
    PVOID ExceptionAddress;
    ULONG NumberParameters;
    ULONG_PTR ExceptionInformation[EXCEPTION_MAXIMUM_PARAMETERS];
} EXCEPTION_RECORD, *PEXCEPTION_RECORD;

typedef struct DECLSPEC_ALIGN(16) _M128A {
    ULONGLONG Low;
    LONGLONG High;
} M128A, *PM128A;

typedef struct DECLSPEC_ALIGN(16) _XSAVE_FORMAT {
    USHORT ControlWord;
    USHORT StatusWord;
    UCHAR TagWord;
    UCHAR Reserved1;
    USHORT ErrorOpcode;
    ULONG ErrorOffset;
    USHORT ErrorSelector;
    USHORT Reserved2;
    ULONG DataOffset;
    USHORT DataSelector;
    USHORT Reserved3;
    ULONG MxCsr;
    ULONG MxCsr_Mask;
    M128A FloatRegisters[8];
    M128A XmmRegisters[16];
    UCHAR Reserved4[96];
} XMM_SAVE_AREA32, *PXMM_SAVE_AREA32;

#define CONTEXT_AMD64           0x00100000
#define CONTEXT_CONTROL         (CONTEXT_AMD64 | 0x1)
#define CONTEXT_INTEGER         (CONTEXT_AMD64 | 0x2)
#define CONTEXT_SEGMENTS        (CONTEXT_AMD64 | 0x4)
#define CONTEXT_FLOATING_POINT  (CONTEXT_AMD64 | 0x8)
#define CONTEXT_DEBUG_REGISTERS (CONTEXT_AMD64 | 0x10)
#define CONTEXT_FULL            (CONTEXT_CONTROL | CONTEXT_INTEGER | CONTEXT_FLOATING_POINT)

typedef struct DECLSPEC_ALIGN(16) _CONTEXT {
    ULONG64 P1Home, P2Home, P3Home, P4Home, P5Home, P6Home;
    ULONG ContextFlags;
    ULONG MxCsr;
    USHORT SegCs, SegDs, SegEs, SegFs, SegGs, SegSs;
    ULONG EFlags;
    ULONG64 Dr0, Dr1, Dr2, Dr3, Dr6, Dr7;
    ULONG64 Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15;
    ULONG64 Rip;
    union {
        XMM_SAVE_AREA32 FltSave;
        struct {
            M128A Header[2];
            M128A Legacy[8];
            M128A Xmm0, Xmm1, Xmm2, Xmm3, Xmm4, Xmm5, Xmm6, Xmm7;
            M128A Xmm8, Xmm9, Xmm10, Xmm11, Xmm12, Xmm13, Xmm14, Xmm15;
        };
    };
    M128A VectorRegister[26];
    ULONG64 VectorControl;
    ULONG64 DebugControl;
    ULONG64 LastBranchToRip;
    ULONG64 LastBranchFromRip;
    ULONG64 LastExceptionToRip;
    ULONG64 LastExceptionFromRip;
} CONTEXT, *PCONTEXT;

C_ASSERT(sizeof(CONTEXT) == 0x4d0);
C_ASSERT(offsetof(CONTEXT, Rip) == 0xf8 && offsetof(CONTEXT, Xmm0) == 0x1a0);

typedef struct _EXCEPTION_POINTERS {
    PEXCEPTION_RECORD ExceptionRecord;
    PCONTEXT ContextRecord;
} EXCEPTION_POINTERS, *PEXCEPTION_POINTERS;

typedef enum _EXCEPTION_DISPOSITION {
    ExceptionContinueExecution,
    ExceptionContinueSearch,
    ExceptionNestedException,
    ExceptionCollidedUnwind
} EXCEPTION_DISPOSITION;

typedef struct _RUNTIME_FUNCTION {
    ULONG BeginAddress;
    ULONG EndAddress;
    union {
        ULONG UnwindInfoAddress;
        ULONG UnwindData;
    };
} RUNTIME_FUNCTION, *PRUNTIME_FUNCTION;

struct _DISPATCHER_CONTEXT;

typedef EXCEPTION_DISPOSITION NTAPI EXCEPTION_ROUTINE(struct _EXCEPTION_RECORD *ExceptionRecord,
                                                      PVOID EstablisherFrame,
                                                      struct _CONTEXT *ContextRecord,
                                                      struct _DISPATCHER_CONTEXT *Dispatcher);
typedef EXCEPTION_ROUTINE *PEXCEPTION_ROUTINE;

typedef struct _UNWIND_HISTORY_TABLE *PUNWIND_HISTORY_TABLE;
typedef struct _KNONVOLATILE_CONTEXT_POINTERS *PKNONVOLATILE_CONTEXT_POINTERS;

typedef struct _DISPATCHER_CONTEXT {
    ULONG64 ControlPc;
    ULONG64 ImageBase;
    PRUNTIME_FUNCTION FunctionEntry;
    ULONG64 EstablisherFrame;
    ULONG64 TargetIp;
    PCONTEXT ContextRecord;
    PEXCEPTION_ROUTINE LanguageHandler;
    PVOID HandlerData;
    PUNWIND_HISTORY_TABLE HistoryTable;
    ULONG ScopeIndex;
    ULONG Fill0;
} DISPATCHER_CONTEXT, *PDISPATCHER_CONTEXT;

/* JumpTarget 0: HandlerAddress is a __finally. HandlerAddress 1: an __except without a filter. */
typedef struct _SCOPE_TABLE_AMD64 {
    ULONG Count;
    struct {
        ULONG BeginAddress;
        ULONG EndAddress;
        ULONG HandlerAddress;
        ULONG JumpTarget;
    } ScopeRecord[1];
} SCOPE_TABLE_AMD64, *PSCOPE_TABLE_AMD64;

#define UNW_FLAG_NHANDLER  0x0
#define UNW_FLAG_EHANDLER  0x1
#define UNW_FLAG_UHANDLER  0x2
#define UNW_FLAG_CHAININFO 0x4

EXTERN_C_START

NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI ExRaiseStatus(NTSTATUS Status);
NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI ExRaiseAccessViolation(VOID);
NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI ExRaiseDatatypeMisalignment(VOID);
NTSYSAPI DECLSPEC_NORETURN VOID NTAPI RtlRaiseStatus(NTSTATUS Status);
NTSYSAPI VOID NTAPI RtlRaiseException(PEXCEPTION_RECORD ExceptionRecord);

NTKERNELAPI VOID NTAPI ProbeForRead(volatile const VOID *Address, SIZE_T Length, ULONG Alignment);
NTKERNELAPI VOID NTAPI ProbeForWrite(volatile VOID *Address, SIZE_T Length, ULONG Alignment);

NTSYSAPI EXCEPTION_DISPOSITION NTAPI __C_specific_handler(struct _EXCEPTION_RECORD *ExceptionRecord,
                                                          void *EstablisherFrame,
                                                          struct _CONTEXT *ContextRecord,
                                                          struct _DISPATCHER_CONTEXT *Dispatcher);
NTSYSAPI VOID NTAPI _local_unwind(PVOID TargetFrame, PVOID TargetIp);
NTSYSAPI VOID NTAPI RtlUnwind(PVOID TargetFrame, PVOID TargetIp, PEXCEPTION_RECORD ExceptionRecord,
                              PVOID ReturnValue);
NTSYSAPI VOID NTAPI RtlUnwindEx(PVOID TargetFrame, PVOID TargetIp,
                                PEXCEPTION_RECORD ExceptionRecord, PVOID ReturnValue,
                                PCONTEXT ContextRecord, PUNWIND_HISTORY_TABLE HistoryTable);
NTSYSAPI PEXCEPTION_ROUTINE NTAPI RtlVirtualUnwind(ULONG HandlerType, ULONG64 ImageBase,
                                                   ULONG64 ControlPc,
                                                   PRUNTIME_FUNCTION FunctionEntry,
                                                   PCONTEXT ContextRecord, PVOID *HandlerData,
                                                   PULONG64 EstablisherFrame,
                                                   PKNONVOLATILE_CONTEXT_POINTERS ContextPointers);
NTSYSAPI PRUNTIME_FUNCTION NTAPI RtlLookupFunctionEntry(ULONG64 ControlPc, PULONG64 ImageBase,
                                                        PUNWIND_HISTORY_TABLE HistoryTable);
NTSYSAPI PVOID NTAPI RtlPcToFileHeader(PVOID PcValue, PVOID *BaseOfImage);
NTSYSAPI VOID NTAPI RtlCaptureContext(PCONTEXT ContextRecord);
NTSYSAPI VOID NTAPI RtlRestoreContext(PCONTEXT ContextRecord, PEXCEPTION_RECORD ExceptionRecord);
NTSYSAPI USHORT NTAPI RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture,
                                               PVOID *BackTrace, PULONG BackTraceHash);

EXTERN_C_END

#endif
