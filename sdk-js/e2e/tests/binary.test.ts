import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { launch, open, type Seen, until } from '../browser';
import { answerWords, TestServer } from '../server';
import { type Joined, sum, Up } from '../up';

// What meets the real binary: a gateway in Node with the built SDK (POST /v1/chunks and /v1/gateway), and pages in a real
// browser before a collector with the configuration for the public.

let up: Up;
let upstream: TestServer;

beforeAll(async () => {
  [up, upstream] = [await Up.start(), await new TestServer().start()];
}, 180_000);
afterAll(async () => {
  await up?.stop();
  await upstream?.stop();
});
beforeEach(() => upstream.reset());

/** As built. */
const built = new URL('../../dist/node.js', import.meta.url).href;
const sdk = async () => (await import(/* @vite-ignore */ built)) as typeof import('../../src/node/index');
const bytes = (s: string) => new TextEncoder().encode(s).length;

test('two attempts of one request: both streams, the gateway between them, the served one marked', async () => {
  const { createServer } = await sdk();
  const fermata = createServer({ url: up.ingest, emitter: 'node-gateway', app: 'e2e-node' });
  const id = `node-${Date.now().toString(36)}`;
  const ask = `${upstream.url}/api/v1/chat/completions?n=40&gap=25&stallAt=20&stall=3000&fail=1`;
  const before = Date.now() * 1000;

  const request = fermata.request({ requestId: id, route: '/chat' });
  request.set({ queue_wait_us: 1500 });
  const first = request.attempt({ provider: 'test', deployment: 'a', model: 'm' });
  expect((await first.fetch(ask, { method: 'POST', body: '{}' })).status).toBe(503);
  const second = request.attempt({ provider: 'test', deployment: 'b', model: 'm' });
  const response = await second.fetch(ask, { method: 'POST', body: '{}' });
  let got = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    request.firstByte();
    got += decoder.decode(chunk, { stream: true });
  }
  request.end(200, second);
  await fermata.shutdown();

  const text = answerWords(new URLSearchParams('n=40')).join('');
  expect(got).toContain('[DONE]');
  // Segments are stored side by side: the last may be there before another one.
  const whole = (r: Joined) => {
    const [a, b] = r.attempts.map((x) => x.server);
    return r.attempts.length === 2 && !!r.gateway && !!a && b?.finish_reason === 'stop' && b.content_bytes >= bytes(text);
  };
  const r = await up.request(id, 'both attempts and the gateway', whole);
  expect(r.attempts.map((a) => [a.attempt, a.served])).toEqual([
    [1, false],
    [2, true],
  ]);
  expect(r.attempts[0]?.server?.error).toBe('http_503');
  const served = r.attempts[1]?.server as NonNullable<Joined['attempts'][0]['server']>;
  expect(served.emitter).toBe('node-gateway');
  expect(served.content_bytes).toBe(bytes(text));
  expect(sum(served.chunks)).toBe(bytes(text));
  // Kinds come one by one again: the opening frame, the words, the end.
  expect(served.chunks.kind?.filter((k) => k === 'content').length).toBe(40);
  expect(served.started_at).toBeGreaterThanOrEqual(before - 1000);
  expect(r.gateway?.emitter).toBe('node-gateway');
  // The upstream froze once: the chunks' times say so, and the finding is made of them.
  const found = (x: Joined) => x.findings.find((f) => f.kind === 'stall' && f.duration_us > 2_500_000);
  const stall = found(await up.request(id, 'the stall, all of it read', (x) => found(x)?.chunk === 20));
  expect(stall).toMatchObject({ tier: 'server', attribution: 'engine' });
});

test('a running stream is visible while it runs', async () => {
  const { createServer } = await sdk();
  const fermata = createServer({ url: up.ingest, emitter: 'node-server', flushInterval: 300 });
  const id = `running-${Date.now().toString(36)}`;
  const stream = fermata.stream({ requestId: id, model: 'm' });
  const response = await stream.fetch(`${upstream.url}/api/v1/chat/completions?n=4000&gap=30`, { method: 'POST', body: '{}' });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let open = true;
  const reading = (async () => {
    while (open && !(await reader.read()).done);
    await reader.cancel();
  })();
  const r = await up.request(id, 'the running stream', (x) => x.state === 'running' && (x.attempts[0]?.server?.n_chunks ?? 0) > 10);
  expect(r.attempts[0]?.server?.finish_reason).toBeNull();
  open = false;
  await reading;
  await fermata.shutdown();
  const over = await up.request(id, 'its end', (x) => x.state === 'aborted');
  expect(over.attempts[0]?.server?.finish_reason).toBe('client_abort');
});

test('the configuration for the public: pages of the app are heard, others are not, and no page notices', async () => {
  const key = 'chat-4f1c9a2e';
  const receiver = { http: { endpoint: '127.0.0.1:0' }, keys: [{ key, app: 'chat', allowed_origins: [upstream.url] }] };
  const [collector, elsewhere, browser] = [await up.publicCollector(receiver), await new TestServer().start(), await launch()];
  try {
    const want = answerWords(new URLSearchParams('')).join('');
    /** Asks on a page of that server; returns the answer's request id and how many beacons the page knows to be lost. */
    const ask = async (server: TestServer, switches: string, lost = false): Promise<string> => {
      const collectorUrl = encodeURIComponent(collector.url);
      const page = await open(browser, `${server.url}/chat.html?collector=${collectorUrl}&tolerant=1&flush=200&${switches}`);
      await until(page, 'globalThis.ready');
      await page.click('#ask');
      await until(page, 'globalThis.finished');
      const seen = (await page.evaluate('seen')) as Seen;
      expect([seen.text, seen.error]).toEqual([want, undefined]);
      // A refusal for good is not tried again. One without CORS looks like a lost connection and is, a few times.
      if (lost) await until(page, 'fermata.lostBeacons > 0');
      else await page.evaluate('fermata.flush()');
      await page.context().close();
      return String(server.requests.at(-1)?.headers['x-request-id']);
    };
    const refused = [
      await ask(upstream, 'key=shop-00000000', true),
      await ask(upstream, '', true),
      // The right key, taken from the page of the app, on a page of somebody else.
      await ask(elsewhere, `key=${key}`),
    ];
    const id = await ask(upstream, `key=${key}&sample=0.5&first=2200`);
    const r = await up.request(id, 'the page', (x) => x.client?.state === 'completed');
    // The key says whose it is, whatever the page says.
    expect(r.app).toBe('chat');
    expect(r.client?.content_bytes).toBe(bytes(want));
    expect(r.client?.first_meaningful_paint_us).not.toBeNull();
    // It was slow to begin, so it was sent for itself and not for two.
    expect(r.client?.sample_weight).toBe(1);
    for (const x of refused) expect((await fetch(`${up.api}/v1/requests/${x}`)).status, x).toBe(404);
  } finally {
    await browser.close();
    await elsewhere.stop();
    await collector.stop();
  }
});
