/*
 * The assembler takes the files in as they are. The build gives the folder DRYDOCK_VIEWER_DIR, with
 * viewer.js, viewer.css and viewer_hash.h; without it, or with an empty script, there is no viewer.
 */
#include "report/page/viewer_assets.h"

#ifdef DRYDOCK_VIEWER_DIR

#include "viewer_hash.h" /* VIEWER_SCRIPT_SHA256 */

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".globl drydock_viewer_script, drydock_viewer_script_end\n"
        ".globl drydock_viewer_style, drydock_viewer_style_end\n"
        "drydock_viewer_script:\n"
        ".incbin \"" DRYDOCK_VIEWER_DIR "/viewer.js\"\n"
        "drydock_viewer_script_end:\n"
        "drydock_viewer_style:\n"
        ".incbin \"" DRYDOCK_VIEWER_DIR "/viewer.css\"\n"
        "drydock_viewer_style_end:\n"
        ".popsection\n");
/* clang-format on */

extern const char drydock_viewer_script[], drydock_viewer_script_end[];
extern const char drydock_viewer_style[], drydock_viewer_style_end[];

const struct report_viewer *viewer_assets_get(void)
{
    static struct report_viewer viewer;

    viewer = (struct report_viewer){
        .script = drydock_viewer_script,
        .style = drydock_viewer_style,
        .script_size = (size_t)(drydock_viewer_script_end - drydock_viewer_script),
        .style_size = (size_t)(drydock_viewer_style_end - drydock_viewer_style),
        .script_sha256 = VIEWER_SCRIPT_SHA256,
    };
    return viewer.script_size ? &viewer : NULL;
}

#else

const struct report_viewer *viewer_assets_get(void)
{
    return NULL;
}

#endif
