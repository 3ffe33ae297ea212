/*
 * What DXCore tells of the adapter, beside what the thunk calls tell: its numbers, its memory, the
 * budget; and the sizes and errors of the calls. And what its nodes have done.
 */
#include "client.h"

#include <stdio.h>
#include <string.h>

#define UNKNOWN_PROPERTY 99u
#define INVALID_ARGUMENT ((HRESULT)0x80070057)
#define NOT_SUPPORTED    ((HRESULT)0x80070032)
#define TOO_SMALL        ((HRESULT)0x8007007a)
#define HALF_OF_HARDWARE (sizeof(DXCoreHardwareID) / 2)
#define EXPECTED         17u

static unsigned right;

static void expect(const char *what, int is_right)
{
    right += is_right != 0;
    if (!is_right)
        printf("wrong: %s\n", what);
}

static void ask(KMTQUERYADAPTERINFOTYPE type, void *out, UINT bytes)
{
    const D3DKMT_QUERYADAPTERINFO query = {.hAdapter = adapter,
                                           .Type = type,
                                           .pPrivateDriverData = out,
                                           .PrivateDriverDataSize = bytes};

    must("QueryAdapterInfo", D3DKMTQueryAdapterInfo(&query));
}

static IDXCoreAdapter *find_adapter(void)
{
    static const GUID graphics = {
        0x0c9ece4d, 0x2f6e, 0x4f01, {0x8c, 0x96, 0xe8, 0x9e, 0x33, 0x1b, 0x47, 0xb1}};
    IDXCoreAdapterFactory *factory;
    IDXCoreAdapter *found;

    if (DXCoreCreateAdapterFactory(NULL, (void **)&factory) ||
        factory->lpVtbl->GetAdapterByLuid(factory, &adapter_luid, NULL, (void **)&found))
        fail("DXCore", 0);
    expect("graphics", found->lpVtbl->IsAttributeSupported(found, &graphics));
    return found;
}

/* The value has the size that DXCore tells. */
static int get(IDXCoreAdapter *of, uint32_t property, void *out, size_t bytes)
{
    size_t told = 0;

    return of->lpVtbl->IsPropertySupported(of, property) &&
           of->lpVtbl->GetPropertySize(of, property, &told) == S_OK && told == bytes &&
           of->lpVtbl->GetProperty(of, property, bytes, out) == S_OK;
}

static void look_at_numbers(IDXCoreAdapter *of)
{
    D3DKMT_QUERY_DEVICE_IDS ids = {0};
    D3DKMT_DRIVERVERSION version = 0, told = 0;
    DXCoreHardwareIDParts parts;
    DXCoreHardwareID hardware;
    uint32_t adapters = 0;
    uint8_t is_hardware = 0;

    ask(KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof ids);
    ask(KMTQAITYPE_DRIVERVERSION, &version, sizeof version);
    expect("hardware's number",
           get(of, DXCoreAdapterProperty_HardwareID, &hardware, sizeof hardware) &&
               hardware.vendorID == ids.DeviceIds.VendorID &&
               hardware.deviceID == ids.DeviceIds.DeviceID);
    expect("parts of the hardware's number",
           get(of, DXCoreAdapterProperty_HardwareIDParts, &parts, sizeof parts) &&
               parts.vendorID == ids.DeviceIds.VendorID &&
               parts.subVendorID == ids.DeviceIds.SubVendorID &&
               parts.subSystemID == ids.DeviceIds.SubSystemID &&
               parts.revisionID == ids.DeviceIds.RevisionID);
    expect("driver model", get(of, DXCoreAdapterProperty_KmdModelVersion, &told, sizeof told) &&
                               told == version && version >= 2000);
    expect("physical adapters",
           get(of, DXCoreAdapterProperty_PhysicalAdapterCount, &adapters, sizeof adapters) &&
               adapters == 1);
    expect("hardware", get(of, DXCoreAdapterProperty_IsHardware, &is_hardware, 1) && is_hardware);
}

static void look_at_memory(IDXCoreAdapter *of)
{
    DXCoreAdapterMemoryBudgetNodeSegmentGroup group = {0, DXCoreSegmentGroup_Local};
    D3DKMT_QUERYVIDEOMEMORYINFO query = {.hAdapter = adapter};
    D3DKMT_SEGMENTSIZEINFO sizes = {0};
    DXCoreAdapterMemoryBudget budget = {0};
    uint64_t bytes = 0;

    ask(KMTQAITYPE_GETSEGMENTSIZE, &sizes, sizeof sizes);
    expect("memory of the adapter",
           get(of, DXCoreAdapterProperty_DedicatedAdapterMemory, &bytes, sizeof bytes) && bytes &&
               bytes == sizes.DedicatedVideoMemorySize);
    expect("dedicated memory of the system",
           get(of, DXCoreAdapterProperty_DedicatedSystemMemory, &bytes, sizeof bytes) &&
               bytes == sizes.DedicatedSystemMemorySize);
    expect("shared memory of the system",
           get(of, DXCoreAdapterProperty_SharedSystemMemory, &bytes, sizeof bytes) && bytes &&
               bytes == sizes.SharedSystemMemorySize);
    must("QueryVideoMemoryInfo", D3DKMTQueryVideoMemoryInfo(&query));
    expect("budget",
           of->lpVtbl->IsQueryStateSupported(of, DXCoreAdapterState_AdapterMemoryBudget) &&
               of->lpVtbl->QueryState(of, DXCoreAdapterState_AdapterMemoryBudget, sizeof group,
                                      &group, sizeof budget, &budget) == S_OK &&
               budget.budget && budget.budget == query.Budget &&
               budget.availableForReservation == query.AvailableForReservation);
    group.nodeIndex = 1;
    expect("budget of an adapter that is not there",
           of->lpVtbl->QueryState(of, DXCoreAdapterState_AdapterMemoryBudget, sizeof group, &group,
                                  sizeof budget, &budget) == INVALID_ARGUMENT);
}

static void look_at_errors(IDXCoreAdapter *of)
{
    DXCoreAdapterMemoryBudget budget;
    DXCoreHardwareID hardware;
    size_t bytes = 7;

    expect("property that there is not",
           !of->lpVtbl->IsPropertySupported(of, UNKNOWN_PROPERTY) &&
               of->lpVtbl->GetPropertySize(of, UNKNOWN_PROPERTY, &bytes) == NOT_SUPPORTED &&
               of->lpVtbl->GetProperty(of, UNKNOWN_PROPERTY, sizeof hardware, &hardware) ==
                   NOT_SUPPORTED);
    expect("room for half of it",
           of->lpVtbl->GetProperty(of, DXCoreAdapterProperty_HardwareID, HALF_OF_HARDWARE,
                                   &hardware) == TOO_SMALL);
    expect("no room at all", of->lpVtbl->GetProperty(of, DXCoreAdapterProperty_HardwareID,
                                                     sizeof hardware, NULL) == INVALID_ARGUMENT);
    expect("budget of no group",
           of->lpVtbl->QueryState(of, DXCoreAdapterState_AdapterMemoryBudget, 0, NULL,
                                  sizeof budget, &budget) == INVALID_ARGUMENT);
}

static D3DKMT_QUERYSTATISTICS count(D3DKMT_QUERYSTATISTICS_TYPE type, unsigned node)
{
    D3DKMT_QUERYSTATISTICS query = {.Type = type, .AdapterLuid = adapter_luid};

    query.QueryNode.NodeId = node;
    must("QueryStatistics", D3DKMTQueryStatistics(&query));
    return query;
}

/* What the process has had done, of all that its node has done. */
static void look_at_nodes(void)
{
    const D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION *own, *all;
    D3DKMT_QUERYSTATISTICS of_process, of_node;
    struct driver driver;
    struct buffer a, b;

    start(&driver);
    a = create(&driver, 0, 1 << 20, NULL);
    b = create(&driver, 0, 1 << 20, NULL);
    map(&driver, &a, 0);
    map(&driver, &b, 0);
    make_resident(&driver, &a);
    make_resident(&driver, &b);
    for (unsigned i = 0; i < 3; i++)
        wait_until(&driver, driver.fence, copy(&driver, b.va, a.va, b.bytes));
    of_process = count(D3DKMT_QUERYSTATISTICS_PROCESS_NODE, SGPU_NODE_COPY);
    of_node = count(D3DKMT_QUERYSTATISTICS_NODE, SGPU_NODE_COPY);
    own = &of_process.QueryResult.ProcessNodeInformation;
    all = &of_node.QueryResult.NodeInformation.GlobalInformation;
    expect("packets of the process",
           own->PacketStatistics.DmaPacket[D3DKMT_ClientRenderBuffer].PacketCompleted == 3 &&
               own->ContextSwitch == 1);
    expect("time of the process, and of its node",
           own->RunningTime.QuadPart > 0 && own->RunningTime.QuadPart <= all->RunningTime.QuadPart);
}

int tell_adapter(void)
{
    IDXCoreAdapter *found = find_adapter();

    look_at_numbers(found);
    look_at_memory(found);
    look_at_errors(found);
    look_at_nodes();
    printf("%u of %u right\n", right, EXPECTED);
    return right != EXPECTED;
}
