/* Numbers as people read them. All are pure; units stand in the names. */

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/* "2.17 GiB": three digits that count, binary units. */
export function bytes(value: number): string {
    if (!Number.isFinite(value)) return "-";
    let unit = 0;
    let size = Math.abs(value);
    while (size >= 1024 && unit < BINARY.length - 1) {
        size /= 1024;
        unit++;
    }
    const digits = unit === 0 || Number.isInteger(size) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
    return `${value < 0 ? "-" : ""}${size.toFixed(digits)} ${BINARY[unit]}`;
}

export function count(value: number): string {
    return Number.isInteger(value)
        ? value.toLocaleString("en-US")
        : value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/* A duration: "1.5 ms". */
export function duration(ns: number): string {
    if (!Number.isFinite(ns)) return "never";
    const size = Math.abs(ns);
    const [scale, unit] =
        size >= 1e9
            ? [1e9, "s"]
            : size >= 1e6
              ? [1e6, "ms"]
              : size >= 1e3
                ? [1e3, "µs"]
                : [1, "ns"];
    const digits = scale === 1 ? 0 : size / scale >= 100 ? 1 : size / scale >= 10 ? 2 : 3;
    return `${trim((ns / scale).toFixed(digits))} ${unit}`;
}

const formats: Intl.NumberFormat[] =
    []; /* by digits: to make one takes long, and axes say many numbers a frame */

function fixed(value: number, digits: number): string {
    const n = Math.min(20, digits);
    formats[n] ??= new Intl.NumberFormat("en-US", {
        minimumFractionDigits: n,
        maximumFractionDigits: n,
    });
    return formats[n].format(value);
}

/* A moment, in the unit of the step between labels: as many digits as tell two labels apart. */
export function moment(ns: number, stepNs = 0): string {
    if (!Number.isFinite(ns)) return "never";
    const size = Math.max(Math.abs(ns), stepNs);
    const [scale, unit] =
        size >= 1e9
            ? [1e9, "s"]
            : size >= 1e6
              ? [1e6, "ms"]
              : size >= 1e3
                ? [1e3, "µs"]
                : [1, "ns"];
    const digits =
        stepNs > 0
            ? Math.max(0, Math.ceil(-Math.log10(stepNs / scale) - 1e-9))
            : scale === 1
              ? 0
              : 3;
    const text = fixed(ns / scale, digits);
    return `${/^-[0.]*$/.test(text) ? text.slice(1) : text} ${unit}`;
}

function trim(text: string): string {
    return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

export function hex(value: number | bigint, digits = 0): string {
    return `0x${value.toString(16).padStart(digits, "0")}`;
}

export function percent(share: number): string {
    return `${(100 * share).toFixed(share !== 0 && Math.abs(share) < 0.1 ? 2 : 1)} %`;
}

export function times(value: number): string {
    return `${value.toFixed(value < 10 ? 2 : 1)} x`;
}

/* 0 is a status that says nothing; others are told as Windows does. */
export function status(value: number): string {
    return value === 0 ? "success" : hex(value, 8);
}

/* "1 eviction", "2 evictions". */
export function plural(n: number, one: string, many = `${one}s`): string {
    return `${count(n)} ${n === 1 ? one : many}`;
}

/*
 * Steps of an axis: about `wanted` between from and to, at 1, 2 or 5 times a power of ten; for
 * sizes (binary) at powers of two.
 */
export function axisStep(span: number, wanted: number, binary = false): number {
    const raw = span / Math.max(1, wanted);
    if (!(raw > 0) || !Number.isFinite(raw)) return 1;
    if (binary) return Math.max(1, 2 ** Math.ceil(Math.log2(raw)));
    const power = 10 ** Math.floor(Math.log10(raw));
    const lead = raw / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}
