/*
 * Folder files: the files of a results folder, which somebody else may have written.
 *
 * Place      report. Used for all that a campaign's folder holds.
 * Model      A folder is opened once, and its files by their names in it. A name that leads
 *            elsewhere (a symbolic link) or is no ordinary file (a device, a pipe) is refused: a
 *            folder from a bug report must not choose which file of the user is written.
 * Errors     -1, NULL or false with errno; ELOOP: the name is a symbolic link, EINVAL: it is no
 *            file.
 */
#ifndef DRYDOCK_REPORT_FOLDER_FILES_H
#define DRYDOCK_REPORT_FOLDER_FILES_H

#include <stdbool.h>
#include <stdio.h>

/* A descriptor of the folder itself, which may be named by a link: the user named it. */
int folder_open(const char *path);
/* The descriptor of a folder in it. */
int folder_find_within(int folder, const char *name);
/* The same, made when it is not there. */
int folder_open_within(int folder, const char *name);

/* flags and mode as those of open() and fopen(); a file that is made has the rights 0666. */
int folder_open_file(int folder, const char *name, int flags);
FILE *folder_fopen(int folder, const char *name, const char *mode);

/* A file may be written under this path: nothing is there, or an ordinary file is. */
bool folder_may_write(const char *path);

/* A whole file, in place of the one of that name: the new one, or the old one as it was. */
bool folder_replace(int folder, const char *name, const char *text);

#endif
