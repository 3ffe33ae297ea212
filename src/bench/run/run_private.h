/*
 * Run, inside: what one run stands on, shared by its files.
 *
 * Place      bench, private.
 *
 *            | file           | what it does                                                  |
 *            | run.c          | the order of going up and down, the run, its digest           |
 *            | run_hardware.c | raises machine and GPU; answers questions about them          |
 *            | run_driver.c   | raises the driver: kernel services, host, DriverEntry, start  |
 *            | run_stack.c    | the table of the layers between driver and manager            |
 *            | run_model.c    | judges whether the driver is of the run's model               |
 *            | run_screen.c   | raises the screen of a display-only driver                    |
 *            | run_show.c     | plays display-only drivers, which have no manager             |
 *            | run_manager.c  | raises the memory manager; hands on its events                |
 *            | run_findings.c | makes findings of reports about the driver                    |
 *            | run_leaks.c    | makes findings of things left when their owner is gone        |
 *            | run_outcome.c  | refused, broken, or by its findings                           |
 *
 * Model      The members are set in the order of going up; a part that is not up yet is NULL or
 *            false.
 * Ownership  The assembly owns all that it points to but config, workload and result.
 * Errors     false: the run ends here, and run_refuse() has put the reason into the result.
 */
#ifndef DRYDOCK_BENCH_RUN_PRIVATE_H
#define DRYDOCK_BENCH_RUN_PRIVATE_H

#include "bench/board/gpu_plugin.h"
#include "bench/board/host.h"
#include "layers/instances.h"
#include "layers/transcript/record.h"
#include "layers/transcript/retold.h"
#include "bench/board/platform.h"
#include "bench/drivers/drivers.h"
#include "bench/play/player.h"
#include "bench/config/run_config.h"
#include "bench/run/run.h"
#include "bench/screen/screen.h"
#include "bench/run/run_result.h"
#include "bench/record/run_events.h"
#include "bench/run/run_memory.h"
#include "bench/record/run_record.h"
#include "bench/record/run_record_manager.h"
#include "bench/run/run_writers.h"
#include "check/check.h"
#include "check/oracle/oracle.h"
#include "nt/nt.h"
#include "sgpu/sgpu.h"
#include "workload/case/surroundings.h"
#include "vidmm/policy.h"

#include <setjmp.h>

/* Memory of the kernel that a driver holds. */
struct run_held {
    uint64_t blocks, block_bytes, mappings, mapping_bytes, lists, list_bytes;
};

struct run_assembly {
    /* Given by whoever runs it. */
    const struct run_config *config;
    const struct workload *workload;
    const struct run_guest *guest; /* NULL: a player plays the workload */
    struct run_result *result;

    /* Memory of the run, and of the manager alone, whose n-th allocation a test may fail. */
    struct run_memory own, managers;

    /* The hardware. */
    struct machine *machine;
    struct sgpu *gpu;                    /* NULL: the run has another GPU, or none */
    struct gpu_plugin *plugin;           /* that other one */
    struct client_file *client;          /* the driver's user-mode half; NULL: the bench's */
    struct foreign_registers *registers; /* of a board without a model */

    /* The driver, and its surroundings. */
    struct nt *nt;
    struct nt *previous_nt;
    char hardware_id[WORKLOAD_MAX_SURROUNDING_NAME + 1]; /* that the case gives the device */
    struct bench_host host;
    bool has_host;
    struct run_driver driver;
    struct driver_image *image;            /* NULL: the driver is linked in */
    DRIVER_INITIALIZATION_DATA registered; /* the driver's table, as it registered it */
    struct run_held entered; /* memory that the driver held when DriverEntry had returned */
    bool is_added, is_started;
    ULONG video_present_sources, children; /* as the start gave them */
    bool is_display_only;
    struct screen *screen; /* of a display-only driver, instead of manager and player */
    unsigned uncompared[SCREEN_UNCOMPARED_KINDS]; /* presents, of all its screens */
    bool is_unplugged;                            /* the monitor, by the case */
    bool has_lasting_monitor; /* ... of a board of which nobody can pull one out */

    /* The stack of layers (run_stack.c): its upper end, and those that are asked later. */
    struct miniport *top;
    struct miniport *raw, *trace, *deny; /* raw: NULL where a transcript is played */
    struct miniport *bottom;   /* the driver, with its recorder; or the transcript of one */
    struct recorder *recorder; /* NULL: none */
    struct retold *retold;
    struct miniport *foreign_board; /* NULL: the board is the Drydock GPU's */
    uint64_t watched; /* where the segment begins, in its pages, that watch_place() is about */
    struct instances instances;
    struct rule_counts before_trial; /* of user memory: what was counted until then */
    struct check *check;
    struct oracle *oracle;
    struct run_writers *writers; /* NULL: nobody asks who wrote what */
    /* The Drydock GPU's command that wrote last, since a submission began; no bytes: none. */
    struct {
        struct sgpu_command command;
        uint64_t writer;
    } writing;
    struct run_event_log events;
    struct run_record record;
    struct run_record_manager managers_record; /* what the manager tells of itself, for it */

    /* The memory manager, and who plays on it. */
    struct platform platform;
    struct vidmm_platform vidmm_platform; /* the platform as the manager knows it */
    bool has_platform;
    struct vidmm_early_caps early;
    struct vidmm_policy policy; /* that of the manager, if its turns are others (option turn) */
    struct vidmm *vidmm;
    bool is_manager_started;
    struct player *player;

    /* Where the driver is, and how it has ended the run. */
    bool is_in_entry;     /* in DriverEntry */
    bool is_in_unload;    /* in the Unload that its object names */
    jmp_buf bug_check;    /* back to the run's start, when the machine stops */
    bool is_driver_stuck; /* it reports nothing more of the work that it has */
    unsigned prints_told; /* words of the driver that are findings */
};

/* ---- run_outcome.c --------------------------------------------------------------------------- */

/* The run cannot be played, for this reason. Always false. */
bool run_refuse(struct run_assembly *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* An error of ours. The first text stays. */
void run_break(struct run_assembly *run, const char *text);
/* A run that is still clean has findings when any were counted. */
void run_settle_outcome(struct run_result *result);

/* ---- Going up: false has refused the run ----------------------------------------------------- */

bool run_raise_hardware(struct run_assembly *run);

/* The driver, entered and started, and the stack of layers over it; run->top is its upper end. */
bool run_raise_driver(struct run_assembly *run);

/* The device is stopped, with nothing left of its work, and started again. */
bool run_restart_device(struct run_assembly *run);

/* The driver has the functions with which a device begins; false: refused, with all that it lacks.
 */
bool run_can_start(struct run_assembly *run);

/* The driver, started, is of the run's model and has every function that it needs. */
bool run_is_of_model(struct run_assembly *run);
/* Forgets what the driver has said of its version: its table counts until it says it again. */
void run_ask_anew(struct run_assembly *run);

bool run_raise_manager(struct run_assembly *run);

/* The device is started; its own status. */
NTSTATUS run_start_device(struct run_assembly *run);

/* ---- run_screen.c: display-only drivers ------------------------------------------------------ */

bool run_can_show(struct run_assembly *run);
/* With the boot display that a start before has left; NULL: the firmware's. */
bool run_raise_screen(struct run_assembly *run, const DXGK_DISPLAY_INFORMATION *post);
/* False: of this board no monitor can be pulled out. */
bool run_plug_monitor(struct run_assembly *run, bool is_plugged);
/* The device is stopped. */
NTSTATUS run_stop_screen(struct run_assembly *run);
void run_lower_screen(struct run_assembly *run);

/* ---- run_show.c: plays them ------------------------------------------------------------------ */

void run_play_screen(struct run_assembly *run);

/* ---- run_leaks.c ----------------------------------------------------------------------------- */

struct run_held run_what_driver_holds(const struct run_assembly *run);

/* count things, when everything was destroyed; none is no leak. */
void run_report_leak(struct run_assembly *run, const char *what, uint64_t count, uint64_t bytes);
/*
 * The driver's device has been removed, after the event that the text names: blocks of its pool and
 * mappings that are still there are leaks. is_unloaded: so is what DriverEntry took, which is else
 * the driver's to keep.
 */
void run_report_driver_leaks(struct run_assembly *run, const char *after, bool is_unloaded);

/* ---- run_transcript.c: the driver is recorded, or its transcript is played ------------------- */

bool run_raise_recorder(struct run_assembly *run);
/* Puts the transcript at the bottom, in place of a driver; DriverEntry has been then. */
bool run_raise_retold(struct run_assembly *run);
/* The machine is still there. */
void run_lower_transcript(struct run_assembly *run);

/* ---- run_findings.c: each is called with the assembly as its context ------------------------- */

struct nt_host run_kernel_host(struct run_assembly *run);
/* bench_host.lacks: told as a remark, once for each callback. */
void run_note_lacking(void *context, const char *callback);
void run_report_overwritten(void *context, enum miniport_ddi ddi, size_t offset);
/*
 * Whether what BuildPagingBuffer lends is good for the call alone. An image without a GPU model
 * works with the CPU: it cannot but keep the address of its buffer until the work is done, because
 * no submission tells it the address again.
 */
bool run_is_lent_for_call(const struct run_assembly *run);

/*
 * The same of what is rendered: an image whose GPU is not the bench's own may read its commands
 * with the CPU on their way to it.
 */
bool run_is_work_lent_for_call(const struct run_assembly *run);

void run_report_loan(void *context, const struct loan_breach *breach);
void run_report_driver_error(void *context, const char *rule, const char *text);
/* The manager has refused what a line of the case asks for. */
void run_note_refusal(void *context, const char *rule, const char *text);
void run_report_rule(void *context, const struct finding *found);
void run_report_content(void *context, const struct oracle_report *report);

/* ---- run_hardware.c: the members of a configuration that ask about the hardware -------------- */

void run_hardware_for_oracle(struct run_assembly *run, struct oracle_config *config);
void run_driver_for_check(const struct run_assembly *run, struct check_config *config);
void run_hardware_for_check(struct run_assembly *run, struct check_config *config);

#endif
