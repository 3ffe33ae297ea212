#include "bench/exec/client_arguments.h"

#include "base/bits.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Members in the order of their structures. */
static const struct member {
    const char *type, *name;
    uint16_t offset, bytes;
} members[] = {
#define SIZE(type, bytes)
#define FIELD(type, member, offset, bytes) {#type, #member, offset, bytes},
#include "d3dkmt/layout_rows.inc"
#undef SIZE
#undef FIELD
    {"THUNK_SHARE_OBJECTS", "cObjects", 0, 4},
    {"THUNK_SHARE_OBJECTS", "dwDesiredAccess", 4, 4},
    {"THUNK_SHARE_OBJECTS", "hObjects", offsetof(THUNK_SHARE_OBJECTS, hObjects), 8},
    {"THUNK_SHARE_OBJECTS", "Name", offsetof(THUNK_SHARE_OBJECTS, Name), 8},
    {"THUNK_OPEN_BY_NAME", "Name", offsetof(THUNK_OPEN_BY_NAME, Name), 8},
    {"THUNK_OPEN_BY_NAME", "dwDesiredAccess", offsetof(THUNK_OPEN_BY_NAME, dwDesiredAccess), 4},
};

#define MEMBER_COUNT (sizeof members / sizeof members[0])

static const char *type_of(enum d3dkmt_function function)
{
    static const char *const types[D3DKMT_FN_COUNT] = {
#define TYPE(name, type) [D3DKMT_FN_##name] = #type,
        THUNK_FUNCTIONS(TYPE)
#undef TYPE
    };
    static const char qualifier[] = "const ";
    const char *type = types[function];

    return strncmp(type, qualifier, strlen(qualifier)) == 0 ? type + strlen(qualifier) : type;
}

static bool is_pointer(const struct member *member)
{
    return member->bytes == sizeof(void *) && member->name[0] == 'p' &&
           isupper((unsigned char)member->name[1]);
}

static uint64_t number_at(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, min_u64(bytes, sizeof value)); /* little-endian, as the interface is */
    return value;
}

static void put(const struct client_arguments_visitor *visitor, const char *prefix,
                const char *name, uint64_t value)
{
    char path[256];

    snprintf(path, sizeof path, "%s%s", prefix, name);
    visitor->value(visitor->context, path, value);
}

/* An array within the structure, as BroadcastContext is: numbers of four bytes, up to the last. */
static void put_array(const struct client_arguments_visitor *visitor, const char *prefix,
                      const struct member *member, const uint8_t *at)
{
    unsigned count = min_u64(member->bytes / 4, CLIENT_ARGUMENTS_MOST);
    char name[96];

    while (count && !number_at(at + 4 * (count - 1), 4))
        count--;
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s[%u]", member->name, i);
        put(visitor, prefix, name, number_at(at + (size_t)4 * i, 4));
    }
}

/* before: NULL, or the structure as it was: what is the same is left out.
 * Members that lead to lists are left out, too. */
static void put_structure(const struct client_arguments_visitor *visitor, const char *prefix,
                          const char *type, const uint8_t *structure, const uint8_t *before,
                          const struct thunk_list *lists, unsigned list_count)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        const struct member *member = &members[i];
        const uint8_t *at = structure + member->offset;
        bool is_list = false;

        if (strcmp(member->type, type) != 0)
            continue;
        for (unsigned k = 0; k < list_count; k++)
            is_list |= lists[k].pointer == member->offset;
        if (is_list || is_pointer(member) ||
            (before && memcmp(at, before + member->offset, member->bytes) == 0))
            continue;
        if (member->bytes > 8)
            put_array(visitor, prefix, member, at);
        else
            put(visitor, prefix, member->name, number_at(at, member->bytes));
    }
}

/* Of a union the last member: pAllocationInfo2, not the pAllocationInfo of other functions. */
static const char *name_of_list(const char *type, size_t pointer)
{
    const char *name = "";

    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(members[i].type, type) == 0 && members[i].offset == pointer)
            name = members[i].name;
    }
    return name;
}

static void put_list(const struct client_arguments_visitor *visitor, const char *type,
                     const struct thunk_list *list)
{
    const char *name = name_of_list(type, list->pointer);
    const unsigned count = min_u64(list->count, CLIENT_ARGUMENTS_MOST);
    char path[96];

    for (unsigned i = 0; i < count && list->element_bytes > 1; i++) {
        const uint8_t *at = (const uint8_t *)list->elements + i * list->element_bytes;

        snprintf(path, sizeof path, "%s[%u]%s", name, i, list->element ? "." : "");
        if (list->element)
            put_structure(visitor, path, list->element, at, NULL, NULL, 0);
        else if (list->element_bytes <= 8)
            put(visitor, path, "", number_at(at, list->element_bytes));
    }
}

#define MOST_LISTS 4u

static unsigned lists_of(enum d3dkmt_function function, const void *arguments,
                         struct thunk_list lists[MOST_LISTS])
{
    unsigned count = 0;

    while (count < MOST_LISTS && thunk_find_list(function, arguments, count, &lists[count]))
        count++;
    return count;
}

void client_arguments_given(enum d3dkmt_function function, const void *arguments,
                            const struct client_arguments_visitor *visitor)
{
    const char *type = type_of(function);
    struct thunk_list lists[MOST_LISTS];
    const unsigned count = lists_of(function, arguments, lists);

    put_structure(visitor, "", type, arguments, NULL, lists, count);
    for (unsigned i = 0; i < count; i++) {
        if (lists[i].goes_in)
            put_list(visitor, type, &lists[i]);
    }
}

void client_arguments_answered(enum d3dkmt_function function, const void *arguments,
                               const void *before, const struct client_arguments_visitor *visitor)
{
    const char *type = type_of(function);
    struct thunk_list lists[MOST_LISTS];
    const unsigned count = lists_of(function, arguments, lists);

    put_structure(visitor, "", type, arguments, before, lists, count);
    for (unsigned i = 0; i < count; i++) {
        if (lists[i].goes_out)
            put_list(visitor, type, &lists[i]);
    }
}
