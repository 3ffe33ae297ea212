/* What a view knows of the page that it is part of. */
import type { TimeWindow } from "./canvas.js";
import type { Run } from "./data.js";

/* A JSON object as it stands in the page; what is in it is never trusted to be there. */
export type Facts = Record<string, unknown>;

export interface App {
    readonly facts: Facts; /* run.json, and "page" */
    readonly run: Run | null; /* of the first story */
    readonly others: readonly {
        name: string;
        run: Run;
    }[]; /* further stories: the second run of a comparison */
    readonly problem: string; /* why there is no story; "" */
    readonly time: TimeWindow;
    go(route: string): void;
    announce(text: string): void; /* for screen readers */
}

export interface View {
    readonly element: HTMLElement;
    shown?(query: URLSearchParams): void; /* the view is in sight */
    left?(): void;
    help?: [string, string][]; /* keys, and what they do */
}

export function numberIn(facts: Facts, ...path: string[]): number | null {
    const value = valueIn(facts, ...path);
    return typeof value === "number" ? value : null;
}

export function textIn(facts: Facts, ...path: string[]): string {
    const value = valueIn(facts, ...path);
    return typeof value === "string" ? value : "";
}

export function objectIn(facts: Facts, ...path: string[]): Facts {
    const value = valueIn(facts, ...path);
    return typeof value === "object" && value !== null && !Array.isArray(value)
        ? (value as Facts)
        : {};
}

export function listIn(facts: Facts, ...path: string[]): Facts[] {
    const value = valueIn(facts, ...path);
    return Array.isArray(value)
        ? value.filter((v): v is Facts => typeof v === "object" && v !== null)
        : [];
}

export function textsIn(facts: Facts, ...path: string[]): string[] {
    const value = valueIn(facts, ...path);
    return Array.isArray(value)
        ? value.filter((v): v is string => typeof v === "string")
        : typeof value === "string" && value
          ? value.split("\n")
          : [];
}

export function valueIn(facts: Facts, ...path: string[]): unknown {
    let value: unknown = facts;
    for (const key of path) {
        if (typeof value !== "object" || value === null || !Object.hasOwn(value, key))
            return undefined;
        value = (value as Facts)[key];
    }
    return value;
}
