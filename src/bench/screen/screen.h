/*
 * Screen: the graphics kernel's side of modes, children and presents of one adapter.
 *
 * Place      bench. Used by the run of a display-only driver, between the start of its device and
 *            its stop. Stands on display (networks, monitors) and calls the driver through its
 *            miniport.
 *
 *            | file             | what it does                                                |
 *            | screen.c         | life; the order of a start and an end; sleeps, mode changes |
 *            | screen_calls.c   | statuses, time                                              |
 *            | screen_children.c| children and monitors, as they come and go                  |
 *            | screen_modes.c   | negotiating and committing a mode                           |
 *            | screen_present.c | images, presents and their reports, the pointer             |
 *            | screen_shown.c   | what the monitor shows, compared with the image             |
 *
 * Model      One source, 0, shows one target, the first that has a monitor. A mode is negotiated as
 *            "Enumerating cofunctional VidPN source and target modes" says: no pivot, source mode
 *            pinned, target mode pinned, then committed and made visible. Which mode, which
 *            rectangles and where the pointer is are the seed's choice. When the target's monitor
 *            goes, the next one that has a monitor is shown, or a network without a path is
 *            committed.
 * Ownership  screen_create() gives it; all that its configuration points to is borrowed.
 * Errors     What the driver does that leaves nothing to show ends the showing: it is told to
 *            nt_misuse(), the run goes on to the stop of the device.
 *            What is presented is looked for at the monitor SCREEN_SETTLE_NS after the present has
 *            ended (VIDPN-008): in the firmware's frame buffer, where the driver has asked for it
 *            (DxgkCbAcquirePostDisplayOwnership) and the mode is of its size. Other presents are
 *            counted, by the reason why they are not compared.
 * Limits     No gamma, no overlays, no rotation. Of a GPU's model pixels are not compared, and the
 *            pointer's never are.
 */
#ifndef DRYDOCK_BENCH_SCREEN_H
#define DRYDOCK_BENCH_SCREEN_H

#include "bench/board/host.h"
#include "check/check.h"
#include "display/display.h"

struct screen;

/* Why a present was not compared with what the monitor shows. */
enum screen_uncompared {
    SCREEN_OF_A_MODEL,
    SCREEN_WITHOUT_FRAME,
    SCREEN_OTHER_SIZE,
    SCREEN_OTHER_FORMAT,
    SCREEN_UNCOMPARED_KINDS
};
const char *screen_uncompared_reason(enum screen_uncompared why);

struct screen_config {
    const struct base_services *services;
    struct machine *machine;
    struct nt *nt;
    struct miniport *miniport; /* top of the stack */
    struct bench_host *host;
    struct check *check; /* NULL: no rules are checked */
    uint64_t seed;
    const DXGK_DISPLAY_INFORMATION *post; /* the boot display; NULL: that of the firmware */
    bool unpinned_is_success; /* as the pages say: pfnAcquirePinnedModeInfo without a pinned mode */
    bool has_model;           /* the GPU is a model's: where it shows pixels is not known */
    unsigned *uncompared;     /* SCREEN_UNCOMPARED_KINDS counts of presents, which it adds to */
};

/* Before the start of the device, whose callbacks it answers. STATUS_NO_MEMORY, ... */
NTSTATUS screen_create(const struct screen_config *config, struct screen **out_screen);
void screen_destroy(struct screen *screen);

/* Behind a start: children, monitors, a mode, an image. False: there is nothing to show. */
bool screen_begin(struct screen *screen, ULONG sources, ULONG children);

/* Some images, and the pointer. */
void screen_show(struct screen *screen, unsigned images);
/*
 * The board's monitor was plugged in or pulled out, and the driver has not been called since: it is
 * to tell of that (VIDPN-009), and what follows from it is done.
 */
void screen_plugged(struct screen *screen, bool is_plugged);
/* What the driver has told of children is attended to. */
void screen_attend(struct screen *screen);
/* Another mode, or the same one again. */
void screen_change_mode(struct screen *screen);
/* Asleep and awake again; an image then. */
void screen_sleep(struct screen *screen, DEVICE_POWER_STATE state, POWER_ACTION action);

/*
 * Nothing is visible any more, and the device is stopped. gives_back: by
 * DxgkDdiStopDeviceAndReleasePostDisplayOwnership, where the driver has it, and what it answers is
 * the boot display of the next start.
 */
NTSTATUS screen_stop(struct screen *screen, bool gives_back);
/* The device has gone: nothing is called any more. */
void screen_lose(struct screen *screen);

unsigned screen_presents(const struct screen *screen);

#endif
