/*
 * What compilers know without a call: instructions of a kernel, interlocked operations, bytes in
 * another order. Part of the driver of tests/images/services.sh; what is not as it is at home stops
 * the machine with bug check 0xbad, whose first parameter is the line.
 */
#include <ntddk.h>

#include <intrin.h>
#include <malloc.h>
#include <setjmp.h>
#include <sys/types.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            KeBugCheckEx(0xbad, __LINE__, 0, 0, 0);                                                \
    } while (0)

C_ASSERT(sizeof(jmp_buf) == 256);
C_ASSERT(sizeof(time_t) == 8 && sizeof(off_t) == 4 && sizeof(dev_t) == 4 && sizeof(ino_t) == 2);

static void use_ports(void)
{
    USHORT words[2] = {3, 4};

    REQUIRE(__inbyte(0x61) == 0xff && __inword(0x61) == 0xffff && __indword(0x61) == 0xffffffff);
    __outbyte(0x61, 7);
    REQUIRE(__inbyte(0x61) == 7 && READ_PORT_UCHAR((PUCHAR)0x61) == 7);
    __outword(0x62, 0x1234);
    __outdword(0x64, 0x12345678);
    REQUIRE(__inword(0x62) == 0x1234 && __indword(0x64) == 0x12345678 && __inbyte(0x64) == 0x78);
    __outwordstring(0x62, words, 2);
    __inwordstring(0x62, words, 2);
    REQUIRE(words[0] == 4 && words[1] == 4);
}

static void use_registers(void)
{
    _disable();
    _enable();
    REQUIRE(__readcr8() == KeGetCurrentIrql());
    __writecr8(DISPATCH_LEVEL);
    REQUIRE(KeGetCurrentIrql() == DISPATCH_LEVEL);
    __writecr8(PASSIVE_LEVEL);
    REQUIRE(__readcr8() == PASSIVE_LEVEL);
    __wbinvd();
    __invlpg(&use_ports);
    REQUIRE(__getcallerseflags() & 2); /* a bit that is always set */
}

static void use_numbers(void)
{
    char *room = (char *)_alloca(32);

    room[31] = 5;
    REQUIRE(room[31] == 5);
    REQUIRE(_byteswap_ushort(0x1234) == 0x3412 && _byteswap_ulong(0x12345678) == 0x78563412);
    REQUIRE(_byteswap_uint64(1) == 1ull << 56);
    REQUIRE(__ll_lshift(1, 65) == 2 && __ll_rshift(-4, 1) == -2 && __ull_rshift(8, 2) == 2);
}

static void use_memory_together(void)
{
    SHORT half = 5;
    LONG word = 5, bits[2] = {0, 0};
    LONG64 wide = 5, pair[2] __attribute__((aligned(16))) = {1, 2}, expected[2] = {1, 2};
    PVOID pointer = &half;

    REQUIRE(InterlockedXor(&word, 1) == 5 && InterlockedAdd(&word, 3) == 7 && word == 7);
    REQUIRE(InterlockedExchangeAdd64(&wide, 2) == 5 && InterlockedAnd64(&wide, 3) == 7);
    REQUIRE(wide == 3 && InterlockedIncrement16(&half) == 6);
    REQUIRE(InterlockedCompareExchangeAcquire(&word, 9, 7) == 7 && word == 9);
    REQUIRE(InterlockedIncrementNoFence(&word) == 10 && InterlockedOr64Release(&wide, 4) == 3);
    REQUIRE(InterlockedExchangePointer(&pointer, &word) == &half && pointer == &word);
    REQUIRE(!InterlockedBitTestAndSet(bits, 33) && bits[1] == 2 && bits[0] == 0);
    REQUIRE(InterlockedBitTestAndComplement(bits, 33) && bits[1] == 0);
    REQUIRE(!InterlockedBitTestAndReset64(&wide, 4) && wide == 7);
    REQUIRE(_InterlockedAnd_np(&word, 2) == 10 && word == 2);
    REQUIRE(_InterlockedCompareExchange128(pair, 4, 3, expected) && pair[0] == 3 && pair[1] == 4);
    YieldProcessor();
    MemoryBarrier();
}

VOID use_intrinsics(VOID)
{
    use_ports();
    use_registers();
    use_numbers();
    use_memory_together();
}
