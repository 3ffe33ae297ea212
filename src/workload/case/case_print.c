/*
 * The case writer: workload to text that parses to the same workload, by the table of directives.
 *
 * Numbers are written as people would: sizes and offsets with the largest suffix that divides
 * them, addresses, pages and keys in hexadecimal; attributes at their defaults are left out.
 */
#include "workload/case/directives.h"
#include "workload/file.h"
#include "workload/owned.h"
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

static void put_size(struct printer *printer, uint64_t value)
{
    static const struct {
        uint64_t unit;
        char suffix[2];
    } units[] = {{GiB, "G"}, {MiB, "M"}, {KiB, "K"}, {1, ""}};
    size_t i = 0;

    while (units[i].unit > 1 && (value == 0 || value % units[i].unit))
        i++;
    putf(printer, "%" PRIu64 "%s", value / units[i].unit, units[i].suffix);
}

static void put_quoted(struct printer *printer, const char *text)
{
    char piece[3] = {0};

    put(printer, "\"");
    for (; *text; text++) {
        bool escapes = *text == '"' || *text == '\\';

        piece[0] = escapes ? '\\' : *text;
        piece[1] = escapes ? *text : '\0';
        put(printer, piece);
    }
    put(printer, "\"");
}

/* ---- Values ---- */

static void put_allocation_name(struct printer *printer, uint32_t id)
{
    put(printer, workload_allocation_name(printer->workload, id));
}

static void put_context_name(struct printer *printer, uint32_t id)
{
    const struct workload *w = printer->workload;

    put(printer, id == WORKLOAD_NONE ? "all" : workload_string(w, w->contexts[id].name));
}

/* The word of that number in a list that '|' divides. */
static void put_choice(struct printer *printer, const char *choices, uint64_t number)
{
    for (; number; number--)
        choices += strcspn(choices, "|") + 1;
    putf(printer, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void put_segments(struct printer *printer, const struct workload_allocation_info *info)
{
    for (uint32_t i = 0; i < info->segment_count; i++) {
        put(printer, i ? "," : "");
        put(printer, workload_segment_name((enum workload_segment)info->segments[i]));
    }
}

static void put_flags(struct printer *printer, uint32_t flags)
{
    for (uint32_t bits = flags; bits; bits &= bits - 1) {
        put(printer, bits == flags ? "" : ",");
        put(printer, workload_allocation_flag_name(bits & (0u - bits)));
    }
}

static void put_priority(struct printer *printer, uint64_t priority)
{
    for (const struct workload_priority_word *p = workload_priority_words; p->name; p++) {
        if (p->value == priority) {
            put(printer, p->name);
            return;
        }
    }
    putf(printer, "0x%" PRIx64, priority);
}

static void put_protection(struct printer *printer, uint64_t flags)
{
    put(printer, flags & WORKLOAD_PROTECT_READ_ONLY ? "ro" : "");
    put(printer, flags == (WORKLOAD_PROTECT_READ_ONLY | WORKLOAD_PROTECT_NO_EXECUTE) ? "," : "");
    put(printer, flags & WORKLOAD_PROTECT_NO_EXECUTE ? "nx" : "");
}

static void put_value(struct printer *printer, const struct directive_line *line,
                      const struct directive_member *member)
{
    const struct workload *w = printer->workload;
    uint64_t value = directive_get(line, member);

    switch ((enum directive_type)member->type) {
    case TYPE_NEW_NAME:
        put(printer, line->name);
        break;
    case TYPE_ALLOCATION:
        put_allocation_name(printer, (uint32_t)value);
        break;
    case TYPE_CONTEXT:
    case TYPE_CONTEXT_OR_ALL:
        put_context_name(printer, (uint32_t)value);
        break;
    case TYPE_PROCESS:
        put(printer, workload_string(w, w->processes[value].name));
        break;
    case TYPE_DEVICE:
    case TYPE_LIST_DEVICE:
        put(printer, workload_string(w, w->devices[value].name));
        break;
    case TYPE_SIZE:
    case TYPE_RANGE_SIZE:
        put_size(printer, value);
        break;
    case TYPE_HEX:
    case TYPE_VA:
    case TYPE_FIXED_VA:
        putf(printer, "0x%" PRIx64, value);
        break;
    case TYPE_VA_OR_AUTO:
        if (value == WORKLOAD_VA_AUTO)
            put(printer, "auto");
        else
            putf(printer, "0x%" PRIx64, value);
        break;
    case TYPE_PAGES:
        putf(printer, "%" PRIu64, value / PAGE_BYTES);
        break;
    case TYPE_PAGE_SIZE:
        put_size(printer, UINT64_C(1) << value);
        break;
    case TYPE_SIGNAL:
        putf(printer, "%" PRIu64, value - 1);
        break;
    case TYPE_YES:
        put(printer, "yes");
        break;
    case TYPE_CHOICE:
        put_choice(printer, member->shown, value);
        break;
    case TYPE_SEGMENT:
        put(printer, workload_segment_name((enum workload_segment)value));
        break;
    case TYPE_SEGMENTS:
        put_segments(printer, &line->alloc);
        break;
    case TYPE_FLAGS:
        put_flags(printer, (uint32_t)value);
        break;
    case TYPE_PRIORITY:
        put_priority(printer, value);
        break;
    case TYPE_PROTECTION:
        put_protection(printer, value);
        break;
    case TYPE_TEXT:
    case TYPE_NAME_OR_TEXT:
        put_quoted(printer, workload_string(w, (uint32_t)value));
        break;
    default:
        putf(printer, "%" PRIu64, value);
        break;
    }
}

/* ---- Lists ---- */

static void put_reference(struct printer *printer, const struct workload_ref *ref)
{
    put_allocation_name(printer, ref->allocation);
    if (ref->offset || ref->size != printer->workload->allocations[ref->allocation].size) {
        put(printer, "@");
        put_size(printer, ref->offset);
        put(printer, "+");
        put_size(printer, ref->size);
    }
    put(printer, ":");
    put(printer, ref->access & WORKLOAD_ACCESS_READ ? "r" : "");
    put(printer, ref->access & WORKLOAD_ACCESS_WRITE ? "w" : "");
    if (ref->key)
        putf(printer, "=0x%" PRIx64, ref->key);
}

static void put_list(struct printer *printer, const struct workload_op *op,
                     const struct directive_member *list)
{
    for (uint32_t i = 0; i < op->ref_count; i++) {
        const struct workload_ref *ref = &printer->workload->refs[op->first_ref + i];

        put(printer, " ");
        if (list->type == TYPE_REFERENCES)
            put_reference(printer, ref);
        else
            put_allocation_name(printer, ref->allocation);
    }
}

/* ---- Lines ---- */

/* The parser adds by itself what is not said. */
static bool goes_unsaid(const struct printer *printer, const struct directive_line *line,
                        const struct directive_member *member)
{
    const struct workload *w = printer->workload;
    const struct workload_op *op = &line->op;

    switch ((enum directive_type)member->type) {
    case TYPE_LIST_DEVICE:
        return op->object == w->allocations[w->refs[op->first_ref].allocation].device;
    case TYPE_RANGE_SIZE:
        return op->offset + op->size == w->allocations[op->object].size;
    case TYPE_SEGMENTS:
        return line->alloc.segment_count == 0;
    default:
        return directive_get(line, member) == member->fallback;
    }
}

static void print_line(struct printer *printer, const struct directive *directive,
                       const struct directive_line *line)
{
    const char *verb = directive_verb(directive);

    putf(printer, "%.*s", (int)directive_word_length(directive), directive->name);
    for (const struct directive_member *m = directive->members; m->presence; m++) {
        if (m->presence == PRESENCE_LIST) {
            put_list(printer, &line->op, m);
            continue;
        }
        if ((m->presence == PRESENCE_MAY && goes_unsaid(printer, line, m)) ||
            (m->presence == PRESENCE_WITH && goes_unsaid(printer, line, m - 1)))
            continue;
        put(printer, " ");
        if (m->key)
            putf(printer, "%s=", m->key);
        put_value(printer, line, m);
        if (*verb && m == directive->members)
            putf(printer, " %s", verb);
    }
    put(printer, "\n");
}

static void print_op(struct printer *printer, const struct workload_op *op)
{
    const struct workload *w = printer->workload;
    const struct directive *directive = directive_of_kind((enum workload_op_kind)op->kind);
    struct directive_line line = {.op = *op};

    if (op->kind == WORKLOAD_OP_PTE_MAP && (op->flags & WORKLOAD_PROTECT_ZERO))
        directive = &directives[ROW_PTE_ZERO];
    if (op->kind == WORKLOAD_OP_ALLOC) {
        const struct workload_allocation *a = &w->allocations[op->object];

        line.name = workload_string(w, a->name);
        line.alloc = (struct workload_allocation_info){.size = a->size,
                                                       .align = a->align,
                                                       .va = a->va,
                                                       .device = a->device,
                                                       .priority = a->priority,
                                                       .flags = a->flags,
                                                       .segment_count = a->segment_count};
        memcpy(line.alloc.segments, a->segments, sizeof a->segments);
    } else if (op->ref_count) {
        line.ref = w->refs[op->first_ref];
    }
    print_line(printer, directive, &line);
}

/* The one process, device and context that stand for "none declared" go unsaid. */
static bool has_only_defaults(const struct workload *w)
{
    return w->process_count == 1 && w->device_count == 1 && w->context_count == 1 &&
           strcmp(workload_string(w, w->processes[0].name), "p0") == 0 &&
           strcmp(workload_string(w, w->devices[0].name), "d0") == 0 &&
           strcmp(workload_string(w, w->contexts[0].name), "c0") == 0 && w->contexts[0].node == 0 &&
           !w->contexts[0].save.bytes;
}

/* A value that would not be one word stands in quotes. */
static void put_option(struct printer *printer, const char *key, const char *value)
{
    putf(printer, "option %s ", key);
    if (value[strcspn(value, " #\"")])
        put_quoted(printer, value);
    else
        put(printer, value);
    put(printer, "\n");
}

static void print_header(struct printer *printer)
{
    const struct workload *w = printer->workload;

    put(printer, "drydock-case 1\n");
    if (w->name[0]) {
        put(printer, "name ");
        put_quoted(printer, w->name);
        put(printer, "\n");
    }
    for (uint32_t i = 0; i < w->option_count; i++)
        put_option(printer, workload_string(w, w->options[i].key),
                   workload_string(w, w->options[i].value));
    if (has_only_defaults(w))
        return;
    for (uint32_t i = 0; i < w->process_count; i++)
        print_line(printer, &directives[ROW_HEADER_PROCESS],
                   &(struct directive_line){.name = workload_string(w, w->processes[i].name)});
    for (uint32_t i = 0; i < w->device_count; i++)
        print_line(printer, &directives[ROW_HEADER_DEVICE],
                   &(struct directive_line){.name = workload_string(w, w->devices[i].name),
                                            .device = w->devices[i]});
    for (uint32_t i = 0; i < w->context_count; i++)
        print_line(printer, &directives[ROW_HEADER_CONTEXT],
                   &(struct directive_line){.name = workload_string(w, w->contexts[i].name),
                                            .context = w->contexts[i]});
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
