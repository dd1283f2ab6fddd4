import { Stream } from './core/stream';
import type { StreamOptions } from './core/types';
import type { Page } from './instrument/page';
import { type Observation, type ObserveOptions, observeElement, type Target } from './instrument/paint';
import { fetchFor, watchResponse } from './instrument/response';

/** What is known when the user asks. */
export interface AnswerOptions extends StreamOptions, ObserveOptions {
  /** Where the answer will stand. Default: not observed until {@link Answer.observe}. */
  element?: Target;
}

/**
 * One answer, begun by {@link Fermata.submit}, from the user's question to the last paint. Everything it wraps passes
 * through unchanged: same objects, same bytes, same order. For an `EventSource`, a `WebSocket` or an async iterable pass it to
 * `watchEventSource`, `watchWebSocket` or `watchIterable`.
 */
export class Answer extends Stream {
  private _observation: Observation | undefined;

  /** `fetch` for this answer. A second call is a new try of the same question. */
  readonly fetch: typeof globalThis.fetch = (input, init) => fetchFor(this, globalThis.fetch, input, init);

  /** Watches a response that was fetched elsewhere. */
  response(response: Response): Response {
    this.client._safe(() => watchResponse(this, response));
    return response;
  }

  /** Says where the answer stands, or will stand. A second call says that it goes on somewhere else. */
  observe(target: Target): void {
    this._observation?.move(target);
  }

  /** @internal */
  _watch(page: Page, options: AnswerOptions): void {
    this._observation = observeElement(this, page, options.element, options);
  }
}
