/*
 * The table of directives, made of directives.inc.
 */
#include "workload/case/directives.h"
#include "workload/words.h"

#include "base/bits.h"

#include <stddef.h>

#define PLACE(at)                                                                                  \
    .place = offsetof(struct directive_line, at), .bytes = sizeof(((struct directive_line *)0)->at)

#define WORD(what, is, at)                                                                         \
    {                                                                                              \
        .shown = (what), .type = TYPE_##is, .presence = PRESENCE_WORD, PLACE(at)                   \
    }
#define NEED(name, what, is, at)                                                                   \
    {                                                                                              \
        .key = (name), .shown = (what), .type = TYPE_##is, .presence = PRESENCE_NEED, PLACE(at)    \
    }
#define MAY(name, what, is, at, otherwise)                                                         \
    {                                                                                              \
        .key = (name), .shown = (what), .type = TYPE_##is, .presence = PRESENCE_MAY,               \
        .fallback = (otherwise), PLACE(at)                                                         \
    }
#define ALWAYS(name, what, is, at, otherwise)                                                      \
    {                                                                                              \
        .key = (name), .shown = (what), .type = TYPE_##is, .presence = PRESENCE_ALWAYS,            \
        .fallback = (otherwise), PLACE(at)                                                         \
    }
#define WITH(name, what, is, at)                                                                   \
    {                                                                                              \
        .key = (name), .shown = (what), .type = TYPE_##is, .presence = PRESENCE_WITH, PLACE(at)    \
    }
#define LIST(what, is)                                                                             \
    {                                                                                              \
        .shown = (what), .type = TYPE_##is, .presence = PRESENCE_LIST                              \
    }
#define NO_MEMBERS                                                                                 \
    {                                                                                              \
        .presence = PRESENCE_END                                                                   \
    }

#define ROW(words, where, in, what, of, ...)                                                       \
    {                                                                                              \
        .name = (words), .meaning = (what), .kind = (of), .section = SECTION_##where,              \
        .models = MODELS_##in, .members = {                                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct directive directives[ROW_COUNT] = {
#define OPERATION(NAME, name, words, where, in, what, ...)                                         \
    ROW(words, where, in, what, WORKLOAD_OP_##NAME, __VA_ARGS__),
#define VARIANT(NAME, KIND, words, where, in, what, ...)                                           \
    ROW(words, where, in, what, WORKLOAD_OP_##KIND, __VA_ARGS__),
#define HEADER(NAME, words, what, ...)                                                             \
    ROW(words, HEADER, ALL, what, WORKLOAD_OP_COUNT, __VA_ARGS__),
#include "workload/case/directives.inc"
#undef OPERATION
#undef VARIANT
#undef HEADER
};

const struct directive *directive_of_kind(enum workload_op_kind kind)
{
    static const uint8_t rows[WORKLOAD_OP_COUNT] = {
#define OPERATION(NAME, ...) [WORKLOAD_OP_##NAME] = ROW_##NAME,
#define VARIANT(...)
#define HEADER(...)
#include "workload/case/directives.inc"
#undef OPERATION
#undef VARIANT
#undef HEADER
    };

    return &directives[rows[kind]];
}

unsigned directive_form_count(const struct directive *first)
{
    size_t length = directive_word_length(first);
    unsigned count = 1;

    while (first + count < directives + ROW_COUNT &&
           directive_word_length(first + count) == length &&
           memcmp(first[count].name, first->name, length) == 0)
        count++;
    return count;
}

const char *workload_op_name(enum workload_op_kind kind)
{
    return (unsigned)kind < WORKLOAD_OP_COUNT ? directive_of_kind(kind)->name : "unknown";
}
