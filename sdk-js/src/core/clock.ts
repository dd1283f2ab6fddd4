import type { Env } from './types';

/** The platform's clock, chance and timers. */
export function platformEnv(): Env {
  const p = performance;
  return {
    now: () => p.now(),
    origin: p.timeOrigin,
    wall: () => Date.now(),
    random: () => (crypto.getRandomValues(new Uint32Array(1))[0] as number) / 2 ** 32,
    setTimeout: (f, ms) => setTimeout(f, ms),
    clearTimeout: (id) => clearTimeout(id as number),
  };
}

/** ms → integer µs, the unit of the wire. */
export const us = (ms: number): number => Math.round(ms * 1000);
