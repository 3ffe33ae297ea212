/*
 * Documents: man pages and completions, made of the tables that --help prints.
 *
 * Place      cli. The build calls `drydock __documents FOLDER`, which no list of verbs has, and
 *            installs what it wrote (cmake/part-documents.cmake).
 * Model      FOLDER/drydock.1, drydock-VERB.1, drydock.bash, _drydock (zsh), drydock.fish. Pages
 *            about formats are made of docs/ (scripts/man-of-markdown.awk).
 * Errors     bool; the message is out.
 */
#ifndef DRYDOCK_CLI_DOCUMENTS_H
#define DRYDOCK_CLI_DOCUMENTS_H

#include <stdbool.h>

bool documents_write(const char *folder);

#endif
