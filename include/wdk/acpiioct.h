/*
 * Evaluation of ACPI control methods: what DxgkCbEvalAcpiMethod takes and gives.
 *
 * Place   include/wdk, above windef.h. Included by dispmprt.h.
 * Source  Public documentation of Acpiioct.h: the pages of ACPI_EVAL_INPUT_BUFFER, its
 *         SIMPLE_INTEGER and COMPLEX forms, ACPI_EVAL_OUTPUT_BUFFER and ACPI_METHOD_ARGUMENT.
 *         Values of signatures are their letters, as published drivers compare them.
 */
#ifndef _ACPIIOCT_H_
#define _ACPIIOCT_H_

#include "windef.h"

#define ACPI_EVAL_INPUT_BUFFER_SIGNATURE                0x42696541u /* 'BieA', read from the left */
#define ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER_SIGNATURE 0x49696541u /* 'IieA' */
#define ACPI_EVAL_INPUT_BUFFER_SIMPLE_STRING_SIGNATURE  0x53696541u /* 'SieA' */
#define ACPI_EVAL_INPUT_BUFFER_COMPLEX_SIGNATURE        0x43696541u /* 'CieA' */
#define ACPI_EVAL_OUTPUT_BUFFER_SIGNATURE               0x426f6541u /* 'BoeA' */

#define ACPI_METHOD_ARGUMENT_INTEGER    0x0
#define ACPI_METHOD_ARGUMENT_STRING     0x1
#define ACPI_METHOD_ARGUMENT_BUFFER     0x2
#define ACPI_METHOD_ARGUMENT_PACKAGE    0x3
#define ACPI_METHOD_ARGUMENT_PACKAGE_EX 0x4

typedef struct _ACPI_METHOD_ARGUMENT {
    USHORT Type;
    USHORT DataLength;
    union {
        ULONG Argument;
        UCHAR Data[1];
    };
} ACPI_METHOD_ARGUMENT, *PACPI_METHOD_ARGUMENT;

typedef struct _ACPI_EVAL_INPUT_BUFFER {
    ULONG Signature;
    union {
        UCHAR MethodName[4];
        ULONG MethodNameAsUlong;
    };
} ACPI_EVAL_INPUT_BUFFER, *PACPI_EVAL_INPUT_BUFFER;

typedef struct _ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER {
    ULONG Signature;
    union {
        UCHAR MethodName[4];
        ULONG MethodNameAsUlong;
    };
    ULONG IntegerArgument;
} ACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER, *PACPI_EVAL_INPUT_BUFFER_SIMPLE_INTEGER;

/*
 * Size counts the bytes of the argument array, as the page has it; drivers give those of the whole
 * buffer, too.
 */
typedef struct _ACPI_EVAL_INPUT_BUFFER_COMPLEX {
    ULONG Signature;
    union {
        UCHAR MethodName[4];
        ULONG MethodNameAsUlong;
    };
    ULONG Size;
    ULONG ArgumentCount;
    ACPI_METHOD_ARGUMENT Argument[1];
} ACPI_EVAL_INPUT_BUFFER_COMPLEX, *PACPI_EVAL_INPUT_BUFFER_COMPLEX;

/* Length counts the bytes of the whole buffer, Count its arguments. */
typedef struct _ACPI_EVAL_OUTPUT_BUFFER {
    ULONG Signature;
    ULONG Length;
    ULONG Count;
    ACPI_METHOD_ARGUMENT Argument[1];
} ACPI_EVAL_OUTPUT_BUFFER, *PACPI_EVAL_OUTPUT_BUFFER;

/* An argument with so much data: never less than the structure. */
#define ACPI_METHOD_ARGUMENT_LENGTH(bytes)                                                         \
    (FIELD_OFFSET(ACPI_METHOD_ARGUMENT, Data) + (bytes) > sizeof(ACPI_METHOD_ARGUMENT)             \
         ? FIELD_OFFSET(ACPI_METHOD_ARGUMENT, Data) + (bytes)                                      \
         : sizeof(ACPI_METHOD_ARGUMENT))
#define ACPI_METHOD_ARGUMENT_LENGTH_FROM_ARGUMENT(argument)                                        \
    (ACPI_METHOD_ARGUMENT_LENGTH((argument)->DataLength))
#define ACPI_METHOD_NEXT_ARGUMENT(argument)                                                        \
    ((PACPI_METHOD_ARGUMENT)((PUCHAR)(argument) +                                                  \
                             ACPI_METHOD_ARGUMENT_LENGTH_FROM_ARGUMENT(argument)))
#define ACPI_METHOD_SET_ARGUMENT_INTEGER(argument, value)                                          \
    do {                                                                                           \
        (argument)->Type = ACPI_METHOD_ARGUMENT_INTEGER;                                           \
        (argument)->DataLength = sizeof(ULONG);                                                    \
        (argument)->Argument = (value);                                                            \
    } while (0)

#endif
