#define _GNU_SOURCE /* dl_iterate_phdr() */
#include "bench/run/program_code.h"

#include <link.h>
#include <stdint.h>

struct search {
    uintptr_t address;
    bool is_found;
};

static int search_object(struct dl_phdr_info *object, size_t size, void *context)
{
    struct search *search = context;

    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        search->is_found |= part->p_type == PT_LOAD && part->p_flags & PF_X &&
                            search->address - object->dlpi_addr - part->p_vaddr < part->p_memsz;
    }
    return search->is_found;
}

bool program_has_code(const void *address)
{
    struct search search = {.address = (uintptr_t)address};

    dl_iterate_phdr(search_object, &search);
    return search.is_found;
}
