/* Wrong word: which word of a call it is, and by how much it is wrong. */
#include "check/rig/wrong_word.h"

#include "base/list.h"
#include "check/report/ddi_fields.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MOST 3u /* of a list, of which one word may be wrong */

/* ---- The members of structures (data/ddi) ---------------------------------------------------- */

static const struct decode_field fields[] = {
#define ENUMERATOR(...)
#define FIELD(...) {__VA_ARGS__},
#include "ddi_fields.inc"
#undef FIELD
#undef ENUMERATOR
};

/* The rows of a structure, or of a variant of its union, stand together: the first one behind. */
static size_t end_of_rows(size_t first)
{
    static uint16_t ends[ARRAY_COUNT(fields)];
    size_t end = first;

    if (!ends[first]) {
        while (end < ARRAY_COUNT(fields) &&
               strcmp(fields[end].structure, fields[first].structure) == 0)
            end++;
        ends[first] = (uint16_t)end;
    }
    return ends[first];
}

struct wrong_words {
    struct rng rng;
    uint64_t before[ARRAY_COUNT(fields)]; /* each field as it was in the call before */
};

const struct loan_structure wrong_word_interrupt = {
    .name = "DXGKARGCB_NOTIFY_INTERRUPT_DATA",
    .bytes = sizeof(DXGKARGCB_NOTIFY_INTERRUPT_DATA),
    .choice = {offsetof(DXGKARGCB_NOTIFY_INTERRUPT_DATA, InterruptType),
               sizeof(DXGK_INTERRUPT_TYPE)},
};

struct wrong_words *wrong_words_create(void)
{
    return calloc(1, sizeof(struct wrong_words));
}

void wrong_words_destroy(struct wrong_words *words)
{
    free(words);
}

void wrong_words_begin(struct wrong_words *words, uint64_t seed)
{
    memset(words, 0, sizeof *words);
    rng_init(&words->rng, seed);
}

struct rng *wrong_words_rng(struct wrong_words *words)
{
    return &words->rng;
}

/* ---- Which word is wrong --------------------------------------------------------------------- */

struct word {
    char *at;
    const struct decode_field *field; /* NULL: a number */
    unsigned size;
    const char *structure;
    uint64_t element; /* of a list, from 1; 0: none */
};

/* The words that could be wrong are counted first; then the one is looked for. */
struct choice {
    enum wrong_side side;
    unsigned count, wanted; /* wanted: from 1; 0: they are counted */
    struct word word;
};

static uint64_t load(const char *at, unsigned size)
{
    uint64_t value = 0;

    memcpy(&value, at, size);
    return value;
}

static void offer_word(struct choice *choice, struct word word)
{
    if (++choice->count == choice->wanted)
        choice->word = word;
}

/* Of what other members point to: how long it is, or what it is. */
static bool is_of_a_list(struct loan_rows rows, unsigned offset)
{
    for (uint16_t i = 0; i < rows.count; i++) {
        const struct loan_member *member = &rows.members[i];

        if (member->when[0].mask == UINT32_MAX && member->when[0].offset == offset)
            return true;
        if ((member->count.bytes && member->count.offset == offset) ||
            (member->stride.bytes && member->stride.offset == offset))
            return true;
    }
    return false;
}

/* DXGKARG_CREATEDEVICE has Flags in the place of pInfo, and one of the two. */
static bool is_pointer_now(const struct loan_structure *structure, const char *memory,
                           const struct decode_field *field)
{
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        if (fields[i].kind == DECODE_POINTER && fields[i].offset == field->offset &&
            strcmp(fields[i].structure, structure->name) == 0)
            return load(memory + field->offset, sizeof(uint64_t)) > UINT32_MAX;
    }
    return false;
}

/* Pointers, lengths of lists and what tells the members of a union stay: they are no values. */
static bool may_be_wrong(const struct choice *choice, const struct loan_structure *structure,
                         const char *memory, const struct decode_field *field)
{
    const enum loan_direction way = choice->side == WRONG_BY_DRIVER ? LOAN_OUT : LOAN_IN;
    const struct loan_rows all[] = {structure->rows, loan_variant(structure, memory)};

    if ((structure->choice.bytes && structure->choice.offset == field->offset) ||
        strncmp(field->name, "Num", 3) == 0 || strstr(field->name, ".Num") ||
        strstr(field->name, "Count") || is_pointer_now(structure, memory, field))
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        if (is_of_a_list(all[i], field->offset))
            return false;
        for (uint16_t j = 0; j < all[i].count; j++) {
            const struct loan_member *member = &all[i].members[j];

            if (member->offset == field->offset && loan_is_there(member, memory))
                return member->kind == LOAN_VALUE && member->direction & way;
        }
    }
    return true;
}

static bool is_of(const struct decode_field *field, const char *name, size_t length,
                  const char *memory, const struct loan_structure *structure)
{
    if (strncmp(field->structure, name, length) != 0)
        return false;
    if (field->structure[length] == '/')
        return structure->choice.bytes && strtoull(field->structure + length + 1, NULL, 10) ==
                                              loan_integer(structure->choice, memory);
    return !field->structure[length];
}

static void offer_structure(struct choice *choice, const struct loan_structure *structure,
                            char *memory, size_t bytes, uint64_t element);

/* A list of addresses, or of lists: pointers, whatever their size. */
static bool has_pointers(const struct loan_member *member)
{
    return strstr(member->name, "List") || strstr(member->name, "CpuVa");
}

static void offer_lists(struct choice *choice, char *memory, struct loan_rows rows)
{
    const enum loan_direction way = choice->side == WRONG_BY_DRIVER ? LOAN_OUT : LOAN_IN;

    for (uint16_t i = 0; i < rows.count; i++) {
        const struct loan_member *member = &rows.members[i];
        const bool is_structure = member->kind == LOAN_BYTES && member->element;
        uint64_t count, stride;
        char *list;

        if ((member->kind != LOAN_ARRAY && !is_structure) || !loan_is_there(member, memory) ||
            !(member->direction & way))
            continue;
        memcpy(&list, memory + member->offset, sizeof list);
        count = member->count.bytes ? loan_integer(member->count, memory) : 1;
        stride = member->stride.bytes ? loan_integer(member->stride, memory) : 0;
        if (!stride)
            stride = is_structure ? count : member->element_bytes;
        for (uint64_t j = 0; list && j < (is_structure ? 1 : min_u64(count, ELEMENTS_MOST)); j++) {
            if (member->element)
                offer_structure(choice, member->element, list + j * stride, stride, j + 1);
            else if (stride <= sizeof(uint64_t) && !has_pointers(member))
                offer_word(choice, (struct word){list + j * stride, NULL, (unsigned)stride,
                                                 member->name, j + 1});
        }
    }
}

static void offer_field(struct choice *choice, const struct loan_structure *structure, char *memory,
                        size_t bytes, const struct decode_field *field, uint64_t element)
{
    if (field->kind == DECODE_POINTER || field->kind == DECODE_BIT ||
        field->size > sizeof(uint64_t) || field->offset + field->size > bytes ||
        (field->when_size &&
         (load(memory + field->when, field->when_size) == field->value) != field->is_equal) ||
        !may_be_wrong(choice, structure, memory, field))
        return;
    offer_word(choice,
               (struct word){memory + field->offset, field, field->size, structure->name, element});
}

static void offer_structure(struct choice *choice, const struct loan_structure *structure,
                            char *memory, size_t bytes, uint64_t element)
{
    const size_t length = strlen(structure->name);

    for (size_t i = 0; i < ARRAY_COUNT(fields); i = end_of_rows(i)) {
        if (!is_of(&fields[i], structure->name, length, memory, structure))
            continue;
        for (size_t j = i; j < end_of_rows(i); j++)
            offer_field(choice, structure, memory, bytes, &fields[j], element);
    }
    offer_lists(choice, memory, structure->rows);
    offer_lists(choice, memory, loan_variant(structure, memory));
}

/* ---- How it is wrong ------------------------------------------------------------------------- */

static uint64_t draw(struct wrong_words *words, uint64_t below)
{
    return rng_below(&words->rng, below);
}

/* One of the bits that the word has. */
static uint64_t wrong_flags(struct wrong_words *words, const struct decode_field *word,
                            uint64_t value)
{
    unsigned bits = 0;

    while (word + bits + 1 < fields + ARRAY_COUNT(fields) && word[bits + 1].kind == DECODE_BIT)
        bits++;
    return value ^ UINT64_C(1) << (bits ? word[1 + draw(words, bits)].bit : draw(words, 4));
}

static uint64_t wrong_value(struct wrong_words *words, const struct word *word, uint64_t value)
{
    const uint64_t before = word->field ? words->before[word->field - fields] : 0;

    if (word->field && word->field->kind == DECODE_FLAGS)
        return wrong_flags(words, word->field, value);
    if (word->field && word->field->kind == DECODE_HANDLE)
        return before != value && draw(words, 2) ? before : 0;
    switch (draw(words, 8)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value + PAGE_BYTES;
    case 3:
        return value - PAGE_BYTES;
    case 4:
        return value ^ UINT64_C(1) << draw(words, 18);
    case 5:
        return value ? 0 : 2;
    case 6:
        return 2 * value + 4;
    default:
        return before != value ? before : value + 2;
    }
}

void wrong_words_remember(struct wrong_words *words, const struct loan_structure *structure,
                          const void *memory, size_t bytes)
{
    const size_t length = strlen(structure->name);

    for (size_t i = 0; i < ARRAY_COUNT(fields); i = end_of_rows(i)) {
        if (!is_of(&fields[i], structure->name, length, memory, structure))
            continue;
        for (size_t j = i; j < end_of_rows(i); j++) {
            if (fields[j].size <= sizeof(uint64_t) && fields[j].offset + fields[j].size <= bytes)
                words->before[j] = load((const char *)memory + fields[j].offset, fields[j].size);
        }
    }
}

struct wrong_word wrong_words_distort(struct wrong_words *words, enum wrong_side side,
                                      const struct loan_structure *structure, void *memory,
                                      size_t bytes)
{
    struct choice choice = {.side = side};
    struct wrong_word wrong;

    offer_structure(&choice, structure, memory, bytes, 0);
    if (!choice.count)
        return (struct wrong_word){0};
    choice.wanted = 1 + (unsigned)draw(words, choice.count);
    choice.count = 0;
    offer_structure(&choice, structure, memory, bytes, 0);
    wrong = (struct wrong_word){
        .at = choice.word.at,
        .size = choice.word.size,
        .right = load(choice.word.at, choice.word.size),
        .structure = choice.word.structure,
        .member = choice.word.field ? choice.word.field->name : "",
        .is_of_another = choice.word.element > 1,
    };
    wrong.wrong = wrong_value(words, &choice.word, wrong.right);
    memcpy(wrong.at, &wrong.wrong, wrong.size);
    return wrong;
}

void wrong_word_undo(const struct wrong_word *word)
{
    if (word->at && memcmp(word->at, &word->wrong, word->size) == 0)
        memcpy(word->at, &word->right, word->size);
}

NTSTATUS wrong_words_status(struct wrong_words *words, NTSTATUS right)
{
    static const NTSTATUS statuses[] = {
        STATUS_SUCCESS,
        STATUS_NO_MEMORY,
        STATUS_INVALID_PARAMETER,
        STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        STATUS_GRAPHICS_ALLOCATION_BUSY,
        STATUS_UNSUCCESSFUL,
    };
    NTSTATUS wrong = statuses[draw(words, ARRAY_COUNT(statuses))];

    return wrong == right ? STATUS_NOT_SUPPORTED : wrong;
}
