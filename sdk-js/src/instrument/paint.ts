import type { Stream } from '../core/stream';
import type { PaintSource } from '../core/types';
import type { Frame, Page } from './page';
import { retracted } from './retraction';
import { Rope } from './rope';
import { Ruler } from './ruler';

/** Where the answer will stand: the element, a selector (its last match counts), or a function that finds it. */
export type Target = Element | string | (() => Element | null | undefined);

/** How an answer's element is observed. */
export interface ObserveOptions {
  /**
   * Set the `elementtiming` attribute on the answer's element until its first paint is timed, where the page has
   * not set its own. It makes Chromium tell the exact time. Default true.
   */
  elementTiming?: boolean;
  /** Reasoning is shown in this element too. Default false. */
  reasoning?: boolean;
}

/** ms for the browser to deliver the exact time of a frame. */
const settleTime = 400;
/** ms without a change after the end of the stream that make the page's work complete. */
const quietTime = 1000;
/** ms after the end of the stream for which a page that is still writing is watched. */
const longestTail = 120_000;
/** Paints that wait for their exact time. */
const pendingCap = 256;

const sourceName: Record<string, PaintSource> = { i: 'interaction_contentful_paint', e: 'element_timing' };

/** A running observation. */
export interface Observation {
  /** The answer stands, or goes on, in this element; what was seen so far stays. */
  move(target: Target): void;
}

/**
 * Watches the element in which the answer appears: text in the DOM, text on the screen, first meaningful paint,
 * text taken back. Holds text in memory for as long as the stream lives, and none of it leaves.
 *
 * @param target may come later, by `move`: what arrives in the meantime is remembered
 */
export function observeElement(stream: Stream, page: Page, target?: Target, options: ObserveOptions = {}): Observation {
  const o = new AnswerObserver(stream, page, options);
  const safe = (f: () => void) => {
    if (stream.active) stream.client._safe(f);
  };
  safe(() => {
    o._start();
    if (target) o._move(target);
  });
  return { move: (t) => safe(() => o._move(t)) };
}

class AnswerObserver {
  private _target: Target | undefined;
  private _el: Element | null | undefined;
  private _text = new Rope();
  /** What stood in the element when the answer began. */
  private _placeholder = '';
  private _began = false;
  private readonly _ruler = new Ruler();
  private _inDom = 0;
  private _painted = 0;
  /** How much of the text was there in the last frame; the text itself from the moment it changes other than by growing. */
  private _paintedLength = 0;
  private _paintedText = '';
  private _changed = false;
  private _shrunk = false;
  private _changedAt: number;
  private _pending: { _frame: Frame; _bytes: number }[] = [];
  /** The frame of the first meaningful paint; `_sure`: text of the answer was recognised in it. */
  private _first: Frame | undefined;
  private _sure = false;
  private _reported = false;
  private _timed: Element[] = [];
  private _stopped = false;
  private readonly _inside: MutationObserver;
  private readonly _outside: MutationObserver;
  private readonly _frame = (f: Frame) => this._onFrame(f);

  constructor(
    private readonly _stream: Stream,
    private readonly _page: Page,
    private readonly _options: ObserveOptions,
  ) {
    const safe = (f: () => void) => _stream.client._safe(f);
    this._changedAt = _stream._now;
    this._inside = new MutationObserver((r) => safe(() => this._onChange(r)));
    this._outside = new MutationObserver(() => safe(() => this._find()));
  }

  /** @internal */
  _start(): void {
    const s = this._stream;
    s._holds++;
    s._settle = (force) => this._settle(force);
    s._onText = (text, kind) => {
      if (kind !== 'content' && kind !== 'refusal' && !(kind === 'reasoning' && this._options.reasoning)) return;
      this._begin();
      this._ruler._receive(text);
    };
    s._cleanup.push(() => this._stop());
    this._page._onFrame.add(this._frame);
  }

  /** @internal */
  _move(target: Target): void {
    this._target = target;
    this._outside.disconnect();
    if (typeof target === 'object') {
      if (target !== this._el) this._setElement(target);
    } else {
      this._outside.observe(document, { childList: true, subtree: true });
      this._find();
    }
  }

  /** @internal */
  _stop(): void {
    if (this._stopped) return;
    this._stopped = true;
    this._settle(true);
    this._inside.disconnect();
    this._outside.disconnect();
    this._page._onFrame.delete(this._frame);
    this._untime();
    this._stream._onText = this._stream._settle = undefined;
    this._text = new Rope();
    this._paintedText = this._placeholder = '';
    this._stream._release();
  }

  /** The first text of the answer is about to reach the page. */
  private _begin(): void {
    if (this._began) return;
    this._began = true;
    this._placeholder = this._all();
    this._ruler._restart(this._text._length);
  }

  private _find(): void {
    // The right element is settled with the first meaningful paint, as long as it stays in the page.
    if (this._first && this._el?.isConnected) return;
    const t = this._target;
    const found = typeof t === 'string' ? [...document.querySelectorAll(t)].pop() : typeof t === 'function' ? t() : t;
    if (found && found !== this._el) this._setElement(found);
  }

  private _setElement(el: Element): void {
    if (this._stream._contentAt >= 0) this._begin();
    this._el = el;
    this._inside.disconnect();
    this._inside.observe(el, { childList: true, characterData: true, characterDataOldValue: true, subtree: true });
    this._update(this._read());
  }

  private _onChange(records: MutationRecord[]): void {
    if (this._stopped) return;
    if (this._stream._contentAt >= 0) this._begin();
    const before = this._text._length;
    this._update(this._append(records) ? before : this._read());
  }

  /** Takes over text that was only added at the end, without reading the rest. */
  private _append(records: MutationRecord[]): boolean {
    const r = records[0] as MutationRecord;
    const node = r.target as CharacterData;
    let added: string;
    if (r.type === 'characterData') {
      const old = r.oldValue ?? '';
      if (records.some((x) => x.target !== node || x.type !== r.type) || node.data.slice(0, old.length) !== old) return false;
      if (!this._isLast(node)) return false;
      added = node.data.slice(old.length);
    } else {
      const n = r.addedNodes[0];
      if (records.length > 1 || r.removedNodes.length || r.addedNodes.length !== 1 || !n || !this._isLast(n)) return false;
      added = n.textContent ?? '';
    }
    this._text._add(added);
    return true;
  }

  private _isLast(node: Node): boolean {
    for (let n: Node | null = node; n !== this._el; n = n.parentNode) if (!n || n.nextSibling) return false;
    return true;
  }

  /** Reads the whole text; returns how much of its beginning stayed. */
  private _read(): number {
    const text = this._el?.textContent ?? '';
    const same = this._text._same(text);
    if (same < this._text._length) {
      if (!this._shrunk) this._paintedText = this._text._slice(0, this._paintedLength);
      this._shrunk = true;
      this._text = new Rope(text);
    } else {
      this._text._add(text.slice(same));
    }
    return same;
  }

  /** The text in the DOM has changed behind the first `same` characters. */
  private _update(same: number): void {
    const now = this._stream._now;
    this._changed = true;
    this._changedAt = now;
    this._page._request(!this._sure);
    if (!this._began) return;
    this._ruler._show(this._text, same);
    this._countDom(now);
    if (!this._first && this._options.elementTiming !== false) this._time();
  }

  private _countDom(now: number): void {
    const n = this._ruler._shown - this._inDom;
    if (n > 0) {
      this._inDom += n;
      this._stream._dom._push(now, n);
      this._stream._touch();
    }
  }

  private _onFrame(frame: Frame): void {
    if (this._el && !this._el.isConnected) this._find();
    if (!this._changed || !this._page._visible) return;
    this._changed = false;
    if (this._shrunk) {
      this._shrunk = false;
      const gone = this._sure ? retracted(this._paintedText, this._all(), this._placeholder) : 0;
      if (gone) {
        this._stream._retracted(frame._end, gone);
        // A new text has begun, rather than a piece been cut out of the old one.
        if (gone * 4 > this._paintedText.length) {
          this._ruler._restart(0);
          this._ruler._show(this._text, 0);
          this._countDom(frame._end);
        }
      }
    }
    this._paintedLength = this._text._length;
    const n = this._ruler._shown - this._painted;
    if (n > 0 && this._shows()) {
      this._painted += n;
      this._pending.push({ _frame: frame, _bytes: n });
      if (this._pending.length > pendingCap) this._settle(false);
      if (this._ruler._sure && !this._sure) {
        this._sure = true;
        this._first = frame;
      }
    }
    // Text that could not be compared, and is not what stood there before.
    if (!this._first && this._stream._contentAt >= 0 && this._hasText() && this._shows()) {
      this._first = frame;
    }
  }

  private _all(): string {
    return this._text._slice(0, this._text._length);
  }

  /** Something stands there that did not before the answer. */
  private _hasText(): boolean {
    return this._all() !== this._placeholder && !!this._all().trim();
  }

  private _shows(): boolean {
    if (this._first) return true;
    const el = this._el as (Element & { checkVisibility?: (o: object) => boolean }) | undefined;
    return el?.checkVisibility?.({ opacityProperty: true, visibilityProperty: true }) ?? !!el;
  }

  /** Moves paints whose times are as good as they will get into the series. */
  private _settle(force: boolean): void {
    const s = this._stream;
    const now = s._now;
    this._page._drain();
    const ready = (f: Frame) => force || f._shown !== undefined || now - f._end > settleTime;
    while (this._pending[0] && (ready(this._pending[0]._frame) || this._pending.length > pendingCap)) {
      const { _frame, _bytes } = this._pending.shift() as { _frame: Frame; _bytes: number };
      s._paint._push(_frame._shown ?? _frame._end, _bytes);
      s._touch();
    }
    const f = this._first;
    const over = s._endedAt >= 0;
    if (f && !this._reported && ready(f) && (this._sure || over)) {
      this._reported = true;
      s._firstPaint(f._shown ?? f._end, sourceName[f._source ?? ''] ?? 'frame');
      this._untime();
    }
    if (!this._stopped && over && this._page._visible) {
      const quiet = now - this._changedAt > quietTime;
      if ((quiet && (!this._changed || !this._el)) || now - s._endedAt > longestTail) this._stop();
    }
  }

  /** Asks the browser to time the first text in the element. */
  private _time(): void {
    let n: Node | null = this._el as Node;
    while (n.lastChild) n = n.lastChild;
    for (; n; n = n === this._el ? null : n.parentNode) {
      if (n.nodeType === 1 && this._timed.length < 8 && !(n as Element).hasAttribute('elementtiming')) {
        (n as Element).setAttribute('elementtiming', 'fermata');
        this._timed.push(n as Element);
      }
    }
  }

  private _untime(): void {
    for (const e of this._timed.splice(0)) e.removeAttribute('elementtiming');
  }
}
