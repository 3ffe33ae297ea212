/*
 * Arithmetic that tells when it does not fit: Rtl<Type>Add, Sub, Mult, and conversions
 * Rtl<Type>To<Type>.
 *
 * Place   include/wdk, above windef.h.
 * Errors  STATUS_INTEGER_OVERFLOW, and the result has all bits set, or is -1 where it is signed.
 * Source  Public documentation of Ntintsafe.h.
 */
#ifndef _NTINTSAFE_H_INCLUDED_
#define _NTINTSAFE_H_INCLUDED_

#include "ntstatus.h"
#include "windef.h"

#define NTINTSAFE_OPERATION(name, type, builtin)                                                   \
    FORCEINLINE NTSTATUS name(type first, type second, type *result)                               \
    {                                                                                              \
        if (!builtin(first, second, result))                                                       \
            return STATUS_SUCCESS;                                                                 \
        *result = (type)-1;                                                                        \
        return STATUS_INTEGER_OVERFLOW;                                                            \
    }
#define NTINTSAFE_OPERATIONS(name, type)                                                           \
    NTINTSAFE_OPERATION(Rtl##name##Add, type, __builtin_add_overflow)                              \
    NTINTSAFE_OPERATION(Rtl##name##Sub, type, __builtin_sub_overflow)                              \
    NTINTSAFE_OPERATION(Rtl##name##Mult, type, __builtin_mul_overflow)

NTINTSAFE_OPERATIONS(UInt8, UINT8)
NTINTSAFE_OPERATIONS(UShort, USHORT)
NTINTSAFE_OPERATIONS(UInt, UINT)
NTINTSAFE_OPERATIONS(ULong, ULONG)
NTINTSAFE_OPERATIONS(ULongLong, ULONGLONG)
NTINTSAFE_OPERATIONS(UIntPtr, UINT_PTR)
NTINTSAFE_OPERATIONS(ULongPtr, ULONG_PTR)
NTINTSAFE_OPERATIONS(SizeT, SIZE_T)
NTINTSAFE_OPERATIONS(DWord, DWORD)
NTINTSAFE_OPERATIONS(DWordPtr, DWORD_PTR)
NTINTSAFE_OPERATIONS(Int8, INT8)
NTINTSAFE_OPERATIONS(Short, SHORT)
NTINTSAFE_OPERATIONS(Int, INT)
NTINTSAFE_OPERATIONS(Long, LONG)
NTINTSAFE_OPERATIONS(LongLong, LONGLONG)
NTINTSAFE_OPERATIONS(IntPtr, INT_PTR)
NTINTSAFE_OPERATIONS(LongPtr, LONG_PTR)
NTINTSAFE_OPERATIONS(PtrdiffT, INT_PTR)
NTINTSAFE_OPERATIONS(SSIZET, SSIZE_T)

#define NTINTSAFE_CONVERSION(name, from, to)                                                       \
    FORCEINLINE NTSTATUS name(from operand, to *result)                                            \
    {                                                                                              \
        if (!__builtin_add_overflow(operand, (from)0, result))                                     \
            return STATUS_SUCCESS;                                                                 \
        *result = (to)-1;                                                                          \
        return STATUS_INTEGER_OVERFLOW;                                                            \
    }
#define NTINTSAFE_CONVERSIONS(name, from)                                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToChar, from, CHAR)                                            \
    NTINTSAFE_CONVERSION(Rtl##name##ToInt8, from, INT8)                                            \
    NTINTSAFE_CONVERSION(Rtl##name##ToUChar, from, UCHAR)                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToUInt8, from, UINT8)                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToShort, from, SHORT)                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToInt16, from, INT16)                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToUShort, from, USHORT)                                        \
    NTINTSAFE_CONVERSION(Rtl##name##ToUInt16, from, UINT16)                                        \
    NTINTSAFE_CONVERSION(Rtl##name##ToInt, from, INT)                                              \
    NTINTSAFE_CONVERSION(Rtl##name##ToUInt, from, UINT)                                            \
    NTINTSAFE_CONVERSION(Rtl##name##ToLong, from, LONG)                                            \
    NTINTSAFE_CONVERSION(Rtl##name##ToULong, from, ULONG)                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToDWord, from, DWORD)                                          \
    NTINTSAFE_CONVERSION(Rtl##name##ToLongLong, from, LONGLONG)                                    \
    NTINTSAFE_CONVERSION(Rtl##name##ToULongLong, from, ULONGLONG)                                  \
    NTINTSAFE_CONVERSION(Rtl##name##ToIntPtr, from, INT_PTR)                                       \
    NTINTSAFE_CONVERSION(Rtl##name##ToUIntPtr, from, UINT_PTR)                                     \
    NTINTSAFE_CONVERSION(Rtl##name##ToLongPtr, from, LONG_PTR)                                     \
    NTINTSAFE_CONVERSION(Rtl##name##ToULongPtr, from, ULONG_PTR)                                   \
    NTINTSAFE_CONVERSION(Rtl##name##ToDWordPtr, from, DWORD_PTR)                                   \
    NTINTSAFE_CONVERSION(Rtl##name##ToSizeT, from, SIZE_T)                                         \
    NTINTSAFE_CONVERSION(Rtl##name##ToSSIZET, from, SSIZE_T)                                       \
    NTINTSAFE_CONVERSION(Rtl##name##ToPtrdiffT, from, INT_PTR)

NTINTSAFE_CONVERSIONS(Byte, BYTE)
NTINTSAFE_CONVERSIONS(Int8, INT8)
NTINTSAFE_CONVERSIONS(UInt8, UINT8)
NTINTSAFE_CONVERSIONS(Short, SHORT)
NTINTSAFE_CONVERSIONS(UShort, USHORT)
NTINTSAFE_CONVERSIONS(Int, INT)
NTINTSAFE_CONVERSIONS(UInt, UINT)
NTINTSAFE_CONVERSIONS(Long, LONG)
NTINTSAFE_CONVERSIONS(ULong, ULONG)
NTINTSAFE_CONVERSIONS(DWord, DWORD)
NTINTSAFE_CONVERSIONS(LongLong, LONGLONG)
NTINTSAFE_CONVERSIONS(ULongLong, ULONGLONG)
NTINTSAFE_CONVERSIONS(IntPtr, INT_PTR)
NTINTSAFE_CONVERSIONS(UIntPtr, UINT_PTR)
NTINTSAFE_CONVERSIONS(LongPtr, LONG_PTR)
NTINTSAFE_CONVERSIONS(ULongPtr, ULONG_PTR)
NTINTSAFE_CONVERSIONS(DWordPtr, DWORD_PTR)
NTINTSAFE_CONVERSIONS(SizeT, SIZE_T)
NTINTSAFE_CONVERSIONS(SSIZET, SSIZE_T)
NTINTSAFE_CONVERSIONS(PtrdiffT, INT_PTR)

#endif
