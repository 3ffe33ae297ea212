/*
 * The reference driver with a fault in one of its functions, for tests/images/faults.sh.
 *
 * The reference driver's sources are compiled with DxgkInitialize renamed, so that its table comes
 * here first. SLOT names the DDI that is replaced, FAULT what it does instead of its work.
 */
#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#undef DxgkInitialize
NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData);

static volatile ULONG zero;
static const ULONG constant = 1;
static ULONG recursion(volatile ULONG *depth)
{
    volatile UCHAR room[512];

    room[0] = (UCHAR)*depth;
    (*depth)++;
    return recursion(depth) + room[0];
}

static void do_fault(void)
{
#if FAULT == 1 /* write through NULL */
    *(volatile ULONG *)(ULONG_PTR)(8 + zero) = 1;
#elif FAULT == 2  /* loop */
    while (!zero)
        ;
#elif FAULT == 3  /* stack */
    ULONG depth = 0;
    recursion(&depth);
#elif FAULT == 4  /* jump into data */
    static UCHAR data[16] = {0xc3};
    ((void (*)(void))(ULONG_PTR)data)();
#elif FAULT == 5  /* call NULL */
    ((void (*)(void))(ULONG_PTR)zero)();
#elif FAULT == 6  /* run the stack */
    volatile UCHAR code[16] = {0xc3};
    ((void (*)(void))(ULONG_PTR)code)();
#elif FAULT == 7  /* write to a constant */
    *(volatile ULONG *)(ULONG_PTR)&constant = 2;
#elif FAULT == 8  /* write to code */
    *(volatile UCHAR *)(ULONG_PTR)do_fault = 0xc3;
#elif FAULT == 9  /* stop the machine */
    KeBugCheckEx(0xdead, 1, 2, 3, 4);
#elif FAULT == 10 /* lose a register: below */
#elif FAULT == 11 /* leave the level raised */
    KfRaiseIrql(DISPATCH_LEVEL);
#elif FAULT == 12 /* keep a lock */
    static KSPIN_LOCK lock;
    KeAcquireSpinLockRaiseToDpc(&lock);
#elif FAULT == 13 /* free twice */
    PVOID block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tluF');
    ExFreePoolWithTag(block, 'tluF');
    ExFreePoolWithTag(block, 'tluF');
#elif FAULT == 14 /* use after free */
    volatile ULONG *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tluF');
    ExFreePoolWithTag((PVOID)(ULONG_PTR)block, 'tluF');
    *block = 1;
#elif FAULT == 15 /* ten gibibytes of pool */
    for (ULONG i = 0; i < 10 * 1024; i++) {
        volatile UCHAR *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 1024 * 1024, 'tluF');

        for (ULONG at = 0; block && at < 1024 * 1024; at += 4096)
            block[at] = 1;
    }
#elif FAULT == 16 /* divide by zero */
    ULONG one = 1;
    __asm__ volatile("divl %1" : "+a"(one) : "r"(zero) : "edx", "cc");
#elif FAULT == 17 /* fail fast */
    __asm__ volatile("int $0x29" : : "c"(3));
#elif FAULT == 18 /* an instruction that there is none of */
    __builtin_trap();
#elif FAULT == 19 /* behind the end of a block */
    volatile UCHAR *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tluF');
    block[64] = 1;
    ExFreePoolWithTag((PVOID)(ULONG_PTR)block, 'tluF');
#elif FAULT == 21 /* write through a mapping that is gone */
    const PHYSICAL_ADDRESS low = {.QuadPart = 0}, high = {.QuadPart = MAXLONGLONG};
    MDL *list = MmAllocatePagesForMdlEx(low, high, low, 2 * PAGE_SIZE, MmCached, 0);
    volatile UCHAR *view = MmGetSystemAddressForMdlSafe(list, NormalPagePriority);
    MmUnmapLockedPages((PVOID)(ULONG_PTR)view, list);
    view[PAGE_SIZE] = 1;
#elif FAULT == 20 /* ask the system what no driver may */
    __asm__ volatile("syscall" : : "a"(39) : "rcx", "r11", "memory");
#elif FAULT == 22 /* a structure for a local that nearly fills the stack */
    volatile UCHAR device[0x5b00];
    device[zero] = 1;
#else
#error FAULT is not one of them
#endif
}

#if FAULT == 10
/* Naked: what it changes is not given back. */
__attribute__((naked)) static NTSTATUS faulty(void)
{
    __asm__("xorl %esi, %esi\n xorl %eax, %eax\n ret");
}
#else
static NTSTATUS faulty(void)
{
    do_fault();
    return STATUS_SUCCESS;
}
#endif

NTSTATUS NTAPI FaultsInitialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
                                PDRIVER_INITIALIZATION_DATA table)
{
    DRIVER_INITIALIZATION_DATA changed = *table;

    *(PVOID *)&changed.SLOT = (PVOID)(ULONG_PTR)faulty;
    return DxgkInitialize(driver, path, &changed);
}
