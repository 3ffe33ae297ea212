/*
 * One walk over the table of loans makes the copies, one over the copies takes them back.
 */
#include "layers/guard.h"

#include "base/bits.h"
#include "layers/guard_answers.h"
#include "layers/guard_breach.h"
#include "layers/guard_slots.h"
#include "layers/layer.h"

#include <string.h>

#define PIECES_MOST   72u
#define ELEMENTS_MOST 64u   /* whose members are looked at one by one */
#define FILLED_MOST   1024u /* bytes of a list in which the driver's gaps are found */

struct guard_layer {
    struct layer layer;
    struct guard_config config;
    struct guard_slots *slots; /* NULL: another layer of the process has them */
    struct guard_answers answers;
};

/* Something that is lent for a call: the argument structure, or what a pointer leads to. */
struct piece {
    const struct loan_member *member;       /* NULL: the argument structure */
    const struct loan_structure *structure; /* of its elements; NULL: bytes */
    struct guard_slot *slot;
    char *real, *copy;
    char *cell; /* where the copy around it has the pointer; NULL: nowhere */
    size_t bytes, element_bytes;
    size_t moved;      /* by which the driver moved the pointer */
    bool is_read_only; /* all of it */
    bool is_again;     /* another piece is the same memory */
};

/* A buffer that goes down as it is, with a canary behind it. */
#define KEPT_MOST    2u
#define CANARY_BYTES 64u
#define CANARY       0x5c
struct kept_buffer {
    struct guard_label label;
    char *end;
    size_t bytes;
};

struct guarded_call {
    struct guard_layer *layer;
    unsigned count, kept_count;
    struct kept_buffer kept[KEPT_MOST];
    struct piece pieces[PIECES_MOST];
};

static struct guard_layer *guard_of(struct miniport *miniport)
{
    return (struct guard_layer *)miniport;
}

/* ---- Breaches -------------------------------------------------------------------------------- */

/* member: of an element of what the label names; NULL: it is about all of that. */
static void tell(struct guard_layer *guard, struct loan_breach breach,
                 const struct guard_label *label, const struct loan_member *member,
                 uint32_t element)
{
    guard_breach_name(&breach, label, member, element);
    guard->config.report(guard->config.context, &breach);
}

static void tell_late(struct guard_layer *guard, const struct guard_late *late)
{
    tell(guard,
         (struct loan_breach){.kind = LOAN_LATE, .offset = late->offset, .bytes = late->bytes},
         &late->label, NULL, 0);
}

/* ---- On the way down ------------------------------------------------------------------------- */

/* Lends so many bytes in the call's next piece; NULL: they go down as they are. */
static struct piece *add_piece(struct guarded_call *call, const struct guard_label *label,
                               void *real, size_t bytes, uint32_t alignment)
{
    struct guard_late late;
    bool is_late;
    struct guard_slot *slot =
        guard_slot_take(call->layer->slots, label, bytes, alignment, &is_late, &late);
    struct piece *piece = &call->pieces[call->count];

    if (!slot)
        return NULL;
    if (is_late)
        tell_late(call->layer, &late);
    call->count++;
    piece->slot = slot;
    piece->real = real;
    piece->copy = slot->at;
    piece->bytes = bytes;
    piece->is_again = false;
    return piece;
}

static size_t bytes_of_list(const struct loan_member *member, const char *structure,
                            size_t *out_element_bytes)
{
    uint64_t count = member->count.bytes ? loan_integer(member->count, structure) : 1;
    uint64_t element = member->stride.bytes ? loan_integer(member->stride, structure) : 0;

    if (!element)
        element = member->element_bytes;
    *out_element_bytes = member->kind == LOAN_BYTES ? count : element;
    return count > GUARD_MOST_BYTES || element > GUARD_MOST_BYTES ? SIZE_MAX
                                                                  : (size_t)(count * element);
}

static size_t bytes_of_mdl(const MDL *mdl)
{
    return sizeof *mdl +
           bytes_to_pages((uint64_t)mdl->ByteOffset + mdl->ByteCount) * sizeof(PFN_NUMBER);
}

/* The piece that is lent already for this memory; NULL: none. */
static struct piece *find_same(struct guarded_call *call, const void *real, size_t bytes)
{
    for (unsigned i = 1; i < call->count; i++) {
        if (call->pieces[i].real == real && call->pieces[i].bytes == bytes)
            return &call->pieces[i];
    }
    return NULL;
}

static bool has_piece(const struct guarded_call *call, const char *cell)
{
    for (unsigned i = 1; i < call->count; i++) {
        if (call->pieces[i].cell == cell)
            return true;
    }
    return false;
}

/* The driver may use it until the work is done: no copy stands for it. */
static bool is_for_longer(const struct guard_layer *guard, const struct loan_member *member)
{
    if (member->has_pages)
        return !guard->config.lends_lists;
    return member->is_lasting && !guard->config.lends_work;
}

static bool is_to_copy(const struct guarded_call *call, const struct loan_member *member,
                       size_t bytes)
{
    if (!bytes || call->count == PIECES_MOST || is_for_longer(call->layer, member))
        return false;
    return bytes <= GUARD_MOST_BYTES;
}

static bool stands_in(const struct guarded_call *call, const struct loan_member *member)
{
    return member && member->is_lasting && member->direction == LOAN_OUT &&
           call->layer->config.stands_in;
}

static void keep_buffer(struct guarded_call *call, const struct piece *around,
                        const struct loan_member *member, char *real, size_t bytes)
{
    const struct guard_config *config = &call->layer->config;
    struct kept_buffer *kept = &call->kept[call->kept_count];

    if (!is_for_longer(call->layer, member) || !config->find_slack || around->member || !bytes ||
        bytes > GUARD_MOST_BYTES || call->kept_count == KEPT_MOST ||
        config->find_slack(config->context, real + bytes) < CANARY_BYTES)
        return;
    *kept = (struct kept_buffer){.label = around->slot->label, .end = real + bytes, .bytes = bytes};
    kept->label.members[0] = member;
    memset(kept->end, CANARY, CANARY_BYTES);
    call->kept_count++;
}

static void look_behind_kept(const struct guarded_call *call)
{
    for (unsigned i = 0; i < call->kept_count; i++) {
        const struct kept_buffer *kept = &call->kept[i];
        struct loan_breach breach = {.kind = LOAN_BEHIND, .bytes = kept->bytes};

        while (breach.offset < CANARY_BYTES && kept->end[breach.offset] == CANARY)
            breach.offset++;
        if (breach.offset < CANARY_BYTES)
            tell(call->layer, breach, &kept->label, NULL, 0);
    }
}

/* Lends what the pointer of an element's copy leads to. */
static void lend(struct guarded_call *call, const struct piece *around, char *copy, uint32_t index,
                 const struct loan_member *member)
{
    struct guard_label label = around->slot->label;
    char *cell = copy + member->offset, *real;
    size_t bytes, element_bytes;
    struct piece *piece, *same;

    memcpy(&real, cell, sizeof real);
    if (!real || has_piece(call, cell))
        return;
    if (member->kind == LOAN_MDL)
        bytes = element_bytes = bytes_of_mdl((const MDL *)(void *)real);
    else
        bytes = bytes_of_list(member, copy, &element_bytes);
    if (!is_to_copy(call, member, bytes)) {
        keep_buffer(call, around, member, real, bytes);
        return;
    }
    if (around->member)
        label.index = guard_is_list(around->member) ? index : GUARD_NO_INDEX;
    label.members[around->member != NULL] = member;
    same = find_same(call, real, bytes);
    if (same) {
        piece = &call->pieces[call->count++];
        *piece = *same;
        piece->is_again = true;
        same->is_read_only &= member->direction == LOAN_IN;
    } else {
        bool is_paged = bytes >= PAGE_BYTES && (uintptr_t)real % PAGE_BYTES == 0;

        piece = add_piece(call, &label, real, bytes, is_paged ? PAGE_BYTES : GUARD_ALIGNMENT);
        if (!piece)
            return;
        if (member->direction & LOAN_IN)
            memcpy(piece->copy, real, bytes);
        else if (member->kind == LOAN_ARRAY)
            memset(piece->copy, GUARD_FILL, min_u64(bytes, FILLED_MOST));
        if (stands_in(call, member))
            call->layer->config.stands_in(call->layer->config.context, piece->copy, real, bytes);
    }
    piece->member = member;
    piece->structure = member->element;
    piece->element_bytes = element_bytes;
    piece->cell = cell;
    piece->moved = 0;
    piece->is_read_only = member->direction == LOAN_IN;
    memcpy(cell, &piece->copy, sizeof piece->copy);
}

static unsigned elements_of(const struct piece *piece)
{
    return piece->bytes == piece->element_bytes
               ? 1
               : (unsigned)min_u64(piece->bytes / piece->element_bytes, ELEMENTS_MOST);
}

/* A driver of an older version has a shorter structure. */
static bool is_there(const struct piece *piece, const struct loan_member *member, const char *copy)
{
    return (size_t)member->offset + member->bytes <= piece->element_bytes &&
           loan_is_there(member, copy);
}

/* Values that are to be written are fill, pointers lead to copies. */
static void prepare_rows(struct guarded_call *call, const struct piece *piece, uint32_t element,
                         struct loan_rows rows)
{
    char *copy = piece->copy + element * piece->element_bytes;

    for (uint16_t i = 0; i < rows.count; i++) {
        const struct loan_member *member = &rows.members[i];

        if (member->kind == LOAN_VALUE ? member->direction != LOAN_OUT : member->is_lent_above)
            continue;
        if (!is_there(piece, member, copy))
            continue;
        if (member->kind != LOAN_VALUE)
            lend(call, piece, copy, element, member);
        else
            memset(copy + member->offset, GUARD_FILL, member->bytes);
    }
}

static void prepare(struct guarded_call *call, const struct piece *piece)
{
    const struct loan_structure *structure = piece->structure;
    unsigned elements = structure ? elements_of(piece) : 0;

    for (unsigned i = 0; i < elements; i++) {
        struct loan_rows variant = loan_variant(structure, piece->copy + i * piece->element_bytes);

        prepare_rows(call, piece, i, structure->rows);
        prepare_rows(call, piece, i, variant);
    }
}

/* What goes down instead of the argument structure. */
static void *begin(struct guard_layer *guard, struct guarded_call *call, enum miniport_ddi ddi,
                   const void *argument, size_t bytes, bool is_const)
{
    const struct guard_label label = {.call = miniport_ddi_name(ddi), .index = GUARD_NO_INDEX};
    struct piece *piece;

    call->layer = guard;
    call->count = call->kept_count = 0;
    piece = guard->slots
                ? add_piece(call, &label, (void *)(uintptr_t)argument, bytes, GUARD_ALIGNMENT)
                : NULL;
    if (!piece)
        return (void *)(uintptr_t)argument;
    piece->member = NULL;
    piece->structure = loans_of(ddi);
    piece->cell = NULL;
    piece->element_bytes = bytes;
    piece->is_read_only = is_const;
    memcpy(piece->copy, argument, bytes);
    for (unsigned i = 0; i < call->count; i++)
        prepare(call, &call->pieces[i]);
    return piece->copy;
}

static void enter(const struct guarded_call *call)
{
    const struct guard_config *config = &call->layer->config;
    struct write_watch_piece pieces[PIECES_MOST];
    size_t count = 0;

    if (!config->enters)
        return;
    for (unsigned i = 0; i < call->count; i++) {
        const struct guard_slot *slot = call->pieces[i].slot;

        if (!call->pieces[i].is_again)
            pieces[count++] = (struct write_watch_piece){(uint8_t *)slot->start, slot->bytes};
    }
    config->enters(config->context, pieces, count);
}

static void leave(const struct guarded_call *call)
{
    if (call->layer->config.leaves)
        call->layer->config.leaves(call->layer->config.context);
}

/* ---- On the way up --------------------------------------------------------------------------- */

static void tell_of(const struct guarded_call *call, const struct piece *piece,
                    enum loan_breach_kind kind, uint64_t offset, const char *at)
{
    tell(call->layer,
         (struct loan_breach){.kind = kind, .offset = offset, .bytes = piece->bytes, .at = at},
         &piece->slot->label, NULL, 0);
}

/* The pointer in the copy around it is the caller's again, as far as the driver moved it. */
static void restore_pointer(const struct guarded_call *call, struct piece *piece)
{
    char *now, *back = piece->real;

    if (!piece->cell)
        return;
    memcpy(&now, piece->cell, sizeof now);
    if (piece->member->moves) {
        piece->moved = (size_t)(now - piece->copy);
        back += now - piece->copy;
    } else if (now != piece->copy) {
        tell_of(call, piece, LOAN_CHANGED, 0, piece->cell);
    }
    memcpy(piece->cell, &back, sizeof back);
}

static void look_around(const struct guarded_call *call, const struct piece *piece)
{
    bool is_before;
    size_t distance;

    if (guard_slot_look(piece->slot, &is_before, &distance))
        tell_of(call, piece, is_before ? LOAN_BEFORE : LOAN_BEHIND, distance,
                is_before ? piece->copy - distance : piece->copy + piece->bytes + distance);
}

static size_t first_other(const char *now, const char *was, size_t bytes)
{
    size_t offset = 0;

    while (offset < bytes && now[offset] == was[offset])
        offset++;
    return offset;
}

static bool is_fill(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)at[i] != GUARD_FILL)
            return false;
    }
    return true;
}

/* Most members have the bytes of an integer: those are compared without a call. */
static bool is_same(const char *now, const char *was, size_t bytes)
{
    switch (bytes) {
    case 4:
        return memcmp(now, was, 4) == 0;
    case 8:
        return memcmp(now, was, 8) == 0;
    default:
        return memcmp(now, was, bytes) == 0;
    }
}

/* A value that is not as it has to be is as the caller left it. */
static void mend_value(const struct guarded_call *call, const struct piece *piece,
                       const struct loan_member *member, uint32_t element, bool has_succeeded)
{
    size_t offset = element * piece->element_bytes + member->offset;
    char *now = piece->copy + offset;
    const char *was = piece->real + offset;
    struct loan_breach breach = {.kind = LOAN_UNWRITTEN,
                                 .offset = offset,
                                 .bytes = piece->bytes,
                                 .is_needed = member->is_needed};

    if (member->direction == LOAN_IN) {
        size_t other = first_other(now, was, member->bytes);

        breach.kind = LOAN_CHANGED;
        breach.offset += other;
        breach.at = now + other;
    }
    memcpy(now, was, member->bytes);
    if (breach.kind == LOAN_CHANGED || has_succeeded)
        tell(call->layer, breach, &piece->slot->label, member, element);
}

static bool is_as_it_has_to_be(const struct loan_member *member, const char *now, const char *was)
{
    if (member->direction == LOAN_IN)
        return is_same(now + member->offset, was + member->offset, member->bytes);
    return !is_fill(now + member->offset, member->bytes);
}

static void settle_values(const struct guarded_call *call, const struct piece *piece,
                          bool has_succeeded)
{
    const struct loan_rows rows = piece->structure->rows;
    unsigned elements = rows.count ? elements_of(piece) : 0;

    for (unsigned i = 0; i < elements; i++) {
        const char *copy = piece->copy + i * piece->element_bytes;
        const char *real = piece->real + i * piece->element_bytes;

        for (uint16_t j = 0; j < rows.count; j++) {
            const struct loan_member *member = &rows.members[j];

            if (member->kind == LOAN_VALUE && is_there(piece, member, copy) &&
                !is_as_it_has_to_be(member, copy, real))
                mend_value(call, piece, member, i, has_succeeded);
        }
    }
}

/* What was lent to be read only, and no row tells apart. An MDL's flags are not looked at. */
static void look_for_changes(const struct guarded_call *call, const struct piece *piece)
{
    size_t from = piece->member && piece->member->kind == LOAN_MDL ? sizeof(MDL) : 0;
    const char *now = piece->copy + from, *was = piece->real + from;

    if (memcmp(now, was, piece->bytes - from) != 0) {
        size_t other = first_other(now, was, piece->bytes - from);

        tell_of(call, piece, LOAN_CHANGED, from + other, now + other);
    }
}

static void tell_unwritten(const struct guarded_call *call, const struct piece *piece,
                           uint64_t offset, bool is_needed)
{
    tell(call->layer,
         (struct loan_breach){.kind = LOAN_UNWRITTEN,
                              .offset = offset,
                              .bytes = piece->bytes,
                              .is_needed = is_needed},
         &piece->slot->label, NULL, 0);
}

/* Elements that the driver moved its pointer over, and wrote nothing to. */
static void look_for_gaps(const struct guarded_call *call, const struct piece *piece)
{
    const size_t bytes = min_u64(min_u64(piece->moved, piece->bytes), FILLED_MOST);

    for (size_t at = 0; at + piece->element_bytes <= bytes; at += piece->element_bytes) {
        if (!is_fill(piece->copy + at, piece->element_bytes))
            continue;
        tell_unwritten(call, piece, at, true);
        return;
    }
}

/* What the driver was to fill in as a whole, and did not. */
static void look_for_answer(const struct guarded_call *call, const struct piece *piece,
                            bool has_succeeded)
{
    if (!is_fill(piece->copy, piece->bytes))
        return;
    memcpy(piece->copy, piece->real, piece->bytes);
    if (has_succeeded)
        tell_unwritten(call, piece, 0, false);
}

static void look_inside(const struct guarded_call *call, const struct piece *piece,
                        bool has_succeeded)
{
    const struct loan_member *member = piece->member;

    if (piece->structure && !(piece->is_read_only && !member))
        settle_values(call, piece, has_succeeded);
    if (piece->is_read_only)
        look_for_changes(call, piece);
    if (!member || member->direction != LOAN_OUT)
        return;
    if (!member->moves)
        look_for_answer(call, piece, has_succeeded);
    else if (has_succeeded && member->kind == LOAN_ARRAY)
        look_for_gaps(call, piece);
}

static void give_back(const struct guarded_call *call, const struct piece *piece)
{
    const struct loan_member *member = piece->member;
    size_t written = piece->bytes;

    if (member && member->direction == LOAN_OUT && member->moves)
        written = min_u64(piece->moved, piece->bytes);
    if (!piece->is_read_only)
        memcpy(piece->real, piece->copy, written);
    if (stands_in(call, member))
        call->layer->config.stands_in(call->layer->config.context, NULL, NULL, 0);
    guard_slot_release(call->layer->slots, piece->slot, member && member->has_pages);
}

static void end(struct guarded_call *call, NTSTATUS status)
{
    for (unsigned i = call->count; i > 0; i--)
        restore_pointer(call, &call->pieces[i - 1]);
    look_behind_kept(call);
    for (unsigned i = 0; i < call->count; i++) {
        const struct piece *piece = &call->pieces[i];

        if (piece->is_again)
            continue;
        look_around(call, piece);
        look_inside(call, piece, NT_SUCCESS(status));
    }
    for (unsigned i = call->count; i > 0; i--) {
        if (!call->pieces[i - 1].is_again)
            give_back(call, &call->pieces[i - 1]);
    }
}

/* ---- The layer ------------------------------------------------------------------------------- */

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS guard_##function(struct miniport *self, HANDLE object, argument arg)           \
    {                                                                                              \
        struct guarded_call call;                                                                  \
        argument lent = begin(guard_of(self), &call, MINIPORT_DDI_##ddi, arg, sizeof *arg,         \
                              LOANS_IS_CONST(arg));                                                \
        NTSTATUS status;                                                                           \
                                                                                                   \
        enter(&call);                                                                              \
        status = miniport_##function(self->next, object, lent);                                    \
        leave(&call);                                                                              \
        end(&call, status);                                                                        \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X

static SIZE_T guard_get_root_page_table_size(struct miniport *self,
                                             DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    struct guarded_call call;
    DXGKARG_GETROOTPAGETABLESIZE *lent =
        begin(guard_of(self), &call, MINIPORT_DDI_GetRootPageTableSize, arg, sizeof *arg, false);
    SIZE_T size = miniport_get_root_page_table_size(self->next, lent);

    end(&call, STATUS_SUCCESS);
    return size;
}

static NTSTATUS guard_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                   ULONG *sources, ULONG *children)
{
    const struct loan_start_device argument = {(DXGK_START_INFO *)(uintptr_t)start, sources,
                                               children};
    struct guarded_call call;
    const struct loan_start_device *lent =
        begin(guard_of(self), &call, MINIPORT_DDI_StartDevice, &argument, sizeof argument, true);
    NTSTATUS status = miniport_start_device(
        self->next, lent->DxgkStartInfo, lent->NumberOfVideoPresentSources, lent->NumberOfChildren);

    end(&call, status);
    guard_answers_look(&guard_of(self)->answers);
    return status;
}

static void guard_set_host(struct miniport *self, struct miniport_host *host)
{
    miniport_set_host(self->next, guard_answers_host(&guard_of(self)->answers, host));
}

static NTSTATUS guard_stop_device(struct miniport *self)
{
    NTSTATUS status = miniport_forward_ops.stop_device(self);

    guard_answers_look(&guard_of(self)->answers);
    return status;
}

/* Everything that the driver wrote to afterwards is told at the end of the device's life. */
static NTSTATUS guard_remove_device(struct miniport *self)
{
    struct guard_layer *guard = guard_of(self);
    NTSTATUS status = miniport_forward_ops.remove_device(self);
    struct guard_late late;

    guard_answers_end(&guard->answers);
    while (guard->slots && guard_slots_find_late(guard->slots, &late))
        tell_late(guard, &late);
    return status;
}

bool guard_explain(const void *address, struct loan_breach *out_breach)
{
    const struct guard_slot *slot = guard_slots_at(address);
    const char *at = address;

    if (!slot)
        return false;
    *out_breach = (struct loan_breach){.bytes = slot->lent_bytes};
    if (at < slot->at) {
        out_breach->kind = LOAN_BEFORE;
        out_breach->offset = (uint64_t)(slot->at - at);
    } else if (at >= slot->at + slot->lent_bytes) {
        out_breach->kind = LOAN_BEHIND;
        out_breach->offset = (uint64_t)(at - slot->at - slot->lent_bytes);
    } else {
        out_breach->offset = (uint64_t)(at - slot->at);
    }
    if (!slot->is_lent)
        out_breach->kind = LOAN_LATE;
    guard_breach_name(out_breach, &slot->label, NULL, 0);
    return true;
}

static void destroy(struct miniport *self)
{
    struct guard_layer *guard = guard_of(self);

    if (guard->slots)
        guard_slots_end(guard->slots);
    base_free(guard->layer.services, guard, guard->layer.bytes);
}

NTSTATUS guard_layer_create(const struct base_services *services, const struct guard_config *config,
                            struct miniport *next, struct miniport **out_layer)
{
    struct guard_layer *guard = layer_create(services, sizeof *guard, "guard", next);

    *out_layer = guard ? &guard->layer.miniport : NULL;
    if (!guard)
        return STATUS_NO_MEMORY;
    guard->config = *config;
    guard->slots = guard_slots_begin();
    guard_answers_init(&guard->answers, &guard->config, guard->slots);
#define X(function, ddi, argument) guard->layer.ops.function = guard_##function;
    MINIPORT_DDI_LIST(X)
#undef X
    guard->layer.ops.get_root_page_table_size = guard_get_root_page_table_size;
    guard->layer.ops.start_device = guard_start_device;
    guard->layer.ops.stop_device = guard_stop_device;
    guard->layer.ops.remove_device = guard_remove_device;
    guard->layer.ops.set_host = guard_set_host;
    guard->layer.ops.destroy = destroy;
    return STATUS_SUCCESS;
}
