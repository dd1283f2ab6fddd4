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
  const go = (i: RequestInit | undefined) => base.call(globalThis, input, i);
  if (!stream.active) return go(init);
  return go(client._safe(() => prepare(stream, input, init)) ?? init).then(
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

/** What the request is sent with, where that differs from what the page gave. */
function prepare(stream: Stream, input: RequestInfo | URL, init: RequestInit | undefined): RequestInit | undefined {
  const request = input as Partial<Request>;
  const headers = new Headers(init?.headers ?? request.headers);
  const given = headers.get('x-request-id');
  if (given) stream.identify(given);
  const trace = traced(stream, headers.get('traceparent'));
  const ids = stream.sent(mayPropagate(stream.client, urlOf(input)));
  const signal = init?.signal ?? request.signal;
  if (signal) {
    const stop = () => stream.abort();
    signal.addEventListener('abort', stop);
    // Pages share one signal between many requests.
    stream._cleanup.push(() => signal.removeEventListener('abort', stop));
  }
  if (!ids) return;
  if (!given) headers.set('x-request-id', ids.requestId);
  if (!trace) headers.set('traceparent', ids.traceparent);
  return { ...init, headers };
}

/** Takes the trace id out of a `traceparent`, or a `Server-Timing` with one. */
function traced(stream: Stream, header: string | null): boolean {
  const id = /(?:^|traceparent;desc="?)00-([0-9a-f]{32})-/.exec(header ?? '')?.[1];
  if (id) stream.traceId = id;
  return !!id;
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
  if (!stream.active) return response;
  const get = (name: string) => response.headers.get(name);
  stream.headers(response.status);
  const timing = get('server-timing') ?? '';
  traced(stream, timing);
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
    const read = (response as unknown as Record<string, (() => Promise<unknown>) | undefined>)[name];
    if (!read) continue;
    define(response, name, () =>
      read.call(response).then(
        (value) => {
          stream.client._safe(() => {
            if (name === 'json') stream.pieces(piecesOf(value, stream.extract));
            else if (value instanceof ArrayBuffer) tap.chunk(new Uint8Array(value));
            else tap.chunk(value);
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
    delete (body as { tee?: unknown }).tee;
    const copy = clone();
    // Cloning gives the response a new body; the first of the two that is read counts.
    if (response.body) stream.client._safe(() => tapReadable(response.body as ReadableStream, tap));
    return copy;
  });
  return response;
}

/** Feeds a reader from a body's chunks and ends the stream with it. @internal */
export function bodyTap(stream: Stream, reader: BodyReader): Tap {
  const { client } = stream;
  const safe = (f: () => void) => client._safe(f);
  const push = (v: unknown) => reader._push(v);
  return {
    chunk: (v) =>
      safe(() => {
        if (!stream.active) return;
        // The page may write over its bytes. A Buffer's own slice would share them.
        stream._defer(push, v instanceof Uint8Array ? new Uint8Array(v) : v);
        // What stood on the page before the answer is read before its first text gets there.
        if (stream._contentAt < 0) stream._catchUp();
        client._page?._arrived();
      }),
    end: () =>
      safe(() => {
        stream._catchUp();
        reader._end();
        stream.done();
      }),
    fail: (e) => safe(() => broke(stream, e)),
    cancel: () => safe(() => stream.abort()),
  };
}
