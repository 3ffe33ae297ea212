/*
 * The importers behind workload_import(); private to the module.
 *
 * Each fills a builder, through which its errors go, and the part of the report that is its own.
 * The data is the whole file, unpacked, and is trusted in nothing.
 */
#ifndef WORKLOAD_IMPORT_FORMATS_H
#define WORKLOAD_IMPORT_FORMATS_H

#include "workload/build/builder.h"
#include "workload/import/import.h"

void workload_import_trace(struct workload_builder *builder, const char *text, size_t size,
                           uint32_t steps, struct workload_import_report *report);

bool workload_is_rdf(const void *data, size_t size);
void workload_import_rmv(struct workload_builder *builder, const unsigned char *data, size_t size,
                         struct workload_import_report *report);

#endif
