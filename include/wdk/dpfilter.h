/*
 * Components and levels of the lines that DbgPrintEx writes.
 *
 * Place   include/wdk. Stands alone.
 * Source  Public documentation: DbgPrintEx, "Reading and Filtering Debugging Messages"; the numbers
 *         as public headers of other tool chains have them.
 */
#ifndef _DPFILTER_
#define _DPFILTER_

#define DPFLTR_ERROR_LEVEL   0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL   2
#define DPFLTR_INFO_LEVEL    3
#define DPFLTR_MASK          0x80000000

/* Those that drivers of devices may use, and those of the display. */
typedef enum _DPFLTR_TYPE {
    DPFLTR_SYSTEM_ID = 0,
    DPFLTR_ACPI_ID = 24,
    DPFLTR_VIDEO_ID = 27,
    DPFLTR_VIDEOPRT_ID = 29,
    DPFLTR_PNPMGR_ID = 35,
    DPFLTR_PCI_ID = 66,
    DPFLTR_IHVDRIVER_ID = 77,
    DPFLTR_IHVVIDEO_ID = 78,
    DPFLTR_IHVAUDIO_ID = 79,
    DPFLTR_IHVNETWORK_ID = 80,
    DPFLTR_IHVSTREAMING_ID = 81,
    DPFLTR_IHVBUS_ID = 82,
    DPFLTR_DEFAULT_ID = 101,
} DPFLTR_TYPE;

#endif
