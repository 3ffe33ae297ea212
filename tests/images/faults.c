/*
 * The reference driver with a fault in one of its functions, for tests/images/faults.sh.
 *
 * The reference driver's sources are compiled with DxgkInitialize renamed, so that its table comes
 * here first. SLOT names the DDI that is replaced, FAULT what it does instead of its work; with
 * IN_ENTRY it happens in DriverEntry. ARGUMENT is the structure of the DDI.
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

static DXGKRNL_INTERFACE kernel;

#if FAULT == 34 || FAULT >= 40
struct elf {
    UCHAR mark[32];
    ULONG64 headers;
    UCHAR unused[14];
    USHORT header_size, header_count;
};

struct map {
    ULONG64 base;
    const char *name;
    ULONG64 *dynamic;
    struct map *next;
};

extern const PVOID __imp_IoFreeMdl;

/*
 * From a function of the bench to its headers, to the list of what is loaded, to an instruction
 * that asks.
 */
static ULONG64 find_library(void)
{
    ULONG64 at = *(ULONG64 *)((PUCHAR)(ULONG_PTR)__imp_IoFreeMdl + 2) & ~4095ull;
    const struct elf *elf;
    const struct map *map = NULL;

    while (*(ULONG *)at != 0x464c457f)
        at -= 4096;
    elf = (const struct elf *)at;
    for (ULONG i = 0; i < elf->header_count; i++) {
        const UCHAR *header = (const UCHAR *)(at + elf->headers + i * elf->header_size);
        ULONG64 *dynamic = (ULONG64 *)(at + *(ULONG64 *)(header + 16));

        if (*(ULONG *)header != 2)
            continue;
        for (; dynamic[0]; dynamic += 2)
            if (dynamic[0] == 21)
                map = *(struct map **)(dynamic[1] + 8);
    }
    for (; map; map = map->next)
        for (const char *name = map->name; *name; name++)
            if (memcmp(name, "/libc.so", 8) == 0)
                return map->base;
    return 0;
}

/* Four arguments; the system's answer. */
static inline __attribute__((always_inline)) ULONG64
ask_through_library(ULONG64 number, ULONG64 first, ULONG64 second, ULONG64 third, ULONG64 fourth)
{
    register ULONG64 last __asm__("r10") = fourth;
    ULONG64 at = find_library() + 0x30000;

    while (*(USHORT *)at != 0x050f || *(UCHAR *)(at + 2) != 0xc3)
        at++;
    __asm__ volatile("call *%[at]"
                     : "+a"(number)
                     : "D"(first), "S"(second), "d"(third), "r"(last), [at] "r"(at)
                     : "rcx", "r11", "memory");
    return number;
}

#define TEXT(words) (ULONG64)(ULONG_PTR)(words)
#define ASK(...)    ask_through_library(__VA_ARGS__)
#define HERE        (ULONG64) - 100 /* AT_FDCWD */
#define MOST_FILES  32

/* No signal comes through any more, but for the one that none can block. */
static inline __attribute__((always_inline)) void block_signals(void)
{
    ULONG64 all = ~0ull;

    ASK(14, 2, (ULONG64)(ULONG_PTR)&all, 0, sizeof all);
}

/* For ever, without spending the processor. */
static inline __attribute__((always_inline)) void sleep_for_ever(void)
{
    LONG64 long_time[2] = {1000000, 0};

    while (!zero)
        ASK(35, (ULONG64)(ULONG_PTR)long_time, 0, 0, 0);
}
#endif

static void __attribute__((noinline)) do_fault(void)
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
    ULONG got = 0;
    for (ULONG i = 0; i < 10 * 1024; i++) {
        volatile UCHAR *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 1024 * 1024, 'tluF');

        if (block)
            block[got++] = 1;
    }
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "got %u MiB\n", got);
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
#elif FAULT == 30 /* a service that is led astray */
    KeWaitForSingleObject((PVOID)(ULONG_PTR)(0x20 + zero), Executive, KernelMode, FALSE, NULL);
#elif FAULT == 23 /* the same by what its argument points to */
    UNICODE_STRING bad = {16, 16, (PWSTR)(ULONG_PTR)(0x4440 + zero)},
                   good = RTL_CONSTANT_STRING(L"good");
    RtlCopyUnicodeString(&bad, &good);
#elif FAULT == 24 /* the same beyond the end of what it is given */
    PUCHAR block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 4096, 'tluF');
    MM_COPY_ADDRESS from = {.VirtualAddress = (PVOID)(ULONG_PTR)&constant};
    SIZE_T copied;
    MmCopyMemory(block, from, 4, MM_COPY_MEMORY_VIRTUAL, &copied);
    from.VirtualAddress = block;
    MmCopyMemory(block + 4096, from, 64, MM_COPY_MEMORY_VIRTUAL, &copied);
#elif FAULT == 25 /* the same in the graphics kernel */
    kernel.DxgkCbNotifyInterrupt(kernel.DeviceHandle,
                                 (PDXGKARGCB_NOTIFY_INTERRUPT_DATA)(ULONG_PTR)(0x30 + zero));
#elif FAULT == 26 /* wait for what nobody does */
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL);
#elif FAULT == 27 || FAULT == 28 || FAULT == 29 /* free, unlock twice, unmap elsewhere */
    PUCHAR block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 2 * PAGE_SIZE, 'tluF'), view;
    MDL *list = IoAllocateMdl(block, 2 * PAGE_SIZE, FALSE, FALSE, NULL);
    MmProbeAndLockPages(list, KernelMode, IoModifyAccess);
    view = MmGetSystemAddressForMdlSafe(list, NormalPagePriority);
    if (FAULT == 29)
        MmUnmapLockedPages(view + PAGE_SIZE, list);
    if (FAULT == 28) {
        MmUnlockPages(list);
        MmUnlockPages(list);
    }
    IoFreeMdl(list);
    ExFreePoolWithTag(block, 'tluF');
#elif FAULT == 32                               /* ask in the old way */
    ULONG number = 20;
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
#elif FAULT == 33                               /* and in the one for 32 bits */
    __asm__ volatile("sysenter" : : "a"(20) : "rcx", "rdx", "memory");
#elif FAULT == 34                               /* ask through the C library */
    ASK(41, 2, 1, 0, 0);
#elif FAULT == 40 /* have another process sent signals: F_SETOWN, F_SETSIG, O_ASYNC */
    ASK(72, 2, 8, 1, 0);
    ASK(72, 2, 10, 9, 0);
    ASK(72, 2, 4, 020000, 0);
#elif FAULT == 41 /* limits */
    ULONG64 limits[2] = {16, 16};
    ASK(302, 0, 7, (ULONG64)(ULONG_PTR)limits, 0);
#elif FAULT == 42 /* a file system of its own */
    ASK(430, TEXT("tmpfs"), 0, 0, 0);
#elif FAULT == 43
    ASK(428, HERE, TEXT("/"), 0, 0);
#elif FAULT == 44 /* read a file of the user */
    ASK(257, HERE, TEXT(VICTIM), 0, 0);
#elif FAULT == 45 /* read what the process was started with */
    ASK(2, TEXT("/proc/self/environ"), 0, 0, 0);
#elif FAULT == 46 /* memory that stays */
    ASK(29, 0x64727964, 4096, 01600, 0);
#elif FAULT == 47 /* change a file of the user */
    ASK(452, HERE, TEXT(VICTIM), 0777, 0);
#elif FAULT == 48
    ASK(90, TEXT(VICTIM), 0777, 0, 0);
#elif FAULT == 49
    ASK(188, TEXT(VICTIM), TEXT("user.drydock"), TEXT("x"), 1);
#elif FAULT == 50
    ASK(190, 2, TEXT("user.drydock"), TEXT("x"), 1);
#elif FAULT == 51 /* a signal to another process */
    ASK(62, 1, 0, 0, 0);
#elif FAULT == 52 /* nobody hears of refused calls */
    ULONG64 action[4] = {1, 0, 0, 0};
    ASK(13, 31, (ULONG64)(ULONG_PTR)action, 0, 8);
#elif FAULT == 53 /* calls in a queue, past the filter */
    ASK(425, 1, TEXT(""), 0, 0);
#elif FAULT == 54 /* hang, deaf */
    block_signals();
    sleep_for_ever();
#elif FAULT == 55 /* hang up on the parent, and go on */
    block_signals();
    for (ULONG i = 3; i < MOST_FILES; i++)
        ASK(3, i, 0, 0, 0);
    sleep_for_ever();
#elif FAULT == 56 /* begin an answer, and go on */
    block_signals();
    for (ULONG i = 3; i < MOST_FILES; i++)
        ASK(1, i, TEXT("x"), 1, 0);
    sleep_for_ever();
#elif FAULT == 57 /* print, where a machine that builds looks for commands */
    ASK(1, 1, TEXT("::error ::forged\n"), 17, 0);
    ASK(41, 2, 1, 0, 0);
#elif FAULT == 35 /* write over the bench */
    for (ULONG i = 0; i < 16 * 1024; i++)
        ((volatile ULONG *)kernel.DeviceHandle)[i] = 0x41414141;
#elif FAULT == 37 /* lose the stack */
    __asm__ volatile("movq $0x1000, %%rsp\n pushq $0" : : : "memory");
#elif FAULT == 36 /* write over the way into it */
    *(volatile ULONG *)(ULONG_PTR)kernel.DxgkCbNotifyDpc = 0x90909090;
#elif FAULT == 31 /* write over what it is only lent: below */
#else
#error FAULT is not one of them
#endif
    __asm__ volatile("" : : : "memory"); /* what was called last comes back here */
}

#if FAULT == 10
/* Naked: what it changes is not given back. */
__attribute__((naked)) static NTSTATUS faulty(void)
{
    __asm__("xorl %esi, %esi\n xorl %eax, %eax\n ret");
}
#else
static NTSTATUS faulty(PVOID object, ULONG64 *argument)
{
#if FAULT == 31
    for (ULONG i = 0; i < sizeof(ARGUMENT) / sizeof *argument; i++)
        argument[i] = 0x4141414141414141;
#endif
    do_fault();
    return STATUS_SUCCESS;
}
#endif

#ifdef IN_ENTRY
#define SLOT DxgkDdiAddDevice
#else
static PDXGKDDI_START_DEVICE start_device;

static NTSTATUS NTAPI keep_kernel(PVOID context, PDXGK_START_INFO start, PDXGKRNL_INTERFACE dxgkrnl,
                                  PULONG sources, PULONG children)
{
    kernel = *dxgkrnl;
    return start_device(context, start, dxgkrnl, sources, children);
}
#endif

NTSTATUS NTAPI FaultsInitialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
                                PDRIVER_INITIALIZATION_DATA table)
{
    DRIVER_INITIALIZATION_DATA changed = *table;

#ifdef IN_ENTRY
    do_fault();
#else
    start_device = table->DxgkDdiStartDevice;
    changed.DxgkDdiStartDevice = keep_kernel;
#endif
    *(PVOID *)&changed.SLOT = (PVOID)(ULONG_PTR)faulty;
    return DxgkInitialize(driver, path, &changed);
}
