/*
 * Fuzz target: any bytes as a database of results, as `drydock query FILE` reads it and `drydock
 * check --db FILE` writes on in it. Reading changes nothing, and each refusal has a word.
 */
#include "report/campaign/database.h"
#include "report/read_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/drydock-fuzz-XXXXXX";

static void remove_file(void)
{
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    char name[64];

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

static void ask_all(struct database *database)
{
    const struct database_question *question;

    for (size_t i = 0; (question = database_question(i)) != NULL; i++) {
        json_t *columns, *rows;
        char error[512] = "";

        if (!database_ask(database, question->sql, &columns, &rows, error) && !error[0])
            abort();
        json_decref(columns);
        json_decref(rows);
    }
}

static void check_unchanged(const uint8_t *data, size_t size)
{
    char error[512];
    size_t now;
    char *text = report_read_file(path, size + 1, &now, error);

    if (!text || now != size || memcmp(text, data, size) != 0)
        abort();
    free(text);
}

static void write_on(struct campaign_record *record)
{
    struct database *database;
    char error[512] = "";
    bool is_added;

    if (!database_open(path, &database, error)) {
        if (!error[0])
            abort();
        return;
    }
    is_added = database_add(database, record, true, error);
    if (!is_added && !error[0])
        abort();
    ask_all(database);
    if (!database_close(database, error))
        return;
    if (is_added && !database_open_to_read(path, &database, error))
        abort();
    if (is_added)
        database_close(database, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct campaign_record *record = calloc(1, sizeof *record);
    struct database *database;
    char error[512] = "";
    int file;

    strcpy(path + sizeof path - 7, "XXXXXX");
    file = mkstemp(path);
    if (!record || file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0)
        abort();
    if (database_open_to_read(path, &database, error)) {
        ask_all(database);
        database_close(database, error);
    } else if (!error[0]) {
        abort(); /* refused without a word */
    }
    check_unchanged(data, size);
    strcpy(record->driver, "ref");
    strcpy(record->findings[0].kind, "content");
    record->finding_count = 1;
    write_on(record);
    remove_file();
    free(record);
    return 0;
}
