/*
 * Verbs that need processes, sockets or a compiler of images. They are known on Windows, and
 * refuse.
 */
#include "cli/cli.h"

static const struct cli_option options[] = {{NULL, 0, NULL, NULL}};

static enum cli_status refuse(const struct cli_arguments *arguments)
{
    cli_error("this verb works under Linux alone");
    return CLI_USAGE;
}

#define LEFT_OUT(verb)                                                                             \
    const struct cli_verb cli_##verb = {                                                           \
        .name = #verb,                                                                             \
        .usage = "",                                                                               \
        .summary = "(under Linux alone)",                                                          \
        .options = options,                                                                        \
        .takes_all = true,                                                                         \
        .run = refuse,                                                                             \
    };

LEFT_OUT(exec)
LEFT_OUT(bench)
LEFT_OUT(cc)
LEFT_OUT(watch)
LEFT_OUT(zoo)
LEFT_OUT(doctor)
