#include "report/source_link.h"

#include <stdio.h>
#include <string.h>

#define SITE       "https://learn.microsoft.com/windows-hardware/drivers"
#define WIN32      "https://learn.microsoft.com/windows/win32/api"
#define NAME_BYTES 128
#define LETTERS    "abcdefghijklmnopqrstuvwxyz0123456789"

/* Pages of bug checks have the name of the bug check in their addresses. */
static const char *find_bug_check(const char *name)
{
    static const char *const pages[] = {
        "bug-check-0x10e---video-memory-management-internal",
        "bug-check-0x116---video-tdr-error",
        "bug-check-0x119---video-scheduler-internal-error",
        "bug-check-0xd1--driver-irql-not-less-or-equal",
    };

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        const size_t length = strlen(name);

        if (strncmp(pages[i], name, length) == 0 && strncmp(pages[i] + length, "--", 2) == 0)
            return pages[i];
    }
    return NULL;
}

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Which header declares what a short name ("nc-dxgkddi_patch", behind its kind) names. */
static const char *header_of(const char *name)
{
    return strcmp(name, "dxgkddi_interrupt_routine") == 0        ? "dispmprt"
           : begins(name, "pfnd3dddi_")                          ? "d3dumddi"
           : begins(name, "d3dddi_") || begins(name, "_d3dddi_") ? "d3dukmdt"
                                                                 : "d3dkmddi";
}

/* "nc-dxgkddi_patch", "ns-d3dukmdt-_dxgk_pte" */
static bool is_reference(const char *name)
{
    return name[0] == 'n' && name[1] && strchr("cefs", name[1]) && name[2] == '-' && name[3];
}

/* Words of the alphabet with '-' between them, two at least. */
static bool is_guide(const char *name)
{
    size_t words = 0;

    for (;; name++, words++) {
        const size_t length = strspn(name, LETTERS);

        name += length;
        if (!length || (*name != '-' && *name))
            return false;
        if (!*name)
            return words > 0;
    }
}

bool source_link(const char *text, size_t length, char out[SOURCE_LINK_BYTES])
{
    char name[NAME_BYTES];
    const char *note, *bug_check;

    out[0] = '\0';
    if (length >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    note = strstr(name, " (");
    if (note)
        name[note - name] = '\0';
    bug_check = find_bug_check(name);
    if (bug_check) {
        snprintf(out, SOURCE_LINK_BYTES, SITE "/debugger/%s", bug_check);
    } else if (is_reference(name) && strspn(name + 3, LETTERS "_-") == strlen(name + 3)) {
        const size_t header = strcspn(name + 3, "-");

        if (begins(name + 3, "dxgi-")) /* of applications */
            snprintf(out, SOURCE_LINK_BYTES, WIN32 "/dxgi/%s", name);
        else if (name[3 + header])
            snprintf(out, SOURCE_LINK_BYTES, SITE "/ddi/%.*s/%s", (int)header, name + 3, name);
        else
            snprintf(out, SOURCE_LINK_BYTES, SITE "/ddi/%s/%.2s-%s-%s", header_of(name + 3), name,
                     header_of(name + 3), name + 3);
    } else if (is_guide(name)) {
        snprintf(out, SOURCE_LINK_BYTES, SITE "/display/%s", name);
    }
    return out[0] != '\0';
}

json_t *source_links_json(const char *sources)
{
    json_t *links = json_object();
    char name[NAME_BYTES], link[SOURCE_LINK_BYTES];

    for (const char *at = sources; *at; at += strspn(at, ", ")) {
        const size_t length = strcspn(at, ",");

        if (source_link(at, length, link)) {
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            json_object_set_new(links, name, json_string(link));
        }
        at += length;
    }
    return links;
}
