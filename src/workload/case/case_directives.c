/*
 * What each directive of the case format does, and the table of them. docs/case-format.md is the
 * grammar.
 */
#include "workload/case/case_parse.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>

#define A(x) (1u << ATTR_##x)

/* Cuts the next item off a comma-separated list. False at its end. */
static bool next_item(struct word *rest, struct word *item)
{
    const char *comma;

    if (!rest->text)
        return false;
    comma = memchr(rest->text, ',', rest->length);
    item->text = rest->text;
    item->length = comma ? (size_t)(comma - rest->text) : rest->length;
    if (comma)
        *rest = (struct word){comma + 1, rest->length - item->length - 1};
    else
        *rest = (struct word){NULL, 0};
    return true;
}

/* Names -------------------------------------------------------------------------------------- */

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

static uint32_t find_device(struct parser *parser, struct word word)
{
    const struct workload_name *name =
        workload_builder_lookup(parser->builder, word.text, word.length);

    if (name && name->device != WORKLOAD_NONE)
        return name->device;
    fail(parser, "unknown device '%.*s' (expected the name of an earlier device line, or d0)",
         shown(word), word.text);
    return WORKLOAD_NONE;
}

static uint32_t find_process(struct parser *parser, struct word word)
{
    const struct workload_name *name =
        workload_builder_lookup(parser->builder, word.text, word.length);

    if (name && name->process != WORKLOAD_NONE)
        return name->process;
    fail(parser, "unknown process '%.*s' (expected the name of an earlier process line, or p0)",
         shown(word), word.text);
    return WORKLOAD_NONE;
}

/* The header's names become C strings on the way to the builder. */
static const char *terminate(struct word word, char *buffer, size_t size)
{
    size_t length = word.length < size - 1 ? word.length : size - 1;

    memcpy(buffer, word.text, length);
    buffer[length] = '\0';
    return buffer;
}

/* Words with a meaning of their own ---------------------------------------------------------- */

static bool parse_protection(struct parser *parser, uint32_t *out)
{
    struct word rest = parser->values[ATTR_PROTECT], item;

    *out = 0;
    if (!(parser->present & A(PROTECT)))
        return true;
    while (next_item(&rest, &item)) {
        uint32_t bit = 0;

        if (word_is(item, "ro"))
            bit = WORKLOAD_PROTECT_READ_ONLY;
        else if (word_is(item, "nx"))
            bit = WORKLOAD_PROTECT_NO_EXECUTE;
        if (!bit || (*out & bit)) {
            fail(parser, "protect has '%.*s' (expected ro, nx or ro,nx)", shown(item), item.text);
            return false;
        }
        *out |= bit;
    }
    return true;
}

static bool parse_segment(struct parser *parser, struct word word, uint8_t *out)
{
    for (uint32_t i = 0; i < WORKLOAD_SEGMENT_COUNT; i++) {
        if (word_is(word, workload_segment_name((enum workload_segment)i))) {
            *out = (uint8_t)i;
            return true;
        }
    }
    fail(parser, "unknown segment '%.*s' (expected local, local-invisible, aperture or system)",
         shown(word), word.text);
    return false;
}

static bool parse_priority(struct parser *parser, struct word word, uint32_t *out)
{
    static const struct {
        const char *name;
        uint32_t value;
    } names[] = {
        {"min", WORKLOAD_PRIORITY_MIN},       {"low", WORKLOAD_PRIORITY_LOW},
        {"normal", WORKLOAD_PRIORITY_NORMAL}, {"high", WORKLOAD_PRIORITY_HIGH},
        {"max", WORKLOAD_PRIORITY_MAX},
    };
    uint64_t number;

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (word_is(word, names[i].name)) {
            *out = names[i].value;
            return true;
        }
    }
    if (workload_parse_number(word.text, word.length, &number) && number > 0 &&
        number <= UINT32_MAX) {
        *out = (uint32_t)number;
        return true;
    }
    fail(parser,
         "priority is '%.*s' (expected min, low, normal, high, max or a number from 1 to "
         "0xffffffff)",
         shown(word), word.text);
    return false;
}

static bool parse_flags(struct parser *parser, uint32_t *out)
{
    struct word rest = parser->values[ATTR_FLAGS], item;

    while (next_item(&rest, &item)) {
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

/* A GPU VA: a number, or auto where may_be_auto. */
static bool parse_va(struct parser *parser, bool may_be_auto, uint64_t *out)
{
    struct word word = parser->values[ATTR_VA];

    if (may_be_auto && word_is(word, "auto")) {
        *out = WORKLOAD_VA_AUTO;
        return true;
    }
    if (workload_parse_number(word.text, word.length, out) && *out < WORKLOAD_MAX_VA)
        return true;
    fail(parser, "va is '%.*s' (expected a number below 0x%llx%s)", shown(word), word.text,
         WORKLOAD_MAX_VA, may_be_auto ? ", or auto" : "");
    return false;
}

/* Handlers ----------------------------------------------------------------------------------- */

static void handle_name(struct parser *parser)
{
    if (parser->quoted[0] == '\0')
        fail(parser, "an empty name (expected: %s)", parser->directive->syntax);
    else
        workload_builder_name(parser->builder, parser->quoted);
}

static void handle_option(struct parser *parser)
{
    char key[WORKLOAD_MAX_NAME + 1], value[WORKLOAD_MAX_TEMPLATE + 1];
    bool is_quoted = parser->has_quoted;

    if (parser->word_count != (is_quoted ? 1u : 2u)) {
        fail(parser, "%s (expected: %s)",
             parser->word_count > 1 ? "a word and a text" : "too few words",
             parser->directive->syntax);
        return;
    }
    if (parser->words[0].length >= sizeof key ||
        (!is_quoted && parser->words[1].length >= sizeof value)) {
        fail(parser,
             "an option's key or value is too long (expected at most %d characters of a key and %d "
             "of a value)",
             WORKLOAD_MAX_NAME, WORKLOAD_MAX_TEMPLATE);
        return;
    }
    workload_builder_option(parser->builder, terminate(parser->words[0], key, sizeof key),
                            is_quoted ? parser->quoted
                                      : terminate(parser->words[1], value, sizeof value));
}

/* Long enough for the builder to see that a name is too long. */
#define NAME_BUFFER (WORKLOAD_MAX_NAME + 2)

static void handle_process(struct parser *parser)
{
    char name[NAME_BUFFER];

    workload_builder_process(parser->builder, terminate(parser->words[0], name, sizeof name));
}

static void handle_device(struct parser *parser)
{
    const struct workload *view = &parser->builder->out->view;
    char name[NAME_BUFFER];
    uint32_t process = 0;

    /* p0 and d0 may be named although nothing declares them; the builder then does. */
    if ((parser->present & A(PROCESS)) &&
        !(word_is(parser->values[ATTR_PROCESS], "p0") && !view->process_count)) {
        process = find_process(parser, parser->values[ATTR_PROCESS]);
        if (process == WORKLOAD_NONE)
            return;
    }
    workload_builder_device(parser->builder, terminate(parser->words[0], name, sizeof name),
                            process);
}

/* A word that is the first or the second of two; the first where it is not there. */
static bool choice(struct parser *parser, enum attribute attribute, const char *first,
                   const char *second, bool *out_is_second)
{
    struct word word = parser->values[attribute];

    *out_is_second = false;
    if (!(parser->present & (1u << attribute)))
        return true;
    *out_is_second = word_is(word, second);
    if (*out_is_second || word_is(word, first))
        return true;
    fail(parser, "'%.*s' is not known here (expected %s or %s)", shown(word), word.text, first,
         second);
    return false;
}

static void handle_context(struct parser *parser)
{
    const struct workload *view = &parser->builder->out->view;
    char name[NAME_BUFFER];
    uint32_t device = 0;
    uint64_t node = parser->numbers[ATTR_NODE];
    struct workload_save_area save = {.bytes = parser->numbers[ATTR_SAVE]};
    uint32_t context;

    if ((parser->present & A(DEVICE)) &&
        !(word_is(parser->values[ATTR_DEVICE], "d0") && !view->device_count)) {
        device = find_device(parser, parser->values[ATTR_DEVICE]);
        if (device == WORKLOAD_NONE)
            return;
    }
    if (!choice(parser, ATTR_SAVE_IN, "system", "local", &save.is_local) ||
        !choice(parser, ATTR_SAVE_BY, "address", "va", &save.is_mapped) ||
        !choice(parser, ATTR_SAVE_FOR, "context", "device", &save.is_shared) ||
        !choice(parser, ATTR_SAVE_IMAGE, "gpu", "cpu", &save.has_cpu_image))
        return;
    context =
        workload_builder_context(parser->builder, terminate(parser->words[0], name, sizeof name),
                                 device, node > UINT32_MAX ? UINT32_MAX : (uint32_t)node);
    if (context != WORKLOAD_NONE && parser->present & A(SAVE))
        workload_builder_save_area(parser->builder, context, &save);
}

static void handle_alloc(struct parser *parser)
{
    struct workload_allocation_info info = {.size = parser->numbers[ATTR_SIZE],
                                            .align = parser->numbers[ATTR_ALIGN],
                                            .va = WORKLOAD_VA_AUTO};

    if (!workload_builder_end_header(parser->builder))
        return;
    if (parser->present & A(DEVICE)) {
        info.device = find_device(parser, parser->values[ATTR_DEVICE]);
        if (info.device == WORKLOAD_NONE)
            return;
    }
    if ((parser->present & A(PRIORITY)) &&
        !parse_priority(parser, parser->values[ATTR_PRIORITY], &info.priority))
        return;
    if ((parser->present & A(FLAGS)) && !parse_flags(parser, &info.flags))
        return;
    if (parser->present & A(VA)) {
        if (!parse_va(parser, false, &info.va))
            return;
        if (info.va == 0) {
            fail(parser, "va is 0 (expected a number from 4K)");
            return;
        }
    }
    if (parser->present & A(SEGMENTS)) {
        struct word rest = parser->values[ATTR_SEGMENTS], item;

        while (next_item(&rest, &item)) {
            if (info.segment_count == WORKLOAD_MAX_SEGMENTS) {
                fail(parser, "too many segments (expected at most %u)", WORKLOAD_MAX_SEGMENTS);
                return;
            }
            if (!parse_segment(parser, item, &info.segments[info.segment_count++]))
                return;
        }
    }
    workload_builder_alloc_n(parser->builder, parser->words[0].text, parser->words[0].length,
                             &info);
}

static void handle_free(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]);

    if (id != WORKLOAD_NONE)
        workload_builder_free(parser->builder, id);
}

/* size=0 is an error in the text, where the builder reads 0 as "to the end". */
static bool check_size(struct parser *parser)
{
    if (!(parser->present & A(SIZE)) || parser->numbers[ATTR_SIZE])
        return true;
    fail(parser, "size is 0 (expected 1 byte or more)");
    return false;
}

static void handle_write(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]);
    bool is_discard;

    if (id != WORKLOAD_NONE && check_size(parser))
        workload_builder_write(parser->builder, id, parser->numbers[ATTR_OFFSET],
                               parser->numbers[ATTR_SIZE], parser->numbers[ATTR_KEY]);
    if (choice(parser, ATTR_DISCARD, "no", "yes", &is_discard) && is_discard)
        workload_builder_discard(parser->builder);
}

static void handle_read(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]);

    if (id != WORKLOAD_NONE && check_size(parser))
        workload_builder_read(parser->builder, id, parser->numbers[ATTR_OFFSET],
                              parser->numbers[ATTR_SIZE]);
}

static void open_submit(struct parser *parser)
{
    uint32_t context;
    bool is_null;

    parser->list_open = true;
    context = find_context(parser, parser->words[0]);
    if (context != WORKLOAD_NONE)
        workload_builder_submit_begin(parser->builder, context, parser->numbers[ATTR_DURATION]);
    if (((parser->present & A(SIGNAL)) != 0) != ((parser->present & A(VALUE)) != 0))
        fail(parser, "signal= without value=, or the other way round (expected both or none)");
    else if (parser->present & A(SIGNAL))
        workload_builder_signal(parser->builder, parser->numbers[ATTR_SIGNAL],
                                parser->numbers[ATTR_VALUE]);
    if (choice(parser, ATTR_NULL, "no", "yes", &is_null) && is_null)
        workload_builder_null(parser->builder);
}

/* NAME[@OFFSET+SIZE]:ACCESS[=KEY] */
static void item_submit(struct parser *parser, struct word word)
{
    const char *colon, *at, *plus, *equals;
    struct word name, access;
    uint64_t offset = 0, size = 0, key = 0;
    uint32_t id, bits = 0;

    if (!parser->list_open)
        open_submit(parser);
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

static void handle_submit(struct parser *parser)
{
    if (!parser->list_open)
        open_submit(parser);
    workload_builder_submit_end(parser->builder);
}

static void handle_wait(struct parser *parser)
{
    uint32_t context = WORKLOAD_NONE;

    if (!word_is(parser->words[0], "all")) {
        context = find_context(parser, parser->words[0]);
        if (context == WORKLOAD_NONE)
            return;
    }
    workload_builder_wait(parser->builder, context);
}

static void item_residency(struct parser *parser, struct word word)
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

/* Of an offer: low, normal (default) or high. */
static bool parse_offer_priority(struct parser *parser, uint32_t *out)
{
    static const char *const names[] = {"low", "normal", "high"};
    struct word word = parser->values[ATTR_PRIORITY];

    *out = 1;
    if (!(parser->present & A(PRIORITY)))
        return true;
    for (*out = 0; *out < ARRAY_COUNT(names); ++*out) {
        if (word_is(word, names[*out]))
            return true;
    }
    fail(parser, "priority is '%.*s' (expected low, normal or high)", shown(word), word.text);
    return false;
}

static void handle_residency(struct parser *parser)
{
    uint32_t device = WORKLOAD_NONE;

    if (parser->list_count == 0) {
        fail(parser, "%s of nothing (expected: %s)", parser->directive->name,
             parser->directive->syntax);
        return;
    }
    if (parser->present & A(DEVICE)) {
        device = find_device(parser, parser->values[ATTR_DEVICE]);
        if (device == WORKLOAD_NONE)
            return;
    }
    if (strcmp(parser->directive->name, "resident") == 0) {
        workload_builder_resident(parser->builder, device, parser->list, parser->list_count);
    } else if (strcmp(parser->directive->name, "reclaim") == 0) {
        workload_builder_reclaim(parser->builder, device, parser->list, parser->list_count);
    } else if (strcmp(parser->directive->name, "offer") == 0) {
        uint32_t priority;

        if (parse_offer_priority(parser, &priority))
            workload_builder_offer(parser->builder, device, parser->list, parser->list_count,
                                   priority);
    } else {
        workload_builder_evict(parser->builder, device, parser->list, parser->list_count);
    }
}

static void handle_move(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]);
    uint8_t segment;

    if (id != WORKLOAD_NONE && parse_segment(parser, parser->words[1], &segment))
        workload_builder_move(parser->builder, id, (enum workload_segment)segment);
}

static void handle_priority(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]);
    uint32_t priority;

    if (id != WORKLOAD_NONE && parse_priority(parser, parser->words[1], &priority))
        workload_builder_priority(parser->builder, id, priority);
}

static void handle_step(struct parser *parser)
{
    char name[WORKLOAD_MAX_TEXT + 2];

    if (parser->has_quoted && parser->word_count)
        fail(parser, "a word and a text (expected: %s)", parser->directive->syntax);
    else if (parser->has_quoted)
        workload_builder_step(parser->builder, parser->quoted);
    else if (parser->word_count)
        workload_builder_step(parser->builder, terminate(parser->words[0], name, sizeof name));
    else
        fail(parser, "too few words (expected: %s)", parser->directive->syntax);
}

static void handle_map(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]), protection;
    uint64_t va;

    if (id == WORKLOAD_NONE || !check_size(parser) || !parse_va(parser, true, &va) ||
        !parse_protection(parser, &protection))
        return;
    workload_builder_map(parser->builder, id, va, parser->numbers[ATTR_OFFSET],
                         parser->numbers[ATTR_SIZE], protection,
                         parser->numbers[ATTR_DRIVER_PROTECTION]);
}

static void handle_unmap(struct parser *parser)
{
    uint32_t id = find_allocation(parser, parser->words[0]);
    uint64_t va = WORKLOAD_VA_AUTO;

    if (id == WORKLOAD_NONE || ((parser->present & A(VA)) && !parse_va(parser, false, &va)))
        return;
    workload_builder_unmap(parser->builder, id, va);
}

/* Which attributes go with which of the four is checked here: the table cannot. */
static void handle_tile(struct parser *parser)
{
    const uint32_t given = parser->present & ~A(PAGES);
    uint32_t context = find_context(parser, parser->words[0]), pool;
    uint64_t pages = parser->numbers[ATTR_PAGES], va = 0;

    if (context == WORKLOAD_NONE || ((given & A(VA)) && !parse_va(parser, false, &va)))
        return;
    if (word_is(parser->words[1], "map") && given == (A(POOL) | A(VA) | A(PAGE))) {
        pool = find_allocation(parser, parser->values[ATTR_POOL]);
        if (pool != WORKLOAD_NONE)
            workload_builder_tile_map(parser->builder, context, pool, va,
                                      parser->numbers[ATTR_PAGE], pages);
    } else if (word_is(parser->words[1], "unmap") && given == A(VA)) {
        workload_builder_tile_unmap(parser->builder, context, va, pages);
    } else if (word_is(parser->words[1], "copy") && given == (A(FROM) | A(TO))) {
        workload_builder_tile_copy(parser->builder, context, parser->numbers[ATTR_FROM],
                                   parser->numbers[ATTR_TO], pages);
    } else {
        fail(parser, "'tile %.*s' (expected: %s)", shown(parser->words[1]), parser->words[1].text,
             parser->directive->syntax);
    }
}

/* Which attributes go with which of the three is checked here, too. */
static void handle_fence(struct parser *parser)
{
    struct word number = parser->words[0], verb = parser->words[1];
    uint32_t process = 0;
    uint64_t fence;

    if (!workload_parse_number(number.text, number.length, &fence)) {
        fail(parser, "fence '%.*s' (expected a number)", shown(number), number.text);
    } else if (word_is(verb, "create")) {
        if (workload_builder_end_header(parser->builder) && (parser->present & A(PROCESS)))
            process = find_process(parser, parser->values[ATTR_PROCESS]);
        workload_builder_fence_create(parser->builder, process, fence, parser->numbers[ATTR_VALUE]);
    } else if (word_is(verb, "expect") && parser->present == A(VALUE)) {
        workload_builder_fence_expect(parser->builder, fence, parser->numbers[ATTR_VALUE]);
    } else if (word_is(verb, "wait") && parser->present == A(VALUE)) {
        workload_builder_fence_wait(parser->builder, fence, parser->numbers[ATTR_VALUE]);
    } else if (word_is(verb, "destroy") && !parser->present) {
        workload_builder_fence_destroy(parser->builder, fence);
    } else {
        fail(parser, "'fence %.*s %.*s' (expected: %s)", shown(number), number.text, shown(verb),
             verb.text, parser->directive->syntax);
    }
}

static void handle_pack_fences(struct parser *parser)
{
    workload_builder_pack_fences(parser->builder);
}

/* The process that the first word names, after the end of the header. */
static bool operand_process(struct parser *parser, uint32_t *out)
{
    if (!workload_builder_end_header(parser->builder))
        return false;
    *out = find_process(parser, parser->words[0]);
    return *out != WORKLOAD_NONE;
}

static void handle_pte(struct parser *parser)
{
    const uint32_t for_map = A(SEGMENT) | A(PAGE);
    const uint32_t only_map = for_map | A(PAGE_SIZE) | A(PROTECT);
    uint64_t va, page_size = PAGE_BYTES;
    uint32_t process, protection;
    uint8_t segment;

    if (!operand_process(parser, &process) || !parse_va(parser, false, &va))
        return;
    if (word_is(parser->words[1], "unmap") || word_is(parser->words[1], "zero")) {
        if (parser->present & only_map)
            fail(parser, "pte %.*s with an attribute of pte map (expected va= and pages= only)",
                 shown(parser->words[1]), parser->words[1].text);
        else if (word_is(parser->words[1], "zero"))
            workload_builder_pte_zero(parser->builder, process, va, parser->numbers[ATTR_PAGES]);
        else
            workload_builder_pte_unmap(parser->builder, process, va, parser->numbers[ATTR_PAGES]);
        return;
    }
    if (!word_is(parser->words[1], "map") || (parser->present & for_map) != for_map) {
        fail(parser, "'pte %.*s' (expected: %s)", shown(parser->words[1]), parser->words[1].text,
             parser->directive->syntax);
        return;
    }
    if (parser->present & A(PAGE_SIZE))
        page_size = parser->numbers[ATTR_PAGE_SIZE];
    if (!is_power_of_two(page_size)) {
        fail(parser, "page-size is %" PRIu64 " (expected a power of two, 4K to 1G)", page_size);
        return;
    }
    if (!parse_segment(parser, parser->values[ATTR_SEGMENT], &segment) ||
        !parse_protection(parser, &protection))
        return;
    workload_builder_pte_map(parser->builder, process, va, (enum workload_segment)segment,
                             parser->numbers[ATTR_PAGE], parser->numbers[ATTR_PAGES],
                             log2_floor_u64(page_size), protection);
}

static void handle_vm(struct parser *parser)
{
    uint32_t process;
    uint64_t va;

    if (!operand_process(parser, &process) || !parse_va(parser, false, &va))
        return;
    if (strcmp(parser->directive->name, "vm-reserve") == 0)
        workload_builder_vm_reserve(parser->builder, process, va, parser->numbers[ATTR_SIZE]);
    else
        workload_builder_vm_release(parser->builder, process, va, parser->numbers[ATTR_SIZE]);
}

static bool operand_node(struct parser *parser, uint32_t *out)
{
    struct word word = parser->words[0];
    uint64_t node;

    if (!workload_parse_number(word.text, word.length, &node) || node >= WORKLOAD_MAX_NODES) {
        fail(parser, "node '%.*s' (expected a number from 0 to %u)", shown(word), word.text,
             WORKLOAD_MAX_NODES - 1);
        return false;
    }
    *out = (uint32_t)node;
    return true;
}

static void handle_hang(struct parser *parser)
{
    uint32_t node;

    if (operand_node(parser, &node))
        workload_builder_hang(parser->builder, node, parser->numbers[ATTR_AFTER]);
}

static void handle_preempt(struct parser *parser)
{
    uint32_t node;

    if (operand_node(parser, &node))
        workload_builder_preempt(parser->builder, node);
}

static void handle_lose_interrupt(struct parser *parser)
{
    uint32_t node;

    if (operand_node(parser, &node))
        workload_builder_lose_interrupt(parser->builder, node);
}

static void handle_reset(struct parser *parser)
{
    workload_builder_reset(parser->builder);
}

static void handle_switch_domain(struct parser *parser)
{
    workload_builder_switch_domain(parser->builder, parser->numbers[ATTR_DURATION]);
}

static void handle_stop(struct parser *parser)
{
    workload_builder_stop(parser->builder);
}

static void handle_remove(struct parser *parser)
{
    workload_builder_remove(parser->builder, parser->numbers[ATTR_AFTER]);
}

static void handle_power(struct parser *parser)
{
    struct word word = parser->words[0];

    for (unsigned i = 0; i < WORKLOAD_POWER_COUNT; i++) {
        if (word_is(word, workload_power_name((enum workload_power)i))) {
            workload_builder_power(parser->builder, (enum workload_power)i);
            return;
        }
    }
    fail(parser, "power '%.*s' (expected on, standby, hibernate or d3)", shown(word), word.text);
}

static void handle_budget(struct parser *parser)
{
    struct word word = parser->words[1];
    uint32_t process;
    uint64_t bytes;

    if (!operand_process(parser, &process))
        return;
    if (!workload_parse_number(word.text, word.length, &bytes)) {
        fail(parser, "budget is '%.*s' (expected a number of bytes)", shown(word), word.text);
        return;
    }
    workload_builder_budget(parser->builder, process, bytes);
}

static void handle_note(struct parser *parser)
{
    workload_builder_note(parser->builder, parser->quoted);
}

static void handle_label(struct parser *parser)
{
    uint32_t process;
    uint64_t va;

    if (operand_process(parser, &process) && parse_va(parser, false, &va))
        workload_builder_label(parser->builder, process, va, parser->numbers[ATTR_SIZE],
                               parser->quoted);
}

/* The table ---------------------------------------------------------------------------------- */

/* The most frequent ones first. */
static const struct directive directives[] = {
    {"submit", "submit CONTEXT [duration=NS] [signal=N value=V] [null=yes] REF...",
     A(DURATION) | A(SIGNAL) | A(VALUE) | A(NULL), 0, 1, false, item_submit, handle_submit},
    {"pte",
     "pte PROCESS map va=VA segment=SEGMENT page=N pages=N [page-size=S] [protect=ro,nx], or pte "
     "PROCESS zero va=VA pages=N, or pte PROCESS unmap va=VA pages=N",
     A(VA) | A(SEGMENT) | A(PAGE) | A(PAGES) | A(PAGE_SIZE) | A(PROTECT), A(VA) | A(PAGES), 2,
     false, NULL, handle_pte},
    {"alloc",
     "alloc NAME size=S [device=D] [align=A] [priority=P] [segments=S,...] [flags=F,...] [va=VA]",
     A(SIZE) | A(DEVICE) | A(ALIGN) | A(PRIORITY) | A(SEGMENTS) | A(FLAGS) | A(VA), A(SIZE), 1,
     false, NULL, handle_alloc},
    {"free", "free NAME", 0, 0, 1, false, NULL, handle_free},
    {"write", "write NAME [offset=O] [size=S] [key=K] [discard=yes]",
     A(OFFSET) | A(SIZE) | A(KEY) | A(DISCARD), 0, 1, false, NULL, handle_write},
    {"read", "read NAME [offset=O] [size=S]", A(OFFSET) | A(SIZE), 0, 1, false, NULL, handle_read},
    {"wait", "wait CONTEXT, or wait all", 0, 0, 1, false, NULL, handle_wait},
    {"resident", "resident [device=D] NAME...", A(DEVICE), 0, 0, false, item_residency,
     handle_residency},
    {"evict", "evict [device=D] NAME...", A(DEVICE), 0, 0, false, item_residency, handle_residency},
    {"offer", "offer [device=D] [priority=low|normal|high] NAME...", A(DEVICE) | A(PRIORITY), 0, 0,
     false, item_residency, handle_residency},
    {"reclaim", "reclaim [device=D] NAME...", A(DEVICE), 0, 0, false, item_residency,
     handle_residency},
    {"move", "move NAME SEGMENT", 0, 0, 2, false, NULL, handle_move},
    {"budget", "budget PROCESS SIZE", 0, 0, 2, false, NULL, handle_budget},
    {"priority", "priority NAME P", 0, 0, 2, false, NULL, handle_priority},
    {"map", "map NAME va=VA|auto [offset=O] [size=S] [protect=ro,nx] [driver-protection=N]",
     A(VA) | A(OFFSET) | A(SIZE) | A(PROTECT) | A(DRIVER_PROTECTION), A(VA), 1, false, NULL,
     handle_map},
    {"tile",
     "tile CONTEXT map pool=NAME va=VA page=N pages=N, or tile CONTEXT unmap va=VA pages=N, or "
     "tile "
     "CONTEXT copy from=VA to=VA pages=N",
     A(VA) | A(PAGE) | A(PAGES) | A(FROM) | A(TO) | A(POOL), A(PAGES), 2, false, NULL, handle_tile},
    {"fence",
     "fence N create [process=P] [value=V], or fence N expect value=V, or fence N wait value=V, "
     "or fence N destroy",
     A(PROCESS) | A(VALUE), 0, 2, false, NULL, handle_fence},
    {"pack-fences", "pack-fences", 0, 0, 0, false, NULL, handle_pack_fences},
    {"unmap", "unmap NAME [va=VA]", A(VA), 0, 1, false, NULL, handle_unmap},
    {"vm-reserve", "vm-reserve PROCESS va=VA size=S", A(VA) | A(SIZE), A(VA) | A(SIZE), 1, false,
     NULL, handle_vm},
    {"vm-release", "vm-release PROCESS va=VA size=S", A(VA) | A(SIZE), A(VA) | A(SIZE), 1, false,
     NULL, handle_vm},
    {"label", "label PROCESS va=VA size=S \"TEXT\"", A(VA) | A(SIZE), A(VA) | A(SIZE), 1, true,
     NULL, handle_label},
    {"hang", "hang NODE [after=N]", A(AFTER), 0, 1, false, NULL, handle_hang},
    {"preempt", "preempt NODE", 0, 0, 1, false, NULL, handle_preempt},
    {"lose-interrupt", "lose-interrupt NODE", 0, 0, 1, false, NULL, handle_lose_interrupt},
    {"reset", "reset", 0, 0, 0, false, NULL, handle_reset},
    {"switch-domain", "switch-domain [duration=NS]", A(DURATION), 0, 0, false, NULL,
     handle_switch_domain},
    {"power", "power on|standby|hibernate|d3", 0, 0, 1, false, NULL, handle_power},
    {"stop", "stop", 0, 0, 0, false, NULL, handle_stop},
    {"remove", "remove [after=NS]", A(AFTER), 0, 0, false, NULL, handle_remove},
    {"note", "note \"TEXT\"", 0, 0, 0, true, NULL, handle_note},
    {"step", "step NAME, or step \"TEXT\"", 0, 0, 1, true, NULL, handle_step},
    {"name", "name \"TEXT\"", 0, 0, 0, true, NULL, handle_name},
    {"option", "option KEY VALUE", 0, 0, 2, true, NULL, handle_option},
    {"process", "process NAME", 0, 0, 1, false, NULL, handle_process},
    {"device", "device NAME [process=P]", A(PROCESS), 0, 1, false, NULL, handle_device},
    {"context",
     "context NAME [device=D] [node=N] [save=S] [save-in=system|local] [save-by=address|va] "
     "[save-for=context|device] [save-image=gpu|cpu]",
     A(DEVICE) | A(NODE) | A(SAVE) | A(SAVE_IN) | A(SAVE_BY) | A(SAVE_FOR) | A(SAVE_IMAGE), 0, 1,
     false, NULL, handle_context},
};

const struct directive *case_find_directive(struct word word)
{
    for (size_t i = 0; i < ARRAY_COUNT(directives); i++) {
        if (word_is(word, directives[i].name))
            return &directives[i];
    }
    return NULL;
}

bool case_has_free_form(const struct directive *directive)
{
    return directive->handle == handle_step || directive->handle == handle_option;
}

bool case_is_value(const struct directive *directive, unsigned place)
{
    return directive->handle == handle_option && place == 1;
}
