#include "layers/transcript/record_private.h"

#include "base/bits.h"
#include "layers/layer.h"
#include "miniport/loans.h"
#include "nt/threads/scheduler.h"

#include <string.h>
#include <sys/mman.h>

struct record_layer {
    struct layer layer;
    struct recorder *recorder;
};

/* ---- Items ----------------------------------------------------------------------------------- */

void record_put(struct recorder *recorder, enum transcript_kind kind, const void *structure,
                size_t bytes, const void *tail, size_t tail_bytes)
{
    const struct nt_moment moment = nt_get_moment(recorder->nt);

    if (!recorder->is_over)
        transcript_put(&recorder->writer, kind, &moment, structure, bytes, tail, tail_bytes);
}

void record_give_up(struct recorder *recorder, const char *why)
{
    record_put(recorder, TRANSCRIPT_UNFOLLOWED, NULL, 0, why, strlen(why));
    recorder->is_over = true;
    written_stop(&recorder->written);
}

static void put_memory(void *context, bool is_local, uint64_t page, uint32_t offset,
                       const uint8_t *bytes, uint32_t count)
{
    const struct transcript_memory memory = {is_local, offset, page};

    record_put(context, TRANSCRIPT_MEMORY, &memory, sizeof memory, bytes, count);
}

/* A service may clear pages that the driver has taken and not mapped. */
static void put_fresh(struct recorder *recorder)
{
    static const uint8_t zeros[PAGE_BYTES];
    const struct page_store *ram = machine_ram(recorder->machine);

    for (uint64_t i = 0; i < recorder->fresh.count; i++) {
        const uint64_t page = recorder->fresh.first + i;

        if (page_store_kind(ram, page) == PAGE_ZERO)
            put_memory(recorder, false, page, 0, zeros, PAGE_BYTES);
    }
    recorder->fresh.count = 0;
}

/* The driver stops running: what it has written so far comes in front of what it does. */
void record_stop_running(struct recorder *recorder)
{
    if (!recorder->is_over && !written_end(&recorder->written, put_memory, recorder))
        record_give_up(recorder, "there is no memory to follow what it writes");
    put_fresh(recorder);
    recorder->is_running = false;
}

void record_go_on_running(struct recorder *recorder)
{
    if (!recorder->is_over)
        written_begin(&recorder->written);
    recorder->is_running = true;
}

/* ---- What it does to the machine ------------------------------------------------------------- */

static bool put_access(struct recorder *recorder, const struct machine_deed *deed)
{
    const bool is_write = deed->kind == MACHINE_DEED_WRITE;
    const struct transcript_register access = {is_write, deed->size, deed->offset, deed->value};

    if (is_write)
        record_stop_running(recorder);
    record_put(recorder, TRANSCRIPT_REGISTER, &access, sizeof access, NULL, 0);
    recorder->is_running = false;
    return true;
}

static bool put_stall(struct recorder *recorder, uint64_t until_ns)
{
    const struct transcript_pages stall = {.first = until_ns - machine_now(recorder->machine)};

    record_stop_running(recorder);
    if (stall.first > TRANSCRIPT_MOST_NS)
        record_give_up(recorder, "it lets more than 100 seconds pass at once");
    record_put(recorder, TRANSCRIPT_STALL, &stall, sizeof stall, NULL, 0);
    return true;
}

static void put_pages(struct recorder *recorder, enum transcript_kind kind,
                      const struct machine_deed *deed)
{
    const struct transcript_pages pages = {deed->count, deed->size, deed->value};

    if (kind == TRANSCRIPT_TAKE_RANGE)
        recorder->fresh = pages;
    record_put(recorder, kind, &pages, sizeof pages, deed->pfns,
               deed->pfns ? deed->count * sizeof *deed->pfns : 0);
}

static void put_content(struct recorder *recorder, const struct machine_deed *deed)
{
    uint8_t bytes[PAGE_BYTES];

    for (uint64_t i = 0; i < deed->count; i++) {
        page_store_read(machine_ram(recorder->machine), deed->pfns[i] * PAGE_BYTES, bytes,
                        sizeof bytes);
        put_memory(recorder, false, deed->pfns[i], 0, bytes, PAGE_BYTES);
    }
}

/* ---- What it does at a time of its own ------------------------------------------------------- */

/* The event's place among those that the driver has set; own_count: it is none. */
static unsigned find_own(const struct recorder *recorder, const struct machine_event *event)
{
    unsigned at = 0;

    while (at < recorder->own_count && recorder->own[at].event != event)
        at++;
    return at;
}

static void put_event(struct recorder *recorder, enum transcript_kind kind, unsigned own,
                      uint64_t time_ns)
{
    const struct transcript_event event = {recorder->own[own].number, time_ns};

    record_put(recorder, kind, &event, sizeof event, NULL, 0);
}

static void put_schedule(struct recorder *recorder, const struct machine_deed *deed)
{
    if (nt_is_drain(deed->fn))
        return;
    if (recorder->own_count == OWN_MOST) {
        record_give_up(recorder, "it sets too many timers, deferred calls and threads at once");
        return;
    }
    recorder->own[recorder->own_count] = (struct own){deed->event, ++recorder->own_number};
    put_event(recorder, TRANSCRIPT_SCHEDULE, recorder->own_count++, deed->value);
}

static void put_cancel(struct recorder *recorder, const struct machine_deed *deed)
{
    const unsigned own = find_own(recorder, deed->event);

    if (own == recorder->own_count)
        return;
    if (!recorder->is_running)
        record_give_up(recorder, "an event of its own is cancelled outside of its code");
    put_event(recorder, TRANSCRIPT_CANCEL, own, 0);
    recorder->own[own] = recorder->own[--recorder->own_count];
}

/* The driver runs from here to the event's end. */
static bool begin_event(struct recorder *recorder, const struct machine_deed *deed)
{
    const unsigned own = find_own(recorder, deed->event);

    if (own == recorder->own_count)
        return false;
    put_event(recorder, TRANSCRIPT_EVENT, own, 0);
    recorder->own[own] = recorder->own[--recorder->own_count];
    record_go_on_running(recorder);
    return true;
}

static void end_event(struct recorder *recorder)
{
    const struct transcript_end back = {0};

    record_stop_running(recorder);
    record_put(recorder, TRANSCRIPT_END, &back, sizeof back, NULL, 0);
}

static void note_entry(void *context)
{
    struct recorder *recorder = context;

    if (!recorder->is_running)
        record_give_up(recorder, "its code runs outside of its calls and of what it has set");
}

static void put_configure(struct recorder *recorder, const struct machine_deed *deed)
{
    const struct transcript_configure configure = {deed->offset};

    record_stop_running(recorder);
    record_put(recorder, TRANSCRIPT_CONFIGURE, &configure, sizeof configure, deed->bytes,
               deed->count);
}

/* ---- Deeds ----------------------------------------------------------------------------------- */

static bool before_deed(void *context, const struct machine_deed *deed)
{
    struct recorder *recorder = context;

    if (recorder->is_over)
        return false;
    if (deed->kind == MACHINE_DEED_RUN)
        return begin_event(recorder, deed);
    if (deed->kind == MACHINE_DEED_CANCEL)
        put_cancel(recorder, deed);
    if (!recorder->is_running)
        return false;
    switch (deed->kind) {
    case MACHINE_DEED_READ:
    case MACHINE_DEED_WRITE:
        return put_access(recorder, deed);
    case MACHINE_DEED_UNTIL:
        return put_stall(recorder, deed->value);
    case MACHINE_DEED_SCHEDULE:
        put_schedule(recorder, deed);
        return false;
    case MACHINE_DEED_CANCEL:
    case MACHINE_DEED_RUN:
        return false;
    case MACHINE_DEED_NEXT:
        record_stop_running(recorder);
        record_put(recorder, TRANSCRIPT_NEXT, NULL, 0, NULL, 0);
        return true;
    case MACHINE_DEED_CONFIGURE:
        put_configure(recorder, deed);
        return true;
    case MACHINE_DEED_TAKE:
    case MACHINE_DEED_TAKE_RANGE:
    case MACHINE_DEED_FILL:
        return true;
    case MACHINE_DEED_GIVE:
        record_stop_running(recorder);
        put_pages(recorder, TRANSCRIPT_GIVE, deed);
        return true;
    case MACHINE_DEED_GIVE_RANGE:
        record_stop_running(recorder);
        put_pages(recorder, TRANSCRIPT_GIVE_RANGE, deed);
        return true;
    }
    return false;
}

static void after_deed(void *context, const struct machine_deed *deed)
{
    struct recorder *recorder = context;

    if (deed->kind == MACHINE_DEED_FILL)
        put_content(recorder, deed);
    else if (deed->kind == MACHINE_DEED_TAKE)
        put_pages(recorder, TRANSCRIPT_TAKE, deed);
    else if (deed->kind == MACHINE_DEED_TAKE_RANGE)
        put_pages(recorder, TRANSCRIPT_TAKE_RANGE, deed);
    else if (deed->kind == MACHINE_DEED_READ)
        recorder->is_running = true;
    else if (deed->kind == MACHINE_DEED_RUN)
        end_event(recorder);
    else
        record_go_on_running(recorder);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

#define PIECES_MOST 128u
#define GIVEN_MOST  64u
#define NEAR_BYTES  512u /* compared at once, where mostly nothing has changed */
#define COPY_BYTES  (16u << 20)

struct call {
    struct recorder *recorder;
    enum miniport_ddi ddi;
    struct loan_piece pieces[PIECES_MOST];
    unsigned count;
    size_t copied_before;
    uint8_t *before; /* what may be changed, in the order of the pieces; NULL: there is none */
};

/*
 * Of structures, and of large pieces that the driver may read, the changes are written down; all
 * else whole: what such a piece held before may differ from run to run.
 */
static bool is_compared(const struct loan_piece *piece)
{
    const struct loan_member *member = piece->member;

    return !member ||
           (member->direction != LOAN_OUT &&
            (member->kind == LOAN_ARRAY || member->element || piece->bytes > PAGE_BYTES));
}

static void copy_pieces(struct call *call)
{
    size_t at = 0;

    for (unsigned i = 0; i < call->count; i++)
        at += is_compared(&call->pieces[i]) ? call->pieces[i].bytes : 0;
    if (at > COPY_BYTES - call->recorder->copied) {
        record_give_up(call->recorder, "it is lent too much memory at once");
        return;
    }
    call->before = call->recorder->copies + call->recorder->copied;
    call->recorder->copied += at;
    at = 0;
    for (unsigned i = 0; i < call->count; i++) {
        if (!is_compared(&call->pieces[i]))
            continue;
        memcpy(call->before + at, call->pieces[i].memory, call->pieces[i].bytes);
        at += call->pieces[i].bytes;
    }
}

static struct recorder *recorder_of(struct miniport *self)
{
    return ((struct record_layer *)self)->recorder;
}

/* bytes 0: the function has no argument structure. */
static void begin(struct recorder *recorder, struct call *call, enum miniport_ddi ddi,
                  const void *argument, size_t bytes)
{
    const struct transcript_call head = {.ddi = ddi};

    call->recorder = recorder;
    call->ddi = ddi;
    call->count = 0;
    call->before = NULL;
    call->copied_before = recorder->copied;
    record_put(recorder, TRANSCRIPT_CALL, &head, sizeof head, argument, bytes);
    if (bytes && !recorder->is_over) {
        call->count =
            loans_collect(ddi, (void *)(uintptr_t)argument, bytes, call->pieces, PIECES_MOST);
        if (call->count > PIECES_MOST) {
            record_give_up(recorder, "it is lent too many pieces of memory at once");
            call->count = 0;
        }
        copy_pieces(call);
    }
    record_go_on_running(recorder);
}

static void put_patch(struct recorder *recorder, unsigned piece, size_t offset,
                      const uint8_t *bytes, size_t count)
{
    const struct transcript_patch patch = {.piece = piece, .offset = offset};

    if (count)
        record_put(recorder, TRANSCRIPT_PATCH, &patch, sizeof patch, bytes, count);
}

/* The last word may be a shorter one. */
static bool is_same_word(const uint8_t *now, const uint8_t *was, size_t at, size_t bytes)
{
    uint64_t a, b;

    if (bytes - at < sizeof a)
        return memcmp(now + at, was + at, bytes - at) == 0;
    memcpy(&a, now + at, sizeof a);
    memcpy(&b, was + at, sizeof b);
    return a == b;
}

/* By words: where a handle was before, the other run had another one. */
static void put_changes(struct recorder *recorder, unsigned piece, const uint8_t *now,
                        const uint8_t *was, size_t bytes)
{
    size_t from = 0;

    while (from < bytes) {
        const size_t near = min_u64(NEAR_BYTES, bytes - from);
        size_t end = from;

        if (memcmp(now + from, was + from, near) == 0) {
            from += near;
            continue;
        }
        while (end < bytes && !is_same_word(now, was, end, bytes))
            end += min_u64(sizeof(uint64_t), bytes - end);
        put_patch(recorder, piece, from, now + from, end - from);
        from = end + sizeof(uint64_t);
    }
}

/* By how much the driver has moved the pointer to a piece. */
static int64_t put_move(struct recorder *recorder, unsigned number, const struct loan_piece *piece)
{
    struct transcript_move move = {.piece = number};
    char *now;

    if (!piece->cell || !piece->member->moves)
        return 0;
    memcpy(&now, piece->cell, sizeof now);
    move.distance = now - (char *)piece->memory;
    if (move.distance)
        record_put(recorder, TRANSCRIPT_MOVE, &move, sizeof move, NULL, 0);
    return move.distance;
}

static void put_answer(struct call *call)
{
    const uint8_t *was = call->before;

    for (unsigned i = 0; i < call->count; i++) {
        const struct loan_piece *piece = &call->pieces[i];
        const int64_t moved = put_move(call->recorder, i, piece);
        size_t bytes = piece->bytes;

        if (is_compared(piece)) {
            put_changes(call->recorder, i, piece->memory, was, bytes);
            was += bytes;
            continue;
        }
        if (piece->member->moves && piece->member->direction == LOAN_OUT)
            bytes = moved > 0 ? min_u64((uint64_t)moved, bytes) : 0;
        put_patch(call->recorder, i, 0, piece->memory, bytes);
    }
}

/* Where a pointer of an answer lies. False: in none of the pieces. */
static bool find_cell(const struct call *call, const void *cell, struct transcript_patch *out)
{
    for (unsigned i = 0; i < call->count; i++) {
        const uintptr_t offset = (uintptr_t)cell - (uintptr_t)call->pieces[i].memory;

        if (call->pieces[i].bytes >= sizeof(void *) &&
            offset <= call->pieces[i].bytes - sizeof(void *)) {
            *out = (struct transcript_patch){.piece = i, .offset = offset};
            return true;
        }
    }
    return false;
}

static void put_given(struct call *call)
{
    struct loan_piece given[GIVEN_MOST];
    const unsigned count =
        loans_collect_given(call->ddi, call->pieces[0].memory, call->before, given, GIVEN_MOST);
    struct transcript_patch at;

    if (count > GIVEN_MOST)
        record_give_up(call->recorder, "it gives too many pieces of its own memory at once");
    for (unsigned i = 0; i < count && i < GIVEN_MOST; i++) {
        if (find_cell(call, given[i].cell, &at))
            record_put(call->recorder, TRANSCRIPT_GIVEN, &at, sizeof at, given[i].memory,
                       given[i].bytes);
    }
}

static void end(struct call *call, struct miniport *driver, uint64_t value)
{
    struct recorder *recorder = call->recorder;
    const struct transcript_return back = {.value = value,
                                           .version = miniport_interface_version(driver)};

    record_stop_running(recorder);
    if (!recorder->is_over && call->before) {
        put_answer(call);
        if (NT_SUCCESS((NTSTATUS)value))
            put_given(call);
    }
    record_put(recorder, TRANSCRIPT_RETURN, &back, sizeof back, NULL, 0);
    recorder->copied = call->copied_before;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS record_##function(struct miniport *self, HANDLE object, argument arg)          \
    {                                                                                              \
        struct call call;                                                                          \
        NTSTATUS status;                                                                           \
                                                                                                   \
        begin(recorder_of(self), &call, MINIPORT_DDI_##ddi, arg, sizeof *arg);                     \
        status = miniport_##function(self->next, object, arg);                                     \
        end(&call, self->next, (uint32_t)status);                                                  \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X

/* The functions without an argument structure. */
#define RECORD_PLAIN(function, ddi, parameters, arguments)                                         \
    static NTSTATUS record_##function parameters                                                   \
    {                                                                                              \
        struct call call;                                                                          \
        NTSTATUS status;                                                                           \
                                                                                                   \
        begin(recorder_of(self), &call, MINIPORT_DDI_##ddi, NULL, 0);                              \
        status = self->next->ops->function arguments;                                              \
        end(&call, self->next, (uint32_t)status);                                                  \
        return status;                                                                             \
    }
#define X(function, ddi)                                                                           \
    RECORD_PLAIN(function, ddi, (struct miniport * self, HANDLE object), (self->next, object))
MINIPORT_PLAIN_LIST(X)
#undef X
RECORD_PLAIN(add_device, AddDevice, (struct miniport * self), (self->next))
RECORD_PLAIN(stop_device, StopDevice, (struct miniport * self), (self->next))
RECORD_PLAIN(remove_device, RemoveDevice, (struct miniport * self), (self->next))
RECORD_PLAIN(set_power_state, SetPowerState,
             (struct miniport * self, ULONG uid, DEVICE_POWER_STATE state, POWER_ACTION action),
             (self->next, uid, state, action))
RECORD_PLAIN(notify_surprise_removal, NotifySurpriseRemoval,
             (struct miniport * self, DXGK_SURPRISE_REMOVAL_TYPE type), (self->next, type))

static NTSTATUS record_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                    ULONG *video_present_sources, ULONG *children)
{
    struct loan_start_device lent = {(DXGK_START_INFO *)(uintptr_t)start, video_present_sources,
                                     children};
    struct call call;
    NTSTATUS status;

    begin(recorder_of(self), &call, MINIPORT_DDI_StartDevice, &lent, sizeof lent);
    status = miniport_start_device(self->next, start, video_present_sources, children);
    end(&call, self->next, (uint32_t)status);
    return status;
}

static SIZE_T record_get_root_page_table_size(struct miniport *self,
                                              DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    struct call call;
    SIZE_T size;

    begin(recorder_of(self), &call, MINIPORT_DDI_GetRootPageTableSize, arg, sizeof *arg);
    size = miniport_get_root_page_table_size(self->next, arg);
    end(&call, self->next, size);
    return size;
}

static bool record_interrupt(struct miniport *self, ULONG message)
{
    struct call call;
    bool is_ours;

    begin(recorder_of(self), &call, MINIPORT_DDI_InterruptRoutine, NULL, 0);
    is_ours = miniport_interrupt(self->next, message);
    end(&call, self->next, is_ours);
    return is_ours;
}

static void record_dpc(struct miniport *self)
{
    struct call call;

    begin(recorder_of(self), &call, MINIPORT_DDI_DpcRoutine, NULL, 0);
    miniport_dpc(self->next);
    end(&call, self->next, 0);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void record_set_host(struct miniport *self, struct miniport_host *host)
{
    struct recorder *recorder = recorder_of(self);

    recorder->up.upper = host;
    miniport_set_host(self->next, &recorder->up.host);
}

NTSTATUS record_layer_create(struct recorder *recorder, struct miniport *next,
                             struct miniport **out_layer)
{
    struct record_layer *record = layer_create(recorder->services, sizeof *record, "record", next);

    *out_layer = record ? &record->layer.miniport : NULL;
    if (!record)
        return STATUS_NO_MEMORY;
    record->recorder = recorder;
    record->layer.ops.set_host = record_set_host;
#define X(function, ddi, argument) record->layer.ops.function = record_##function;
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) record->layer.ops.function = record_##function;
    MINIPORT_PLAIN_LIST(X)
#undef X
    record->layer.ops.add_device = record_add_device;
    record->layer.ops.start_device = record_start_device;
    record->layer.ops.stop_device = record_stop_device;
    record->layer.ops.remove_device = record_remove_device;
    record->layer.ops.set_power_state = record_set_power_state;
    record->layer.ops.notify_surprise_removal = record_notify_surprise_removal;
    record->layer.ops.interrupt = record_interrupt;
    record->layer.ops.dpc = record_dpc;
    record->layer.ops.get_root_page_table_size = record_get_root_page_table_size;
    return STATUS_SUCCESS;
}

NTSTATUS recorder_create(const struct base_services *services, struct machine *machine,
                         struct nt *nt, int file, struct recorder **out_recorder)
{
    struct recorder *recorder = base_alloc(services, sizeof *recorder);

    *out_recorder = NULL;
    if (!recorder)
        return STATUS_NO_MEMORY;
    if (!written_init(&recorder->written, machine)) {
        base_free(services, recorder, sizeof *recorder);
        return STATUS_NO_MEMORY;
    }
    recorder->copies = mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (recorder->copies == MAP_FAILED) {
        written_fini(&recorder->written);
        base_free(services, recorder, sizeof *recorder);
        return STATUS_NO_MEMORY;
    }
    recorder->services = services;
    recorder->machine = machine;
    recorder->nt = nt;
    recorder->up.host.ops = &record_host_ops;
    recorder->witness =
        (struct machine_witness){.context = recorder, .before = before_deed, .after = after_deed};
    transcript_begin(&recorder->writer, file);
    machine_set_witness(machine, &recorder->witness);
    nt_watch_entries(nt, note_entry, recorder);
    *out_recorder = recorder;
    return STATUS_SUCCESS;
}

void recorder_destroy(struct recorder *recorder)
{
    if (!recorder)
        return;
    machine_set_witness(recorder->machine, NULL);
    nt_watch_entries(recorder->nt, NULL, NULL);
    transcript_flush(&recorder->writer);
    written_fini(&recorder->written);
    munmap(recorder->copies, COPY_BYTES);
    base_free(recorder->services, recorder, sizeof *recorder);
}

void recorder_begin(struct recorder *recorder)
{
    if (recorder)
        record_go_on_running(recorder);
}

void recorder_end(struct recorder *recorder, struct miniport *driver)
{
    struct transcript_end back = {0};

    if (!recorder)
        return;
    record_stop_running(recorder);
    back.version = driver ? miniport_interface_version(driver) : 0;
    for (unsigned i = 0; driver && i < MINIPORT_DDI_COUNT; i++) {
        if (miniport_has(driver, (enum miniport_ddi)i))
            back.has[i / 64] |= UINT64_C(1) << (i % 64);
    }
    record_put(recorder, TRANSCRIPT_END, &back, sizeof back, NULL, 0);
    /* A driver of modes alone is started in another way, and asked other things (up_display). */
    if (driver && miniport_has(driver, MINIPORT_DDI_PresentDisplayOnly))
        record_give_up(recorder, "it negotiates modes");
}
