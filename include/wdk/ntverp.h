/* The version of the system that a driver says it was built for: here, that of no product. */
#ifndef _NTVERP_
#define _NTVERP_

#define VER_PRODUCTMAJORVERSION 10
#define VER_PRODUCTMINORVERSION 0
#define VER_PRODUCTBUILD        0
#define VER_PRODUCTBUILD_QFE    0
#define VER_PRODUCTVERSION      10, 0, 0, 0
#define VER_PRODUCTVERSION_STR  "10.0.0.0"
#define VER_PRODUCTVERSION_W    0x0a00
#define VER_PRODUCTVERSION_DW   0x0a000000

#endif
