/*
 * Clients of an adapter (drydock exec): the arguments of their calls, and the rules that they
 * break.
 */
import type { Run } from "./data.js";
import { h, link, section, type Child } from "./dom.js";
import * as format from "./format.js";
import { rowLink } from "./rows.js";

/* What a call was given and gave back; null: the page does not have it. */
export function clientArguments(run: Run, call: number): HTMLElement | null {
    if (!run.story.tables.has("client_arguments")) return null;
    const rows = run.referring("client_arguments", "call", call);
    if (!rows.length) return null;
    return h(
        "dl",
        { class: "pairs", "aria-label": "Arguments" },
        Array.from(rows, row =>
            h(
                "div",
                {},
                h("dt", {}, run.text("client_arguments", "field", row)),
                h(
                    "dd",
                    {},
                    run.values("client_arguments", "is_answer")[row]
                        ? h("em", {}, "answer: ")
                        : null,
                    run.text("client_arguments", "value", row),
                ),
            ),
        ),
    );
}

/* "Priority was 9, and should be LOW, NORMAL, HIGH or AUTO"; "": the rule compares no argument. */
export function comparedIn(run: Run, row: number): string {
    const t = (name: string): string => run.text("client_breaches", name, row);
    if (!t("argument")) return "";
    const was = `${t("argument")} was ${t("value") || "another one"}`;
    return t("expected") ? `${was}, and should be ${t("expected")}` : was;
}

/* The rules that clients break, each once a process; null: none. */
export function clientBreaches(run: Run | null): HTMLElement | null {
    const count = run?.story.tables.has("client_breaches") ? run.rows("client_breaches") : 0;
    if (!run || !count) return null;
    const t = (name: string, row: number): string => run.text("client_breaches", name, row);
    const item = (row: number): Child => {
        const call = run.values("client_breaches", "call")[row];
        return h(
            "li",
            {},
            link(
                `row/client_breaches/${row}`,
                h("span", { class: "rule" }, t("rule", row)),
                h("span", { class: "finding-text" }, t("text", row)),
                h("span", { class: "where" }, t("place", row)),
            ),
            h(
                "p",
                { class: "says" },
                run.values("client_breaches", "is_advice")[row] ? "Advice. " : null,
                `The rule: ${t("says", row)}. `,
                comparedIn(run, row) ? `${comparedIn(run, row)}. ` : null,
                `${run.objectName(run.values("client_breaches", "process")[row])}, `,
                `${format.moment(run.values("client_breaches", "time")[row])}. `,
                call ? rowLink(run, "client_calls", call) : null,
            ),
        );
    };
    return section(
        "Rules that clients break",
        [
            "What a process owes the thunk functions; each rule once for each process. ",
            link("rows/client_breaches", "As a table"),
        ],
        h(
            "ol",
            { class: "findings" },
            Array.from({ length: count }, (_, row) => item(row)),
        ),
    );
}
