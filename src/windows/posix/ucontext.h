/* The state of a thread at a fault. Nothing here reads it (../faults.c). */
#ifndef DRYDOCK_POSIX_UCONTEXT_H
#define DRYDOCK_POSIX_UCONTEXT_H

typedef struct ucontext ucontext_t;

#endif
