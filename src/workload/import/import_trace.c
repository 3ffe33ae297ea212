/*
 * .trace: the tensors and measured kernels of one training step, played several times.
 *
 *     A id bytes global birth death         a tensor; birth and death are kernel indices
 *     S index duration_ns nrefs id:r|w|rw   one kernel and the tensors it touches
 *
 * A global tensor is allocated once and filled by the GPU in the phase "load". Any other one is
 * allocated in each step right before the kernel of its birth and freed right after the kernel of
 * its death, which is the last that uses it; a death behind the last kernel is the end of the
 * step. That order gives the LRU figures known for these traces. The death of a global tensor is
 * the number of kernels, which tells a file that was cut off between two lines.
 *
 * Reading is one pass into two tables and a pool of references; nothing is played before all of
 * it is known to be sound.
 */
#include "workload/import/import_formats.h"
#include "workload/build/builder_private.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENSORS (1u << 20)
#define MAX_KERNELS (1u << 22)

struct tensor {
    uint64_t size;
    uint32_t birth, death;
    bool known, is_global;
    uint32_t id;         /* in the workload, while it lives */
    uint32_t next_birth; /* tensor + 1 with the same birth */
    uint32_t next_death;
};

struct kernel {
    uint64_t duration_ns;
    uint32_t first_ref, ref_count;
    uint32_t births, deaths; /* tensor + 1: heads of the lists */
};

struct ref {
    uint32_t tensor, access;
};

struct reader {
    struct workload_builder *builder;
    const struct base_services *services;
    struct tensor *tensors;
    struct kernel *kernels;
    struct ref *refs;
    uint32_t tensor_count, tensor_room;
    uint32_t kernel_count, kernel_room;
    uint32_t ref_count, ref_room;
};

#define fail(reader, ...) workload_builder_fail((reader)->builder, __VA_ARGS__)

/* The next word of a line, or false at its end. */
static bool next_word(const char **at, const char *end, const char **word, size_t *length)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        ++*at;
    *word = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        ++*at;
    *length = (size_t)(*at - *word);
    return *length > 0;
}

/* The next word as a number up to most. */
static bool next_number(struct reader *reader, const char **at, const char *end, const char *what,
                        uint64_t most, uint64_t *out)
{
    const char *word;
    size_t length;

    if (next_word(at, end, &word, &length) && workload_parse_number(word, length, out) &&
        *out <= most)
        return true;
    fail(reader, "%s is '%.*s' (expected a number up to %" PRIu64 ")", what,
         (int)min_u64(length, 40), word, most);
    return false;
}

/* Room for tensor number index; the ones between are unknown so far. */
static bool reach_tensor(struct reader *reader, uint32_t index)
{
    if (index < reader->tensor_count)
        return true;
    if (!workload_grow(reader->services, &reader->tensors, &reader->tensor_room,
                       reader->tensor_count, index + 1 - reader->tensor_count,
                       sizeof *reader->tensors)) {
        workload_builder_fail_memory(reader->builder);
        return false;
    }
    memset(&reader->tensors[reader->tensor_count], 0,
           (index + 1 - reader->tensor_count) * sizeof *reader->tensors);
    reader->tensor_count = index + 1;
    return true;
}

static void read_tensor(struct reader *reader, const char *at, const char *end)
{
    uint64_t id, size, is_global, birth, death;
    struct tensor *tensor;

    if (!next_number(reader, &at, end, "the tensor's id", MAX_TENSORS - 1, &id) ||
        !next_number(reader, &at, end, "the tensor's size", WORKLOAD_MAX_ALLOCATION, &size) ||
        !next_number(reader, &at, end, "global", 1, &is_global) ||
        !next_number(reader, &at, end, "birth", MAX_KERNELS, &birth) ||
        !next_number(reader, &at, end, "death", MAX_KERNELS, &death) ||
        !reach_tensor(reader, (uint32_t)id))
        return;
    tensor = &reader->tensors[id];
    if (tensor->known) {
        fail(reader, "tensor %" PRIu64 " is described twice (expected once)", id);
        return;
    }
    if (size == 0 || death < birth) {
        fail(reader,
             "tensor %" PRIu64 " has %" PRIu64 " bytes, birth %" PRIu64 " and death %" PRIu64
             " (expected a size and a death not before birth)",
             id, size, birth, death);
        return;
    }
    *tensor = (struct tensor){.size = size,
                              .birth = (uint32_t)birth,
                              .death = (uint32_t)death,
                              .known = true,
                              .is_global = is_global != 0,
                              .id = WORKLOAD_NONE};
}

/* id:r, id:w or id:rw */
static bool read_ref(struct reader *reader, const char *word, size_t length, struct ref *ref)
{
    const char *colon = memchr(word, ':', length);
    size_t access = colon ? length - (size_t)(colon - word) - 1 : 0;
    uint64_t id;

    if (colon && workload_parse_number(word, (size_t)(colon - word), &id) && id < MAX_TENSORS) {
        ref->tensor = (uint32_t)id;
        ref->access = 0;
        if (access == 1 && colon[1] == 'r')
            ref->access = WORKLOAD_ACCESS_READ;
        else if (access == 1 && colon[1] == 'w')
            ref->access = WORKLOAD_ACCESS_WRITE;
        else if (access == 2 && colon[1] == 'r' && colon[2] == 'w')
            ref->access = WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE;
        if (ref->access)
            return true;
    }
    fail(reader, "'%.*s' is no reference (expected ID:r, ID:w or ID:rw)", (int)min_u64(length, 40),
         word);
    return false;
}

static void read_kernel(struct reader *reader, const char *at, const char *end)
{
    uint64_t index, duration, count;
    struct kernel kernel;
    const char *word;
    size_t length;

    if (!next_number(reader, &at, end, "the kernel's index", MAX_KERNELS - 1, &index) ||
        !next_number(reader, &at, end, "duration", WORKLOAD_MAX_DURATION_NS, &duration) ||
        !next_number(reader, &at, end, "the number of references", WORKLOAD_MAX_OP_REFS, &count))
        return;
    if (index != reader->kernel_count) {
        fail(reader, "kernel %" PRIu64 " (expected kernel %u: they come in order)", index,
             reader->kernel_count);
        return;
    }
    kernel = (struct kernel){.duration_ns = duration, .first_ref = reader->ref_count};
    while (next_word(&at, end, &word, &length)) {
        struct ref ref;

        if (!read_ref(reader, word, length, &ref))
            return;
        if (kernel.ref_count == count)
            break;
        if (!workload_grow(reader->services, &reader->refs, &reader->ref_room, reader->ref_count, 1,
                           sizeof ref)) {
            workload_builder_fail_memory(reader->builder);
            return;
        }
        reader->refs[reader->ref_count++] = ref;
        kernel.ref_count++;
    }
    if (kernel.ref_count != count || length) {
        fail(reader, "kernel %" PRIu64 " has another number of references (expected %" PRIu64 ")",
             index, count);
        return;
    }
    if (!workload_grow(reader->services, &reader->kernels, &reader->kernel_room,
                       reader->kernel_count, 1, sizeof kernel)) {
        workload_builder_fail_memory(reader->builder);
        return;
    }
    reader->kernels[reader->kernel_count++] = kernel;
}

static void read_lines(struct reader *reader, const char *at, const char *end)
{
    uint32_t line = 0;

    while (at < end && !workload_builder_failed(reader->builder)) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        const char *rest = at, *word;
        size_t length;

        workload_builder_set_line(reader->builder, ++line);
        if (next_word(&rest, line_end, &word, &length) && word[0] != '#') {
            if (length == 1 && word[0] == 'A')
                read_tensor(reader, rest, line_end);
            else if (length == 1 && word[0] == 'S')
                read_kernel(reader, rest, line_end);
            else
                fail(reader, "'%.*s' begins no line of a trace (expected A or S)",
                     (int)min_u64(length, 40), word);
        }
        at = newline ? newline + 1 : end;
    }
    workload_builder_set_line(reader->builder, 0);
}

/* Hangs each tensor on the kernels of its birth and death, and checks every reference. */
static void connect(struct reader *reader)
{
    if (!reader->kernel_count) {
        fail(reader, "no kernels (expected S lines)");
        return;
    }
    /* Backwards, so that each list is in the order of ids. */
    for (uint32_t i = reader->tensor_count; i-- > 0;) {
        struct tensor *tensor = &reader->tensors[i];
        uint32_t last = reader->kernel_count - 1;

        if (!tensor->known)
            continue;
        if (tensor->is_global && tensor->death != reader->kernel_count) {
            fail(reader,
                 "global tensor %u lives to the end of kernel %u, but there are %u kernels "
                 "(expected "
                 "as many: a trace that was cut off?)",
                 i, tensor->death, reader->kernel_count);
            return;
        }
        if (tensor->is_global)
            continue;
        if (tensor->birth > last) {
            fail(reader, "tensor %u is born at kernel %u (expected one of the %u kernels)", i,
                 tensor->birth, reader->kernel_count);
            return;
        }
        if (tensor->death > last)
            tensor->death = last;
        tensor->next_birth = reader->kernels[tensor->birth].births;
        reader->kernels[tensor->birth].births = i + 1;
        tensor->next_death = reader->kernels[tensor->death].deaths;
        reader->kernels[tensor->death].deaths = i + 1;
    }
    for (uint32_t k = 0; k < reader->kernel_count; k++) {
        for (uint32_t r = 0; r < reader->kernels[k].ref_count; r++) {
            uint32_t id = reader->refs[reader->kernels[k].first_ref + r].tensor;
            const struct tensor *tensor = id < reader->tensor_count ? &reader->tensors[id] : NULL;

            if (!tensor || !tensor->known) {
                fail(reader, "kernel %u uses tensor %u (expected one with an A line)", k, id);
                return;
            }
            if (!tensor->is_global && (k < tensor->birth || k > tensor->death)) {
                fail(reader, "kernel %u uses tensor %u (expected within its life, %u to %u)", k, id,
                     tensor->birth, tensor->death);
                return;
            }
        }
    }
}

static void make_tensor(struct reader *reader, uint32_t index)
{
    struct workload_allocation_info info = {.size = reader->tensors[index].size,
                                            .segments = {WORKLOAD_SEGMENT_LOCAL},
                                            .segment_count = 1};
    char name[16];

    snprintf(name, sizeof name, "t%u", index);
    reader->tensors[index].id = workload_builder_alloc(reader->builder, name, &info);
}

static void play_step(struct reader *reader)
{
    struct workload_builder *builder = reader->builder;

    for (uint32_t k = 0; k < reader->kernel_count; k++) {
        const struct kernel *kernel = &reader->kernels[k];

        for (uint32_t t = kernel->births; t; t = reader->tensors[t - 1].next_birth)
            make_tensor(reader, t - 1);
        workload_builder_submit_begin(builder, 0, kernel->duration_ns);
        for (uint32_t r = 0; r < kernel->ref_count; r++) {
            const struct ref *ref = &reader->refs[kernel->first_ref + r];

            workload_builder_ref(builder, reader->tensors[ref->tensor].id, 0, 0, ref->access, 0);
        }
        workload_builder_submit_end(builder);
        for (uint32_t t = kernel->deaths; t; t = reader->tensors[t - 1].next_death)
            workload_builder_free(builder, reader->tensors[t - 1].id);
    }
    workload_builder_wait(builder, WORKLOAD_NONE);
}

static void load_globals(struct reader *reader)
{
    struct workload_builder *builder = reader->builder;

    workload_builder_step(builder, "load");
    for (uint32_t i = 0; i < reader->tensor_count; i++) {
        if (!reader->tensors[i].known || !reader->tensors[i].is_global)
            continue;
        make_tensor(reader, i);
        workload_builder_submit_begin(builder, 0, 0);
        workload_builder_ref(builder, reader->tensors[i].id, 0, 0, WORKLOAD_ACCESS_WRITE, 0);
        workload_builder_submit_end(builder);
    }
    workload_builder_wait(builder, WORKLOAD_NONE);
}

void workload_import_trace(struct workload_builder *builder, const char *text, size_t size,
                           uint32_t steps, struct workload_import_report *report)
{
    struct reader reader = {.builder = builder, .services = builder->out->services};
    char name[32];

    read_lines(&reader, text, text + size);
    if (!workload_builder_failed(builder))
        connect(&reader);
    if (!workload_builder_failed(builder)) {
        workload_builder_name(builder, "a training step, traced");
        /* The machine that the figures known for these traces are for. */
        workload_builder_option(builder, "local-memory", "40G");
        workload_builder_option(builder, "link-bandwidth", "15754000000");
        load_globals(&reader);
        for (uint32_t step = 1; step <= steps && !workload_builder_failed(builder); step++) {
            snprintf(name, sizeof name, "step-%u", step);
            workload_builder_step(builder, name);
            play_step(&reader);
        }
    }
    for (uint32_t i = 0; i < reader.tensor_count; i++)
        report->tensor_count += reader.tensors[i].known;
    report->kernel_count = reader.kernel_count;
    base_free_array(reader.services, reader.tensors, reader.tensor_room, sizeof *reader.tensors);
    base_free_array(reader.services, reader.kernels, reader.kernel_room, sizeof *reader.kernels);
    base_free_array(reader.services, reader.refs, reader.ref_room, sizeof *reader.refs);
}
