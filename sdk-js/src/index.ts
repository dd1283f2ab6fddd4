import { Answer, type AnswerOptions } from './answer';
import { Client } from './core/client';
import type { ClientOptions } from './core/types';
import { Page } from './instrument/page';
import { urlOf } from './instrument/response';
import { browserTransport } from './transport/index';

export { Answer, type AnswerOptions } from './answer';
export { Client } from './core/client';
export { Stream } from './core/stream';
export type * from './core/types';
export type { ObserveOptions, Target } from './instrument/paint';

/** Settings of {@link init}. */
export interface InitOptions extends ClientOptions {
  /** What every answer starts with, unless {@link Fermata.submit} says otherwise. */
  defaults?: AnswerOptions;
}

/** ms for which a submitted answer waits for its request, and a failed one for the next try. */
const claimTime = 30_000;

/** Measures the streamed answers of one page. */
export class Fermata extends Client {
  /** @internal */
  override _page: Page | undefined;
  private _current: Answer | undefined;
  private _currentUrl: string | undefined;
  private readonly _defaults: AnswerOptions;

  constructor(options: InitOptions) {
    super({ transport: browserTransport(options), ...options });
    this._defaults = options.defaults ?? {};
    // Where there is no document, as in a worker, everything but paint works.
    if (typeof document !== 'undefined') this._safe(() => new Page(this));
  }

  /** The user has asked: begins an answer. Call it in the handler of the click or key. */
  submit(options: AnswerOptions = {}): Answer {
    const all = { submitAt: eventTime(), ...this._defaults, ...options } as AnswerOptions;
    const a = this._start(new Answer(this, all));
    if (this._page && a.active) a._watch(this._page, all);
    this._current = a;
    this._currentUrl = undefined;
    return a;
  }

  /** The answer begun last; undefined before the first. */
  get current(): Answer | undefined {
    return this._current;
  }

  /**
   * `fetch` for clients that take one as a setting, such as `new OpenAI({ fetch: fermata.fetch })`. Each call is
   * an answer of its own, or the one begun by the last {@link submit}; a repeated call after a failure is a new
   * try of it.
   */
  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const url = this._safe(() => urlOf(input)) ?? '';
    if (this.isOwn(url)) return globalThis.fetch(input, init);
    return this._claim(url).fetch(input, init);
  };

  /** The answer that a request to `url` belongs to. @internal */
  _claim(url: string): Answer {
    const a = this._current;
    if (a?.active && this.env.now() - a.submitAt < claimTime) {
      const fresh = this._currentUrl === undefined;
      if (fresh || (this._currentUrl === url && a._mayRetry())) {
        this._currentUrl = url;
        return a;
      }
    }
    const next = this.submit();
    this._currentUrl = url;
    return next;
  }
}

/** Starts measuring. */
export function init(options: InitOptions): Fermata {
  return new Fermata(options);
}

/** Time of the user interface event that is being handled right now. */
function eventTime(): number | undefined {
  const e = (globalThis as { event?: { timeStamp?: number; type?: string } }).event;
  return e?.timeStamp && /click|key|submit|pointer|input|change/.test(e.type ?? '') ? e.timeStamp : undefined;
}
