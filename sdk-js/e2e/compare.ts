import { expect } from 'vitest';
import type { WireStream } from '../src/core/types';
import { cumulative } from './streams';

/** One frame at 60 Hz and 10 ms more. */
export const tolerance = 1000 / 60 + 10;

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

/** The first meaningful paint and each update are told within one frame and 10 ms of what was seen. */
export function agree(seen: Shown[], s: WireStream, least = 4): void {
  expect(seen.length, 'updates seen').toBeGreaterThanOrEqual(least);
  const { first, updates } = deviations(seen, s);
  expect(Math.abs(first), 'first meaningful paint').toBeLessThanOrEqual(tolerance);
  for (const [i, d] of updates.entries()) expect(Math.abs(d), `update to ${seen[i]?.bytes} bytes`).toBeLessThanOrEqual(tolerance);
}

export const worst = (a: number[]): number => a.reduce((x, y) => (Math.abs(y) > Math.abs(x) ? y : x), 0);
