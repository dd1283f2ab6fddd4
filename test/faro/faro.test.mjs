// Pages that run Grafana Faro may point it at Fermata: what they push as fermata.stream is joined like a beacon of
// Fermata's own SDK, and everything else is taken without complaint.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, pageServer, run, until } from './rig.mjs';

const dir = mkdtempSync(join(tmpdir(), 'fermata-faro-'));
let up;
let at;
let page;
let browser;

before(async () => {
  const ready = join(dir, 'ready.json');
  const any = '127.0.0.1:0';
  const args = ['up', '--data', join(dir, 'data'), '--ready-file', ready];
  for (const name of ['api', 'ingest', 'tap', 'otlp-grpc', 'otlp-http']) args.push(`--listen-${name}`, any);
  up = run(args);
  at = await until(
    () => {
      assert.ok(!up.ended, `fermata up ended:\n${up.log}`);
      try {
        return JSON.parse(readFileSync(ready, 'utf8'));
      } catch {
        return undefined;
      }
    },
    'fermata up',
    150_000,
  );
  page = await pageServer();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  page?.close();
  await up?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const base = (addr) => (addr.startsWith('http') ? addr : `http://${addr}`);

/** Opens the page in a session of its own, with Faro pointed at Fermata, and keeps what /collect answered. */
async function open(query) {
  const context = await browser.newContext();
  context.setDefaultTimeout(90_000);
  const tab = await context.newPage();
  const answers = [];
  tab.on('response', (r) => {
    if (r.url().startsWith(`${base(at.ingest)}/collect`) && r.request().method() === 'POST') answers.push(r.status());
  });
  const failed = [];
  tab.on('requestfailed', (r) => failed.push(`${r.url()}: ${r.failure()?.errorText}`));
  await tab.goto(`${page.url}/chat?collector=${encodeURIComponent(`${base(at.ingest)}/collect`)}${query}&q=a-question`);
  await tab.waitForFunction("document.title === 'ready'");
  return { tab, answers, failed };
}

const request = (id) =>
  until(async () => {
    const r = await fetch(`${base(at.api)}/v1/requests/${id}`);
    return r.ok && r.json();
  }, `request ${id}`);

async function metric(name, labels = '') {
  const text = await (await fetch(`${base(at.api)}/metrics`)).text();
  let sum = 0;
  for (const line of text.split('\n')) {
    if (line.startsWith(name) && line.includes(labels)) sum += Number(line.split(' ').at(-1));
  }
  return sum;
}

/** Checks that what is joined is what the page measured. */
async function same(id, measured, session) {
  const r = await request(id);
  const c = r.client;
  assert.equal(c.session_id, session);
  assert.equal(c.page, '/chat');
  assert.equal(c.app, 'faro-chat');
  assert.equal(c.release, '2026.11');
  assert.match(c.browser, /^Chrome Headless \d+$/);
  assert.equal(c.os, 'Linux');
  assert.equal(c.n_chunks, measured.recv.t.length);
  assert.equal(c.content_bytes, measured.recv.bytes.reduce((a, b) => a + b));
  const gaps = measured.recv.t.slice(1).map((t, i) => t - measured.recv.t[i]);
  assert.deepEqual(c.chunks.t_us.slice(1).map((t, i) => t - c.chunks.t_us[i]), gaps);
  assert.equal(r.perceived.ttft_us, measured.first_meaningful_paint_at - measured.submit_at);
  const text = JSON.stringify(r);
  for (const own of ['a-question', 'Ada', 'ada@', 'user-1']) assert.ok(!text.includes(own), `${own} is stored`);
  return c;
}

for (const [name, query] of [
  ['plain', ''],
  ['compressed', '&gzip'],
]) {
  test(`streams pushed to Faro are joined, ${name}`, async () => {
    const { tab, answers, failed } = await open(query);
    const session = await tab.evaluate('chat.session()');
    const asEvent = await tab.evaluate(`chat.asEvent('event-${name}')`);
    const asMeasurement = await tab.evaluate(`chat.asMeasurement('measurement-${name}')`);
    await same(`event-${name}`, asEvent, session);
    await same(`measurement-${name}`, asMeasurement, session);
    assert.ok(answers.length > 0);
    assert.deepEqual([...new Set(answers)], [202]);
    assert.deepEqual(failed, []);
    await tab.context().close();
  });
}

test('everything else of Faro is taken and counted', async () => {
  const { tab, answers, failed } = await open('');
  const signals = ['event', 'measurement', 'log', 'exception', 'span'];
  const before = await Promise.all(signals.map((s) => metric('fermata_rum_faro_ignored', `signal="${s}"`)));
  await tab.evaluate('chat.everythingElse()');
  await tab.evaluate("fetch('/answer').then((r) => r.text())");
  await until(async () => {
    const now = await Promise.all(signals.map((s) => metric('fermata_rum_faro_ignored', `signal="${s}"`)));
    return now.every((n, i) => n > before[i]);
  }, 'all signals');
  assert.deepEqual([...new Set(answers)], [202]);
  assert.deepEqual(failed, []);
  await tab.context().close();
});

test('a stream that is wrong is answered with what is wrong', async () => {
  const { tab } = await open('');
  const answer = tab.waitForResponse((r) => r.url().includes('/collect') && r.request().postData()?.includes('broken-1'));
  await tab.evaluate("chat.broken('broken-1')");
  const got = await answer;
  assert.equal(got.status(), 400);
  assert.match(await got.text(), /attributes\.recv/);
  await tab.context().close();
});

test('what the page has under way when it is left arrives', async () => {
  const { tab } = await open('');
  await tab.evaluate("chat.asEvent('left-1')");
  await tab.goto('about:blank');
  assert.equal((await request('left-1')).client.page, '/chat');
  await tab.context().close();
});

/** Sends one beacon in every form that browsers have, and returns what the page could see of it. */
const sendAll = async ([url, prefix]) => {
  const body = (id) =>
    JSON.stringify({
      session_id: 'forms',
      seq: 1,
      clock: { time_origin: performance.timeOrigin * 1000, now: performance.now() * 1000 },
      streams: [{ request_id: prefix + id, submit_at: 5, recv: { dt: [10, 5], bytes: [3, 4], kind_runs: [['content', 2]] } }],
    });
  const zip = (text, type) =>
    new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).blob().then((b) => new Blob([b], { type }));
  const reached = async (init) => {
    try {
      const r = await fetch(url, { method: 'POST', ...init });
      return [r.status, r.headers.get('retry-after')];
    } catch (e) {
      return e.name;
    }
  };
  return {
    beacon: navigator.sendBeacon(url, body('beacon')),
    typed: navigator.sendBeacon(url, await zip(body('typed'), 'text/plain')),
    untyped: navigator.sendBeacon(url, await zip(body('untyped'), '')),
    buffer: navigator.sendBeacon(url, await (await zip(body('buffer'), '')).arrayBuffer()),
    fetch: await reached({ body: body('fetch'), keepalive: true, credentials: 'omit' }),
    json: await reached({ body: body('json'), headers: { 'content-type': 'application/json' } }),
    gzip: await reached({ body: await zip(body('gzip'), ''), headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }),
  };
};
const forms = ['beacon', 'typed', 'untyped', 'buffer', 'fetch', 'json', 'gzip'];

test('beacons arrive in every form that browsers have', async () => {
  const { tab } = await open('');
  const seen = await tab.evaluate(sendAll, [`${base(at.ingest)}/v1/rum`, 'open-']);
  assert.deepEqual([seen.fetch, seen.json, seen.gzip], [[200, null], [200, null], [200, null]]);
  for (const form of forms) assert.equal((await request(`open-${form}`)).client.content_bytes, 7, form);
  await tab.context().close();
});

test('the configuration for the public takes the pages of its app and no others', async () => {
  const { fermata } = JSON.parse(readFileSync(join(dir, 'data', 'engine', 'credentials.json'), 'utf8'));
  const dsn = new URL(at.clickhouse);
  dsn.username = 'fermata';
  dsn.password = fermata;
  const key = { key: 'chat-4f1c9a2e', app: 'chat', allowed_origins: [page.url] };
  const receiver = { http: { endpoint: '127.0.0.1:0' }, keys: [key], rate_limit: { per_ip: { per_second: 0.01, burst: 30 } } };
  let address;
  const collector = run(
    [
      'collector',
      ...['--config', new URL('../../collector/configs/rum-public.yaml', import.meta.url).pathname],
      ...['--config', `yaml:receivers::fermata_rum: ${JSON.stringify(receiver)}`],
      ...['--config', 'yaml:service::telemetry::metrics::level: none'],
    ],
    { FERMATA_CLICKHOUSE: dsn.href, FERMATA_QUEUE: join(dir, 'public-queue') },
    (log) => (address ??= log.match(/HTTP server started.*?(127\.0\.0\.1:\d+)/)?.[1]),
  );
  const other = await pageServer();
  try {
    await until(() => address || collector.ended, 'the collector');
    assert.ok(address, collector.log);
    const url = `http://${address}/v1/rum?key=chat-4f1c9a2e`;
    const { tab } = await open('');
    const own = await tab.evaluate(sendAll, [url, 'own-']);
    assert.deepEqual([own.fetch, own.json, own.gzip], [[200, null], [200, null], [200, null]]);
    for (const form of forms) assert.equal((await request(`own-${form}`)).client.app, 'chat', form);

    await tab.goto(`${other.url}/chat?collector=${encodeURIComponent(`${base(at.ingest)}/collect`)}`);
    const foreign = await tab.evaluate(sendAll, [url, 'foreign-']);
    assert.deepEqual([foreign.fetch, foreign.json, foreign.gzip], ['TypeError', 'TypeError', 'TypeError']);

    // Beyond the rate the page of the app can read when to come again.
    await tab.goto(`${page.url}/chat?collector=${encodeURIComponent(`${base(at.ingest)}/collect`)}`);
    const limited = await until(() => tab.evaluate(sendAll, [url, 'late-']).then((s) => s.fetch[0] === 429 && s), 'the rate limit');
    assert.ok(Number(limited.fetch[1]) > 1, `Retry-After is ${limited.fetch[1]}`);
    for (const form of forms) assert.equal((await fetch(`${base(at.api)}/v1/requests/foreign-${form}`)).status, 404, form);
    await tab.context().close();
  } finally {
    await collector.stop();
    other.close();
  }
});
