import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, open, type Seen, until } from '../browser';
import { answerWords, TestServer } from '../server';
import { cumulative, join } from '../streams';

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

type Ask = (path: string) => Promise<Seen>;

/** A test with a server and pages of its own; such tests run side by side. */
async function alone(f: (server: TestServer, ask: Ask) => Promise<void>): Promise<void> {
  const server = await new TestServer().start();
  const pages: Page[] = [];
  try {
    await f(server, async (path) => {
      const page = await open(browser, `${server.url}/${path}`);
      pages.push(page);
      await until(page, 'globalThis.ready');
      await page.click('#ask');
      await until(page, 'globalThis.finished');
      return (await page.evaluate('seen')) as Seen;
    });
  } finally {
    for (const p of pages) await p.context().close();
    await server.stop();
  }
}

const bytes = (s: string) => new TextEncoder().encode(s).length;
const expected = (switches: string) => answerWords(new URLSearchParams(switches)).join('');

const cases: [name: string, path: string, protocol: string, ids: boolean][] = [
  ['fetch reader', 'chat.html?', 'sse', true],
  ['instrumented global fetch', 'chat.html?via=global&target=none', 'sse', false],
  ['text through a decoder stream', 'chat.html?via=text', 'fetch', true],
  ['EventSource', 'chat.html?via=eventsource', 'sse', false],
  ['WebSocket', 'chat.html?via=websocket', 'websocket', false],
  ['strict CSP', 'chat.html?csp=1', 'sse', true],
  ['strict CSP, EventSource', 'chat.html?csp=1&via=eventsource', 'sse', false],
  ['openai client', 'lib.html?lib=openai', 'sse', true],
  ['openai client, by its stream', 'lib.html?lib=openai-iterate', 'fetch', false],
  ['ai: streamText', 'lib.html?lib=ai', 'fetch', false],
  ['ai: useChat', 'lib.html?lib=usechat', 'sse', true],
];

describe.concurrent('the page gets the same bytes with and without the SDK, and every one is counted', () => {
  test.each(cases)('%s', (_name, path, protocol, ids) =>
    alone(async (server, ask) => {
      const want = expected(path);
      const without = await ask(`${path}&sdk=0`);
      expect(without.text).toBe(want);
      expect(server.beacons).toEqual([]);
      const seen = await ask(path);
      expect(seen.text).toBe(want);
      expect(seen.html).toBe(without.html);
      await server.whole();
      const s = join(server.segments);
      expect(cumulative(s.recv).at(-1)?.bytes).toBe(bytes(want));
      expect(s.bytes_total).toBe(bytes(want));
      expect(s.protocol).toBe(protocol);
      expect(s.done_at).toBeDefined();
      expect([s.aborted_at, s.error]).toEqual([undefined, undefined]);
      if (ids) {
        const sent = server.requests.at(-1)?.headers;
        expect(s.request_id).toBe(sent?.['x-request-id']);
        expect(sent?.traceparent).toContain(s.trace_id);
      }
      if (!path.includes('global')) {
        expect(s.first_meaningful_paint_at).toBeGreaterThan(s.submit_at as number);
        expect(cumulative(s.paint).at(-1)?.bytes).toBe(bytes(want));
        expect(s.paint_source).toMatch(/^(interaction_contentful_paint|element_timing|frame)$/);
      }
      // Nothing of the text has left the page.
      for (const body of server.bodies) for (const word of ['Žluťoučký', '日本語', 'lamp', 'question']) expect(body).not.toContain(word);
    }),
  );
});

test.concurrent("the openai client's own retries are attempts of one question", () =>
  alone(async (server, ask) => {
    const seen = await ask('lib.html?lib=openai&fail=2');
    expect(seen.text).toBe(expected(''));
    await server.whole();
    const s = join(server.segments);
    expect(s.attempt).toBe(3);
    expect(s.error).toBeUndefined();
    expect(new Set(server.requests.map((r) => r.headers['x-request-id'])).size).toBe(1);
  }));

test.concurrent('an EventSource that is cut and connects again says so', () =>
  alone(async (server, ask) => {
    await ask('chat.html?via=eventsource&drop=5&n=10');
    await server.whole();
    const s = join(server.segments);
    expect(s.reconnects).toBe(1);
    expect([s.done_at !== undefined, s.error]).toEqual([true, undefined]);
  }));
