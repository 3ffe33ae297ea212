#define _GNU_SOURCE /* memfd_create() */
#include "bench/child/judge.h"

#include "bench/child/child_run.h"
#include "bench/drivers/drivers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with the first run, by the second one. False: nothing. */
static bool find_difference(const struct run_result *first, const struct run_result *second,
                            char *why, size_t why_bytes)
{
    if (second->outcome == RUN_FINDINGS && second->finding_count) {
        const struct run_finding *found = &second->findings[0];

        snprintf(why, why_bytes, "%s%s%.200s", found->rule, found->rule[0] ? " " : "", found->text);
        return true;
    }
    if (second->outcome != RUN_CLEAN) {
        snprintf(why, why_bytes, "it ends otherwise: %.200s", second->error);
        return true;
    }
    if (second->digest == first->digest)
        return false;
    snprintf(why, why_bytes, "its digest is %016" PRIx64 ", and it was told to be %016" PRIx64,
             second->digest, first->digest);
    return true;
}

static void report(struct run_result *result, const char *why)
{
    result->outcome = RUN_FINDINGS;
    run_result_report(result, RUN_FINDING_HOSTILE, 0, 0,
                      "the run came out clean in the process that has the driver, and does not in "
                      "one without it, which judges by what the driver answered and did: %s",
                      why);
    run_result_find_causes(result);
}

/* The second run. False: it cannot be made. */
static bool play_again(const struct run_config *config, const struct workload *workload,
                       double seconds, const uint8_t *bytes, uint64_t size,
                       struct run_result *out_result)
{
    struct run_config again = *config;

    again.record_file = 0;
    again.transcript_file = 0;
    again.transcript = bytes;
    again.transcript_bytes = size;
    again.reference = RUN_REFERENCE_NEVER;
    return child_run_execute(&again, workload, seconds, out_result);
}

/* The first run was clean. */
static void judge(const struct run_config *config, const struct workload *workload, double seconds,
                  int file, struct run_result *result, struct judgement *out)
{
    struct run_result *second = calloc(1, sizeof *second);
    struct stat state;
    void *bytes = MAP_FAILED;

    out->kind = JUDGEMENT_UNKNOWN;
    snprintf(out->why, sizeof out->why, "there is no memory for it");
    if (fstat(file, &state) == 0 && state.st_size > 0)
        bytes = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (second && bytes != MAP_FAILED &&
        play_again(config, workload, seconds, bytes, (uint64_t)state.st_size, second)) {
        out->kind = JUDGEMENT_AGREES;
        if (second->outcome == RUN_REFUSED) {
            out->kind = JUDGEMENT_UNKNOWN;
            snprintf(out->why, sizeof out->why, "%.250s", second->error);
        } else if (find_difference(result, second, out->why, sizeof out->why)) {
            out->kind = JUDGEMENT_DIFFERS;
            report(result, out->why);
        }
        run_result_fini(second);
    }
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)state.st_size);
    free(second);
}

bool judge_is_usual(const char *driver)
{
    struct run_driver found;

    return run_find_driver(driver, &found) && found.image_path;
}

bool judge_execute(const struct run_config *config, const struct workload *workload, double seconds,
                   struct run_result *out_result, struct judgement *out_judgement)
{
    struct run_config recorded = *config;
    int file = memfd_create("transcript", MFD_CLOEXEC);
    bool is_done;

    *out_judgement = (struct judgement){.kind = JUDGEMENT_NONE};
    recorded.transcript_file = file > 0 ? file : 0;
    is_done = child_run_execute(&recorded, workload, seconds, out_result);
    if (is_done)
        out_result->config.transcript_file = 0;
    if (is_done && out_result->outcome == RUN_CLEAN && file > 0 && !out_result->is_interrupted)
        judge(config, workload, seconds, file, out_result, out_judgement);
    if (is_done)
        out_result->is_judged = out_judgement->kind == JUDGEMENT_AGREES;
    if (file > 0)
        close(file);
    return is_done;
}
