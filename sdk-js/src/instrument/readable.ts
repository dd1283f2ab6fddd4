/** What passes by. None of the functions may throw. */
export interface Tap {
  /** One chunk was given to the page. */
  chunk(value: unknown): void;
  /** The source is at its end. */
  end(): void;
  /** Reading failed. */
  fail(reason: unknown): void;
  /** The page stopped reading. */
  cancel(): void;
}

type Reader = ReadableStreamDefaultReader<unknown>;
type Stream = ReadableStream<unknown>;

/**
 * Watches a stream by replacing the ways to read it on this one object. Nothing is copied: the page gets the
 * very chunks, promises settle in the same order, and back pressure stays the page's. Only `pipeThrough`,
 * `pipeTo` and `tee`, which read inside the browser, go through one more hop.
 */
export function tapReadable<T extends Stream>(stream: T, tap: Tap): T {
  const s = stream as Stream;
  const getReader = s.getReader.bind(s) as (o?: ReadableStreamGetReaderOptions) => Reader;
  const cancel = s.cancel.bind(s);
  const iterate = (s as { values?: Stream['values'] }).values?.bind(s);
  let over = false;
  const once = (f: () => void) => {
    if (!over) {
      over = true;
      f();
    }
  };
  const see = (r: { done?: boolean | undefined; value?: unknown }) => {
    if (r.done) once(() => tap.end());
    else if (!over) tap.chunk(r.value);
  };

  const watched = (o?: ReadableStreamGetReaderOptions): Reader => {
    const reader = getReader(o);
    const read = reader.read.bind(reader) as (view?: unknown) => Promise<ReadableStreamReadResult<unknown>>;
    const stop = reader.cancel.bind(reader);
    define(reader, 'read', (...a: [unknown?]) =>
      read(...a).then(
        (r) => {
          see(r);
          return r;
        },
        (e) => {
          once(() => tap.fail(e));
          throw e;
        },
      ),
    );
    define(reader, 'cancel', (reason?: unknown) => {
      once(() => tap.cancel());
      return stop(reason);
    });
    return reader;
  };

  /** The same chunks as a new stream, pulled one by one. */
  const relay = (): Stream => {
    const reader = watched();
    return new ReadableStream<unknown>(
      {
        pull: (c) => reader.read().then((r) => (r.done ? c.close() : c.enqueue(r.value))),
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  };

  define(s, 'getReader', watched);
  define(s, 'cancel', (reason?: unknown) => {
    if (!s.locked) once(() => tap.cancel());
    return cancel(reason);
  });
  define(s, 'pipeThrough', (pair: ReadableWritablePair<unknown, unknown>, o?: StreamPipeOptions) => relay().pipeThrough(pair, o));
  define(s, 'pipeTo', (to: WritableStream<unknown>, o?: StreamPipeOptions) => relay().pipeTo(to, o));
  define(s, 'tee', () => relay().tee());
  if (iterate) {
    const values = (o?: ReadableStreamIteratorOptions) => tapIterator(iterate(o) as AsyncIterator<unknown>, tap, once, see);
    define(s, 'values', values);
    define(s, Symbol.asyncIterator, values);
  }
  return stream;
}

/** Watches an iterator in place. @internal */
export function tapIterator<I extends AsyncIterator<unknown>>(
  it: I,
  tap: Tap,
  once: (f: () => void) => void,
  see: (r: IteratorResult<unknown>) => void,
): I {
  const next = it.next.bind(it);
  const back = it.return?.bind(it);
  define(it, 'next', (...a: [] | [unknown]) =>
    next(...a).then(
      (r) => {
        see(r);
        return r;
      },
      (e) => {
        once(() => tap.fail(e));
        throw e;
      },
    ),
  );
  if (back) {
    define(it, 'return', (v?: unknown) => {
      once(() => tap.cancel());
      return back(v);
    });
  }
  return it;
}

/** Puts an own property on one object; the result takes it away, unless somebody has replaced it since. @internal */
export function define(target: object, name: PropertyKey, value: unknown): () => void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
  return () => {
    if ((target as Record<PropertyKey, unknown>)[name] === value) delete (target as Record<PropertyKey, unknown>)[name];
  };
}
