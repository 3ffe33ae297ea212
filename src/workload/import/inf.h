/*
 * INF: what a driver's own installation file says of its device, as surroundings.
 *
 * Place      workload. Used by cli.
 * Model      Of the models for x64 the one with the wanted hardware ID, or the first. Its PCI ID
 *            becomes the PCI function's numbers (another ID: id=); the values that its install
 *            section, and that of its service, adds to the registry become value:, text: and
 *            bytes:, those under HKLM with a path from the root; message-signaled interrupts of the
 *            .HW section become pci:messages=. What has no word is told as left out.
 *
 *            | section                                | what is read                             |
 *            | [Manufacturer]                         | sections of models, NTamd64 before plain |
 *            | models                                 | install section, hardware IDs            |
 *            | install, install.NTamd64, install.NT   | AddReg                                   |
 *            | the same with .Services, .HW           | AddService; AddReg                       |
 *            | AddReg sections                        | HKR and HKLM                             |
 *            | [Strings]                              | %names%                                  |
 * Ownership  The caller's, as struct workload_inf.
 * Errors     bool and struct workload_error, with the line.
 * Source     "INF Manufacturer Section", "INF Models Section", "INF DDInstall Section", "INF AddReg
 *            Directive", "INF AddService Directive", "INF Strings Section" (Windows driver
 *            documentation).
 */
#ifndef DRYDOCK_WORKLOAD_INF_H
#define DRYDOCK_WORKLOAD_INF_H

#include "workload/case/surroundings.h"

#include <stddef.h>

#define WORKLOAD_MAX_INF_BYTES (4u << 20)

struct workload_inf {
    char words[WORKLOAD_MAX_SURROUNDINGS + 1]; /* separated by commas */
    char model[256];                           /* its description and hardware ID */
    unsigned models;                           /* that it has for x64 */
    unsigned left_out;                         /* lines */
    char first_left_out[256];                  /* with its line and the reason; "" */
};

/* Any bytes: ASCII, UTF-8 or UTF-16 with its mark. wanted_id: NULL for the first model. */
bool workload_inf_read(const char *path, const void *bytes, size_t size, const char *wanted_id,
                       struct workload_inf *out, struct workload_error *error);

#endif
