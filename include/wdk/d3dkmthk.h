/*
 * The name under which drivers include what they share with user mode: handles and structures of
 * d3dkmdt.h.
 */
#ifndef _D3DKMTHK_H_
#define _D3DKMTHK_H_

#include "d3dkmdt.h"

#endif
