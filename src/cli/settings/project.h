/*
 * Project: the settings of a driver's folder, which stand in drydock.toml beside the driver.
 *
 * Place      cli. Read by the parser of the command line (parse.c) and told by `drydock doctor`.
 * Model      A setting is an option of a verb, by its long name:
 *
 *                driver = "./mine.sys"       of each verb of PROJECT_VERBS that has such an option
 *                seeds = 2000
 *                allow = ["PB-004"]          an option that may be given again
 *                [board]                     options of cases that the verb takes
 *                local-memory = "64M"
 *                [check]                     of that verb alone; wins over those above
 *                jobs = 4
 *
 *            The command line wins over the file. The file is the nearest one of this name in the
 *            working folder or above it; --settings FILE names another one, and `none` none. A path
 *            in the file is meant from where the file is.
 *
 *            One that is found and belongs to another user is refused: a folder above need not be
 *            ours. One that is ours may have come with somebody's repository. So what is found may
 *            name no code that runs outside of a cage, and no file outside of its folder; what
 *            --settings names may.
 * Errors     bool; the message is out.
 */
#ifndef DRYDOCK_CLI_PROJECT_H
#define DRYDOCK_CLI_PROJECT_H

#include "cli/settings/toml.h"

#include <stdbool.h>
#include <stddef.h>

#define PROJECT_FILE  "drydock.toml"
#define PROJECT_VERBS "check", "run", "merge"

struct project {
    char path[512]; /* of the file; "": there is none */
    bool is_found;  /* nobody has named it */
    struct toml toml;
};

/* named: --settings; NULL: look for one. */
bool project_load(const char *named, struct project *out);
void project_free(struct project *project);

struct cli_verb;
/* Whether the verb is one that has settings. */
bool project_is_for(const struct cli_verb *verb);

/*
 * The values of an option of a verb; NULL: the file says nothing of it. is_of_case: it is an option
 * of cases, in [board].
 */
const struct toml_entry *project_find(const struct project *project, const char *verb,
                                      const char *option, bool is_of_case);

/* Whether the entry may be taken from where the file is: it may if the user has named the file. */
bool project_may_take(const struct project *project, const struct toml_entry *entry);

/* A value as the command line would have it, made for the place where we are. False: no room. */
bool project_value(const struct project *project, const struct toml_entry *entry, size_t element,
                   char *out, size_t size);

#endif
