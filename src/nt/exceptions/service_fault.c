#define _GNU_SOURCE /* process_vm_readv() */
#include "nt/exceptions/service_fault.h"

#include "nt/nt_private.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_PARAMETERS BOUNDARY_ARGUMENTS
#define STRUCTURE_BYTES (64 * KiB) /* how far behind its argument a service may be */
#define BUFFER_BYTES    (2 * GiB)  /* the same when another argument says so */
#define NEAR_BYTES      (4 * KiB)  /* and behind a pointer inside of its structure */
#define WORDS_LOOKED_AT 64

/* ---- Names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *parameters;
} parameter_table[] = {
#define SERVICE_ROW(name, parameters) {name, parameters},
#define CALLBACK_ROW(name, parameters)
#include "service_parameters.inc"
#undef SERVICE_ROW
#undef CALLBACK_ROW
};

/* Of several names of one function the first is told. */
static const char *name_of(const struct nt *nt, const void *function, bool *out_is_callback,
                           const char **out_parameters)
{
    const struct nt_export *row;

    *out_parameters = NULL;
    *out_is_callback = false;
    for (size_t i = 0; i < nt->callback_count; i++) {
        if (nt->callbacks[i].function == function) {
            *out_is_callback = true;
            *out_parameters = nt->callbacks[i].parameters;
            return nt->callbacks[i].name;
        }
    }
    for (size_t i = 0; (row = nt_area_export_at(nt->areas, i)) != NULL; i++) {
        if (row->address != function)
            continue;
        for (size_t j = 0; j < ARRAY_COUNT(parameter_table); j++)
            if (strcmp(parameter_table[j].name, row->name) == 0)
                *out_parameters = parameter_table[j].parameters;
        return row->name;
    }
    return "a function of the bench";
}

/*
 * Services that look at their object with the dispatcher's lock held or interrupts off: there no
 * exception comes of a bad pointer, at any IRQL of the caller.
 */
static KIRQL irql_of(const char *name)
{
    static const char *const at_dispatch_level[] = {
        "KeSetEvent",       "KePulseEvent",       "KeResetEvent",     "KeWaitFor",
        "KeReleaseMutex",   "KeReleaseSemaphore", "KeSetTimer",       "KeSetCoalescable",
        "KeCancelTimer",    "KeInsertQueueDpc",   "KeRemoveQueueDpc", "KeAcquireSpinLock",
        "KeAcquireInStack", "KeReleaseSpinLock",  "KeReleaseInStack", "KeTryToAcquireSpinLock"};

    for (size_t i = 0; i < ARRAY_COUNT(at_dispatch_level); i++)
        if (strncmp(name, at_dispatch_level[i], strlen(at_dispatch_level[i])) == 0)
            return DISPATCH_LEVEL;
    return PASSIVE_LEVEL;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

struct parameter {
    char name[48];
    bool is_pointer;
    uint64_t value;
};

static unsigned read_parameters(const struct boundary_call *call, const char *names,
                                struct parameter out[MOST_PARAMETERS])
{
    unsigned count = 0;

    if (!names) { /* nobody knows: those in registers */
        for (; count < BOUNDARY_REGISTERS; count++) {
            snprintf(out[count].name, sizeof out[count].name, "argument %u", count + 1);
            out[count].is_pointer = true;
            out[count].value = boundary_argument(call, count);
        }
        return count;
    }
    while (*names && count < MOST_PARAMETERS) {
        size_t length = strcspn(names, ",");
        bool is_pointer = *names == '*';

        snprintf(out[count].name, sizeof out[count].name, "%.*s", (int)(length - is_pointer),
                 names + is_pointer);
        out[count].is_pointer = is_pointer;
        out[count].value = boundary_argument(call, count);
        count++;
        names += length + (names[length] == ',');
    }
    return count;
}

static bool is_canonical(uint64_t address)
{
    uint64_t top = address >> 47;

    return top == 0 || top == 0x1ffff;
}

/* Whether the pointer led to the address, which may be one that the processor does not tell. */
static bool leads_to(uint64_t pointer, uint64_t address, uint64_t reach)
{
    if (address == UINT64_MAX)
        return !is_canonical(pointer);
    return pointer <= address && address - pointer < reach;
}

/* A number may say how much; a tag or a flag does not. */
static bool says_how_much(const struct parameter *parameter)
{
    static const char *const words[] = {"Length", "Size", "Bytes", "Count", "Number", "argument"};

    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (strstr(parameter->name, words[i]))
            return !parameter->is_pointer && parameter->value <= BUFFER_BYTES;
    return false;
}

/*
 * How much one of the other arguments may have asked for. An address in or beside a pool block is
 * the driver's.
 */
static uint64_t reach_of(const struct nt *nt, const struct parameter *parameters, unsigned count,
                         uint64_t address)
{
    uint64_t reach = STRUCTURE_BYTES;
    char block[128];

    if (nt_pool_explain(nt, (const void *)(uintptr_t)address, block, sizeof block))
        return BUFFER_BYTES;

    for (unsigned i = 0; i < count; i++)
        if (says_how_much(&parameters[i]))
            reach = max_u64(reach, parameters[i].value);
    return reach;
}

static size_t read_words(uint64_t address, uint64_t words[WORDS_LOOKED_AT])
{
    const size_t page = PAGE_BYTES, bytes = WORDS_LOOKED_AT * sizeof *words;
    size_t first = min_u64(bytes, page - address % page);
    struct iovec to = {words, bytes};
    struct iovec from[2] = {{(void *)(uintptr_t)address, first},
                            {(void *)(uintptr_t)(address + first), bytes - first}};
    ssize_t got = process_vm_readv(getpid(), &to, 1, from, 2, 0);

    return got > 0 ? (size_t)got / sizeof *words : 0;
}

/* The nearest one before the address is the likeliest. */
static const struct parameter *find_direct(const struct nt *nt, const struct parameter *parameters,
                                           unsigned count, uint64_t address)
{
    const struct parameter *found = NULL;
    uint64_t reach = reach_of(nt, parameters, count, address);

    for (unsigned i = 0; i < count; i++) {
        const struct parameter *one = &parameters[i];

        if (one->is_pointer && leads_to(one->value, address, reach) &&
            (!found || one->value > found->value))
            found = one;
    }
    return found;
}

/* The first pointer of a structure is the likeliest: on a stack other things lie behind. */
static const struct parameter *find_indirect(const struct parameter *parameters, unsigned count,
                                             uint64_t address, unsigned *out_byte,
                                             uint64_t *out_pointer)
{
    const struct parameter *found = NULL;
    size_t first = WORDS_LOOKED_AT;

    for (unsigned i = 0; i < count; i++) {
        uint64_t words[WORDS_LOOKED_AT];
        size_t read = parameters[i].is_pointer ? read_words(parameters[i].value, words) : 0;

        for (size_t j = 0; j < min_u64(read, first); j++) {
            if (!words[j] || !leads_to(words[j], address, NEAR_BYTES))
                continue; /* zeros are everywhere, and tell nothing */
            first = j;
            found = &parameters[i];
            *out_byte = (unsigned)(j * sizeof *words);
            *out_pointer = words[j];
        }
    }
    return found;
}

static void list_arguments(const struct parameter *parameters, unsigned count, char *text,
                           size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s 0x%" PRIx64, i ? ", " : "",
                                 parameters[i].name, parameters[i].value);
}

void service_fault_explain(const struct nt *nt, const struct boundary_call *call, uint64_t address,
                           struct service_fault *out)
{
    struct parameter parameters[MOST_PARAMETERS];
    const struct parameter *found;
    const char *names;
    unsigned count, byte = 0;
    uint64_t pointer = 0;

    *out = (struct service_fault){0};
    out->name = name_of(nt, call->function, &out->is_callback, &names);
    out->irql = irql_of(out->name);
    count = read_parameters(call, names, parameters);
    found = find_direct(nt, parameters, count, address);
    if (found) {
        snprintf(out->argument, sizeof out->argument, "its %s is 0x%" PRIx64 "%s", found->name,
                 found->value, is_canonical(found->value) ? "" : ", which is no address");
    } else {
        found = find_indirect(parameters, count, address, &byte, &pointer);
        if (found)
            snprintf(out->argument, sizeof out->argument,
                     "byte %u of its %s, at 0x%" PRIx64 ", holds 0x%" PRIx64 "%s", byte,
                     found->name, found->value, pointer,
                     is_canonical(pointer) ? "" : ", which is no address");
        else
            list_arguments(parameters, count, out->argument, sizeof out->argument);
    }
    out->is_explained = found != NULL;
}
