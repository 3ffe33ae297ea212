/*
 * Source links: the address of the public page behind each source of a rule.
 *
 * Place      report. Whatever shows a rule's sources asks here; the page of a report has their
 *            addresses from its findings.
 * Model      A rule names its sources by the last part of their addresses, with commas between:
 *            "nc-dxgkddi_buildpagingbuffer, bug-check-0x10e". A name that begins with the kind of
 *            page (nc, nf, ns, ne) is of the DDI reference, below its header; the header stands in
 *            the name ("nf-d3dkmthk-d3dkmtevict") or follows from it. All other names are of the
 *            design guide, or of the reference of bug checks. Nothing is loaded.
 */
#ifndef DRYDOCK_REPORT_SOURCE_LINK_H
#define DRYDOCK_REPORT_SOURCE_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SOURCE_LINK_BYTES 256

/*
 * The address of the page that so many bytes name; what stands in brackets behind the name does not
 * matter. False, and "": it names no public page ("third-party driver notes (measured)").
 */
bool source_link(const char *name, size_t length, char out[SOURCE_LINK_BYTES]);

/* The address of each source that has one, by the source's name. The caller owns the object. */
json_t *source_links_json(const char *sources);

#endif
