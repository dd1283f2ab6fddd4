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

  /** A chunk with generated text came at t ms; `seen`: the page was visible all the time since the last one. @internal */
  _text(t: number, seen: boolean): void {
    if (this._last < 0) {
      if (t - this._from > this._limits.firstText) this._bad = true;
    } else if (seen && t - this._last > this._limits.gap) {
      this._bad = true;
    }
    this._last = t;
  }

  /** The stream is still open at t ms: is it late already? @internal */
  _open(t: number, seen: boolean): void {
    if (this._last < 0 ? t - this._from > this._limits.firstText : seen && t - this._last > this._limits.gap) {
      this._bad = true;
    }
  }
}
