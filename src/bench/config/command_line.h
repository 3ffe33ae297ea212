/*
 * A command line for a shell, such as the one that plays a finding again.
 *
 * Place      bench. Used wherever the program says what to type.
 */
#ifndef DRYDOCK_BENCH_COMMAND_LINE_H
#define DRYDOCK_BENCH_COMMAND_LINE_H

#include <stddef.h>

/*
 * Appends " word" to the line, quoted for a shell where it has to be. A word that does not fit is
 * left out. A line of size bytes ends with '\0'.
 */
void command_line_append(char *line, size_t size, const char *word);

#endif
