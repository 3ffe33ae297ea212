/*
 * Exceptions, between the files that make them.
 *
 * Place      nt, private. From the bottom: frames.c walks over the image's frames; backtrace.c
 *            writes them down; crash.c ends the run for an exception that nobody handled;
 *            exception.c dispatches and unwinds; exception_scope.c handles for the compiler of C;
 *            exception_services.c has the functions that drivers import; fault.c makes exceptions
 *            of signals.
 */
#ifndef DRYDOCK_NT_EXCEPTION_PRIVATE_H
#define DRYDOCK_NT_EXCEPTION_PRIVATE_H

#include "image/unwind.h"
#include "nt/exceptions/exception.h"
#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

/*
 * The note of a call that works on an exception. When a handler that it called raises an exception
 * of its own, and nobody handles that, the search goes on where the note says.
 */
struct exception_note {
    struct image_context at;    /* the next frame */
    struct boundary_call *call; /* behind which that frame lies */
    const DISPATCHER_CONTEXT
        *of_unwinding; /* the handler that unwinding has called; NULL: searching */
};

/* A walk over the frames of the image, outwards. */
struct exception_walk {
    const struct nt *nt;
    struct image_context context; /* of the next frame */
    struct boundary_call
        *call;         /* behind which it lies; NULL: it was interrupted, and is on no list */
    ULONG scope_index; /* where its handler begins to look */
    bool is_collided;  /* an unwinding was at this frame already */
    unsigned steps;
};

struct exception_frame {
    struct image_context before, after; /* in the function, and in its caller */
    struct image_frame place;
    struct boundary_call *call;
    ULONG scope_index;
    bool is_collided;
};

/* False: there are no more frames, or the stack is damaged. */
bool exception_next_frame(struct exception_walk *walk, struct exception_frame *out);

/* One frame outwards, whatever the address is in; false: that is not in the image's reach. */
bool exception_step(const struct nt *nt, struct image_context *context, struct image_frame *out);

void exception_context_of_state(const struct boundary_state *state, struct image_context *out);
void exception_context_of_registers(const struct boundary_registers *registers,
                                    struct image_context *out);
void exception_write_context(const struct image_context *from, CONTEXT *out);
void exception_read_context(const CONTEXT *from, struct image_context *out);
void exception_state_of_context(const CONTEXT *from, struct boundary_state *out);

/* Dispatches; the record and the state may change. */
void exception_dispatch(struct nt *nt, struct boundary_call *call, EXCEPTION_RECORD *record,
                        struct boundary_state *state) __attribute__((noreturn));

/* Raises where this call came from. */
void exception_raise_at(struct nt *nt, struct boundary_call *call, EXCEPTION_RECORD *record)
    __attribute__((noreturn));

/* Whether the address is in a function that faults like one of the image's. */
bool exception_is_direct(uint64_t address);

/*
 * Ends the run. state is the place in the image, or NULL; "what" is a sentence without an end.
 */
void exception_crash(struct nt *nt, const struct boundary_state *state, uint32_t bug_check,
                     const uint64_t parameters[4], const char *what) __attribute__((noreturn));
void exception_crash_unhandled(struct nt *nt, const struct boundary_state *state,
                               EXCEPTION_RECORD *record) __attribute__((noreturn));

/* Text that grows up to its room; nothing is written beyond, and it always ends with 0. */
struct exception_text {
    char *at;
    size_t size, used; /* used stays below size */
};

void exception_add(struct exception_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line for each frame, from a context in this call on. */
void exception_add_frames(const struct nt *nt, struct exception_text *text,
                          const struct boundary_call *call, struct image_context context);

#endif
