/* The kernel has no function for it: a false assertion stops in the debugger, as NT_ASSERT does. */
#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(expression) ((expression) ? (void)0 : __debugbreak())
#endif

#ifndef DRYDOCK_CRT_ASSERT_H
#define DRYDOCK_CRT_ASSERT_H

#ifdef __cplusplus
extern "C"
#endif
    void
    __debugbreak(void);

#ifndef __cplusplus
#define static_assert _Static_assert
#endif

#endif
