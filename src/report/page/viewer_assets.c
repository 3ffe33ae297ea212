/*
 * The assembler takes the file in as it is. The build gives the folder DRYDOCK_VIEWER_DIR, with
 * viewer.html and viewer_hash.h; without it, or with an empty file, there is no viewer.
 */
#include "report/page/viewer_assets.h"

#ifdef DRYDOCK_VIEWER_DIR

#include "viewer_hash.h" /* VIEWER_SCRIPT_SHA256 */

#ifdef __ELF__
#define DATA_BEGINS ".pushsection .rodata\n"
#define DATA_ENDS   ".popsection\n"
#else
#define DATA_BEGINS ".section .rdata,\"dr\"\n"
#define DATA_ENDS   ".text\n"
#endif

__asm__(DATA_BEGINS ".globl drydock_viewer_html, drydock_viewer_html_end\n"
                    "drydock_viewer_html:\n"
                    ".incbin \"" DRYDOCK_VIEWER_DIR "/viewer.html\"\n"
                    "drydock_viewer_html_end:\n" DATA_ENDS);

extern const char drydock_viewer_html[], drydock_viewer_html_end[];

const struct report_viewer *viewer_assets_get(void)
{
    static struct report_viewer viewer;

    viewer = (struct report_viewer){
        .html = drydock_viewer_html,
        .html_size = (size_t)(drydock_viewer_html_end - drydock_viewer_html),
        .script_sha256 = VIEWER_SCRIPT_SHA256,
    };
    return viewer.html_size ? &viewer : NULL;
}

#else

const struct report_viewer *viewer_assets_get(void)
{
    return NULL;
}

#endif
