/*
 * Bug checks that drivers name.
 *
 * Place   include/wdk.
 * Source  The public bug check code reference. BUGCODE_ID_DRIVER is in no public list: drivers use
 *         it for failures of their own, and here it is the code that nothing else has.
 */
#ifndef _BUGCODES_
#define _BUGCODES_

#define INVALID_PROCESS_DETACH_ATTEMPT       0x00000006
#define IRQL_NOT_LESS_OR_EQUAL               0x0000000A
#define BAD_POOL_HEADER                      0x00000019
#define KMODE_EXCEPTION_NOT_HANDLED          0x0000001E
#define SYSTEM_SERVICE_EXCEPTION             0x0000003B
#define PAGE_FAULT_IN_NONPAGED_AREA          0x00000050
#define SYSTEM_THREAD_EXCEPTION_NOT_HANDLED  0x0000007E
#define UNEXPECTED_KERNEL_MODE_TRAP          0x0000007F
#define DRIVER_POWER_STATE_FAILURE           0x0000009F
#define BAD_POOL_CALLER                      0x000000C2
#define DRIVER_VERIFIER_DETECTED_VIOLATION   0x000000C4
#define DRIVER_IRQL_NOT_LESS_OR_EQUAL        0x000000D1
#define MANUALLY_INITIATED_CRASH             0x000000E2
#define THREAD_STUCK_IN_DEVICE_DRIVER        0x000000EA
#define VIDEO_DRIVER_INIT_FAILURE            0x000000B4
#define VIDEO_MEMORY_MANAGEMENT_INTERNAL     0x0000010E
#define VIDEO_TDR_FAILURE                    0x00000116
#define VIDEO_TDR_TIMEOUT_DETECTED           0x00000117
#define VIDEO_SCHEDULER_INTERNAL_ERROR       0x00000119
#define VIDEO_DXGKRNL_FATAL_ERROR            0x00000113
#define VIDEO_SHADOW_DRIVER_FATAL_ERROR      0x00000114
#define VIDEO_ENGINE_TIMEOUT_DETECTED        0x00000141
#define VIDEO_MINIPORT_BLACK_SCREEN_LIVEDUMP 0x000001B8
#define BUGCODE_ID_DRIVER                    0x00000000

#endif
