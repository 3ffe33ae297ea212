#define _GNU_SOURCE
#include "clients/recorder.h"

#include "base/bits.h"
#include "base/hash.h"

#include <drydock/sgpu.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What one CPU write is hashed in. */
#define PIECE_BYTES (UINT64_C(1) << 20)
/* Allocations of one call that are other drivers' than ours, at most. */
#define MOST_CREATED 256u
/* Of an allocation whose size is known when it goes: its line has `size=?NUMBER` until then. */
#define OPEN_BYTES (UINT64_MAX / 2)
/* A line of a case has at most so many references. */
#define MOST_REFERENCES 8192u

struct late;

struct recorder_case {
    struct seen *seen;
    FILE *head, *body;
    char *head_text, *body_text;
    size_t head_size, body_size;
    struct recorder_created created[MOST_CREATED]; /* by the call that is being made */
    unsigned created_count;
    struct list held; /* of all contexts, in the order of their calls */
    unsigned nodes;
    bool has_opaque_note;
    bool has_begun; /* a line of references to residency */
    bool has_reopen_note;
    struct late *late; /* by number */
    unsigned late_room;
};

/* What a line of an allocation says that is known behind it only. */
struct late {
    uint64_t bytes; /* of those that were open */
    bool is_shared; /* another device has opened it */
};

/* A range of an allocation; NULL: nothing that is known. */
struct place {
    struct seen_object *allocation;
    uint64_t offset;
};

/* What a packet does, with its addresses as they were mapped when it was submitted. */
struct deed {
    enum seen_access_kind kind;
    uint64_t bytes;
    struct place from, to;
};

/* A submission, or a wait of a context's, which the front has queued and not handed over. */
struct held {
    struct list link;
    struct seen_object *context;
    D3DKMT_HANDLE handle; /* the context's */
    uint64_t sequence;    /* of the submission; 0: it is a wait */
    bool is_null, is_opaque;
    unsigned fence_count;
    struct seen_object *fences[D3DDDI_MAX_OBJECT_WAITED_ON];
    struct deed *deeds;
    unsigned deed_count, deed_room;
};

struct recorder_case *recorder_case_create(struct seen *seen)
{
    struct recorder_case *recorder = calloc(1, sizeof *recorder);

    if (!recorder)
        return NULL;
    recorder->seen = seen;
    recorder->nodes = 2;
    list_init(&recorder->held);
    recorder->head = open_memstream(&recorder->head_text, &recorder->head_size);
    recorder->body = open_memstream(&recorder->body_text, &recorder->body_size);
    if (recorder->head && recorder->body)
        return recorder;
    recorder_case_destroy(recorder);
    return NULL;
}

static void drop_held(struct held *held)
{
    list_remove(&held->link);
    free(held->deeds);
    free(held);
}

void recorder_case_destroy(struct recorder_case *recorder)
{
    struct held *held, *following;

    if (!recorder)
        return;
    list_for_each_safe (held, following, &recorder->held, struct held, link)
        drop_held(held);
    if (recorder->head)
        fclose(recorder->head);
    if (recorder->body)
        fclose(recorder->body);
    free(recorder->head_text);
    free(recorder->body_text);
    free(recorder->late);
    free(recorder);
}

/* ---- Waits ----------------------------------------------------------------------------------- */

/* For all that the context has had handed over. */
static void wait_for(struct recorder_case *recorder, struct seen_object *context)
{
    if (!context || context->waited >= context->handed)
        return;
    context->waited = context->handed;
    fprintf(recorder->body, "wait c%u\n", context->number);
}

/* Work of another context that has not been waited for: the client knew by looking at a fence. */
static void order_behind(struct recorder_case *recorder, const struct seen_object *context,
                         const struct seen_use *use)
{
    if (use->context && use->context != context && use->context->waited < use->sequence)
        wait_for(recorder, use->context);
}

/* Who waits knows what others had handed over; context: whose wait it is, NULL: the CPU's. */
static void waited_for(struct recorder_case *recorder, const struct seen_object *fence,
                       const struct seen_object *context)
{
    if (fence && fence->body->signaller && fence->body->signaller != context)
        wait_for(recorder, fence->body->signaller);
}

/* ---- Content --------------------------------------------------------------------------------- */

/* Names of content have 62 bits, and those of the pages follow: 0 is none. */
static uint64_t key_of(uint64_t hash)
{
    return hash >> 4 | 1;
}

/* False: the client has no memory there. */
static bool hash_memory(const struct seen_process *process, uint64_t address, uint64_t bytes,
                        uint64_t *out_hash)
{
    uint8_t *piece = malloc(min_u64(bytes, PIECE_BYTES));
    struct hash hash;
    bool is_there = piece != NULL;

    hash_init(&hash, bytes);
    for (uint64_t at = 0, size; is_there && at < bytes; at += size) {
        size = min_u64(PIECE_BYTES, bytes - at);
        is_there = seen_read(process, address + at, piece, size);
        if (is_there)
            hash_update(&hash, piece, size);
    }
    free(piece);
    *out_hash = max_u64(hash_final(&hash), 1);
    return is_there;
}

/* The one that has the whole range; NULL: none. */
static struct seen_content *content_of(const struct seen_object *allocation, uint64_t offset,
                                       uint64_t bytes)
{
    for (unsigned i = 0; i < allocation->body->content_count; i++) {
        struct seen_content *content = &allocation->body->contents[i];

        if (content->offset <= offset && offset + bytes <= content->offset + content->bytes)
            return content;
    }
    return NULL;
}

/* The name of the range's first page; 0: it has none. */
static uint64_t key_of_range(const struct seen_content *content, uint64_t offset)
{
    const uint64_t skipped = content ? offset - content->offset : 1;

    return content && content->key && skipped % 4096 == 0 ? content->key + skipped / 4096 : 0;
}

/* Takes the range out of the contents: of each a piece beside it is left. */
static void cut(struct seen_object *allocation, uint64_t offset, uint64_t bytes)
{
    const unsigned count = allocation->body->content_count;
    unsigned last = 0;

    for (unsigned i = 0; i < count; i++) {
        struct seen_content kept = allocation->body->contents[i];
        const uint64_t end = kept.offset + kept.bytes;

        if (kept.offset < offset + bytes && end > offset) {
            /* Of two pieces the second has no room while the list is read: it is forgotten. */
            if (kept.offset < offset) {
                kept.bytes = offset - kept.offset;
            } else if (end > offset + bytes) {
                kept.key = key_of_range(&kept, offset + bytes);
                kept.offset = offset + bytes;
                kept.bytes = end - kept.offset;
            } else {
                continue;
            }
            kept.hash = 0;
        }
        allocation->body->contents[last++] = kept;
    }
    allocation->body->content_count = last;
}

static void set_content(struct recorder_case *recorder, struct seen_object *allocation,
                        const struct seen_content *content)
{
    cut(allocation, content->offset, content->bytes);
    if (allocation->body->content_count == allocation->body->content_room) {
        const unsigned room =
            allocation->body->content_room ? allocation->body->content_room * 2 : 4;
        struct seen_content *more = realloc(allocation->body->contents, room * sizeof *more);

        if (!more) {
            recorder->seen->is_lost = true;
            return;
        }
        allocation->body->contents = more;
        allocation->body->content_room = room;
    }
    allocation->body->contents[allocation->body->content_count++] = *content;
}

/* What the GPU has written there, and nobody has read, is read: the case checks it. */
static void read_what_is_unread(struct recorder_case *recorder, struct seen_object *allocation,
                                uint64_t offset, uint64_t bytes)
{
    for (unsigned i = 0; i < allocation->body->content_count; i++) {
        struct seen_content *content = &allocation->body->contents[i];

        if (!content->is_unread || content->offset >= offset + bytes ||
            content->offset + content->bytes <= offset)
            continue;
        content->is_unread = false;
        fprintf(recorder->body, "read a%u offset=%" PRIu64 " size=%" PRIu64 "\n",
                allocation->body->number, content->offset, content->bytes);
    }
}

/* The GPU is about to read memory that the CPU may have written. */
static void look_at_memory(struct recorder_case *recorder, struct seen_object *allocation,
                           uint64_t offset, uint64_t bytes)
{
    const struct seen_object *sight = seen_who_sees(recorder->seen, allocation);
    struct seen_content *content = content_of(allocation, offset, bytes);
    struct seen_content found = {.offset = offset, .bytes = bytes};

    if (!sight ||
        !hash_memory(sight->process, seen_cpu_address(sight) + offset, bytes, &found.hash))
        return;
    if (content && content->hash == found.hash && content->offset == offset &&
        content->bytes == bytes)
        return;
    read_what_is_unread(recorder, allocation, offset, bytes);
    found.key = key_of(found.hash);
    fprintf(recorder->body, "write a%u offset=%" PRIu64 " size=%" PRIu64 " key=0x%" PRIx64 "\n",
            allocation->body->number, offset, bytes, found.key);
    set_content(recorder, allocation, &found);
}

/* ---- Submissions ----------------------------------------------------------------------------- */

static struct place place_of(const struct seen_process *process, uint64_t va, uint64_t bytes)
{
    const struct seen_mapping *mapping = va ? seen_mapping_at(process, va) : NULL;

    if (!mapping || !mapping->allocation || bytes > mapping->end - va ||
        mapping->offset + (va - mapping->start) + bytes > mapping->allocation->body->line_bytes)
        return (struct place){0};
    return (struct place){mapping->allocation, mapping->offset + (va - mapping->start)};
}

static struct held *hold(struct recorder_case *recorder, struct seen_object *context)
{
    struct held *held = context ? calloc(1, sizeof *held) : NULL;

    if (!held) {
        recorder->seen->is_lost |= context != NULL;
        return NULL;
    }
    held->context = context;
    held->handle = context->handle;
    list_push_back(&recorder->held, &held->link);
    return held;
}

/* One more that work names which is held: it is not freed before. */
static void name_place(const struct place *place)
{
    if (place->allocation)
        place->allocation->body->held_names++;
}

/* No more references go into its line: it is opaque from there on. */
static bool is_full(struct held *held)
{
    const bool is_full = held->deed_count * 2 + 2 > MOST_REFERENCES;

    held->is_opaque |= is_full;
    return is_full;
}

static void keep_piece(struct held *held, const struct seen_access *access)
{
    const struct seen_process *process = held->context->process;
    struct deed deed = {.kind = access->kind, .bytes = access->bytes};

    if (held->deed_count == held->deed_room) {
        const unsigned room = held->deed_room ? held->deed_room * 2 : 4;
        struct deed *more = realloc(held->deeds, room * sizeof *more);

        if (!more) {
            held->is_opaque = true;
            return;
        }
        held->deeds = more;
        held->deed_room = room;
    }
    deed.from = place_of(process, access->source, access->bytes);
    deed.to = place_of(process, access->destination, access->bytes);
    held->is_opaque |=
        (access->source && !deed.from.allocation) || (access->destination && !deed.to.allocation);
    name_place(&deed.from);
    name_place(&deed.to);
    held->deeds[held->deed_count++] = deed;
}

/* Bytes up to the end of the mapping at the address, of those at most. */
static uint64_t in_mapping(const struct seen_process *process, uint64_t va, uint64_t bytes)
{
    const struct seen_mapping *mapping = va ? seen_mapping_at(process, va) : NULL;

    return mapping ? min_u64(bytes, mapping->end - va) : bytes;
}

/* An access may go over mappings that lie side by side. */
static void keep_deed(void *context, const struct seen_access *access)
{
    struct held *held = context;
    const struct seen_process *process = held->context->process;
    struct seen_access piece = *access;

    held->is_opaque |= access->kind == SEEN_UNKNOWN;
    if (access->kind == SEEN_UNKNOWN || access->kind == SEEN_SIGNAL)
        return;
    for (uint64_t left = access->bytes; left && !is_full(held); left -= piece.bytes) {
        piece.bytes = in_mapping(process, piece.source, left);
        piece.bytes = in_mapping(process, piece.destination, piece.bytes);
        keep_piece(held, &piece);
        piece.source += piece.source ? piece.bytes : 0;
        piece.destination += piece.destination ? piece.bytes : 0;
    }
}

/* The packets are read while the client owes us that they stay. */
static void submitted(struct recorder_case *recorder, const struct seen_process *process,
                      const struct seen_work *work)
{
    struct held *held = hold(recorder, work->context);

    if (!held)
        return;
    held->sequence = held->context->submitted;
    held->is_null = work->is_null;
    held->is_opaque |= !seen_walk_batch(process, work->va, work->bytes, keep_deed, held);
}

static void waits(struct recorder_case *recorder, const struct seen_process *process,
                  const struct seen_sync *wait)
{
    struct held *held = wait->is_by_cpu ? NULL : hold(recorder, wait->context);

    if (wait->is_by_cpu)
        wait_for(recorder, seen_who_sets(process, wait->event));
    for (UINT i = 0; i < wait->count; i++) {
        struct seen_object *fence = seen_find(process, wait->handles[i], SEEN_FENCE);

        if (held && held->fence_count < D3DDDI_MAX_OBJECT_WAITED_ON)
            held->fences[held->fence_count++] = fence;
        else if (wait->is_by_cpu)
            waited_for(recorder, fence, NULL);
    }
}

/* The lines in front of the submission: each reference is looked at before any is written down. */
static void prepare(struct recorder_case *recorder, const struct held *held,
                    const struct deed *deed)
{
    if (deed->from.allocation) {
        order_behind(recorder, held->context, &deed->from.allocation->body->written);
        look_at_memory(recorder, deed->from.allocation, deed->from.offset, deed->bytes);
    }
    if (deed->to.allocation) {
        order_behind(recorder, held->context, &deed->to.allocation->body->written);
        order_behind(recorder, held->context, &deed->to.allocation->body->read);
        read_what_is_unread(recorder, deed->to.allocation, deed->to.offset, deed->bytes);
    }
}

static void refer(struct recorder_case *recorder, const struct place *place, uint64_t bytes,
                  const char *how, uint64_t key)
{
    fprintf(recorder->body, " a%u@%" PRIu64 "+%" PRIu64 ":%s", place->allocation->body->number,
            place->offset, bytes, how);
    if (key)
        fprintf(recorder->body, "=0x%" PRIx64, key);
}

static void write_down(struct recorder_case *recorder, const struct held *held,
                       const struct deed *deed)
{
    const struct seen_use use = {held->context, held->sequence};
    const struct place *from = &deed->from, *to = &deed->to;
    const struct seen_content *known = NULL;
    struct seen_content content = {.offset = to->offset, .bytes = deed->bytes};

    if (from->allocation) {
        refer(recorder, from, deed->bytes, "r", 0);
        from->allocation->body->read = use;
        known = content_of(from->allocation, from->offset, deed->bytes);
    }
    if (!to->allocation)
        return;
    if (deed->kind == SEEN_COPY) {
        content.key = key_of_range(known, from->offset);
        if (known && known->offset == from->offset && known->bytes == deed->bytes)
            content.hash = known->hash;
    }
    content.is_unread = seen_who_sees(recorder->seen, to->allocation) != NULL;
    refer(recorder, to, deed->bytes, "w", content.key);
    to->allocation->body->written = use;
    set_content(recorder, to->allocation, &content);
}

static void write_submission(struct recorder_case *recorder, const struct held *held)
{
    for (unsigned i = 0; i < held->deed_count; i++)
        prepare(recorder, held, &held->deeds[i]);
    if (held->is_opaque && !recorder->has_opaque_note) {
        recorder->has_opaque_note = true;
        fprintf(recorder->body, "note \"work that is not read here: what it does is not in the "
                                "case\"\n");
    }
    fprintf(recorder->body, "submit c%u%s", held->context->number,
            held->is_null ? " null=yes" : "");
    for (unsigned i = 0; i < held->deed_count; i++)
        write_down(recorder, held, &held->deeds[i]);
    fputc('\n', recorder->body);
    held->context->handed = held->sequence;
}

static void end_line(struct recorder_case *recorder, struct seen_object *allocation);

static void release_place(struct recorder_case *recorder, const struct place *place)
{
    struct seen_object *allocation = place->allocation;

    if (allocation && !--allocation->body->held_names && allocation->body->is_freed_later)
        end_line(recorder, allocation);
}

/* It has been handed over, or never will be: what waited for it to be freed is. */
static void release(struct recorder_case *recorder, struct held *held)
{
    for (unsigned i = 0; i < held->deed_count; i++) {
        release_place(recorder, &held->deeds[i].from);
        release_place(recorder, &held->deeds[i].to);
    }
    drop_held(held);
}

/* The manager has the oldest submission of the context, and what stood in front of it is over. */
void recorder_case_handed_over(struct recorder_case *recorder, void *client, D3DKMT_HANDLE context)
{
    const struct seen_process *process = seen_process_of(recorder->seen, client);
    struct held *held, *following;

    list_for_each_safe (held, following, &recorder->held, struct held, link) {
        const bool is_work = held->sequence != 0;

        if (held->context->process != process || held->handle != context)
            continue;
        for (unsigned i = 0; i < held->fence_count; i++)
            waited_for(recorder, held->fences[i], held->context);
        if (is_work)
            write_submission(recorder, held);
        release(recorder, held);
        if (is_work)
            return;
    }
}

/* Of a context, or of a whole process, that has ended. */
static void drop_all_of(struct recorder_case *recorder, const struct seen_process *process,
                        const struct seen_object *device, const struct seen_object *context)
{
    struct held *held, *following;

    list_for_each_safe (held, following, &recorder->held, struct held, link) {
        if (held->context->process == process && (!device || held->context->device == device) &&
            (!context || held->context == context || held->context->further_of == context))
            release(recorder, held);
    }
}

/* ---- Other lines ----------------------------------------------------------------------------- */

/*
 * What the private data says; of another driver's, which is not read here, what that driver has
 * told the manager, and whether the client sees it.
 */
static uint32_t flags_of(const struct seen_object *object, const struct recorder_created *created)
{
    uint32_t flags;

    if (object->bytes)
        return object->flags;
    if (created->first_is_local)
        flags = created->has_second ? 0 : SGPU_UMD_NO_APERTURE;
    else
        flags = created->second_is_local ? SGPU_UMD_PREFER_APERTURE : SGPU_UMD_APERTURE_ONLY;
    if (object->client_address)
        flags |= SGPU_UMD_EXISTING;
    else if (created->is_visible || (flags & SGPU_UMD_APERTURE_ONLY))
        flags |= SGPU_UMD_CPU_VISIBLE; /* what such drivers lock, they lock for life */
    return flags;
}

static void created_allocation(struct recorder_case *recorder, struct seen_object *allocation,
                               const struct recorder_created *created)
{
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {
        {SGPU_UMD_CPU_VISIBLE, "cpu-visible"},    {SGPU_UMD_CACHED, "cached"},
        {SGPU_UMD_EXISTING, "existing-sysmem"},   {SGPU_UMD_PROTECTED, "protected"},
        {SGPU_UMD_PERMANENT, "permanent-sysmem"},
    };
    const char *between = " flags=";
    uint32_t flags = flags_of(allocation, created);

    allocation->has_line = true;
    allocation->body->sights = 1;
    allocation->body->line_bytes = created->bytes ? created->bytes : allocation->bytes;
    if (flags & SGPU_UMD_EXISTING)
        flags |= SGPU_UMD_CPU_VISIBLE; /* the client's own memory, which it reads and writes */
    fprintf(recorder->body, "alloc a%u size=", allocation->body->number);
    if (allocation->body->line_bytes)
        fprintf(recorder->body, "%" PRIu64, allocation->body->line_bytes);
    else
        fprintf(recorder->body, "?%u", allocation->body->number);
    if (!allocation->body->line_bytes)
        allocation->body->line_bytes = OPEN_BYTES;
    fprintf(recorder->body, " device=d%u segments=%s", allocation->device->number,
            flags & SGPU_UMD_APERTURE_ONLY     ? "aperture"
            : flags & SGPU_UMD_NO_APERTURE     ? "local"
            : flags & SGPU_UMD_PREFER_APERTURE ? "aperture,local"
                                               : "local,aperture");
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!(flags & words[i].flag))
            continue;
        fprintf(recorder->body, "%s%s", between, words[i].word);
        between = ",";
    }
    if (allocation->body->is_shared) /* `shared`, if somebody opens it */
        fprintf(recorder->body, "%s?%u;", between, allocation->body->number);
    fputc('\n', recorder->body);
}

void recorder_case_refer(struct recorder_case *recorder, void *client, D3DKMT_HANDLE handle,
                         bool is_gain)
{
    const struct seen_process *process = seen_process_of(recorder->seen, client);
    struct seen_object *allocation = process ? seen_find(process, handle, SEEN_ALLOCATION) : NULL;

    if (!allocation || !allocation->body->line_bytes || (!is_gain && !allocation->held))
        return;
    allocation->held += is_gain ? 1 : -1u;
    allocation->body->held += is_gain ? 1 : -1u;
    if (allocation->body->held != (is_gain ? 1 : 0))
        return;
    if (!recorder->has_begun)
        fputs(is_gain ? "resident" : "evict", recorder->body);
    fprintf(recorder->body, " a%u", allocation->body->number);
    recorder->has_begun = true;
}

void recorder_case_end_refer(struct recorder_case *recorder)
{
    if (recorder->has_begun)
        fputc('\n', recorder->body);
    recorder->has_begun = false;
}

void recorder_case_created(struct recorder_case *recorder, const struct recorder_created *created)
{
    if (recorder->created_count < MOST_CREATED)
        recorder->created[recorder->created_count++] = *created;
}

/* One line of an offer or a reclaim. */
struct offer_line {
    FILE *out;
    const char *word;
    bool has_begun;
};

static void name_offered(void *context, struct seen_object *allocation, UINT i)
{
    struct offer_line *line = context;

    if (!allocation->body->line_bytes)
        return;
    if (!line->has_begun)
        fputs(line->word, line->out);
    line->has_begun = true;
    fprintf(line->out, " a%u", allocation->body->number);
}

static void tell_offers(struct recorder_case *recorder, struct seen_process *process,
                        const char *word, UINT count, const D3DKMT_HANDLE *handles,
                        const D3DKMT_HANDLE *resources)
{
    struct offer_line line = {.out = recorder->body, .word = word};

    seen_each_named(process, count, handles, resources, name_offered, &line);
    if (line.has_begun)
        fputc('\n', recorder->body);
}

/* NULL: no memory. */
static struct late *late_of(struct recorder_case *recorder, unsigned number)
{
    if (number >= recorder->late_room) {
        const unsigned room = 2 * number + 64;
        struct late *more = realloc(recorder->late, room * sizeof *more);

        if (!more) {
            recorder->seen->is_lost = true;
            return NULL;
        }
        memset(more + recorder->late_room, 0, (room - recorder->late_room) * sizeof *more);
        recorder->late = more;
        recorder->late_room = room;
    }
    return &recorder->late[number];
}

static void end_line(struct recorder_case *recorder, struct seen_object *allocation)
{
    struct seen_body *body = allocation->body;
    struct late *late;

    body->is_freed_later = body->held_names != 0;
    if (body->is_freed_later)
        return;
    read_what_is_unread(recorder, allocation, 0, UINT64_MAX / 2);
    late = body->line_bytes == OPEN_BYTES ? late_of(recorder, body->number) : NULL;
    if (late)
        late->bytes = allocation->mapped_bytes;
    fprintf(recorder->body, "free a%u\n", body->number);
    body->line_bytes = 0;
}

/* One process has it no more; the line ends with the last. */
static void freed(struct recorder_case *recorder, struct seen_object *allocation)
{
    struct seen_body *body = allocation ? allocation->body : NULL;

    if (!allocation || !allocation->has_line || !body->line_bytes)
        return;
    allocation->has_line = false;
    body->held -= allocation->held;
    if (--body->sights == 0)
        end_line(recorder, allocation);
    else if (allocation->held && !body->held)
        fprintf(recorder->body, "evict a%u\n", body->number);
    allocation->held = 0;
}

/* Another device has it: what it does to it is done to the same lines. */
static void opened(struct recorder_case *recorder, const struct seen_process *process,
                   const D3DDDI_OPENALLOCATIONINFO2 *infos, UINT count)
{
    for (UINT i = 0; i < count; i++) {
        struct seen_object *allocation = seen_find(process, infos[i].hAllocation, SEEN_ALLOCATION);
        struct late *late;

        if (allocation && allocation->body->line_bytes) {
            allocation->has_line = true;
            allocation->body->sights++;
            late = late_of(recorder, allocation->body->number);
            if (late)
                late->is_shared = true;
        } else if (!recorder->has_reopen_note) {
            recorder->has_reopen_note = true;
            fputs("note \"a resource was opened that no process had open: what is done to it is "
                  "not in the case\"\n",
                  recorder->body);
        }
    }
}

static void freed_all(struct recorder_case *recorder, struct seen_process *process,
                      const struct seen_object *device, const struct seen_object *resource)
{
    struct seen_object *object;

    list_for_each (object, &process->objects, struct seen_object, link) {
        if (object->kind == SEEN_ALLOCATION && !object->is_destroyed &&
            (!device || object->device == device) && (!resource || object->resource == resource))
            freed(recorder, object);
    }
}

void recorder_case_before(struct recorder_case *recorder, void *client,
                          const struct client_call *call)
{
    struct seen_process *process = seen_process_of(recorder->seen, client);

    if (!process || !NT_SUCCESS(call->status))
        return;
    switch (call->function) {
    case D3DKMT_FN_DestroyAllocation2: {
        const D3DKMT_DESTROYALLOCATION2 *arguments = call->arguments;
        const struct seen_object *resource =
            seen_find(process, arguments->hResource, SEEN_RESOURCE);

        if (resource && !arguments->AllocationCount)
            freed_all(recorder, process, NULL, resource);
        for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++)
            freed(recorder, seen_find(process, arguments->phAllocationList[i], SEEN_ALLOCATION));
        break;
    }
    case D3DKMT_FN_DestroyContext: {
        const struct seen_object *context = seen_find(
            process, ((const D3DKMT_DESTROYCONTEXT *)call->arguments)->hContext, SEEN_CONTEXT);

        if (context)
            drop_all_of(recorder, process, NULL, context);
        break;
    }
    case D3DKMT_FN_DestroyHwQueue: {
        const struct seen_object *queue = seen_find(
            process, ((const D3DKMT_DESTROYHWQUEUE *)call->arguments)->hHwQueue, SEEN_HW_QUEUE);

        if (queue) /* what waited in it is dropped with it */
            drop_all_of(recorder, process, NULL, queue->context);
        break;
    }
    default:
        break;
    }
}

/* What goes with a device gives its room to others before the call has ended. */
void recorder_case_called(struct recorder_case *recorder, void *client,
                          const struct client_call *call)
{
    struct seen_process *process = seen_process_of(recorder->seen, client);
    const struct seen_object *device =
        process && call->function == D3DKMT_FN_DestroyDevice
            ? seen_find(process, ((const D3DKMT_DESTROYDEVICE *)call->arguments)->hDevice,
                        SEEN_DEVICE)
            : NULL;

    if (!device)
        return;
    drop_all_of(recorder, process, device, NULL);
    freed_all(recorder, process, device, NULL);
}

static const char *offer_word(D3DKMT_OFFER_PRIORITY priority)
{
    return priority == D3DKMT_OFFER_PRIORITY_LOW    ? "offer priority=low"
           : priority == D3DKMT_OFFER_PRIORITY_HIGH ? "offer priority=high"
                                                    : "offer";
}

static void made_context(struct recorder_case *recorder, const struct seen_object *context)
{
    if (!context || !context->device)
        return;
    fprintf(recorder->head, "context c%u device=d%u node=%u\n", context->number,
            context->device->number, context->node);
    if (context->node >= recorder->nodes)
        recorder->nodes = context->node + 1;
}

void recorder_case_behind(struct recorder_case *recorder, void *client,
                          const struct client_call *call)
{
    struct seen_process *process = seen_process_of(recorder->seen, client);
    const struct seen_object *object;
    struct seen_work work;
    struct seen_sync wait;

    if (!process || !NT_SUCCESS(call->status))
        return;
    if (seen_work_of(process, call->function, call->arguments, &work))
        submitted(recorder, process, &work);
    else if (seen_wait_of(process, call->function, call->arguments, &wait) && wait.ends)
        waits(recorder, process, &wait);
    switch (call->function) {
    case D3DKMT_FN_CreateDevice:
        object = seen_find(process, ((const D3DKMT_CREATEDEVICE *)call->arguments)->hDevice,
                           SEEN_DEVICE);
        if (object)
            fprintf(recorder->head, "device d%u process=p%u\n", object->number, process->number);
        break;
    case D3DKMT_FN_CreateContextVirtual:
        made_context(recorder,
                     seen_find(process,
                               ((const D3DKMT_CREATECONTEXTVIRTUAL *)call->arguments)->hContext,
                               SEEN_CONTEXT));
        break;
    case D3DKMT_FN_CreateHwQueue:
        object = seen_find(process, ((const D3DKMT_CREATEHWQUEUE *)call->arguments)->hHwQueue,
                           SEEN_HW_QUEUE);
        if (object && object->context->further_of)
            made_context(recorder, object->context);
        break;
    case D3DKMT_FN_CreateAllocation2: {
        const D3DKMT_CREATEALLOCATION *arguments = call->arguments;
        struct seen_object *object;

        for (UINT i = 0; i < arguments->NumAllocations; i++) {
            object =
                seen_find(process, arguments->pAllocationInfo2[i].hAllocation, SEEN_ALLOCATION);
            if (object && object->device && i < recorder->created_count)
                created_allocation(recorder, object, &recorder->created[i]);
        }
        recorder->created_count = 0;
        break;
    }
    case D3DKMT_FN_OpenResource: {
        const D3DKMT_OPENRESOURCE *arguments = call->arguments;

        opened(recorder, process, arguments->pOpenAllocationInfo2, arguments->NumAllocations);
        break;
    }
    case D3DKMT_FN_OpenResourceFromNtHandle: {
        const D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments = call->arguments;

        opened(recorder, process, arguments->pOpenAllocationInfo2, arguments->NumAllocations);
        break;
    }
    case D3DKMT_FN_OfferAllocations: {
        const D3DKMT_OFFERALLOCATIONS *arguments = call->arguments;

        tell_offers(recorder, process, offer_word(arguments->Priority), arguments->NumAllocations,
                    arguments->HandleList, arguments->pResources);
        break;
    }
    case D3DKMT_FN_ReclaimAllocations2: {
        const D3DKMT_RECLAIMALLOCATIONS2 *arguments = call->arguments;

        tell_offers(recorder, process, "reclaim", arguments->NumAllocations, arguments->HandleList,
                    arguments->pResources);
        break;
    }
    case D3DKMT_FN_SetAllocationPriority: {
        const D3DKMT_SETALLOCATIONPRIORITY *arguments = call->arguments;

        for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++) {
            object = seen_find(process, arguments->phAllocationList[i], SEEN_ALLOCATION);
            if (object && object->body->line_bytes && arguments->pPriorities[i])
                fprintf(recorder->body, "priority a%u %u\n", object->body->number,
                        arguments->pPriorities[i]);
        }
        break;
    }
    default:
        break;
    }
}

void recorder_case_closed(struct recorder_case *recorder, void *client)
{
    struct seen_process *process = seen_process_of(recorder->seen, client);

    if (!process)
        return;
    drop_all_of(recorder, process, NULL, NULL);
    freed_all(recorder, process, NULL, NULL);
}

/* ---- The file -------------------------------------------------------------------------------- */

/*
 * What was left open is said: ` size=?NUMBER`, where what nobody has mapped is a page, and
 * ` flags=?NUMBER;` or `,?NUMBER;`, which are `shared` or nothing.
 */
static void write_body(const struct recorder_case *recorder, FILE *file)
{
    static const struct late nothing;
    const char *at = recorder->body_text, *open;

    while ((open = strchr(at, '?')) != NULL) {
        const bool is_size = open - at >= 5 && strncmp(open - 5, "size=", 5) == 0;
        const char *before = open;
        char *end;
        const unsigned long number = strtoul(open + 1, &end, 10);
        const struct late *late = number < recorder->late_room ? &recorder->late[number] : &nothing;

        if (!is_size && !late->is_shared) /* the comma, or ` flags=`, goes, too */
            before -= open[-1] == ',' ? 1 : strlen(" flags=");
        fwrite(at, 1, (size_t)(before - at), file);
        if (is_size)
            fprintf(file, "%" PRIu64, max_u64(late->bytes, 4096));
        else if (late->is_shared)
            fputs("shared", file);
        at = is_size ? end : end + 1;
    }
    fputs(at, file);
}

bool recorder_case_write(struct recorder_case *recorder, FILE *file,
                         const struct recorder_board *board)
{
    fflush(recorder->head);
    fflush(recorder->body);
    fprintf(file, "drydock-case 1\n# Recorded by Drydock: what the client did, without it.\n");
    fputs("name \"", file);
    for (unsigned i = 0; board->title[i] && i < 100; i++)
        fputc(board->title[i] < ' ' || strchr("\"\\\177", board->title[i]) ? '_' : board->title[i],
              file);
    fputs("\"\n", file);
    fprintf(file, "option model gpummu\noption local-memory %" PRIu64 "\n", board->local_bytes);
    fprintf(file, "option system-memory %" PRIu64 "\noption seed %" PRIu64 "\n",
            board->system_bytes, board->seed);
    fprintf(file, "option nodes %u\n", recorder->nodes);
    if (board->has_hw_queues || recorder->seen->counts[SEEN_HW_QUEUE])
        fputs("option hardware-queues yes\n", file);
    for (unsigned i = 1; i <= recorder->seen->process_count; i++)
        fprintf(file, "process p%u\n", i);
    fwrite(recorder->head_text, 1, recorder->head_size, file);
    fputc('\n', file);
    write_body(recorder, file);
    recorder->seen->is_lost |= ferror(recorder->head) || ferror(recorder->body);
    return !fflush(file) && !ferror(file) && !recorder->seen->is_lost;
}
