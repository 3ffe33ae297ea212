/*
 * Loans: which rule a breach of what a call lent is about, and its sentence.
 *
 * Place      check, private. check_report.c describes with it what a signal means.
 */
#ifndef DRYDOCK_CHECK_LOANS_H
#define DRYDOCK_CHECK_LOANS_H

#include "check/rules/rules.h"
#include "miniport/loans.h"

enum rule_id check_loan_rule(enum loan_breach_kind kind);

/* is_access: a page without access was reached; else bytes were found to be other ones. */
void check_loan_describe(const struct loan_breach *breach, bool is_access, char *text, size_t size);

#endif
