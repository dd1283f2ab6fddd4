import { utf8 } from '../core/bytes';
import type { PostResult } from '../core/types';

/**
 * Bytes of bodies that are under way with keepalive. Browsers share 64 KiB out to all of a page's keepalive
 * requests and beacons; the SDK takes at most 60 000.
 */
export interface Budget {
  /** @internal */ _used: number;
}

/** Bytes the SDK's keepalive requests may hold at once. */
export const keepaliveBytes = 60_000;
/** ms after which an unanswered beacon counts as failed. */
const timeout = 30_000;

/**
 * Sends bodies by `fetch`. They are `text/plain` without credentials, so there is no preflight, and keepalive
 * as far as the budget goes. The `fetch` of this moment is used, so later patches of it see none of this.
 */
export function fetchSender(url: string, budget: Budget, send: typeof fetch = globalThis.fetch): (body: string) => Promise<PostResult> {
  return async (body) => {
    const size = utf8(body);
    const keepalive = budget._used + size <= keepaliveBytes;
    if (keepalive) budget._used += size;
    try {
      const init: RequestInit = { method: 'POST', body, keepalive, credentials: 'omit' };
      if (AbortSignal.timeout) init.signal = AbortSignal.timeout(timeout);
      const r = await send.call(globalThis, url, init);
      const out: PostResult = { status: r.status };
      const after = r.headers.get('retry-after');
      if (after) {
        const ms = Number(after) * 1000 || Date.parse(after) - Date.now();
        if (ms >= 0) out.retryAfter = Math.min(ms, 3_600_000);
      }
      // Frees the connection whatever was answered.
      r.body?.cancel().catch(() => {});
      return out;
    } catch {
      return { status: 0 };
    } finally {
      if (keepalive) budget._used -= size;
    }
  };
}
