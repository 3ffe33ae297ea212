/*
 * Importers: real traces become workloads.
 *
 * Place      workload. Recognises a file by its content and fills a builder.
 * Model      .trace: tensors and measured kernels of one training step, repeated.
 *            .rmv:   a Radeon Memory Visualizer capture: the page-table updates, reservations and
 *                    resources that a real memory manager made, in time order.
 *            A case file is accepted as well and loaded as it is.
 *            docs/case-format.md says what each becomes.
 * Errors     bool and struct workload_error. A damaged file is an error with the place in it,
 *            never a shorter workload.
 */
#ifndef WORKLOAD_IMPORT_H
#define WORKLOAD_IMPORT_H

#include "workload/workload.h"

enum workload_import_format {
    WORKLOAD_IMPORT_CASE,
    WORKLOAD_IMPORT_TRACE,
    WORKLOAD_IMPORT_RMV,
};

struct workload_import_options {
    uint32_t steps; /* .trace: how often the step is repeated; 0: two */
    /* So many operations of the case are made. Now and then; NULL: nobody looks. */
    void (*progress)(void *context, uint64_t operations);
    void *progress_context;
};

/* Counts to compare with what the source's own tools say. */
struct workload_import_report {
    enum workload_import_format format;
    uint32_t tensor_count; /* .trace */
    uint32_t kernel_count; /* of one step */
    uint32_t stream_count; /* .rmv */
    uint32_t page_table_update_count;
    uint32_t virtual_allocation_count;
    uint32_t virtual_free_count;
    uint32_t resource_count;
    uint32_t resource_bind_count;
    uint32_t residency_update_count;
    uint32_t process_count;
    uint64_t token_count;
    uint64_t heap_bytes[WORKLOAD_SEGMENT_COUNT]; /* size of each heap; 0 where there is none */
};

/* options and report may be NULL. */
bool workload_import(const char *path, const struct workload_import_options *options,
                     struct workload **out, struct workload_import_report *report,
                     struct workload_error *error);
bool workload_import_memory(const void *data, size_t size, const char *path,
                            const struct workload_import_options *options, struct workload **out,
                            struct workload_import_report *report, struct workload_error *error);

#endif
