import { platformEnv } from './clock';
import { Queue } from './queue';
import { defaultBad } from './sampling';
import { hexId } from './session';
import { Stream } from './stream';
import type { BadLimits, ClientOptions, Env, StreamOptions } from './types';

/** Owns the streams of one page load, its session and its way out. Holds nothing global. */
export class Client {
  /** Surroundings in use. */
  readonly env: Env;
  /**
   * Id of the session. A session is one page load: it has one time origin, which is what the collector aligns clocks
   * by, and beacon numbers that start at 0. Nothing is stored in the browser.
   */
  readonly sessionId: string;
  /** Settings as given. */
  readonly options: ClientOptions;

  /** Streams that are not over yet. @internal */
  readonly _streams = new Set<Stream>();
  /** Measuring is allowed. @internal */
  _allowed: boolean;
  /** Sending is allowed. @internal */
  _consented: boolean;
  /** @internal */ readonly _sampleRate: number;
  /** @internal */ readonly _badLimits: BadLimits;
  /** What watches the page, if anything: told when a stream begins, and of text before the page gets it. @internal */
  _page: { _begin(s: Stream): void; _arrived(): void } | undefined;
  /** @internal */ readonly _queue: Queue;

  private readonly _uninstalls: (() => void)[] = [];

  constructor(options: ClientOptions) {
    this.options = options;
    this.env = options.env ?? platformEnv();
    this.sessionId = hexId(this.env, 32);
    this._allowed = options.consent !== false;
    this._consented = this._allowed && options.consent !== 'pending';
    this._sampleRate = options.sampleRate ?? 1;
    this._badLimits = { ...defaultBad, ...options.bad };
    this._queue = this._newQueue();
  }

  /** Begins the measurement of one answer. Call it in the handler of the user's action. */
  stream(options: StreamOptions = {}): Stream {
    return this._start(new Stream(this, options));
  }

  /** Consent given (true) or withdrawn (false: what is not sent yet is thrown away and measuring stops). */
  setConsent(given: boolean): void {
    this._allowed = this._consented = given;
    if (given) {
      this._wake();
    } else {
      for (const s of this._streams) {
        s._stop();
        this._streams.delete(s);
      }
      this._queue._clear();
    }
  }

  /** Sends what there is now; settles when every beacon was answered or given up. Never rejects. */
  flush(): Promise<void> {
    return this._queue._flush(true).catch(this._fault);
  }

  /** The page may go away any moment: hands everything to the browser. Called by the page instrument. */
  hide(): void {
    this._safe(() => this._queue._hide());
  }

  /** Ends all streams, removes every listener and patch, sends the rest. */
  uninstall(): Promise<void> {
    for (const f of this._uninstalls.splice(0)) this._safe(f);
    for (const s of this._streams) s._finish();
    return this.flush();
  }

  /** Registers what {@link uninstall} undoes. */
  onUninstall(f: () => void): void {
    this._uninstalls.push(f);
  }

  /** True for the SDK's own requests. */
  isOwn(url: string): boolean {
    return url.startsWith((this.options.url.split('?') as [string])[0]);
  }

  /** Beacons known to be lost so far. */
  get lostBeacons(): number {
    return this._queue._lost;
  }

  /** @internal */
  _newQueue(): Queue {
    return new Queue(this, this.options.transport);
  }

  /** @internal */
  _start<S extends Stream>(s: S): S {
    if (!this._allowed || this._streams.size >= (this.options.maxStreams ?? 32)) {
      s._final = true;
    } else {
      this._streams.add(s);
      this._safe(() => this._page?._begin(s));
      this._wake();
    }
    return s;
  }

  /** Runs f; a fault goes to `onError`, never to the page. @internal */
  _safe<T>(f: () => T): T | undefined {
    try {
      return f();
    } catch (e) {
      return this._fault(e);
    }
  }

  /** @internal */
  readonly _fault = (e: unknown): undefined => {
    try {
      this.options.onError?.(e);
    } catch {
      // The app's own handler failed; there is nobody left to tell.
    }
  };

  /** @internal */
  _wake(): void {
    this._queue._wake();
  }

  /** @internal */
  _over(s: Stream): void {
    this._queue._ended(s);
  }
}
