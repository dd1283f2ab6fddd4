import type { Client } from '../core/client';
import type { Stream } from '../core/stream';
import { BodyReader, formatOf, piecesOf } from '../extract/extract';
import { define, type Tap, tapReadable } from './readable';

type Fetch = typeof fetch;

/**
 * A `fetch` for one stream: same arguments, same `Response` object, same bytes. Called again for the same
 * stream, it is the page's own new try.
 *
 * @param base what it calls. Default: the global `fetch` of the moment of each call
 */
export function wrapFetch(stream: Stream, base?: Fetch): Fetch {
  return ((input: RequestInfo | URL, init?: RequestInit) => fetchFor(stream, base ?? globalThis.fetch, input, init)) as Fetch;
}

/** @internal */
export function fetchFor(stream: Stream, base: Fetch, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { client } = stream;
  const plain = () => base.call(globalThis, input, init);
  if (!stream.active) return plain();
  const ready = client._safe(() => prepare(stream, input, init));
  return (ready ? base.call(globalThis, input, ready._init) : plain()).then(
    (response) => {
      client._safe(() => watchResponse(stream, response));
      return response;
    },
    (error) => {
      client._safe(() => broke(stream, error));
      throw error;
    },
  );
}

function prepare(stream: Stream, input: RequestInfo | URL, init: RequestInit | undefined): { _init: RequestInit | undefined } {
  const request = input as Partial<Request>;
  const headers = new Headers(init?.headers ?? request.headers);
  const given = headers.get('x-request-id');
  if (given) stream.identify(given);
  const trace = /^00-([0-9a-f]{32})-/.exec(headers.get('traceparent') ?? '');
  if (trace) stream.traceId = trace[1];
  const ids = stream.sent(mayPropagate(stream.client, urlOf(input)));
  const signal = init?.signal ?? request.signal;
  if (signal) {
    const onAbort = () => stream.client._safe(() => stream.abort());
    signal.addEventListener('abort', onAbort, { once: true });
    stream._cleanup.push(() => signal.removeEventListener('abort', onAbort));
  }
  if (!ids) return { _init: init };
  if (!given) headers.set('x-request-id', ids.requestId);
  if (!trace) headers.set('traceparent', ids.traceparent);
  return { _init: { ...init, headers } };
}

/** The address of a request. @internal */
export const urlOf = (input: RequestInfo | URL): string => (input as Request).url ?? String(input);

/** Whether ids may go to that address: the page's own origin, or one that the app allowed. @internal */
export function mayPropagate(client: Client, url: string): boolean {
  if (client.options.propagate === false) return false;
  const here = globalThis.location?.href;
  const u = new URL(url, here);
  return (
    u.origin === globalThis.location?.origin ||
    (client.options.propagateTo ?? []).some((p) => (typeof p === 'string' ? u.origin === p.replace(/\/$/, '') : p.test(u.href)))
  );
}

/** A failure's short class. */
function broke(stream: Stream, error: unknown): void {
  const name = (error as { name?: unknown } | null)?.name;
  if (name === 'AbortError') stream.abort();
  else stream.fail(name === 'TimeoutError' ? 'timeout' : 'network');
}

/**
 * Watches the body of a response that the page is about to read, whichever way it reads it. The response
 * stays the same object.
 */
export function watchResponse(stream: Stream, response: Response): Response {
  const get = (name: string) => response.headers.get(name);
  stream.headers(response.status);
  const timing = get('server-timing') ?? '';
  const trace = /traceparent;desc="?00-([0-9a-f]{32})-/.exec(timing);
  if (trace) stream.traceId = trace[1];
  // The server's word on the id wins.
  stream.identify(get('x-request-id') ?? /request[-_]?id;desc="?([\w.:-]+)/i.exec(timing)?.[1]);
  stream.protocol ??= 'fetch';
  const { body } = response;
  const format = formatOf(get);
  // A refused or empty request has no answer; the page may try again.
  if (!response.ok) stream.fail(`http_${response.status}`);
  else if (!body) stream.done();
  if (!response.ok || !body) return response;
  if (format === 'sse') stream.protocol = 'sse';
  const tap = bodyTap(stream, new BodyReader(stream, format));
  tapReadable(body, tap);
  for (const name of ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const) {
    const read = (response as unknown as Record<string, unknown>)[name];
    if (typeof read !== 'function') continue;
    define(response, name, () =>
      (read.call(response) as Promise<unknown>).then(
        (value) => {
          stream.client._safe(() => {
            if (name === 'json') stream.pieces(piecesOf(value, stream.extract));
            else if (value instanceof ArrayBuffer) tap.chunk(new Uint8Array(value));
            else if (name !== 'formData') tap.chunk(value);
          });
          tap.end();
          return value;
        },
        (error) => {
          tap.fail(error);
          throw error;
        },
      ),
    );
  }
  const clone = response.clone.bind(response);
  define(response, 'clone', () => {
    // Some runtimes clone by calling `tee`, which would count everything twice.
    Reflect.deleteProperty(body, 'tee');
    const copy = clone();
    // Cloning gives the response a new body; the first of the two that is read counts.
    if (response.body) stream.client._safe(() => tapReadable(response.body as ReadableStream, tap));
    return copy;
  });
  return response;
}

/** Feeds a reader from a body's chunks and ends the stream with it. @internal */
export function bodyTap(stream: Stream, reader: BodyReader): Tap {
  const safe = (f: () => void) => stream.client._safe(f);
  return {
    chunk: (v) => safe(() => reader._push(v)),
    end: () =>
      safe(() => {
        reader._end();
        stream.done();
      }),
    fail: (e) => safe(() => broke(stream, e)),
    cancel: () => safe(() => stream.abort()),
  };
}
