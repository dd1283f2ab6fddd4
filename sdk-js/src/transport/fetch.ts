import { utf8 } from '../core/bytes';
import type { PostResult } from '../core/types';

/**
 * Bytes of bodies that may be under way with keepalive. Browsers share 64 KiB out to all of a page's keepalive
 * requests and beacons.
 */
const keepaliveBytes = 60_000;
/** ms after which an unanswered beacon counts as failed. */
const timeout = 30_000;

/**
 * Sends bodies by `fetch`. They are `text/plain` without credentials, so there is no preflight, and keepalive
 * as far as the budget goes. The `fetch` of this moment is used, so later patches of it see none of this.
 */
export function fetchSender(url: string, send: typeof fetch = globalThis.fetch): (body: string) => Promise<PostResult> {
  let used = 0;
  return async (body) => {
    const size = utf8(body);
    const keepalive = used + size <= keepaliveBytes;
    if (keepalive) used += size;
    try {
      // Browsers without the timeout have one of their own.
      const signal = AbortSignal.timeout?.(timeout);
      const r = await send.call(globalThis, url, { method: 'POST', body, keepalive, credentials: 'omit', signal });
      const out: PostResult = { status: r.status };
      const after = Number(r.headers.get('retry-after'));
      if (after) out.retryAfter = Math.min(after, 3600) * 1000;
      // Frees the connection whatever was answered.
      r.body?.cancel().catch(() => {});
      return out;
    } catch {
      return { status: 0 };
    } finally {
      if (keepalive) used -= size;
    }
  };
}
