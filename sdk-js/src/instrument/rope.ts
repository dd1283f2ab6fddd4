/** Units of one block: 2 to the power of 12. */
const block = 4096;
const blockOf = (i: number) => i >> 12;

/** A text that grows at its end. Reading near the end never costs more than one block, however long it is. */
export class Rope {
  /** @internal */ _length = 0;
  private _blocks: string[] = [];
  private _last = '';

  constructor(text = '') {
    this._add(text);
  }

  /** @internal */
  _add(text: string): void {
    this._length += text.length;
    this._last += text;
    let from = 0;
    for (; this._last.length - from >= block; from += block) this._blocks.push(this._last.slice(from, from + block));
    if (from) this._last = this._last.slice(from);
  }

  /** UTF-16 unit at i; NaN behind the end. @internal */
  _at(i: number): number {
    return (this._blocks[blockOf(i)] ?? this._last).charCodeAt(i % block);
  }

  /** @internal */
  _slice(from: number, to: number): string {
    let s = '';
    for (let k = blockOf(from); k * block < to && k <= this._blocks.length; k++) {
      s += (this._blocks[k] ?? this._last).slice(Math.max(from - k * block, 0), to - k * block);
    }
    return s;
  }
}

/** Units at the start that a and b share. @internal */
export function samePrefix(a: string, b: string): number {
  let low = 0;
  let high = Math.min(a.length, b.length);
  if (a.slice(0, high) === b.slice(0, high)) return high;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (a.slice(low, mid) === b.slice(low, mid)) low = mid;
    else high = mid - 1;
  }
  return low;
}
