import { utf8 } from './bytes';
import type { Client } from './client';
import { us } from './clock';
import { BadWatch } from './sampling';
import { Series } from './series';
import { hexId, validId } from './session';
import type { Extract, Kind, PaintSource, Piece, Protocol, StreamOptions, WireStream } from './types';

/** Entries of each list (visibility, long frames, retractions) kept for one segment. */
const listCap = 256;
/** Entries of each series in one segment; more go into the next one. */
const segmentCap = 700;
/** ms that a stream which failed before its first text waits for the page's own second try. */
const retryGrace = 10_000;
/** Things put off after which they are done, in threes. */
const laterCap = 3 * 192;
/** ms of silence after which a stream that nobody ended is given up. */
const abandoned = 600_000;
/** ms after which a silent stream sends a segment all the same, so that an open stall is known to last. */
const heartbeat = 5000;

/**
 * One answer on its way to the user. Instruments write into it, the client's queue takes segments out of it.
 * All times are ms since the time origin (`performance.now()`); none of the methods throws.
 */
export class Stream {
  /** Joins this stream with the servers' records; undefined while not known. */
  requestId: string | undefined;
  /** 32 hex digits sent in `traceparent`; undefined when none was sent. */
  traceId: string | undefined;
  /** The app's extractor, if any. */
  readonly extract: Extract | undefined;
  /** When the user asked. */
  readonly submitAt: number;
  /** How the answer comes; set by the instrument. */
  protocol: Protocol | undefined;
  /** What the answer is, `text`, `markdown`, …; `raw` when only transport bytes could be counted. */
  contentKind: string | undefined;

  /** @internal */ _recv = new Series();
  /** @internal */ _dom = new Series();
  /** @internal */ _paint = new Series();
  /** @internal */ _fields: Partial<WireStream>;
  /** Something to send. @internal */
  _dirty = true;
  /** Nothing more will come. @internal */
  _final = false;
  /** When done, failed or aborted; -1 while it runs. @internal */
  _endedAt = -1;
  /** Sampled in. @internal */
  _keep: boolean;
  /** @internal */ _bad: BadWatch;
  /** The terminal event of the format was seen: closing after it is no abort. @internal */
  _sawDone = false;
  /** First content at ms; -1: none yet. @internal */
  _contentAt = -1;
  /** Receives each piece of generated text, in memory only. @internal */
  _onText: ((text: string, kind: Kind) => void) | undefined;
  /** Moves what has settled into the series; all of it when forced. @internal */
  _settle: ((force: boolean) => void) | undefined;
  /** Instruments that still watch after the end. @internal */
  _holds = 0;
  /** Run when the stream is over for good. @internal */
  _cleanup: (() => void)[] = [];

  /** What was put off, in threes: what to do, with what, when it happened. */
  private _later: unknown[] = [];
  /** When that happened which is being caught up with. */
  private _then: number | undefined;
  private _seq = 0;
  private _bytes = 0;
  private _sentAt = -1;
  private _hiddenSince = -1;
  private _visibility: [number, 'visible' | 'hidden'][] = [];
  private _frames: [number, number][] = [];
  private _retractions: [number, number][] = [];
  private _timer: unknown;
  private _takenAt: number;
  private _activeAt: number;

  /** Use {@link Client.stream}. */
  constructor(
    /** The client it belongs to. */
    readonly client: Client,
    options: StreamOptions = {},
  ) {
    const now = client.env.now();
    this.submitAt = Math.max(Math.min(options.submitAt ?? now, now), 0);
    this.requestId = validId(options.requestId) ? options.requestId : undefined;
    this.extract = options.extract;
    this.contentKind = options.contentKind;
    this._fields = { submit_at: us(this.submitAt), query_type: options.queryType };
    this._keep = client.env.random() < client._sampleRate;
    this._bad = new BadWatch(client._badLimits, this.submitAt);
    this._takenAt = this._activeAt = now;
  }

  /** ms since the time origin; for what was put off, the time at which it happened. @internal */
  get _now(): number {
    return this._then ?? this.client.env.now();
  }

  /** False when nothing is measured: no consent, too many streams, or over. */
  get active(): boolean {
    return !this._final && this.client._allowed;
  }

  /**
   * The request leaves now. A second call after a failure is the page's own new try of the same question.
   *
   * @param send whether ids may be sent along; they are made when there are none yet
   * @returns ids for `X-Request-Id` and `traceparent`
   */
  sent(send: boolean): { requestId: string; traceparent: string } | undefined {
    this._catchUp();
    if (!this.active) return undefined;
    const f = this._fields;
    if (this._sentAt >= 0) {
      f.attempt = (f.attempt ?? 1) + 1;
      f.error = f.done_at = f.closed_at = f.headers_at = undefined;
      this._endedAt = -1;
      this._sawDone = false;
      this.client.env.clearTimeout(this._timer);
    }
    this._sentAt = this._now;
    f.request_sent_at = us(this._sentAt);
    this._touch();
    if (!send) return undefined;
    this.traceId ??= hexId(this.client.env, 32);
    this.requestId ??= this.traceId;
    return { requestId: this.requestId, traceparent: `00-${this.traceId}-${hexId(this.client.env, 16)}-01` };
  }

  /** The request left at t ms, before this stream existed. @internal */
  _sentEarlier(t: number): void {
    this._sentAt = t;
    this._fields.request_sent_at ??= us(t);
  }

  /** The response's headers are here. */
  headers(status: number): void {
    if (!this.active) return;
    this._fields.headers_at = us(this._now);
    if (status >= 400) this._fields.error = `http_${status}`;
    this._touch();
  }

  /**
   * Tells the request id that the server uses. Of two ids one becomes an alias: ours, or the server's where a
   * segment has already gone out under ours. Anything but an id is ignored.
   */
  identify(id: unknown): void {
    const { requestId } = this;
    if (!validId(id) || id === requestId) return;
    if (requestId) this._fields.aliases = [...(this._fields.aliases ?? []), this._seq ? id : requestId].slice(-8);
    if (!requestId || !this._seq) this.requestId = id;
    this._touch();
  }

  /**
   * Puts off what need not be done the moment it happens: at once for many chunks it costs a fraction. Whatever
   * depends on it calls {@link _catchUp} first.
   *
   * @internal
   */
  _defer<T>(f: (value: T) => void, value: T): void {
    if (this._later.push(f, value, this._now) >= laterCap) this._catchUp();
  }

  /** Does what was put off, in its order. @internal */
  _catchUp(): void {
    if (this._then !== undefined) return;
    const list = this._later.splice(0);
    for (let i = 0; i < list.length; i += 3) {
      this._then = list[i + 2] as number;
      this.client._safe(() => (list[i] as (value: unknown) => void)(list[i + 1]));
    }
    this._then = undefined;
  }

  /** Pieces of one delivered event. `t` is ms, default now. */
  pieces(list: Piece[], t = this._now): void {
    this._catchUp();
    if (!this.active) return;
    for (const p of list) {
      const text = p.text ?? '';
      this.chunk(p.kind, utf8(text), t);
      if (text) this._onText?.(text, p.kind);
      if (p.finish) this._fields.finish_reason = p.finish.slice(0, 100);
      if (p.id) this._fields.response_id ??= p.id.slice(0, 200);
      if (p.kind === 'done') this._sawDone = true;
      if (p.kind === 'error' && !p.broken) this._fields.error ??= 'stream_error';
    }
  }

  /** One delivered chunk of so many bytes of generated text; 0 for kinds that carry none. */
  chunk(kind: Kind, bytes: number, t = this._now): void {
    if (!this.active) return;
    if (bytes) {
      this._bytes += bytes;
      if (this._contentAt < 0 && kind !== 'reasoning' && kind !== 'tool') this._contentAt = t;
      this._bad._text(t, this._hiddenSince < 0);
      if (this._then === undefined) this.client._page?._arrived();
    }
    this._recv._push(t, bytes, kind);
    this._touch();
  }

  /** The answer is complete. */
  done(): void {
    this._catchUp();
    if (!this.active || this._endedAt >= 0) return;
    this._end('done_at');
  }

  /** The user, or the page for the user, gave up. After the terminal event it is the normal end. */
  abort(): void {
    this._catchUp();
    if (!this.active || this._endedAt >= 0) return;
    if (!this._sawDone) this._bad._bad = true;
    this._end(this._sawDone ? 'done_at' : 'aborted_at');
  }

  /** It broke. `kind` is a short class, never a message. */
  fail(kind: string): void {
    this._catchUp();
    if (!this.active || this._endedAt >= 0) return;
    this._fields.error = kind.slice(0, 64);
    this._end('closed_at');
  }

  /** The transport connected again by itself. */
  reconnected(): void {
    if (!this.active) return;
    this._fields.reconnects = (this._fields.reconnects ?? 0) + 1;
    this._bad._bad = true;
    this._touch();
  }

  /** First visible reaction to the question, in ms. The earliest one counts. @internal */
  _feedback(t: number): void {
    const f = this._fields;
    if (t >= this.submitAt && !((f.first_feedback_at as number) <= us(t))) {
      f.first_feedback_at = us(t);
      this._touch();
    }
  }

  /** @internal */
  _firstPaint(t: number, source: PaintSource): void {
    this._fields.first_meaningful_paint_at = us(t);
    this._fields.paint_source = source;
    if (t - this.submitAt > this.client._badLimits.firstText) this._bad._bad = true;
    this._feedback(t);
    this._touch();
  }

  /** @internal */
  _retracted(t: number, bytes: number): void {
    this._bad._bad = true;
    this._list(this._retractions, [us(t), bytes]);
  }

  /** @internal */
  _visible(t: number, visible: boolean): void {
    this._catchUp();
    this._hiddenSince = visible ? -1 : t;
    this._list(this._visibility, [us(Math.max(t, 0)), visible ? 'visible' : 'hidden']);
  }

  /** @internal */
  _longFrame(t: number, dur: number): void {
    this._list(this._frames, [us(t), us(dur)]);
  }

  /** Holds the end back until an instrument has seen what comes after it. @internal */
  _release(): void {
    this._holds--;
    if (this._endedAt >= 0) this._finish();
  }

  /** The page goes away for good at t ms. @internal */
  _close(t: number): void {
    this._fields.closed_at ??= us(t);
    this._finish();
  }

  /** Nothing more will come: flush the rest. @internal */
  _finish(): void {
    this._catchUp();
    if (this._final) return;
    this._dirty = true;
    this._stop();
    this.client._over(this);
  }

  /** Measures no more, without a last word; what was put off is forgotten. @internal */
  _stop(): void {
    this._final = true;
    this._later = [];
    this.client.env.clearTimeout(this._timer);
    for (const f of this._cleanup.splice(0)) this.client._safe(f);
  }

  /** It failed before its first text, so that a further request may be for the same question. @internal */
  _mayRetry(): boolean {
    return this._fields.error !== undefined && !this._bytes;
  }

  /** Nobody will end it any more. @internal */
  _stale(): boolean {
    return this._now - this._activeAt > abandoned;
  }

  /** Its id is settled, or there is no sense in waiting for it: all segments of a stream should bear the same one. @internal */
  _known(): boolean {
    const { headers_at, request_sent_at } = this._fields;
    return !!(this._seq || headers_at || this._final || this._bytes || (request_sent_at && this.requestId) || this._bad._bad);
  }

  /** Whether it is to be sent: sampled in, or bad by now. @internal */
  _wanted(): boolean {
    if (this._endedAt < 0 && !this._final) this._bad._open(this._now, this._hiddenSince < 0);
    return this._keep || this._isBad;
  }

  private get _isBad(): boolean {
    return this._bad._bad || !!this._fields.error;
  }

  /** Takes the next segment; undefined when there is nothing new. @internal */
  _take(): WireStream | undefined {
    const now = this._now;
    if (!this._dirty && (this._final || now - this._takenAt < heartbeat)) return undefined;
    this._takenAt = now;
    const { _recv, _dom, _paint } = this;
    const rate = this.client._sampleRate;
    const part = (x: Series) => x._take(segmentCap);
    const list = <T>(l: T[]) => (l[0] ? l.splice(0) : undefined);
    const [recv, dom, paint] = [part(_recv), part(_dom), part(_paint)];
    this._dirty = _recv._length + _dom._length + _paint._length > 0;
    // What is undefined is no part of the JSON.
    return {
      ...this._fields,
      request_id: this.requestId,
      trace_id: this.traceId,
      seq: this._seq++,
      final: this._final && !this._dirty,
      // Bad ones are all sent, so each stands for itself.
      sample_weight: rate < 1 ? (this._isBad ? 1 : Math.min(1 / rate, 1e4)) : undefined,
      protocol: this.protocol,
      content_kind: this.contentKind,
      bytes_total: this._bytes || undefined,
      recv,
      dom,
      paint,
      visibility: list(this._visibility),
      long_frames: list(this._frames),
      retractions: list(this._retractions),
    };
  }

  private _end(at: 'done_at' | 'aborted_at' | 'closed_at'): void {
    this._endedAt = this._now;
    this._fields[at] = us(this._endedAt);
    this._touch();
    if (this._fields.error && !this._bytes) {
      this._timer = this.client.env.setTimeout(() => this._finish(), retryGrace);
    } else if (this._holds <= 0) {
      this._finish();
    }
  }

  private _list<T>(list: T[], entry: T): void {
    if (list.length < listCap) list.push(entry);
    this._touch();
  }

  /** @internal */
  _touch(): void {
    this._dirty = true;
    this._activeAt = this._now;
    this.client._wake();
  }
}
