import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { watchIterable } from '../src/instrument/iterable';
import { tapReadable } from '../src/instrument/readable';
import { mayPropagate, watchResponse, wrapFetch } from '../src/instrument/response';
import { rig } from './rig';

let http: Server;
let url: string;
let handler: (req: IncomingMessage, res: ServerResponse) => void;
const seen: IncomingMessage['headers'][] = [];

beforeAll(async () => {
  http = createServer((req, res) => {
    seen.push(req.headers);
    handler(req, res);
  });
  await new Promise<void>((r) => http.listen(0, '127.0.0.1', r));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});
afterEach(() => {
  seen.length = 0;
});

const parts = Array.from({ length: 40 }, (_, i) => `data: ${JSON.stringify({ choices: [{ delta: { content: `č${i}🙂` } }] })}\n\n`);
const body = parts.join('');
const stream = (res: ServerResponse) => {
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'x-request-id': 'from-server',
    'server-timing': 'traceparent;desc="00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"',
  });
  let i = 0;
  const next = () => {
    if (i === parts.length) res.end();
    else res.write(parts[i++], () => setImmediate(next));
  };
  next();
};

const ways: Record<string, (r: Response) => Promise<string>> = {
  async reader(r) {
    const d = new TextDecoder();
    const reader = (r.body as ReadableStream<Uint8Array>).getReader();
    let s = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return s + d.decode();
      s += d.decode(value, { stream: true });
    }
  },
  async byob(r) {
    const d = new TextDecoder();
    const reader = (r.body as ReadableStream<Uint8Array>).getReader({ mode: 'byob' });
    let s = '';
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(100));
      if (done) return s + d.decode();
      s += d.decode(value, { stream: true });
    }
  },
  async iterator(r) {
    const d = new TextDecoder();
    let s = '';
    for await (const c of r.body as unknown as AsyncIterable<Uint8Array>) s += d.decode(c, { stream: true });
    return s;
  },
  async pipeThrough(r) {
    let s = '';
    for await (const c of (r.body as ReadableStream).pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) s += c;
    return s;
  },
  async pipeTo(r) {
    const d = new TextDecoder();
    let s = '';
    await (r.body as ReadableStream<Uint8Array>).pipeTo(
      new WritableStream({
        write(c) {
          s += d.decode(c, { stream: true });
        },
      }),
    );
    return s;
  },
  async tee(r) {
    const [a, b] = (r.body as ReadableStream<Uint8Array>).tee();
    const [x, y] = await Promise.all([new Response(a).text(), new Response(b).text()]);
    expect(x).toBe(y);
    return x;
  },
  async clone(r) {
    const copy = r.clone();
    const [x, y] = await Promise.all([ways.reader?.(r), copy.text()]);
    expect(x).toBe(y);
    return y;
  },
  text: (r) => r.text(),
  arrayBuffer: async (r) => new TextDecoder().decode(await r.arrayBuffer()),
  blob: async (r) => (await r.blob()).text(),
};

describe('every way of reading a response', () => {
  test.each(Object.keys(ways))('%s: same bytes, all counted, ended', async (name) => {
    handler = (_req, res) => stream(res);
    const { client, transport, errors } = rig();
    const s = client.stream();
    const response = await wrapFetch(s)(url);
    expect(response).toBeInstanceOf(Response);
    expect(response.url).toBe(`${url}/`);
    expect(await ways[name]?.(response)).toBe(body);
    await client.flush();
    const out = transport.streams.at(-1);
    expect(errors).toEqual([]);
    expect(out).toMatchObject({ final: true, request_id: 'from-server', trace_id: '0123456789abcdef0123456789abcdef' });
    expect(out?.done_at).toBeDefined();
    // A blob is read after the fetch is over; its text is not looked into.
    if (name !== 'blob')
      expect(out?.bytes_total).toBe(Array.from({ length: 40 }, (_, i) => new TextEncoder().encode(`č${i}🙂`).length).reduce((a, b) => a + b));
  });

  test('cancel is an abort and reaches the server', async () => {
    let closed = false;
    handler = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(parts[0]);
      res.on('close', () => {
        closed = true;
      });
    };
    const { client, transport } = rig();
    const r = await wrapFetch(client.stream())(url);
    const reader = (r.body as ReadableStream).getReader();
    await reader.read();
    await reader.cancel('enough');
    await client.flush();
    expect(transport.streams.at(-1)?.aborted_at).toBeDefined();
    while (!closed) await new Promise((x) => setTimeout(x, 5));
  });

  test('a connection cut in the middle fails with the same error as ever', async () => {
    handler = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(parts[0], () => res.destroy());
    };
    const plain = await fetch(url)
      .then((r) => r.text())
      .catch((e) => e);
    const { client, transport } = rig();
    const measured = await wrapFetch(client.stream())(url)
      .then((r) => ways.reader?.(r))
      .catch((e) => e);
    expect([measured.constructor, measured.message]).toEqual([plain.constructor, plain.message]);
    await client.flush();
    expect(transport.streams.at(-1)).toMatchObject({ error: 'network', final: true });
    expect(transport.streams.at(-1)?.done_at).toBeUndefined();
  });

  test('no server at all', async () => {
    const { client } = rig();
    const s = client.stream();
    await expect(wrapFetch(s)('http://127.0.0.1:1/')).rejects.toThrow('fetch failed');
    expect(s._fields.error).toBe('network');
  });
});

describe('ids', () => {
  const answer = () => {
    handler = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      res.end('x');
    };
  };
  test('go only where they may', async () => {
    answer();
    await (await wrapFetch(rig().client.stream())(url)).text();
    expect(seen[0]?.['x-request-id']).toBeUndefined();
    const { client } = rig({ propagateTo: [url] });
    const s = client.stream();
    await (await wrapFetch(s)(new Request(url, { method: 'POST', body: 'b', headers: { accept: 'text/plain', 'x-own': '1' } }))).text();
    expect(seen[1]).toMatchObject({
      'x-request-id': s.requestId,
      'x-own': '1',
      accept: 'text/plain',
      traceparent: expect.stringContaining(s.traceId as string),
    });
  });

  test("the page's own ids win", async () => {
    answer();
    const { client } = rig({ propagateTo: [/127/] });
    const s = client.stream();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await (await wrapFetch(s)(url, { headers: { 'X-Request-Id': 'mine', traceparent } })).text();
    expect(seen[0]).toMatchObject({ 'x-request-id': 'mine', traceparent });
    expect([s.requestId, s.traceId]).toEqual(['mine', 'a'.repeat(32)]);
  });

  test.each([
    ['https://a.test/x', ['https://a.test'], true],
    ['https://a.test/x', ['https://a.test/'], true],
    ['https://a.test.evil.test/x', ['https://a.test'], false],
    ['https://b.test/x', [/^https:\/\/b\./], true],
    ['https://b.test/x', [], false],
  ] as [string, (string | RegExp)[], boolean][])('%s, allowed %j: %s', (to, propagateTo, want) => {
    expect(mayPropagate(rig({ propagateTo }).client, to)).toBe(want);
  });
});

describe('tapReadable', () => {
  const tap = () => {
    const log: unknown[] = [];
    return { log, chunk: (v: unknown) => log.push(v), end: () => log.push('end'), fail: () => log.push('fail'), cancel: () => log.push('cancel') };
  };

  test('back pressure stays: nothing is pulled before the page reads', async () => {
    let pulled = 0;
    const source = new ReadableStream({ pull: (c) => c.enqueue(pulled++) }, { highWaterMark: 0 });
    const t = tap();
    const r = tapReadable(source, t).getReader();
    await new Promise((x) => setTimeout(x, 5));
    expect(pulled).toBe(0);
    expect((await r.read()).value).toBe(0);
    expect(pulled).toBe(1);
    expect(t.log).toEqual([0]);
  });

  test('the very objects pass through', async () => {
    const value = { any: 'thing' };
    const source = new ReadableStream({
      start(c) {
        c.enqueue(value);
        c.close();
      },
    });
    const r = tapReadable(source, tap()).getReader();
    expect((await r.read()).value).toBe(value);
  });

  test('errors keep their identity', async () => {
    const error = new Error('own');
    const source = new ReadableStream({ pull: (c) => c.error(error) }, { highWaterMark: 0 });
    const t = tap();
    await expect(tapReadable(source, t).getReader().read()).rejects.toBe(error);
    expect(t.log).toEqual(['fail']);
  });
});

describe('watchIterable', () => {
  async function* words() {
    yield 'a ';
    yield { choices: [{ delta: { content: 'b' } }] };
    yield { type: 'text-delta', text: 'c' };
  }
  const all = async (it: AsyncIterable<unknown>) => {
    const out = [];
    for await (const v of it) out.push(v);
    return out;
  };

  test('generators, iterables and streams of text or events', async () => {
    const iterable = { [Symbol.asyncIterator]: words, other: 1 };
    const readable = new ReadableStream({
      async start(c) {
        for await (const w of words()) c.enqueue(w);
        c.close();
      },
    });
    for (const source of [words(), iterable, readable]) {
      const { client, transport } = rig();
      const same = watchIterable(client.stream(), source as AsyncIterable<unknown>);
      expect(same).toBe(source);
      expect(await all(same)).toEqual(await all(words()));
      await client.flush();
      expect(transport.streams[0]).toMatchObject({ bytes_total: 4, final: true });
      expect(transport.streams[0]?.recv?.bytes).toEqual([2, 1, 1]);
    }
  });

  test('leaving the loop is an abort, a throw a failure, and both reach the source', async () => {
    let cleaned = 0;
    async function* endless() {
      try {
        for (;;) yield 'x';
      } finally {
        cleaned++;
      }
    }
    const { client, transport } = rig();
    for await (const _ of watchIterable(client.stream(), endless())) break;
    async function* broken() {
      yield 'x';
      throw new TypeError('own');
    }
    await expect(all(watchIterable(client.stream(), broken()))).rejects.toThrow('own');
    await client.flush();
    expect(cleaned).toBe(1);
    expect(transport.streams[0]?.aborted_at).toBeDefined();
    expect(transport.streams[1]?.error).toBe('stream_error');
  });

  test('a frozen object passes unmeasured', async () => {
    const { client, errors } = rig();
    const frozen = Object.freeze({ [Symbol.asyncIterator]: words });
    expect(await all(watchIterable(client.stream(), frozen))).toHaveLength(3);
    expect(errors).toHaveLength(1);
  });
});

test('a response that is not measured is not touched', () => {
  const { client } = rig({ consent: false });
  const s = client.stream();
  const base = (async () => new Response('x')) as typeof fetch;
  expect(Object.getOwnPropertyNames(watchResponse)).toContain('name');
  return wrapFetch(s, base)('https://x.test/').then((r) => expect(Object.getOwnPropertyNames(r)).toEqual([]));
});
