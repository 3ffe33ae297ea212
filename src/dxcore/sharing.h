/*
 * Sharing: NT handles, and memory that other processes see, too.
 *
 * Place      dxcore, private.
 * Model      An NT handle is a descriptor: the program sends it to others (SCM_RIGHTS), or a child
 *            of fork() has it. It goes to the server beside the call that names it. What is shared
 *            has addresses in the last part of the window, where its own file is mapped before the
 *            call that gives such an address returns. A mapping is left when the object goes, and
 *            gives way to the next one there.
 * Errors     NTSTATUS. STATUS_INVALID_HANDLE: no descriptor, one that cannot be copied, or
 *            one that names nothing.
 *            STATUS_NO_MEMORY: nothing can be mapped; what the call had given is given back.
 * Source     D3DKMTShareObjects; that an NT handle of Linux is a descriptor is how the kernel
 *            driver of WSL has it.
 */
#ifndef DRYDOCK_DXCORE_SHARING_H
#define DRYDOCK_DXCORE_SHARING_H

#include <d3dkmthk.h>

/* attributes: NULL, or with a name for the object. */
NTSTATUS sharing_share(UINT count, const D3DKMT_HANDLE *handles,
                       const OBJECT_ATTRIBUTES *attributes, DWORD access, HANDLE *out_shared);
/* One of the two functions that open an object by its name. */
NTSTATUS sharing_open_by_name(unsigned function, DWORD access, const OBJECT_ATTRIBUTES *attributes,
                              HANDLE *out_shared);

/* A call whose NT handle is this one. */
NTSTATUS sharing_call_by(unsigned function, void *arguments, HANDLE handle);

/* Behind calls that have succeeded: what they give is made to be seen here. */
NTSTATUS sharing_locked(const D3DKMT_LOCK2 *arguments);
NTSTATUS sharing_fence_given(D3DKMT_HANDLE fence, const VOID *address);
void sharing_opened(UINT count, D3DDDI_OPENALLOCATIONINFO2 *infos, VOID *buffer);

#endif
