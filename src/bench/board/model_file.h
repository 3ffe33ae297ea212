/*
 * Model file: errors of a GPU model's file for which the loader has no words, or words that lead
 * astray.
 *
 * Place      bench, for gpu_plugin.c, before it loads the file.
 */
#ifndef DRYDOCK_BENCH_MODEL_FILE_H
#define DRYDOCK_BENCH_MODEL_FILE_H

#include "bench/board/gpu_plugin.h"

#include <stdio.h>

/* Writes "path: text"; false. */
static inline bool model_file_refuse(char error[GPU_PLUGIN_ERROR_BYTES], const char *path,
                                     const char *text)
{
    snprintf(error, GPU_PLUGIN_ERROR_BYTES, "%.150s: %.230s", path, text);
    return false;
}

/* False, with a sentence: the file is no shared object of this system. */
bool model_file_check(const char *path, char error[GPU_PLUGIN_ERROR_BYTES]);

#endif
