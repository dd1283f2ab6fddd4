import type { Stream } from '../core/stream';
import { piecesOf } from '../extract/extract';
import { define, passage, type Tap, tapIterator, tapReadable } from './readable';

/**
 * Watches an async iterable of events or text: the `Stream` of the OpenAI client, `textStream` and `fullStream`
 * of the Vercel AI SDK, a generator of the app's own. The same object comes back.
 */
export function watchIterable<T extends AsyncIterable<unknown> | ReadableStream<unknown>>(stream: Stream, source: T): T {
  if (!stream.active) return source;
  const safe = (f: () => void) => stream.client._safe(f);
  const failed = (e: unknown) => ((e as { name?: unknown } | null)?.name === 'AbortError' ? stream.abort() : stream.fail('stream_error'));
  const tap: Tap = {
    chunk: (v) => safe(() => stream.active && stream.pieces(piecesOf(v, stream.extract))),
    end: () => safe(() => stream.done()),
    fail: (e) => safe(() => failed(e)),
    cancel: () => safe(() => stream.abort()),
  };
  return (
    stream.client._safe(() => {
      stream.protocol ??= 'fetch';
      stream._sentEarlier(stream.submitAt);
      if (typeof (source as ReadableStream).getReader === 'function') return tapReadable(source as ReadableStream<unknown>, tap) as T;
      const s = source as AsyncIterable<unknown>;
      const make = s[Symbol.asyncIterator].bind(s);
      const way = passage(tap);
      // A generator is its own iterator: taking it from the method would watch it twice.
      if ((s as unknown as { next?: unknown }).next) tapIterator(s as unknown as AsyncIterator<unknown>, tap, way);
      else define(s, Symbol.asyncIterator, () => tapIterator(make(), tap, way));
      return source;
    }) ?? source
  );
}
