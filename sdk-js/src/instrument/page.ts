import type { Client } from '../core/client';
import type { Stream } from '../core/stream';

/** One animation frame in which something was drawn; ms since the time origin. */
export interface Frame {
  /** When its animation callbacks ran. @internal */
  _start: number;
  /** When the task after it ran: the page's own work on it is over. @internal */
  _end: number;
  /** When it was on the screen, where the browser told. @internal */
  _shown?: number;
  /** @internal */ _source?: Source;
}

/** The parts of a paint timing entry in use. */
interface PaintEntry extends PerformanceEntry {
  paintTime?: number;
  presentationTime?: number | null;
  renderTime?: number;
  element?: Element | null;
  largestContentfulPaint?: { element?: Element | null };
}

/** Entry types with a presentation time, and which source each is: the best one first. */
const sources = { 'interaction-contentful-paint': 1, element: 2, 'long-animation-frame': 3 } as const;
type Source = 1 | 2 | 3;
/** Frames that may still get their presentation time. */
const openFrames = 128;
/** Frames without a change after which nobody waits for the next one, on pages that draw from animation callbacks. */
const idleFrames = 8;
/** Texts of a stream after which it is known whether the page does. */
const learned = 8;
/** Of frames that take as long as the ones before, one in so many is timed to its end. */
const timedOf = 4;
/** ms by which frames may differ and still take as long as the ones before. */
const alike = 6;
/** ms from the end of a frame's work to the screen beyond which the machine, not the browser's way of working, is the cause. */
const mostDelay = 1000 / 60;

/**
 * What all streams of a page share: its frames, its visibility, its end, and the browser's paint entries. It
 * listens only while there is a stream.
 */
export class Page {
  /** Frames of late, oldest first. @internal */
  readonly _frames: Frame[] = [];
  /** Called after each frame. @internal */
  readonly _onFrame = new Set<(f: Frame) => void>();
  private _pending = false;
  /** Between the animation callbacks and the end of a frame. */
  private _making = false;
  /** The page changes the DOM in its animation callbacks. */
  private _driven = false;
  private _quiet = 0;
  /** Texts until that is known. */
  private _left = learned;
  /** ms that the last timed frame took, and frames since then. */
  private _took = 0;
  private _untimed = timedOf;
  /** ms from the end of a frame's work to the screen, as the browser told of late; 0 where it never tells. @internal */
  _delay = 0;
  private _observers: PerformanceObserver[] = [];
  /** Asking the document each time costs more than to be told. @internal */
  _visible = document.visibilityState === 'visible';

  /** Begins to watch for a client; its `uninstall` ends it. */
  constructor(private readonly _client: Client) {
    _client._page = this;
    for (const s of _client._streams) this._begin(s);
    const off = new AbortController();
    const on = (target: EventTarget, type: string, f: (e: Event) => void) =>
      target.addEventListener(type, (e) => _client._safe(() => f(e)), { capture: true, signal: off.signal });
    on(document, 'visibilitychange', (e) => {
      this._visible = document.visibilityState === 'visible';
      // The event's time is when it happened; a handler may run later.
      for (const s of _client._streams) s._visible(e.timeStamp, this._visible);
      if (this._visible) _client._wake();
      else _client.hide();
    });
    on(globalThis as unknown as EventTarget, 'pagehide', (e) => {
      if (!(e as PageTransitionEvent).persisted) for (const s of [..._client._streams]) s._close(e.timeStamp);
      _client.hide();
    });
    _client.onUninstall(() => {
      _client._page = undefined;
      off.abort();
      this._unobserve();
    });
  }

  /**
   * Text is about to reach the page. Pages that draw from their own animation callbacks change the DOM after ours:
   * ask for the frame before they do. For others that would only cost, so it ends once they are known.
   * @internal
   */
  _arrived(): void {
    if (!this._driven && this._left-- <= 0) return;
    this._untimed = timedOf;
    this._ask();
  }

  /** The DOM has changed: watch the frame that will show it; `exact`: to its end. @internal */
  _request(exact: boolean): void {
    this._driven ||= this._making;
    if (exact) this._untimed = timedOf;
    this._quiet = 0;
    this._ask();
  }

  /** Delivers entries that the browser holds back, so that late frames get their times. @internal */
  _drain(): void {
    for (const o of this._observers) this._entries(o.takeRecords());
  }

  private _ask(): void {
    if (this._pending) return;
    this._pending = true;
    requestAnimationFrame(this._tick);
  }

  private readonly _tick = (): void => {
    const start = this._client.env.now();
    // Where nothing changes the DOM any more in this frame, what it shows is known, and how long it takes likely.
    if (!this._driven && ++this._untimed < timedOf) {
      this._made(start);
      return;
    }
    this._making = true;
    afterFrame(() => {
      const took = this._client.env.now() - start;
      this._untimed = Math.abs(took - this._took) > alike ? timedOf : 0;
      this._took = took;
      this._made(start);
    });
  };

  private _made(start: number): void {
    const frame = { _start: start, _end: start + this._took };
    this._pending = this._making = false;
    this._frames.push(frame);
    if (this._frames.length > openFrames) this._frames.shift();
    for (const f of this._onFrame) this._client._safe(() => f(frame));
    if (this._driven && this._quiet++ < idleFrames && this._client._streams.size) this._ask();
  }

  /** @internal */
  _begin(s: Stream): void {
    s._visible(s.submitAt, this._visible);
    this._left = learned;
    if (!this._observers.length) this._observe();
    // Without interaction entries, the frame after the first change anywhere is the first feedback.
    const changed = new MutationObserver(() => {
      changed.disconnect();
      requestAnimationFrame(() => afterFrame(() => this._client._safe(() => s._feedback(s._now))));
    });
    changed.observe(document, { childList: true, subtree: true, characterData: true });
    s._cleanup.push(() => {
      changed.disconnect();
      // The last stream's cleanup runs while it is still listed.
      if (this._client._streams.size <= 1) this._unobserve();
    });
  }

  private _observe(): void {
    for (const type of Object.keys(sources)) {
      if (!PerformanceObserver.supportedEntryTypes?.includes(type)) continue;
      const o = new PerformanceObserver((l) => this._client._safe(() => this._entries(l.getEntries())));
      // The echo of the question is often painted before the app gets to us.
      o.observe({ type, buffered: true });
      this._observers.push(o);
    }
  }

  private _unobserve(): void {
    for (const o of this._observers.splice(0)) o.disconnect();
  }

  private _entries(list: PerformanceEntry[]): void {
    for (const e of list as PaintEntry[]) {
      const source = sources[e.entryType as keyof typeof sources];
      const shown = e.presentationTime ?? (e.renderTime || undefined);
      const painted = e.paintTime ?? shown;
      for (const s of this._client._streams) {
        if (source > 2) {
          if (e.startTime + e.duration > s.submitAt) s._longFrame(e.startTime, e.duration);
        } else if (source < 2 && shown) {
          s._feedback(shown);
        }
      }
      if (!shown || !painted) continue;
      for (let i = this._frames.length - 1; i >= 0; i--) {
        const f = this._frames[i] as Frame;
        // Both ends are rounded by the browser, and the end may be one that was not timed.
        // A long frame tells its whole length.
        if (source > 2 ? e.startTime + e.duration < f._start : painted > f._end + alike) break;
        if (painted < f._start - 0.2) continue;
        if (!f._source || source < f._source) f._source = source;
        if (!f._shown) {
          f._shown = Math.max(shown, painted);
          this._delay = (this._delay + Math.min(f._shown - f._end, mostDelay)) / 2;
        }
        break;
      }
    }
  }
}

/** Runs f right after the frame that is being made. */
function afterFrame(f: () => void): void {
  const s = (globalThis as { scheduler?: { postTask?: (f: () => void, o: object) => Promise<unknown> } }).scheduler;
  if (s?.postTask) s.postTask(f, { priority: 'user-blocking' });
  else setTimeout(f);
}
