import { us } from './clock';
import type { Kind, WireSeries } from './types';

/** Entries kept between two beacons. Beyond it neighbours are merged, closest in time first. */
export const seriesCap = 4096;

/** A bounded column of (time, bytes, kind). Times never go back. */
export class Series {
  private _t: number[] = [];
  private _b: number[] = [];
  private _k: Kind[] = [];
  private _last = 0;

  /** @internal */
  get _length(): number {
    return this._t.length;
  }

  /** @param t ms since the time origin @internal */
  _push(t: number, bytes: number, kind: Kind = 'content'): void {
    this._last = Math.max(this._last, us(t));
    this._t.push(this._last);
    this._b.push(bytes);
    this._k.push(kind);
    if (this._t.length > seriesCap) this._thin();
  }

  /** Takes up to max of the oldest entries away. @internal */
  _take(max: number): WireSeries | undefined {
    if (!this._t.length) return undefined;
    const t = this._t.splice(0, max);
    const bytes = this._b.splice(0, max);
    const kind = this._k.splice(0, max);
    return { dt: t.map((v, i) => v - (t[i - 1] ?? 0)), bytes, kind: kind.some((k) => k !== 'content') ? kind : undefined };
  }

  /**
   * Merges neighbours of one kind until a quarter of the room is free. Merged bytes keep the later time, so
   * that the cumulative curve never runs ahead of what happened; long gaps are the last to go.
   */
  private _thin(): void {
    const [T, B, K] = [this._t, this._b, this._k];
    for (let limit = 20_000; T.length > seriesCap * 0.75; limit *= 4) {
      let n = 0;
      for (let i = 0; i < T.length; i++) {
        const t = T[i] as number;
        const b = B[i] as number;
        const k = K[i] as Kind;
        const next = T[i + 1];
        if (next !== undefined && next - t <= limit && (K[i + 1] === k || limit > 1e12)) {
          T[n] = next;
          B[n] = b + (B[i + 1] as number);
          K[n++] = K[++i] as Kind;
        } else {
          T[n] = t;
          B[n] = b;
          K[n++] = k;
        }
      }
      T.length = B.length = K.length = n;
    }
  }
}
