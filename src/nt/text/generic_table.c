/*
 * Generic tables. Both kinds are search trees that keep a heap order of their nodes' hashed
 * addresses, and so stay shallow whatever is inserted; which shape a tree has is nothing that a
 * driver can see.
 */
#include "nt/nt_private.h"

#include "base/bits.h"
#include "base/hash.h"

#include <wdm/generic_table.h>

#include <string.h>

/* The three pointers that the headers of both kinds begin with. */
struct node {
    struct node *parent, *left, *right;
};

/* The common part of both kinds of tables. */
struct table {
    void *object;
    struct node **root;
    struct node **current; /* where an enumeration is */
    ULONG *count;
    PLIST_ENTRY order; /* of insertion; NULL: not kept */
    size_t header_bytes;
    void *compare, *allocate, *release; /* as the bench calls them */
};

struct splay_header {
    RTL_SPLAY_LINKS links;
    LIST_ENTRY order;
};

_Static_assert(sizeof(struct splay_header) == 0x28, "what documented sizes leave for it");

static struct table of_splay(PRTL_GENERIC_TABLE object)
{
    struct nt *nt = nt_current();

    return (struct table){
        .object = object,
        .root = (struct node **)(void *)&object->TableRoot,
        .current = (struct node **)(void *)&object->OrderedPointer,
        .count = &object->NumberGenericTableElements,
        .order = &object->InsertOrderList,
        .header_bytes = sizeof(struct splay_header),
        .compare = nt_driver_function(nt, (const void *)object->CompareRoutine),
        .allocate = nt_driver_function(nt, (const void *)object->AllocateRoutine),
        .release = nt_driver_function(nt, (const void *)object->FreeRoutine),
    };
}

static struct table of_avl(PRTL_AVL_TABLE object)
{
    struct nt *nt = nt_current();

    return (struct table){
        .object = object,
        .root = (struct node **)(void *)&object->BalancedRoot.RightChild,
        .current = (struct node **)(void *)&object->RestartKey,
        .count = &object->NumberGenericTableElements,
        .header_bytes = sizeof(RTL_BALANCED_LINKS),
        .compare = nt_driver_function(nt, (const void *)object->CompareRoutine),
        .allocate = nt_driver_function(nt, (const void *)object->AllocateRoutine),
        .release = nt_driver_function(nt, (const void *)object->FreeRoutine),
    };
}

static void *data_of(const struct table *table, struct node *node)
{
    return node ? (uint8_t *)node + table->header_bytes : NULL;
}

/* ---- The tree -------------------------------------------------------------------------------- */

static bool is_above(const struct node *first, const struct node *second)
{
    return hash_u64((uintptr_t)first) > hash_u64((uintptr_t)second);
}

/* The place that points to a node. */
static struct node **place_of(struct node **root, const struct node *node)
{
    if (!node->parent)
        return root;
    return node->parent->left == node ? &node->parent->left : &node->parent->right;
}

/* A node and its parent change places. */
static void rotate_up(struct node **root, struct node *node)
{
    struct node *parent = node->parent, **place = place_of(root, parent);
    bool is_left = parent->left == node;
    struct node *inner = is_left ? node->right : node->left;

    if (is_left) {
        parent->left = inner;
        node->right = parent;
    } else {
        parent->right = inner;
        node->left = parent;
    }
    if (inner)
        inner->parent = parent;
    node->parent = parent->parent;
    parent->parent = node;
    *place = node;
}

static void insert(struct node **root, struct node *parent, bool is_left, struct node *node)
{
    *node = (struct node){.parent = parent};
    if (!parent)
        *root = node;
    else if (is_left)
        parent->left = node;
    else
        parent->right = node;
    while (node->parent && is_above(node, node->parent))
        rotate_up(root, node);
}

static void erase(struct node **root, struct node *node)
{
    struct node *child;

    while (node->left && node->right)
        rotate_up(root, is_above(node->left, node->right) ? node->left : node->right);
    child = node->left ? node->left : node->right;
    if (child)
        child->parent = node->parent;
    *place_of(root, node) = child;
}

static struct node *first_of(struct node *node)
{
    while (node && node->left)
        node = node->left;
    return node;
}

static struct node *next_of(struct node *node)
{
    if (node->right)
        return first_of(node->right);
    while (node->parent && node->parent->right == node)
        node = node->parent;
    return node->parent;
}

static struct node *previous_of(struct node *node)
{
    if (node->left) {
        for (node = node->left; node->right; node = node->right)
            ;
        return node;
    }
    while (node->parent && node->parent->left == node)
        node = node->parent;
    return node->parent;
}

/* ---- Operations of both kinds ---------------------------------------------------------------- */

static RTL_GENERIC_COMPARE_RESULTS compare(const struct table *table, void *first, void *second)
{
    return ((PRTL_AVL_COMPARE_ROUTINE)table->compare)(table->object, first, second);
}

static TABLE_SEARCH_RESULT search(const struct table *table, void *key, struct node **out_node)
{
    struct node *node = *table->root;

    *out_node = node;
    while (node) {
        RTL_GENERIC_COMPARE_RESULTS result = compare(table, key, data_of(table, node));

        *out_node = node;
        if (result == GenericEqual)
            return TableFoundNode;
        node = result == GenericLessThan ? node->left : node->right;
        if (!node)
            return result == GenericLessThan ? TableInsertAsLeft : TableInsertAsRight;
    }
    return TableEmptyTree;
}

static void *insert_at(const struct table *table, const void *data, CLONG bytes,
                       PBOOLEAN out_is_new, struct node *at, TABLE_SEARCH_RESULT result)
{
    struct node *node = at;

    if (out_is_new)
        *out_is_new = FALSE;
    if (result != TableFoundNode) {
        if (bytes > MAXULONG - table->header_bytes)
            return NULL;
        node = ((PRTL_AVL_ALLOCATE_ROUTINE)table->allocate)(table->object,
                                                            (CLONG)table->header_bytes + bytes);
        if (!node)
            return NULL;
        insert(table->root, at, result == TableInsertAsLeft, node);
        if (table->order)
            InsertTailList(table->order, &((struct splay_header *)(void *)node)->order);
        memcpy(data_of(table, node), data, bytes);
        (*table->count)++;
        if (out_is_new)
            *out_is_new = TRUE;
    }
    return data_of(table, node);
}

static void *insert_data(const struct table *table, void *data, CLONG bytes, PBOOLEAN out_is_new)
{
    struct node *node;
    TABLE_SEARCH_RESULT result = search(table, data, &node);

    return insert_at(table, data, bytes, out_is_new, node, result);
}

static void *find(const struct table *table, void *key, void **out_node, TABLE_SEARCH_RESULT *out)
{
    struct node *node;

    *out = search(table, key, &node);
    *out_node = node;
    return *out == TableFoundNode ? data_of(table, node) : NULL;
}

/* An enumeration that stands on the element goes on behind it. */
static BOOLEAN delete_data(const struct table *table, void *key)
{
    struct node *node;

    if (search(table, key, &node) != TableFoundNode)
        return FALSE;
    if (*table->current == node)
        *table->current = previous_of(node);
    erase(table->root, node);
    if (table->order)
        RemoveEntryList(&((struct splay_header *)(void *)node)->order);
    (*table->count)--;
    ((PRTL_AVL_FREE_ROUTINE)table->release)(table->object, node);
    return TRUE;
}

static void *enumerate(const struct table *table, struct node **current)
{
    struct node *node = *current ? next_of(*current) : first_of(*table->root);

    if (node)
        *current = node;
    return data_of(table, node);
}

static void *element(const struct table *table, ULONG index)
{
    struct node *node = first_of(*table->root);

    if (index >= *table->count)
        return NULL;
    if (table->order) {
        PLIST_ENTRY entry = table->order->Flink;

        while (index--)
            entry = entry->Flink;
        return container_of(entry, struct splay_header, order) + 1;
    }
    while (index--)
        node = next_of(node);
    return data_of(table, node);
}

/* ---- Splay tables ---------------------------------------------------------------------------- */

VOID NTAPI RtlInitializeGenericTable(PRTL_GENERIC_TABLE Table,
                                     PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine,
                                     PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine,
                                     PRTL_GENERIC_FREE_ROUTINE FreeRoutine, PVOID TableContext)
{
    nt_require_irql(nt_current(), "RtlInitializeGenericTable", DISPATCH_LEVEL);
    *Table = (RTL_GENERIC_TABLE){.CompareRoutine = CompareRoutine,
                                 .AllocateRoutine = AllocateRoutine,
                                 .FreeRoutine = FreeRoutine,
                                 .TableContext = TableContext};
    InitializeListHead(&Table->InsertOrderList);
}

PVOID NTAPI RtlInsertElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                         PBOOLEAN NewElement)
{
    struct table table = of_splay(Table);

    return insert_data(&table, Buffer, BufferSize, NewElement);
}

PVOID NTAPI RtlInsertElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                             CLONG BufferSize, PBOOLEAN NewElement,
                                             PVOID NodeOrParent, TABLE_SEARCH_RESULT SearchResult)
{
    struct table table = of_splay(Table);

    return insert_at(&table, Buffer, BufferSize, NewElement, NodeOrParent, SearchResult);
}

BOOLEAN NTAPI RtlDeleteElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer)
{
    struct table table = of_splay(Table);

    return delete_data(&table, Buffer);
}

PVOID NTAPI RtlLookupElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer,
                                             PVOID *NodeOrParent, TABLE_SEARCH_RESULT *SearchResult)
{
    struct table table = of_splay(Table);

    return find(&table, Buffer, NodeOrParent, SearchResult);
}

PVOID NTAPI RtlLookupElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer)
{
    TABLE_SEARCH_RESULT result;
    PVOID node;

    return RtlLookupElementGenericTableFull(Table, Buffer, &node, &result);
}

PVOID NTAPI RtlEnumerateGenericTableWithoutSplaying(PRTL_GENERIC_TABLE Table, PVOID *RestartKey)
{
    struct table table = of_splay(Table);

    return enumerate(&table, (struct node **)RestartKey);
}

PVOID NTAPI RtlEnumerateGenericTable(PRTL_GENERIC_TABLE Table, BOOLEAN Restart)
{
    struct table table = of_splay(Table);

    if (Restart)
        *table.current = NULL;
    return enumerate(&table, table.current);
}

PVOID NTAPI RtlGetElementGenericTable(PRTL_GENERIC_TABLE Table, ULONG I)
{
    struct table table = of_splay(Table);

    return element(&table, I);
}

ULONG NTAPI RtlNumberGenericTableElements(PRTL_GENERIC_TABLE Table)
{
    return Table->NumberGenericTableElements;
}

BOOLEAN NTAPI RtlIsGenericTableEmpty(PRTL_GENERIC_TABLE Table)
{
    return Table->NumberGenericTableElements == 0;
}

/* ---- AVL tables ------------------------------------------------------------------------------ */

VOID NTAPI RtlInitializeGenericTableAvl(PRTL_AVL_TABLE Table,
                                        PRTL_AVL_COMPARE_ROUTINE CompareRoutine,
                                        PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine,
                                        PRTL_AVL_FREE_ROUTINE FreeRoutine, PVOID TableContext)
{
    nt_require_irql(nt_current(), "RtlInitializeGenericTableAvl", DISPATCH_LEVEL);
    *Table = (RTL_AVL_TABLE){.CompareRoutine = CompareRoutine,
                             .AllocateRoutine = AllocateRoutine,
                             .FreeRoutine = FreeRoutine,
                             .TableContext = TableContext};
}

PVOID NTAPI RtlInsertElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer, CLONG BufferSize,
                                            PBOOLEAN NewElement)
{
    struct table table = of_avl(Table);

    return insert_data(&table, Buffer, BufferSize, NewElement);
}

PVOID NTAPI RtlInsertElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                CLONG BufferSize, PBOOLEAN NewElement,
                                                PVOID NodeOrParent,
                                                TABLE_SEARCH_RESULT SearchResult)
{
    struct table table = of_avl(Table);

    return insert_at(&table, Buffer, BufferSize, NewElement, NodeOrParent, SearchResult);
}

BOOLEAN NTAPI RtlDeleteElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer)
{
    struct table table = of_avl(Table);
    BOOLEAN is_deleted = delete_data(&table, Buffer);

    Table->DeleteCount += is_deleted;
    return is_deleted;
}

PVOID NTAPI RtlLookupElementGenericTableFullAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                PVOID *NodeOrParent,
                                                TABLE_SEARCH_RESULT *SearchResult)
{
    struct table table = of_avl(Table);

    return find(&table, Buffer, NodeOrParent, SearchResult);
}

PVOID NTAPI RtlLookupElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer)
{
    TABLE_SEARCH_RESULT result;
    PVOID node;

    return RtlLookupElementGenericTableFullAvl(Table, Buffer, &node, &result);
}

PVOID NTAPI RtlLookupFirstMatchingElementGenericTableAvl(PRTL_AVL_TABLE Table, PVOID Buffer,
                                                         PVOID *RestartKey)
{
    struct table table = of_avl(Table);
    struct node *node, *before;

    *RestartKey = NULL;
    if (search(&table, Buffer, &node) != TableFoundNode)
        return NULL;
    while ((before = previous_of(node)) != NULL &&
           compare(&table, Buffer, data_of(&table, before)) == GenericEqual)
        node = before;
    *RestartKey = node;
    return data_of(&table, node);
}

PVOID NTAPI RtlEnumerateGenericTableWithoutSplayingAvl(PRTL_AVL_TABLE Table, PVOID *RestartKey)
{
    struct table table = of_avl(Table);

    return enumerate(&table, (struct node **)RestartKey);
}

PVOID NTAPI RtlEnumerateGenericTableAvl(PRTL_AVL_TABLE Table, BOOLEAN Restart)
{
    struct table table = of_avl(Table);

    if (Restart)
        *table.current = NULL;
    return enumerate(&table, table.current);
}

PVOID NTAPI RtlGetElementGenericTableAvl(PRTL_AVL_TABLE Table, ULONG I)
{
    struct table table = of_avl(Table);

    return element(&table, I);
}

ULONG NTAPI RtlNumberGenericTableElementsAvl(PRTL_AVL_TABLE Table)
{
    return Table->NumberGenericTableElements;
}

BOOLEAN NTAPI RtlIsGenericTableEmptyAvl(PRTL_AVL_TABLE Table)
{
    return Table->NumberGenericTableElements == 0;
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlInitializeGenericTable),
    NT_SERVICE(RtlInsertElementGenericTable),
    NT_SERVICE(RtlInsertElementGenericTableFull),
    NT_SERVICE(RtlDeleteElementGenericTable),
    NT_SERVICE(RtlLookupElementGenericTable),
    NT_SERVICE(RtlLookupElementGenericTableFull),
    NT_SERVICE(RtlEnumerateGenericTable),
    NT_SERVICE(RtlEnumerateGenericTableWithoutSplaying),
    NT_SERVICE(RtlGetElementGenericTable),
    NT_SERVICE(RtlNumberGenericTableElements),
    NT_SERVICE(RtlIsGenericTableEmpty),
    NT_SERVICE(RtlInitializeGenericTableAvl),
    NT_SERVICE(RtlInsertElementGenericTableAvl),
    NT_SERVICE(RtlInsertElementGenericTableFullAvl),
    NT_SERVICE(RtlDeleteElementGenericTableAvl),
    NT_SERVICE(RtlLookupElementGenericTableAvl),
    NT_SERVICE(RtlLookupElementGenericTableFullAvl),
    NT_SERVICE(RtlLookupFirstMatchingElementGenericTableAvl),
    NT_SERVICE(RtlEnumerateGenericTableAvl),
    NT_SERVICE(RtlEnumerateGenericTableWithoutSplayingAvl),
    NT_SERVICE(RtlGetElementGenericTableAvl),
    NT_SERVICE(RtlNumberGenericTableElementsAvl),
    NT_SERVICE(RtlIsGenericTableEmptyAvl),
    {0},
};

const struct nt_area nt_generic_table_area = {.exports = services};
