/*
 * A driver that answers DxgkDdiQueryAdapterInfo from a struct, for the tests of the adapter's caps.
 *
 * Model   make_fake() fills in a lawful answer of the version; a test changes what it is about and
 *         calls query(). What was asked, in which order and with how much room, is remembered.
 */
#ifndef VIDMM_TEST_FAKE_CAPS_H
#define VIDMM_TEST_FAKE_CAPS_H

#include "vidmm/adapter/adapter_caps.h"

#include "base/bits.h"
#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define VISTA  DXGKDDI_INTERFACE_VERSION_VISTA
#define WIN7   DXGKDDI_INTERFACE_VERSION_WIN7
#define WIN8   DXGKDDI_INTERFACE_VERSION_WIN8
#define WDDM13 DXGKDDI_INTERFACE_VERSION_WDDM1_3
#define WDDM20 DXGKDDI_INTERFACE_VERSION_WDDM2_0
#define WDDM21 DXGKDDI_INTERFACE_VERSION_WDDM2_1
#define WDDM24 DXGKDDI_INTERFACE_VERSION_WDDM2_4
#define WDDM26 DXGKDDI_INTERFACE_VERSION_WDDM2_6
#define WDDM29 DXGKDDI_INTERFACE_VERSION_WDDM2_9
#define WDDM32 DXGKDDI_INTERFACE_VERSION_WDDM3_2

#define MAX_SEGMENTS 40
#define BASE_LOCAL   0
#define BASE_HIDDEN  (256 * MiB)
#define BASE_SLOTS   (UINT64_C(1) << 40)
#define WINDOW       UINT64_C(0xe0000000)

/* ---- The driver ---- */

struct fake {
    struct miniport miniport;
    struct miniport_ops ops;
    ULONG version;
    bool sizes_roots;
    bool lacks[MINIPORT_DDI_COUNT + 1]; /* functions that the driver does not have */
    DXGK_DRIVERCAPS driver;
    DXGK_PHYSICALADAPTERCAPS adapter;
    DXGK_GPUMMUCAPS mmu;
    DXGK_PAGE_TABLE_LEVEL_DESC levels[8];
    UINT count; /* of segments; the second pass tells count + extra */
    UINT extra;
    DXGK_SEGMENTDESCRIPTOR4 segments[MAX_SEGMENTS];
    UINT bank_count; /* of segment 1 */
    SIZE_T *bank_ends;
    UINT paging_segment;
    UINT paging_bytes;
    UINT paging_private_bytes;
    bool tells_all_at_first;
    bool ignores_stride;
    UINT range_count_told; /* by SEGMENTMEMORYSTATE */
    DXGK_MEMORYRANGE ranges[4];
    SIZE_T save_area_bytes; /* by FRAMEBUFFERSAVESIZE */
    int failing_type;       /* the query that fails, or -1 */
    unsigned failing_turn;  /* so many queries are answered before one fails; UINT_MAX: none does */
    NTSTATUS failing_status;

    UINT driver_caps_bytes, physical_adapter_bytes; /* as asked */
    unsigned asked_count[64];
    UINT asked_bytes[64]; /* OutputDataSize, the last time */
    UINT input_bytes[64]; /* InputDataSize, the same */
    unsigned order[64];   /* the types, as asked */
    unsigned asked;
};

/* Three segments (visible, aperture, hidden), two nodes; four levels of nine bits from 2.0 on. */
void make_fake(struct fake *fake, ULONG version);

/* A bus without an AGP bridge. */
extern const struct vidmm_platform platform;

NTSTATUS query(struct fake *fake, struct vidmm_caps *caps, struct vidmm_failure *failure);

#endif
