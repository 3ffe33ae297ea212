/*
 * Test helper: a GPU model that is a shared object, on a machine, with a driver that counts its
 * interrupts and an observer that notes what the model tells.
 *
 * Place      bench, tests only. One model is open at a time.
 */
#ifndef DRYDOCK_BENCH_TEST_MODEL_H
#define DRYDOCK_BENCH_TEST_MODEL_H

#include "bench/board/gpu_plugin.h"
#include "bench/board/host.h"

#include "base/bits.h"

#define TEST_MODEL_LOCAL_BYTES (8 * MiB)
#define TEST_MODEL_MESSAGES    4

struct test_model {
    struct machine *machine;
    struct gpu_plugin *plugin;
    struct nt *nt;
    struct bench_host host;
    struct miniport driver;
    struct miniport_ops ops;
    unsigned messages[TEST_MODEL_MESSAGES]; /* interrupts, by their message */
    char fault[192];                        /* the last one's text */
    struct gpu_plugin_command faulting;     /* and command */
    struct gpu_plugin_command writing;      /* the command of the last write */
    unsigned writes;                        /* of commands */
    uint64_t begun, ended;                  /* tokens */
    uint64_t read_bytes, written_bytes;
};

/* Loads GPU_FOLDER/<name>.so; addresses of page_count system pages go to out_pages. */
void test_model_open(struct test_model *model, const char *name, unsigned page_count,
                     uint64_t *out_pages);
void test_model_close(struct test_model *model);

#endif
