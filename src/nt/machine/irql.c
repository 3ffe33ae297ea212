/* The IRQL of the processor, as drivers raise and lower it. */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"

KIRQL NTAPI KeGetCurrentIrql(VOID)
{
    return nt_current()->irql;
}

KIRQL NTAPI KfRaiseIrql(KIRQL NewIrql)
{
    struct nt *nt = nt_current();

    if (NewIrql < nt->irql)
        KeBugCheckEx(NT_IRQL_NOT_GREATER_OR_EQUAL, nt->irql, NewIrql, 0, 0);
    return nt_set_irql(nt, NewIrql);
}

/* The export behind a macro of the headers. */
static KIRQL NTAPI raise_to_dispatch(VOID)
{
    return KfRaiseIrql(DISPATCH_LEVEL);
}

VOID NTAPI KeLowerIrql(KIRQL NewIrql)
{
    struct nt *nt = nt_current();

    if (NewIrql > nt->irql)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, nt->irql, NewIrql, 0, 0);
    nt_set_irql(nt, NewIrql);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeGetCurrentIrql),
    NT_SERVICE(KfRaiseIrql),
    {"KeRaiseIrqlToDpcLevel", (const void *)raise_to_dispatch, NT_EXPORT_SERVICE, NULL},
    NT_SERVICE(KeLowerIrql),
    {0},
};

const struct nt_area nt_irql_area = {.exports = services};
