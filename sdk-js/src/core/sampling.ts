import type { BadLimits } from './types';

/** The defaults, in ms. */
export const defaultBad: BadLimits = { gap: 1000, firstText: 2000 };

/**
 * Watches one stream for what makes it worth keeping whatever the sample rate says. Once bad, always bad.
 */
export class BadWatch {
  /** @internal */
  _bad = false;
  private _last = -1;

  constructor(
    private readonly _limits: BadLimits,
    private readonly _from: number,
  ) {}

  /**
   * Looks at the silence up to t ms. `seen`: the page was visible all the time since the last text.
   * @internal
   */
  _open(t: number, seen: boolean): void {
    const { gap, firstText } = this._limits;
    if (this._last < 0 ? t - this._from > firstText : seen && t - this._last > gap) this._bad = true;
  }

  /** Generated text came at t ms. @internal */
  _text(t: number, seen: boolean): void {
    this._open(t, seen);
    this._last = t;
  }
}
