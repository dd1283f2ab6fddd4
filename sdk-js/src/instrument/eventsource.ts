import type { Stream } from '../core/stream';
import { piecesOf } from '../extract/extract';
import { define } from './readable';

/** How to tell where one answer ends on a connection that stays open. */
export interface EventOptions {
  /** True for the event after which the answer is complete. Default: the format's own terminal event. */
  isEnd?: (event: MessageEvent) => boolean;
  /** Named events that carry text, beside those the page listens to. Default none. */
  events?: string[];
}

/** Watches an `EventSource`. The object, its listeners and its events stay as they are. */
export function watchEventSource<E extends EventSource>(stream: Stream, source: E, options: EventOptions = {}): E {
  if (!stream.active) return source;
  const { client } = stream;
  const safe = (f: () => void) => client._safe(f);
  safe(() => {
    stream.protocol = 'sse';
    stream.sent(false);
    let opened = 0;
    const known = new Map<string, (e: Event) => void>();
    const listen = (type: string, f: (e: Event) => void) => {
      // Once the answer is over its last paint may still be waited for: what comes now is not its own.
      const handler = (e: Event) => safe(() => stream._endedAt < 0 && f(e));
      known.set(type, handler);
      add(type, handler);
    };
    const add = source.addEventListener.bind(source) as EventTarget['addEventListener'];
    const close = source.close.bind(source);
    const onEvent = (e: Event) => {
      const m = e as MessageEvent;
      if (typeof m.data !== 'string') return;
      stream.pieces(piecesOf(m.data, stream.extract));
      if (options.isEnd?.(m)) stream.done();
    };
    listen('open', () => (opened++ ? stream.reconnected() : stream.headers(200)));
    listen('message', onEvent);
    listen('error', (e) => {
      if ('data' in e) onEvent(e);
      // 2 is CLOSED: the browser does not try again.
      else if (source.readyState === 2) stream._sawDone ? stream.done() : stream.fail('network');
    });
    for (const type of options.events ?? []) if (!known.has(type)) listen(type, onEvent);
    const undoAdd = define(source, 'addEventListener', (type: string, ...rest: [EventListener]) => {
      safe(() => known.has(type) || listen(type, onEvent));
      return add(type, ...rest);
    });
    const undoClose = define(source, 'close', () => {
      safe(() => stream.abort());
      return close();
    });
    stream._cleanup.push(() => {
      for (const [type, f] of known) source.removeEventListener(type, f);
      undoAdd();
      undoClose();
    });
  });
  return source;
}
