/*
 * Where the documentation of a rule is. A rule names its sources by the last part of their
 * addresses ("nc-dxgkddi_buildpagingbuffer, bug-check-0x10e"); here the rest is put before it, as
 * src/report/source_link.c does for the command line.
 * Nothing is loaded: the reader follows the link or does not.
 */
import { h, type Child } from "./dom.js";

const DDI = "https://learn.microsoft.com/windows-hardware/drivers/ddi";
const DEBUGGER = "https://learn.microsoft.com/windows-hardware/drivers/debugger";
const DISPLAY = "https://learn.microsoft.com/windows-hardware/drivers/display";

const BUG_CHECKS: Record<string, string> = {
    "bug-check-0x10e": "bug-check-0x10e---video-memory-management-internal",
    "bug-check-0x116": "bug-check-0x116---video-tdr-error",
    "bug-check-0x119": "bug-check-0x119---video-scheduler-internal-error",
    "bug-check-0xd1": "bug-check-0xd1--driver-irql-not-less-or-equal",
};

/* The address of a source; null: it is none of the documentation's pages. */
export function documentOf(source: string): string | null {
    const slug = source.replace(/ \(.*\)$/, "");
    if (Object.hasOwn(BUG_CHECKS, slug)) return `${DEBUGGER}/${BUG_CHECKS[slug]}`;
    const named = /^(nc|nf|ns|ne)-([a-z0-9]+)-[a-z0-9_]+$/.exec(slug);
    if (named) return `${DDI}/${named[2]}/${slug}`;
    const short = /^(nc|nf|ns|ne)-([a-z0-9_]+)$/.exec(slug);
    if (short) {
        const header =
            short[2] === "dxgkddi_interrupt_routine"
                ? "dispmprt"
                : /^pfnd3dddi_/.test(short[2])
                  ? "d3dumddi"
                  : /^_?d3dddi_/.test(short[2])
                    ? "d3dukmdt"
                    : "d3dkmddi";
        return `${DDI}/${header}/${short[1]}-${header}-${short[2]}`;
    }
    return /^[a-z0-9]+(-[a-z0-9]+)+$/.test(slug) ? `${DISPLAY}/${slug}` : null;
}

export function sourceLinks(sources: string): Child[] {
    return [...new Set(sources.split(", ").filter(Boolean))].flatMap((source, i): Child[] => {
        const address = documentOf(source);
        return [
            i ? ", " : null,
            address
                ? h("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, source)
                : source,
        ];
    });
}
