/*
 * Thunk: calls of the thunk interface as messages.
 *
 * Place      thunk. Uses the WDK headers only: libdxcore.so and the server of its clients share it.
 * Model      A call is a structure and the lists that its members lead to. One table says, for each
 *            function, which members are such pointers, which member counts, how large an element
 *            is, and which way it goes. A message is
 *
 *                | header | the structure | list | list | ...       each at a multiple of 8 bytes
 *
 *            Its lists are those of the table whose pointer is not NULL and whose count is not
 *            0, in the order of the table. A pointer in a message says no more than that. An answer
 *            is the same with the structure as the function left it and the lists that go out. What
 *            is a value to the server (pSystemMem, a HANDLE) stays as it is.
 * Ownership  Buffers are the caller's. thunk_open() makes the pointers of the structure lead into
 *            the message, which must live as long as the arguments are used.
 * Errors     False, with nothing written beyond the buffer. thunk_open() takes any bytes.
 */
#ifndef DRYDOCK_THUNK_THUNK_H
#define DRYDOCK_THUNK_THUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <d3dkmthk.h>
#include <ntstatus.h>

/*
 * D3DKMTShareObjects takes no structure, and those of functions with names lead to more than lists:
 * these are the ones that their arguments are in here. A name is bytes to everybody: characters of
 * a Linux program have 2 of them or 4.
 */
typedef struct thunk_share_objects {
    UINT cObjects;
    DWORD dwDesiredAccess;
    const D3DKMT_HANDLE *hObjects;
    HANDLE RootDirectory; /* from here on of the OBJECT_ATTRIBUTES, which may be all 0 */
    UINT Attributes;
    UINT NameBytes;
    const VOID *Name;
    HANDLE hSharedNtHandle; /* out: the library's to fill in */
} THUNK_SHARE_OBJECTS;
typedef struct thunk_open_by_name {
    HANDLE RootDirectory;
    UINT Attributes;
    UINT NameBytes;
    const VOID *Name;
    DWORD dwDesiredAccess;
    HANDLE hNtHandle; /* out: the library's to fill in */
} THUNK_OPEN_BY_NAME;
#define THUNK_FUNCTIONS(ROW)                                                                       \
    D3DKMT_FUNCTIONS(ROW)                                                                          \
    ROW(ShareObjects, THUNK_SHARE_OBJECTS)                                                         \
    ROW(OpenNtHandleFromName, THUNK_OPEN_BY_NAME)                                                  \
    ROW(OpenSyncObjectNtHandleFromName, THUNK_OPEN_BY_NAME)

/* A number for each function, in the order of THUNK_FUNCTIONS. */
enum d3dkmt_function {
#define D3DKMT_NUMBER(name, type) D3DKMT_FN_##name,
    THUNK_FUNCTIONS(D3DKMT_NUMBER)
#undef D3DKMT_NUMBER
        D3DKMT_FN_COUNT
};

/* "CreateDevice"; NULL: no such function. */
const char *d3dkmt_function_name(unsigned function);

/* Bytes of the function's structure; 0: no such function. */
size_t thunk_structure_bytes(unsigned function);

/* A list that a member of the arguments leads to. */
struct thunk_list {
    size_t pointer; /* offset of the member */
    const void *elements;
    uint32_t count, element_bytes; /* count 0: it is not there */
    const char *element;           /* "D3DDDI_ALLOCATIONINFO2"; NULL: numbers, or bytes */
    bool goes_in, goes_out;
};

/* The list of that index in the table, from 0 on; false: the function has no more. */
bool thunk_find_list(unsigned function, const void *arguments, unsigned index,
                     struct thunk_list *out_list);

#define THUNK_MAGIC      0x4d4b4430u /* "0DKM" */
#define THUNK_MOST_BYTES (16u << 20)

struct thunk_header {
    uint32_t magic;
    uint32_t function; /* of D3DKMT_FN_*, or of the server's own (thunk/protocol.h) */
    uint32_t bytes;    /* of the whole message: a multiple of 8, at most THUNK_MOST_BYTES */
    int32_t status;    /* of an answer; 0 in a call */
};

/* Of the message of this call; 0: its lists are too large, or there is no such function. */
size_t thunk_call_bytes(unsigned function, const void *arguments);
/* Writes the call; false: the lists have grown since the buffer was measured. */
bool thunk_pack_call(unsigned function, const void *arguments, void *buffer, size_t bytes);

/*
 * A message that is a call: gives its arguments, which lie in it and may be written. False: the
 * message is not well formed. The buffer is aligned for uint64_t.
 */
bool thunk_open(void *message, size_t bytes, unsigned *out_function, void **out_arguments);

/* Of the answer to a call. */
size_t thunk_answer_bytes(unsigned function, const void *arguments);
bool thunk_pack_answer(unsigned function, const void *arguments, NTSTATUS status, void *buffer,
                       size_t bytes);

/*
 * Takes an answer into the arguments of the call, which have not changed since: members that are
 * pointers of the table stay. False: it is no answer to this call.
 */
bool thunk_take_answer(unsigned function, void *arguments, const void *message, size_t bytes,
                       NTSTATUS *out_status);

#endif
