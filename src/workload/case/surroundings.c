/*
 * Surroundings are read from their text each time, like templates.
 */
#include "workload/case/surroundings.h"

#include "base/bits.h"
#include "workload/owned.h"
#include "workload/words.h"

#include <string.h>

#define SEPARATORS         ", \t"
#define LONGEST_SHOWN_WORD 60

static bool takes(const char **text, size_t *length, const char *prefix)
{
    size_t bytes = strlen(prefix);

    if (*length < bytes || memcmp(*text, prefix, bytes) != 0)
        return false;
    *text += bytes;
    *length -= bytes;
    return true;
}

static bool read_number(const char *text, size_t length, uint32_t *out)
{
    uint64_t number;

    if (!workload_parse_number(text, length, &number) || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* "NAME=REST": the length of the name; false where there is no name or no sign. */
static bool split(const char *text, size_t length, size_t *out_name, const char **out_rest)
{
    const char *equals = memchr(text, '=', length);

    if (!equals || equals == text)
        return false;
    *out_name = (size_t)(equals - text);
    *out_rest = equals + 1;
    return true;
}

static int digit(char sign)
{
    static const char digits[] = "0123456789abcdef";
    const char *at =
        sign ? strchr(digits, sign >= 'A' && sign <= 'F' ? sign - 'A' + 'a' : sign) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Two digits; -1: they are none. */
static int read_pair(const char *at, const char *end)
{
    if (end - at < 2 || digit(at[0]) < 0 || digit(at[1]) < 0)
        return -1;
    return digit(at[0]) << 4 | digit(at[1]);
}

static bool is_sign(char sign)
{
    return sign > ' ' && sign <= '~' && sign != '"' && sign != '#' && sign != '\'';
}

#define NAME_EXPECTED "a name of 1 to 200 letters, digits and signs other than \" ' #"

/* The characters of a name; %XX: decoded. NULL: it is right. */
static const char *read_name(const char *text, size_t length, bool is_coded,
                             struct workload_surrounding *out)
{
    size_t count = 0;

    for (const char *at = text, *end = text + length; at < end; at++) {
        const int coded = is_coded && *at == '%' ? read_pair(at + 1, end) : 0;

        if (!is_sign(*at) || coded < 0 || (is_coded && *at == '%' && !coded) ||
            count == WORKLOAD_MAX_SURROUNDING_NAME)
            return NAME_EXPECTED;
        out->name[count++] = coded ? (char)coded : *at;
        at += coded ? 2 : 0;
    }
    out->name[count] = '\0';
    return count ? NULL : NAME_EXPECTED;
}

static const char *read_id(const char *text, size_t length, struct workload_surrounding *out)
{
    return read_name(text, length, false, out);
}

static const char *read_value(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *rest, *end = text + length;
    size_t name;

    if (!split(text, length, &name, &rest) ||
        !read_number(rest, (size_t)(end - rest), &out->number))
        return "value:NAME=NUMBER, of 32 bits";
    return read_name(text, name, true, out);
}

static const char *read_text(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *rest, *end = text + length;
    size_t name;

    if (!split(text, length, &name, &rest))
        return "text:NAME=TEXT";
    for (const char *at = rest; at < end; at++) {
        const int coded = *at == '%' ? read_pair(at + 1, end) : 0;

        if (!is_sign(*at) || coded < 0 || (*at == '%' && !coded) ||
            out->byte_count == WORKLOAD_MAX_SURROUNDING_BYTES)
            return "a text of at most 512 characters, where %20 is a blank";
        out->bytes[out->byte_count++] = (uint8_t)(coded ? coded : *at);
        at += coded ? 2 : 0;
    }
    return read_name(text, name, true, out);
}

static const char *read_bytes(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *rest, *end = text + length;
    size_t name;

    if (!split(text, length, &name, &rest))
        return "bytes:NAME=DIGITS";
    for (const char *at = rest; at < end; at += 2) {
        const int byte = read_pair(at, end);

        if (byte < 0 || out->byte_count == WORKLOAD_MAX_SURROUNDING_BYTES)
            return "at most 512 bytes, each of two hexadecimal digits";
        out->bytes[out->byte_count++] = (uint8_t)byte;
    }
    return read_name(text, name, true, out);
}

static const char *read_device(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *end = text + length, *at = memchr(text, '@', length), *equals;

    equals = at ? memchr(at, '=', (size_t)(end - at)) : NULL;
    out->has_answer = at != NULL;
    if (at && (!equals || !read_number(at + 1, (size_t)(equals - at - 1), &out->place) ||
               !read_number(equals + 1, (size_t)(end - equals - 1), &out->number)))
        return "device:PATH or device:PATH@OFFSET=NUMBER";
    return read_name(text, at ? (size_t)(at - text) : length, false, out);
}

static const struct pci_word {
    const char *name;
    uint32_t most;
} pci_words[] = {
    [WORKLOAD_PCI_VENDOR] = {"vendor", UINT16_MAX},
    [WORKLOAD_PCI_DEVICE] = {"device", UINT16_MAX},
    [WORKLOAD_PCI_SUBSYSTEM_VENDOR] = {"subsystem-vendor", UINT16_MAX},
    [WORKLOAD_PCI_SUBSYSTEM] = {"subsystem", UINT16_MAX},
    [WORKLOAD_PCI_REVISION] = {"revision", UINT8_MAX},
    [WORKLOAD_PCI_CLASS] = {"class", 0xffffff},
    [WORKLOAD_PCI_MESSAGES] = {"messages", 32},
};

static const char *read_pci(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *rest, *end = text + length;
    size_t name;

    if (split(text, length, &name, &rest) &&
        read_number(rest, (size_t)(end - rest), &out->number)) {
        for (; out->place < ARRAY_COUNT(pci_words); out->place++) {
            const struct pci_word *word = &pci_words[out->place];

            if (strlen(word->name) == name && memcmp(word->name, text, name) == 0 &&
                out->number <= word->most)
                return NULL;
        }
    }
    return "pci:vendor=, device=, subsystem-vendor= or subsystem= with 16 bits, revision= with 8, "
           "class= with 24 or messages= up to 32";
}

/* "PLACE=NUMBER". */
static bool read_placed(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *rest, *end = text + length;
    size_t name;

    return split(text, length, &name, &rest) && read_number(text, name, &out->place) &&
           read_number(rest, (size_t)(end - rest), &out->number);
}

/* The same, the number one of bytes of registers. */
static bool read_placed_size(const char *text, size_t length, struct workload_surrounding *out)
{
    return read_placed(text, length, out) && out->number <= WORKLOAD_MAX_SURROUNDING_BAR &&
           !(out->number & (out->number - 1)) && (!out->number || out->number >= 4096);
}

static const char *read_bar(const char *text, size_t length, struct workload_surrounding *out)
{
    return read_placed_size(text, length, out) && (out->place == 0 || out->place == 4)
               ? NULL
               : "bar:0=SIZE or bar:4=SIZE, 0 or a power of two from 4K to 64M; bar 2 is the "
                 "window on local memory, and other resources are memory:N=SIZE";
}

static const char *read_memory(const char *text, size_t length, struct workload_surrounding *out)
{
    return read_placed_size(text, length, out) && out->place < WORKLOAD_MAX_SURROUNDING_MEMORY
               ? NULL
               : "memory:N=SIZE, N from 0 to 7, 0 or a power of two from 4K to 64M";
}

static const char *read_address(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *rest, *end = text + length;
    size_t name;

    if (!split(text, length, &name, &rest) || !read_number(text, name, &out->place) ||
        (out->place != 0 && out->place != 2) ||
        !workload_parse_number(rest, (size_t)(end - rest), &out->address) || !out->address)
        return "address:0=ADDRESS of the registers or address:2=ADDRESS of the window";
    return NULL;
}

static const char *read_registers(const char *text, size_t length, struct workload_surrounding *out)
{
    out->number = length == 6 && memcmp(text, "memory", 6) == 0;
    return out->number || (length == 4 && memcmp(text, "ones", 4) == 0)
               ? NULL
               : "registers=memory or registers=ones";
}

static const char *read_register(const char *text, size_t length, struct workload_surrounding *out)
{
    return read_placed(text, length, out) && out->place % 4 == 0 &&
                   out->place < WORKLOAD_SURROUNDING_REGISTER_END
               ? NULL
               : "register:OFFSET=NUMBER, the offset a multiple of 4 below 128M";
}

static const char *read_port(const char *text, size_t length, struct workload_surrounding *out)
{
    return read_placed(text, length, out) && out->place <= UINT16_MAX
               ? NULL
               : "port:ADDRESS=NUMBER, the address below 64K";
}

/* Each gives what was expected; NULL: the word is right. */
static const struct form {
    const char *prefix;
    enum workload_surrounding_kind kind;
    const char *(*read)(const char *text, size_t length, struct workload_surrounding *out);
} forms[] = {
    {"id=", WORKLOAD_SURROUNDING_ID, read_id},
    {"value:", WORKLOAD_SURROUNDING_VALUE, read_value},
    {"text:", WORKLOAD_SURROUNDING_TEXT, read_text},
    {"bytes:", WORKLOAD_SURROUNDING_BYTES, read_bytes},
    {"device:", WORKLOAD_SURROUNDING_DEVICE, read_device},
    {"pci:", WORKLOAD_SURROUNDING_PCI, read_pci},
    {"bar:", WORKLOAD_SURROUNDING_BAR, read_bar},
    {"memory:", WORKLOAD_SURROUNDING_MEMORY, read_memory},
    {"address:", WORKLOAD_SURROUNDING_ADDRESS, read_address},
    {"registers=", WORKLOAD_SURROUNDING_REGISTERS, read_registers},
    {"register:", WORKLOAD_SURROUNDING_REGISTER, read_register},
    {"port:", WORKLOAD_SURROUNDING_PORT, read_port},
};

#define FORMS_EXPECTED                                                                             \
    "id=, value:, text:, bytes:, device:, pci:, bar:, memory:, address:, registers=, register: "   \
    "or port:"

/* The word that was expected; NULL: the word is right. */
static const char *read_word(const char *text, size_t length, struct workload_surrounding *out)
{
    *out = (struct workload_surrounding){.kind = WORKLOAD_SURROUNDING_ID};
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        if (!takes(&text, &length, forms[i].prefix))
            continue;
        out->kind = forms[i].kind;
        return forms[i].read(text, length, out);
    }
    return FORMS_EXPECTED;
}

bool workload_surroundings_check(const char *text, struct workload_error *error)
{
    struct workload_surrounding word;
    size_t length;
    const char *why;

    if (strlen(text) > WORKLOAD_MAX_SURROUNDINGS) {
        workload_error_set(error, "%zu characters (expected at most %d)", strlen(text),
                           WORKLOAD_MAX_SURROUNDINGS);
        return false;
    }
    text += strspn(text, SEPARATORS);
    if (!*text) {
        workload_error_set(error, "nothing in it (expected " FORMS_EXPECTED ")");
        return false;
    }
    for (; *text; text += length, text += strspn(text, SEPARATORS)) {
        length = strcspn(text, SEPARATORS);
        why = read_word(text, length, &word);
        if (why) {
            workload_error_set(error, "'%.*s' (expected %s)",
                               (int)(length < LONGEST_SHOWN_WORD ? length : LONGEST_SHOWN_WORD),
                               text, why);
            return false;
        }
    }
    return true;
}

bool workload_surroundings_next(const char **text, struct workload_surrounding *out)
{
    size_t length;

    if (!*text)
        return false;
    *text += strspn(*text, SEPARATORS);
    length = strcspn(*text, SEPARATORS);
    if (!length || read_word(*text, length, out))
        return false;
    *text += length;
    return true;
}
