/*
 * Test rig of the checking layer: a driver that does what a test tells it, below the layer, and the
 * calls of a manager above it.
 *
 * Place      check, tests only.
 * Model      rig_init() brings an adapter up as a lawful manager and a lawful driver would: caps,
 *            segments, in the GpuMmu model a system process, a device and contexts. Everything that
 *            a test does not change is lawful, so a test states one deviation and nothing else.
 *
 *            A rule has a pair of tests, made with
 *
 *                RULE_BROKEN(PB_004) { rig->answer = move_too_far; rig_build(rig, &operation); }
 *                RULE_KEPT(PB_004) { ... the nearest lawful call ... }
 *
 *            Broken: this rule is found and no other one. Kept: no rule is found, and this one was
 *            looked at. Both start with a rig in the GpuMmu model; RULE_BROKEN_IN(PB_004,
 *            RIG_PHYSICAL) and RULE_KEPT_IN choose. The macros enter their tests in the list of
 *            their file, before its main() runs, which plays that list and tests of its own with
 *            RIG_RUN_TESTS(tests).
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_H
#define DRYDOCK_CHECK_TEST_RIG_H

#include "check/check.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum rig_model { RIG_PHYSICAL, RIG_GPUMMU };

#define RIG_BUFFER_BYTES  16384u
#define RIG_PRIVATE_BYTES 64u
#define RIG_PACKET_BYTES  16u /* what the driver writes for an operation */
#define RIG_MAX_SEGMENTS  8u
#define RIG_SLOTS         1024u    /* of the aperture, segment 2 */
#define RIG_RAM_PAGES     0x10000u /* that the device may use; their bytes are 0 */
#define RIG_DUMMY_PAGE    0x77u
#define RIG_BAR           UINT64_C(0xe0000000) /* BAR 1: shows local memory in order */

struct rig {
    struct miniport bottom;         /* first: the driver's miniport is the rig */
    struct failing_services memory; /* the check's */
    struct miniport *top;
    struct miniport_host host;
    struct miniport_host *drivers_host; /* whom the driver calls */
    struct check *check;
    struct check_config config;
    struct rule_counts counts;
    struct check_calls calls;
    struct finding last;
    unsigned finding_count;
    struct hash findings; /* all that was said */
    unsigned irql, held;

    enum rig_model model;
    ULONG version;
    /* What the driver answers to queries. */
    DXGK_DRIVERCAPS caps;
    DXGK_GPUMMUCAPS gpummu;
    DXGK_PHYSICALADAPTERCAPS physical;
    DXGK_PAGE_TABLE_LEVEL_DESC levels[4];
    DXGK_SEGMENTDESCRIPTOR4 segments[RIG_MAX_SEGMENTS];
    unsigned segment_count;
    unsigned paging_segment;
    uint32_t paging_private_bytes;

    /* The driver's answer to a call; NULL: rig_answer(). */
    NTSTATUS (*answer)(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg);
    void *told;                  /* the test's, for answer */
    uint64_t system_bytes;       /* that the driver has allocated */
    uint32_t enabled_interrupts; /* of the device */
    bool has_touched;            /* the driver reads what check_config.watch_place watches */
    /* What the GPU finds in page tables (struct check_config.walk); NULL: nobody can tell. */
    bool (*walk)(struct rig *rig, bool is_system, uint64_t root, uint64_t va,
                 struct check_gpu_walk *out_walk);
    void *tables;              /* to walk, by the test */
    enum miniport_ddi lacking; /* a DDI that the driver does not have; 0: it has all */

    uintptr_t next_handle;
    HANDLE system_process, process, device, system_context, context;
    /* The GPU's aperture: device page + 1, 0: nothing. */
    uint64_t slots[RIG_SLOTS];
    bool is_coherent[RIG_SLOTS];
    /* BAR 1 shows pages that the driver points: local page + 1, 0: nothing. */
    bool has_window;
    uint64_t window[RIG_SLOTS];
    unsigned char dummy[4096]; /* what is in RIG_DUMMY_PAGE */
    char *buffer;              /* the paging buffer, 4 KiB aligned */
    uint32_t buffer_bytes;     /* that the manager gives it */
    uint32_t buffer_used, buffer_submitted;
    unsigned submit_segment; /* in which the manager says that the buffer is */
    char private_data[RIG_PRIVATE_BYTES];
    uint32_t fence;
};

/* ---- The driver and the kernel (test_rig_driver.c) ---- */

extern const struct miniport_ops rig_driver_ops;
extern const struct miniport_host_ops rig_host_ops;

HANDLE rig_handle(struct rig *rig);
/* What a lawful driver does in BuildPagingBuffer. */
NTSTATUS rig_answer_build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);

/* What a lawful driver does. Creations give new handles. */
NTSTATUS rig_answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg);

/* ---- The manager's calls ---- */

NTSTATUS rig_query(struct rig *rig, unsigned type, void *in, size_t in_bytes, void *out,
                   size_t out_bytes);

/* Both passes. The window of an AGP segment is where the segment says. */
void rig_query_segments(struct rig *rig);

/* A rig that a test changes before rig_init_prepared(): config, caps, segments. */
void rig_prepare(struct rig *rig, enum rig_model model);

/* The layer over the driver, nothing called yet: for tests of how an adapter comes up. */
void rig_init_layer(struct rig *rig);

/* AddDevice, StartDevice and the queries that a manager makes at its start. */
void rig_start(struct rig *rig);
HANDLE rig_create_process(struct rig *rig, bool is_system);
HANDLE rig_create_device(struct rig *rig, HANDLE process);

/* With the root of its page tables at page 103 of local memory. */
HANDLE rig_create_context(struct rig *rig, HANDLE device, unsigned node, bool is_system);

/* An allocation of 64 KiB in local memory. Members of info that are set replace the plain ones;
 * info has the driver's answer. */
HANDLE rig_create_allocation(struct rig *rig, DXGK_ALLOCATIONINFO *info);
void rig_destroy_allocation(struct rig *rig, HANDLE allocation);

/* An adapter that is up, with a device and contexts. */
void rig_init_prepared(struct rig *rig);
void rig_init(struct rig *rig, enum rig_model model);
void rig_init_cold(struct rig *rig, enum rig_model model);
void rig_fini(struct rig *rig);

/* A hash of all that was said. */
uint64_t rig_said(const struct rig *rig);

/* The operation, behind what stands in the buffer; the rest of the structure is filled in. */
NTSTATUS rig_build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);

/* Submits the operations that were built to node 0. Gives the fence. */
uint32_t rig_submit(struct rig *rig);

/* The next operation goes to the start of the buffer. */
void rig_new_buffer(struct rig *rig);

/* The driver reports the fence of a node complete. */
void rig_complete(struct rig *rig, unsigned node, uint32_t fence);

/* A FILL of 64 KiB at the start of local memory, the plainest lawful operation. */
DXGKARG_BUILDPAGINGBUFFER rig_fill(HANDLE allocation);

/* ---- Rules ---- */

void rig_expect_only(const struct rig *rig, enum rule_id rule);
void rig_expect_silence(const struct rig *rig, enum rule_id rule);
void rig_play_broken(enum rig_model model, enum rule_id rule, void (*function)(struct rig *rig));
void rig_play_kept(enum rig_model model, enum rule_id rule, void (*function)(struct rig *rig));

#define RULE_BROKEN_IN(identifier, model)                                                          \
    static void break_##identifier(struct rig *rig);                                               \
    static void rule_##identifier##_is_found_when_broken(void **state)                             \
    {                                                                                              \
        rig_play_broken(model, RULE_##identifier, break_##identifier);                             \
    }                                                                                              \
    RIG_ENTER_TEST(rule_##identifier##_is_found_when_broken)                                       \
    static void break_##identifier(struct rig *rig)
#define RULE_KEPT_IN(identifier, model)                                                            \
    static void keep_##identifier(struct rig *rig);                                                \
    static void rule_##identifier##_is_silent_when_kept(void **state)                              \
    {                                                                                              \
        rig_play_kept(model, RULE_##identifier, keep_##identifier);                                \
    }                                                                                              \
    RIG_ENTER_TEST(rule_##identifier##_is_silent_when_kept)                                        \
    static void keep_##identifier(struct rig *rig)
#define RULE_BROKEN(identifier) RULE_BROKEN_IN(identifier, RIG_GPUMMU)
#define RULE_KEPT(identifier)   RULE_KEPT_IN(identifier, RIG_GPUMMU)

/* ---- The tests of a file ---- */

#define RIG_TESTS_MOST 128

struct rig_tests {
    size_t count;
    struct CMUnitTest list[RIG_TESTS_MOST];
};

/* Of each file that includes this one: the tests of its rules. */
static struct rig_tests rig_tests __attribute__((unused));

void rig_enter_test(struct rig_tests *tests, const char *name, CMUnitTestFunction function);
int rig_run_tests(struct rig_tests *rules, const struct CMUnitTest *tests, size_t count,
                  const char *file);

#define RIG_ENTER_TEST(function)                                                                   \
    __attribute__((constructor)) static void enter_##function(void)                                \
    {                                                                                              \
        rig_enter_test(&rig_tests, #function, function);                                           \
    }

/* An array of tests besides those of rules. */
#define RIG_RUN_TESTS(tests)                                                                       \
    rig_run_tests(&rig_tests, tests, sizeof(tests) / sizeof *(tests), __FILE__)
#define RIG_RUN_RULES() rig_run_tests(&rig_tests, NULL, 0, __FILE__)

#endif
