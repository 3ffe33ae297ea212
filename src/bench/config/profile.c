/*
 * The profiles.
 */
#include "bench/config/profile.h"

#include "bench/config/run_config.h"

#include "base/bits.h"

#include <string.h>

static const struct run_profile profiles[] = {
    {.name = RUN_PROFILE_DEFAULT,
     .summary = "every lawful reading, every level, every fault",
     .faults = RUN_FAULT_ALL},
    {.name = "strict-dma-size-lowered",
     .summary = "U1: DmaSize must be lowered by what was written",
     .check = {.wants_dma_size_lowered = true},
     .faults = RUN_FAULT_ALL},
    {.name = "strict-dma-size-unchanged",
     .summary = "U1: DmaSize must be left as it was",
     .check = {.wants_dma_size_unchanged = true},
     .faults = RUN_FAULT_ALL},
    {.name = "strict-one-mmu",
     .summary = "C3: a driver supports GpuMmu or IoMmu, not both",
     .check = {.wants_one_mmu = true},
     .faults = RUN_FAULT_ALL},
    {.name = "strict-host-aperture-last",
     .summary = "SEG-017: a segment with a CPU host aperture is the last one",
     .check = {.wants_host_aperture_last = true},
     .faults = RUN_FAULT_ALL},
    {.name = "strict-open",
     .summary = "what documents leave open is judged by the strict reading, not told as advice: "
                "PWR-006, ALLOC-001, SEG-006, PATCH-009, PB-014, PWR-014, "
                "TDR-016, MEM-003 of DMA buffers, MEM-004, CALL-002",
     .check = {.wants_end_with_flag = true,
               .wants_offset_progress = true,
               .wants_own_addresses = true,
               .wants_gone_untouched = true,
               .wants_stuck_told = true,
               .wants_power_of_two = true,
               .wants_built_complete = true,
               .wants_answers_complete = true,
               .wants_buffers_returned = true,
               .wants_reserved_zero = true},
     .faults = RUN_FAULT_ALL},
    {.name = "keeps-straddling",
     .summary = "C4: what only begins in the kept part of a segment may stay there in a sleep, too",
     .check = {.keeps_straddling = true},
     .faults = RUN_FAULT_ALL},
    {.name = "small-buffers",
     .summary = "buffers smaller than the driver declares, and paging without Patch, whoever it is",
     .draws_small_buffers = true,
     .faults = RUN_FAULT_ALL},
    {.name = "gigabytes",
     .summary = "operations of more than 4 GiB: seconds a seed, for drivers with GPU addresses",
     .focus = "large=5368709120",
     .first_wddm = 20,
     .last_wddm = 39,
     .faults = RUN_FAULT_ALL},
    {.name = "gentle",
     .summary = "no faults: nothing of what the option faults can switch on",
     .faults = 0},
    {.name = "wddm-1",
     .summary = "drivers of WDDM 1.x only",
     .first_wddm = 10,
     .last_wddm = 19,
     .faults = RUN_FAULT_ALL},
    {.name = "wddm-2",
     .summary = "drivers of WDDM 2.x only",
     .first_wddm = 20,
     .last_wddm = 29,
     .faults = RUN_FAULT_ALL},
    {.name = "wddm-3",
     .summary = "drivers of WDDM 3.x only",
     .first_wddm = 30,
     .last_wddm = 39,
     .faults = RUN_FAULT_ALL},
};

const struct run_profile *run_profile_at(unsigned index)
{
    return index < ARRAY_COUNT(profiles) ? &profiles[index] : NULL;
}

const struct run_profile *run_find_profile(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(profiles); i++) {
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    }
    return NULL;
}

bool run_profile_has_level(const struct run_profile *profile, unsigned wddm)
{
    return !profile->first_wddm || (wddm >= profile->first_wddm && wddm <= profile->last_wddm);
}
