/*
 * Source places: the function and the line behind an address of a driver image, from its debug
 * information.
 *
 * Place      bench. Asked by the parent of a run that ended, for the texts that its findings show.
 * Model      A text that names a place of an image ends it with the address relative to the image's
 *            base: "mygpu.sys!BuildPagingBuffer+0x12 (+0x1a34)". llvm-symbolizer, which reads DWARF
 *            and PDB, is asked once for all texts, and "(+0x1a34)" becomes "(mygpu.c:123)", or
 *            "(CopyPage, mygpu.c:123)" where the function is another than the text says: inlined,
 *            or known by the PDB alone.
 * Errors     None: without the program, or without debug information, the addresses stay, for tools
 *            of one's own.
 */
#ifndef DRYDOCK_BENCH_SOURCE_PLACES_H
#define DRYDOCK_BENCH_SOURCE_PLACES_H

#include "bench/campaign/campaign.h"
#include "bench/run/run_result.h"

#include <stddef.h>

struct source_text {
    char *text;
    size_t size; /* of the room that it has, its end included: what does not fit stays as it is */
};

void source_places_add(const char *image_path, const struct source_text *texts, size_t count);

/* In the texts of a run, or of an item of a campaign, whose driver is a file. */
void source_places_add_to_result(struct run_result *result);
void source_places_add_to_record(struct campaign_record *record);

#endif
