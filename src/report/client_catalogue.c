/*
 * The rules for clients as text and as JSON.
 */
#include "report/client_catalogue.h"

#include "report/source_link.h"

#include <string.h>
#include <strings.h>

static const struct client_rule_row table[] = {
#define DOC      true
#define INFERRED false
#define CLIENT_RULE(id, sentence, source, basis, state, note)                                      \
    {id, sentence, source, basis, CLIENT_JUDGED_##state, note},
#include "client_rule_table.inc"
#undef CLIENT_RULE
};
#define ROWS (sizeof table / sizeof table[0])

const struct client_rule_row *client_catalogue_at(unsigned place)
{
    return place < ROWS ? &table[place] : NULL;
}

const struct client_rule_row *client_catalogue_find(const char *id)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcasecmp(table[i].id, id) == 0)
            return &table[i];
    }
    return NULL;
}

bool client_catalogue_is_of(const struct client_rule_row *row, const char *prefix)
{
    const size_t length = strlen(prefix);

    /* An area is whole, as with the rules of drivers. */
    return strncasecmp(row->id, prefix, length) == 0 && (length == 0 || length >= strlen("KMT"));
}

bool client_catalogue_has(const char *prefix)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (client_catalogue_is_of(&table[i], prefix))
            return true;
    }
    return false;
}

const char *client_catalogue_needs(const struct client_rule_row *row)
{
    static const struct {
        const char *note, *sentence;
    } sentences[] = {
        {"packets", "read out of commands, so of user-mode drivers of the Drydock GPU alone"},
        {"data", "by the private data of the Drydock GPU's user-mode drivers"},
        {"size known", "where the size is in the private data of the Drydock GPU"},
    };

    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++) {
        if (strcmp(row->note, sentences[i].note) == 0)
            return sentences[i].sentence;
    }
    return row->note;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *state_name(enum client_judged judged)
{
    return judged == CLIENT_JUDGED_YES      ? "judged"
           : judged == CLIENT_JUDGED_ADVICE ? "advice"
                                            : "cannot";
}

void client_catalogue_text(FILE *out, const char *prefix)
{
    unsigned counts[CLIENT_JUDGED_NO + 1] = {0}, rules = 0;

    fprintf(out, "%-9s %-6s %-9s %s\n", "rule", "side", "state",
            "what must hold, or why no run judges it");
    for (size_t i = 0; i < ROWS; i++) {
        const struct client_rule_row *row = &table[i];

        if (!client_catalogue_is_of(row, prefix))
            continue;
        rules++;
        counts[row->judged]++;
        fprintf(out, "%-9s %-6s %-9s %s\n", row->id, "client", state_name(row->judged),
                row->judged == CLIENT_JUDGED_NO ? row->note : row->sentence);
    }
    fprintf(out,
            "\nclients %3u rules: %u judged in every run of drydock exec, %u as advice, %u that no "
            "run judges\n",
            rules, counts[CLIENT_JUDGED_YES], counts[CLIENT_JUDGED_ADVICE],
            counts[CLIENT_JUDGED_NO]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *client_catalogue_row_json(const struct client_rule_row *row)
{
    const char *note = row->note[0] ? client_catalogue_needs(row) : NULL;
    const bool is_reason = row->judged == CLIENT_JUDGED_NO;

    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s?, s:s?}", "id", row->id, "side",
                     "client", "sentence", row->sentence, "source", row->source, "links",
                     source_links_json(row->source), "basis",
                     row->is_documented ? "doc" : "inferred", "state", state_name(row->judged),
                     "reason", is_reason ? note : NULL, "needs", is_reason ? NULL : note);
}

json_t *client_catalogue_json(const char *prefix)
{
    json_t *rules = json_array();

    for (size_t i = 0; i < ROWS; i++) {
        if (client_catalogue_is_of(&table[i], prefix))
            json_array_append_new(rules, client_catalogue_row_json(&table[i]));
    }
    return rules;
}
