/*
 * Viewer assets: script and style of the page, as viewer/ makes them.
 *
 * Place   report, private. cmake/part-viewer.cmake builds them and says where they are.
 */
#ifndef DRYDOCK_REPORT_PAGE_VIEWER_ASSETS_H
#define DRYDOCK_REPORT_PAGE_VIEWER_ASSETS_H

#include "report/page/page.h"

/* NULL: they were left out of this build. */
const struct report_viewer *viewer_assets_get(void);

#endif
