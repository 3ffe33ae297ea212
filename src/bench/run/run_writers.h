/*
 * Writers: the driver's instructions that wrote the commands which findings are about.
 *
 * Place      bench, private to run. child/explain.h plays a run a second time with it.
 * Model      A finding that an effect shows (bytes, a translation, a slot, a fault) knows the call
 *            of DxgkDdiBuildPagingBuffer that wrote the commands (finding_detail.commands). A run
 *            that is played again is told these calls. It watches what the driver writes in each
 *            of them (machine/write_watch.h): into the paging buffer, and into memory of the
 *            machine, for a driver that updates page tables by the CPU. When the run is over,
 *            findings get a line for each place of the driver's code that wrote some of the bytes
 *            last. Which command of a call wrote the wrong bytes is noted when the GPU carries it
 *            out.
 * Ownership  The assembly owns the writers. The list of calls is borrowed.
 * Errors     NULL: no memory, or nothing is to be watched. All functions take NULL.
 */
#ifndef DRYDOCK_BENCH_RUN_WRITERS_H
#define DRYDOCK_BENCH_RUN_WRITERS_H

#include "bench/drivers/driver_image.h"
#include "bench/run/run_result.h"
#include "machine/machine.h"
#include "machine/write_watch.h"

struct run_writers;

struct run_writers *run_writers_create(const struct run_watched *watched);
void run_writers_destroy(struct run_writers *writers);

/* The machine is up: what is mapped from here on can be watched. */
void run_writers_set_machine(struct run_writers *writers, struct machine *machine);

/* A call of the driver begins, which is lent these copies; event 0: it has returned. */
void run_writers_call(struct run_writers *writers, uint64_t event, const struct check_lent *lent);
/*
 * Around the driver's own code, in such a call or in one that is made in the middle of it. pieces:
 * more of what it is lent. image: NULL for a driver that is linked in.
 */
void run_writers_enter(struct run_writers *writers, const struct driver_image *image,
                       const struct write_watch_piece *pieces, size_t count);
void run_writers_leave(struct run_writers *writers);

/*
 * The GPU carries out commands of the paging operation with this number: the number under which
 * oracle_wrote() is to know the writer, and back.
 */
uint64_t run_writers_number(struct run_writers *writers, uint64_t operation,
                            const struct finding_commands *commands);
uint64_t run_writers_operation(uint64_t number);
/* More of a writer than the call: its commands. */
void run_writers_narrow(const struct run_writers *writers, uint64_t number,
                        struct finding_commands *commands);

/* A byte beside what the call of the finding was lent: the instruction that wrote it. */
void run_writers_tell_byte(const struct run_writers *writers, const void *byte,
                           struct finding_detail *detail);

/* Fills in detail.writers of all findings. */
void run_writers_tell(struct run_writers *writers, struct run_result *result);

#endif
