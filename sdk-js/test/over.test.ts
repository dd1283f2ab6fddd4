import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { watchEventSource } from '../src/instrument/eventsource';
import { watchIterable } from '../src/instrument/iterable';
import { wrapFetch } from '../src/instrument/response';
import { watchWebSocket } from '../src/instrument/websocket';
import { rig, turn } from './rig';

const address = 'https://x.test/';
const sse = (text: string) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;

/** A response whose chunks come one by one, as they are. */
function source(type = 'text/event-stream') {
  let out: ReadableStreamDefaultController<unknown> | undefined;
  const body = new ReadableStream({
    start(c) {
      out = c;
    },
  });
  const response = new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers: { 'content-type': type } });
  return { base: (async () => response) as typeof fetch, put: (v: unknown) => out?.enqueue(v), close: () => out?.close() };
}

const bytes = (s: string) => new TextEncoder().encode(s);

/** Reads one chunk, so that what comes after the first text is put off. */
async function reading(s: ReturnType<ReturnType<typeof rig>['client']['stream']>) {
  const from = source();
  const response = await wrapFetch(s, from.base)(address);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const give = async (v: unknown) => {
    from.put(v);
    return (await reader.read()).value as Uint8Array;
  };
  await give(bytes(sse('first ')));
  return { ...from, reader, give };
}

/** Where messages come in, with what both kinds of connection have. */
class Connection extends EventTarget {
  readyState = 1;
  readonly kept = new Map<string, number>();
  override addEventListener(type: string, f: EventListenerOrEventListenerObject | null): void {
    this.kept.set(type, (this.kept.get(type) ?? 0) + 1);
    super.addEventListener(type, f);
  }
  override removeEventListener(type: string, f: EventListenerOrEventListenerObject | null): void {
    this.kept.set(type, (this.kept.get(type) ?? 0) - 1);
    super.removeEventListener(type, f);
  }
  send(): void {}
  close(): void {}
  get listeners(): number {
    return [...this.kept.values()].reduce((a, b) => a + b, 0);
  }
}

describe('what was put off is done before anything that depends on it', () => {
  test("a Buffer that the page writes over: the SDK's copy is its own", async () => {
    const { client, transport } = rig();
    const s = client.stream();
    let text = '';
    s._onText = (t) => {
      text += t;
    };
    const from = await reading(s);
    const chunk = await from.give(Buffer.from(sse('second')));
    chunk.fill(0x78);
    from.close();
    await from.reader.read();
    await client.flush();
    expect(text).toBe('first second');
    expect(transport.streams.at(-1)?.bytes_total).toBe(12);
  });

  test('a text after ten minutes of silence: the stream is not given up', async () => {
    const { client, env, transport } = rig();
    const s = client.stream();
    const from = await reading(s);
    await client.flush();
    env.t += 600_500;
    await from.give(bytes(sse('late')));
    env.t += 100;
    await client.flush();
    expect(s.active).toBe(true);
    expect(transport.streams.at(-1)).toMatchObject({ final: false, bytes_total: 10 });
    env.t += 600_500;
    await client.flush();
    expect(s.active).toBe(false);
  });

  test("a new try: an error of the try before is not the new one's", async () => {
    const { client, transport } = rig();
    const s = client.stream();
    const from = await reading(s);
    await from.give(bytes('data: {"error":{"message":"x"}}\n\n'));
    s.sent(false);
    s.pieces([{ kind: 'content', text: 'again' }]);
    s.done();
    await client.flush();
    expect(transport.streams.at(-1)).toMatchObject({ attempt: 2, final: true });
    expect(transport.streams.at(-1)?.error).toBeUndefined();
  });
});

describe('nothing outlives its stream', () => {
  test('a signal shared by many requests keeps none of them', async () => {
    const { client } = rig();
    const c = new AbortController();
    const from = { ...source('text/plain') };
    const s = client.stream();
    await wrapFetch(s, from.base)(address, { signal: c.signal });
    expect(getEventListeners(c.signal, 'abort')).toHaveLength(1);
    s.done();
    for (let i = 0; i < 100; i++) {
      const base = (async () => new Response('x')) as typeof fetch;
      await (await wrapFetch(client.stream(), base)(address, { signal: c.signal })).text();
    }
    expect(getEventListeners(c.signal, 'abort')).toEqual([]);
    const last = client.stream();
    await wrapFetch(last, source().base)(address, { signal: c.signal });
    c.abort();
    expect(last._fields.aborted_at).toBeDefined();
    expect(getEventListeners(c.signal, 'abort')).toEqual([]);
  });

  test('consent withdrawn: nothing more is copied, looked into or waited for', async () => {
    const { client, env } = rig();
    const s = client.stream();
    const from = await reading(s);
    let text = '';
    s._onText = (t) => {
      text += t;
    };
    await from.give(bytes(sse('put off')));
    const failed = client.stream();
    failed.sent(false);
    failed.fail('network');
    client.setConsent(false);
    expect(env.pending).toBe(0);
    const defer = vi.spyOn(s, '_defer');
    await from.give(bytes(sse('more')));
    from.close();
    await from.reader.read();
    expect(defer).not.toHaveBeenCalled();
    expect(text).toBe('');
  });

  test('an iterable whose stream is over is not looked into', async () => {
    const { client } = rig();
    const extract = vi.fn((e: unknown) => e as string);
    const s = client.stream({ extract });
    async function* words() {
      yield 'a';
      client.setConsent(false);
      yield 'b';
    }
    for await (const _ of watchIterable(s, words()));
    expect(extract).toHaveBeenCalledTimes(1);
  });

  test('a response of a stream that is over is not touched', async () => {
    const { client } = rig();
    const s = client.stream();
    const base = (async () => {
      client.setConsent(false);
      return new Response('x');
    }) as typeof fetch;
    expect(Object.getOwnPropertyNames(await wrapFetch(s, base)(address))).toEqual([]);
  });
});

describe.each([
  ['WebSocket', (s: never, c: Connection) => watchWebSocket(s, c as unknown as WebSocket)],
  ['EventSource', (s: never, c: Connection) => watchEventSource(s, c as unknown as EventSource, { isEnd: (e) => e.data === '[DONE]' })],
] as const)('a %s that stays open', (_name, watch) => {
  const message = (c: Connection, data: string) => c.dispatchEvent(new MessageEvent('message', { data }));

  test('is left alone by streams that are not measured', () => {
    const { client } = rig({ maxStreams: 1 });
    client.stream();
    const c = new Connection();
    const own = Object.getOwnPropertyNames(c);
    for (let i = 0; i < 20; i++) watch(client.stream() as never, c);
    expect(c.listeners).toBe(0);
    expect(Object.getOwnPropertyNames(c)).toEqual(own);
  });

  test('brings the next answer while the last paint of the one before is waited for', async () => {
    const { client, transport } = rig();
    const c = new Connection();
    const s = client.stream();
    s._holds++;
    watch(s as never, c);
    message(c, 'answer');
    message(c, '[DONE]');
    expect(s._endedAt).toBeGreaterThan(0);
    message(c, 'the next answer');
    c.dispatchEvent(new Event('open'));
    c.dispatchEvent(new Event('open'));
    s._release();
    await client.flush();
    await turn();
    expect(transport.streams.at(-1)).toMatchObject({ bytes_total: 6, final: true });
    expect(transport.streams.at(-1)?.reconnects).toBeUndefined();
    expect(c.listeners).toBe(0);
  });
});
