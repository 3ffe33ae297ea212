/* The rules of the contract in a campaign: how often each was evaluated, and a map of them. */
import { listIn, numberIn, objectIn, textIn, type Facts } from "./app.js";
import { h, pictured } from "./dom.js";
import * as format from "./format.js";
import { grid } from "./grid.js";
import { squareMap, type Square } from "./squares.js";

export interface RuleCount {
    id: string;
    evaluated: number;
    broken: number;
    sentence: string;
    side: string;
    reason: string; /* why no run can see it; "" */
}

/*
 * Rules with their counts: those of "contract" (as drydock rules --json lists them: all rules),
 * with the counts of "rules"; without it, those of "rules" alone, which are the ones that were
 * evaluated.
 */
export function ruleCounts(facts: Facts): { rules: RuleCount[]; isWhole: boolean } {
    const counts = objectIn(facts, "rules");
    const contract = listIn(facts, "contract").length
        ? listIn(facts, "contract")
        : listIn(facts, "rules");
    const of = (id: string, key: string): number => numberIn(counts, id, key) ?? 0;
    if (contract.length)
        return {
            isWhole: true,
            rules: contract.map(r => {
                const id = textIn(r, "id");
                return {
                    id,
                    evaluated: numberIn(r, "evaluated") ?? of(id, "evaluated"),
                    broken: numberIn(r, "broken") ?? of(id, "broken"),
                    sentence: textIn(r, "sentence"),
                    side: textIn(r, "side"),
                    reason: textIn(r, "reason"),
                };
            }),
        };
    return {
        isWhole: false,
        rules: Object.keys(counts)
            .sort()
            .map(id => ({
                id,
                evaluated: of(id, "evaluated"),
                broken: of(id, "broken"),
                sentence: "",
                side: "",
                reason: "",
            })),
    };
}

/* What the areas of the contract are about (the headings of data/ddi/contract.md). */
const AREAS: Record<string, string> = {
    PB: "paging buffers",
    XFER: "TRANSFER",
    FILL: "FILL",
    DISC: "DISCARD_CONTENT",
    PHYS: "READ_PHYSICAL, WRITE_PHYSICAL",
    APER: "MAP_ and UNMAP_APERTURE_SEGMENT",
    ADL: "MAP_APERTURE_SEGMENT2",
    SLT: "SPECIAL_LOCK_TRANSFER",
    VX: "VIRTUAL_TRANSFER, VIRTUAL_FILL",
    CTX: "context allocations",
    PT: "UPDATE_PAGE_TABLE",
    TLB: "FLUSH_TLB",
    CPTE: "COPY_PAGE_TABLE_ENTRIES",
    NTF: "NOTIFY_..., SIGNAL_MONITORED_FENCE",
    SEG: "segments",
    BANK: "banks and AGP",
    ALLOC: "allocations",
    SWZ: "swizzling ranges",
    CHA: "CPU host aperture",
    RES: "residency and budgets",
    OFFER: "offer and reclaim",
    PATCH: "patching, splitting",
    SUB: "submission",
    FENCE: "fences, interrupts",
    PWR: "power, stop",
    TDR: "timeout, reset",
    IOMMU: "IOMMU isolation",
    MEM: "memory that calls lend",
    CALL: "all calls",
};

export function areaOf(rule: string): string {
    return rule.replace(/-?\d+$/, "");
}

function often(r: RuleCount): string {
    if (!r.evaluated) return r.reason ? `no run can see it: ${r.reason}` : "never evaluated";
    const times = format.plural(r.evaluated, "time");
    return `evaluated ${times}, broken ${format.plural(r.broken, "time")}`;
}

function squareOf(r: RuleCount): Square {
    return {
        area: areaOf(r.id),
        kind: r.broken ? "broken" : r.evaluated ? "kept" : r.reason ? "cannot" : "never",
        times: r.evaluated,
        says: `${r.id}: ${often(r)}.${r.sentence ? ` ${r.sentence}` : ""}`,
    };
}

function rulesGrid(rules: RuleCount[]): HTMLElement {
    return grid({
        label: "Coverage of rules",
        rows: rules.length,
        height: 420,
        columns: [
            {
                title: "rule",
                width: "8em",
                cell: i => h("code", {}, rules[i].id),
                key: i => rules[i].id,
            },
            {
                title: "evaluated",
                isNumber: true,
                width: "8em",
                cell: i => (rules[i].evaluated ? format.count(rules[i].evaluated) : "never"),
                key: i => rules[i].evaluated,
            },
            {
                title: "broken",
                isNumber: true,
                width: "6em",
                cell: i => (rules[i].broken ? format.count(rules[i].broken) : ""),
                key: i => rules[i].broken,
            },
            { title: "side", width: "6em", cell: i => rules[i].side, key: i => rules[i].side },
            {
                title: "sentence",
                width: "minmax(16em, 3fr)",
                cell: i => rules[i].sentence || rules[i].reason,
            },
        ],
    });
}

export function rulesSection(facts: Facts): HTMLElement | null {
    const { rules, isWhole } = ruleCounts(facts);
    if (!rules.length) return null;
    const evaluated = rules.filter(r => r.evaluated).length,
        broken = rules.filter(r => r.broken).length;
    return pictured(
        "Coverage of rules",
        [
            `A square is a rule of the contract. ${format.count(evaluated)} of ` +
                `${format.count(rules.length)} were evaluated, ${format.count(broken)} broken. `,
            isWhole ? null : "Rules that were never evaluated are not in this page.",
        ],
        squareMap(rules.map(squareOf), {
            legend: {
                kept: "evaluated and kept (the deeper, the more often)",
                broken: "broken",
                never: "never evaluated",
                cannot: "no run can see it",
            },
            area: name => AREAS[name] ?? "",
        }),
        () => rulesGrid(rules),
    );
}
