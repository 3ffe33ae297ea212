/*
 * What is noted in a signal handler goes into room that was taken before. Where it does not suffice
 * the first writes are kept, and the text says so by what it lacks: bytes without a line.
 */
#include "bench/run/run_writers.h"

#include "base/bits.h"
#include "bench/drivers/driver_place.h"
#include "machine/write_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WRITES   65536u
#define MOST_PLACES   512u
#define MOST_COMMANDS 4096u
#define MOST_BYTES    (1u << 20) /* of a call, whose writers are told */
#define MOST_ROWS     8u
#define CANARY_BYTES  256u /* around a guarded copy, of those that are looked at */

#define OPERATION_BITS 40u /* of a writer's number; above it its commands, from 1 */

/* A write of the driver. */
struct write {
    uint64_t event;
    const uint8_t *at;
    uint32_t bytes;
    uint16_t place;
    enum { OF_COMMANDS, OF_MEMORY, OF_LOANS } of; /* the paging buffer, the machine, what is lent */
    uint32_t offset;                              /* in the buffer, or in... */
    uint64_t page;                                /* ...this page of the machine... */
    bool is_local;                                /* ...which is in local memory */
};

struct run_writers {
    const struct run_watched *watched;
    const struct driver_image *image;
    struct page_store *local, *ram; /* whose mappings are watched; NULL: none */
    uint64_t event;                 /* of the call that is watched; 0: none is */
    unsigned depth;                 /* of the driver's code in it; 0: it does not run */
    struct check_lent lent;
    uint16_t place; /* of the write that is being made */
    uint32_t write_count, place_count, command_count;
    struct write writes[MOST_WRITES];
    char places[MOST_PLACES][DRIVER_PLACE_BYTES];
    struct finding_commands commands[MOST_COMMANDS];
};

struct run_writers *run_writers_create(const struct run_watched *watched)
{
    struct run_writers *writers = watched && watched->count ? calloc(1, sizeof *writers) : NULL;

    if (writers) {
        writers->watched = watched;
        driver_place_prepare();
    }
    return writers;
}

void run_writers_destroy(struct run_writers *writers)
{
    if (!writers)
        return;
    write_watch_end();
    free(writers);
}

static void ignore_touch(void *context, struct page_store *store, uint64_t page, uint8_t *address)
{
}

static void ignore_end(void *context, const uint8_t *address, uint64_t count)
{
}

void run_writers_set_machine(struct run_writers *writers, struct machine *machine)
{
    static const struct page_watch watch = {.touched = ignore_touch, .unmapped = ignore_end};

    if (!writers)
        return;
    writers->ram = machine_ram(machine);
    writers->local = machine_local(machine);
    page_store_set_watch(writers->ram, &watch);
    if (writers->local)
        page_store_set_watch(writers->local, &watch);
}

/* ---- Writes ---------------------------------------------------------------------------------- */

static bool is_watched(const struct run_writers *writers, uint64_t event)
{
    for (uint32_t i = 0; i < writers->watched->count; i++) {
        if (writers->watched->events[i] == event)
            return true;
    }
    return false;
}

static void note_place(void *context, const void *signal_context)
{
    struct run_writers *writers = context;
    char(*room)[DRIVER_PLACE_BYTES] = &writers->places[writers->place_count];

    if (writers->place_count == MOST_PLACES)
        room--;
    driver_place(writers->image, signal_context, *room, sizeof *room);
    if (!(*room)[0])
        snprintf(*room, sizeof *room, "code that is not the driver's");
    for (writers->place = 0; writers->place < writers->place_count; writers->place++) {
        if (strcmp(writers->places[writers->place], *room) == 0)
            return;
    }
    if (writers->place_count < MOST_PLACES)
        writers->place_count++;
    else
        writers->place = MOST_PLACES - 1;
}

static void note_write(void *context, const uint8_t *at, size_t bytes,
                       const struct page_store *store, uint64_t page)
{
    struct run_writers *writers = context;
    uintptr_t into = (uintptr_t)at - (uintptr_t)writers->lent.commands;
    struct write *write = &writers->writes[writers->write_count];

    if (writers->write_count == MOST_WRITES)
        return;
    writers->write_count++;
    *write = (struct write){.event = writers->event,
                            .at = at,
                            .bytes = (uint32_t)bytes,
                            .place = writers->place,
                            .of = OF_LOANS};
    if (store) {
        write->of = OF_MEMORY;
        write->offset = (uint32_t)((uintptr_t)at % PAGE_BYTES);
        write->page = page;
        write->is_local = store == writers->local;
    } else if (writers->lent.commands && into < writers->lent.command_bytes) {
        write->of = OF_COMMANDS;
        write->offset = (uint32_t)into;
    }
}

void run_writers_call(struct run_writers *writers, uint64_t event, const struct check_lent *lent)
{
    if (writers->depth)
        return; /* in the middle of one that is watched */
    writers->event = event && is_watched(writers, event) ? event : 0;
    if (writers->event)
        writers->lent = *lent;
}

/* The canaries around it, too. */
static size_t add_guarded(struct write_watch_piece *out, char *start, size_t bytes)
{
    if (!start || bytes > MOST_BYTES)
        return 0;
    *out = (struct write_watch_piece){(uint8_t *)start - CANARY_BYTES, bytes + 2 * CANARY_BYTES};
    return 1;
}

void run_writers_enter(struct run_writers *writers, const struct driver_image *image,
                       const struct write_watch_piece *pieces, size_t count)
{
    struct write_watch_piece all[WRITE_WATCH_PIECES];
    const struct check_lent *lent = &writers->lent;
    size_t used;

    if (!writers->event || writers->depth++)
        return;
    used = add_guarded(all, lent->commands, lent->command_bytes);
    used += add_guarded(&all[used], lent->private_data, lent->private_bytes);
    for (size_t i = 0; i < count && used < WRITE_WATCH_PIECES; i++)
        all[used++] = pieces[i];
    writers->image = image;
    write_watch_begin(&(struct write_watch){writers, all, used, note_place, note_write});
}

void run_writers_leave(struct run_writers *writers)
{
    if (!writers->depth || --writers->depth)
        return;
    write_watch_end();
}

/* ---- Commands that the GPU carries out ------------------------------------------------------- */

uint64_t run_writers_number(struct run_writers *writers, uint64_t operation,
                            const struct finding_commands *commands)
{
    const struct finding_commands *last;

    if (!writers || !operation || !is_watched(writers, commands->event))
        return operation;
    last = writers->command_count ? &writers->commands[writers->command_count - 1] : NULL;
    if (!last || last->event != commands->event || last->offset != commands->offset) {
        if (writers->command_count == MOST_COMMANDS)
            return operation;
        writers->commands[writers->command_count++] = *commands;
    }
    return operation | (uint64_t)writers->command_count << OPERATION_BITS;
}

uint64_t run_writers_operation(uint64_t number)
{
    return number & ((UINT64_C(1) << OPERATION_BITS) - 1);
}

void run_writers_narrow(const struct run_writers *writers, uint64_t number,
                        struct finding_commands *commands)
{
    uint64_t index = number >> OPERATION_BITS;

    if (writers && index && index <= writers->command_count)
        *commands = writers->commands[index - 1];
}

/* ---- The text -------------------------------------------------------------------------------- */

/* The bytes of the commands that one place wrote last. */
struct row {
    uint32_t place, first, end; /* the first of them */
    uint32_t pieces;
};

struct table {
    struct row rows[MOST_ROWS];
    uint32_t count;
};

static void enter(struct table *table, uint32_t place, uint32_t first, uint32_t end)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];

        if (row->place != place)
            continue;
        if (row->end == first && row->pieces == 1)
            row->end = end;
        else
            row->pieces++;
        return;
    }
    if (table->count < MOST_ROWS)
        table->rows[table->count++] = (struct row){place, first, end, 1};
}

static void write_rows(const struct run_writers *writers, const struct table *table,
                       const char *what, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", what);

    for (uint32_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        char line[DRIVER_PLACE_BYTES + 80];
        int length = snprintf(line, sizeof line, "\n0x%x to 0x%x%s  %s", row->first, row->end,
                              row->pieces > 1 ? " and more" : "", writers->places[row->place]);

        if (length < 0 || used + (size_t)length >= size)
            return; /* a line is whole, or is not there */
        memcpy(out + used, line, (size_t)length + 1);
        used += (size_t)length;
    }
}

/* Who wrote the commands; false: nobody is known. */
static bool tell_commands(const struct run_writers *writers,
                          const struct finding_commands *commands, char *out, size_t size)
{
    uint32_t start = commands->offset, end = commands->bytes ? start + commands->bytes : MOST_BYTES;
    uint32_t last = start, first = 0;
    struct table table = {.count = 0};
    uint16_t *owners; /* of each byte, from 1; 0: nobody */
    char what[96];

    end = (uint32_t)min_u64(end, MOST_BYTES);
    owners = start < end ? calloc(end - start, sizeof *owners) : NULL;
    if (!owners)
        return false;
    for (uint32_t i = 0; i < writers->write_count; i++) {
        const struct write *write = &writers->writes[i];

        if (write->event != commands->event || write->of != OF_COMMANDS)
            continue;
        for (uint32_t at = write->offset; at < write->offset + write->bytes && at < end; at++) {
            if (at < start)
                continue;
            owners[at - start] = (uint16_t)(write->place + 1);
            last = (uint32_t)max_u64(last, at + 1);
        }
    }
    for (uint32_t at = 0; at < last - start; at++) {
        bool ends = at + 1 == last - start || owners[at + 1] != owners[at];

        if (ends && owners[at])
            enter(&table, owners[at] - 1u, first + start, at + 1 + start);
        if (ends)
            first = at + 1;
    }
    free(owners);
    snprintf(what, sizeof what, "bytes 0x%x to 0x%x of what the call of event %" PRIu64 " wrote",
             start, commands->bytes ? end : last, commands->event);
    if (table.count)
        write_rows(writers, &table, what, out, size);
    return table.count != 0;
}

/* Who wrote to memory of the machine in the call. */
static bool tell_memory(const struct run_writers *writers, uint64_t event, char *out, size_t size)
{
    struct table table = {.count = 0};
    const struct write *first = NULL;
    char what[128];

    for (uint32_t i = 0; i < writers->write_count; i++) {
        const struct write *write = &writers->writes[i];

        if (write->event != event || write->of != OF_MEMORY)
            continue;
        first = first ? first : write;
        enter(&table, write->place, write->offset, write->offset + write->bytes);
    }
    if (!first)
        return false;
    snprintf(what, sizeof what,
             "written by the CPU in the call of event %" PRIu64 ", from page 0x%" PRIx64
             " of %s on",
             event, first->page, first->is_local ? "local memory" : "system memory");
    write_rows(writers, &table, what, out, size);
    return true;
}

void run_writers_tell_byte(const struct run_writers *writers, const void *byte,
                           struct finding_detail *detail)
{
    for (uint32_t i = writers ? writers->write_count : 0; i; i--) {
        const struct write *write = &writers->writes[i - 1];
        const uint8_t *at = byte;

        if (write->event != detail->commands.event || at < write->at ||
            at >= write->at + write->bytes)
            continue;
        snprintf(detail->writers, sizeof detail->writers,
                 "the byte was written in the call of event %" PRIu64 "\n%s", write->event,
                 writers->places[write->place]);
        return;
    }
}

/*
 * Where nobody knows which command it was: those that have written anything, if there are any. A
 * packet that only fills up the buffer is none of them.
 */
static struct finding_commands commands_of_call(const struct run_writers *writers, uint64_t event)
{
    struct finding_commands found = {.event = event};

    for (uint32_t i = 0; i < writers->command_count; i++) {
        const struct finding_commands *one = &writers->commands[i];
        uint32_t end = found.offset + found.bytes;

        if (one->event != event)
            continue;
        if (!found.bytes || one->offset < found.offset)
            found.offset = one->offset;
        found.bytes = (uint32_t)max_u64(end, one->offset + one->bytes) - found.offset;
    }
    return found;
}

void run_writers_tell(struct run_writers *writers, struct run_result *result)
{
    for (uint32_t i = 0; writers && i < result->finding_count; i++) {
        struct finding_detail *detail = &result->findings[i].detail;
        struct finding_commands commands = detail->commands;

        if (!commands.event || commands.is_beside)
            continue;
        if (!commands.bytes)
            commands = commands_of_call(writers, commands.event);
        if (!tell_commands(writers, &commands, detail->writers, sizeof detail->writers))
            tell_memory(writers, commands.event, detail->writers, sizeof detail->writers);
    }
}
