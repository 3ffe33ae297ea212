/*
 * Intrinsics of the x64 compiler, as Microsoft's page "x64 (amd64) intrinsics list" has them: the
 * compiler's own header, and the instructions of a kernel that it declares and does not know. None
 * of virtual machines (VMX, SVM) is among them.
 */
#ifndef DRYDOCK_CRT_INTRIN_H
#define DRYDOCK_CRT_INTRIN_H

#include_next <intrin.h>

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Always part of its caller: there is no function of the name to link with. */
#define DRYDOCK_INTRINSIC extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* ---- Ports ----------------------------------------------------------------------------------- */

/* The reads and writes of one size: type is the value's, suffix and part those of the assembler. */
#define DRYDOCK_PORT(name, type, suffix, part)                                                     \
    DRYDOCK_INTRINSIC type __in##name(unsigned short port)                                         \
    {                                                                                              \
        type value;                                                                                \
                                                                                                   \
        __asm__ volatile("in" suffix " %w1, %" part "0" : "=a"(value) : "Nd"(port) : "memory");    \
        return value;                                                                              \
    }                                                                                              \
    DRYDOCK_INTRINSIC void __out##name(unsigned short port, type value)                            \
    {                                                                                              \
        __asm__ volatile("out" suffix " %" part "0, %w1" : : "a"(value), "Nd"(port) : "memory");   \
    }                                                                                              \
    DRYDOCK_INTRINSIC void __in##name##string(unsigned short port, type *values,                   \
                                              unsigned long count)                                 \
    {                                                                                              \
        for (unsigned long i = 0; i < count; i++)                                                  \
            values[i] = __in##name(port);                                                          \
    }                                                                                              \
    DRYDOCK_INTRINSIC void __out##name##string(unsigned short port, type *values,                  \
                                               unsigned long count)                                \
    {                                                                                              \
        for (unsigned long i = 0; i < count; i++)                                                  \
            __out##name(port, values[i]);                                                          \
    }

DRYDOCK_PORT(byte, unsigned char, "b", "b")
DRYDOCK_PORT(word, unsigned short, "w", "w")
DRYDOCK_PORT(dword, unsigned long, "l", "k")

#undef DRYDOCK_PORT

/* ---- Registers of the processor -------------------------------------------------------------- */

#define DRYDOCK_CONTROL_REGISTER(number)                                                           \
    DRYDOCK_INTRINSIC unsigned long __readcr##number(void)                                         \
    {                                                                                              \
        unsigned long long value;                                                                  \
                                                                                                   \
        __asm__ volatile("movq %%cr" #number ", %0" : "=r"(value) : : "memory");                   \
        return (unsigned long)value;                                                               \
    }

DRYDOCK_CONTROL_REGISTER(0)
DRYDOCK_CONTROL_REGISTER(2)
DRYDOCK_CONTROL_REGISTER(4)
DRYDOCK_CONTROL_REGISTER(8)

#undef DRYDOCK_CONTROL_REGISTER

#define DRYDOCK_CONTROL_REGISTER(number)                                                           \
    DRYDOCK_INTRINSIC void __writecr##number(unsigned int value)                                   \
    {                                                                                              \
        __asm__ volatile("movq %0, %%cr" #number : : "r"((unsigned long long)value) : "memory");   \
    }

DRYDOCK_CONTROL_REGISTER(0)
DRYDOCK_CONTROL_REGISTER(4)
DRYDOCK_CONTROL_REGISTER(8)

#undef DRYDOCK_CONTROL_REGISTER

DRYDOCK_INTRINSIC void __writemsr(unsigned long number, unsigned __int64 value)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(number), "a"((unsigned int)value), "d"((unsigned int)(value >> 32))
                     : "memory");
}

DRYDOCK_INTRINSIC unsigned __int64 __readpmc(unsigned long number)
{
    unsigned int low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    return (unsigned __int64)high << 32 | low;
}

DRYDOCK_INTRINSIC unsigned long __segmentlimit(unsigned long selector)
{
    unsigned int limit = 0;

    __asm__ volatile("lsll %1, %0" : "+r"(limit) : "r"((unsigned int)selector) : "cc");
    return limit;
}

DRYDOCK_INTRINSIC void __sidt(void *descriptor)
{
    __asm__ volatile("sidt %0" : "=m"(*(char(*)[10])descriptor));
}

DRYDOCK_INTRINSIC void __lidt(void *descriptor)
{
    __asm__ volatile("lidt %0" : : "m"(*(char(*)[10])descriptor));
}

DRYDOCK_INTRINSIC void _sgdt(void *descriptor)
{
    __asm__ volatile("sgdt %0" : "=m"(*(char(*)[10])descriptor));
}

DRYDOCK_INTRINSIC void _lgdt(void *descriptor)
{
    __asm__ volatile("lgdt %0" : : "m"(*(char(*)[10])descriptor));
}

/* The bases of FS and GS; the compiler has them for processors of its choice alone. */
#define DRYDOCK_SEGMENT_BASE(segment)                                                              \
    DRYDOCK_INTRINSIC unsigned __int64 _read##segment##base_u64(void)                              \
    {                                                                                              \
        unsigned __int64 base;                                                                     \
                                                                                                   \
        __asm__ volatile("rd" #segment "base %0" : "=r"(base));                                    \
        return base;                                                                               \
    }                                                                                              \
    DRYDOCK_INTRINSIC unsigned int _read##segment##base_u32(void)                                  \
    {                                                                                              \
        return (unsigned int)_read##segment##base_u64();                                           \
    }                                                                                              \
    DRYDOCK_INTRINSIC void _write##segment##base_u64(unsigned __int64 base)                        \
    {                                                                                              \
        __asm__ volatile("wr" #segment "base %0" : : "r"(base) : "memory");                        \
    }                                                                                              \
    DRYDOCK_INTRINSIC void _write##segment##base_u32(unsigned int base)                            \
    {                                                                                              \
        _write##segment##base_u64(base);                                                           \
    }

#ifndef __FSGSBASE__
DRYDOCK_SEGMENT_BASE(fs)
DRYDOCK_SEGMENT_BASE(gs)
#endif

#undef DRYDOCK_SEGMENT_BASE

DRYDOCK_INTRINSIC unsigned int __getcallerseflags(void)
{
    return (unsigned int)__builtin_ia32_readeflags_u64();
}

/* ---- Interrupts, caches ---------------------------------------------------------------------- */

DRYDOCK_INTRINSIC void __cdecl _disable(void)
{
    __asm__ volatile("cli" : : : "memory");
}

DRYDOCK_INTRINSIC void __cdecl _enable(void)
{
    __asm__ volatile("sti" : : : "memory");
}

DRYDOCK_INTRINSIC void __wbinvd(void)
{
    __asm__ volatile("wbinvd" : : : "memory");
}

DRYDOCK_INTRINSIC void __invlpg(void *address)
{
    __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

/* ---- Memory of the processor: behind GS ------------------------------------------------------ */

#define DRYDOCK_GS(name, type, suffix, constraint)                                                 \
    DRYDOCK_INTRINSIC void __writegs##name(unsigned long offset, type value)                       \
    {                                                                                              \
        __asm__ volatile("mov" suffix " %0, %%gs:(%q1)"                                            \
                         :                                                                         \
                         : constraint(value), "r"((unsigned long long)offset)                      \
                         : "memory");                                                              \
    }                                                                                              \
    DRYDOCK_INTRINSIC void __addgs##name(unsigned long offset, type value)                         \
    {                                                                                              \
        __asm__ volatile("add" suffix " %0, %%gs:(%q1)"                                            \
                         :                                                                         \
                         : constraint(value), "r"((unsigned long long)offset)                      \
                         : "memory", "cc");                                                        \
    }                                                                                              \
    DRYDOCK_INTRINSIC void __incgs##name(unsigned long offset)                                     \
    {                                                                                              \
        __addgs##name(offset, 1);                                                                  \
    }

DRYDOCK_GS(byte, unsigned char, "b", "q")
DRYDOCK_GS(word, unsigned short, "w", "r")
DRYDOCK_GS(dword, unsigned long, "l", "r")
DRYDOCK_GS(qword, unsigned __int64, "q", "r")

#undef DRYDOCK_GS

/* ---- Numbers --------------------------------------------------------------------------------- */

DRYDOCK_INTRINSIC unsigned __int64 __ll_lshift(unsigned __int64 value, int count)
{
    return value << (count & 63);
}

DRYDOCK_INTRINSIC __int64 __ll_rshift(__int64 value, int count)
{
    return value >> (count & 63);
}

DRYDOCK_INTRINSIC unsigned __int64 __ull_rshift(unsigned __int64 value, int count)
{
    return value >> (count & 63);
}

DRYDOCK_INTRINSIC long _InterlockedAddLargeStatistic(__int64 volatile *addend, long value)
{
    __atomic_fetch_add(addend, value, __ATOMIC_RELAXED);
    return value;
}

/* The forms without prefetching are the others here. */
#define _InterlockedAnd_np                    _InterlockedAnd
#define _InterlockedAnd8_np                   _InterlockedAnd8
#define _InterlockedAnd16_np                  _InterlockedAnd16
#define _InterlockedAnd64_np                  _InterlockedAnd64
#define _InterlockedOr_np                     _InterlockedOr
#define _InterlockedOr8_np                    _InterlockedOr8
#define _InterlockedOr16_np                   _InterlockedOr16
#define _InterlockedOr64_np                   _InterlockedOr64
#define _InterlockedXor_np                    _InterlockedXor
#define _InterlockedXor8_np                   _InterlockedXor8
#define _InterlockedXor16_np                  _InterlockedXor16
#define _InterlockedXor64_np                  _InterlockedXor64
#define _InterlockedCompareExchange_np        _InterlockedCompareExchange
#define _InterlockedCompareExchange16_np      _InterlockedCompareExchange16
#define _InterlockedCompareExchange64_np      _InterlockedCompareExchange64
#define _InterlockedCompareExchange128_np     _InterlockedCompareExchange128
#define _InterlockedCompareExchangePointer_np _InterlockedCompareExchangePointer

#ifdef __cplusplus
}
#endif

#endif
