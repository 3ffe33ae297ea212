/*
 * Unwinding: from a place in a function of a loaded image to the place that called it.
 *
 * Place      image. For backtraces, and for dispatching exceptions.
 * Model      A context holds rip, rsp and the registers that calls preserve: the caller of a
 *            function may rely on these. image_unwind_step() finds the function of rip in the
 *            image's function table and undoes its effects so far:
 *
 *                in the prolog     the codes whose instructions were executed
 *                in an epilog      the instructions that are left are followed; version 2 of the
 *                                  unwind information says where epilogs are, for version 1 the
 *                                  instructions from rip on must look like the rest of one
 *                elsewhere         all codes, and those of the functions to which it is chained
 *                no table entry    a leaf function: its return address is at rsp
 *
 *            A machine frame (what the processor pushes for an interrupt) gives rip and rsp itself.
 *            Codes and instructions are read from the file, so a driver that has destroyed its
 *            image can still be unwound. The stack is read by the caller's function only.
 * Errors     bool, and a sentence where error is not NULL. A context stays as it was on failure.
 *            One step is always finite; a walk is not if the stack is damaged: bound it.
 * Threads    As image.h says: no lock, no allocation. With error NULL fit for a signal handler.
 * Units      Registers are numbered as in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi,
 *            r8...
 * Source     Documentation of x64 exception handling, of prologs and epilogs; version 2 by LLVM's
 *            tools.
 */
#ifndef DRYDOCK_IMAGE_UNWIND_H
#define DRYDOCK_IMAGE_UNWIND_H

#include "image/image.h"

enum { IMAGE_RSP = 4 };

struct image_vector {
    uint64_t low, high;
};

struct image_context {
    uint64_t rip;
    uint64_t general[16];
    struct image_vector vector[16];
};

/* Reads bytes of the stack; false where there are none. */
struct image_memory {
    bool (*read)(void *context, uint64_t address, void *out, size_t size);
    void *context;
};

enum image_frame_place {
    IMAGE_IN_LEAF,
    IMAGE_IN_PROLOG,
    IMAGE_IN_BODY,
    IMAGE_IN_EPILOG,
};

struct image_frame {
    enum image_frame_place place;
    struct image_function function; /* zero for a leaf */
    uint64_t establisher;           /* handlers get it as their frame */
    /*
     * The handler of the function, or of the function to which it is chained. 0: there is no
     * handler, or rip was not in the body: handlers count nowhere else.
     */
    uint32_t handler_rva;
    uint32_t handler_data_rva;
    bool handles_exceptions, handles_unwinding;
    bool is_machine_frame; /* the new rip is where an interrupt came, not behind a call */
};

/* The frame describes the function that the context was in. */
bool image_unwind_step(const struct image *image, struct image_context *context,
                       const struct image_memory *memory, struct image_frame *frame,
                       struct image_error *error);

#endif
