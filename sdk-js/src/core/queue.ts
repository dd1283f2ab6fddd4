import { utf8 } from './bytes';
import type { Client } from './client';
import { us } from './clock';
import type { Stream } from './stream';
import type { PostResult, Transport, WireBeacon, WireStream } from './types';

/** Beacons and bytes kept for another try; beyond it the oldest are lost. */
const maxWaiting = 32;
const maxWaitingBytes = 256 * 1024;
/** Beacons on their way at the same time. */
const maxInFlight = 2;
const maxTries = 5;
/** Bytes of one beacon: two fit into what browsers allow for keepalive requests. */
const maxBeacon = 30_000;
/** Streams that are over and wait for the next beacon. */
const maxEnded = 256;
/** Streams in one beacon. */
const maxStreams = 50;

interface Waiting {
  _body: string;
  /** The same with less in it, for a browser that refuses the whole. */
  _small: (() => string) | undefined;
  _size: number;
  _tries: number;
  _notBefore: number;
  _busy: boolean;
}

interface NetworkInformation {
  rtt?: number;
  effectiveType?: string;
  downlink?: number;
}

/** Turns streams into numbered beacons and sees them out. */
export class Queue {
  /** @internal */ _lost = 0;
  private _waiting: Waiting[] = [];
  private _ended_: Stream[] = [];
  private _seq = 0;
  private _timer: unknown;
  private readonly _flying = new Set<Promise<void>>();

  constructor(
    /** @internal */ readonly _client: Client,
    private readonly _transport: Transport | undefined,
  ) {}

  /** There is something to send: make sure that a flush is due. @internal */
  _wake(ms = this._client.options.flushInterval ?? 1500): void {
    if (this._timer !== undefined || !this._client._allowed) return;
    this._timer = this._client.env.setTimeout(() => {
      this._timer = undefined;
      this._flush(false).catch(this._client._fault);
    }, ms);
  }

  /** @internal */
  _ended(s: Stream): void {
    this._client._streams.delete(s);
    if (!s._wanted()) return;
    if (this._ended_.length < maxEnded) this._ended_.push(s);
    else this._lost++;
    this._wake();
  }

  /** @internal */
  _clear(): void {
    this._waiting = [];
    this._ended_ = [];
    this._client.env.clearTimeout(this._timer);
    this._timer = undefined;
  }

  /** @internal */
  async _flush(force: boolean): Promise<void> {
    this._collect(force);
    this._pump();
    if (this._client._streams.size || this._waiting.length) this._wake();
    while (this._flying.size) await Promise.all(this._flying);
  }

  /** @internal */
  _hide(): void {
    this._collect(true);
    if (!this._client._consented || !this._transport) return;
    // Beacons with their answer still to come were sent with keepalive and go on; their number makes a
    // second delivery harmless should they fail later.
    this._waiting = this._waiting.filter((w) => w._busy || !this._hand(w));
  }

  /** Offers one beacon to the browser, a refused one once more in a smaller shape. */
  private _hand(w: Waiting): boolean {
    const t = this._transport as Transport;
    return t.beacon(w._body) || (!!w._small && t.beacon(w._small()));
  }

  /** Moves what the streams have into beacons. */
  private _collect(force: boolean): void {
    const c = this._client;
    const out: WireStream[] = [];
    const take = (s: Stream) => {
      s._settle?.(force);
      if (!c._consented || !s._wanted() || !(force || s._known())) return;
      for (let seg = s._take(); seg; seg = s._dirty ? s._take() : undefined) out.push(seg);
    };
    for (const s of c._streams) {
      s._catchUp();
      if (s._stale()) s._finish();
    }
    for (const s of c._consented ? this._ended_.splice(0) : []) c._safe(() => take(s));
    for (const s of c._streams) c._safe(() => take(s));
    const max = Math.min(c.options.maxBeaconBytes ?? maxBeacon, maxBeacon);
    let size = 0;
    let part: WireStream[] = [];
    for (const s of out) {
      if (this._lost) s.lost_beacons = this._lost;
      const n = out[1] ? JSON.stringify(s).length : 0;
      if (part.length && (size + n > max || part.length >= maxStreams)) {
        this._add(part);
        part = [];
        size = 0;
      }
      part.push(s);
      size += n;
    }
    if (part.length) this._add(part);
  }

  /** Makes one body of segments. @internal */
  _add(streams: WireStream[]): void {
    const { options, env, sessionId } = this._client;
    const page = options.page ? options.page() : globalThis.location?.pathname;
    const net = (globalThis.navigator as { connection?: NetworkInformation } | undefined)?.connection;
    const beacon: WireBeacon = {
      session_id: sessionId,
      seq: this._seq++,
      app: options.app,
      release: options.release,
      page: page?.slice(0, 500),
      clock: { time_origin: us(env.origin), now: us(env.now()), wall_now: us(env.wall()) },
      connection: net && { rtt: net.rtt, type: net.effectiveType, downlink: net.downlink },
      streams,
    };
    this._enqueue(JSON.stringify(beacon), () => JSON.stringify({ ...beacon, streams: streams.map(shrink) }));
  }

  /** Puts one body in line, and lets go of the oldest beyond what may wait. @internal */
  _enqueue(body: string, small?: () => string): void {
    this._waiting.push({ _body: body, _small: small, _size: utf8(body), _tries: 0, _notBefore: 0, _busy: false });
    let total = this._waiting.reduce((n, w) => n + w._size, 0);
    while (this._waiting.length > maxWaiting || total > maxWaitingBytes) {
      const i = this._waiting.findIndex((w) => !w._busy);
      if (i < 0) break;
      total -= (this._waiting.splice(i, 1)[0] as Waiting)._size;
      this._lost++;
    }
  }

  private _pump(): void {
    if (!this._client._consented) return;
    const now = this._client.env.now();
    for (const w of this._waiting) {
      if (this._flying.size >= maxInFlight || !this._transport) break;
      if (w._busy || w._notBefore > now) continue;
      w._busy = true;
      w._tries++;
      const answer: Promise<void> = this._transport
        .post(w._body)
        .catch(() => ({ status: 0 }))
        .then((r: PostResult) => {
          this._flying.delete(answer);
          this._answered(w, r);
        });
      this._flying.add(answer);
    }
  }

  private _answered(w: Waiting, r: PostResult): void {
    w._busy = false;
    const again = /^(0|408|429|5..)$/.test(String(r.status));
    if (!again || w._tries >= maxTries) {
      // A 400 means that the good items were stored all the same and the rest never will be.
      if (r.status >= 400 ? r.status !== 400 : r.status < 200) this._lost++;
      this._waiting = this._waiting.filter((x) => x !== w);
    } else {
      const { env } = this._client;
      const wait = r.retryAfter ?? Math.min(1000 * 2 ** w._tries, 60_000) * (0.5 + env.random());
      // The collector asked everybody to wait, not only this beacon.
      for (const x of r.retryAfter === undefined ? [w] : this._waiting) x._notBefore = env.now() + wait;
      this._wake(wait);
    }
    if (!again) this._pump();
  }
}

/** What matters most of a stream: its times, what was received and what was painted. */
const shrink = ({ dom: _dom, long_frames: _frames, ...rest }: WireStream): WireStream => rest;
