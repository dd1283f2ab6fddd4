import { expect } from 'vitest';
import type { WireStream } from '../src/core/types';
import type { Probe } from './browser';
import { cumulative } from './streams';

/** ms of a frame at 60 Hz. */
export const frame = 1000 / 60;
/** One frame at 60 Hz and 10 ms more. */
export const tolerance = frame + 10;
/** ms after which the SDK no longer waits for the browser to tell of a frame, and estimates. */
const patience = 400;

/** What an observer saw: the answer's bytes on the screen from t ms on. */
export interface Shown {
  bytes: number;
  t: number;
}

/** ms by which the SDK's first meaningful paint, and its paint of each update, are off what was seen. */
export function deviations(seen: Shown[], s: WireStream): { first: number; updates: number[] } {
  const painted = cumulative(s.paint);
  const off = (t: number | undefined, u: Shown) => (t ?? Number.NaN) - u.t;
  return {
    first: off((s.first_meaningful_paint_at as number) / 1000, seen[0] as Shown),
    updates: seen.map((u) => off(painted.find((p) => p.bytes >= u.bytes)?.t, u)),
  };
}

/**
 * ms by which an estimate may be off: the tolerance, and what the machine took beyond one frame from the finished frame, or
 * from the page behind it, by the browser's own account. No script can know of either.
 */
export function estimated(u: Probe): number {
  const beyond = (t = 0) => Math.max(t - u.painted - frame, 0);
  return tolerance + beyond(u.t) + beyond(u.free);
}

/** Whether the browser told of an update so late that the SDK may no longer have waited. */
export const late = (u: Probe): boolean => u.told - u.painted > patience - frame;

/** The same where the browser tells: nothing more, unless it told late. */
export const told = (u: Probe): number => (late(u) ? estimated(u) : tolerance);

/** The first meaningful paint and each update are told within one frame and 10 ms of what was seen. */
export function agree(seen: Probe[], s: WireStream, least = 4, allowed = told): void {
  expect(seen.length, 'updates seen').toBeGreaterThanOrEqual(least);
  const { first, updates } = deviations(seen, s);
  for (const [i, u] of seen.entries()) {
    expect(Math.abs(updates[i] as number), `update to ${u.bytes} bytes`).toBeLessThanOrEqual(allowed(u));
    if (!i) expect(Math.abs(first), 'first meaningful paint').toBeLessThanOrEqual(allowed(u));
  }
}

export const worst = (a: number[]): number => a.reduce((x, y) => (Math.abs(y) > Math.abs(x) ? y : x), 0);

/** The quartiles of some figures, for people. */
export function quartiles(a: number[]): string {
  const s = [...a].sort((x, y) => x - y);
  return [0.25, 0.5, 0.75].map((q) => (s[Math.round(q * (s.length - 1))] as number).toFixed(1)).join('/');
}

/**
 * How likely paired differences are as high as these, or higher, where nothing but chance makes one of a pair the larger: the exact
 * signed-rank test of Wilcoxon, which asks nothing of how the figures are distributed.
 */
export function byChance(differences: number[]): number {
  const ranked = [...differences].sort((a, b) => Math.abs(a) - Math.abs(b));
  const below = ranked.reduce((sum, d, i) => sum + (d < 0 ? i + 1 : 0), 0);
  // Of all ways to give the ranks a sign, how many have this sum of those below zero.
  let ways = [1];
  for (let rank = 1; rank <= ranked.length; rank++) {
    ways = Array.from({ length: ways.length + rank }, (_, sum) => (ways[sum] ?? 0) + (ways[sum - rank] ?? 0));
  }
  return ways.slice(0, below + 1).reduce((a, b) => a + b, 0) / 2 ** ranked.length;
}
