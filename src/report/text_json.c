#include "report/text_json.h"

json_t *report_text_json(const char *text)
{
    json_t *json = json_string(text);

    return json ? json : json_string("(not UTF-8)");
}
