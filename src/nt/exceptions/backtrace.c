/* Where the image is: its addresses by name, a line for each of its frames. */
#include "nt/exceptions/exception_private.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MOST_FRAMES 4096u
#define MOST_LINES  24u

void exception_add(struct exception_text *text, const char *format, ...)
{
    size_t room = text->size - text->used;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->at + text->used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->used += min_u64((uint64_t)length, room - 1);
}

void exception_name_address(const struct nt *nt, uint64_t address, char *text, size_t size)
{
    struct image_symbol symbol;

    if (nt->image && image_symbol_at(nt->image, address, &symbol))
        snprintf(text, size, "%s!%.120s+0x%" PRIx64, nt->image_name, symbol.name, symbol.offset);
    else if (nt->boundary && boundary_is_on_stack(nt->boundary, address))
        snprintf(text, size, "0x%" PRIx64 " (its stack)", address);
    else
        snprintf(text, size, "0x%" PRIx64, address);
}

/* A recursion is told once. */
static void add_repeats(struct exception_text *text, unsigned *repeats)
{
    if (*repeats)
        exception_add(text, "\n  ... %u more of it", *repeats);
    *repeats = 0;
}

/*
 * For looking up the line in the source. Of a call the address lies inside the call instruction,
 * because its return address may belong to the next line.
 */
static void add_mark(const struct nt *nt, struct exception_text *text, uint64_t address)
{
    struct image_symbol symbol;

    if (image_symbol_at(nt->image, address, &symbol))
        exception_add(text, " (+0x%" PRIx64 ")", address - image_base(nt->image));
}

void exception_add_frames(const struct nt *nt, struct exception_text *text,
                          const struct boundary_call *call, struct image_context context)
{
    unsigned repeats = 0, lines = 0;
    uint64_t last_rip = 0;

    for (unsigned number = 0; number < MOST_FRAMES && lines < MOST_LINES; number++) {
        struct image_frame frame;
        char name[200];

        if (number && context.rip == last_rip) {
            repeats++;
        } else if (boundary_is_return(context.rip)) {
            add_repeats(text, &repeats);
            call = call ? call->outer : NULL;
            if (!call)
                return;
            exception_add(text, "\n  -- the bench");
            exception_context_of_registers(&call->registers, &context);
            last_rip = 0;
            lines++;
            continue;
        } else {
            add_repeats(text, &repeats);
            exception_name_address(nt, context.rip, name, sizeof name);
            exception_add(text, "\n  #%u %s", number, name);
            add_mark(nt, text, number ? context.rip - 1 : context.rip);
            lines++;
        }
        last_rip = context.rip;
        if (!exception_step(nt, &context, &frame)) {
            add_repeats(text, &repeats);
            exception_add(text, "\n  -- what is below is no frame of the image");
            return;
        }
    }
    exception_add(text, "\n  ...");
}

size_t exception_backtrace(const struct nt *nt, const void *signal_context, char *out, size_t size)
{
    const struct boundary_call *call = nt->image ? boundary_innermost_call(nt->boundary) : NULL;
    struct exception_text text = {out, size, 0};
    struct image_context context;
    struct boundary_state state;

    out[0] = '\0';
    if (!nt->image)
        return 0;
    if (signal_context) {
        struct boundary_call interrupted = {.outer = (struct boundary_call *)(uintptr_t)call};

        boundary_state_of_signal(signal_context, &state);
        if (boundary_is_on_stack(nt->boundary, state.general[IMAGE_RSP])) {
            exception_context_of_state(&state, &context);
            exception_add_frames(nt, &text, &interrupted, context);
            return text.used;
        }
    }
    if (call) {
        exception_context_of_registers(&call->registers, &context);
        exception_add_frames(nt, &text, call, context);
    }
    return text.used;
}
