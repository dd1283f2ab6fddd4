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

type Result = { done?: boolean | undefined; value?: unknown };

/** What every read of one source goes through: seen by the tap, then handed on as it is. @internal */
export function passage(tap: Tap) {
  let over = false;
  /** For what ends the stream: the first counts. */
  const once = (f: () => void) => {
    if (!over) {
      over = true;
      f();
    }
  };
  const see = <R extends Result>(r: R): R => {
    if (r.done) once(() => tap.end());
    else if (!over) tap.chunk(r.value);
    return r;
  };
  const broke = (e: unknown): never => {
    once(() => tap.fail(e));
    throw e;
  };
  return {
    _once: once,
    // A promise of its own: one that fails and that the page does not look at stays unhandled.
    _watch: <R extends Result>(p: Promise<R>): Promise<R> => p.then<R, never>(see, broke),
  };
}

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
  const way = passage(tap);
  const once = way._once;

  const watched = (o?: ReadableStreamGetReaderOptions): Reader => {
    const reader = getReader(o);
    const read = reader.read.bind(reader) as (view?: unknown) => Promise<ReadableStreamReadResult<unknown>>;
    const stop = reader.cancel.bind(reader);
    define(reader, 'read', (...a: [unknown?]) => way._watch(read(...a)));
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
  for (const name of ['pipeThrough', 'pipeTo', 'tee']) {
    define(s, name, (...a: unknown[]) => (relay() as unknown as Record<string, (...a: unknown[]) => unknown>)[name]?.(...a));
  }
  if (iterate) {
    const values = (o?: ReadableStreamIteratorOptions) => tapIterator(iterate(o) as AsyncIterator<unknown>, tap, way);
    define(s, 'values', values);
    define(s, Symbol.asyncIterator, values);
  }
  return stream;
}

/** Watches an iterator in place. @internal */
export function tapIterator<I extends AsyncIterator<unknown>>(it: I, tap: Tap, way: ReturnType<typeof passage>): I {
  const next = it.next.bind(it);
  const back = it.return?.bind(it);
  define(it, 'next', (...a: [] | [unknown]) => way._watch(next(...a)));
  if (back) {
    define(it, 'return', (v?: unknown) => {
      way._once(() => tap.cancel());
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
