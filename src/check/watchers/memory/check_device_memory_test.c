/* Memory that the driver asks for, for its device: IOMMU-005 and from IOMMU-008 on. */
#include "check/rig/test_rig_submit.h"

/* ---- A kernel that gives ---- */

#define PAGES_MOST 4

/* What the kernel answers with; the test changes it. */
static struct kernel {
    uintptr_t handles_given;
    NTSTATUS status;
    struct {
        MDL mdl;
        PFN_NUMBER pages[PAGES_MOST];
    } list;
    DXGK_ADL adl;
} kernel;

static HANDLE new_handle(void)
{
    return (HANDLE)(0x1000 + 16 * ++kernel.handles_given);
}

static NTSTATUS give(struct miniport_host *host, const struct miniport_memory_request *request)
{
    if (!NT_SUCCESS(kernel.status))
        return kernel.status;
    switch ((unsigned)request->kind) {
    case MINIPORT_MEMORY_allocate_pages:
        request->allocate_pages->hMemoryHandle = new_handle();
        request->allocate_pages->pMdl = &kernel.list.mdl;
        break;
    case MINIPORT_MEMORY_allocate_contiguous:
        request->allocate_contiguous->hMemoryHandle = new_handle();
        break;
    case MINIPORT_MEMORY_map_mdl:
        request->map_mdl->hMemoryHandle = new_handle();
        break;
    case MINIPORT_MEMORY_create_object:
        request->create_object->hPhysicalMemoryObject = new_handle();
        request->create_object->hAdapterMemoryObject =
            request->create_object->hAdapter ? new_handle() : NULL;
        break;
    case MINIPORT_MEMORY_open_object:
        request->open_object->hAdapterMemoryObject = new_handle();
        break;
    case MINIPORT_MEMORY_map_object:
        request->map_object->pMappedAddress = &kernel;
        request->map_object->Size = PAGE_SIZE;
        break;
    case MINIPORT_MEMORY_allocate_adl:
        request->allocate_adl->pAdl = &kernel.adl;
        break;
    default:
        break;
    }
    return STATUS_SUCCESS;
}

static void ask(struct rig *rig, enum miniport_memory_kind kind, const void *arg)
{
    static struct miniport_host_ops ops;
    const struct miniport_memory_request request = {.kind = kind, .any = arg};

    ops = rig_host_ops;
    ops.memory = give;
    rig->host.ops = &ops;
    rig->drivers_host->ops->memory(rig->drivers_host, &request);
    rig->host.ops = &rig_host_ops;
}
#define ASK(kind, arg) ask(rig, MINIPORT_MEMORY_##kind, arg)

static void kernel_init(void)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.list.mdl.ByteCount = 2 * PAGE_SIZE;
    kernel.list.mdl.MdlFlags = MDL_PAGES_LOCKED;
    kernel.adl.PageCount = 2;
}

static DXGKARGCB_ALLOCATEPAGESFORMDL two_pages(void)
{
    return (DXGKARGCB_ALLOCATEPAGESFORMDL){.TotalBytes = 2 * PAGE_SIZE,
                                           .HighAddress.QuadPart = 0xffffffff};
}

static void allocate_and_free(struct rig *rig, DXGKARGCB_ALLOCATEPAGESFORMDL allocate)
{
    DXGKARGCB_FREEPAGESFROMMDL free;

    ASK(allocate_pages, &allocate);
    free.hMemoryHandle = allocate.hMemoryHandle;
    ASK(free_pages, &free);
}

/* An object that is open, and its end. */
static DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create(struct rig *rig,
                                                      DXGK_PHYSICAL_MEMORY_TYPE type)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create = {
        .hAdapter = rig, .Size = 4 * PAGE_SIZE, .Type = type, .CacheType = 1};

    kernel_init();
    ASK(create_object, &create);
    return create;
}

static void destroy(struct rig *rig, const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *object)
{
    const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT destroy = {object->hPhysicalMemoryObject, NULL};

    ASK(destroy_object, &destroy);
}

static void list_and_free(struct rig *rig, DXGK_PHYSICAL_MEMORY_TYPE type,
                          DXGKARGCB_ALLOCATE_ADL list)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = create(rig, type);
    DXGKARGCB_FREE_ADL free = {.hAdapterMemoryObject = object.hAdapterMemoryObject};

    kernel.adl.Flags.Contiguous = 1;
    list.hAdapterMemoryObject = object.hAdapterMemoryObject;
    ASK(allocate_adl, &list);
    free.pAdl = list.pAdl;
    ASK(free_adl, &free);
    destroy(rig, &object);
}

/* ---- The rules ---- */

static NTSTATUS answer_remapped(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    ((DXGK_IOMMU_CAPS *)query->pOutputData)->DmaRemappingSupported = 1;
    return STATUS_SUCCESS;
}

static void be_remapped(struct rig *rig)
{
    DXGK_IOMMU_CAPS caps = {0};

    rig->answer = answer_remapped;
    rig_query(rig, DXGKQAITYPE_IOMMU_CAPS, NULL, 0, &caps, sizeof caps);
    rig->answer = NULL;
}

RULE_BROKEN(IOMMU_005)
{
    kernel_init();
    rig->irql = DISPATCH_LEVEL;
    allocate_and_free(rig, two_pages());
    rig->irql = PASSIVE_LEVEL;
}

RULE_KEPT(IOMMU_005)
{
    kernel_init();
    rig->irql = APC_LEVEL;
    allocate_and_free(rig, two_pages());
    rig->irql = PASSIVE_LEVEL;
}

static void old_lists_are_not_for_remapping(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = two_pages();
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    be_remapped(rig);
    object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    destroy(rig, &object);
    rig_expect_only(rig, RULE_NONE);
    kernel.status = STATUS_NOT_SUPPORTED;
    ASK(allocate_pages, &allocate);
    rig_expect_only(rig, RULE_IOMMU_005);
    assert_string_equal(rig->last.detail.where, "DxgkCbAllocatePagesForMdl");
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(IOMMU_008)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = two_pages();

    kernel_init();
    allocate.SkipBytes.QuadPart = 100;
    allocate_and_free(rig, allocate);
}

RULE_KEPT(IOMMU_008)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = two_pages();

    kernel_init();
    allocate.SkipBytes.QuadPart = 3 * PAGE_SIZE;
    allocate_and_free(rig, allocate);
}

static void allocate_across(struct rig *rig, LONGLONG boundary)
{
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY allocate = {.NumberOfBytes = PAGE_SIZE,
                                                   .BoundaryAddressMultiple.QuadPart = boundary};
    DXGKARGCB_FREECONTIGUOUSMEMORY free;

    kernel_init();
    ASK(allocate_contiguous, &allocate);
    free.hMemoryHandle = allocate.hMemoryHandle;
    ASK(free_contiguous, &free);
}

RULE_BROKEN(IOMMU_009)
{
    allocate_across(rig, 0x18000);
}

RULE_KEPT(IOMMU_009)
{
    allocate_across(rig, 0x10000);
    allocate_across(rig, 0);
}

RULE_BROKEN(IOMMU_010)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = two_pages();

    kernel_init();
    kernel.status = STATUS_INVALID_PARAMETER;
    allocate.TotalBytes = UINT64_C(1) << 32;
    ASK(allocate_pages, &allocate);
}

RULE_KEPT(IOMMU_010)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = two_pages();

    kernel_init();
    kernel.status = STATUS_NO_MEMORY;
    allocate.TotalBytes = (UINT64_C(1) << 32) - PAGE_SIZE;
    ASK(allocate_pages, &allocate);
}

RULE_BROKEN(IOMMU_011)
{
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY allocate = {.NumberOfBytes = PAGE_SIZE};
    DXGKARGCB_FREECONTIGUOUSMEMORY right;
    DXGKARGCB_FREEPAGESFROMMDL wrong;

    kernel_init();
    ASK(allocate_contiguous, &allocate);
    wrong.hMemoryHandle = right.hMemoryHandle = allocate.hMemoryHandle;
    ASK(free_pages, &wrong);
    ASK(free_contiguous, &right);
}

RULE_KEPT(IOMMU_011)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT both = {object.hPhysicalMemoryObject,
                                                           object.hAdapterMemoryObject};

    ASK(destroy_object, &both);
    allocate_across(rig, 0);
}

/* Closed, and then named once more where the object is destroyed. */
static void an_object_is_closed_once(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;
    DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT both;
    DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT close;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    close.hAdapterMemoryObject = object.hAdapterMemoryObject;
    ASK(close_object, &close);
    rig_expect_only(rig, RULE_NONE);
    both.hPhysicalMemoryObject = object.hPhysicalMemoryObject;
    both.hAdapterMemoryObject = object.hAdapterMemoryObject;
    ASK(destroy_object, &both);
    rig_expect_only(rig, RULE_IOMMU_011);
    assert_non_null(
        strstr(rig->last.detail.where, "DestroyPhysicalMemoryObject.hAdapterMemoryObject"));
    rig_fini(rig);
    free(rig);
}

static void map_and_unmap(struct rig *rig, CSHORT flags, NTSTATUS found)
{
    DXGKARGCB_MAPMDLTOIOMMU map = {.pMdl = &kernel.list.mdl};
    DXGKARGCB_UNMAPMDLFROMIOMMU unmap;

    kernel_init();
    kernel.list.mdl.MdlFlags = flags;
    ASK(map_mdl, &map);
    kernel.status = found;
    unmap.hMemoryHandle = map.hMemoryHandle;
    ASK(unmap_mdl, &unmap);
}

RULE_BROKEN(IOMMU_012)
{
    map_and_unmap(rig, MDL_PAGES_LOCKED, STATUS_MEMORY_NOT_ALLOCATED);
    assert_non_null(strstr(rig->last.text, "was freed"));
}

RULE_KEPT(IOMMU_012)
{
    map_and_unmap(rig, MDL_SOURCE_IS_NONPAGED_POOL, STATUS_SUCCESS);
}

static void mdls_without_pages_and_changed_ones_are_found(void **state)
{
    const NTSTATUS found[] = {STATUS_SUCCESS, STATUS_CONFLICTING_ADDRESSES};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        map_and_unmap(rig, i ? MDL_PAGES_LOCKED : 0, found[i]);
        rig_expect_only(rig, RULE_IOMMU_012);
        rig_fini(rig);
        free(rig);
    }
}

static void remove_device(struct rig *rig)
{
    miniport_stop_device(rig->top);
    miniport_remove_device(rig->top);
}

RULE_BROKEN(IOMMU_013)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL allocate = two_pages();

    kernel_init();
    ASK(allocate_pages, &allocate);
    remove_device(rig);
    assert_non_null(strstr(rig->last.text, "DxgkCbAllocatePagesForMdl, 8192 bytes"));
}

RULE_KEPT(IOMMU_013)
{
    kernel_init();
    allocate_and_free(rig, two_pages());
    remove_device(rig);
}

static void create_and_destroy(struct rig *rig, DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create)
{
    kernel_init();
    create.Size = PAGE_SIZE;
    ASK(create_object, &create);
    destroy(rig, &create);
}

RULE_BROKEN(IOMMU_014)
{
    create_and_destroy(
        rig, (DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT){.Type = DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE,
                                                       .IOSpace.BaseAddress.QuadPart = 0xfee00010});
}

RULE_KEPT(IOMMU_014)
{
    create_and_destroy(
        rig, (DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT){.Type = DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE,
                                                       .IOSpace.BaseAddress.QuadPart = 0xfee00000});
    create_and_destroy(rig, (DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT){
                                .Type = DXGK_PHYSICAL_MEMORY_TYPE_SECTION,
                                .CacheType = DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED});
}

/* Each type has rules of its own. */
static void arguments_of_objects_are_judged_by_their_type(void **state)
{
    static const struct {
        DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create;
        enum rule_id rule;
    } rows[] = {
        {{.Type = DXGK_PHYSICAL_MEMORY_TYPE_SECTION}, RULE_IOMMU_014},
        {{.Type = DXGK_PHYSICAL_MEMORY_TYPE_MDL, .Mdl.SkipBytes.QuadPart = 1}, RULE_IOMMU_008},
        {{.Type = DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY,
          .ContiguousMemory.BoundaryAddressMultiple.QuadPart = 3 * PAGE_SIZE},
         RULE_IOMMU_009},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        create_and_destroy(rig, rows[i].create);
        rig_expect_only(rig, rows[i].rule);
        rig_fini(rig);
        free(rig);
    }
}

static void open_object(struct rig *rig, HANDLE adapter, unsigned times)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = {.hAdapter = adapter, .Size = PAGE_SIZE};
    DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT open;

    kernel_init();
    ASK(create_object, &object);
    open.hPhysicalMemoryObject = object.hPhysicalMemoryObject;
    for (unsigned i = 0; i < times; i++)
        ASK(open_object, &open);
    destroy(rig, &object);
}

RULE_BROKEN(IOMMU_015)
{
    open_object(rig, rig, 1);
}

RULE_KEPT(IOMMU_015)
{
    open_object(rig, NULL, 1);
}

RULE_BROKEN(IOMMU_016)
{
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Offset = 100, .Size = 2 * PAGE_SIZE});
}

RULE_KEPT(IOMMU_016)
{
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Offset = PAGE_SIZE, .Size = 2 * PAGE_SIZE});
}

RULE_BROKEN(IOMMU_017)
{
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Size = 2 * PAGE_SIZE, .Flags.RequireContiguous = 1});
}

RULE_KEPT(IOMMU_017)
{
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY,
                  (DXGKARGCB_ALLOCATE_ADL){.Size = 2 * PAGE_SIZE, .Flags.RequireContiguous = 1});
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Size = 2 * PAGE_SIZE, .Flags.PreferContiguous = 1});
}

/* Two objects are open: each list is of the one that it names. */
static void a_list_is_of_the_object_that_is_open_by_its_handle(void **state)
{
    for (unsigned named = 0; named < 2; named++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT objects[2];
        DXGKARGCB_ALLOCATE_ADL list = {.Size = 2 * PAGE_SIZE, .Flags.RequireContiguous = 1};

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        objects[0] = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
        objects[1] = (DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT){
            .Type = DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY, .hAdapter = rig, .Size = 1 << 16};
        ASK(create_object, &objects[1]);
        kernel.adl.Flags.Contiguous = 1;
        list.hAdapterMemoryObject = objects[named].hAdapterMemoryObject;
        ASK(allocate_adl, &list);
        rig_expect_only(rig, named ? RULE_NONE : RULE_IOMMU_017);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(IOMMU_018)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    DXGKARGCB_ALLOCATE_ADL list = {.hAdapterMemoryObject = object.hAdapterMemoryObject,
                                   .Size = 2 * PAGE_SIZE};
    DXGKARGCB_FREE_ADL free = {.hAdapterMemoryObject = object.hAdapterMemoryObject};

    ASK(allocate_adl, &list);
    free.pAdl = list.pAdl;
    ASK(free_adl, &free);
    ASK(free_adl, &free);
    destroy(rig, &object);
}

RULE_KEPT(IOMMU_018)
{
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Size = 2 * PAGE_SIZE});
}

RULE_BROKEN(IOMMU_019)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    DXGKARGCB_ALLOCATE_ADL list = {.hAdapterMemoryObject = object.hAdapterMemoryObject,
                                   .Size = 2 * PAGE_SIZE};

    ASK(allocate_adl, &list);
    destroy(rig, &object);
}

RULE_KEPT(IOMMU_019)
{
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Size = 2 * PAGE_SIZE});
}

/* by: how much the Size given back differs from what was put out. */
static void view_and_end(struct rig *rig, unsigned by)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    DXGKARGCB_MAP_PHYSICAL_MEMORY map = {
        .hPhysicalMemoryObject = object.hPhysicalMemoryObject, .Offset = 100, .Size = 200};
    DXGKARGCB_UNMAP_PHYSICAL_MEMORY unmap = {.hPhysicalMemoryObject = object.hPhysicalMemoryObject};

    ASK(map_object, &map);
    unmap.pBaseAddress = map.pMappedAddress;
    unmap.Size = map.Size - by;
    ASK(unmap_object, &unmap);
    destroy(rig, &object);
}

RULE_BROKEN(IOMMU_020)
{
    view_and_end(rig, PAGE_SIZE - 200);
}

RULE_KEPT(IOMMU_020)
{
    view_and_end(rig, 0);
}

RULE_BROKEN(IOMMU_021)
{
    kernel_init();
    kernel.list.mdl.ByteCount = PAGE_SIZE;
    allocate_and_free(rig, two_pages());
}

RULE_KEPT(IOMMU_021)
{
    kernel_init();
    allocate_and_free(rig, two_pages());
    list_and_free(rig, DXGK_PHYSICAL_MEMORY_TYPE_MDL,
                  (DXGKARGCB_ALLOCATE_ADL){.Size = 2 * PAGE_SIZE});
}

/* A page that is too high, a list that is too short, one that is not contiguous. */
static void what_the_kernel_gives_is_judged(void **state)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object;
    DXGKARGCB_ALLOCATE_ADL list = {0};

    for (unsigned i = 0; i < 3; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        kernel_init();
        if (i == 0) {
            kernel.list.pages[1] = 0x100000;
            allocate_and_free(rig, two_pages());
        } else {
            object = create(rig, DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY);
            list.hAdapterMemoryObject = object.hAdapterMemoryObject;
            list.Size = (i == 1 ? 3 : 2) * PAGE_SIZE;
            list.Flags.RequireContiguous = i == 2;
            ASK(allocate_adl, &list);
        }
        rig_expect_only(rig, RULE_IOMMU_021);
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_lists_are_not_for_remapping),
        cmocka_unit_test(an_object_is_closed_once),
        cmocka_unit_test(mdls_without_pages_and_changed_ones_are_found),
        cmocka_unit_test(arguments_of_objects_are_judged_by_their_type),
        cmocka_unit_test(a_list_is_of_the_object_that_is_open_by_its_handle),
        cmocka_unit_test(what_the_kernel_gives_is_judged),
    };

    return RIG_RUN_TESTS(tests);
}
