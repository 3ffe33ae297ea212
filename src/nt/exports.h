/*
 * Exports: the names under which a driver image finds the services of its kernel.
 *
 * Place      nt. Each area of services (area.h) lists its own; the host of an image asks by name.
 * Model      A row says which module of Windows exports it. A function is called through the
 *            boundary, from the image's stack to the bench's; one that is marked direct is not,
 *            because it is called a great deal and needs little (memcpy), or because it has a
 *            convention of its own (__chkstk). A variable is given by address: the image sees the
 *            bench's own.
 * Source     Public documentation of each function names its module ("NtosKrnl.exe", "Hal.dll").
 */
#ifndef DRYDOCK_NT_EXPORTS_H
#define DRYDOCK_NT_EXPORTS_H

#include <stddef.h>

enum nt_export_kind { NT_EXPORT_SERVICE, NT_EXPORT_DIRECT, NT_EXPORT_VARIABLE };

struct nt_export {
    const char *name;
    const void *address;
    enum nt_export_kind kind;
    const char *module; /* NULL: ntoskrnl.exe */
};

#define NT_SERVICE(name)                                                                           \
    {                                                                                              \
#name, (const void *)(name), NT_EXPORT_SERVICE, NULL                                       \
    }
#define NT_SERVICE_OF(module, name)                                                                \
    {                                                                                              \
#name, (const void *)(name), NT_EXPORT_SERVICE, module                                     \
    }
#define NT_DIRECT(name, function)                                                                  \
    {                                                                                              \
        name, (const void *)(function), NT_EXPORT_DIRECT, NULL                                     \
    }
#define NT_VARIABLE(name)                                                                          \
    {                                                                                              \
#name, &(name), NT_EXPORT_VARIABLE, NULL                                                   \
    }

/*
 * By name, whatever module the image asks it of: hal.dll's services are ntoskrnl.exe's since long.
 * NULL: there is none.
 */
const struct nt_export *nt_find_export(const char *name);

/* All of them, by number from 0; NULL behind the last. */
const struct nt_export *nt_export_at(size_t index);

#endif
