/*
 * The case writer: workload to text that parses to the same workload.
 *
 * Numbers are written as people would: sizes and offsets with the largest suffix that divides
 * them, addresses, pages and keys in hexadecimal; attributes at their defaults are left out.
 */
#include "workload/build/builder_private.h"
#include "workload/file.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct printer {
    const struct workload *workload;
    char *text;
    size_t size, room;
    bool failed;
};

static bool reserve(struct printer *printer, size_t more)
{
    size_t room = printer->room ? printer->room : 4096;
    char *grown;

    if (printer->failed)
        return false;
    if (printer->size + more <= printer->room)
        return true;
    while (room < printer->size + more)
        room *= 2;
    grown = realloc(printer->text, room);
    if (!grown) {
        printer->failed = true;
        return false;
    }
    printer->text = grown;
    printer->room = room;
    return true;
}

static void put(struct printer *printer, const char *text)
{
    size_t length = strlen(text);

    if (!reserve(printer, length + 1))
        return;
    memcpy(printer->text + printer->size, text, length);
    printer->size += length;
    printer->text[printer->size] = '\0';
}

__attribute__((format(printf, 2, 3))) static void putf(struct printer *printer, const char *format,
                                                       ...)
{
    char buffer[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    put(printer, buffer);
}

static void put_number(struct printer *printer, const char *prefix, uint64_t value)
{
    static const struct {
        uint64_t unit;
        char suffix[2];
    } units[] = {{GiB, "G"}, {MiB, "M"}, {KiB, "K"}, {1, ""}};
    size_t i = 0;

    while (units[i].unit > 1 && (value == 0 || value % units[i].unit))
        i++;
    putf(printer, "%s%" PRIu64 "%s", prefix, value / units[i].unit, units[i].suffix);
}

static void put_hex(struct printer *printer, const char *prefix, uint64_t value)
{
    putf(printer, "%s0x%" PRIx64, prefix, value);
}

static void put_string(struct printer *printer, uint32_t offset)
{
    put(printer, workload_string(printer->workload, offset));
}

static void put_quoted(struct printer *printer, const char *text)
{
    char piece[3] = {0};

    put(printer, " \"");
    for (; *text; text++) {
        bool escapes = *text == '"' || *text == '\\';

        piece[0] = escapes ? '\\' : *text;
        piece[1] = escapes ? *text : '\0';
        put(printer, piece);
    }
    put(printer, "\"");
}

/* The header --------------------------------------------------------------------------------- */

static void print_header(struct printer *printer)
{
    const struct workload *w = printer->workload;

    put(printer, "drydock-case 1\n");
    if (w->name[0]) {
        put(printer, "name");
        put_quoted(printer, w->name);
        put(printer, "\n");
    }
    for (uint32_t i = 0; i < w->option_count; i++)
        putf(printer, "option %s %s\n", workload_string(w, w->options[i].key),
             workload_string(w, w->options[i].value));

    /* The one process, device and context that stand for "none declared" go unsaid. */
    if (w->process_count == 1 && w->device_count == 1 && w->context_count == 1 &&
        strcmp(workload_string(w, w->processes[0].name), "p0") == 0 &&
        strcmp(workload_string(w, w->devices[0].name), "d0") == 0 &&
        strcmp(workload_string(w, w->contexts[0].name), "c0") == 0 && w->contexts[0].node == 0 &&
        !w->contexts[0].save.bytes)
        return;
    for (uint32_t i = 0; i < w->process_count; i++)
        putf(printer, "process %s\n", workload_string(w, w->processes[i].name));
    for (uint32_t i = 0; i < w->device_count; i++)
        putf(printer, "device %s process=%s\n", workload_string(w, w->devices[i].name),
             workload_string(w, w->processes[w->devices[i].process].name));
    for (uint32_t i = 0; i < w->context_count; i++) {
        const struct workload_save_area *save = &w->contexts[i].save;

        putf(printer, "context %s device=%s node=%u", workload_string(w, w->contexts[i].name),
             workload_string(w, w->devices[w->contexts[i].device].name), w->contexts[i].node);
        if (save->bytes)
            putf(printer, " save=%llu save-in=%s save-by=%s", (unsigned long long)save->bytes,
                 save->is_local ? "local" : "system", save->is_mapped ? "va" : "address");
        if (save->bytes && save->is_shared)
            putf(printer, " save-for=device");
        if (save->bytes && save->has_cpu_image)
            putf(printer, " save-image=cpu");
        putf(printer, "\n");
    }
}

/* Operations --------------------------------------------------------------------------------- */

static void print_priority(struct printer *printer, uint32_t priority)
{
    switch (priority) {
    case WORKLOAD_PRIORITY_NORMAL:
        break;
    case WORKLOAD_PRIORITY_MIN:
        put(printer, " priority=min");
        break;
    case WORKLOAD_PRIORITY_LOW:
        put(printer, " priority=low");
        break;
    case WORKLOAD_PRIORITY_HIGH:
        put(printer, " priority=high");
        break;
    case WORKLOAD_PRIORITY_MAX:
        put(printer, " priority=max");
        break;
    default:
        put_hex(printer, " priority=", priority);
        break;
    }
}

static void print_alloc(struct printer *printer, const struct workload_allocation *a)
{
    const struct workload *w = printer->workload;

    put(printer, "alloc ");
    put_string(printer, a->name);
    put_number(printer, " size=", a->size);
    if (a->device)
        putf(printer, " device=%s", workload_string(w, w->devices[a->device].name));
    if (a->align)
        put_number(printer, " align=", a->align);
    print_priority(printer, a->priority);
    for (uint32_t i = 0; i < a->segment_count; i++) {
        put(printer, i ? "," : " segments=");
        put(printer, workload_segment_name((enum workload_segment)a->segments[i]));
    }
    for (uint32_t bits = a->flags; bits; bits &= bits - 1) {
        put(printer, bits == a->flags ? " flags=" : ",");
        put(printer, workload_allocation_flag_name(bits & (0u - bits)));
    }
    if (a->va != WORKLOAD_VA_AUTO)
        put_hex(printer, " va=", a->va);
}

/* Leaves out what the parser adds: from the start, to the end. */
static void print_range(struct printer *printer, const struct workload_op *op)
{
    uint64_t size = printer->workload->allocations[op->object].size;

    if (op->offset)
        put_number(printer, " offset=", op->offset);
    if (op->offset + op->size != size)
        put_number(printer, " size=", op->size);
}

static void print_ref(struct printer *printer, const struct workload_ref *ref)
{
    const struct workload_allocation *a = &printer->workload->allocations[ref->allocation];

    put(printer, " ");
    put_string(printer, a->name);
    if (ref->offset || ref->size != a->size) {
        put_number(printer, "@", ref->offset);
        put_number(printer, "+", ref->size);
    }
    put(printer, ":");
    put(printer, ref->access & WORKLOAD_ACCESS_READ ? "r" : "");
    put(printer, ref->access & WORKLOAD_ACCESS_WRITE ? "w" : "");
    if (ref->key)
        put_hex(printer, "=", ref->key);
}

static void print_protection(struct printer *printer, uint32_t flags)
{
    if (flags)
        putf(printer, " protect=%s%s%s", flags & WORKLOAD_PROTECT_READ_ONLY ? "ro" : "",
             flags == (WORKLOAD_PROTECT_READ_ONLY | WORKLOAD_PROTECT_NO_EXECUTE) ? "," : "",
             flags & WORKLOAD_PROTECT_NO_EXECUTE ? "nx" : "");
}

static void print_residency(struct printer *printer, const struct workload_op *op)
{
    const struct workload *w = printer->workload;
    const struct workload_ref *refs = &w->refs[op->first_ref];

    put(printer, workload_op_name((enum workload_op_kind)op->kind));
    if (op->object != w->allocations[refs[0].allocation].device)
        putf(printer, " device=%s", workload_string(w, w->devices[op->object].name));
    if (op->kind == WORKLOAD_OP_OFFER && op->value != 1)
        put(printer, op->value ? " priority=high" : " priority=low");
    for (uint32_t i = 0; i < op->ref_count; i++) {
        put(printer, " ");
        put_string(printer, w->allocations[refs[i].allocation].name);
    }
}

static void print_tiles(struct printer *printer, const struct workload_op *op)
{
    const struct workload *w = printer->workload;

    putf(printer, "tile %s ", workload_string(w, w->contexts[op->object].name));
    if (op->kind == WORKLOAD_OP_TILE_COPY)
        putf(printer, "copy from=0x%" PRIx64 " to=0x%" PRIx64, op->value, op->offset);
    else if (op->kind == WORKLOAD_OP_TILE_UNMAP)
        putf(printer, "unmap va=0x%" PRIx64, op->offset);
    else
        putf(printer, "map pool=%s va=0x%" PRIx64 " page=%" PRIu64,
             workload_allocation_name(w, w->refs[op->first_ref].allocation), op->offset, op->value);
    putf(printer, " pages=%" PRIu64, op->size / PAGE_BYTES);
}

/* The operations on a process's address space. */
static void print_va_op(struct printer *printer, const struct workload_op *op)
{
    const struct workload *w = printer->workload;
    const char *process = workload_string(w, w->processes[op->object].name);

    switch (op->kind) {
    case WORKLOAD_OP_PTE_MAP:
        if (op->flags & WORKLOAD_PROTECT_ZERO) {
            putf(printer, "pte %s zero va=0x%" PRIx64 " pages=%" PRIu64, process, op->offset,
                 op->size / PAGE_BYTES);
            break;
        }
        putf(printer, "pte %s map va=0x%" PRIx64 " segment=%s page=0x%" PRIx64 " pages=%" PRIu64,
             process, op->offset, workload_segment_name((enum workload_segment)op->segment),
             op->value, op->size / PAGE_BYTES);
        if (op->page_shift != PAGE_SHIFT_BITS)
            put_number(printer, " page-size=", (uint64_t)1 << op->page_shift);
        print_protection(printer, op->flags);
        break;
    case WORKLOAD_OP_PTE_UNMAP:
        putf(printer, "pte %s unmap va=0x%" PRIx64 " pages=%" PRIu64, process, op->offset,
             op->size / PAGE_BYTES);
        break;
    default:
        putf(printer, "%s %s va=0x%" PRIx64, workload_op_name((enum workload_op_kind)op->kind),
             process, op->offset);
        put_number(printer, " size=", op->size);
        if (op->kind == WORKLOAD_OP_LABEL)
            put_quoted(printer, workload_string(w, op->text));
        break;
    }
}

static void print_op(struct printer *printer, const struct workload_op *op)
{
    const struct workload *w = printer->workload;
    const char *verb = workload_op_name((enum workload_op_kind)op->kind);

    switch ((enum workload_op_kind)op->kind) {
    case WORKLOAD_OP_ALLOC:
        print_alloc(printer, &w->allocations[op->object]);
        break;
    case WORKLOAD_OP_FREE:
        putf(printer, "free %s", workload_allocation_name(w, op->object));
        break;
    case WORKLOAD_OP_WRITE:
    case WORKLOAD_OP_READ:
        putf(printer, "%s %s", verb, workload_allocation_name(w, op->object));
        print_range(printer, op);
        if (op->value)
            put_hex(printer, " key=", op->value);
        if (op->flags & WORKLOAD_WRITE_DISCARD)
            putf(printer, " discard=yes");
        break;
    case WORKLOAD_OP_SUBMIT:
        putf(printer, "submit %s", workload_string(w, w->contexts[op->object].name));
        if (op->value)
            putf(printer, " duration=%" PRIu64, op->value);
        if (op->offset)
            putf(printer, " signal=%" PRIu64 " value=%" PRIu64, op->offset - 1, op->size);
        if (op->flags & WORKLOAD_SUBMIT_NULL)
            putf(printer, " null=yes");
        for (uint32_t i = 0; i < op->ref_count; i++)
            print_ref(printer, &w->refs[op->first_ref + i]);
        break;
    case WORKLOAD_OP_WAIT:
        putf(printer, "wait %s",
             op->object == WORKLOAD_NONE ? "all"
                                         : workload_string(w, w->contexts[op->object].name));
        break;
    case WORKLOAD_OP_RESIDENT:
    case WORKLOAD_OP_EVICT:
    case WORKLOAD_OP_OFFER:
    case WORKLOAD_OP_RECLAIM:
        print_residency(printer, op);
        break;
    case WORKLOAD_OP_MOVE:
        putf(printer, "move %s %s", workload_allocation_name(w, op->object),
             workload_segment_name((enum workload_segment)op->segment));
        break;
    case WORKLOAD_OP_BUDGET:
        putf(printer, "budget %s 0x%" PRIx64, workload_string(w, w->processes[op->object].name),
             op->value);
        break;
    case WORKLOAD_OP_PRIORITY:
        putf(printer, "priority %s 0x%" PRIx64, workload_allocation_name(w, op->object), op->value);
        break;
    case WORKLOAD_OP_STEP:
    case WORKLOAD_OP_NOTE:
        put(printer, verb);
        put_quoted(printer, workload_string(w, op->text));
        break;
    case WORKLOAD_OP_MAP:
    case WORKLOAD_OP_UNMAP:
        putf(printer, "%s %s", verb, workload_allocation_name(w, op->object));
        if (op->value != WORKLOAD_VA_AUTO)
            put_hex(printer, " va=", op->value);
        else if (op->kind == WORKLOAD_OP_MAP)
            put(printer, " va=auto");
        if (op->kind == WORKLOAD_OP_MAP)
            print_range(printer, op);
        print_protection(printer, op->flags);
        if (op->ref_count)
            put_hex(printer, " driver-protection=", w->refs[op->first_ref].key);
        break;
    case WORKLOAD_OP_TILE_MAP:
    case WORKLOAD_OP_TILE_UNMAP:
    case WORKLOAD_OP_TILE_COPY:
        print_tiles(printer, op);
        break;
    case WORKLOAD_OP_FENCE_CREATE:
        putf(printer, "fence %" PRIu64 " create process=%s value=%" PRIu64, op->offset,
             workload_string(w, w->processes[op->object].name), op->value);
        break;
    case WORKLOAD_OP_FENCE_DESTROY:
        putf(printer, "fence %" PRIu64 " destroy", op->offset);
        break;
    case WORKLOAD_OP_FENCE_EXPECT:
        putf(printer, "fence %" PRIu64 " expect value=%" PRIu64, op->offset, op->value);
        break;
    case WORKLOAD_OP_FENCE_WAIT:
        putf(printer, "fence %" PRIu64 " wait value=%" PRIu64, op->offset, op->value);
        break;
    case WORKLOAD_OP_PTE_MAP:
    case WORKLOAD_OP_PTE_UNMAP:
    case WORKLOAD_OP_VM_RESERVE:
    case WORKLOAD_OP_VM_RELEASE:
    case WORKLOAD_OP_LABEL:
        print_va_op(printer, op);
        break;
    case WORKLOAD_OP_HANG:
        putf(printer, "hang %" PRIu32, op->object);
        if (op->value)
            putf(printer, " after=%" PRIu64, op->value);
        break;
    case WORKLOAD_OP_PREEMPT:
    case WORKLOAD_OP_LOSE_INTERRUPT:
        putf(printer, "%s %" PRIu32, verb, op->object);
        break;
    case WORKLOAD_OP_RESET:
    case WORKLOAD_OP_STOP:
    case WORKLOAD_OP_PACK_FENCES:
        put(printer, verb);
        break;
    case WORKLOAD_OP_SWITCH_DOMAIN:
        put(printer, verb);
        if (op->value)
            putf(printer, " duration=%" PRIu64, op->value);
        break;
    case WORKLOAD_OP_REMOVE:
        put(printer, verb);
        if (op->value)
            putf(printer, " after=%" PRIu64, op->value);
        break;
    case WORKLOAD_OP_POWER:
        putf(printer, "power %s", workload_power_name((enum workload_power)op->flags));
        break;
    case WORKLOAD_OP_COUNT:
        break;
    }
    put(printer, "\n");
}

bool workload_print(const struct workload *workload, char **out_text, size_t *out_size,
                    struct workload_error *error)
{
    struct printer printer = {.workload = workload};

    *out_text = NULL;
    *out_size = 0;
    print_header(&printer);
    for (uint32_t i = 0; i < workload->op_count && !printer.failed; i++)
        print_op(&printer, &workload->ops[i]);
    if (printer.failed) {
        free(printer.text);
        workload_error_set(error, "%.200s: out of memory", workload->path);
        return false;
    }
    *out_text = printer.text;
    *out_size = printer.size;
    return true;
}

bool workload_save_commented(const struct workload *workload, const char *comment, const char *path,
                             struct workload_error *error)
{
    size_t size, first, length = strlen(comment);
    char *text, *all;
    bool is_done;

    if (!workload_print(workload, &text, &size, error))
        return false;
    all = malloc(size + length);
    if (!all) {
        workload_error_set(error, "%s: out of memory", path);
        free(text);
        return false;
    }
    first = strcspn(text, "\n") + 1;
    memcpy(all, text, first);
    memcpy(all + first, comment, length);
    memcpy(all + first + length, text + first, size - first);
    is_done = workload_file_write(path, all, size + length, error);
    free(all);
    free(text);
    return is_done;
}

bool workload_save(const struct workload *workload, const char *path, struct workload_error *error)
{
    return workload_save_commented(workload, "", path, error);
}
