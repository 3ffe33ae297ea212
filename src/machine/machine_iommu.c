/*
 * IOMMU spaces as radix trees of four levels of 512, like the page tables they stand for. Nodes are
 * made when they are needed and stay until the space goes.
 */
#include "machine/machine_iommu.h"

#include "base/assert.h"
#include "base/bits.h"

#define LEVELS     4u
#define INDEX_BITS 9u
#define ENTRIES    (1u << INDEX_BITS)
#define MAX_SPACES MACHINE_AGP

/* Inner nodes hold nodes; those of level 0 hold page numbers + 1, 0 for none. */
union node {
    union node *children[ENTRIES];
    uint64_t pages[ENTRIES];
};

struct space {
    union node *root; /* NULL: nothing was ever mapped */
    bool is_live;
};

struct machine_iommu {
    const struct base_services *services;
    bool remaps;
    uint32_t space_count; /* PASIDs ever handed out, and MACHINE_NO_PASID */
    uint64_t mapped_pages;
    struct space spaces[MAX_SPACES];
    struct space agp;
};

static unsigned index_at(uint64_t page, unsigned level)
{
    return (unsigned)(page >> (INDEX_BITS * level)) & (ENTRIES - 1);
}

struct machine_iommu *machine_iommu_create(const struct base_services *services)
{
    struct machine_iommu *iommu = base_alloc(services, sizeof *iommu);

    if (!iommu)
        return NULL;
    iommu->services = services;
    iommu->spaces[MACHINE_NO_PASID].is_live = true;
    iommu->space_count = 1;
    return iommu;
}

static void free_node(struct machine_iommu *iommu, union node *node, unsigned level)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (level == 0)
            iommu->mapped_pages -= node->pages[i] != 0;
        else if (node->children[i])
            free_node(iommu, node->children[i], level - 1);
    }
    base_free(iommu->services, node, sizeof *node);
}

static void empty_space(struct machine_iommu *iommu, struct space *space)
{
    if (space->root)
        free_node(iommu, space->root, LEVELS - 1);
    space->root = NULL;
}

void machine_iommu_destroy(struct machine_iommu *iommu)
{
    if (!iommu)
        return;
    for (uint32_t i = 0; i < iommu->space_count; i++)
        empty_space(iommu, &iommu->spaces[i]);
    empty_space(iommu, &iommu->agp);
    base_free(iommu->services, iommu, sizeof *iommu);
}

void machine_iommu_set_remapping(struct machine_iommu *iommu, bool remaps)
{
    iommu->remaps = remaps;
}

bool machine_iommu_is_remapping(const struct machine_iommu *iommu)
{
    return iommu->remaps;
}

static struct space *find_space(const struct machine_iommu *iommu, uint32_t pasid)
{
    if (pasid == MACHINE_AGP)
        return (struct space *)&iommu->agp;
    if (pasid >= iommu->space_count || !iommu->spaces[pasid].is_live)
        return NULL;
    return (struct space *)&iommu->spaces[pasid];
}

bool machine_iommu_space_create(struct machine_iommu *iommu, uint32_t *out_pasid)
{
    uint32_t pasid = MACHINE_NO_PASID + 1;

    *out_pasid = MACHINE_NO_PASID;
    while (pasid < iommu->space_count && iommu->spaces[pasid].is_live)
        pasid++;
    if (pasid == MAX_SPACES)
        return false;
    if (pasid == iommu->space_count)
        iommu->space_count++;
    iommu->spaces[pasid].is_live = true;
    *out_pasid = pasid;
    return true;
}

void machine_iommu_space_destroy(struct machine_iommu *iommu, uint32_t pasid)
{
    struct space *space = find_space(iommu, pasid);

    if (!space || pasid == MACHINE_NO_PASID || pasid == MACHINE_AGP)
        return;
    empty_space(iommu, space);
    space->is_live = false;
}

/* The leaf node of a page; NULL: there is none, and with makes no memory for one. */
static union node *leaf_of(struct machine_iommu *iommu, struct space *space, uint64_t page,
                           bool makes)
{
    union node **at = &space->root;

    for (unsigned level = LEVELS;;) {
        if (!*at && makes)
            *at = base_alloc(iommu->services, sizeof **at);
        if (!*at || --level == 0)
            return *at;
        at = &(*at)->children[index_at(page, level)];
    }
}

bool machine_iommu_map(struct machine_iommu *iommu, uint32_t pasid, uint64_t first_page,
                       uint64_t count, const uint64_t *pfns)
{
    struct space *space = find_space(iommu, pasid);

    if (!space || first_page > MACHINE_IOMMU_PAGES || count > MACHINE_IOMMU_PAGES - first_page)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        union node *leaf = leaf_of(iommu, space, first_page + i, true);
        uint64_t *entry = leaf ? &leaf->pages[index_at(first_page + i, 0)] : NULL;

        if (!entry || *entry) {
            machine_iommu_unmap(iommu, pasid, first_page, i);
            return false;
        }
        *entry = pfns[i] + 1;
        iommu->mapped_pages++;
    }
    return true;
}

void machine_iommu_unmap(struct machine_iommu *iommu, uint32_t pasid, uint64_t first_page,
                         uint64_t count)
{
    struct space *space = find_space(iommu, pasid);

    if (!space || first_page > MACHINE_IOMMU_PAGES || count > MACHINE_IOMMU_PAGES - first_page)
        return;
    for (uint64_t i = 0; i < count; i++) {
        union node *leaf = leaf_of(iommu, space, first_page + i, false);
        uint64_t *entry = leaf ? &leaf->pages[index_at(first_page + i, 0)] : NULL;

        if (!entry || !*entry)
            continue;
        *entry = 0;
        iommu->mapped_pages--;
    }
}

bool machine_iommu_find(const struct machine_iommu *iommu, uint32_t pasid, uint64_t page,
                        uint64_t *out_pfn)
{
    struct space *space = find_space(iommu, pasid);
    const union node *leaf;

    *out_pfn = 0;
    if (!space || page >= MACHINE_IOMMU_PAGES)
        return false;
    leaf = leaf_of((struct machine_iommu *)iommu, space, page, false);
    if (!leaf || !leaf->pages[index_at(page, 0)])
        return false;
    *out_pfn = leaf->pages[index_at(page, 0)] - 1;
    return true;
}

uint64_t machine_iommu_mapped_pages(const struct machine_iommu *iommu)
{
    return iommu->mapped_pages;
}
