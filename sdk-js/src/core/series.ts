import { us } from './clock';
import type { Kind, WireSeries } from './types';

/** Entries kept between two beacons. Beyond it neighbours are merged, closest in time first. */
export const seriesCap = 4096;

type Entry = [t: number, bytes: number, kind: Kind];

/** A bounded column of (time, bytes, kind). Times never go back. */
export class Series {
  private _list: Entry[] = [];
  private _last = 0;

  /** @internal */
  get _length(): number {
    return this._list.length;
  }

  /** @param t ms since the time origin @internal */
  _push(t: number, bytes: number, kind: Kind = 'content'): void {
    this._last = Math.max(this._last, us(t));
    this._list.push([this._last, bytes, kind]);
    if (this._list.length > seriesCap) this._thin();
  }

  /** Takes up to max of the oldest entries away. @internal */
  _take(max: number): WireSeries | undefined {
    const list = this._list.splice(0, max);
    if (!list[0]) return undefined;
    const runs: [Kind, number][] = [];
    let before = 0;
    const dt = list.map(([t, , kind]) => {
      const run = runs[runs.length - 1];
      if (run?.[0] === kind) run[1]++;
      else runs.push([kind, 1]);
      const d = t - before;
      before = t;
      return d;
    });
    const plain = !runs[1] && list[0][2] === 'content';
    return { dt, bytes: list.map((e) => e[1]), kind_runs: plain ? undefined : runs };
  }

  /**
   * Merges neighbours of one kind until a quarter of the room is free. Merged bytes keep the later time, so
   * that the cumulative curve never runs ahead of what happened; long gaps are the last to go.
   */
  private _thin(): void {
    for (let limit = 20_000; this._list.length > seriesCap * 0.75; limit *= 4) {
      let merged = false;
      const out: Entry[] = [];
      for (const e of this._list) {
        const last = out[out.length - 1];
        merged = !!last && !merged && e[0] - last[0] <= limit && (e[2] === last[2] || limit > 1e12);
        if (merged) out[out.length - 1] = [e[0], e[1] + (last as Entry)[1], e[2]];
        else out.push(e);
      }
      this._list = out;
    }
  }
}
