#define _GNU_SOURCE /* names of the registers of a signal's context */
#include "bench/drivers/driver_place.h"

#include <execinfo.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define MOST_FRAMES 48

extern const char __executable_start, etext; /* of the linker */

static bool is_in_program(uintptr_t address)
{
    return address >= (uintptr_t)&__executable_start && address < (uintptr_t)&etext;
}

void driver_place_prepare(void)
{
    void *frame;

    backtrace(&frame, 1);
}

/* "#0 mygpu.sys!Emit+0x12 (+0x1a34)": what stands behind the number. NULL: no frame of the image.
 */
static const char *next_frame(const char *lines, size_t *out_length)
{
    const char *frame = strstr(lines, "#");

    while (frame && !memchr(frame, '!', strcspn(frame, "\n")))
        frame = strstr(frame + 1, "#");
    if (!frame)
        return NULL;
    frame += strcspn(frame, " ") + 1;
    *out_length = strcspn(frame, "\n");
    return frame;
}

static void place_in_image(const struct driver_image *image, const void *signal_context, char *text,
                           size_t size)
{
    char frames[1024];
    const char *frame = frames;
    size_t used = 0, length;

    driver_image_backtrace(image, signal_context, frames, sizeof frames);
    for (unsigned i = 0; i < 2 && (frame = next_frame(frame, &length)); i++, frame += length) {
        if (used + length + 8 >= size)
            return;
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", i ? ", from " : "",
                                 (int)length, frame);
    }
}

/* Where the signal met the program. */
static uintptr_t place_of(const ucontext_t *state)
{
#if defined(__x86_64__) && defined(__linux__)
    return (uintptr_t)state->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)state->uc_mcontext.pc;
#else
    return 0;
#endif
}

/* Of a call the address lies inside the call instruction: what comes back may be the next line. */
static void place_in_program(const void *signal_context, char *text, size_t size)
{
    uintptr_t place = place_of(signal_context);
    void *frames[MOST_FRAMES];
    int count = backtrace(frames, MOST_FRAMES), at = 0;
    size_t used = 0;

    while (at < count && (uintptr_t)frames[at] != place)
        at++;
    for (unsigned found = 0; at < count && found < 2; at++) {
        uintptr_t address = (uintptr_t)frames[at];
        bool is_first = address == place;

        if (!is_in_program(address))
            continue;
        used +=
            (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s (+0x%" PRIxPTR ")",
                             found++ ? ", from " : "", program_invocation_short_name,
                             address - !is_first - (uintptr_t)&__executable_start);
        if (used >= size)
            return;
    }
}

void driver_place(const struct driver_image *image, const void *signal_context, char *text,
                  size_t size)
{
    text[0] = '\0';
    if (image)
        place_in_image(image, signal_context, text, size);
    else
        place_in_program(signal_context, text, size);
}
