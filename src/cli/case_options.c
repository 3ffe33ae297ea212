/*
 * Options of cases on the command line, by the column "line" of workload/case/run_options.inc.
 */
#include "cli/cli.h"

#define NO_LINE             NULL, NULL, 0
#define ON_RUN(word, help)  word, help, CLI_OF_RUN
#define ON_BOTH(word, help) word, help, CLI_OF_RUN | CLI_OF_CHECK

#define RUN_OPTION(type, member, key, values, initial, where, drawn, told, line, text) {key, line},
#define RUN_MMU_OPTION                                                                 RUN_OPTION
#define CASE_OPTION(key, values, text)                                                 {key, NO_LINE},

const struct cli_case_option cli_case_options[WORKLOAD_OPTION_COUNT] = {
#include "workload/case/run_options.inc"
};
