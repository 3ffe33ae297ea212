/*
 * API: what stands around the declarations of each public header of libvidmm.
 *
 * Place      base. Included by the headers that are installed and by nothing else.
 * Model      BEGIN and END make the functions between them visible outside the library, which hides
 *            all others, and give them C linkage in C++. Every name that the linker sees begins
 *            with vidmm_: base/names.h gives the functions of base and miniport that name, except
 *            within Drydock itself (DRYDOCK_INSIDE), whose program has no strangers.
 */
#ifndef DRYDOCK_BASE_API_H
#define DRYDOCK_BASE_API_H

#ifndef DRYDOCK_INSIDE
#include "base/names.h"
#endif

#if defined __ELF__ && defined __GNUC__
#define VIDMM_VISIBLE_BEGIN _Pragma("GCC visibility push(default)")
#define VIDMM_VISIBLE_END   _Pragma("GCC visibility pop")
#else
#define VIDMM_VISIBLE_BEGIN
#define VIDMM_VISIBLE_END
#endif
#ifdef __cplusplus
#define VIDMM_API_BEGIN                                                                            \
    VIDMM_VISIBLE_BEGIN extern "C"                                                                 \
    {
#define VIDMM_API_END                                                                              \
    }                                                                                              \
    VIDMM_VISIBLE_END
#else
#define VIDMM_API_BEGIN VIDMM_VISIBLE_BEGIN
#define VIDMM_API_END   VIDMM_VISIBLE_END
#endif

#endif
