/*
 * Report campaign: what `drydock report` does with the folder of a campaign.
 *
 * Place   cli. Used by report_verb.c.
 */
#ifndef DRYDOCK_CLI_REPORT_CAMPAIGN_H
#define DRYDOCK_CLI_REPORT_CAMPAIGN_H

#include "cli/cli.h"

struct campaign_pages {
    bool plays, is_trusted;
    /* Out: what was made; and the folder of the campaign in that of its page, "": the same. */
    size_t causes, bytes;
    char prefix[256];
};

enum cli_status cli_report_campaign(const char *folder, struct campaign_pages *how);

#endif
