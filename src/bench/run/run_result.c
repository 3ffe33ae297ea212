#include "bench/run/run_result.h"

#include "base/bits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *run_outcome_name(enum run_outcome outcome)
{
    static const char *const names[] = {
        [RUN_CLEAN] = "clean",
        [RUN_FINDINGS] = "findings",
        [RUN_REFUSED] = "refused",
        [RUN_BROKEN] = "broken",
    };

    return names[outcome];
}

const char *run_finding_kind_name(enum run_finding_kind kind)
{
    static const char *const names[] = {
        [RUN_FINDING_CONTENT] = "content",
        [RUN_FINDING_TRANSLATION] = "translation",
        [RUN_FINDING_DRIVER] = "driver",
        [RUN_FINDING_FAULT] = "fault",
        [RUN_FINDING_SUBMISSION] = "submission",
        [RUN_FINDING_LEAK] = "leak",
        [RUN_FINDING_MANAGER] = "manager",
        [RUN_FINDING_CRASHED] = "crashed",
        [RUN_FINDING_HUNG] = "hung",
        [RUN_FINDING_HOSTILE] = "hostile",
        [RUN_FINDING_ADVICE] = "advice",
        [RUN_FINDING_LACKING] = "bench",
    };

    return names[kind];
}

bool run_finding_is_remark(enum run_finding_kind kind)
{
    return kind == RUN_FINDING_ADVICE || kind == RUN_FINDING_LACKING;
}

bool run_finding_kind_is_remark(const char *name)
{
    return strcmp(name, run_finding_kind_name(RUN_FINDING_ADVICE)) == 0 ||
           strcmp(name, run_finding_kind_name(RUN_FINDING_LACKING)) == 0;
}

struct run_finding *run_result_report(struct run_result *result, enum run_finding_kind kind,
                                      uint32_t line, uint64_t time_ns, const char *format, ...)
{
    struct run_finding *finding;
    va_list arguments;

    result->finding_totals[kind]++;
    if (result->finding_count == RUN_MAX_FINDINGS)
        return NULL;
    finding = &result->findings[result->finding_count++];
    *finding = (struct run_finding){
        .kind = kind,
        .line = line,
        .time_ns = time_ns,
        .seen = result->calls.last,
        .seen_in = result->calls.outermost,
    };
    memcpy(finding->detail.printed, result->printed, sizeof result->printed);
    va_start(arguments, format);
    finding_write_sentence(finding->text, sizeof finding->text, &finding->detail.argument, format,
                           arguments);
    va_end(arguments);
    return finding;
}

#define PRINTED_LINES 4u

void run_result_note_print(struct run_result *result, const char *text)
{
    char *printed = result->printed;
    size_t length = strcspn(text, "\r\n"), used = strlen(printed);
    unsigned lines = used != 0;

    result->print_count++;
    if (!length)
        return;
    length = min_u64(length, sizeof result->printed / 2);
    for (const char *at = printed; (at = strchr(at, '\n')); at++)
        lines++;
    while (used && (lines >= PRINTED_LINES || used + 1 + length >= sizeof result->printed)) {
        size_t oldest = strcspn(printed, "\n");

        oldest += printed[oldest] == '\n';
        used -= oldest;
        lines--;
        memmove(printed, printed + oldest, used + 1);
    }
    snprintf(printed + used, sizeof result->printed - used, "%s%.*s", used ? "\n" : "", (int)length,
             text);
}

void run_result_explain(struct run_finding *finding, const char *lines)
{
    run_detail_explain(&finding->detail, lines);
}

void run_detail_explain(struct finding_detail *detail, const char *lines)
{
    detail->objects[0] = '\0';
    run_detail_add(detail, lines);
}

void run_detail_add(struct finding_detail *detail, const char *lines)
{
    char *out = detail->objects;
    size_t room = sizeof detail->objects, used = strlen(out);

    while (*lines && used < room) {
        size_t length;

        lines += strspn(lines, "\n ");
        length = strcspn(lines, "\n");
        used += (size_t)snprintf(out + used, room - used, "%s%.*s", used ? "\n" : "", (int)length,
                                 lines);
        lines += length;
    }
}

void run_result_place(struct run_finding *finding)
{
    char *text = finding->text, *where = finding->detail.where;
    size_t length = 0, behind;
    int depth = 0;

    if (strncmp(text, "DxgkDdi", 7) != 0 && strncmp(text, "DxgkCb", 6) != 0)
        return;
    for (; text[length] && (depth || !strchr(" :,;", text[length])); length++)
        depth += text[length] == '(' ? 1 : text[length] == ')' ? -1 : 0;
    behind = length + strspn(text + length, " :,;");
    if (!text[behind] || length >= sizeof finding->detail.where)
        return;
    memcpy(where, text, length);
    where[length] = '\0';
    memmove(text, text + behind, strlen(text + behind) + 1);
}

uint64_t run_result_ideal_ns(const struct run_result *result)
{
    uint64_t ideal_ns = 0;

    for (unsigned i = 0; i < SGPU_MAX_NODES; i++)
        ideal_ns = max_u64(ideal_ns, result->node_work_ns[i]);
    return ideal_ns;
}

bool run_result_is_ours(const struct run_result *result)
{
    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++) {
        if (i != RUN_FINDING_MANAGER && !run_finding_is_remark((enum run_finding_kind)i) &&
            result->finding_totals[i])
            return false;
    }
    return result->finding_totals[RUN_FINDING_MANAGER] != 0;
}

double run_result_fairness(const struct run_result *result)
{
    double sum = 0, squares = 0;
    unsigned count = 0;

    for (unsigned i = 0; i < result->process_count; i++) {
        const struct run_process *process = &result->processes[i];
        double rate;

        if (!process->work_ns || process->ended_ns <= process->begun_ns)
            continue;
        rate = (double)process->work_ns / (double)(process->ended_ns - process->begun_ns);
        sum += rate;
        squares += rate * rate;
        count++;
    }
    return count ? sum * sum / (count * squares) : 0;
}

void run_result_fini(struct run_result *result)
{
    free(result->steps);
    result->steps = NULL;
    result->step_count = 0;
}
