/*
 * The processor's state of floating point. Nothing of the driver's runs between two of its
 * instructions that would have to be saved from; that the two calls belong together is watched.
 */
#include "nt/nt_private.h"

#include <wdm.h>

#define SAVED 0x46500000u /* "FP" above the IRQL and the thread */

static ULONG mark_of(const struct nt *nt)
{
    return SAVED | (ULONG)nt->irql << 12 | (nt->scheduler.current->number & 0xfff);
}

NTSTATUS NTAPI KeSaveFloatingPointState(PKFLOATING_SAVE FloatSave)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "KeSaveFloatingPointState", DISPATCH_LEVEL);
    FloatSave->Dummy = mark_of(nt);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI KeRestoreFloatingPointState(PKFLOATING_SAVE FloatSave)
{
    struct nt *nt = nt_current();
    ULONG saved = FloatSave->Dummy;

    nt_require_irql(nt, "KeRestoreFloatingPointState", DISPATCH_LEVEL);
    if ((saved & 0xffff0000) != SAVED)
        nt_misuse(nt, "KeRestoreFloatingPointState: KeSaveFloatingPointState saved nothing here, "
                      "or it was restored before");
    else if (saved != mark_of(nt))
        nt_misuse(nt,
                  "KeRestoreFloatingPointState is called at IRQL %u in thread %u; the state was "
                  "saved at IRQL %u in thread %u",
                  nt->irql, nt->scheduler.current->number & 0xfff, saved >> 12 & 0xf,
                  saved & 0xfff);
    FloatSave->Dummy = 0;
    return STATUS_SUCCESS;
}

static const struct nt_export services[] = {
    NT_SERVICE(KeSaveFloatingPointState),
    NT_SERVICE(KeRestoreFloatingPointState),
    {0},
};

const struct nt_area nt_float_state_area = {.exports = services};
