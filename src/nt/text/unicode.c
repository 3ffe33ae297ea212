/*
 * Counted strings. Case is that of ASCII, Latin-1, Greek and Cyrillic letters, as in the kernel's
 * table; an ANSI string is in code page 1252's ISO part, Latin-1.
 */
#include "nt/text/unicode.h"

#include "nt/memory/pool.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <string.h>

static size_t wide_length(PCWSTR string)
{
    size_t length = 0;

    while (string[length])
        length++;
    return length;
}

/* ---- Case ------------------------------------------------------------------------------------ */

WCHAR NTAPI RtlUpcaseUnicodeChar(WCHAR c)
{
    if (c >= 'a' && c <= 'z')
        return (WCHAR)(c - 'a' + 'A');
    if (c == 0xff)
        return 0x178;
    if ((c >= 0xe0 && c <= 0xfe && c != 0xf7) || (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) ||
        (c >= 0x430 && c <= 0x44f))
        return (WCHAR)(c - 0x20);
    if (c >= 0x450 && c <= 0x45f)
        return (WCHAR)(c - 0x50);
    return c;
}

WCHAR NTAPI RtlDowncaseUnicodeChar(WCHAR c)
{
    if (c >= 'A' && c <= 'Z')
        return (WCHAR)(c - 'A' + 'a');
    if (c == 0x178)
        return 0xff;
    if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) ||
        (c >= 0x410 && c <= 0x42f))
        return (WCHAR)(c + 0x20);
    if (c >= 0x400 && c <= 0x40f)
        return (WCHAR)(c + 0x50);
    return c;
}

CHAR NTAPI RtlUpperChar(CHAR c)
{
    WCHAR upper = RtlUpcaseUnicodeChar((UCHAR)c);

    return upper < 0x100 ? (CHAR)upper : c;
}

/* ---- Made and freed -------------------------------------------------------------------------- */

VOID NTAPI RtlInitString(PSTRING String, PCSTR Source)
{
    size_t length = Source ? strlen(Source) : 0;

    if (length > 0xfffe)
        length = 0xfffe;
    String->Buffer = (PCHAR)(uintptr_t)Source;
    String->Length = (USHORT)length;
    String->MaximumLength = Source ? (USHORT)(length + 1) : 0;
}

VOID NTAPI RtlInitAnsiString(PANSI_STRING String, PCSTR Source)
{
    RtlInitString(String, Source);
}

NTSTATUS NTAPI RtlInitUnicodeStringEx(PUNICODE_STRING String, PCWSTR Source)
{
    size_t bytes = Source ? wide_length(Source) * sizeof(WCHAR) : 0;

    *String = (UNICODE_STRING){0};
    if (bytes > UNICODE_STRING_MAX_BYTES - sizeof(WCHAR))
        return STATUS_NAME_TOO_LONG;
    String->Buffer = (PWSTR)(uintptr_t)Source;
    String->Length = (USHORT)bytes;
    String->MaximumLength = Source ? (USHORT)(bytes + sizeof(WCHAR)) : 0;
    return STATUS_SUCCESS;
}

VOID NTAPI RtlInitUnicodeString(PUNICODE_STRING String, PCWSTR Source)
{
    if (RtlInitUnicodeStringEx(String, Source) == STATUS_NAME_TOO_LONG) {
        String->Buffer = (PWSTR)(uintptr_t)Source;
        String->Length = UNICODE_STRING_MAX_BYTES - sizeof(WCHAR);
        String->MaximumLength = UNICODE_STRING_MAX_BYTES;
    }
}

static void *take_buffer(ULONG bytes)
{
    return ExAllocatePoolWithTag(PagedPool, bytes, NT_STRING_TAG);
}

/* The buffer may be one that the driver has allocated, under a tag of its own. */
VOID NTAPI RtlFreeUnicodeString(PUNICODE_STRING String)
{
    nt_require_irql(nt_current(), "RtlFreeUnicodeString", APC_LEVEL);
    if (String->Buffer)
        ExFreePool(String->Buffer);
    *String = (UNICODE_STRING){0};
}

VOID NTAPI RtlFreeAnsiString(PANSI_STRING String)
{
    nt_require_irql(nt_current(), "RtlFreeAnsiString", APC_LEVEL);
    if (String->Buffer)
        ExFreePool(String->Buffer);
    *String = (ANSI_STRING){0};
}

VOID NTAPI RtlFreeUTF8String(PUTF8_STRING String)
{
    RtlFreeAnsiString(String);
}

/* ---- Copied and joined ----------------------------------------------------------------------- */

VOID NTAPI RtlCopyUnicodeString(PUNICODE_STRING To, PCUNICODE_STRING From)
{
    USHORT bytes = 0;

    if (From)
        bytes = From->Length < To->MaximumLength ? From->Length : To->MaximumLength;
    if (bytes)
        memmove(To->Buffer, From->Buffer, bytes);
    To->Length = bytes;
    if (bytes + sizeof(WCHAR) <= To->MaximumLength)
        To->Buffer[bytes / sizeof(WCHAR)] = 0;
}

VOID NTAPI RtlCopyString(PSTRING To, const STRING *From)
{
    USHORT bytes = 0;

    if (From)
        bytes = From->Length < To->MaximumLength ? From->Length : To->MaximumLength;
    if (bytes)
        memmove(To->Buffer, From->Buffer, bytes);
    To->Length = bytes;
}

static NTSTATUS append(PUNICODE_STRING to, PCWSTR from, size_t bytes)
{
    if (bytes > (size_t)(to->MaximumLength - to->Length))
        return STATUS_BUFFER_TOO_SMALL;
    if (bytes)
        memmove((UCHAR *)to->Buffer + to->Length, from, bytes);
    to->Length = (USHORT)(to->Length + bytes);
    if (to->Length + sizeof(WCHAR) <= to->MaximumLength)
        to->Buffer[to->Length / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RtlAppendUnicodeStringToString(PUNICODE_STRING To, PCUNICODE_STRING From)
{
    return append(To, From->Buffer, From->Length);
}

NTSTATUS NTAPI RtlAppendUnicodeToString(PUNICODE_STRING To, PCWSTR From)
{
    return From ? append(To, From, wide_length(From) * sizeof(WCHAR)) : STATUS_SUCCESS;
}

static NTSTATUS change_case(PUNICODE_STRING to, PCUNICODE_STRING from, BOOLEAN allocates,
                            WCHAR(NTAPI *change)(WCHAR))
{
    if (allocates) {
        to->Buffer = from->Length ? take_buffer(from->Length) : NULL;
        if (from->Length && !to->Buffer)
            return STATUS_NO_MEMORY;
        to->MaximumLength = from->Length;
    } else if (from->Length > to->MaximumLength) {
        return STATUS_BUFFER_OVERFLOW;
    }
    to->Length = from->Length;
    for (USHORT i = 0; i < from->Length / sizeof(WCHAR); i++)
        to->Buffer[i] = change(from->Buffer[i]);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RtlUpcaseUnicodeString(PUNICODE_STRING To, PCUNICODE_STRING From, BOOLEAN Allocates)
{
    nt_require_irql(nt_current(), "RtlUpcaseUnicodeString", APC_LEVEL);
    return change_case(To, From, Allocates, RtlUpcaseUnicodeChar);
}

NTSTATUS NTAPI RtlDowncaseUnicodeString(PUNICODE_STRING To, PCUNICODE_STRING From,
                                        BOOLEAN Allocates)
{
    nt_require_irql(nt_current(), "RtlDowncaseUnicodeString", APC_LEVEL);
    return change_case(To, From, Allocates, RtlDowncaseUnicodeChar);
}

/* ---- Compared -------------------------------------------------------------------------------- */

LONG NTAPI RtlCompareUnicodeStrings(PCWCH First, SIZE_T FirstLength, PCWCH Second,
                                    SIZE_T SecondLength, BOOLEAN IgnoresCase)
{
    SIZE_T common = min_u64(FirstLength, SecondLength);

    for (SIZE_T i = 0; i < common; i++) {
        WCHAR a = IgnoresCase ? RtlUpcaseUnicodeChar(First[i]) : First[i];
        WCHAR b = IgnoresCase ? RtlUpcaseUnicodeChar(Second[i]) : Second[i];

        if (a != b)
            return (LONG)a - (LONG)b;
    }
    return FirstLength < SecondLength ? -1 : FirstLength > SecondLength;
}

LONG NTAPI RtlCompareUnicodeString(PCUNICODE_STRING First, PCUNICODE_STRING Second,
                                   BOOLEAN IgnoresCase)
{
    nt_require_irql(nt_current(), "RtlCompareUnicodeString", PASSIVE_LEVEL);
    return RtlCompareUnicodeStrings(First->Buffer, First->Length / sizeof(WCHAR), Second->Buffer,
                                    Second->Length / sizeof(WCHAR), IgnoresCase);
}

bool nt_is_same_text(PCUNICODE_STRING first, PCUNICODE_STRING second, bool ignores_case)
{
    return first->Length == second->Length &&
           RtlCompareUnicodeStrings(first->Buffer, first->Length / sizeof(WCHAR), second->Buffer,
                                    second->Length / sizeof(WCHAR), ignores_case) == 0;
}

BOOLEAN NTAPI RtlEqualUnicodeString(PCUNICODE_STRING First, PCUNICODE_STRING Second,
                                    BOOLEAN IgnoresCase)
{
    nt_require_irql(nt_current(), "RtlEqualUnicodeString", PASSIVE_LEVEL);
    return nt_is_same_text(First, Second, IgnoresCase);
}

BOOLEAN NTAPI RtlPrefixUnicodeString(PCUNICODE_STRING Prefix, PCUNICODE_STRING String,
                                     BOOLEAN IgnoresCase)
{
    nt_require_irql(nt_current(), "RtlPrefixUnicodeString", PASSIVE_LEVEL);
    return Prefix->Length <= String->Length &&
           RtlCompareUnicodeStrings(Prefix->Buffer, Prefix->Length / sizeof(WCHAR), String->Buffer,
                                    Prefix->Length / sizeof(WCHAR), IgnoresCase) == 0;
}

static LONG compare_strings(const STRING *First, const STRING *Second, BOOLEAN IgnoresCase)
{
    USHORT common = First->Length < Second->Length ? First->Length : Second->Length;

    for (USHORT i = 0; i < common; i++) {
        UCHAR a = (UCHAR)(IgnoresCase ? RtlUpperChar(First->Buffer[i]) : First->Buffer[i]);
        UCHAR b = (UCHAR)(IgnoresCase ? RtlUpperChar(Second->Buffer[i]) : Second->Buffer[i]);

        if (a != b)
            return (LONG)a - (LONG)b;
    }
    return (LONG)First->Length - (LONG)Second->Length;
}

LONG NTAPI RtlCompareString(const STRING *First, const STRING *Second, BOOLEAN IgnoresCase)
{
    nt_require_irql(nt_current(), "RtlCompareString", PASSIVE_LEVEL);
    return compare_strings(First, Second, IgnoresCase);
}

BOOLEAN NTAPI RtlEqualString(const STRING *First, const STRING *Second, BOOLEAN IgnoresCase)
{
    nt_require_irql(nt_current(), "RtlEqualString", PASSIVE_LEVEL);
    return First->Length == Second->Length && compare_strings(First, Second, IgnoresCase) == 0;
}

/* x65599 is the default algorithm: hash = hash * 65599 + character. */
NTSTATUS NTAPI RtlHashUnicodeString(PCUNICODE_STRING String, BOOLEAN IgnoresCase, ULONG Algorithm,
                                    PULONG Hash)
{
    ULONG hash = 0;

    nt_require_irql(nt_current(), "RtlHashUnicodeString", APC_LEVEL);
    if (!String || !Hash || Algorithm > HASH_STRING_ALGORITHM_X65599)
        return STATUS_INVALID_PARAMETER;
    for (USHORT i = 0; i < String->Length / sizeof(WCHAR); i++) {
        WCHAR c = String->Buffer[i];

        hash = hash * 65599 + (IgnoresCase ? RtlUpcaseUnicodeChar(c) : c);
    }
    *Hash = hash;
    return STATUS_SUCCESS;
}

/* ---- Converted ------------------------------------------------------------------------------- */

ULONG NTAPI RtlxAnsiStringToUnicodeSize(PCANSI_STRING String)
{
    return (String->Length + 1u) * (ULONG)sizeof(WCHAR);
}

ULONG NTAPI RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING String)
{
    return String->Length / (ULONG)sizeof(WCHAR) + 1u;
}

NTSTATUS NTAPI RtlAnsiStringToUnicodeString(PUNICODE_STRING To, PCANSI_STRING From,
                                            BOOLEAN Allocates)
{
    ULONG bytes = RtlxAnsiStringToUnicodeSize(From);

    nt_require_irql(nt_current(), "RtlAnsiStringToUnicodeString", PASSIVE_LEVEL);
    if (bytes > UNICODE_STRING_MAX_BYTES)
        return STATUS_INVALID_PARAMETER_2;
    if (Allocates) {
        To->Buffer = take_buffer(bytes);
        if (!To->Buffer)
            return STATUS_NO_MEMORY;
        To->MaximumLength = (USHORT)bytes;
    } else if (bytes > To->MaximumLength) {
        return STATUS_BUFFER_OVERFLOW;
    }
    To->Length = (USHORT)(bytes - sizeof(WCHAR));
    for (USHORT i = 0; i < From->Length; i++)
        To->Buffer[i] = (UCHAR)From->Buffer[i];
    To->Buffer[From->Length] = 0;
    return STATUS_SUCCESS;
}

/* A buffer that is too small takes as much as fits, and a 0. */
NTSTATUS NTAPI RtlUnicodeStringToAnsiString(PANSI_STRING To, PCUNICODE_STRING From,
                                            BOOLEAN Allocates)
{
    ULONG bytes = RtlxUnicodeStringToAnsiSize(From);
    NTSTATUS status = STATUS_SUCCESS;

    nt_require_irql(nt_current(), "RtlUnicodeStringToAnsiString", PASSIVE_LEVEL);
    if (Allocates) {
        To->Buffer = take_buffer(bytes);
        if (!To->Buffer)
            return STATUS_NO_MEMORY;
        To->MaximumLength = (USHORT)bytes;
    } else if (bytes > To->MaximumLength) {
        if (!To->MaximumLength)
            return STATUS_BUFFER_OVERFLOW;
        bytes = To->MaximumLength;
        status = STATUS_BUFFER_OVERFLOW;
    }
    To->Length = (USHORT)(bytes - 1);
    for (USHORT i = 0; i < To->Length; i++)
        To->Buffer[i] = From->Buffer[i] < 0x100 ? (CHAR)From->Buffer[i] : '?';
    To->Buffer[To->Length] = 0;
    return status;
}

static bool is_high_surrogate(ULONG c)
{
    return c >= 0xd800 && c < 0xdc00;
}

static bool is_low_surrogate(ULONG c)
{
    return c >= 0xdc00 && c < 0xe000;
}

/* Returns how many bytes the character takes. */
static ULONG encode_utf8(ULONG c, UCHAR out[4])
{
    if (c < 0x80) {
        out[0] = (UCHAR)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (UCHAR)(0xc0 | c >> 6);
        out[1] = (UCHAR)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (UCHAR)(0xe0 | c >> 12);
        out[1] = (UCHAR)(0x80 | (c >> 6 & 0x3f));
        out[2] = (UCHAR)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (UCHAR)(0xf0 | c >> 18);
    out[1] = (UCHAR)(0x80 | (c >> 12 & 0x3f));
    out[2] = (UCHAR)(0x80 | (c >> 6 & 0x3f));
    out[3] = (UCHAR)(0x80 | (c & 0x3f));
    return 4;
}

/* Without a destination it tells the size. Malformed sequences become U+FFFD. */
NTSTATUS NTAPI RtlUnicodeToUTF8N(PCHAR To, ULONG Room, PULONG Used, PCWCH From, ULONG FromBytes)
{
    ULONG count = FromBytes / (ULONG)sizeof(WCHAR), length = 0;
    NTSTATUS status = STATUS_SUCCESS;

    nt_require_irql(nt_current(), "RtlUnicodeToUTF8N", PASSIVE_LEVEL);
    if (!From || (!To && !Used))
        return STATUS_INVALID_PARAMETER;
    for (ULONG i = 0; i < count; i++) {
        ULONG c = From[i], bytes;
        UCHAR encoded[4];

        if (is_high_surrogate(c) && i + 1 < count && is_low_surrogate(From[i + 1])) {
            c = 0x10000 + ((c - 0xd800) << 10) + (From[++i] - 0xdc00u);
        } else if (is_high_surrogate(c) || is_low_surrogate(c)) {
            c = 0xfffd;
            status = STATUS_SOME_NOT_MAPPED;
        }
        bytes = encode_utf8(c, encoded);
        if (To) {
            if (length + bytes > Room) {
                status = STATUS_BUFFER_TOO_SMALL;
                break;
            }
            memcpy(To + length, encoded, bytes);
        }
        length += bytes;
    }
    if (Used)
        *Used = length;
    return status;
}

/* One character; false for a malformed one, of which *out_bytes are to be skipped. */
static bool decode_utf8(const UCHAR *from, ULONG bytes, ULONG *out_character, ULONG *out_bytes)
{
    static const ULONG least[] = {0, 0, 0x80, 0x800, 0x10000};
    ULONG length = from[0] < 0x80 ? 1 : from[0] < 0xe0 ? 2 : from[0] < 0xf0 ? 3 : 4;
    ULONG c = length == 1 ? from[0] : from[0] & (0x7fu >> length);

    *out_character = 0xfffd;
    *out_bytes = 1;
    if ((from[0] >= 0x80 && from[0] < 0xc2) || from[0] > 0xf4)
        return false;
    for (ULONG i = 1; i < length; i++) {
        if (i >= bytes || (from[i] & 0xc0) != 0x80)
            return false;
        c = c << 6 | (from[i] & 0x3f);
        *out_bytes = i + 1;
    }
    if (c < least[length] || c > 0x10ffff || is_high_surrogate(c) || is_low_surrogate(c))
        return false;
    *out_character = c;
    return true;
}

NTSTATUS NTAPI RtlUTF8ToUnicodeN(PWSTR To, ULONG Room, PULONG Used, PCSTR From, ULONG FromBytes)
{
    ULONG length = 0;
    NTSTATUS status = STATUS_SUCCESS;

    nt_require_irql(nt_current(), "RtlUTF8ToUnicodeN", PASSIVE_LEVEL);
    if (!From || (!To && !Used))
        return STATUS_INVALID_PARAMETER;
    for (ULONG i = 0, step; i < FromBytes; i += step) {
        ULONG c, count;

        if (!decode_utf8((const UCHAR *)From + i, FromBytes - i, &c, &step))
            status = STATUS_SOME_NOT_MAPPED;
        count = c >= 0x10000 ? 2 : 1;
        if (To) {
            if ((length + count) * sizeof(WCHAR) > Room) {
                status = STATUS_BUFFER_TOO_SMALL;
                break;
            }
            To[length] = (WCHAR)(count == 2 ? 0xd800 + ((c - 0x10000) >> 10) : c);
            if (count == 2)
                To[length + 1] = (WCHAR)(0xdc00 + (c & 0x3ff));
        }
        length += count;
    }
    if (Used)
        *Used = length * (ULONG)sizeof(WCHAR);
    return status;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static NTSTATUS put_number(ULONGLONG Value, ULONG Base, PUNICODE_STRING String)
{
    WCHAR digits[64];
    size_t count = 0;

    if (!Base)
        Base = 10;
    if (Base != 2 && Base != 8 && Base != 10 && Base != 16)
        return STATUS_INVALID_PARAMETER;
    do {
        digits[ARRAY_COUNT(digits) - ++count] = (WCHAR) "0123456789ABCDEF"[Value % Base];
        Value /= Base;
    } while (Value);
    if (count * sizeof(WCHAR) > String->MaximumLength)
        return STATUS_BUFFER_OVERFLOW;
    String->Length = 0;
    return append(String, digits + ARRAY_COUNT(digits) - count, count * sizeof(WCHAR));
}

NTSTATUS NTAPI RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base, PUNICODE_STRING String)
{
    nt_require_irql(nt_current(), "RtlInt64ToUnicodeString", PASSIVE_LEVEL);
    return put_number(Value, Base, String);
}

NTSTATUS NTAPI RtlIntegerToUnicodeString(ULONG Value, ULONG Base, PUNICODE_STRING String)
{
    nt_require_irql(nt_current(), "RtlIntegerToUnicodeString", PASSIVE_LEVEL);
    return put_number(Value, Base, String);
}

static int digit_of(ULONG c)
{
    if (c >= '0' && c <= '9')
        return (int)c - '0';
    if (c >= 'a' && c <= 'f')
        return (int)c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return (int)c - 'A' + 10;
    return 99;
}

/* Characters by number from a string of either kind; 0 behind the end. */
struct reader {
    const void *from;
    bool is_wide;
    size_t count; /* SIZE_MAX: a zero ends it */
};

static ULONG character_at(const struct reader *reader, size_t at)
{
    if (at >= reader->count)
        return 0;
    return reader->is_wide ? ((const WCHAR *)reader->from)[at] : ((const UCHAR *)reader->from)[at];
}

/* Spaces, a sign, a prefix when base is 0, digits; the rest is ignored. */
static NTSTATUS read_integer(const struct reader *reader, ULONG base, PULONG value)
{
    size_t at = 0;
    bool is_negative;
    ULONG result = 0;

    while (character_at(reader, at) && character_at(reader, at) <= ' ')
        at++;
    is_negative = character_at(reader, at) == '-';
    if (is_negative || character_at(reader, at) == '+')
        at++;
    if (!base) {
        base = 10;
        if (character_at(reader, at) == '0') {
            switch (character_at(reader, at + 1)) {
            case 'x':
                base = 16;
                break;
            case 'o':
                base = 8;
                break;
            case 'b':
                base = 2;
                break;
            default:
                break;
            }
            at += base != 10 ? 2 : 0;
        }
    } else if (base != 2 && base != 8 && base != 10 && base != 16) {
        return STATUS_INVALID_PARAMETER;
    }
    for (; digit_of(character_at(reader, at)) < (int)base; at++)
        result = result * base + (ULONG)digit_of(character_at(reader, at));
    *value = is_negative ? 0u - result : result;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base, PULONG Value)
{
    const struct reader reader = {String->Buffer, true, String->Length / sizeof(WCHAR)};

    nt_require_irql(nt_current(), "RtlUnicodeStringToInteger", PASSIVE_LEVEL);
    return read_integer(&reader, Base, Value);
}

NTSTATUS NTAPI RtlCharToInteger(PCSTR String, ULONG Base, PULONG Value)
{
    const struct reader reader = {String, false, SIZE_MAX};

    nt_require_irql(nt_current(), "RtlCharToInteger", PASSIVE_LEVEL);
    return read_integer(&reader, Base, Value);
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

/* Which byte of the structure stands at each place of {01234567-89ab-...}; 16: a dash. */
static const UCHAR guid_order[] = {3,  2, 1, 0,  16, 5,  4,  16, 7,  6,
                                   16, 8, 9, 16, 10, 11, 12, 13, 14, 15};
#define GUID_CHARACTERS 38u

NTSTATUS NTAPI RtlStringFromGUID(REFGUID Guid, PUNICODE_STRING String)
{
    static const char digits[] = "0123456789ABCDEF";
    const UCHAR *bytes = (const UCHAR *)Guid;
    size_t at = 0;
    PWSTR text = take_buffer((GUID_CHARACTERS + 1) * sizeof(WCHAR));

    nt_require_irql(nt_current(), "RtlStringFromGUID", PASSIVE_LEVEL);
    *String = (UNICODE_STRING){0};
    if (!text)
        return STATUS_NO_MEMORY;
    text[at++] = '{';
    for (size_t i = 0; i < ARRAY_COUNT(guid_order); i++) {
        if (guid_order[i] == 16) {
            text[at++] = '-';
        } else {
            text[at++] = (WCHAR)digits[bytes[guid_order[i]] >> 4];
            text[at++] = (WCHAR)digits[bytes[guid_order[i]] & 15];
        }
    }
    text[at++] = '}';
    text[at] = 0;
    *String = (UNICODE_STRING){GUID_CHARACTERS * sizeof(WCHAR),
                               (GUID_CHARACTERS + 1) * sizeof(WCHAR), text};
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RtlGUIDFromString(PCUNICODE_STRING String, GUID *Guid)
{
    const WCHAR *text = String->Buffer;
    UCHAR bytes[16];
    size_t at = 1;

    nt_require_irql(nt_current(), "RtlGUIDFromString", PASSIVE_LEVEL);
    if (String->Length != GUID_CHARACTERS * sizeof(WCHAR) || text[0] != '{' ||
        text[GUID_CHARACTERS - 1] != '}')
        return STATUS_INVALID_PARAMETER;
    for (size_t i = 0; i < ARRAY_COUNT(guid_order); i++) {
        if (guid_order[i] == 16) {
            if (text[at++] != '-')
                return STATUS_INVALID_PARAMETER;
            continue;
        }
        if (digit_of(text[at]) > 15 || digit_of(text[at + 1]) > 15)
            return STATUS_INVALID_PARAMETER;
        bytes[guid_order[i]] = (UCHAR)(digit_of(text[at]) << 4 | digit_of(text[at + 1]));
        at += 2;
    }
    memcpy(Guid, bytes, sizeof bytes);
    return STATUS_SUCCESS;
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlInitString),
    NT_SERVICE(RtlInitAnsiString),
    NT_SERVICE(RtlInitUnicodeString),
    NT_SERVICE(RtlInitUnicodeStringEx),
    NT_SERVICE(RtlFreeUnicodeString),
    NT_SERVICE(RtlFreeAnsiString),
    NT_SERVICE(RtlFreeUTF8String),
    NT_SERVICE(RtlCopyUnicodeString),
    NT_SERVICE(RtlCopyString),
    NT_SERVICE(RtlAppendUnicodeStringToString),
    NT_SERVICE(RtlAppendUnicodeToString),
    NT_SERVICE(RtlUpcaseUnicodeChar),
    NT_SERVICE(RtlDowncaseUnicodeChar),
    NT_SERVICE(RtlUpperChar),
    NT_SERVICE(RtlUpcaseUnicodeString),
    NT_SERVICE(RtlDowncaseUnicodeString),
    NT_SERVICE(RtlCompareUnicodeStrings),
    NT_SERVICE(RtlCompareUnicodeString),
    NT_SERVICE(RtlEqualUnicodeString),
    NT_SERVICE(RtlPrefixUnicodeString),
    NT_SERVICE(RtlCompareString),
    NT_SERVICE(RtlEqualString),
    NT_SERVICE(RtlHashUnicodeString),
    NT_SERVICE(RtlxAnsiStringToUnicodeSize),
    NT_SERVICE(RtlxUnicodeStringToAnsiSize),
    NT_SERVICE(RtlAnsiStringToUnicodeString),
    NT_SERVICE(RtlUnicodeStringToAnsiString),
    NT_SERVICE(RtlUnicodeToUTF8N),
    NT_SERVICE(RtlUTF8ToUnicodeN),
    NT_SERVICE(RtlInt64ToUnicodeString),
    NT_SERVICE(RtlIntegerToUnicodeString),
    NT_SERVICE(RtlUnicodeStringToInteger),
    NT_SERVICE(RtlCharToInteger),
    NT_SERVICE(RtlStringFromGUID),
    NT_SERVICE(RtlGUIDFromString),
    {0},
};

const struct nt_area nt_unicode_area = {.exports = services};
