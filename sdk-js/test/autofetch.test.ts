import { afterEach, describe, expect, test } from 'vitest';
import { init } from '../src/index';
import { instrumentFetch } from '../src/instrument/autofetch';
import { FakeEnv, FakeTransport } from './rig';

const real = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = real;
});

const answers: Record<string, () => Response> = {
  '/stream': () => new Response('data: {"text":"hi"}\n\n', { headers: { 'content-type': 'text/event-stream' } }),
  '/json': () => new Response('{"a":1}', { headers: { 'content-type': 'application/json' } }),
  '/v1/rum': () => new Response('{}'),
};

function rig() {
  const calls: [string, RequestInit | undefined][] = [];
  globalThis.fetch = (async (input: RequestInfo | URL, i?: RequestInit) => {
    const url = new URL((input as Request).url ?? String(input));
    calls.push([url.pathname, i]);
    return answers[url.pathname]?.();
  }) as typeof fetch;
  const transport = new FakeTransport();
  const fermata = init({ url: 'https://rum.test/v1/rum', env: new FakeEnv(), transport, propagateTo: ['https://api.test'] });
  return { calls, transport, fermata, base: globalThis.fetch };
}

describe('instrumentFetch', () => {
  test('streams are measured, everything else and the own endpoint pass untouched', async () => {
    const { fermata, transport } = rig();
    instrumentFetch(fermata);
    expect(await (await fetch('https://api.test/stream')).text()).toContain('hi');
    const json = await fetch('https://api.test/json');
    expect(Object.getOwnPropertyNames(json)).toEqual([]);
    await fetch('https://rum.test/v1/rum', { method: 'POST', body: '{}' });
    await fermata.uninstall();
    expect(transport.streams.filter((s) => s.final).map((s) => s.bytes_total)).toEqual([2]);
  });

  test('matched requests bear ids', async () => {
    const { fermata, calls } = rig();
    instrumentFetch(fermata, (url) => url.includes('/json'));
    await (await fetch(new Request('https://api.test/json'))).json();
    const headers = new Headers(calls[0]?.[1]?.headers);
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
    expect(headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  test('undone: the original is back', async () => {
    const { fermata, base } = rig();
    instrumentFetch(fermata)();
    expect(globalThis.fetch).toBe(base);
  });

  test('undone under another patch: passes through', async () => {
    const { fermata, transport } = rig();
    instrumentFetch(fermata);
    const mine = globalThis.fetch;
    globalThis.fetch = (...a) => mine(...a);
    const theirs = globalThis.fetch;
    await fermata.uninstall();
    expect(globalThis.fetch).toBe(theirs);
    await (await fetch('https://api.test/stream')).text();
    await fermata.flush();
    expect(transport.streams).toEqual([]);
  });

  test('a match or a surrounding that throws does no harm', async () => {
    const { fermata } = rig();
    instrumentFetch(fermata, () => {
      throw new Error('own');
    });
    expect(await (await fetch('https://api.test/stream')).text()).toContain('hi');
  });
});

describe('Fermata.fetch', () => {
  test('takes the answer begun by submit, then one of its own', async () => {
    const { fermata, transport } = rig();
    const a = fermata.submit({ queryType: 'short_qa' });
    await (await fermata.fetch('https://api.test/stream')).text();
    await (await fermata.fetch('https://api.test/stream')).text();
    await fermata.flush();
    expect(transport.streams.map((s) => s.query_type)).toEqual(['short_qa', undefined]);
    expect(transport.streams[0]?.request_id).toBe(a.requestId);
  });

  test('a failed try and the next one are one question', async () => {
    const { fermata, transport } = rig();
    let n = 0;
    answers['/flaky'] = () => (n++ ? new Response('ok', { headers: { 'content-type': 'text/plain' } }) : new Response('', { status: 503 }));
    for (let i = 0; i < 2; i++) await (await fermata.fetch('https://api.test/flaky')).text();
    await fermata.flush();
    const last = transport.streams.at(-1);
    expect(last).toMatchObject({ attempt: 2, final: true });
    expect(new Set(transport.streams.map((s) => s.submit_at)).size).toBe(1);
  });

  test("defaults hold unless an answer's own options say otherwise", () => {
    const { fermata } = rig();
    const f = init({ ...fermata.options, defaults: { queryType: 'long_form', contentKind: 'markdown' } });
    const a = f.submit({ queryType: 'short_qa' });
    expect([a._fields.query_type, a.contentKind]).toEqual(['short_qa', 'markdown']);
  });
});
