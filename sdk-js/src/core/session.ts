import type { Env } from './types';

/** n lower-case hex digits, n a multiple of 8. */
export function hexId(env: Env, n: number): string {
  let s = '';
  while (s.length < n) {
    s += Math.floor(env.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }
  return s;
}

/** Whether s can be a request id. */
export const validId = (s: unknown): s is string => typeof s === 'string' && /^[\w.:-]{1,128}$/.test(s);
