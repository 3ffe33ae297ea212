/*
 * Reading: what a word of a case says, by the type of the member that it fills.
 */
#include "workload/case/case_parse.h"
#include "workload/case/directives_text.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>

/* Cuts the next item off a list whose items a separator divides. False at its end. */
static bool next_item(struct word *rest, char separator, struct word *item)
{
    const char *end;

    if (!rest->text)
        return false;
    end = memchr(rest->text, separator, rest->length);
    item->text = rest->text;
    item->length = end ? (size_t)(end - rest->text) : rest->length;
    if (end)
        *rest = (struct word){end + 1, rest->length - item->length - 1};
    else
        *rest = (struct word){NULL, 0};
    return true;
}

const char *case_syntax(struct parser *parser)
{
    directive_syntax(parser->first, parser->syntax, sizeof parser->syntax);
    return parser->syntax;
}

/* ---- Names ---- */

static const struct workload_name *lookup(struct parser *parser, struct word word)
{
    if (!workload_builder_end_header(parser->builder))
        return NULL;
    return workload_builder_lookup(parser->builder, word.text, word.length);
}

static uint32_t find_allocation(struct parser *parser, struct word word)
{
    const struct workload_name *name = lookup(parser, word);

    if (name && name->allocation != WORKLOAD_NONE)
        return name->allocation;
    if (name && name->last_allocation != WORKLOAD_NONE)
        fail(parser, "%.*s is already freed (expected a live allocation)", shown(word), word.text);
    else
        fail(parser, "unknown allocation '%.*s' (expected the name of an earlier alloc)",
             shown(word), word.text);
    return WORKLOAD_NONE;
}

static uint32_t find_context(struct parser *parser, struct word word)
{
    const struct workload_name *name = lookup(parser, word);

    if (name && name->context != WORKLOAD_NONE)
        return name->context;
    fail(parser, "unknown context '%.*s' (expected the name of a context line, or c0)", shown(word),
         word.text);
    return WORKLOAD_NONE;
}

/* p0 and d0 may be named in the header although nothing declares them: the builder does then. */
static bool is_undeclared(const struct parser *parser, struct word word, const char *name,
                          uint32_t count)
{
    return directive_is_header(parser->first) && count == 0 && word_is(word, name);
}

static uint32_t find_device(struct parser *parser, struct word word)
{
    const struct workload_name *name;

    if (is_undeclared(parser, word, "d0", parser->builder->out->view.device_count) ||
        (!directive_is_header(parser->first) && !workload_builder_end_header(parser->builder)))
        return 0;
    name = workload_builder_lookup(parser->builder, word.text, word.length);
    if (name && name->device != WORKLOAD_NONE)
        return name->device;
    fail(parser, "unknown device '%.*s' (expected the name of an earlier device line, or d0)",
         shown(word), word.text);
    return WORKLOAD_NONE;
}

static uint32_t find_process(struct parser *parser, struct word word)
{
    const struct workload_name *name;

    if (is_undeclared(parser, word, "p0", parser->builder->out->view.process_count) ||
        (!directive_is_header(parser->first) && !workload_builder_end_header(parser->builder)))
        return 0;
    name = workload_builder_lookup(parser->builder, word.text, word.length);
    if (name && name->process != WORKLOAD_NONE)
        return name->process;
    fail(parser, "unknown process '%.*s' (expected the name of an earlier process line, or p0)",
         shown(word), word.text);
    return WORKLOAD_NONE;
}

/* ---- Numbers. False after an error. ---- */

static bool read_number(struct parser *parser, const struct directive_member *member,
                        struct word word, uint64_t *out)
{
    if (workload_parse_number(word.text, word.length, out))
        return true;
    if (member->key)
        fail(parser, "%s= is '%.*s' (expected a number such as 4096, 0x1000 or 64K, below 2^64)",
             member->key, shown(word), word.text);
    else
        fail(parser, "%s is '%.*s' (expected a number of bytes)", parser->first->name, shown(word),
             word.text);
    return false;
}

static bool read_fence(struct parser *parser, struct word word, uint64_t *out)
{
    if (workload_parse_number(word.text, word.length, out))
        return true;
    fail(parser, "fence '%.*s' (expected a number)", shown(word), word.text);
    return false;
}

static bool read_node(struct parser *parser, struct word word, uint64_t *out)
{
    if (workload_parse_number(word.text, word.length, out) && *out < WORKLOAD_MAX_NODES)
        return true;
    fail(parser, "node '%.*s' (expected a number from 0 to %u)", shown(word), word.text,
         WORKLOAD_MAX_NODES - 1);
    return false;
}

static bool read_pages(struct parser *parser, const struct directive_member *member,
                       struct word word, uint64_t *out)
{
    if (!read_number(parser, member, word, out) ||
        !workload_builder_check_page_count(parser->builder, *out))
        return false;
    *out <<= PAGE_SHIFT_BITS;
    return true;
}

static bool read_page_size(struct parser *parser, const struct directive_member *member,
                           struct word word, uint64_t *out)
{
    uint64_t bytes;

    if (!read_number(parser, member, word, &bytes))
        return false;
    if (!is_power_of_two(bytes)) {
        fail(parser, "%s is %" PRIu64 " (expected a power of two, 4K to 1G)", member->key, bytes);
        return false;
    }
    *out = log2_floor_u64(bytes);
    return true;
}

static bool read_va(struct parser *parser, const struct directive_member *member, struct word word,
                    uint64_t *out)
{
    bool may_be_auto = member->type == TYPE_VA_OR_AUTO;

    if (may_be_auto && word_is(word, "auto")) {
        *out = WORKLOAD_VA_AUTO;
        return true;
    }
    if (!workload_parse_number(word.text, word.length, out) || *out >= WORKLOAD_MAX_VA) {
        fail(parser, "%s is '%.*s' (expected a number below 0x%llx%s)", member->key, shown(word),
             word.text, WORKLOAD_MAX_VA, may_be_auto ? ", or auto" : "");
        return false;
    }
    if (member->type == TYPE_FIXED_VA && *out == 0) {
        fail(parser, "%s is 0 (expected a number from 4K)", member->key);
        return false;
    }
    return true;
}

/* ---- Words with a meaning of their own. False after an error. ---- */

/* "a|b|c" as "a, b or c". */
static const char *in_words(const char *choices, char *out, size_t size)
{
    struct word rest = {choices, strlen(choices)}, item;
    size_t used = 0;

    *out = '\0';
    while (used < size && next_item(&rest, '|', &item))
        used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                 !used       ? ""
                                 : rest.text ? ", "
                                             : " or ",
                                 (int)item.length, item.text);
    return out;
}

/* The number of the word among those of choices, from 0. */
static bool read_choice(struct parser *parser, const struct directive_member *member,
                        const char *choices, struct word word, uint64_t *out)
{
    struct word rest = {choices, strlen(choices)}, item;
    char list[128];

    for (*out = 0; next_item(&rest, '|', &item); ++*out) {
        if (item.length == word.length && memcmp(item.text, word.text, word.length) == 0)
            return true;
    }
    in_words(choices, list, sizeof list);
    if (!member->key)
        fail(parser, "%s '%.*s' (expected %s)", parser->first->name, shown(word), word.text, list);
    else if (*out == 2)
        fail(parser, "'%.*s' is not known here (expected %s)", shown(word), word.text, list);
    else
        fail(parser, "%s is '%.*s' (expected %s)", member->key, shown(word), word.text, list);
    return false;
}

static bool read_segment(struct parser *parser, struct word word, uint64_t *out)
{
    for (*out = 0; *out < WORKLOAD_SEGMENT_COUNT; ++*out) {
        if (word_is(word, workload_segment_name((enum workload_segment) * out)))
            return true;
    }
    fail(parser, "unknown segment '%.*s' (expected local, local-invisible, aperture or system)",
         shown(word), word.text);
    return false;
}

static void read_segments(struct parser *parser, struct word word)
{
    struct workload_allocation_info *info = &parser->line.alloc;
    struct word item;
    uint64_t segment;

    while (next_item(&word, ',', &item)) {
        if (info->segment_count == WORKLOAD_MAX_SEGMENTS) {
            fail(parser, "too many segments (expected at most %u)", WORKLOAD_MAX_SEGMENTS);
            return;
        }
        if (!read_segment(parser, item, &segment))
            return;
        info->segments[info->segment_count++] = (uint8_t)segment;
    }
}

static bool read_priority(struct parser *parser, struct word word, uint64_t *out)
{
    for (const struct workload_priority_word *p = workload_priority_words; p->name; p++) {
        if (word_is(word, p->name)) {
            *out = p->value;
            return true;
        }
    }
    if (workload_parse_number(word.text, word.length, out) && *out > 0 && *out <= UINT32_MAX)
        return true;
    fail(parser,
         "priority is '%.*s' (expected min, low, normal, high, max or a number from 1 to "
         "0xffffffff)",
         shown(word), word.text);
    return false;
}

static bool read_flags(struct parser *parser, struct word word, uint64_t *out)
{
    struct word item;

    *out = 0;
    while (next_item(&word, ',', &item)) {
        uint32_t bit = 1;
        const char *name;

        while ((name = workload_allocation_flag_name(bit)) != NULL && !word_is(item, name))
            bit <<= 1;
        if (!name) {
            fail(parser,
                 "unknown flag '%.*s' (expected flags of the manual's table: cpu-visible, cached, "
                 "shared, primary ...)",
                 shown(item), item.text);
            return false;
        }
        if (*out & bit) {
            fail(parser, "flag %s is given twice (expected once)", name);
            return false;
        }
        *out |= bit;
    }
    return true;
}

static bool read_protection(struct parser *parser, struct word word, uint64_t *out)
{
    struct word item;

    *out = 0;
    while (next_item(&word, ',', &item)) {
        uint32_t bit = word_is(item, "ro")   ? WORKLOAD_PROTECT_READ_ONLY
                       : word_is(item, "nx") ? WORKLOAD_PROTECT_NO_EXECUTE
                                             : 0;

        if (!bit || (*out & bit)) {
            fail(parser, "protect has '%.*s' (expected ro, nx or ro,nx)", shown(item), item.text);
            return false;
        }
        *out |= bit;
    }
    return true;
}

/* size=0 is an error in the text; to the builder it means "to the end". */
static bool read_range_size(struct parser *parser, const struct directive_member *member,
                            struct word word, uint64_t *out)
{
    if (!read_number(parser, member, word, out))
        return false;
    if (!*out)
        fail(parser, "size is 0 (expected 1 byte or more)");
    return *out != 0;
}

/* ---- Members ---- */

/* False after an error. */
static bool read_value(struct parser *parser, const struct directive_member *member,
                       struct word word, uint64_t *out)
{
    switch ((enum directive_type)member->type) {
    case TYPE_ALLOCATION:
        *out = find_allocation(parser, word);
        return *out != WORKLOAD_NONE;
    case TYPE_CONTEXT_OR_ALL:
        if (word_is(word, "all")) {
            *out = WORKLOAD_NONE;
            return true;
        }
        /* fall through */
    case TYPE_CONTEXT:
        *out = find_context(parser, word);
        return *out != WORKLOAD_NONE;
    case TYPE_PROCESS:
        *out = find_process(parser, word);
        return *out != WORKLOAD_NONE;
    case TYPE_DEVICE:
    case TYPE_LIST_DEVICE:
        *out = find_device(parser, word);
        return *out != WORKLOAD_NONE;
    case TYPE_NODE:
        return read_node(parser, word, out);
    case TYPE_FENCE:
    case TYPE_NEW_FENCE:
        return read_fence(parser, word, out);
    case TYPE_SIZE:
    case TYPE_COUNT:
    case TYPE_HEX:
        return read_number(parser, member, word, out);
    case TYPE_RANGE_SIZE:
        return read_range_size(parser, member, word, out);
    case TYPE_SIGNAL:
        if (!read_number(parser, member, word, out))
            return false;
        *out += 1;
        return true;
    case TYPE_PAGES:
        return read_pages(parser, member, word, out);
    case TYPE_PAGE_SIZE:
        return read_page_size(parser, member, word, out);
    case TYPE_VA:
    case TYPE_VA_OR_AUTO:
    case TYPE_FIXED_VA:
        return read_va(parser, member, word, out);
    case TYPE_YES:
        return read_choice(parser, member, "no|yes", word, out);
    case TYPE_CHOICE:
        return read_choice(parser, member, member->shown, word, out);
    case TYPE_SEGMENT:
        return read_segment(parser, word, out);
    case TYPE_PRIORITY:
        return read_priority(parser, word, out);
    case TYPE_FLAGS:
        return read_flags(parser, word, out);
    case TYPE_PROTECTION:
        return read_protection(parser, word, out);
    case TYPE_SEGMENTS:
        read_segments(parser, word);
        return false; /* its places are filled */
    default:
        return false; /* it fills nothing */
    }
}

void case_read(struct parser *parser, const struct directive_member *member, struct word word)
{
    uint64_t value;

    if (read_value(parser, member, word, &value))
        directive_put(&parser->line, member, value);
}

/* ---- Lists ---- */

void case_open_submission(struct parser *parser)
{
    const struct workload_op *op = &parser->line.op;

    parser->is_submission_open = true;
    workload_builder_submit_begin(parser->builder, op->object, op->value);
    if (op->offset)
        workload_builder_signal(parser->builder, op->offset - 1, op->size);
    if (op->flags & WORKLOAD_SUBMIT_NULL)
        workload_builder_null(parser->builder);
    if (op->rectangles)
        workload_builder_present(parser->builder, op->rectangles);
}

/* NAME[@OFFSET+SIZE]:ACCESS[=KEY] */
static void read_reference(struct parser *parser, struct word word)
{
    const char *colon, *at, *plus, *equals;
    struct word name, access;
    uint64_t offset = 0, size = 0, key = 0;
    uint32_t id, bits = 0;

    if (!parser->is_submission_open)
        case_open_submission(parser);
    if (workload_builder_failed(parser->builder))
        return;
    colon = memchr(word.text, ':', word.length);
    if (!colon)
        goto malformed;
    access = (struct word){colon + 1, word.length - (size_t)(colon - word.text) - 1};
    name = (struct word){word.text, (size_t)(colon - word.text)};
    equals = memchr(access.text, '=', access.length);
    if (equals) {
        size_t length = access.length - (size_t)(equals - access.text) - 1;

        if (!workload_parse_number(equals + 1, length, &key) || key == 0)
            goto malformed;
        access.length = (size_t)(equals - access.text);
    }
    if (word_is(access, "r"))
        bits = WORKLOAD_ACCESS_READ;
    else if (word_is(access, "w"))
        bits = WORKLOAD_ACCESS_WRITE;
    else if (word_is(access, "rw"))
        bits = WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE;
    else
        goto malformed;
    at = memchr(name.text, '@', name.length);
    if (at) {
        plus = memchr(at, '+', (size_t)(colon - at));
        if (!plus || !workload_parse_number(at + 1, (size_t)(plus - at) - 1, &offset) ||
            !workload_parse_number(plus + 1, (size_t)(colon - plus) - 1, &size) || size == 0)
            goto malformed;
        name.length = (size_t)(at - name.text);
    }
    id = find_allocation(parser, name);
    if (id != WORKLOAD_NONE)
        workload_builder_ref(parser->builder, id, offset, size, bits, key);
    return;

malformed:
    fail(parser,
         "'%.*s' is no reference (expected NAME:r, NAME:w, NAME:rw or NAME@OFFSET+SIZE:..., a "
         "write may end in =KEY)",
         shown(word), word.text);
}

static void read_list_allocation(struct parser *parser, struct word word)
{
    uint32_t id = find_allocation(parser, word);

    if (id == WORKLOAD_NONE)
        return;
    if (parser->list_count == WORKLOAD_MAX_OP_REFS)
        fail(parser, "too many references in one operation (expected at most %u)",
             WORKLOAD_MAX_OP_REFS);
    else
        parser->list[parser->list_count++] = id;
}

void case_read_item(struct parser *parser, const struct directive_member *list, struct word word)
{
    if (list->type == TYPE_REFERENCES)
        read_reference(parser, word);
    else
        read_list_allocation(parser, word);
}
