import type { Stream } from '../core/stream';
import type { PaintSource } from '../core/types';
import type { Frame, Page } from './page';
import { retracted } from './retraction';
import { Rope, samePrefix } from './rope';
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

const sourceName: Record<number, PaintSource> = { 1: 'interaction_contentful_paint', 2: 'element_timing' };

/** A running observation. */
export interface Observation {
  /** The answer stands, or goes on, in this element; what was seen so far stays. */
  move(target: Target): void;
}

/**
 * Watches the element in which the answer appears: text in the DOM, text on the screen, first meaningful paint,
 * text taken back. Holds text in memory for as long as the stream lives, and none of it leaves.
 *
 * @param begunWith may come later, by `move`: what arrives in the meantime is remembered
 */
export function observeElement(stream: Stream, page: Page, begunWith?: Target, options: ObserveOptions = {}): Observation {
  let target: Target | undefined;
  let el: Element | null | undefined;
  let text = new Rope();
  /** The text node at the very end of the element, while it is known. */
  let tail: Node | undefined;
  /** What stood in the element when the answer began. */
  let placeholder = '';
  let began = false;
  let ruler = new Ruler();
  let inDom = 0;
  let painted = 0;
  /** How much of the text was there in the last frame; the text itself from the moment it changes other than by growing. */
  let paintedLength = 0;
  let paintedText = '';
  let changed = false;
  let shrunk = false;
  let changedAt = stream._now;
  /** Paints that wait for their exact time; a flush takes them every now and then. */
  const pending: [Frame, bytes: number][] = [];
  /** The frame of the first meaningful paint; `sure`: text of the answer was recognised in it. */
  let first: Frame | undefined;
  let sure = false;
  let reported = false;
  const timed: Element[] = [];
  let stopped = false;

  const watch = (f: (r: MutationRecord[]) => void) => new MutationObserver((r) => stream.client._safe(() => f(r)));
  const inside = watch(onChange);
  const outside = watch(find);

  function start(): void {
    if (!stream.active) return;
    stream._holds++;
    stream._settle = settle;
    stream._onText = (text, kind) => {
      if (kind === 'tool' || (kind === 'reasoning' && !options.reasoning)) return;
      begin();
      ruler._receive(text);
    };
    stream._cleanup.push(stop);
    page._onFrame.add(onFrame);
  }

  function move(to: Target): void {
    target = to;
    outside.disconnect();
    if (typeof to === 'object') {
      if (to !== el) setElement(to);
    } else {
      outside.observe(document, { childList: true, subtree: true });
      find();
    }
  }

  function stop(): void {
    if (stopped) return;
    stopped = true;
    settle(true);
    inside.disconnect();
    outside.disconnect();
    page._onFrame.delete(onFrame);
    untime();
    stream._onText = stream._settle = undefined;
    text = new Rope();
    ruler = new Ruler();
    paintedText = placeholder = '';
    el = tail = target = undefined;
    stream._release();
  }

  /** The first text of the answer is about to reach the page. */
  function begin(): void {
    if (began) return;
    began = true;
    placeholder = all();
    ruler._restart(text._length);
  }

  function find(): void {
    // The right element is settled with the first meaningful paint, as long as it stays in the page.
    if (first && el?.isConnected) return;
    const t = target;
    const found = typeof t === 'string' ? [...document.querySelectorAll(t)].pop() : typeof t === 'function' ? t() : t;
    if (found && found !== el) setElement(found);
  }

  function setElement(to: Element): void {
    // What was put off is about the element so far.
    stream._catchUp();
    if (stream._contentAt >= 0) begin();
    el = to;
    tail = undefined;
    inside.disconnect();
    inside.observe(to, { childList: true, characterData: true, characterDataOldValue: true, subtree: true });
    update(read());
  }

  function onChange(records: MutationRecord[]): void {
    const more = added(records);
    if (sure && more !== undefined) {
      // The rest can wait.
      stream._defer(grow, more);
      touched();
      return;
    }
    stream._catchUp();
    if (stream._contentAt >= 0) begin();
    let same = text._length;
    if (more === undefined) same = read();
    else text._add(more);
    update(same);
  }

  /** Text that was only added at the end, found without reading the rest; undefined: something else has changed. */
  function added(records: MutationRecord[]): string | undefined {
    const r = records[0] as MutationRecord;
    const node = r.target as CharacterData;
    if (r.type === 'characterData') {
      if (records.some((x) => x.target !== node || x.type !== r.type) || (node !== tail && !isLast(node))) return;
      const old = r.oldValue as string;
      const { data } = node;
      tail = node;
      return data.startsWith(old) ? data.slice(old.length) : undefined;
    }
    tail = undefined;
    const n = r.addedNodes[0];
    return records[1] || r.removedNodes[0] || r.addedNodes[1] || !n || !isLast(n) ? undefined : (n.textContent ?? '');
  }

  function isLast(node: Node): boolean {
    for (let n: Node | null = node; n !== el; n = n.parentNode) if (!n || n.nextSibling) return false;
    return true;
  }

  /** Text was added at the end. */
  function grow(added: string): void {
    const before = text._length;
    text._add(added);
    show(before);
  }

  /** Reads the whole text; returns how much of its beginning stayed. */
  function read(): number {
    const now = el?.textContent ?? '';
    const same = samePrefix(all(), now);
    if (same < text._length) {
      if (!shrunk) paintedText = text._slice(0, paintedLength);
      shrunk = true;
      text = new Rope(now);
    } else {
      text._add(now.slice(same));
    }
    return same;
  }

  function touched(): void {
    changed = true;
    changedAt = stream._now;
    page._request(!sure);
  }

  /** The text in the DOM has changed behind the first `same` characters. */
  function update(same: number): void {
    touched();
    if (!began) return;
    show(same);
    if (!first && options.elementTiming !== false) time();
  }

  /** Measures the text behind the first `same` characters; what is new of the answer is in the DOM now. */
  function show(same: number): void {
    ruler._show(text, same);
    const n = ruler._shown - inDom;
    if (n > 0) {
      inDom += n;
      stream._dom._push(stream._now, n);
      stream._touch();
    }
  }

  function onFrame(frame: Frame): void {
    if (!changed || !page._visible) return;
    changed = false;
    if (sure && !shrunk) {
      stream._defer(drawn, frame);
      return;
    }
    stream._catchUp();
    if (shrunk) {
      shrunk = false;
      const gone = sure ? retracted(paintedText, all(), placeholder) : 0;
      if (gone) {
        stream._retracted(frame._end, gone);
        // A new text has begun, rather than a piece been cut out of the old one.
        if (gone * 4 > paintedText.length) {
          ruler._restart(0);
          show(0);
        }
      }
    }
    drawn(frame);
    // Text that could not be compared, and is not what stood there before.
    const now = all();
    if (!first && stream._contentAt >= 0 && now !== placeholder && now.trim() && shows()) first = frame;
  }

  /** The text as it is was drawn in this frame. */
  function drawn(frame: Frame): void {
    paintedLength = text._length;
    const n = ruler._shown - painted;
    if (n > 0 && shows()) {
      painted += n;
      pending.push([frame, n]);
      if (ruler._sure && !sure) {
        sure = true;
        first = frame;
      }
    }
  }

  /** When a frame was on the screen: told by the browser, or as long after its end as others were. */
  function shownAt(f: Frame): number {
    return f._shown ?? f._end + page._delay;
  }

  function all(): string {
    return text._slice(0, text._length);
  }

  function shows(): boolean {
    const e = el as (Element & { checkVisibility?: (o: object) => boolean }) | undefined;
    return !!first || (e?.checkVisibility?.({ opacityProperty: true, visibilityProperty: true }) ?? !!e);
  }

  /** Moves paints whose times are as good as they will get into the series. */
  function settle(force: boolean): void {
    const s = stream;
    const now = s._now;
    if (el && !el.isConnected) find();
    page._drain();
    const ready = (f: Frame) => force || f._shown !== undefined || now - f._end > settleTime;
    while (pending[0] && ready(pending[0][0])) {
      const [frame, n] = pending.shift() as [Frame, number];
      s._paint._push(shownAt(frame), n);
      s._touch();
    }
    const over = s._endedAt >= 0;
    if (first && !reported && ready(first) && (sure || over)) {
      reported = true;
      s._firstPaint(shownAt(first), sourceName[first._source ?? 0] ?? 'frame');
      untime();
    }
    if (!stopped && over && page._visible) {
      const quiet = now - changedAt > quietTime;
      if ((quiet && (!changed || !el)) || now - s._endedAt > longestTail) stop();
    }
  }

  /** Asks the browser to time the first text in the element. */
  function time(): void {
    // What was rendered anew, unseen, need not be timed any more.
    if (timed[8]) untime();
    let n: Node | null = el as Node;
    while (n.lastChild) n = n.lastChild;
    for (; n; n = n === el ? null : n.parentNode) {
      if (n.nodeType === 1 && !(n as Element).hasAttribute('elementtiming')) {
        (n as Element).setAttribute('elementtiming', 'fermata');
        timed.push(n as Element);
      }
    }
  }

  function untime(): void {
    for (const e of timed.splice(0)) e.removeAttribute('elementtiming');
  }

  const moved = (t: Target | undefined) => stream.client._safe(() => t && stream.active && move(t));
  stream.client._safe(start);
  moved(begunWith);
  return { move: moved };
}
