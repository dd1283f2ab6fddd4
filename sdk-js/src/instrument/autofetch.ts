import { formatOf } from '../extract/extract';
import type { Fermata } from '../index';
import { fetchFor, urlOf, watchResponse } from './response';

/**
 * Replaces the global `fetch` and measures every streamed answer, without a call in the page's own code. Other
 * responses and the SDK's own requests pass untouched.
 *
 * @param match requests to measure from their start and to send ids with. Default: none; answers are then known
 *   by the type of their response
 * @returns undoes it; where another script has patched `fetch` since, the patch becomes a plain pass-through
 */
export function instrumentFetch(fermata: Fermata, match?: (url: string) => boolean): () => void {
  const base = globalThis.fetch;
  let on = true;
  const patched = (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const plain = () => base.call(globalThis, input, init);
    if (!on) return plain();
    const at = fermata.env.now();
    const url = fermata._safe(() => urlOf(input)) ?? '';
    if (fermata.isOwn(url)) return plain();
    if (fermata._safe(() => match?.(url))) {
      const s = fermata._safe(() => fermata._claim(url));
      return s ? fetchFor(s, base, input, init) : plain();
    }
    return plain().then((response) => {
      fermata._safe(() => {
        const format = formatOf((n) => response.headers.get(n));
        if (!response.ok || (format !== 'sse' && format !== 'ndjson' && format !== 'data-stream')) return;
        const s = fermata._claim(url);
        if (!s.active) return;
        s._sentEarlier(at);
        watchResponse(s, response);
      });
      return response;
    });
  };
  globalThis.fetch = patched as typeof fetch;
  const undo = () => {
    on = false;
    if (globalThis.fetch === patched) globalThis.fetch = base;
  };
  fermata.onUninstall(undo);
  return undo;
}
