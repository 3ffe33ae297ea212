/*
 * What driver source expects of the build at home, beside a compiler.
 *
 * Place      cli. Uses nothing but the host; cc_verb calls it before it compiles.
 * Model      Two things. Header names are found whatever their case: an overlay of the file system
 *            lists the headers of the folders that a build includes from, and of those in them, and
 *            clang is given that.
 *            And a source that includes "NAME.tmh" traces by WPP, whose preprocessor writes that
 *            file: here one is written that gives every trace function that a header declares (the
 *            lines "FUNC ..." of its WPP configuration) the documented shape without the message -
 *            arguments are evaluated, then what the author's WPP_<conditions>_POST() adds, so that
 *            assertions which are made of trace functions do act.
 * Ownership  Files are written into the folder given, and are the caller's to remove.
 * Errors     False and a message.
 * Source     Public documentation of WPP software tracing: "WPP Preprocessor", "Can I customize
 *            DoTraceMessage?".
 */
#ifndef DRYDOCK_CLI_CC_SOURCES_H
#define DRYDOCK_CLI_CC_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

/* Folders that sources lie in or include from; absolute or not, twice or not. */
struct cc_folders {
    const char *const *paths;
    size_t count;
};

/* Into FOLDER/overlay.yaml. */
bool cc_write_overlay(const char *folder, const struct cc_folders *folders);

/* Into FOLDER/NAME.tmh for each that the sources include and that lies in none of the folders. */
bool cc_write_traces(const char *folder, const struct cc_folders *folders,
                     const char *const *sources, size_t source_count);

#endif
