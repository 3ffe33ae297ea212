/*
 * Builder: the one way to make a workload. Parser, generators and importers all go through it, so
 * all share its checks.
 *
 * Place      workload. For whoever makes a workload; nobody else needs it.
 * Model      The calls of the header (name, option, process, device, context) come before the first
 *            operation. Each call checks what it is given, and appends it.
 * Ownership  workload_builder_create() gives a builder. workload_builder_finish() takes the builder
 *            and gives the workload.
 * Errors     Errors stick. The first error is kept; later calls do nothing, and those that return
 *            an index return WORKLOAD_NONE. workload_builder_finish() reports the error, so a
 *            producer need not look before.
 */
#ifndef WORKLOAD_BUILDER_H
#define WORKLOAD_BUILDER_H

#include "workload/workload.h"

struct workload_builder;

struct workload_builder *workload_builder_create(const char *path, struct workload_error *error);
void workload_builder_destroy(struct workload_builder *builder);
/* Ends the builder, successful or not. */
bool workload_builder_finish(struct workload_builder *builder, struct workload **out,
                             struct workload_error *error);

/* Is told now and then how many operations there are; NULL: nobody looks. */
void workload_builder_set_progress(struct workload_builder *builder,
                                   void (*progress)(void *context, uint64_t operations),
                                   void *context);

/* Line of the source for messages and for the operations that follow; 0: none. */
void workload_builder_set_line(struct workload_builder *builder, uint32_t line);
bool workload_builder_failed(const struct workload_builder *builder);
void workload_builder_fail(struct workload_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void workload_builder_name(struct workload_builder *builder, const char *title);
void workload_builder_option(struct workload_builder *builder, const char *key, const char *value);
uint32_t workload_builder_process(struct workload_builder *builder, const char *name);
uint32_t workload_builder_device(struct workload_builder *builder, const char *name,
                                 uint32_t process);
uint32_t workload_builder_context(struct workload_builder *builder, const char *name,
                                  uint32_t device, uint32_t node);

void workload_builder_save_area(struct workload_builder *builder, uint32_t context,
                                const struct workload_save_area *save);

/*
 * Any operation: op as its row of the table of directives says (workload/case/directives.inc), with
 * ref_count references. line, first_ref and ref_count of op are not looked at.
 */
void workload_builder_add(struct workload_builder *builder, const struct workload_op *op,
                          const struct workload_ref *refs, uint32_t ref_count);
/* workload_builder_add() with a text, which becomes op->text. */
void workload_builder_add_text(struct workload_builder *builder, const struct workload_op *op,
                               const char *text);
/*
 * workload_builder_add() with references to whole allocations. op->object is the device;
 * WORKLOAD_NONE: the device of the first allocation.
 */
void workload_builder_add_list(struct workload_builder *builder, const struct workload_op *op,
                               const uint32_t *allocations, uint32_t count);

/* ---- Operations in the words of those who make workloads ---- */

/* Zero is a sensible value of every member but size. va 0 or WORKLOAD_VA_AUTO: automatic. */
struct workload_allocation_info {
    uint64_t size;
    uint64_t align;
    uint64_t va;
    uint32_t device;
    uint32_t priority; /* 0: normal */
    uint32_t flags;
    uint8_t segments[WORKLOAD_MAX_SEGMENTS];
    uint8_t segment_count;
};

uint32_t workload_builder_alloc(struct workload_builder *builder, const char *name,
                                const struct workload_allocation_info *info);
/* The live allocation of that name; WORKLOAD_NONE, and no error: there is none. */
uint32_t workload_builder_find(const struct workload_builder *builder, const char *name);
void workload_builder_free(struct workload_builder *builder, uint32_t allocation);

/* size 0: to the end of the allocation. */
void workload_builder_write(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                            uint64_t size, uint64_t key);
void workload_builder_read(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                           uint64_t size);

/* submit_begin, one ref per accessed range, submit_end: nothing else between. */
void workload_builder_submit_begin(struct workload_builder *builder, uint32_t context,
                                   uint64_t duration_ns);
/* The submission that is open is not to run; it has no signal. */
void workload_builder_null(struct workload_builder *builder);
/* It is a present in so many rectangles; it has no signal, and it runs. */
void workload_builder_present(struct workload_builder *builder, uint32_t rectangles);
void workload_builder_ref(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                          uint64_t size, uint32_t access, uint64_t key);
void workload_builder_submit_end(struct workload_builder *builder);

void workload_builder_wait(struct workload_builder *builder, uint32_t context);

/* Lists of allocations. device WORKLOAD_NONE: the device of the first allocation. */
void workload_builder_renew(struct workload_builder *builder, uint32_t context,
                            enum workload_renewal kind);
void workload_builder_resident(struct workload_builder *builder, uint32_t device,
                               const uint32_t *allocations, uint32_t count);
void workload_builder_evict(struct workload_builder *builder, uint32_t device,
                            const uint32_t *allocations, uint32_t count);
/* Until an allocation is reclaimed nothing but free may name it. priority: 0 low, 1 normal, 2 high.
 */
void workload_builder_offer(struct workload_builder *builder, uint32_t device,
                            const uint32_t *allocations, uint32_t count, uint32_t priority);
void workload_builder_reclaim(struct workload_builder *builder, uint32_t device,
                              const uint32_t *allocations, uint32_t count);

void workload_builder_priority(struct workload_builder *builder, uint32_t allocation,
                               uint32_t priority);
void workload_builder_move(struct workload_builder *builder, uint32_t allocation,
                           enum workload_segment segment);
void workload_builder_budget(struct workload_builder *builder, uint32_t process, uint64_t bytes);
void workload_builder_step(struct workload_builder *builder, const char *name);
/* by: whose handles go along, 0 the context's, 1 its device's, 2 none. A template lays the data
 * out. */
void workload_builder_escape(struct workload_builder *builder, uint32_t context, uint64_t by,
                             bool needs_hardware, const char *template);

void workload_builder_map(struct workload_builder *builder, uint32_t allocation, uint64_t va,
                          uint64_t offset, uint64_t size, uint32_t protection,
                          uint64_t driver_protection);
void workload_builder_unmap(struct workload_builder *builder, uint32_t allocation, uint64_t va);
void workload_builder_pte_map(struct workload_builder *builder, uint32_t process, uint64_t va,
                              enum workload_segment segment, uint64_t page, uint64_t page_count,
                              uint32_t page_shift, uint32_t protection);
/* Pages that are nowhere: they read as zero. */
void workload_builder_pte_zero(struct workload_builder *builder, uint32_t process, uint64_t va,
                               uint64_t page_count);
void workload_builder_pte_unmap(struct workload_builder *builder, uint32_t process, uint64_t va,
                                uint64_t page_count);
/* Tiles: multiples of 64 KiB of the context's addresses; pool pages of 4 KiB. */
void workload_builder_tile_map(struct workload_builder *builder, uint32_t context, uint32_t pool,
                               uint64_t va, uint64_t page, uint64_t page_count);
void workload_builder_tile_unmap(struct workload_builder *builder, uint32_t context, uint64_t va,
                                 uint64_t page_count);
void workload_builder_tile_copy(struct workload_builder *builder, uint32_t context, uint64_t from,
                                uint64_t to, uint64_t page_count);

/* Native fences. A signal belongs to the submission that is open, behind its work. */
void workload_builder_fence_create(struct workload_builder *builder, uint32_t process,
                                   uint64_t fence, uint64_t value);
void workload_builder_fence_destroy(struct workload_builder *builder, uint64_t fence);
void workload_builder_fence_wait(struct workload_builder *builder, uint64_t fence, uint64_t value);
void workload_builder_pack_fences(struct workload_builder *builder);
void workload_builder_show(struct workload_builder *builder, uint32_t allocation);
void workload_builder_hide(struct workload_builder *builder);
void workload_builder_evict_fences(struct workload_builder *builder);
void workload_builder_signal(struct workload_builder *builder, uint64_t fence, uint64_t value);
/* Ranges of addresses that are taken and given back. */
void workload_builder_vm_reserve(struct workload_builder *builder, uint32_t process, uint64_t va,
                                 uint64_t size);
void workload_builder_vm_release(struct workload_builder *builder, uint32_t process, uint64_t va,
                                 uint64_t size);

/* Events of the GPU. Between a power-down and `power on` only notes stand. */
void workload_builder_hang(struct workload_builder *builder, uint32_t node, uint64_t packets,
                           bool ends_when_asked);
void workload_builder_fault(struct workload_builder *builder, uint32_t context,
                            enum workload_fault fault, bool is_write);
void workload_builder_preempt(struct workload_builder *builder, uint32_t node);
void workload_builder_lose_interrupt(struct workload_builder *builder, uint32_t node);
void workload_builder_reset(struct workload_builder *builder);
void workload_builder_switch_domain(struct workload_builder *builder, uint64_t duration_ns);
void workload_builder_lock(struct workload_builder *builder, uint32_t allocation);
void workload_builder_unlock(struct workload_builder *builder, uint32_t allocation);
void workload_builder_power(struct workload_builder *builder, enum workload_power power);
void workload_builder_unplug(struct workload_builder *builder);
void workload_builder_plug(struct workload_builder *builder);
void workload_builder_remove(struct workload_builder *builder, uint64_t after_ns);
void workload_builder_note(struct workload_builder *builder, const char *text);
void workload_builder_label(struct workload_builder *builder, uint32_t process, uint64_t va,
                            uint64_t size, const char *text);

#endif
