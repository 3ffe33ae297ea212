/*
 * Rtl functions of the registry: many values in one call, by a table.
 */
#include "nt/devices/registry.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <wdm/registry.h>

#include <string.h>

static size_t length_of(PCWSTR text)
{
    size_t length = 0;

    while (text && text[length])
        length++;
    return length;
}

/* The key that RelativeTo and Path say. */
static NTSTATUS find_key(struct nt *nt, ULONG relative, PCWSTR path, bool *out_is_new,
                         struct nt_key **out_key)
{
    struct nt_key *from = NULL;
    NTSTATUS status = STATUS_SUCCESS;

    nt_require_irql(nt, "RtlQueryRegistryValues (or one of its kin)", PASSIVE_LEVEL);
    relative &= ~RTL_REGISTRY_OPTIONAL;
    if (relative & RTL_REGISTRY_HANDLE)
        return nt_key_of_handle(nt, (HANDLE)(uintptr_t)path, out_key);
    if (relative == RTL_REGISTRY_SERVICES)
        status = nt_key_find_text(nt, NT_REGISTRY_SERVICES, out_is_new, &from);
    else if (relative == RTL_REGISTRY_CONTROL)
        status = nt_key_find_text(nt, NT_REGISTRY_CONTROL, out_is_new, &from);
    else if (relative == RTL_REGISTRY_WINDOWS_NT)
        status = nt_key_find_text(
            nt, "\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion", out_is_new,
            &from);
    else if (relative != RTL_REGISTRY_ABSOLUTE)
        status = STATUS_OBJECT_NAME_NOT_FOUND; /* of users and of devices nobody keeps keys here */
    return NT_SUCCESS(status) ? nt_key_find(nt, from, path, length_of(path), out_is_new, out_key)
                              : status;
}

/* ---- Where a value goes ---------------------------------------------------------------------- */

static bool is_string(ULONG type)
{
    return type == REG_SZ || type == REG_EXPAND_SZ || type == REG_MULTI_SZ;
}

/* A string into a UNICODE_STRING, whose buffer is made where it has none. */
static NTSTATUS store_string(UNICODE_STRING *to, const void *data, ULONG bytes)
{
    ULONG length = bytes;

    if (bytes > UNICODE_STRING_MAX_BYTES)
        return STATUS_BUFFER_TOO_SMALL;
    if (bytes >= sizeof(WCHAR) && !((const WCHAR *)data)[bytes / sizeof(WCHAR) - 1])
        length -= (ULONG)sizeof(WCHAR);
    if (!to->Buffer) {
        to->Buffer = ExAllocatePoolWithTag(PagedPool, bytes + sizeof(WCHAR), 0x67727453);
        if (!to->Buffer)
            return STATUS_NO_MEMORY;
        to->MaximumLength = (USHORT)(length + sizeof(WCHAR));
    } else if (bytes > to->MaximumLength) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    memcpy(to->Buffer, data, length);
    to->Length = (USHORT)length;
    if (length + sizeof(WCHAR) <= to->MaximumLength)
        to->Buffer[length / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

/*
 * Other data: 4 bytes and less as they are. For more, the first LONG of the buffer says how much
 * room there is; negative: the data alone, else behind its size and type.
 */
static NTSTATUS store_direct(void *to, ULONG type, const void *data, ULONG bytes)
{
    LONG room;

    if (is_string(type))
        return store_string(to, data, bytes);
    if (bytes <= sizeof(ULONG)) {
        memcpy(to, data, bytes);
        return STATUS_SUCCESS;
    }
    memcpy(&room, to, sizeof room);
    if (room < 0) {
        if (bytes > 0u - (ULONG)room)
            return STATUS_BUFFER_TOO_SMALL;
        memcpy(to, data, bytes);
        return STATUS_SUCCESS;
    }
    if ((ULONG)room < 2 * sizeof(ULONG) || bytes > (ULONG)room - 2 * sizeof(ULONG))
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(to, &bytes, sizeof bytes);
    memcpy((UCHAR *)to + sizeof(ULONG), &type, sizeof type);
    memcpy((UCHAR *)to + 2 * sizeof(ULONG), data, bytes);
    return STATUS_SUCCESS;
}

/* ---- One entry of the table ------------------------------------------------------------------ */

struct query {
    struct nt *nt;
    void *context;
};

static NTSTATUS call_routine(const struct query *query, const RTL_QUERY_REGISTRY_TABLE *entry,
                             PWSTR name, ULONG type, const void *data, ULONG bytes)
{
    PRTL_QUERY_REGISTRY_ROUTINE routine = (PRTL_QUERY_REGISTRY_ROUTINE)nt_driver_function(
        query->nt, (const void *)entry->QueryRoutine);

    if (!routine)
        return STATUS_NO_MEMORY;
    return routine(name, type, (PVOID)(uintptr_t)data, bytes, query->context, entry->EntryContext);
}

/* Each string of a list is given by itself, unless the entry says otherwise. */
static NTSTATUS give_list(const struct query *query, const RTL_QUERY_REGISTRY_TABLE *entry,
                          PWSTR name, const WCHAR *data, ULONG bytes)
{
    size_t count = bytes / sizeof(WCHAR);

    for (size_t at = 0; at < count && data[at];) {
        size_t length = 0;
        NTSTATUS status;

        while (at + length < count && data[at + length])
            length++;
        status = call_routine(query, entry, name, REG_SZ, data + at,
                              (ULONG)((length + 1) * sizeof(WCHAR)));
        if (!NT_SUCCESS(status))
            return status;
        at += length + 1;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS give(const struct query *query, const RTL_QUERY_REGISTRY_TABLE *entry, PWSTR name,
                     ULONG type, const void *data, ULONG bytes)
{
    ULONG wanted = entry->DefaultType >> RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;

    if (entry->Flags & RTL_QUERY_REGISTRY_DIRECT) {
        if (entry->Flags & RTL_QUERY_REGISTRY_TYPECHECK && wanted != type)
            return STATUS_OBJECT_TYPE_MISMATCH;
        return store_direct(entry->EntryContext, type, data, bytes);
    }
    if (!entry->QueryRoutine)
        return STATUS_SUCCESS;
    if (type == REG_MULTI_SZ && !(entry->Flags & RTL_QUERY_REGISTRY_NOEXPAND))
        return give_list(query, entry, name, data, bytes);
    return call_routine(query, entry, name, type, data, bytes);
}

static NTSTATUS give_default(const struct query *query, const RTL_QUERY_REGISTRY_TABLE *entry)
{
    ULONG type = entry->DefaultType & ((1u << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT) - 1);
    ULONG bytes = entry->DefaultLength;

    if (entry->Flags & RTL_QUERY_REGISTRY_REQUIRED)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (type == REG_NONE || !entry->DefaultData)
        return STATUS_SUCCESS;
    if (!bytes && is_string(type))
        bytes = (ULONG)((length_of(entry->DefaultData) + 1) * sizeof(WCHAR));
    if (entry->Flags & RTL_QUERY_REGISTRY_DIRECT)
        return store_direct(entry->EntryContext, type, entry->DefaultData, bytes);
    return entry->QueryRoutine
               ? call_routine(query, entry, entry->Name, type, entry->DefaultData, bytes)
               : STATUS_SUCCESS;
}

static NTSTATUS ask_all(const struct query *query, const RTL_QUERY_REGISTRY_TABLE *entry,
                        struct nt_key *key)
{
    const struct nt_value *value;
    bool has_any = false;

    list_for_each (value, &key->values, struct nt_value, link) {
        NTSTATUS status =
            give(query, entry, value->name.Buffer, value->type, value->data, value->bytes);

        if (!NT_SUCCESS(status))
            return status;
        has_any = true;
    }
    return has_any || !(entry->Flags & RTL_QUERY_REGISTRY_REQUIRED) ? STATUS_SUCCESS
                                                                    : STATUS_OBJECT_NAME_NOT_FOUND;
}

static NTSTATUS ask(const struct query *query, const RTL_QUERY_REGISTRY_TABLE *entry,
                    struct nt_key *key)
{
    struct nt_value *value;
    NTSTATUS status;

    if (entry->Flags & RTL_QUERY_REGISTRY_NOVALUE)
        return call_routine(query, entry, NULL, REG_NONE, NULL, 0);
    if (!entry->Name)
        return entry->Flags & RTL_QUERY_REGISTRY_DIRECT ? STATUS_INVALID_PARAMETER
                                                        : ask_all(query, entry, key);
    value = nt_value_find(key, entry->Name, length_of(entry->Name));
    if (!value) {
        nt_value_lacks(query->nt, key, entry->Name, length_of(entry->Name));
        return give_default(query, entry);
    }
    status = give(query, entry, entry->Name, value->type, value->data, value->bytes);
    if (NT_SUCCESS(status) && entry->Flags & RTL_QUERY_REGISTRY_DELETE)
        nt_value_delete(query->nt, value);
    return status;
}

NTSTATUS NTAPI RtlQueryRegistryValues(ULONG Relative, PCWSTR Path, PRTL_QUERY_REGISTRY_TABLE Table,
                                      PVOID Context, PVOID Environment)
{
    const struct query query = {nt_current(), Context};
    struct nt_key *top, *key;
    NTSTATUS status = find_key(query.nt, Relative, Path, NULL, &top);

    if (!NT_SUCCESS(status))
        return Relative & RTL_REGISTRY_OPTIONAL && status == STATUS_OBJECT_NAME_NOT_FOUND
                   ? STATUS_SUCCESS
                   : status;
    key = top;
    for (; Table->QueryRoutine ||
           Table->Flags & (RTL_QUERY_REGISTRY_SUBKEY | RTL_QUERY_REGISTRY_DIRECT);
         Table++) {
        if (Table->Flags & RTL_QUERY_REGISTRY_DIRECT && Table->QueryRoutine)
            return STATUS_INVALID_PARAMETER;
        if (Table->Flags & (RTL_QUERY_REGISTRY_TOPKEY | RTL_QUERY_REGISTRY_SUBKEY))
            key = top;
        if (Table->Flags & RTL_QUERY_REGISTRY_SUBKEY) {
            if (!Table->Name)
                return STATUS_INVALID_PARAMETER;
            status = nt_key_find(query.nt, top, Table->Name, length_of(Table->Name), NULL, &key);
            if (status == STATUS_OBJECT_NAME_NOT_FOUND &&
                !(Table->Flags & RTL_QUERY_REGISTRY_REQUIRED))
                key = NULL; /* keys below it are not there either */
            else if (!NT_SUCCESS(status))
                return status;
            if (key && Table->QueryRoutine)
                status = ask_all(&query, Table, key);
        } else {
            status = key ? ask(&query, Table, key) : give_default(&query, Table);
        }
        if (!NT_SUCCESS(status) && status != STATUS_OBJECT_NAME_NOT_FOUND)
            return status;
        if (!NT_SUCCESS(status) && Table->Flags & RTL_QUERY_REGISTRY_REQUIRED)
            return status;
    }
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RtlQueryRegistryValuesEx(ULONG Relative, PCWSTR Path,
                                        PRTL_QUERY_REGISTRY_TABLE Table, PVOID Context,
                                        PVOID Environment)
{
    return RtlQueryRegistryValues(Relative, Path, Table, Context, Environment);
}

/* ---- One value ------------------------------------------------------------------------------- */

NTSTATUS NTAPI RtlWriteRegistryValue(ULONG Relative, PCWSTR Path, PCWSTR Name, ULONG Type,
                                     PVOID Data, ULONG Bytes)
{
    struct nt *nt = nt_current();
    struct nt_key *key;
    bool is_new;
    NTSTATUS status = find_key(nt, Relative, Path, &is_new, &key);

    return NT_SUCCESS(status) ? nt_value_set(nt, key, Name, length_of(Name), Type, Data, Bytes)
                              : status;
}

NTSTATUS NTAPI RtlDeleteRegistryValue(ULONG Relative, PCWSTR Path, PCWSTR Name)
{
    struct nt *nt = nt_current();
    struct nt_key *key;
    NTSTATUS status = find_key(nt, Relative, Path, NULL, &key);
    struct nt_value *value = NT_SUCCESS(status) ? nt_value_find(key, Name, length_of(Name)) : NULL;

    if (NT_SUCCESS(status) && !value)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (value)
        nt_value_delete(nt, value);
    return status;
}

NTSTATUS NTAPI RtlCheckRegistryKey(ULONG Relative, PWSTR Path)
{
    struct nt_key *key;

    return find_key(nt_current(), Relative, Path, NULL, &key);
}

NTSTATUS NTAPI RtlCreateRegistryKey(ULONG Relative, PWSTR Path)
{
    struct nt_key *key;
    bool is_new;

    return find_key(nt_current(), Relative, Path, &is_new, &key);
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlQueryRegistryValues),
    NT_SERVICE(RtlQueryRegistryValuesEx),
    NT_SERVICE(RtlWriteRegistryValue),
    NT_SERVICE(RtlDeleteRegistryValue),
    NT_SERVICE(RtlCheckRegistryKey),
    NT_SERVICE(RtlCreateRegistryKey),
    {0},
};

const struct nt_area nt_registry_query_area = {.exports = services};
