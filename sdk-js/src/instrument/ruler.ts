import { utf8 } from '../core/bytes';
import { Rope } from './rope';

/** Characters of received text kept for comparison. Beyond it, plain counts of shown text take over. */
export const rulerCap = 1 << 18;
/** How far ahead in the received text a shown piece is looked for. */
const reach = 600;
/** Letters that must agree to find the place again after a difference. */
const anchor = 4;
/** Shown characters after which it can be said whether shown and received text have anything in common. */
const judged = 200;
/** Shown characters without a match that are skipped for good. */
const hopeless = 400;

/** Blocks and geometric shapes: the cursors that pages draw behind a running answer. */
const cursors = /[\u2580-\u25ff]/g;

/** Whether a character is text rather than markup, space or a cursor. ASCII punctuation is what Markdown eats. */
const isLetter = (c: number): boolean =>
  c > 0x7f ? c < 0x2580 || c > 0x25ff : (c > 0x2f && c < 0x3a) || (c > 0x40 && c < 0x5b) || (c > 0x60 && c < 0x7b);

interface Mark {
  /** Length of the shown text. */
  _len: number;
  /** Place in the received text that it reaches. */
  _at: number;
  /** The same in bytes. */
  _bytes: number;
  /** Letters up to here, and how many of them agreed. */
  _letters: number;
  _hits: number;
}

/**
 * Says how much of the received text is in the shown text, in bytes of the received text: the ruler that aligns
 * page and servers. Markup that rendering takes away, list numbers, labels and text shown twice don't disturb it,
 * and no re-rendering makes it count text again.
 */
export class Ruler {
  /** Bytes of received text that have been shown; never falls. @internal */
  _shown = 0;
  /** Some of the received text is in the shown text beyond doubt. @internal */
  _sure = false;

  private readonly _received = new Rope();
  private _bytes = 0;
  private _full = false;
  /** Bytes of the shown text up to a place, for when it can't be compared. */
  private _plain = 0;
  private _plainTo = -1;
  private _marks: Mark[] = [{ _len: 0, _at: 0, _bytes: 0, _letters: 0, _hits: 0 }];

  /** Text came in. @internal */
  _receive(text: string): void {
    this._bytes += utf8(text);
    if (this._received._length + text.length > rulerCap) this._full = true;
    else this._received._add(text);
  }

  /**
   * The shown text is now `text`, unchanged up to `same`.
   * @internal
   */
  _show(text: Rope, same: number): void {
    const marks = this._marks;
    while (marks.length > 1 && (marks[marks.length - 1] as Mark)._len > same) marks.pop();
    const base = marks[0] as Mark;
    if (base._len > same) base._len = 0;
    const mark = marks[marks.length - 1] as Mark;
    const r = this._received;
    const next = { ...mark };
    let { _at: at, _letters: letters } = mark;
    let i = mark._len;
    for (; i < text._length; i++) {
      const c = text._at(i);
      if (!isLetter(c)) continue;
      letters++;
      let n = 0;
      while (at < r._length && !isLetter(r._at(at))) at++;
      if (r._at(at) === c) {
        n = 1;
      } else if (at < r._length) {
        const want = text._slice(i, i + anchor).replace(cursors, '');
        // The fewer letters there are, the nearer they must be.
        const k = r._slice(at, at + (want.length < anchor ? want.length * 4 : reach)).indexOf(want);
        if (k >= 0) {
          at += k;
          n = want.length;
          letters += n - 1;
          i += n - 1;
        }
      }
      if (n) {
        at += n;
        next._hits += n;
        next._len = i + 1;
        next._at = at;
        next._letters = letters;
      } else if (i - next._len > hopeless) {
        next._len = i;
        next._letters = letters;
      }
    }
    if (next._len > mark._len) {
      next._bytes += measure(r, mark._at, next._at);
      // Marks lie some way apart: a change in front of one only costs the way from the one before.
      if (marks.length > 1 && next._len - (marks[marks.length - 2] as Mark)._len < 200) marks.pop();
      marks.push(next);
      this._sure ||= next._hits > 0 && (next._hits * 2 >= letters || next._hits >= 2 * anchor);
    }
    if (next._at > base._at) {
      // Markup and space behind shown text are as good as shown.
      let end = next._at;
      while (end < r._length && !isLetter(r._at(end))) end++;
      this._shown = Math.max(this._shown, next._bytes + measure(r, next._at, end));
    }
    const length = text._length - base._len;
    if (this._full || !this._bytes || (length > judged && (next._at - base._at) * 3 < length)) {
      const known = same >= this._plainTo && this._plainTo >= base._len;
      this._plain = known ? this._plain + measure(text, this._plainTo) : measure(text, base._len);
      this._plainTo = text._length;
      this._shown = Math.max(this._shown, Math.min(this._plain, this._bytes || this._plain));
    }
  }

  /** Text shown from now on, behind the first `length` characters, is looked for behind what was found so far. @internal */
  _restart(length: number): void {
    const { _at, _bytes } = this._marks[this._marks.length - 1] as Mark;
    this._marks = [{ _len: length, _at, _bytes, _letters: 0, _hits: 0 }];
  }
}

/** UTF-8 bytes of a part; one unit more in front, so that no pair is counted in halves. */
function measure(r: Rope, from: number, to = r._length): number {
  const before = Math.min(from, 1);
  return utf8(r._slice(from - before, to), before);
}
