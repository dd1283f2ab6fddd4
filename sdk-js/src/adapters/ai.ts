import type { Stream } from '../core/stream';
import { watchIterable } from '../instrument/iterable';
import { define } from '../instrument/readable';

/** The parts of a `streamText` result in use. */
export interface StreamTextLike {
  readonly textStream: AsyncIterable<string> & ReadableStream<string>;
  readonly fullStream: AsyncIterable<unknown> & ReadableStream<unknown>;
}

/**
 * Watches the result of the Vercel AI SDK's `streamText`, whichever of its streams is read first. The same result
 * comes back. For `useChat` pass `fetch` to the transport instead:
 * `new DefaultChatTransport({ fetch: fermata.fetch })`.
 */
export function observeStreamText<R extends StreamTextLike>(stream: Stream, result: R): R {
  stream.client._safe(() => {
    let taken = false;
    for (const name of ['textStream', 'fullStream'] as const) {
      const proto = descriptor(result, name);
      Object.defineProperty(result, name, {
        configurable: true,
        get() {
          const s = proto?.get ? proto.get.call(result) : proto?.value;
          if (taken || !s) return s;
          taken = true;
          return watchIterable(stream, s);
        },
      });
    }
    if ('toUIMessageStream' in result) {
      const make = (result.toUIMessageStream as (...a: unknown[]) => ReadableStream<unknown>).bind(result);
      define(result, 'toUIMessageStream', (...a: unknown[]) => {
        const s = make(...a);
        if (taken) return s;
        taken = true;
        return watchIterable(stream, s);
      });
    }
  });
  return result;
}

function descriptor(o: object, name: string): PropertyDescriptor | undefined {
  for (let p: object | null = o; p; p = Object.getPrototypeOf(p)) {
    const d = Object.getOwnPropertyDescriptor(p, name);
    if (d) return d;
  }
  return undefined;
}
