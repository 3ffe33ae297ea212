/* What stands above the map and the timeline: chips that hide a part of them, and the zoom. */
import type { TimeWindow } from "./canvas.js";
import { h, type Child } from "./dom.js";

/* A button that is pressed while what it names is in sight; press: it was changed. */
export function chip(isPressed: boolean, press: () => boolean, ...children: Child[]): HTMLElement {
    const button = h(
        "button",
        { type: "button", class: "chip", "aria-pressed": String(isPressed) },
        ...children,
    );
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(press())));
    return button;
}

export function chips(label: string, list: HTMLElement[]): HTMLElement {
    return h("div", { class: "chips", role: "group", "aria-label": label }, list);
}

/* In, out, all of it, and what the view has besides. */
export function zoomTools(time: TimeWindow, fit: () => void, ...more: HTMLElement[]): HTMLElement {
    const zoom = (factor: number): void => time.zoom((time.t0 + time.t1) / 2, factor);
    const tool = (label: string, key: string, sign: string, factor: number): HTMLElement =>
        h(
            "button",
            {
                type: "button",
                title: `${label} (${key})`,
                "aria-label": label,
                click: () => zoom(factor),
            },
            sign,
        );
    return h(
        "div",
        { class: "tools", role: "group", "aria-label": "Zoom" },
        tool("Zoom in", "+", "+", 0.5),
        tool("Zoom out", "-", "\u2212", 2),
        h("button", { type: "button", title: "All of it (Home)", click: fit }, "Fit"),
        more,
    );
}
