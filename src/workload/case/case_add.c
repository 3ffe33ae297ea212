/*
 * A line that has been read goes to the builder: most operations as their members were filled,
 * lines of the header and a few operations in their own way.
 */
#include "workload/case/case_parse.h"
#include "workload/case/options.h"

#include "base/bits.h"

/* Long enough for the builder to see that a name is too long. */
#define NAME_BUFFER (WORKLOAD_MAX_NAME + 2)

/* Names of the header become C strings on the way to the builder. */
static const char *terminate(struct word word, char *buffer, size_t size)
{
    size_t length = word.length < size - 1 ? word.length : size - 1;

    memcpy(buffer, word.text, length);
    buffer[length] = '\0';
    return buffer;
}

/* ---- The header ---- */

static void add_name(struct parser *parser)
{
    if (parser->quoted[0] == '\0')
        fail(parser, "an empty name (expected: %s)", case_syntax(parser));
    else
        workload_builder_name(parser->builder, parser->quoted);
}

static void add_option(struct parser *parser)
{
    char key[WORKLOAD_MAX_NAME + 1], value[WORKLOAD_MAX_OPTION_VALUE + 1];

    if (parser->words[0].length >= sizeof key ||
        (!parser->has_quoted && parser->words[1].length >= sizeof value)) {
        fail(parser,
             "an option's key or value is too long (expected at most %d characters of a key and %d "
             "of a value)",
             WORKLOAD_MAX_NAME, WORKLOAD_MAX_OPTION_VALUE);
        return;
    }
    workload_builder_option(parser->builder, terminate(parser->words[0], key, sizeof key),
                            parser->has_quoted ? parser->quoted
                                               : terminate(parser->words[1], value, sizeof value));
}

static void add_process(struct parser *parser)
{
    char name[NAME_BUFFER];

    workload_builder_process(parser->builder, terminate(parser->words[0], name, sizeof name));
}

static void add_device(struct parser *parser)
{
    char name[NAME_BUFFER];

    workload_builder_device(parser->builder, terminate(parser->words[0], name, sizeof name),
                            parser->line.device.process);
}

static void add_context(struct parser *parser)
{
    const struct workload_context *line = &parser->line.context;
    char name[NAME_BUFFER];
    uint32_t context = workload_builder_context(
        parser->builder, terminate(parser->words[0], name, sizeof name), line->device, line->node);

    for (uint32_t i = 0; i < parser->given_count && context != WORKLOAD_NONE; i++) {
        if (strcmp(parser->given[i].member->key, "save") == 0)
            workload_builder_save_area(parser->builder, context, &line->save);
    }
}

/* ---- Operations ---- */

static void add_alloc(struct parser *parser)
{
    workload_builder_alloc_n(parser->builder, parser->words[0].text, parser->words[0].length,
                             &parser->line.alloc);
}

static void add_submit(struct parser *parser)
{
    if (!parser->is_submission_open)
        case_open_submission(parser);
    workload_builder_submit_end(parser->builder);
}

static void add_map(struct parser *parser)
{
    const struct workload_op *op = &parser->line.op;

    workload_builder_map(parser->builder, op->object, op->value, op->offset, op->size, op->flags,
                         parser->line.ref.key);
}

static void add_tile_map(struct parser *parser)
{
    workload_builder_add(parser->builder, &parser->line.op, &parser->line.ref, 1);
}

static void add_pte_zero(struct parser *parser)
{
    const struct workload_op *op = &parser->line.op;

    workload_builder_pte_zero(parser->builder, op->object, op->offset, op->size / PAGE_BYTES);
}

static void (*const own_ways[ROW_COUNT])(struct parser *parser) = {
    [ROW_ALLOC] = add_alloc,
    [ROW_SUBMIT] = add_submit,
    [ROW_MAP] = add_map,
    [ROW_TILE_MAP] = add_tile_map,
    [ROW_PTE_ZERO] = add_pte_zero,
    [ROW_HEADER_NAME] = add_name,
    [ROW_HEADER_OPTION] = add_option,
    [ROW_HEADER_PROCESS] = add_process,
    [ROW_HEADER_DEVICE] = add_device,
    [ROW_HEADER_CONTEXT] = add_context,
};

/* The type of the last member, a list or a text where the line has one. */
static enum directive_type last_type(const struct directive *directive)
{
    enum directive_type type = TYPE_COUNT_OF_TYPES;

    for (const struct directive_member *m = directive->members; m->presence; m++)
        type = (enum directive_type)m->type;
    return type;
}

void case_add(struct parser *parser)
{
    void (*own_way)(struct parser * parser) = own_ways[parser->directive - directives];
    const struct workload_op *op = &parser->line.op;
    char text[WORKLOAD_MAX_TEXT + 2];

    if (own_way) {
        own_way(parser);
        return;
    }
    switch (last_type(parser->directive)) {
    case TYPE_ALLOCATIONS:
        if (parser->list_count)
            workload_builder_add_list(parser->builder, op, parser->list, parser->list_count);
        else
            fail(parser, "%s of nothing (expected: %s)", parser->directive->name,
                 case_syntax(parser));
        break;
    case TYPE_TEXT:
    case TYPE_NAME_OR_TEXT:
        workload_builder_add_text(
            parser->builder, op,
            parser->has_quoted
                ? parser->quoted
                : terminate(parser->words[parser->word_count - 1], text, sizeof text));
        break;
    default:
        workload_builder_add(parser->builder, op, NULL, 0);
        break;
    }
}
