/*
 * The tree of keys, and the functions that work on one key.
 */
#include "nt/devices/registry.h"

#include "nt/nt_private.h"

#include "base/bits.h"

#include <wdm/irp.h>
#include <wdm/registry.h>

#include <string.h>

/* The state of the area. */
struct tree {
    struct nt_key *root; /* NULL: nobody has asked */
};

static struct tree *tree_of(const struct nt *nt)
{
    return NT_STATE(nt, registry);
}

/* ---- The tree -------------------------------------------------------------------------------- */

static bool copy_name(struct nt *nt, UNICODE_STRING *name, PCWSTR from, size_t characters)
{
    size_t bytes = characters * sizeof(WCHAR);

    *name = (UNICODE_STRING){0};
    name->Buffer = base_alloc(nt->services, bytes + sizeof(WCHAR));
    if (!name->Buffer)
        return false;
    if (bytes)
        memcpy(name->Buffer, from, bytes);
    name->Length = (USHORT)bytes;
    name->MaximumLength = (USHORT)(bytes + sizeof(WCHAR));
    return true;
}

static struct nt_key *create_key(struct nt *nt, struct nt_key *parent, PCWSTR name,
                                 size_t characters)
{
    struct nt_key *key = base_alloc(nt->services, sizeof *key);

    if (!key)
        return NULL;
    if (!copy_name(nt, &key->name, name, characters)) {
        base_free(nt->services, key, sizeof *key);
        return NULL;
    }
    list_init(&key->keys);
    list_init(&key->values);
    list_init(&key->link);
    key->parent = parent;
    if (parent)
        list_push_back(&parent->keys, &key->link);
    return key;
}

void nt_value_delete(struct nt *nt, struct nt_value *value)
{
    list_remove(&value->link);
    base_free(nt->services, value->name.Buffer, value->name.MaximumLength);
    base_free(nt->services, value->data, value->bytes);
    base_free(nt->services, value, sizeof *value);
}

static void destroy_key(struct nt *nt, struct nt_key *key)
{
    struct list *node;

    while ((node = list_first(&key->keys)))
        destroy_key(nt, container_of(node, struct nt_key, link));
    while ((node = list_first(&key->values)))
        nt_value_delete(nt, container_of(node, struct nt_value, link));
    list_remove(&key->link);
    base_free(nt->services, key->name.Buffer, key->name.MaximumLength);
    base_free(nt->services, key, sizeof *key);
}

static struct nt_key *child_of(struct nt_key *key, PCWSTR name, size_t characters)
{
    struct nt_key *child;

    list_for_each (child, &key->keys, struct nt_key, link) {
        if (RtlCompareUnicodeStrings(child->name.Buffer, child->name.Length / sizeof(WCHAR), name,
                                     characters, TRUE) == 0)
            return child;
    }
    return NULL;
}

/* Made and filled when it is asked for first; NULL: no memory. */
static struct nt_key *root_of(struct nt *nt);

NTSTATUS nt_key_find(struct nt *nt, struct nt_key *from, PCWSTR path, size_t characters,
                     bool *out_is_new, struct nt_key **out_key)
{
    struct nt_key *key = from ? from : root_of(nt);
    size_t at = 0;

    *out_key = NULL;
    if (out_is_new)
        *out_is_new = false;
    while (key && at < characters) {
        size_t length = 0;
        struct nt_key *child;

        if (path[at] == '\\') {
            at++;
            continue;
        }
        while (at + length < characters && path[at + length] != '\\')
            length++;
        child = child_of(key, path + at, length);
        if (!child && !out_is_new)
            return STATUS_OBJECT_NAME_NOT_FOUND;
        if (!child) {
            child = create_key(nt, key, path + at, length);
            *out_is_new = true;
        }
        key = child;
        at += length;
    }
    *out_key = key;
    return key ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

#define TEXT_CHARACTERS 256u

NTSTATUS nt_key_find_text(struct nt *nt, const char *path, bool *out_is_new,
                          struct nt_key **out_key)
{
    WCHAR wide[TEXT_CHARACTERS];
    size_t length = 0;

    for (; path[length] && length < TEXT_CHARACTERS; length++)
        wide[length] = (UCHAR)path[length];
    return nt_key_find(nt, NULL, wide, length, out_is_new, out_key);
}

struct nt_value *nt_value_find(const struct nt_key *key, PCWSTR name, size_t characters)
{
    struct nt_value *value;

    list_for_each (value, &key->values, struct nt_value, link) {
        if (RtlCompareUnicodeStrings(value->name.Buffer, value->name.Length / sizeof(WCHAR), name,
                                     characters, TRUE) == 0)
            return value;
    }
    return NULL;
}

NTSTATUS nt_value_set(struct nt *nt, struct nt_key *key, PCWSTR name, size_t characters, ULONG type,
                      const void *data, ULONG bytes)
{
    struct nt_value *value = nt_value_find(key, name, characters);
    UCHAR *copy = bytes ? base_alloc(nt->services, bytes) : NULL;

    if (bytes && !copy)
        return STATUS_NO_MEMORY;
    if (!value) {
        value = base_alloc(nt->services, sizeof *value);
        if (!value || !copy_name(nt, &value->name, name, characters)) {
            base_free(nt->services, value, sizeof *value);
            base_free(nt->services, copy, bytes);
            return STATUS_NO_MEMORY;
        }
        list_push_back(&key->values, &value->link);
    } else {
        base_free(nt->services, value->data, value->bytes);
    }
    if (bytes)
        memcpy(copy, data, bytes);
    value->type = type;
    value->data = copy;
    value->bytes = bytes;
    return STATUS_SUCCESS;
}

/* ---- Keys and values of the beginning -------------------------------------------------------- */

struct seed {
    const char *key;
    const char *name; /* NULL: the key alone */
    const char *text; /* NULL: number */
    ULONG number;
};

static const struct seed seeds[] = {
    {NT_REGISTRY_SERVICES "\\drydock", "Type", NULL, 1},
    {NT_REGISTRY_SERVICES "\\drydock", "Start", NULL, 3},
    {NT_REGISTRY_SERVICES "\\drydock", "ErrorControl", NULL, 0},
    {NT_REGISTRY_SERVICES "\\drydock", "ImagePath", "System32\\drivers\\drydock.sys", 0},
    {NT_REGISTRY_SERVICES "\\DXGKrnl", "Type", NULL, 1},
    {NT_REGISTRY_CONTROL "\\GraphicsDrivers", NULL, NULL, 0},
    {NT_REGISTRY_DRIVER, "DriverDesc", "Drydock modelled GPU", 0},
    {NT_REGISTRY_DEVICE, NULL, NULL, 0},
    {"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion", "CurrentBuild",
     "26100", 0},
};

static bool plant(struct nt *nt, const struct seed *seed)
{
    WCHAR name[TEXT_CHARACTERS], text[TEXT_CHARACTERS];
    struct nt_key *key;
    size_t length = 0, bytes = 0;
    bool is_new;

    if (!NT_SUCCESS(nt_key_find_text(nt, seed->key, &is_new, &key)))
        return false;
    if (!seed->name)
        return true;
    for (; seed->name[length]; length++)
        name[length] = (UCHAR)seed->name[length];
    if (!seed->text)
        return NT_SUCCESS(nt_value_set(nt, key, name, length, REG_DWORD, &seed->number, 4));
    do {
        text[bytes] = (UCHAR)seed->text[bytes];
    } while (seed->text[bytes++]);
    return NT_SUCCESS(
        nt_value_set(nt, key, name, length, REG_SZ, text, (ULONG)(bytes * sizeof(WCHAR))));
}

/* The keys that nt_set_driver_value() begins at. */
static const char *const own_keys[] = {NT_REGISTRY_SERVICES "\\drydock", NT_REGISTRY_DRIVER};

/* "\Registry\Machine\...\", as far as there is room. */
static size_t print_path(const struct nt_key *key, WCHAR *out, size_t room)
{
    const size_t characters = key->name.Length / sizeof(WCHAR);
    size_t length = key->parent ? print_path(key->parent, out, room) : 0;

    for (size_t i = 0; i < characters && length < room; i++)
        out[length++] = key->name.Buffer[i];
    if (length < room)
        out[length++] = '\\';
    return length;
}

void nt_value_lacks(struct nt *nt, const struct nt_key *key, PCWSTR name, size_t characters)
{
    WCHAR path[2 * TEXT_CHARACTERS], own[TEXT_CHARACTERS];
    size_t first = 0, length = print_path(key, path, TEXT_CHARACTERS);

    for (size_t i = 0; i < ARRAY_COUNT(own_keys) && !first; i++) {
        const size_t bytes = strlen(own_keys[i]);

        for (size_t j = 0; j < bytes; j++)
            own[j] = (UCHAR)own_keys[i][j];
        if (length > bytes && path[bytes] == '\\' &&
            RtlCompareUnicodeStrings(path, bytes, own, bytes, TRUE) == 0)
            first = bytes + 1;
    }
    for (size_t i = 0; i < characters && length < ARRAY_COUNT(path); i++)
        path[length++] = name[i];
    nt_report_in_vain(
        nt,
        "value:", &(UNICODE_STRING){(USHORT)((length - first) * sizeof(WCHAR)), 0, path + first},
        "=NUMBER");
}

static void fini(struct nt *nt)
{
    if (tree_of(nt)->root)
        destroy_key(nt, tree_of(nt)->root);
    tree_of(nt)->root = NULL;
}

static struct nt_key *root_of(struct nt *nt)
{
    if (tree_of(nt)->root)
        return tree_of(nt)->root;
    tree_of(nt)->root = create_key(nt, NULL, NULL, 0);
    for (size_t i = 0; tree_of(nt)->root && i < ARRAY_COUNT(seeds); i++) {
        if (!plant(nt, &seeds[i]))
            fini(nt);
    }
    return tree_of(nt)->root;
}

/* The key that a path below it leads to, and the name behind the last backslash. */
static struct nt_key *key_of_path(struct nt *nt, const char *below, const char *path,
                                  const char **out_name)
{
    WCHAR wide[TEXT_CHARACTERS];
    const char *last = strrchr(path, '\\');
    size_t length = 0;
    struct nt_key *key;
    bool is_new;

    *out_name = last ? last + 1 : path;
    if (path[0] == '\\')
        below = "";
    if (!NT_SUCCESS(nt_key_find_text(nt, below, &is_new, &key)))
        return NULL;
    for (const char *at = path; at < *out_name && length < TEXT_CHARACTERS; at++)
        wide[length++] = (UCHAR)*at;
    return NT_SUCCESS(nt_key_find(nt, key, wide, length, &is_new, &key)) ? key : NULL;
}

NTSTATUS nt_set_driver_value(struct nt *nt, const char *path, ULONG type, const void *data,
                             ULONG bytes)
{
    WCHAR name[TEXT_CHARACTERS];

    for (size_t i = 0; i < ARRAY_COUNT(own_keys); i++) {
        const char *text;
        struct nt_key *key = root_of(nt) ? key_of_path(nt, own_keys[i], path, &text) : NULL;
        size_t length = 0;

        for (; key && text[length] && length < TEXT_CHARACTERS; length++)
            name[length] = (UCHAR)text[length];
        if (!key || !NT_SUCCESS(nt_value_set(nt, key, name, length, type, data, bytes)))
            return STATUS_NO_MEMORY;
    }
    return STATUS_SUCCESS;
}

/* ---- Handles --------------------------------------------------------------------------------- */

struct open_key {
    struct nt_object object;
    struct nt_key *key; /* NULL: it was deleted */
    ACCESS_MASK access;
};

static void close_key(struct nt *nt, struct nt_object *object)
{
    struct open_key *open = container_of(object, struct open_key, object);

    base_free(nt->services, open, sizeof *open);
}

static const struct nt_object_type key_type = {"registry key", close_key};

NTSTATUS nt_key_of_handle(struct nt *nt, HANDLE handle, struct nt_key **out_key)
{
    struct nt_object *object = nt_handle_find(nt, handle, NULL);

    *out_key = NULL;
    if (!object)
        return STATUS_INVALID_HANDLE;
    if (object->type != &key_type)
        return STATUS_OBJECT_TYPE_MISMATCH;
    *out_key = container_of(object, struct open_key, object)->key;
    return *out_key ? STATUS_SUCCESS : STATUS_KEY_DELETED;
}

static NTSTATUS open_handle(struct nt *nt, struct nt_key *key, ACCESS_MASK access,
                            PHANDLE out_handle)
{
    struct open_key *open = base_alloc(nt->services, sizeof *open);
    NTSTATUS status;

    if (!open)
        return STATUS_INSUFFICIENT_RESOURCES;
    open->key = key;
    open->access = access;
    nt_object_init(nt, &open->object, &key_type, open);
    status = nt_handle_create(nt, &open->object, out_handle);
    nt_object_dereference(nt, &open->object); /* the handle holds it, or nobody does */
    return status;
}

static NTSTATUS open_key(const char *service, PHANDLE out_handle, ACCESS_MASK access,
                         POBJECT_ATTRIBUTES attributes, bool *out_is_new)
{
    struct nt *nt = nt_current();
    PCUNICODE_STRING name = attributes->ObjectName;
    struct nt_key *from = NULL, *key;
    NTSTATUS status = STATUS_SUCCESS;

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    *out_handle = NULL;
    if (attributes->Length != sizeof *attributes || !name)
        return STATUS_INVALID_PARAMETER;
    if (attributes->RootDirectory)
        status = nt_key_of_handle(nt, attributes->RootDirectory, &from);
    else if (!name->Length || name->Buffer[0] != '\\')
        status = STATUS_OBJECT_PATH_SYNTAX_BAD;
    if (NT_SUCCESS(status))
        status =
            nt_key_find(nt, from, name->Buffer, name->Length / sizeof(WCHAR), out_is_new, &key);
    return NT_SUCCESS(status) ? open_handle(nt, key, access, out_handle) : status;
}

NTSTATUS NTAPI ZwOpenKey(PHANDLE Handle, ACCESS_MASK Access, POBJECT_ATTRIBUTES Attributes)
{
    return open_key("ZwOpenKey", Handle, Access, Attributes, NULL);
}

NTSTATUS NTAPI ZwOpenKeyEx(PHANDLE Handle, ACCESS_MASK Access, POBJECT_ATTRIBUTES Attributes,
                           ULONG Options)
{
    return open_key("ZwOpenKeyEx", Handle, Access, Attributes, NULL);
}

NTSTATUS NTAPI ZwCreateKey(PHANDLE Handle, ACCESS_MASK Access, POBJECT_ATTRIBUTES Attributes,
                           ULONG TitleIndex, PUNICODE_STRING Class, ULONG Options,
                           PULONG Disposition)
{
    bool is_new;
    NTSTATUS status = open_key("ZwCreateKey", Handle, Access, Attributes, &is_new);

    if (NT_SUCCESS(status) && Disposition)
        *Disposition = is_new ? REG_CREATED_NEW_KEY : REG_OPENED_EXISTING_KEY;
    return status;
}

static NTSTATUS key_of(const char *service, HANDLE handle, struct nt_key **out_key)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    return nt_key_of_handle(nt, handle, out_key);
}

#define MAY_DELETE (DELETE | MAXIMUM_ALLOWED | GENERIC_ALL)

/* All handles of the key are good for ZwClose() only from then on. */
NTSTATUS NTAPI ZwDeleteKey(HANDLE Handle)
{
    struct nt *nt = nt_current();
    struct nt_object *object = nt_handle_find(nt, Handle, NULL);
    struct nt_key *key;
    NTSTATUS status = key_of(__func__, Handle, &key);

    if (!NT_SUCCESS(status))
        return status;
    if (!(container_of(object, struct open_key, object)->access & MAY_DELETE))
        return STATUS_ACCESS_DENIED;
    if (!list_is_empty(&key->keys) || key == tree_of(nt)->root)
        return STATUS_CANNOT_DELETE;
    list_for_each (object, &nt->objects, struct nt_object, link) {
        struct open_key *open = container_of(object, struct open_key, object);

        if (object->type == &key_type && open->key == key)
            open->key = NULL;
    }
    destroy_key(nt, key);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI ZwFlushKey(HANDLE Handle)
{
    struct nt_key *key;

    return key_of(__func__, Handle, &key);
}

/* The device's key, or that of its driver's installation. There is one device. */
NTSTATUS NTAPI IoOpenDeviceRegistryKey(PDEVICE_OBJECT Device, ULONG Kind, ACCESS_MASK Access,
                                       PHANDLE Handle)
{
    struct nt *nt = nt_current();
    struct nt_key *key;
    NTSTATUS status;

    nt_require_irql(nt, "IoOpenDeviceRegistryKey", PASSIVE_LEVEL);
    *Handle = NULL;
    if ((Kind & 3) != PLUGPLAY_REGKEY_DEVICE && (Kind & 3) != PLUGPLAY_REGKEY_DRIVER)
        return STATUS_INVALID_PARAMETER;
    status = nt_key_find_text(
        nt, (Kind & 3) == PLUGPLAY_REGKEY_DEVICE ? NT_REGISTRY_DEVICE : NT_REGISTRY_DRIVER, NULL,
        &key);
    return NT_SUCCESS(status) ? open_handle(nt, key, Access, Handle) : status;
}

UNICODE_STRING nt_device_registry_path(void)
{
    static const char text[] = NT_REGISTRY_DRIVER;
    static WCHAR path[sizeof text];

    for (size_t i = 0; i < sizeof text; i++)
        path[i] = (WCHAR)text[i];
    return (UNICODE_STRING){sizeof path - sizeof path[0], sizeof path, path};
}

/* ---- Values ---------------------------------------------------------------------------------- */

static size_t characters_of(PCUNICODE_STRING name)
{
    return name ? name->Length / sizeof(WCHAR) : 0;
}

NTSTATUS NTAPI ZwSetValueKey(HANDLE Handle, PUNICODE_STRING Name, ULONG TitleIndex, ULONG Type,
                             PVOID Data, ULONG Bytes)
{
    struct nt *nt = nt_current();
    struct nt_key *key;
    NTSTATUS status = key_of(__func__, Handle, &key);

    if (!NT_SUCCESS(status))
        return status;
    return nt_value_set(nt, key, Name ? Name->Buffer : NULL, characters_of(Name), Type, Data,
                        Bytes);
}

NTSTATUS NTAPI ZwDeleteValueKey(HANDLE Handle, PUNICODE_STRING Name)
{
    struct nt *nt = nt_current();
    struct nt_key *key;
    struct nt_value *value;
    NTSTATUS status = key_of(__func__, Handle, &key);

    if (!NT_SUCCESS(status))
        return status;
    value = nt_value_find(key, Name->Buffer, characters_of(Name));
    if (!value)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    nt_value_delete(nt, value);
    return STATUS_SUCCESS;
}

/*
 * The answer to a query: a head of fixed size, then up to two parts. A buffer without room for the
 * head takes nothing; one without room for the rest takes as much of it as fits.
 */
struct answer {
    UCHAR *out;
    ULONG room, needed;
};

static void put(struct answer *answer, const void *from, ULONG bytes)
{
    if (answer->needed < answer->room)
        memcpy(answer->out + answer->needed, from, min_u64(bytes, answer->room - answer->needed));
    answer->needed += bytes;
}

static NTSTATUS end_answer(const struct answer *answer, ULONG head, PULONG out_needed)
{
    *out_needed = answer->needed;
    if (answer->room < head)
        return STATUS_BUFFER_TOO_SMALL;
    return answer->room < answer->needed ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS tell_value(const struct nt_value *value, KEY_VALUE_INFORMATION_CLASS class,
                           PVOID out, ULONG room, PULONG out_needed)
{
    struct answer answer = {out, room, 0};
    const ULONG title = 0, name_bytes = value->name.Length;
    /* Data lies behind the name, at a multiple of 4. */
    const ULONG offset = (ULONG)align_up(20 + name_bytes, 4);
    static const UCHAR padding[4];

    *out_needed = 0;
    if (class > KeyValuePartialInformation)
        return STATUS_INVALID_PARAMETER;
    put(&answer, &title, 4);
    put(&answer, &value->type, 4);
    if (class == KeyValueFullInformation)
        put(&answer, &offset, 4);
    if (class != KeyValueBasicInformation)
        put(&answer, &value->bytes, 4);
    if (class != KeyValuePartialInformation) {
        put(&answer, &name_bytes, 4);
        put(&answer, value->name.Buffer, name_bytes);
    }
    if (class == KeyValueFullInformation)
        put(&answer, padding, offset - answer.needed);
    if (class != KeyValueBasicInformation)
        put(&answer, value->data, value->bytes);
    return end_answer(&answer, class == KeyValueFullInformation ? 20 : 12, out_needed);
}

NTSTATUS NTAPI ZwQueryValueKey(HANDLE Handle, PUNICODE_STRING Name,
                               KEY_VALUE_INFORMATION_CLASS Class, PVOID Out, ULONG Room,
                               PULONG Needed)
{
    struct nt_key *key;
    const struct nt_value *value;
    NTSTATUS status = key_of(__func__, Handle, &key);

    if (!NT_SUCCESS(status))
        return status;
    value = nt_value_find(key, Name->Buffer, characters_of(Name));
    if (value)
        return tell_value(value, Class, Out, Room, Needed);
    nt_value_lacks(nt_current(), key, Name ? Name->Buffer : NULL, characters_of(Name));
    return STATUS_OBJECT_NAME_NOT_FOUND;
}

NTSTATUS NTAPI ZwEnumerateValueKey(HANDLE Handle, ULONG Index, KEY_VALUE_INFORMATION_CLASS Class,
                                   PVOID Out, ULONG Room, PULONG Needed)
{
    struct nt_key *key;
    const struct nt_value *value;
    NTSTATUS status = key_of(__func__, Handle, &key);

    if (!NT_SUCCESS(status))
        return status;
    list_for_each (value, &key->values, struct nt_value, link) {
        if (Index-- == 0)
            return tell_value(value, Class, Out, Room, Needed);
    }
    return STATUS_NO_MORE_ENTRIES;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* The time of the last write is 0: runs are alike. */
static NTSTATUS tell_key(struct nt_key *key, KEY_INFORMATION_CLASS class, PVOID out, ULONG room,
                         PULONG out_needed)
{
    struct answer answer = {out, room, 0};
    KEY_FULL_INFORMATION full = {.ClassOffset = 0xffffffff};
    KEY_BASIC_INFORMATION basic = {.NameLength = key->name.Length};
    const struct nt_key *child;
    const struct nt_value *value;
    ULONG head;

    *out_needed = 0;
    switch (class) {
    case KeyBasicInformation:
        head = offsetof(KEY_BASIC_INFORMATION, Name);
        put(&answer, &basic, head);
        put(&answer, key->name.Buffer, key->name.Length);
        return end_answer(&answer, head, out_needed);
    case KeyFullInformation:
        list_for_each (child, &key->keys, struct nt_key, link) {
            full.SubKeys++;
            full.MaxNameLen = (ULONG)max_u64(full.MaxNameLen, child->name.Length);
        }
        list_for_each (value, &key->values, struct nt_value, link) {
            full.Values++;
            full.MaxValueNameLen = (ULONG)max_u64(full.MaxValueNameLen, value->name.Length);
            full.MaxValueDataLen = (ULONG)max_u64(full.MaxValueDataLen, value->bytes);
        }
        head = offsetof(KEY_FULL_INFORMATION, Class);
        put(&answer, &full, head);
        return end_answer(&answer, head, out_needed);
    default:
        nt_report_missing(nt_current(), "ZwQueryKey for a class other than basic and full");
        return STATUS_NOT_IMPLEMENTED;
    }
}

NTSTATUS NTAPI ZwQueryKey(HANDLE Handle, KEY_INFORMATION_CLASS Class, PVOID Out, ULONG Room,
                          PULONG Needed)
{
    struct nt_key *key;
    NTSTATUS status = key_of(__func__, Handle, &key);

    return NT_SUCCESS(status) ? tell_key(key, Class, Out, Room, Needed) : status;
}

NTSTATUS NTAPI ZwEnumerateKey(HANDLE Handle, ULONG Index, KEY_INFORMATION_CLASS Class, PVOID Out,
                              ULONG Room, PULONG Needed)
{
    struct nt_key *key, *child;
    NTSTATUS status = key_of(__func__, Handle, &key);

    if (!NT_SUCCESS(status))
        return status;
    list_for_each (child, &key->keys, struct nt_key, link) {
        if (Index-- == 0)
            return tell_key(child, Class, Out, Room, Needed);
    }
    return STATUS_NO_MORE_ENTRIES;
}

static const struct nt_export services[] = {
    NT_SERVICE(ZwOpenKey),
    NT_SERVICE(ZwOpenKeyEx),
    NT_SERVICE(ZwCreateKey),
    NT_SERVICE(ZwDeleteKey),
    NT_SERVICE(ZwFlushKey),
    NT_SERVICE(ZwSetValueKey),
    NT_SERVICE(ZwDeleteValueKey),
    NT_SERVICE(ZwQueryValueKey),
    NT_SERVICE(ZwEnumerateValueKey),
    NT_SERVICE(ZwQueryKey),
    NT_SERVICE(ZwEnumerateKey),
    NT_SERVICE(IoOpenDeviceRegistryKey),
    {0},
};

const struct nt_area nt_registry_area = {
    .exports = services,
    .state_bytes = sizeof(struct tree),
    .fini = fini,
};
