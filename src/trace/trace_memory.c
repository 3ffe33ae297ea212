/*
 * The lines of the callbacks by which a driver gets memory for its device. Handles are numbers of
 * the kernel's, the same in each run; addresses of the CPU are left out.
 */
#include "trace/trace_line.h"

static uint64_t number_of(HANDLE handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static void put_range(struct trace_line *line, PHYSICAL_ADDRESS lowest, PHYSICAL_ADDRESS highest)
{
    trace_put_hex(line, "lowest", (uint64_t)lowest.QuadPart);
    trace_put_hex(line, "highest", (uint64_t)highest.QuadPart);
}

static void put_create(struct trace_line *line, const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *arg)
{
    trace_put_number(line, "Type", (uint64_t)arg->Type);
    trace_put_number(line, "Size", arg->Size);
    trace_put_number(line, "CacheType", (uint64_t)arg->CacheType);
    trace_put_words(line, "hAdapter", arg->hAdapter ? "given" : "-");
    switch (arg->Type) {
    case DXGK_PHYSICAL_MEMORY_TYPE_MDL:
        put_range(line, arg->Mdl.LowAddress, arg->Mdl.HighAddress);
        trace_put_hex(line, "SkipBytes", (uint64_t)arg->Mdl.SkipBytes.QuadPart);
        trace_put_hex(line, "Flags", arg->Mdl.Flags);
        break;
    case DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY:
        put_range(line, arg->ContiguousMemory.LowestAcceptableAddress,
                  arg->ContiguousMemory.HighestAcceptableAddress);
        trace_put_hex(line, "BoundaryAddressMultiple",
                      (uint64_t)arg->ContiguousMemory.BoundaryAddressMultiple.QuadPart);
        break;
    case DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE:
        trace_put_hex(line, "BaseAddress", (uint64_t)arg->IOSpace.BaseAddress.QuadPart);
        break;
    default:
        break;
    }
}

static void put_before(struct trace_line *line, const struct miniport_memory_request *request)
{
    switch (request->kind) {
    case MINIPORT_MEMORY_allocate_pages:
        put_range(line, request->allocate_pages->LowAddress, request->allocate_pages->HighAddress);
        trace_put_hex(line, "SkipBytes", (uint64_t)request->allocate_pages->SkipBytes.QuadPart);
        trace_put_number(line, "TotalBytes", request->allocate_pages->TotalBytes);
        trace_put_number(line, "CacheType", (uint64_t)request->allocate_pages->CacheType);
        trace_put_hex(line, "Flags", request->allocate_pages->Flags);
        break;
    case MINIPORT_MEMORY_free_pages:
        trace_put_hex(line, "hMemoryHandle", number_of(request->free_pages->hMemoryHandle));
        break;
    case MINIPORT_MEMORY_allocate_contiguous:
        put_range(line, request->allocate_contiguous->LowestAcceptableAddress,
                  request->allocate_contiguous->HighestAcceptableAddress);
        trace_put_hex(line, "BoundaryAddressMultiple",
                      (uint64_t)request->allocate_contiguous->BoundaryAddressMultiple.QuadPart);
        trace_put_number(line, "NumberOfBytes", request->allocate_contiguous->NumberOfBytes);
        trace_put_number(line, "CacheType", (uint64_t)request->allocate_contiguous->CacheType);
        break;
    case MINIPORT_MEMORY_free_contiguous:
        trace_put_hex(line, "hMemoryHandle", number_of(request->free_contiguous->hMemoryHandle));
        break;
    case MINIPORT_MEMORY_map_mdl:
        trace_put_mdl(line, "pMdl", request->map_mdl->pMdl);
        break;
    case MINIPORT_MEMORY_unmap_mdl:
        trace_put_hex(line, "hMemoryHandle", number_of(request->unmap_mdl->hMemoryHandle));
        break;
    case MINIPORT_MEMORY_create_object:
        put_create(line, request->create_object);
        break;
    case MINIPORT_MEMORY_destroy_object:
        trace_put_hex(line, "hPhysicalMemoryObject",
                      number_of(request->destroy_object->hPhysicalMemoryObject));
        trace_put_hex(line, "hAdapterMemoryObject",
                      number_of(request->destroy_object->hAdapterMemoryObject));
        break;
    case MINIPORT_MEMORY_map_object:
        trace_put_hex(line, "hPhysicalMemoryObject",
                      number_of(request->map_object->hPhysicalMemoryObject));
        trace_put_number(line, "AccessMode", (uint64_t)request->map_object->AccessMode);
        trace_put_hex(line, "Offset", request->map_object->Offset);
        trace_put_number(line, "Size", request->map_object->Size);
        break;
    case MINIPORT_MEMORY_unmap_object:
        trace_put_hex(line, "hPhysicalMemoryObject",
                      number_of(request->unmap_object->hPhysicalMemoryObject));
        trace_put_number(line, "Size", request->unmap_object->Size);
        break;
    case MINIPORT_MEMORY_allocate_adl:
        trace_put_hex(line, "hAdapterMemoryObject",
                      number_of(request->allocate_adl->hAdapterMemoryObject));
        trace_put_hex(line, "Offset", request->allocate_adl->Offset);
        trace_put_number(line, "Size", request->allocate_adl->Size);
        trace_put_hex(line, "Flags", request->allocate_adl->Flags.Value);
        break;
    case MINIPORT_MEMORY_free_adl:
        trace_put_hex(line, "hAdapterMemoryObject",
                      number_of(request->free_adl->hAdapterMemoryObject));
        break;
    case MINIPORT_MEMORY_open_object:
        trace_put_hex(line, "hPhysicalMemoryObject",
                      number_of(request->open_object->hPhysicalMemoryObject));
        break;
    case MINIPORT_MEMORY_close_object:
        trace_put_hex(line, "hAdapterMemoryObject",
                      number_of(request->close_object->hAdapterMemoryObject));
        break;
    case MINIPORT_MEMORY_pin_save_area:
        trace_put_number(line, "CommitSize", request->pin_save_area->CommitSize);
        break;
    case MINIPORT_MEMORY_pin_save_area_2:
        trace_put_number(line, "CommitSize", request->pin_save_area_2->CommitSize);
        trace_put_hex(line, "Flags", request->pin_save_area_2->Flags.Value);
        break;
    case MINIPORT_MEMORY_map_save_area:
        trace_put_number(line, "Size", request->map_save_area->Size);
        trace_put_hex(line, "Offset", request->map_save_area->Offset);
        break;
    case MINIPORT_MEMORY_unpin_save_area:
    case MINIPORT_MEMORY_unmap_save_area:
    case MINIPORT_MEMORY_COUNT:
        break;
    }
}

static void put_after(struct trace_line *line, const struct miniport_memory_request *request)
{
    switch ((unsigned)request->kind) {
    case MINIPORT_MEMORY_allocate_pages:
        trace_put_hex(line, "hMemoryHandle", number_of(request->allocate_pages->hMemoryHandle));
        trace_put_mdl(line, "pMdl", request->allocate_pages->pMdl);
        break;
    case MINIPORT_MEMORY_allocate_contiguous:
        trace_put_hex(line, "hMemoryHandle",
                      number_of(request->allocate_contiguous->hMemoryHandle));
        trace_put_cpu_address(line, "pMemory", request->allocate_contiguous->pMemory);
        break;
    case MINIPORT_MEMORY_map_mdl:
        trace_put_hex(line, "hMemoryHandle", number_of(request->map_mdl->hMemoryHandle));
        break;
    case MINIPORT_MEMORY_create_object:
        trace_put_hex(line, "hPhysicalMemoryObject",
                      number_of(request->create_object->hPhysicalMemoryObject));
        trace_put_hex(line, "hAdapterMemoryObject",
                      number_of(request->create_object->hAdapterMemoryObject));
        break;
    case MINIPORT_MEMORY_map_object:
        trace_put_hex(line, "Offset", request->map_object->Offset);
        trace_put_number(line, "Size", request->map_object->Size);
        break;
    case MINIPORT_MEMORY_allocate_adl:
        trace_put_adl(line, "pAdl", request->allocate_adl->pAdl);
        break;
    case MINIPORT_MEMORY_open_object:
        trace_put_hex(line, "hAdapterMemoryObject",
                      number_of(request->open_object->hAdapterMemoryObject));
        break;
    case MINIPORT_MEMORY_pin_save_area:
        trace_put_mdl(line, "pMdl", request->pin_save_area->pMdl);
        break;
    case MINIPORT_MEMORY_pin_save_area_2:
        trace_put_adl(line, "pAdl", request->pin_save_area_2->pAdl);
        break;
    case MINIPORT_MEMORY_map_save_area:
        trace_put_hex(line, "Offset", request->map_save_area->Offset);
        break;
    default:
        break;
    }
}

void trace_put_memory(struct trace_line *line, const struct trace_event *event)
{
    if (event->phase == TRACE_BEFORE)
        put_before(line, event->argument);
    else if (NT_SUCCESS(event->status))
        put_after(line, event->argument);
}
