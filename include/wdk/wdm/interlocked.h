/*
 * Interlocked operations: on 8, 16, 32 and 64 bits, on pointers and on single bits.
 *
 * Place   include/wdk/wdm. All are full barriers, those of the names with Acquire, Release and
 *         NoFence too, which promise less. Increment, Decrement and Add return the new value, all
 *         others the old one.
 * Source  The pages of winnt.h's synchronization functions, KeMemoryBarrier's, YieldProcessor's.
 */
#ifndef WDM_INTERLOCKED_H
#define WDM_INTERLOCKED_H

#include "base.h"

/* One operation under one name, for one type. */
#define DRYDOCK_INTERLOCKED(name, type, operation)                                                 \
    FORCEINLINE type name(type volatile *Target, type Value)                                       \
    {                                                                                              \
        return operation(Target, Value, __ATOMIC_SEQ_CST);                                         \
    }
#define DRYDOCK_INTERLOCKED_STEP(name, type, operation)                                            \
    FORCEINLINE type name(type volatile *Target)                                                   \
    {                                                                                              \
        return operation(Target, 1, __ATOMIC_SEQ_CST);                                             \
    }
#define DRYDOCK_INTERLOCKED_COMPARE(name, type)                                                    \
    FORCEINLINE type name(type volatile *Destination, type Exchange, type Comparand)               \
    {                                                                                              \
        __atomic_compare_exchange_n(Destination, &Comparand, Exchange, FALSE, __ATOMIC_SEQ_CST,    \
                                    __ATOMIC_SEQ_CST);                                             \
        return Comparand;                                                                          \
    }

/* The same in all strengths. Where a size ends the name, it is before the strength or behind it. */
#define DRYDOCK_INTERLOCKED_BITS(name, type, operation)                                            \
    DRYDOCK_INTERLOCKED(name, type, operation)                                                     \
    DRYDOCK_INTERLOCKED(name##Acquire, type, operation)                                            \
    DRYDOCK_INTERLOCKED(name##Release, type, operation)                                            \
    DRYDOCK_INTERLOCKED(name##NoFence, type, operation)
#define DRYDOCK_INTERLOCKED_ALL(name, size, type, operation)                                       \
    DRYDOCK_INTERLOCKED(name##size, type, operation)                                               \
    DRYDOCK_INTERLOCKED(name##Acquire##size, type, operation)                                      \
    DRYDOCK_INTERLOCKED(name##Release##size, type, operation)                                      \
    DRYDOCK_INTERLOCKED(name##NoFence##size, type, operation)
#define DRYDOCK_INTERLOCKED_STEPS(name, size, type, operation)                                     \
    DRYDOCK_INTERLOCKED_STEP(name##size, type, operation)                                          \
    DRYDOCK_INTERLOCKED_STEP(name##Acquire##size, type, operation)                                 \
    DRYDOCK_INTERLOCKED_STEP(name##Release##size, type, operation)                                 \
    DRYDOCK_INTERLOCKED_STEP(name##NoFence##size, type, operation)

/* What there is of each size. */
#define DRYDOCK_INTERLOCKED_SIZE(size, type)                                                       \
    DRYDOCK_INTERLOCKED_STEPS(InterlockedIncrement, size, type, __atomic_add_fetch)                \
    DRYDOCK_INTERLOCKED_STEPS(InterlockedDecrement, size, type, __atomic_sub_fetch)                \
    DRYDOCK_INTERLOCKED_ALL(InterlockedExchange, size, type, __atomic_exchange_n)                  \
    DRYDOCK_INTERLOCKED_ALL(InterlockedExchangeAdd, size, type, __atomic_fetch_add)                \
    DRYDOCK_INTERLOCKED_ALL(InterlockedAdd, size, type, __atomic_add_fetch)                        \
    DRYDOCK_INTERLOCKED_BITS(InterlockedAnd##size, type, __atomic_fetch_and)                       \
    DRYDOCK_INTERLOCKED_BITS(InterlockedOr##size, type, __atomic_fetch_or)                         \
    DRYDOCK_INTERLOCKED_BITS(InterlockedXor##size, type, __atomic_fetch_xor)                       \
    DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchange##size, type)                            \
    DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangeAcquire##size, type)                     \
    DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangeRelease##size, type)                     \
    DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangeNoFence##size, type)

DRYDOCK_INTERLOCKED_SIZE(16, SHORT)
DRYDOCK_INTERLOCKED_SIZE(, LONG)
DRYDOCK_INTERLOCKED_SIZE(64, LONG64)
DRYDOCK_INTERLOCKED(InterlockedExchange8, CHAR, __atomic_exchange_n)
DRYDOCK_INTERLOCKED(InterlockedAnd8, CHAR, __atomic_fetch_and)
DRYDOCK_INTERLOCKED(InterlockedOr8, CHAR, __atomic_fetch_or)
DRYDOCK_INTERLOCKED(InterlockedXor8, CHAR, __atomic_fetch_xor)
DRYDOCK_INTERLOCKED(InterlockedExchangePointer, PVOID, __atomic_exchange_n)
DRYDOCK_INTERLOCKED(InterlockedExchangePointerAcquire, PVOID, __atomic_exchange_n)
DRYDOCK_INTERLOCKED(InterlockedExchangePointerNoFence, PVOID, __atomic_exchange_n)
DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangePointer, PVOID)
DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangePointerAcquire, PVOID)
DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangePointerRelease, PVOID)
DRYDOCK_INTERLOCKED_COMPARE(InterlockedCompareExchangePointerNoFence, PVOID)

/* Single bits, counted from bit 0 of the first number on; the bit's old value. */
#define DRYDOCK_INTERLOCKED_BIT(name, type, operation, bits)                                       \
    FORCEINLINE BOOLEAN name(type volatile *Base, type Bit)                                        \
    {                                                                                              \
        const type mask = (type)1 << (Bit & (bits - 1));                                           \
                                                                                                   \
        return (operation(Base + Bit / bits, mask) & mask) != 0;                                   \
    }
#define DRYDOCK_FETCH_SET(at, mask)        __atomic_fetch_or(at, mask, __ATOMIC_SEQ_CST)
#define DRYDOCK_FETCH_RESET(at, mask)      __atomic_fetch_and(at, ~(mask), __ATOMIC_SEQ_CST)
#define DRYDOCK_FETCH_COMPLEMENT(at, mask) __atomic_fetch_xor(at, mask, __ATOMIC_SEQ_CST)

DRYDOCK_INTERLOCKED_BIT(InterlockedBitTestAndSet, LONG, DRYDOCK_FETCH_SET, 32)
DRYDOCK_INTERLOCKED_BIT(InterlockedBitTestAndReset, LONG, DRYDOCK_FETCH_RESET, 32)
DRYDOCK_INTERLOCKED_BIT(InterlockedBitTestAndComplement, LONG, DRYDOCK_FETCH_COMPLEMENT, 32)
DRYDOCK_INTERLOCKED_BIT(InterlockedBitTestAndSet64, LONG64, DRYDOCK_FETCH_SET, 64)
DRYDOCK_INTERLOCKED_BIT(InterlockedBitTestAndReset64, LONG64, DRYDOCK_FETCH_RESET, 64)
DRYDOCK_INTERLOCKED_BIT(InterlockedBitTestAndComplement64, LONG64, DRYDOCK_FETCH_COMPLEMENT, 64)

#undef DRYDOCK_FETCH_SET
#undef DRYDOCK_FETCH_RESET
#undef DRYDOCK_FETCH_COMPLEMENT
#undef DRYDOCK_INTERLOCKED_BIT
#undef DRYDOCK_INTERLOCKED_SIZE
#undef DRYDOCK_INTERLOCKED_STEPS
#undef DRYDOCK_INTERLOCKED_ALL
#undef DRYDOCK_INTERLOCKED_BITS
#undef DRYDOCK_INTERLOCKED_COMPARE
#undef DRYDOCK_INTERLOCKED_STEP
#undef DRYDOCK_INTERLOCKED

#define KeMemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#ifndef MemoryBarrier
#define MemoryBarrier() KeMemoryBarrier()
#endif
/* Another thread of the processor may run while this one waits. */
#ifdef __x86_64__
#define YieldProcessor() __builtin_ia32_pause()
#else
#define YieldProcessor() ((void)0)
#endif

#endif
