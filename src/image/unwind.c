/*
 * The codes of a prolog are undone from the last to the first. Offsets of saved registers count
 * from the frame: the value of rsp after the fixed allocation, or that of the frame register.
 */
#include "image/image_private.h"
#include "image/unwind.h"

/* An offset in the prolog behind all of its codes. */
#define WHOLE_PROLOG 256u

/* Pops of an epilog that is still legal: every register once. */
#define MOST_POPS 16

struct step {
    const struct image *image;
    struct image_context context; /* becomes the caller's */
    const struct image_memory *memory;
    struct image_error *error;
};

static bool read_stack(struct step *step, uint64_t address, void *out, size_t size)
{
    return step->memory->read(step->memory->context, address, out, size) ||
           image_refuse(step->error, "stack: no %zu bytes at 0x%" PRIx64, size, address);
}

static bool pop(struct step *step, uint64_t *out)
{
    uint64_t *rsp = &step->context.general[IMAGE_RSP], value;

    if (!read_stack(step, *rsp, &value, sizeof value))
        return false;
    *rsp += sizeof value;
    *out = value;
    return true;
}

/* ---- Prologs --------------------------------------------------------------------------------- */

/* Rsp after the fixed allocation, as far as the executed part of the prolog has come. */
static uint64_t frame_base(const struct step *step, const struct image_unwind_info *info,
                           unsigned executed)
{
    bool is_set = executed == WHOLE_PROLOG || (info->flags & IMAGE_UNWIND_CHAINED);

    if (info->frame_register == 0)
        return step->context.general[IMAGE_RSP];
    for (unsigned i = 0; i < info->slot_count && !is_set;
         i += image_unwind_slots(info->version, info->codes + 2 * i))
        is_set =
            (info->codes[2 * i + 1] & 15) == UNWIND_SET_FPREG && info->codes[2 * i] <= executed;
    return is_set ? step->context.general[info->frame_register] - 16u * info->frame_offset
                  : step->context.general[IMAGE_RSP];
}

static bool undo_machine_frame(struct step *step, bool has_error_code)
{
    uint64_t frame[5]; /* rip, cs, flags, rsp, ss */

    if (!read_stack(step, step->context.general[IMAGE_RSP] + (has_error_code ? 8 : 0), frame,
                    sizeof frame))
        return false;
    step->context.rip = frame[0];
    step->context.general[IMAGE_RSP] = frame[3];
    return true;
}

static bool undo_code(struct step *step, const struct image_unwind_info *info, const uint8_t *code,
                      uint64_t base, bool *is_machine_frame)
{
    unsigned operation = code[1] & 15, operand = code[1] >> 4;
    uint64_t *rsp = &step->context.general[IMAGE_RSP];

    switch (operation) {
    case UNWIND_PUSH_NONVOL:
        return pop(step, &step->context.general[operand]);
    case UNWIND_ALLOC_LARGE:
        *rsp += operand ? read_u32(code + 2) : 8u * read_u16(code + 2);
        return true;
    case UNWIND_ALLOC_SMALL:
        *rsp += 8u * operand + 8;
        return true;
    case UNWIND_SET_FPREG:
        *rsp = step->context.general[info->frame_register] - 16u * info->frame_offset;
        return true;
    case UNWIND_SAVE_NONVOL:
        return read_stack(step, base + 8u * read_u16(code + 2), &step->context.general[operand], 8);
    case UNWIND_SAVE_NONVOL_FAR:
        return read_stack(step, base + read_u32(code + 2), &step->context.general[operand], 8);
    case UNWIND_SAVE_XMM128:
        return read_stack(step, base + 16u * read_u16(code + 2), &step->context.vector[operand],
                          16);
    case UNWIND_SAVE_XMM128_FAR:
        return read_stack(step, base + read_u32(code + 2), &step->context.vector[operand], 16);
    case UNWIND_PUSH_MACHFRAME:
        *is_machine_frame = true;
        return undo_machine_frame(step, operand == 1);
    default: /* UNWIND_EPILOG: was looked at before */
        return true;
    }
}

static bool undo_codes(struct step *step, const struct image_unwind_info *info, unsigned executed,
                       bool *is_machine_frame)
{
    uint64_t base = frame_base(step, info, executed);

    for (unsigned i = 0; i < info->slot_count;) {
        const uint8_t *code = info->codes + 2 * i;

        if (code[0] <= executed && !undo_code(step, info, code, base, is_machine_frame))
            return false;
        i += image_unwind_slots(info->version, code);
    }
    return true;
}

/* Undoes the prolog and those of the chain; *info becomes the last of them. */
static bool undo_prologs(struct step *step, struct image_unwind_info *info, unsigned executed,
                         bool *is_machine_frame)
{
    for (unsigned depth = 0; depth <= IMAGE_MAX_CHAIN; depth++) {
        uint32_t parent = info->parent.unwind_rva;

        if (!undo_codes(step, info, executed, is_machine_frame))
            return false;
        if (!(info->flags & IMAGE_UNWIND_CHAINED))
            return *is_machine_frame || pop(step, &step->context.rip);
        if (!image_read_unwind_info(step->image, parent, info, step->error))
            return false;
        executed = WHOLE_PROLOG;
    }
    return image_refuse(step->error, "unwind information: the chain does not end");
}

/* ---- Epilogs --------------------------------------------------------------------------------- */

/* The rest of an epilog. */
struct epilog {
    uint64_t rsp; /* before the pops */
    uint8_t pops[MOST_POPS];
    unsigned pop_count;
    unsigned drop_bytes; /* behind the return address */
};

/* The function to which a function is chained in the end, by where it begins. */
static uint32_t primary_of(const struct step *step, const struct image_function *function)
{
    struct image_function at = *function;
    struct image_unwind_info info;

    for (unsigned depth = 0; depth <= IMAGE_MAX_CHAIN; depth++) {
        if (!image_read_unwind_info(step->image, at.unwind_rva, &info, NULL) ||
            !(info.flags & IMAGE_UNWIND_CHAINED))
            break;
        at = info.parent;
    }
    return at.begin_rva;
}

/*
 * Whether a jump leaves the function for good: out of it and of all functions that it is chained
 * with. A jump to its own beginning is a call of itself, and leaves it too.
 */
static bool leaves(const struct step *step, const struct image_function *function, uint64_t target)
{
    uint32_t primary = primary_of(step, function);
    struct image_function other;

    if (target >= function->begin_rva && target < function->end_rva)
        return target == primary;
    return !image_function_of_rva(step->image, target, &other) ||
           primary_of(step, &other) != primary || target == primary;
}

/* add rsp, constant or lea rsp, constant[frame register]: its bytes; 0: neither. */
static unsigned read_release(const struct step *step, const struct image_unwind_info *info,
                             const uint8_t *code, unsigned room, uint64_t *rsp)
{
    unsigned frame = info->frame_register, prefix = 0x48 | frame >> 3, sib = (frame & 7) == 4;
    unsigned mode = room >= 3 ? code[2] >> 6 : 0, bytes = mode == 1 ? 1 : 4;
    uint64_t base;

    if (room >= 4 && memcmp(code, "\x48\x83\xc4", 3) == 0) {
        *rsp += (uint64_t)(int8_t)code[3];
        return 4;
    }
    if (room >= 7 && memcmp(code, "\x48\x81\xc4", 3) == 0) {
        *rsp += (uint64_t)(int32_t)read_u32(code + 3);
        return 7;
    }
    if (frame == 0 || room < 3 + sib + bytes || code[0] != prefix || code[1] != 0x8d ||
        (mode != 1 && mode != 2) || (code[2] & 63) != (IMAGE_RSP << 3 | (frame & 7)) ||
        (sib && code[3] != 0x24))
        return 0;
    base = step->context.general[frame];
    code += 3 + sib;
    *rsp = base + (bytes == 1 ? (uint64_t)(int8_t)code[0] : (uint64_t)(int32_t)read_u32(code));
    return 3 + sib + bytes;
}

/* pop register: its bytes; 0: no pop. */
static unsigned read_pop(const uint8_t *code, unsigned room, uint8_t *out)
{
    unsigned prefix = room >= 2 && (code[0] & 0xf0) == 0x40, high = prefix ? (code[0] & 1) << 3 : 0;

    if (room <= prefix || (code[prefix] & 0xf8) != 0x58)
        return 0;
    *out = (uint8_t)(high | (code[prefix] & 7));
    return *out == IMAGE_RSP ? 0 : prefix + 1;
}

/* A return or a jump that ends an epilog. */
static bool read_end(const struct step *step, const struct image_function *function,
                     const uint8_t *code, unsigned room, uint64_t rva, unsigned *drop_bytes)
{
    unsigned prefix = room >= 2 && (code[0] & 0xf0) == 0x40;
    bool is_wide = prefix && (code[0] & 8);

    *drop_bytes = 0;
    if (room >= 1 && code[0] == 0xc3)
        return true;
    if (room >= 2 && code[0] == 0xf3 && code[1] == 0xc3)
        return true;
    if (room >= 3 && code[0] == 0xc2) {
        *drop_bytes = read_u16(code + 1);
        return true;
    }
    if (room >= 2 && code[0] == 0xeb)
        return leaves(step, function, rva + 2 + (uint64_t)(int8_t)code[1]);
    if (room >= 5 && code[0] == 0xe9)
        return leaves(step, function, rva + 5 + (uint64_t)(int32_t)read_u32(code + 1));
    if (room < prefix + 2 || code[prefix] != 0xff || (code[prefix + 1] >> 3 & 7) != 4)
        return false;
    /* jmp through memory without displacement; through a register only with REX.W, which compilers
     * write to say that an epilog ends here. */
    return code[prefix + 1] >> 6 == 0 || (code[prefix + 1] >> 6 == 3 && is_wide);
}

/* Whether the instructions from rva on are the rest of an epilog. */
static bool read_epilog(const struct step *step, const struct image_function *function,
                        const struct image_unwind_info *info, uint64_t rva, struct epilog *out)
{
    unsigned room = (unsigned)min_u64(function->end_rva - rva, 64), at, bytes;
    const uint8_t *code = image_file_bytes(step->image, rva, room);

    memset(out, 0, sizeof *out);
    out->rsp = step->context.general[IMAGE_RSP];
    if (!code)
        return false;
    at = read_release(step, info, code, room, &out->rsp);
    while (out->pop_count < MOST_POPS &&
           (bytes = read_pop(code + at, room - at, &out->pops[out->pop_count])) != 0) {
        out->pop_count++;
        at += bytes;
    }
    return read_end(step, function, code + at, room - at, rva + at, &out->drop_bytes);
}

/*
 * Version 2: whether one of the epilogs that the codes describe covers rva. The first code holds
 * the bytes of each, and bit 0 of its operand says that one lies at the end; the others hold how
 * far before the end one begins, or 0 for padding.
 */
static bool is_in_marked_epilog(const struct image_function *function,
                                const struct image_unwind_info *info, uint64_t rva)
{
    uint64_t left = function->end_rva - rva, bytes = 0;

    for (unsigned i = 0; i < info->slot_count; i++) {
        const uint8_t *code = info->codes + 2 * i;
        uint64_t begin = code[0] | (code[1] >> 4) << 8;

        if ((code[1] & 15) != UNWIND_EPILOG)
            return false;
        if (i == 0) {
            bytes = code[0];
            begin = code[1] >> 4 & 1 ? bytes : 0;
        }
        if (begin >= left && left > begin - min_u64(begin, bytes))
            return true;
    }
    return false;
}

static bool finish_epilog(struct step *step, const struct epilog *epilog)
{
    step->context.general[IMAGE_RSP] = epilog->rsp;
    for (unsigned i = 0; i < epilog->pop_count; i++)
        if (!pop(step, &step->context.general[epilog->pops[i]]))
            return false;
    if (!pop(step, &step->context.rip))
        return false;
    step->context.general[IMAGE_RSP] += epilog->drop_bytes;
    return true;
}

/* ---- One step -------------------------------------------------------------------------------- */

static bool step_function(struct step *step, uint64_t rva, struct image_frame *frame)
{
    struct image_unwind_info info;
    struct epilog epilog;
    unsigned executed;
    bool is_marked;

    if (!image_read_unwind_info(step->image, frame->function.unwind_rva, &info, step->error))
        return false;
    executed = rva - frame->function.begin_rva < info.prolog_bytes
                   ? (unsigned)(rva - frame->function.begin_rva)
                   : WHOLE_PROLOG;
    frame->establisher = frame_base(step, &info, executed);
    is_marked = info.version == 2 && is_in_marked_epilog(&frame->function, &info, rva);
    if (executed == WHOLE_PROLOG && (info.version == 1 || is_marked)) {
        if (read_epilog(step, &frame->function, &info, rva, &epilog)) {
            frame->place = IMAGE_IN_EPILOG;
            return finish_epilog(step, &epilog);
        }
        if (is_marked)
            return image_refuse(step->error,
                                "unwind information at rva 0x%" PRIx32
                                ": what it says is an epilog at rva 0x%" PRIx64 " is none",
                                frame->function.unwind_rva, rva);
    }
    frame->place = executed == WHOLE_PROLOG ? IMAGE_IN_BODY : IMAGE_IN_PROLOG;
    if (!undo_prologs(step, &info, executed, &frame->is_machine_frame))
        return false;
    if (frame->place == IMAGE_IN_BODY && info.handler_rva) {
        frame->handler_rva = info.handler_rva;
        frame->handler_data_rva = info.handler_data_rva;
        frame->handles_exceptions = (info.flags & IMAGE_UNWIND_EXCEPTION_HANDLER) != 0;
        frame->handles_unwinding = (info.flags & IMAGE_UNWIND_TERMINATION_HANDLER) != 0;
    }
    return true;
}

bool image_unwind_step(const struct image *image, struct image_context *context,
                       const struct image_memory *memory, struct image_frame *frame,
                       struct image_error *error)
{
    struct step step = {.image = image, .context = *context, .memory = memory, .error = error};
    uint64_t rva;
    bool is_done;

    memset(frame, 0, sizeof *frame);
    if (!image_contains(image, context->rip))
        return image_refuse(error, "unwinding: 0x%" PRIx64 " does not lie in the image",
                            context->rip);
    rva = context->rip - image_base(image);
    if (image_function_of_rva(image, rva, &frame->function)) {
        is_done = step_function(&step, rva, frame);
    } else {
        frame->place = IMAGE_IN_LEAF;
        frame->establisher = context->general[IMAGE_RSP];
        is_done = pop(&step, &step.context.rip);
    }
    if (is_done)
        *context = step.context;
    else
        memset(frame, 0, sizeof *frame);
    return is_done;
}
