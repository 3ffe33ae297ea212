/*
 * Colours. Those of kinds are Okabe and Ito's, which people with any kind of colour vision tell
 * apart, in a variant for dark; amounts go along one ramp from pale to deep whose lightness falls
 * all the way.
 */
import { isDark } from "./theme.js";

const LIGHT = [0x2f6fb2, 0xd98a00, 0x1b9077, 0xc8502a, 0xb0679b, 0x52a4d8, 0x9a8a1f, 0x6b7280];
const DARK = [0x6ba6e8, 0xf0ac3f, 0x45c2a3, 0xee7f5a, 0xd993c4, 0x83c9f2, 0xd6c95a, 0x9aa3b2];

export const NEUTRAL_LIGHT = 0xc3c9d3;
export const NEUTRAL_DARK = 0x4b5563;

export function neutral(): number {
    return isDark() ? NEUTRAL_DARK : NEUTRAL_LIGHT;
}

/* The n-th colour of a set of kinds; from the eighth on all share one. */
export function kindColour(n: number): number {
    const set = isDark() ? DARK : LIGHT;
    return set[Math.min(n, set.length - 1)];
}

export const KIND_COLOURS = LIGHT.length;

function mix(a: number, b: number, t: number): number {
    const channel = (shift: number): number =>
        Math.round(((a >> shift) & 255) + (((b >> shift) & 255) - ((a >> shift) & 255)) * t);
    return (channel(16) << 16) | (channel(8) << 8) | channel(0);
}

/* Cividis, thinned: readable without colour. */
const RAMP = [
    0x00306f, 0x3b496c, 0x575c6d, 0x707173, 0x8a8678, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46,
];

/* share: 0 .. 1. On light pages much is dark, on dark pages much is light. */
export function amountColour(share: number): number {
    const s = Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0));
    const at = (isDark() ? s : 1 - s) * (RAMP.length - 1);
    const low = Math.min(RAMP.length - 2, Math.floor(at));
    return mix(RAMP[low], RAMP[low + 1], at - low);
}

/* A colour taken towards the page's ground. */
export function faded(rgb: number, share = 0.78): number {
    return mix(rgb, isDark() ? 0x14181f : 0xffffff, share);
}
