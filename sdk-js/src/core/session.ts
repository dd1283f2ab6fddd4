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

/**
 * A session is one page load: it has one time origin, which is what the collector aligns clocks by, and
 * beacon numbers that start at 0. Nothing is stored in the browser.
 */
export class Session {
  readonly id: string;
  private _n = 0;

  constructor(env: Env) {
    this.id = hexId(env, 32);
  }

  /** Number of the next beacon. @internal */
  _next(): number {
    return this._n++;
  }
}
