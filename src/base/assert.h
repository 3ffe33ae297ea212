/*
 * ASSERT: a statement about our own code that must be true.
 *
 * Place   base. Used everywhere except in the reference driver, which has only the WDK's.
 * Model   With DRYDOCK_DEBUG a false expression prints file, line and text, and aborts. Without
 *         it the expression is compiled but never evaluated, so it cannot rot and costs nothing;
 *         it must therefore have no side effect.
 *         Only for invariants of ours. A contract that the other side broke is a finding, and a
 *         failure of the world (memory, files, input) is a status.
 *
 * Include after any WDK header: those have an ASSERT of their own, which this one replaces.
 */
#ifndef DRYDOCK_BASE_ASSERT_H
#define DRYDOCK_BASE_ASSERT_H

_Noreturn void base_assert_failed(const char *file, int line, const char *expression);

#undef ASSERT
#ifdef DRYDOCK_DEBUG
#define ASSERT(x) ((x) ? (void)0 : base_assert_failed(__FILE__, __LINE__, #x))
#else
#define ASSERT(x) ((void)sizeof((x) ? 1 : 0))
#endif

#endif
