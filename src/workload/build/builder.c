/*
 * The builder: grows the arrays of a workload and checks each addition.
 *
 * Names are found through one open-addressing table of indices into the array of names, so an
 * identifier is hashed once per mention. Arrays double; nothing that is added is removed, so the
 * first error can simply stop everything.
 */
#include "workload/build/builder_private.h"
#include "workload/case/options.h"
#include "workload/words.h"

#include "base/bits.h"
#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Errors ------------------------------------------------------------------------------------- */

void workload_builder_fail(struct workload_builder *builder, const char *format, ...)
{
    char message[sizeof builder->error.text];
    const char *path = builder->out ? builder->out->path : "";
    va_list arguments;
    int used;

    if (builder->failed)
        return;
    builder->failed = true;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (builder->line)
        used = snprintf(builder->error.text, sizeof builder->error.text, "%.200s:%u: ", path,
                        builder->line);
    else
        used = snprintf(builder->error.text, sizeof builder->error.text, "%.200s: ", path);
    snprintf(builder->error.text + used, sizeof builder->error.text - (size_t)used, "%s", message);
}

void workload_builder_fail_memory(struct workload_builder *builder)
{
    workload_builder_fail(builder, "out of memory");
}

bool workload_builder_failed(const struct workload_builder *builder)
{
    return builder->failed;
}

void workload_builder_set_progress(struct workload_builder *builder,
                                   void (*progress)(void *context, uint64_t operations),
                                   void *context)
{
    builder->progress = progress;
    builder->progress_context = context;
}

void workload_builder_set_line(struct workload_builder *builder, uint32_t line)
{
    builder->line = line;
}

/* Life --------------------------------------------------------------------------------------- */

struct workload_builder *workload_builder_create_with(const struct base_services *services,
                                                      const char *path,
                                                      struct workload_error *error)
{
    struct workload_builder *builder = base_alloc(services, sizeof *builder);

    if (builder)
        builder->out = workload_owned_create(services, path);
    if (builder && builder->out)
        return builder;
    base_free(services, builder, sizeof *builder);
    workload_error_set(error, "%.200s: out of memory", path);
    return NULL;
}

struct workload_builder *workload_builder_create(const char *path, struct workload_error *error)
{
    return workload_builder_create_with(base_services_libc(), path, error);
}

/* Frees all but the workload. */
static void free_builder(struct workload_builder *builder, const struct base_services *services)
{
    base_free_array(services, builder->names, builder->name_room, sizeof *builder->names);
    base_free_array(services, builder->slots, builder->slot_count, sizeof *builder->slots);
    base_free_array(services, builder->closings, builder->closing_room, sizeof *builder->closings);
    base_free_array(services, builder->stamps, builder->stamp_room, sizeof *builder->stamps);
    base_free(services, builder, sizeof *builder);
}

void workload_builder_destroy(struct workload_builder *builder)
{
    struct workload_owned *owned;

    if (!builder)
        return;
    owned = builder->out;
    free_builder(builder, owned->services);
    workload_owned_free(owned);
}

bool workload_builder_finish(struct workload_builder *builder, struct workload **out,
                             struct workload_error *error)
{
    struct workload_owned *owned = builder->out;
    struct workload *view = &owned->view;

    *out = NULL;
    if (builder->in_list)
        workload_builder_fail(builder, "a submission is not ended (expected submit_end)");
    if (!builder->failed)
        workload_builder_end_header(builder);
    if (builder->failed) {
        if (error)
            *error = builder->error;
        workload_builder_destroy(builder);
        return false;
    }
    workload_owned_publish(owned);
    *out = view;
    free_builder(builder, owned->services);
    return true;
}

/* Names -------------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *text, size_t length)
{
    uint64_t hash = length;

    while (length >= 8) {
        uint64_t word;

        memcpy(&word, text, 8);
        hash = hash_pair(hash, word);
        text += 8;
        length -= 8;
    }
    if (length) {
        uint64_t word = 0;

        memcpy(&word, text, length);
        hash = hash_pair(hash, word);
    }
    return hash;
}

/* The slot that holds the name, or the empty one where it would go. */
static uint32_t *find_slot(const struct workload_builder *builder, const char *text, size_t length,
                           uint64_t hash)
{
    uint32_t mask = builder->slot_count - 1;

    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        const struct workload_name *name;

        if (!builder->slots[i])
            return &builder->slots[i];
        name = &builder->names[builder->slots[i] - 1];
        if (name->hash == hash && name->length == length &&
            memcmp(builder->out->strings + name->text, text, length) == 0)
            return &builder->slots[i];
    }
}

const struct workload_name *workload_builder_lookup(const struct workload_builder *builder,
                                                    const char *text, size_t length)
{
    uint32_t *slot;

    if (!builder->slot_count)
        return NULL;
    slot = find_slot(builder, text, length, hash_name(text, length));
    return *slot ? &builder->names[*slot - 1] : NULL;
}

/* Keeps the table at most half full. */
static bool grow_slots(struct workload_builder *builder)
{
    uint32_t new_count = builder->slot_count ? builder->slot_count * 2 : 64;
    uint32_t *slots;

    if (builder->name_count < builder->slot_count / 2)
        return true;
    slots = base_alloc_array(builder->out->services, new_count, sizeof *slots);
    if (!slots)
        return false;
    base_free_array(builder->out->services, builder->slots, builder->slot_count, sizeof *slots);
    builder->slots = slots;
    builder->slot_count = new_count;
    for (uint32_t i = 0; i < builder->name_count; i++) {
        uint32_t at = (uint32_t)builder->names[i].hash & (new_count - 1);

        while (slots[at])
            at = (at + 1) & (new_count - 1);
        slots[at] = i + 1;
    }
    return true;
}

struct workload_name *workload_builder_intern(struct workload_builder *builder, const char *text,
                                              size_t length)
{
    struct workload_owned *out = builder->out;
    uint64_t hash = hash_name(text, length);
    struct workload_name *name;
    uint32_t *slot;

    if (builder->failed)
        return NULL;
    if (!grow_slots(builder))
        goto no_memory;
    slot = find_slot(builder, text, length, hash);
    if (*slot)
        return &builder->names[*slot - 1];
    if (out->view.string_bytes > WORKLOAD_MAX_STRINGS) {
        workload_builder_fail(builder, "too many names (expected at most 1 GiB of text)");
        return NULL;
    }
    if (!workload_grow(out->services, &builder->names, &builder->name_room, builder->name_count, 1,
                       sizeof *builder->names) ||
        !workload_grow(out->services, &out->strings, &out->string_room, out->view.string_bytes,
                       (uint32_t)length + 1, 1))
        goto no_memory;

    name = &builder->names[builder->name_count++];
    *slot = builder->name_count;
    *name = (struct workload_name){.text = out->view.string_bytes,
                                   .length = (uint32_t)length,
                                   .hash = hash,
                                   .allocation = WORKLOAD_NONE,
                                   .last_allocation = WORKLOAD_NONE,
                                   .process = WORKLOAD_NONE,
                                   .device = WORKLOAD_NONE,
                                   .context = WORKLOAD_NONE};
    memcpy(out->strings + name->text, text, length);
    out->strings[name->text + length] = '\0';
    out->view.string_bytes += (uint32_t)length + 1;
    return name;

no_memory:
    workload_builder_fail_memory(builder);
    return NULL;
}

/* An entry for a new object's name; NULL after an error. */
static struct workload_name *take_name(struct workload_builder *builder, const char *what,
                                       const char *text, size_t length)
{
    if (builder->failed)
        return NULL;
    if (!workload_is_identifier(text, length)) {
        workload_builder_fail(builder,
                              "'%.*s' is no name for %s (expected a letter or '_', then letters, "
                              "digits or one of _.-/, at most %d characters)",
                              (int)(length > 80 ? 80 : length), text, what, WORKLOAD_MAX_NAME);
        return NULL;
    }
    return workload_builder_intern(builder, text, length);
}

bool workload_builder_text(struct workload_builder *builder, const char *what, const char *text,
                           uint32_t *out)
{
    size_t length = strlen(text);
    struct workload_name *name;

    *out = 0;
    if (builder->failed)
        return false;
    if (length == 0)
        return true;
    if (length > WORKLOAD_MAX_TEXT) {
        workload_builder_fail(builder, "%s is %zu characters long (expected at most %u)", what,
                              length, WORKLOAD_MAX_TEXT);
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            workload_builder_fail(builder, "%s has a control character (expected printable text)",
                                  what);
            return false;
        }
    }
    name = workload_builder_intern(builder, text, length);
    if (!name)
        return false;
    *out = name->text;
    return true;
}

/* Header ------------------------------------------------------------------------------------- */

static bool in_header(struct workload_builder *builder, const char *what)
{
    if (builder->failed)
        return false;
    if (builder->header_done) {
        workload_builder_fail(builder,
                              "%s after the first operation (expected name, option, process, "
                              "device and context lines before it)",
                              what);
        return false;
    }
    return true;
}

void workload_builder_name(struct workload_builder *builder, const char *title)
{
    if (!in_header(builder, "name"))
        return;
    if (builder->out->title) {
        workload_builder_fail(builder, "a second name (expected one at most)");
        return;
    }
    workload_builder_text(builder, "name", title, &builder->out->title);
}

void workload_builder_option(struct workload_builder *builder, const char *key, const char *value)
{
    struct workload_owned *out = builder->out;
    struct workload_name *name;
    struct workload_option option;
    struct workload_error error;
    char room[WORKLOAD_MAX_OPTION_VALUE + 1];

    if (!in_header(builder, "option"))
        return;
    if (!workload_check_option(key, value, &error)) {
        workload_builder_fail(builder, "%s", error.text);
        return;
    }
    value = workload_option_as_kept(key, value, room);
    name = workload_builder_intern(builder, key, strlen(key));
    if (!name)
        return;
    option.key = name->text;
    for (uint32_t i = 0; i < out->view.option_count; i++) {
        if (out->options[i].key == option.key) {
            workload_builder_fail(builder, "option %s is given twice (expected once)", key);
            return;
        }
    }
    name = workload_builder_intern(builder, value, strlen(value));
    if (!name)
        return;
    option.value = name->text;
    option.line = builder->line;
    if (!workload_grow(out->services, &out->options, &out->option_room, out->view.option_count, 1,
                       sizeof option)) {
        workload_builder_fail_memory(builder);
        return;
    }
    out->options[out->view.option_count++] = option;
}

/* Room for one more process, device or context. */
static bool grow_objects(struct workload_builder *builder, void *array, uint32_t *room,
                         uint32_t count, size_t size, const char *what)
{
    if (count >= WORKLOAD_MAX_OBJECTS) {
        workload_builder_fail(builder, "too many of %s (expected at most %u)", what,
                              WORKLOAD_MAX_OBJECTS);
        return false;
    }
    if (!workload_grow(builder->out->services, array, room, count, 1, size)) {
        workload_builder_fail_memory(builder);
        return false;
    }
    return true;
}

uint32_t workload_builder_process(struct workload_builder *builder, const char *name)
{
    struct workload_owned *out = builder->out;
    struct workload_name *entry;

    if (!in_header(builder, "process"))
        return WORKLOAD_NONE;
    entry = take_name(builder, "a process", name, strlen(name));
    if (!entry)
        return WORKLOAD_NONE;
    if (entry->process != WORKLOAD_NONE) {
        workload_builder_fail(builder, "process %s is declared twice (expected a new name)", name);
        return WORKLOAD_NONE;
    }
    if (!grow_objects(builder, &out->processes, &out->process_room, out->view.process_count,
                      sizeof *out->processes, "process"))
        return WORKLOAD_NONE;
    out->processes[out->view.process_count] = (struct workload_process){.name = entry->text};
    entry->process = out->view.process_count;
    return out->view.process_count++;
}

uint32_t workload_builder_device(struct workload_builder *builder, const char *name,
                                 uint32_t process)
{
    struct workload_owned *out = builder->out;
    struct workload_name *entry;

    if (!in_header(builder, "device"))
        return WORKLOAD_NONE;
    if (process == 0 && out->view.process_count == 0)
        workload_builder_process(builder, "p0");
    entry = take_name(builder, "a device", name, strlen(name));
    if (!entry)
        return WORKLOAD_NONE;
    if (entry->device != WORKLOAD_NONE) {
        workload_builder_fail(builder, "device %s is declared twice (expected a new name)", name);
        return WORKLOAD_NONE;
    }
    if (process >= out->view.process_count) {
        workload_builder_fail(builder, "process %u does not exist (expected below %u)", process,
                              out->view.process_count);
        return WORKLOAD_NONE;
    }
    if (!grow_objects(builder, &out->devices, &out->device_room, out->view.device_count,
                      sizeof *out->devices, "device"))
        return WORKLOAD_NONE;
    out->devices[out->view.device_count] =
        (struct workload_device){.name = entry->text, .process = process};
    entry->device = out->view.device_count;
    return out->view.device_count++;
}

uint32_t workload_builder_context(struct workload_builder *builder, const char *name,
                                  uint32_t device, uint32_t node)
{
    struct workload_owned *out = builder->out;
    struct workload_name *entry;

    if (!in_header(builder, "context"))
        return WORKLOAD_NONE;
    if (device == 0 && out->view.device_count == 0)
        workload_builder_device(builder, "d0", 0);
    entry = take_name(builder, "a context", name, strlen(name));
    if (!entry)
        return WORKLOAD_NONE;
    if (strcmp(name, "all") == 0) {
        workload_builder_fail(builder,
                              "'all' is no name for a context (expected another: wait all means "
                              "every context)");
        return WORKLOAD_NONE;
    }
    if (entry->context != WORKLOAD_NONE) {
        workload_builder_fail(builder, "context %s is declared twice (expected a new name)", name);
        return WORKLOAD_NONE;
    }
    if (device >= out->view.device_count) {
        workload_builder_fail(builder, "device %u does not exist (expected below %u)", device,
                              out->view.device_count);
        return WORKLOAD_NONE;
    }
    if (node >= WORKLOAD_MAX_NODES) {
        workload_builder_fail(builder, "node %u does not exist (expected below %u)", node,
                              WORKLOAD_MAX_NODES);
        return WORKLOAD_NONE;
    }
    if (!grow_objects(builder, &out->contexts, &out->context_room, out->view.context_count,
                      sizeof *out->contexts, "context"))
        return WORKLOAD_NONE;
    out->contexts[out->view.context_count] =
        (struct workload_context){.name = entry->text, .device = device, .node = node};
    entry->context = out->view.context_count;
    return out->view.context_count++;
}

/* Contexts of the same device and node have one area if they share any: they say the same of it. */
static bool agrees_with_others(const struct workload_context *contexts, uint32_t count,
                               uint32_t context, const struct workload_save_area *save)
{
    const struct workload_context *own = &contexts[context];

    for (uint32_t i = 0; i < count; i++) {
        const struct workload_context *other = &contexts[i];

        if (i == context || !save->is_shared || !other->save.bytes || !other->save.is_shared ||
            other->device != own->device || other->node != own->node)
            continue;
        if (other->save.bytes != save->bytes || other->save.is_local != save->is_local ||
            other->save.is_mapped != save->is_mapped ||
            other->save.has_cpu_image != save->has_cpu_image)
            return false;
    }
    return true;
}

void workload_builder_save_area(struct workload_builder *builder, uint32_t context,
                                const struct workload_save_area *save)
{
    if (save->bytes % 8 || save->bytes < 64 || save->bytes > MiB) {
        workload_builder_fail(builder,
                              "a context-save area of %llu bytes is not possible (expected a "
                              "multiple of 8 from 64 to 1M)",
                              (unsigned long long)save->bytes);
        return;
    }
    if (!agrees_with_others(builder->out->contexts, builder->out->view.context_count, context,
                            save)) {
        workload_builder_fail(builder,
                              "another context of the device and node shares its save area "
                              "already and describes it differently");
        return;
    }
    builder->out->contexts[context].save = *save;
}

bool workload_builder_end_header(struct workload_builder *builder)
{
    const struct workload *view = &builder->out->view;

    if (builder->header_done)
        return !builder->failed;
    if (!view->process_count)
        workload_builder_process(builder, "p0");
    if (!view->device_count)
        workload_builder_device(builder, "d0", 0);
    if (!view->context_count)
        workload_builder_context(builder, "c0", 0, 0);
    builder->header_done = true;
    return !builder->failed;
}
