/*
 * What the compiler's header of intrinsics names of non-local jumps: 256 bytes for the registers
 * that the x64 convention keeps. The kernel exports no longjmp that a driver may call.
 */
#ifndef DRYDOCK_CRT_SETJMP_H
#define DRYDOCK_CRT_SETJMP_H

typedef struct __attribute__((aligned(16))) _SETJMP_FLOAT128 {
    unsigned long long Part[2];
} SETJMP_FLOAT128, _JBTYPE;

typedef _JBTYPE jmp_buf[16];

#endif
