/* The build for Windows has no SQLite: no database is opened, and nothing is asked. */
#include "report/campaign/database.h"

static bool refuse(char error[512])
{
    snprintf(error, 512, "this build has no SQLite (results as files: --out)");
    return false;
}

bool database_open(const char *path, struct database **out, char error[512])
{
    *out = NULL;
    return refuse(error);
}

bool database_open_to_read(const char *path, struct database **out, char error[512])
{
    *out = NULL;
    return refuse(error);
}

bool database_close(struct database *database, char error[512])
{
    return true;
}

bool database_begin(struct database *database, char error[512])
{
    return refuse(error);
}

bool database_end(struct database *database, char error[512])
{
    return refuse(error);
}

bool database_add(struct database *database, const struct campaign_record *record, bool has_rules,
                  char error[512])
{
    return refuse(error);
}

bool database_add_rules(struct database *database, const struct rule_counts *counts,
                        char error[512])
{
    return refuse(error);
}

const char *database_schema(void)
{
    return "";
}

const struct database_question *database_question(size_t i)
{
    return NULL;
}

bool database_ask(struct database *database, const char *sql, json_t **out_columns,
                  json_t **out_rows, char error[512])
{
    return refuse(error);
}
