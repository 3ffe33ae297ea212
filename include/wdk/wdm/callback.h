/*
 * Callback objects: a driver names one, others register functions with it, and whoever notifies
 * calls them.
 *
 * Place   include/wdk/wdm.
 * Source  Public documentation: ExCreateCallback, ExRegisterCallback, ExUnregisterCallback,
 *         ExNotifyCallback.
 */
#ifndef WDM_CALLBACK_H
#define WDM_CALLBACK_H

#include "io.h"

typedef struct _CALLBACK_OBJECT *PCALLBACK_OBJECT;

typedef VOID(NTAPI CALLBACK_FUNCTION)(PVOID CallbackContext, PVOID Argument1, PVOID Argument2);
typedef CALLBACK_FUNCTION *PCALLBACK_FUNCTION;

EXTERN_C_START

/*
 * A reference to the object of that name, which is given up by ObDereferenceObject. An object
 * without AllowMultipleCallbacks takes one registration. STATUS_OBJECT_NAME_NOT_FOUND: there is
 * none, and Create is FALSE.
 */
NTKERNELAPI NTSTATUS NTAPI ExCreateCallback(PCALLBACK_OBJECT *CallbackObject,
                                            POBJECT_ATTRIBUTES ObjectAttributes, BOOLEAN Create,
                                            BOOLEAN AllowMultipleCallbacks);
/* NULL: no memory, or the object has its one registration. */
NTKERNELAPI PVOID NTAPI ExRegisterCallback(PCALLBACK_OBJECT CallbackObject,
                                           PCALLBACK_FUNCTION CallbackFunction,
                                           PVOID CallbackContext);
NTKERNELAPI VOID NTAPI ExUnregisterCallback(PVOID CbRegistration);
NTKERNELAPI VOID NTAPI ExNotifyCallback(PVOID CallbackObject, PVOID Argument1, PVOID Argument2);

EXTERN_C_END

#endif
