/*
 * Policy file: a policy of the user's, in a shared object (docs/policy.md).
 *
 * Place      bench. A run with the option policy-file asks for it before its manager goes up.
 * Model      The object exports one table of vidmm/policy.h by the name VIDMM_POLICY_SYMBOL. Each
 *            call of its comparison notes in the crash recorder that code of the policy runs: a
 *            crash or an endless loop there is no finding about the driver.
 * Ownership  The table is lent for the rest of the process: the object that was loaded last stays,
 *            because a process that is caged can load no other one.
 * Errors     NULL, with a sentence for the user.
 */
#ifndef DRYDOCK_BENCH_POLICY_FILE_H
#define DRYDOCK_BENCH_POLICY_FILE_H

#include "vidmm/policy.h"

#define POLICY_FILE_ERROR_BYTES 512u

const struct vidmm_policy *policy_file_load(const char *path, char error[POLICY_FILE_ERROR_BYTES]);

#endif
