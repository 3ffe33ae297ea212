/*
 * The reference driver with a fault in one of its functions, for tests/images/faults.sh.
 *
 * The reference driver's sources are compiled with DxgkInitialize renamed, so that its table comes
 * here first. Which fault it is, and which function has it, stands in a text. The script writes
 * over that text: it builds one image, and each faulty driver is a copy. SLOTS is the file with the
 * functions that there are, VICTIM a file of the user, and VICTIM_PROCESS a process. The places in
 * the bench (JOURNAL_AT, REPORT_AT, RESULT_*) are those of the program that plays the image.
 */
#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#undef DxgkInitialize
NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData);

/* Slot 0 is DriverEntry. */
__attribute__((used)) static const volatile char chosen[] = "chosen fault:00 slot:00";

static ULONG chosen_number(ULONG at)
{
    return (ULONG)(chosen[at] - '0') * 10 + (ULONG)(chosen[at + 1] - '0');
}

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

/* A function of the bench: its thunk has the address. */
static ULONG64 find_bench(void)
{
    return *(ULONG64 *)((PUCHAR)(ULONG_PTR)__imp_IoFreeMdl + 2);
}

/*
 * From a function of the bench to its headers, to the list of what is loaded, to an instruction
 * that asks.
 */
static ULONG64 find_library(void)
{
    ULONG64 at = find_bench() & ~4095ull;
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

/* ---- The record of the run ------------------------------------------------------------------- */

/* The page with the state of the journal, and the result that it tells of. */
static ULONG64 *find_journal(void)
{
    return *(ULONG64 **)(find_bench() + JOURNAL_AT);
}

static PUCHAR find_result(void)
{
    return *(PUCHAR *)((PUCHAR)find_journal() + 24);
}

static inline __attribute__((always_inline)) void clear(PUCHAR at, ULONG bytes)
{
    for (ULONG i = 0; i < bytes; i++)
        ((volatile UCHAR *)at)[i] = 0;
}

/* Nothing was found. */
static void clean_result(void)
{
    PUCHAR result = find_result();

    clear(result + RESULT_OUTCOME, 4);
    clear(result + RESULT_FINDING_COUNT, 4);
    clear(result + RESULT_TOTALS, RESULT_TOTALS_BYTES);
    clear(result + RESULT_RULES + RESULT_RULES_BYTES / 2, RESULT_RULES_BYTES / 2); /* broken */
}

/* To whoever listens. */
static inline __attribute__((always_inline)) void write_everywhere(const void *bytes, ULONG size)
{
    for (ULONG i = 3; i < MOST_FILES; i++)
        ASK(1, i, TEXT(bytes), size, 0);
}

/* More than a kernel stack has. */
static void __attribute__((noinline)) do_fault_of_stack(void)
{
    volatile UCHAR device[0x5b00];

    device[zero] = 1;
}

/* A section that may be paged out; code that runs there is found by the row that calls it. */
static void __attribute__((noinline, section("PAGE"))) count_in_paged_code(volatile ULONG *count)
{
    ++*count;
}

/* Several times: not each rise takes away what may be away. */
static void __attribute__((noinline)) touch_at_dispatch(volatile ULONG *paged)
{
    volatile ULONG count = 0;

    if (KeGetCurrentIrql() >= DISPATCH_LEVEL)
        KeBugCheckEx(0xdead, 1, 2, 3, 4);
    for (ULONG i = 0; i < 8; i++) {
        KIRQL before = KfRaiseIrql(DISPATCH_LEVEL);

        if (paged)
            ++*paged;
        else
            count_in_paged_code(&count);
        KeLowerIrql(before);
    }
}

static volatile UCHAR *lent_end; /* of the arguments of the call */

__attribute__((used)) static ULONG64 former_action[4];

/*
 * The driver's own handler of a signal, in the system's convention: behind its own fault it goes
 * on, and all else is for whoever was there before.
 */
__attribute__((naked)) static void on_signal(void)
{
    __asm__("cmpq $8, 16(%rsi)\n je 1f\n"
            "cmpl $14, %edi\n je 2f\n"
            "jmp *former_action(%rip)\n"
            "1: addq $6, 168(%rdx)\n"
            "2: ret");
}

/* Where the C library's handlers return to. */
static ULONG64 find_restorer(void)
{
    ULONG64 at = find_library() + 0x28000;

    while (*(ULONG64 *)at != 0x0f0000000fc0c748 || *(UCHAR *)(at + 8) != 5)
        at++;
    return at;
}

static inline __attribute__((always_inline)) void take_over_signal(ULONG number)
{
    static ULONG64 action[4];

    action[0] = (ULONG64)(ULONG_PTR)on_signal;
    action[1] = 0x4c000004; /* SA_SIGINFO, SA_RESTORER, SA_NODEFER, SA_ONSTACK */
    action[2] = find_restorer();
    ASK(13, number, TEXT(action), TEXT(former_action), 8);
}

static void __attribute__((noinline)) do_fault(void)
{
    const ULONG fault = chosen_number(13);

    switch (fault) {
    case 1: { /* write through NULL */
        *(volatile ULONG *)(ULONG_PTR)(8 + zero) = 1;
        break;
    }
    case 2: { /* loop */
        while (!zero)
            ;
        break;
    }
    case 3: { /* stack */
        ULONG depth = 0;
        recursion(&depth);
        break;
    }
    case 4: { /* jump into data */
        static UCHAR data[16] = {0xc3};
        ((void (*)(void))(ULONG_PTR)data)();
        break;
    }
    case 5: { /* call NULL */
        ((void (*)(void))(ULONG_PTR)zero)();
        break;
    }
    case 6: { /* run the stack */
        volatile UCHAR code[16] = {0xc3};
        ((void (*)(void))(ULONG_PTR)code)();
        break;
    }
    case 7: { /* write to a constant */
        *(volatile ULONG *)(ULONG_PTR)&constant = 2;
        break;
    }
    case 8: { /* write to code */
        *(volatile UCHAR *)(ULONG_PTR)do_fault = 0xc3;
        break;
    }
    case 9: { /* stop the machine */
        KeBugCheckEx(0xdead, 1, 2, 3, 4);
        break;
    }
    case 11: { /* leave the level raised */
        KfRaiseIrql(DISPATCH_LEVEL);
        break;
    }
    case 12: { /* keep a lock */
        static KSPIN_LOCK lock;
        KeAcquireSpinLockRaiseToDpc(&lock);
        break;
    }
    case 13: { /* free twice */
        PVOID block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tluF');
        ExFreePoolWithTag(block, 'tluF');
        ExFreePoolWithTag(block, 'tluF');
        break;
    }
    case 14: { /* use after free */
        volatile ULONG *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tluF');
        ExFreePoolWithTag((PVOID)(ULONG_PTR)block, 'tluF');
        *block = 1;
        break;
    }
    case 15: { /* ten gibibytes of pool */
        ULONG got = 0;
        for (ULONG i = 0; i < 10 * 1024; i++) {
            volatile UCHAR *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 1024 * 1024, 'tluF');
            if (block)
                block[got++] = 1;
        }
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "got %u MiB\n", got);
        break;
    }
    case 16: { /* divide by zero */
        ULONG one = 1;
        __asm__ volatile("divl %1" : "+a"(one) : "r"(zero) : "edx", "cc");
        break;
    }
    case 17: { /* fail fast */
        __asm__ volatile("int $0x29" : : "c"(3));
        break;
    }
    case 18: { /* an instruction that there is none of */
        __builtin_trap();
        break;
    }
    case 19: { /* behind the end of a block */
        volatile UCHAR *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tluF');
        block[64] = 1;
        ExFreePoolWithTag((PVOID)(ULONG_PTR)block, 'tluF');
        break;
    }
    case 88: { /* paged pool at DISPATCH_LEVEL */
        touch_at_dispatch(ExAllocatePool2(POOL_FLAG_PAGED, 64, 'tluF'));
        break;
    }
    case 89: { /* pageable code at DISPATCH_LEVEL */
        touch_at_dispatch(NULL);
        break;
    }
    case 38: { /* behind what the call is lent */
        *lent_end = 1;
        break;
    }
    case 21: { /* write through a mapping that is gone */
        const PHYSICAL_ADDRESS low = {.QuadPart = 0}, high = {.QuadPart = MAXLONGLONG};
        MDL *list = MmAllocatePagesForMdlEx(low, high, low, 2 * PAGE_SIZE, MmCached, 0);
        volatile UCHAR *view = MmGetSystemAddressForMdlSafe(list, NormalPagePriority);
        MmUnmapLockedPages((PVOID)(ULONG_PTR)view, list);
        view[PAGE_SIZE] = 1;
        break;
    }
    case 20: { /* ask the system what no driver may */
        __asm__ volatile("syscall" : : "a"(39) : "rcx", "r11", "memory");
        break;
    }
    case 22: { /* a structure for a local that nearly fills the stack */
        do_fault_of_stack();
        break;
    }
    case 30: { /* a service that is led astray */
        KeWaitForSingleObject((PVOID)(ULONG_PTR)(0x20 + zero), Executive, KernelMode, FALSE, NULL);
        break;
    }
    case 23: { /* the same by what its argument points to */
        UNICODE_STRING bad = {16, 16, (PWSTR)(ULONG_PTR)(0x4440 + zero)},
                       good = RTL_CONSTANT_STRING(L"good");
        RtlCopyUnicodeString(&bad, &good);
        break;
    }
    case 24: { /* the same beyond the end of what it is given */
        PUCHAR block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 4096, 'tluF');
        MM_COPY_ADDRESS from = {.VirtualAddress = (PVOID)(ULONG_PTR)&constant};
        SIZE_T copied;
        MmCopyMemory(block, from, 4, MM_COPY_MEMORY_VIRTUAL, &copied);
        from.VirtualAddress = block;
        MmCopyMemory(block + 4096, from, 64, MM_COPY_MEMORY_VIRTUAL, &copied);
        break;
    }
    case 25: { /* the same in the graphics kernel */
        kernel.DxgkCbNotifyInterrupt(kernel.DeviceHandle,
                                     (PDXGKARGCB_NOTIFY_INTERRUPT_DATA)(ULONG_PTR)(0x30 + zero));
        break;
    }
    case 26: { /* wait for what nobody does */
        KEVENT event;
        KeInitializeEvent(&event, NotificationEvent, FALSE);
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL);
        break;
    }
    case 27:
    case 28:
    case 29: { /* free, unlock twice, unmap elsewhere */
        PUCHAR block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 2 * PAGE_SIZE, 'tluF'), view;
        MDL *list = IoAllocateMdl(block, 2 * PAGE_SIZE, FALSE, FALSE, NULL);
        MmProbeAndLockPages(list, KernelMode, IoModifyAccess);
        view = MmGetSystemAddressForMdlSafe(list, NormalPagePriority);
        if (fault == 29)
            MmUnmapLockedPages(view + PAGE_SIZE, list);
        if (fault == 28) {
            MmUnlockPages(list);
            MmUnlockPages(list);
        }
        IoFreeMdl(list);
        ExFreePoolWithTag(block, 'tluF');
        break;
    }
    case 32: { /* ask in the old way */
        ULONG number = 20;
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
        break;
    }
    case 33: { /* and in the one for 32 bits */
        __asm__ volatile("sysenter" : : "a"(20) : "rcx", "rdx", "memory");
        break;
    }
    case 34: { /* ask through the C library */
        ASK(41, 2, 1, 0, 0);
        break;
    }
    case 40: { /* have another process sent signals: F_SETOWN, F_SETSIG, O_ASYNC */
        ASK(72, 2, 8, VICTIM_PROCESS, 0);
        ASK(72, 2, 10, 9, 0);
        ASK(72, 2, 4, 020000, 0);
        break;
    }
    case 41: { /* limits */
        ULONG64 limits[2] = {16, 16};
        ASK(302, VICTIM_PROCESS, 7, (ULONG64)(ULONG_PTR)limits, 0);
        break;
    }
    case 42: { /* a file system of its own */
        ASK(430, TEXT("tmpfs"), 0, 0, 0);
        break;
    }
    case 43: {
        ASK(428, HERE, TEXT("/"), 0, 0);
        break;
    }
    case 44: { /* read a file of the user */
        ASK(257, HERE, TEXT(VICTIM), 0, 0);
        break;
    }
    case 45: { /* read what the process was started with */
        ASK(2, TEXT("/proc/self/environ"), 0, 0, 0);
        break;
    }
    case 46: { /* memory that stays */
        ASK(29, 0x64727964, 4096, 01600, 0);
        break;
    }
    case 47: { /* change a file of the user */
        ASK(452, HERE, TEXT(VICTIM), 0777, 0);
        break;
    }
    case 48: {
        ASK(90, TEXT(VICTIM), 0777, 0, 0);
        break;
    }
    case 49: {
        ASK(188, TEXT(VICTIM), TEXT("user.drydock"), TEXT("x"), 1);
        break;
    }
    case 50: {
        ASK(190, 2, TEXT("user.drydock"), TEXT("x"), 1);
        break;
    }
    case 51: { /* a signal to another process */
        ASK(62, VICTIM_PROCESS, 9, 0, 0);
        break;
    }
    case 52: { /* nobody hears of refused calls */
        ULONG64 action[4] = {1, 0, 0, 0};
        ASK(13, 31, (ULONG64)(ULONG_PTR)action, 0, 8);
        break;
    }
    case 53: { /* calls in a queue, past the filter */
        ASK(425, 1, TEXT(""), 0, 0);
        break;
    }
    case 54: { /* hang, deaf */
        block_signals();
        sleep_for_ever();
        break;
    }
    case 55: { /* hang up on the parent, and go on */
        block_signals();
        for (ULONG i = 3; i < MOST_FILES; i++)
            ASK(3, i, 0, 0, 0);
        sleep_for_ever();
        break;
    }
    case 56: { /* begin an answer, and go on */
        block_signals();
        for (ULONG i = 3; i < MOST_FILES; i++)
            ASK(1, i, TEXT("x"), 1, 0);
        sleep_for_ever();
        break;
    }
    case 57: { /* print, where a machine that builds looks for commands */
        ASK(1, 1, TEXT("::error ::forged\n"), 17, 0);
        ASK(41, 2, 1, 0, 0);
        break;
    }
    case 35: { /* write through the handle of the device */
        for (ULONG i = 0; i < 16 * 1024; i++)
            ((volatile ULONG *)kernel.DeviceHandle)[i] = 0x41414141;
        break;
    }
    case 39: { /* write over the bench: where it finds whom it tells */
        *(volatile ULONG64 *)(find_bench() + JOURNAL_AT) = 0x4141414141414141;
        break;
    }
    case 37: { /* lose the stack */
        __asm__ volatile("movq $0x1000, %%rsp\n pushq $0" : : : "memory");
        break;
    }
    case 36: { /* write over the way into it */
        *(volatile ULONG *)(ULONG_PTR)kernel.DxgkCbNotifyDpc = 0x90909090;
        break;
    }
    case 31: { /* write over what it is only lent: below */
        break;
    }
    case 58: { /* end the process in order */
        ASK(231, 0, 0, 0, 0);
        break;
    }
    case 59: { /* send a record, and end */
        static const UCHAR record[65536];
        write_everywhere(record, sizeof record);
        ASK(231, 0, 0, 0, 0);
        break;
    }
    case 60: { /* break a rule, and clean the record */
        ASK(41, 2, 1, 0, 0);
        clean_result();
        break;
    }
    case 61: { /* the run has done nothing */
        PUCHAR result = find_result();
        clear(result + RESULT_OPERATIONS, 8);
        clear(result + RESULT_SUBMISSIONS, 8);
        break;
    }
    case 62: { /* no rule is looked at */
        clear(find_result() + RESULT_RULES, RESULT_RULES_BYTES);
        break;
    }
    case 63: { /* a rule with the name of a file elsewhere */
        static const char name[] = "../../escaped";
        ASK(41, 2, 1, 0, 0);
        for (ULONG i = 0; i < sizeof name; i++)
            find_result()[RESULT_FINDINGS + 4 + i] = (UCHAR)name[i];
        break;
    }
    case 64: { /* what a terminal, and a machine that builds, do as they are told */
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "::error ::forged\n");
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "\x1b[2J]]></failure>\"\n");
        KeBugCheckEx(0xdead, 1, 2, 3, 4);
        break;
    }
    case 65: { /* into the results of a campaign */
        static const char line[] = "{\"outcome\":\"clean\"}\n";
        write_everywhere(line, sizeof line - 1);
        break;
    }
    case 66: { /* over the journal */
        *(volatile ULONG64 *)find_journal() = 0;
        break;
    }
    case 67: { /* memory of another process */
        ULONG64 to[2] = {(ULONG64)(ULONG_PTR)to, 8}, from[2] = {0x400000, 8};
        ASK(310, VICTIM_PROCESS, (ULONG64)(ULONG_PTR)to, 1, (ULONG64)(ULONG_PTR)from);
        break;
    }
    case 68: { /* stop it */
        ASK(101, 16, VICTIM_PROCESS, 0, 0);
        break;
    }
    case 69: { /* a file system elsewhere */
        ASK(165, TEXT("/proc"), TEXT("/tmp"), TEXT("none"), 4096);
        break;
    }
    case 70: { /* a program */
        ASK(59, TEXT("/bin/true"), 0, 0, 0);
        break;
    }
    case 71: { /* a process */
        ASK(56, 17, 0, 0, 0);
        break;
    }
    case 72: { /* remove a file of the user */
        ASK(87, TEXT(VICTIM), 0, 0, 0);
        break;
    }
    case 73: { /* read a file of the user in a newer way */
        ULONG64 how[3] = {0, 0, 0};
        ASK(437, HERE, TEXT(VICTIM), (ULONG64)(ULONG_PTR)how, sizeof how);
        break;
    }
    case 75: { /* break a rule, and have written over the function that reports it */
        static ULONG calls;
        const ULONG64 report = find_bench() + REPORT_AT, page = report & ~4095ull;
        if (calls++)
            break;
        ASK(10, page, 8192, 7, 0);
        *(volatile UCHAR *)report = 0xc3;
        ASK(10, page, 8192, 5, 0);
        KfRaiseIrql(DISPATCH_LEVEL);
        break;
    }
    case 74: { /* a queue that stays */
        ASK(240, TEXT("drydock"), 0102, 0600, 0);
        break;
    }
    case 76: { /* fill what it says its errors to, which the parent has open as well */
        static const UCHAR block[1 << 16];
        ULONG64 got = 0;
        for (ULONG i = 0; i < 4096; i++) {
            const LONG64 written = (LONG64)ASK(1, 2, TEXT(block), sizeof block, 0);
            if (written <= 0)
                break;
            got += (ULONG64)written;
        }
        KeBugCheckEx(0xdead, got >> 20, 2, 3, 4);
        break;
    }
    case 77: { /* stop itself: it does not end, and is not running */
        ASK(62, ASK(39, 0, 0, 0, 0), 19, 0, 0);
        break;
    }
    case 78: { /* take over what the bench does where memory is not there, and go on */
        static ULONG calls;
        if (!calls++)
            take_over_signal(11);
        __asm__ volatile("movl $1, (%0)" : : "a"((ULONG64)zero + 8) : "memory");
        break;
    }
    case 79: { /* have code of its own called by the system, in the middle of the bench */
        static ULONG calls;
        if (!calls++)
            take_over_signal(14);
        ASK(62, ASK(39, 0, 0, 0, 0), 14, 0, 0);
        break;
    }
    case 90: { /* have no memory of the thread's own: what the bench finds by FS */
        ASK(158, 0x1002, 0, 0, 0);
        break;
    }
    case 91: { /* take away the code that everything else needs */
        ASK(11, find_library() + 0x28000, 0x150000, 0, 0);
        break;
    }
    case 92: { /* hang up on the parent, and work on */
        for (ULONG i = 3; i < MOST_FILES; i++)
            ASK(3, i, 0, 0, 0);
        break;
    }
    case 93: { /* have the parent told into a file of its own */
        for (ULONG i = 3; i < MOST_FILES; i++)
            ASK(3, i, 0, 0, 0);
        for (ULONG i = 3; i < MOST_FILES; i++)
            ASK(319, TEXT("x"), 0, 0, 0);
        break;
    }
    case 94: {                  /* over the journal, whose page it has opened */
        static BOOLEAN is_done; /* twice would be as though it had not been */
        PUCHAR page = (PUCHAR)find_journal();
        if (is_done)
            break;
        is_done = TRUE;
        ASK(10, (ULONG64)(ULONG_PTR)page, 4096, 3, 0);
        for (ULONG i = 0; i < 24; i++)
            page[i] ^= 0x41;
        break;
    }
    case 95: { /* last words in the name of the bench, with what a terminal does as it is told */
        static const char words[] =
            "assertion failed: \x1b[2J the manager's: a defect of ours\n::error ::forged\n";
        ASK(1, 2, TEXT(words), sizeof words - 1, 0);
        ASK(231, 3, 0, 0, 0);
        break;
    }
    case 96: { /* spoil whatever it has open, so that nobody can read it again */
        for (ULONG i = 3; i < MOST_FILES; i++)
            ASK(77, i, 0, 0, 0);
        KfRaiseIrql(DISPATCH_LEVEL);
        break;
    }
    case 98: { /* leave the processor single-stepping */
        __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" : : : "cc", "memory");
        break;
    }
    }
    __asm__ volatile("" : : : "memory"); /* what was called last comes back here */
}

/* Naked: what they change is not given back. */
#define NAKED(name, code)                                                                          \
    __attribute__((naked)) static NTSTATUS name(void)                                              \
    {                                                                                              \
        __asm__(code "\n xorl %eax, %eax\n ret");                                                  \
    }
NAKED(lose_register, "xorl %esi, %esi")
NAKED(lose_vector, "xorps %xmm6, %xmm6")
NAKED(leave_direction, "std")
NAKED(lose_control_word, "pushq $0x27f\n fldcw (%rsp)\n popq %rax")
NAKED(leave_mmx, "pxor %mm0, %mm0")
NAKED(lose_mxcsr, "pushq $0x7f80\n ldmxcsr (%rsp)\n popq %rax")
NAKED(lose_gs, "xorl %eax, %eax\n wrgsbase %rax")
NAKED(return_to_nowhere, "movabsq $0x4141414141414141, %rax\n movq %rax, (%rsp)")
NAKED(misaligned, "subq $32, %rsp\n call *__imp_KeGetCurrentIrql(%rip)\n addq $32, %rsp")
NAKED(backwards, "subq $40, %rsp\n std\n call *__imp_KeGetCurrentIrql(%rip)\n addq $40, %rsp\n cld")

static PVOID naked_function(ULONG fault)
{
    switch (fault) {
    case 10:
        return (PVOID)(ULONG_PTR)lose_register;
    case 80:
        return (PVOID)(ULONG_PTR)lose_vector;
    case 81:
        return (PVOID)(ULONG_PTR)leave_direction;
    case 82:
        return (PVOID)(ULONG_PTR)lose_control_word;
    case 83:
        return (PVOID)(ULONG_PTR)leave_mmx;
    case 84:
        return (PVOID)(ULONG_PTR)lose_mxcsr;
    case 85:
        return (PVOID)(ULONG_PTR)lose_gs;
    case 86:
        return (PVOID)(ULONG_PTR)misaligned;
    case 87:
        return (PVOID)(ULONG_PTR)backwards;
    case 97:
        return (PVOID)(ULONG_PTR)return_to_nowhere;
    default:
        return NULL;
    }
}

typedef ULONG64 NTAPI any_function(PVOID object, ULONG64 *argument, PVOID third, PVOID fourth,
                                   PVOID fifth);

/* The function that has the fault: what it does in the reference driver, and with how much. */
static any_function *original;
static ULONG argument_bytes;

/* An attack does the work as well: but for the attack there is nothing to be found. */
static ULONG64 NTAPI faulty(PVOID object, ULONG64 *argument, PVOID third, PVOID fourth, PVOID fifth)
{
    if (chosen_number(13) == 31) { /* write over what it is only lent */
        for (ULONG i = 0; i < argument_bytes / sizeof *argument; i++)
            argument[i] = 0x4141414141414141;
    }
    lent_end = (UCHAR *)argument + argument_bytes;
    do_fault();
    return chosen_number(13) < 40 || !original ? STATUS_SUCCESS
                                               : original(object, argument, third, fourth, fifth);
}

static PDXGKDDI_START_DEVICE start_device;

static NTSTATUS NTAPI keep_kernel(PVOID context, PDXGK_START_INFO start, PDXGKRNL_INTERFACE dxgkrnl,
                                  PULONG sources, PULONG children)
{
    kernel = *dxgkrnl;
    return start_device(context, start, dxgkrnl, sources, children);
}

NTSTATUS NTAPI FaultsInitialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
                                PDRIVER_INITIALIZATION_DATA table)
{
    const PVOID naked = naked_function(chosen_number(13));
    const PVOID function = naked ? naked : (PVOID)(ULONG_PTR)faulty;
    DRIVER_INITIALIZATION_DATA changed = *table;

    start_device = table->DxgkDdiStartDevice;
    changed.DxgkDdiStartDevice = keep_kernel;
    switch (chosen_number(21)) {
    case 0:
        changed.DxgkDdiStartDevice = start_device;
        do_fault();
        break;
#define SLOT(number, name, bytes)                                                                  \
    case number:                                                                                   \
        original = (any_function *)(ULONG_PTR)changed.DxgkDdi##name;                               \
        *(PVOID *)&changed.DxgkDdi##name = function;                                               \
        argument_bytes = bytes;                                                                    \
        break;
#include SLOTS
    }
    return DxgkInitialize(driver, path, &changed);
}
