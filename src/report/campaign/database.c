#include "report/campaign/database.h"

#include "report/finding_report.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define APPLICATION   0x44524459 /* "DRDY" */
#define VERSION       1
#define WAIT_MS       60000 /* for another writer */
#define MOST_ROWS     1000000
#define MOST_SQL_BYTE (1 << 20)

static const char schema[] =
    "CREATE TABLE campaigns (\n"
    "    campaign INTEGER PRIMARY KEY,\n"
    "    driver TEXT NOT NULL,\n"
    "    profile TEXT NOT NULL, -- empty: the default\n"
    "    board TEXT NOT NULL,   -- what else the command line said\n"
    "    UNIQUE (driver, profile, board)\n"
    ");\n"
    "CREATE TABLE runs (\n"
    "    campaign INTEGER NOT NULL REFERENCES campaigns,\n"
    "    seed INTEGER NOT NULL,\n"
    "    case_path TEXT NOT NULL, -- empty: random operations\n"
    "    model TEXT NOT NULL,\n"
    "    wddm INTEGER NOT NULL,\n"
    "    outcome TEXT NOT NULL, -- clean, findings, refused, broken, unrepeatable, crashed, hung\n"
    "    digest TEXT NOT NULL,\n"
    "    operations INTEGER NOT NULL,\n"
    "    submissions INTEGER NOT NULL,\n"
    "    paging_operations INTEGER NOT NULL,\n"
    "    evictions INTEGER NOT NULL,\n"
    "    pages_checked INTEGER NOT NULL,\n"
    "    translations_checked INTEGER NOT NULL,\n"
    "    mismatches INTEGER NOT NULL,\n"
    "    findings INTEGER NOT NULL,\n"
    "    setup TEXT NOT NULL,\n"
    "    replay TEXT NOT NULL,\n"
    "    PRIMARY KEY (campaign, seed, case_path, model)\n"
    ");\n"
    "CREATE TABLE findings (\n"
    "    campaign INTEGER NOT NULL REFERENCES campaigns,\n"
    "    seed INTEGER NOT NULL,\n"
    "    case_path TEXT NOT NULL,\n"
    "    model TEXT NOT NULL,\n"
    "    place INTEGER NOT NULL, -- in the run, from 1\n"
    "    id TEXT NOT NULL,\n"
    "    kind TEXT NOT NULL,\n"
    "    rule TEXT NOT NULL,   -- empty: none names it\n"
    "    is_cause INTEGER NOT NULL,\n"
    "    called TEXT NOT NULL, -- where in the interface\n"
    "    text TEXT NOT NULL,\n"
    "    line INTEGER NOT NULL, -- of the case; 0: none\n"
    "    PRIMARY KEY (campaign, seed, case_path, model, place)\n"
    ");\n"
    "CREATE TABLE rules (\n"
    "    campaign INTEGER NOT NULL REFERENCES campaigns,\n"
    "    rule TEXT NOT NULL,\n"
    "    evaluated INTEGER NOT NULL,\n"
    "    broken INTEGER NOT NULL,\n"
    "    PRIMARY KEY (campaign, rule)\n"
    ");\n";

static const struct database_question questions[] = {
    {"causes", "each cause: in how many runs, and the lowest seed that shows it",
     "SELECT id, count(*) AS runs, min(seed) AS seed, called, text FROM findings WHERE is_cause "
     "GROUP BY id ORDER BY runs DESC, id"},
    {"failed", "runs with findings, and how to play them again",
     "SELECT seed, case_path, model, outcome, findings, replay FROM runs WHERE outcome <> 'clean' "
     "ORDER BY seed, case_path"},
    {"outcomes", "how many runs ended how, by model",
     "SELECT model, outcome, count(*) AS runs FROM runs GROUP BY model, outcome ORDER BY model, "
     "outcome"},
    {"rules", "how often each rule was evaluated and broken",
     "SELECT rule, sum(evaluated) AS evaluated, sum(broken) AS broken FROM rules GROUP BY rule "
     "ORDER BY rule"},
    {"together", "causes that one run shows both",
     "SELECT a.id AS first, b.id AS second, count(*) AS runs FROM findings a JOIN findings b USING "
     "(campaign, seed, case_path, model) WHERE a.is_cause AND b.is_cause AND a.id < b.id GROUP BY "
     "1, 2 ORDER BY runs DESC, 1, 2"},
    {"totals", "what was played, in numbers",
     "SELECT driver, count(*) AS runs, sum(outcome <> 'clean') AS failed, sum(operations) AS "
     "operations, sum(submissions) AS submissions, sum(evictions) AS evictions, "
     "sum(pages_checked) AS pages_checked FROM runs JOIN campaigns USING (campaign) GROUP BY "
     "campaign ORDER BY driver"},
};

enum statement {
    ADD_CAMPAIGN,
    FIND_CAMPAIGN,
    REMOVE_FINDINGS,
    ADD_RUN,
    ADD_FINDING,
    ADD_RULE,
    STATEMENT_COUNT
};

static const char *const statements[STATEMENT_COUNT] = {
    [ADD_CAMPAIGN] = "INSERT OR IGNORE INTO campaigns (driver, profile, board) VALUES (?, ?, ?)",
    [FIND_CAMPAIGN] =
        "SELECT campaign FROM campaigns WHERE driver = ? AND profile = ? AND board = ?",
    [REMOVE_FINDINGS] =
        "DELETE FROM findings WHERE campaign = ? AND seed = ? AND case_path = ? AND "
        "model = ?",
    [ADD_RUN] =
        "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?)",
    [ADD_FINDING] = "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ADD_RULE] = "INSERT INTO rules VALUES (?, ?, ?, ?) ON CONFLICT (campaign, rule) DO UPDATE SET "
                 "evaluated = evaluated + excluded.evaluated, broken = broken + excluded.broken",
};

struct database {
    sqlite3 *handle;
    char path[512];
    sqlite3_stmt *statements[STATEMENT_COUNT];
    int64_t campaign; /* of the record that was added last; 0: none */
    bool is_amid;     /* a transaction of the caller's */
};

const char *database_schema(void)
{
    return schema;
}

const struct database_question *database_question(size_t i)
{
    return i < sizeof questions / sizeof questions[0] ? &questions[i] : NULL;
}

static bool fail(const struct database *database, const char *what, char error[512])
{
    snprintf(error, 512, "%s '%.200s': %.200s", what, database->path,
             database->handle ? sqlite3_errmsg(database->handle) : "no memory");
    return false;
}

static bool play(struct database *database, const char *sql, char error[512])
{
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ||
           fail(database, "cannot write", error);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* The number that a pragma gives; -1: none. */
static int64_t number_of(struct database *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* An empty file gets its tables; one with tables has to be ours. */
static bool check_form(struct database *database, bool may_make, char error[512])
{
    const int64_t application = number_of(database, "PRAGMA application_id");
    char sql[sizeof schema + 200];

    if (application == APPLICATION) {
        if (number_of(database, "PRAGMA user_version") == VERSION)
            return true;
        snprintf(error, 512, "'%.300s' is of another version of drydock", database->path);
        return false;
    }
    if (application != 0 || !may_make ||
        number_of(database, "SELECT count(*) FROM sqlite_schema") != 0) {
        snprintf(error, 512, "'%.300s' is no database of drydock's results", database->path);
        return false;
    }
    snprintf(sql, sizeof sql, "%sPRAGMA application_id = %d; PRAGMA user_version = %d;", schema,
             APPLICATION, VERSION);
    return play(database, sql, error);
}

static bool open_file(const char *path, int flags, struct database **out, char error[512])
{
    struct database *database = calloc(1, sizeof *database);
    struct stat status;

    *out = NULL;
    if (path && stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        snprintf(error, 512, "cannot open '%.300s': it is no file",
                 path); /* a pipe is waited for */
        free(database);
        return false;
    }
    snprintf(error, 512, "no memory");
    if (!database)
        return false;
    snprintf(database->path, sizeof database->path, "%s", path ? path : "memory");
    if (sqlite3_open_v2(path ? path : ":memory:", &database->handle, flags, NULL) != SQLITE_OK) {
        fail(database, "cannot open", error);
        sqlite3_close(database->handle);
        free(database);
        return false;
    }
    sqlite3_busy_timeout(database->handle, WAIT_MS);
    sqlite3_limit(database->handle, SQLITE_LIMIT_SQL_LENGTH, MOST_SQL_BYTE);
    /*
     * A file of somebody else's must not have its own functions and triggers run, nor a view, which
     * has no end, in the place of a table.
     */
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    *out = database;
    return true;
}

bool database_open(const char *path, struct database **out, char error[512])
{
    struct database *database;
    bool is_fine;

    if (!open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &database, error))
        return false;
    /* Of two who find the file empty one makes the tables. */
    is_fine = play(database, "PRAGMA synchronous = OFF; BEGIN IMMEDIATE", error) &&
              check_form(database, true, error) && play(database, "COMMIT", error);
    for (size_t i = 0; i < STATEMENT_COUNT && is_fine; i++)
        is_fine = sqlite3_prepare_v3(database->handle, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                                     &database->statements[i], NULL) == SQLITE_OK ||
                  fail(database, "cannot write", error);
    if (!is_fine) {
        char other[512];

        database_close(database, other);
        return false;
    }
    *out = database;
    return true;
}

bool database_open_to_read(const char *path, struct database **out, char error[512])
{
    char other[512];

    if (!open_file(path, SQLITE_OPEN_READONLY, out, error))
        return false;
    if (check_form(*out, false, error))
        return true;
    database_close(*out, other);
    *out = NULL;
    return false;
}

bool database_begin(struct database *database, char error[512])
{
    database->is_amid = play(database, "BEGIN IMMEDIATE", error);
    return database->is_amid;
}

bool database_end(struct database *database, char error[512])
{
    database->is_amid = false;
    return play(database, "COMMIT", error);
}

bool database_close(struct database *database, char error[512])
{
    bool is_fine;

    if (!database)
        return true;
    is_fine = !database->is_amid || database_end(database, error);
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(database->statements[i]);
    sqlite3_close(database->handle);
    free(database);
    return is_fine;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

static bool step(struct database *database, enum statement which, char error[512])
{
    sqlite3_stmt *statement = database->statements[which];
    const int result = sqlite3_step(statement);
    const bool is_fine = result == SQLITE_DONE || result == SQLITE_ROW;

    if (!is_fine)
        fail(database, "cannot write", error);
    sqlite3_reset(statement);
    return is_fine;
}

static bool find_campaign(struct database *database, const struct campaign_record *record,
                          char error[512])
{
    sqlite3_stmt *found = database->statements[FIND_CAMPAIGN];

    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *statement = database->statements[i ? FIND_CAMPAIGN : ADD_CAMPAIGN];

        bind_text(statement, 1, record->driver);
        bind_text(statement, 2, record->profile);
        bind_text(statement, 3, record->board);
    }
    if (!step(database, ADD_CAMPAIGN, error))
        return false;
    database->campaign = sqlite3_step(found) == SQLITE_ROW ? sqlite3_column_int64(found, 0) : 0;
    sqlite3_reset(found);
    return database->campaign || fail(database, "cannot write", error);
}

/* Which run it is: the first four columns of runs and findings. */
static void bind_run(struct database *database, sqlite3_stmt *statement,
                     const struct campaign_record *record)
{
    sqlite3_bind_int64(statement, 1, database->campaign);
    sqlite3_bind_int64(statement, 2, (int64_t)record->seed);
    bind_text(statement, 3, record->case_path);
    bind_text(statement, 4, campaign_model_name(record->model));
}

static bool add_run(struct database *database, const struct campaign_record *record,
                    char error[512])
{
    const uint64_t numbers[] = {record->operations,        record->submissions,
                                record->paging_operations, record->evictions,
                                record->pages_checked,     record->translations_checked,
                                record->mismatches,        record->finding_total};
    sqlite3_stmt *statement = database->statements[ADD_RUN];
    char digest[24], replay[CAMPAIGN_REPLAY_BYTES] = "drydock ";
    int place = 8;

    snprintf(digest, sizeof digest, "%016" PRIx64, record->digest);
    campaign_replay_command(record, replay + 8, sizeof replay - 8);
    bind_run(database, statement, record);
    sqlite3_bind_int64(statement, 5, record->wddm);
    bind_text(statement, 6, campaign_outcome_name(record->outcome));
    bind_text(statement, 7, digest);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sqlite3_bind_int64(statement, place++, (int64_t)numbers[i]);
    bind_text(statement, place++, record->setup);
    bind_text(statement, place, replay);
    return step(database, ADD_RUN, error);
}

static bool add_finding(struct database *database, const struct campaign_record *record, unsigned i,
                        char error[512])
{
    const struct campaign_finding *finding = &record->findings[i];
    sqlite3_stmt *statement = database->statements[ADD_FINDING];
    char id[REPORT_ID_BYTES];

    report_finding_id(finding->kind, finding->rule, finding->detail.where, finding->text, id);
    bind_run(database, statement, record);
    sqlite3_bind_int64(statement, 5, i + 1);
    bind_text(statement, 6, id);
    bind_text(statement, 7, finding->kind);
    bind_text(statement, 8, finding->rule);
    sqlite3_bind_int(statement, 9, finding->consequence_of == 0);
    bind_text(statement, 10, finding->detail.where);
    bind_text(statement, 11, finding->text);
    sqlite3_bind_int64(statement, 12, finding->line);
    return step(database, ADD_FINDING, error);
}

bool database_add(struct database *database, const struct campaign_record *record, bool has_rules,
                  char error[512])
{
    const bool is_alone = !database->is_amid;
    bool is_fine = !is_alone || play(database, "BEGIN IMMEDIATE", error);

    if (!is_fine)
        return false;
    is_fine = find_campaign(database, record, error);
    if (is_fine) {
        bind_run(database, database->statements[REMOVE_FINDINGS], record);
        is_fine = step(database, REMOVE_FINDINGS, error) && add_run(database, record, error);
    }
    for (unsigned i = 0; i < record->finding_count && is_fine; i++)
        is_fine = add_finding(database, record, i, error);
    if (is_fine && has_rules)
        is_fine = database_add_rules(database, &record->rules, error);
    if (is_alone && is_fine)
        is_fine = play(database, "COMMIT", error);
    else if (is_alone)
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return is_fine;
}

bool database_add_rules(struct database *database, const struct rule_counts *counts,
                        char error[512])
{
    sqlite3_stmt *statement = database->statements[ADD_RULE];

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT && database->campaign; i++) {
        if (!counts->evaluated[i] && !counts->broken[i])
            continue;
        sqlite3_bind_int64(statement, 1, database->campaign);
        bind_text(statement, 2, rule_get((enum rule_id)i)->id);
        sqlite3_bind_int64(statement, 3, (int64_t)counts->evaluated[i]);
        sqlite3_bind_int64(statement, 4, (int64_t)counts->broken[i]);
        if (!step(database, ADD_RULE, error))
            return false;
    }
    return true;
}

/* ---- Questions ------------------------------------------------------------------------------- */

static json_t *value_of(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return json_real(sqlite3_column_double(statement, column));
    case SQLITE_NULL:
        return json_null();
    default:
        return report_text_json((const char *)sqlite3_column_text(statement, column));
    }
}

/* A view that stands in the file may be why the question cannot be asked. */
static void add_view(struct database *database, char error[512])
{
    const size_t used = strlen(error);
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(database->handle, "SELECT name FROM sqlite_master WHERE type = 'view'",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        snprintf(error + used, 512 - used, " (a view of the file's own, '%.60s', is not asked)",
                 (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

bool database_ask(struct database *database, const char *sql, json_t **out_columns,
                  json_t **out_rows, char error[512])
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    int result = SQLITE_DONE;

    *out_columns = *out_rows = NULL;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, &rest) != SQLITE_OK) {
        snprintf(error, 512, "%.400s", sqlite3_errmsg(database->handle));
        add_view(database, error);
        return false;
    }
    if (!statement || rest[strspn(rest, " \t\r\n;")] || !sqlite3_stmt_readonly(statement)) {
        snprintf(error, 512, "expected one question (SELECT ...), which changes nothing");
        sqlite3_finalize(statement);
        return false;
    }
    *out_columns = json_array();
    *out_rows = json_array();
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        json_array_append_new(*out_columns, report_text_json(sqlite3_column_name(statement, i)));
    while (json_array_size(*out_rows) < MOST_ROWS &&
           (result = sqlite3_step(statement)) == SQLITE_ROW) {
        json_t *row = json_array();

        for (int i = 0; i < sqlite3_column_count(statement); i++)
            json_array_append_new(row, value_of(statement, i));
        json_array_append_new(*out_rows, row);
    }
    if (result == SQLITE_DONE) {
        sqlite3_finalize(statement);
        return true;
    }
    snprintf(error, 512, "%.400s",
             result == SQLITE_ROW ? "more than a million rows" : sqlite3_errmsg(database->handle));
    sqlite3_finalize(statement);
    json_decref(*out_columns);
    json_decref(*out_rows);
    *out_columns = *out_rows = NULL;
    return false;
}
