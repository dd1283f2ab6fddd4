import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch } from '../browser';
import { Tabs } from '../tabs';
import { complete, type Finding, type Joined, sum, Up } from '../up';

// The real binary with its engine, the page it serves, and a real browser. Answers stream side by side, and the machine
// may be busy: what is found beside the fault (a hitch of the scripted model's own timer, for instance) is not looked at.

let up: Up;
let browser: Browser;

beforeAll(async () => {
  [up, browser] = [await Up.start(), await launch()];
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await up?.stop();
});

/** A test on a page of its own, which must not complain. */
function onPage(f: (page: Page) => Promise<void>): () => Promise<void> {
  return async () => {
    const context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
    context.setDefaultTimeout(90_000);
    try {
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('pageerror', (e) => problems.push(String(e)));
      // A violated Content-Security-Policy is told on the console.
      page.on('console', (m) => m.type() === 'error' && !m.text().includes('Failed to load resource') && problems.push(m.text()));
      await page.goto(`${up.api}/playground/`);
      await page.waitForSelector('html[data-ready]');
      await f(page);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
    }
  };
}

/** Asks with a fault and returns the id that the answer's link names. */
async function ask(p: Page, fault: string, question: string): Promise<string> {
  await p.selectOption('#fault', fault);
  await p.fill('#question', question);
  await p.click('#send');
  const link = p.locator('article:last-of-type .facts a');
  await link.waitFor({ state: 'attached', timeout: 60_000 });
  return decodeURIComponent((await link.getAttribute('href'))?.split('/').pop() ?? '');
}

/** The answer as it stands on the page. */
async function answered(p: Page): Promise<string> {
  await p.waitForFunction(() => !document.querySelector('article:last-of-type .answer')?.hasAttribute('aria-busy'), null, { timeout: 90_000 });
  return (await p.locator('article:last-of-type .answer').textContent()) ?? '';
}

const letters = (s: string) => s.replace(/\s+/g, '');

describe.concurrent('a question on the page, joined', () => {
  test(
    'all tiers with their times, on one clock; no text of it anywhere',
    onPage(async (page) => {
      const id = await ask(page, '', 'Where were you before the fog had lifted?');
      const text = await answered(page);
      // The last paints come in a beacon of their own.
      const r = await up.request(id, 'all tiers', (x) => complete(x) && sum(x.client?.paint) === x.attempts[0]?.server?.content_bytes);
      const { server } = r.attempts[0] as Joined['attempts'][0];
      const client = r.client as NonNullable<Joined['client']>;
      expect([r.state, r.app, server?.emitter, r.gateway?.emitter]).toEqual(['completed', 'playground', 'tap', 'playground']);
      expect(r.attempts.length).toBe(1);

      // One ruler: the bytes of the answer, at every tier.
      const bytes = server?.content_bytes as number;
      expect(bytes).toBeGreaterThan(300);
      expect(sum(client.chunks)).toBe(bytes);
      expect(sum(client.dom)).toBe(bytes);
      expect(sum(client.paint)).toBe(bytes);
      // Prose of ASCII letters: what stands on the page is what was counted.
      expect(letters(text).length).toBeLessThanOrEqual(bytes);
      expect(letters(text).length).toBeGreaterThan(bytes * 0.75);

      // Each piece: received, then in the DOM, then painted. First text, then its paint.
      const paint = client.paint as { t_us: number[]; bytes: number[] };
      expect(paint.t_us.length).toBeGreaterThan(5);
      expect(client.first_meaningful_paint_us as number).toBeGreaterThan(client.ttft_us as number);
      expect(client.paint_source).toMatch(/^(interaction_contentful_paint|element_timing|frame)$/);
      expect(r.perceived.ttft_us as number).toBe((client.first_meaningful_paint_us as number) - client.submit_us);
      expect(r.perceived.gap_us as number).toBe((r.perceived.ttft_us as number) - (server?.ttft_us as number));

      // Server and page run on one machine: whatever the join says of their clocks must hold zero.
      const clock = r.clock as NonNullable<Joined['clock']>;
      expect(Math.abs(clock.offset_us)).toBeLessThanOrEqual(clock.uncertainty_us + 2000);

      // The page says what was found, and its link shows the same.
      await page.waitForSelector('article:last-of-type[data-joined="true"]', { timeout: 60_000 });
      const timeline = await page.context().newPage();
      const res = await timeline.goto(`${up.api}/requests/${id}`);
      expect(res?.status()).toBe(200);
      expect(await timeline.locator('pre.wide').textContent()).toMatch(/client[\s\S]*painted[\s\S]*server/);
      const body = (await res?.text()) ?? '';
      for (const word of text.split(/\s+/).filter((w) => w.length > 9)) expect(body).not.toContain(word);
    }),
  );

  test(
    'by keyboard alone',
    onPage(async (page) => {
      // Not over before the key is pressed, whatever the machine does.
      await page.evaluate(() => {
        (document.getElementById('fault') as HTMLSelectElement).value = 'silent';
      });
      await page.keyboard.type('Said without a mouse.');
      await page.keyboard.press('Enter');
      const link = page.locator('article .facts a');
      await link.waitFor({ state: 'attached', timeout: 60_000 });
      await page.keyboard.press('Escape');
      await answered(page);
      const id = decodeURIComponent((await link.getAttribute('href'))?.split('/').pop() ?? '');
      const r = await up.request(id, 'the abort', (x) => !!x.client && x.client.aborted_us !== null && x.state !== 'running');
      expect(r.state).toBe('aborted');
      expect(await page.locator('article .problem').textContent()).toContain('stopped');
    }),
  );

  test('a request that nobody knows, and one of another tenant', async () => {
    for (const path of ['/requests/never-seen', '/requests/never-seen?tenant=other', '/requests/%3Cscript%3Ealert(1)%3C%2Fscript%3E']) {
      const res = await fetch(up.api + path);
      expect(res.status).toBe(404);
      expect(res.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await res.text()).not.toContain('<script');
    }
  });

  test('pages from elsewhere can neither ask nor write', async () => {
    for (const path of ['tap/demo/v1/chat/completions', 'rum']) {
      const res = await fetch(`${up.api}/playground/${path}`, {
        method: 'POST',
        body: '{}',
        headers: { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' },
      });
      expect(res.status).toBe(403);
    }
  });
});

/** The longest finding with these properties: what a hiccup of the machine adds is short beside a fault. */
const has = (r: Joined, want: Partial<Finding>): Finding | undefined =>
  r.findings.filter((f) => Object.entries(want).every(([k, v]) => f[k as keyof Finding] === v)).sort((a, b) => b.duration_us - a.duration_us)[0];

/** µs of the longest wait of the page that the server did not make: by how much it is longer than the server's own before the same bytes. */
function waited(r: Joined): number {
  const { client } = r;
  const server = r.attempts[0]?.server;
  if (!client || !server) return 0;
  let [sent, at, before, longest] = [0, 0, 0, 0];
  for (const [i, t] of client.chunks.t_us.entries()) {
    let own = 0;
    // Up to the chunk that brought the first of these bytes.
    for (; at < server.chunks.t_us.length && sent <= before; at++) {
      own = Math.max(own, (server.chunks.t_us[at] as number) - (server.chunks.t_us[at - 1] ?? 0));
      sent += server.chunks.bytes[at] as number;
    }
    if (i) longest = Math.max(longest, t - (client.chunks.t_us[i - 1] as number) - own);
    before += client.chunks.bytes[i] as number;
  }
  return longest;
}

const faults: [fault: string, want: Partial<Finding>, more?: (f: Finding, r: Joined) => void][] = [
  [
    'stall',
    { kind: 'stall', grade: 'stall', tier: 'server', attribution: 'engine' },
    (f, r) => {
      expect(f.duration_us).toBeGreaterThan(2_500_000);
      // The page saw it too, and it is one finding, not two.
      expect(r.findings.filter((x) => x.kind === 'stall' && x.duration_us > 2_000_000).length).toBe(1);
    },
  ],
  ['loop', { kind: 'loop', tier: 'server', attribution: 'engine' }, (f) => expect(f.evidence).toMatchObject({ hit_limit: true })],
  ['slow-start', { kind: 'slow_start', tier: 'server', attribution: 'engine' }, (f) => expect(f.duration_us).toBeGreaterThan(4_000_000)],
  ['buffering', { kind: 'buffering', tier: 'client', attribution: 'proxy_buffering' }, (f) => expect(f.evidence.releases).toBeGreaterThanOrEqual(2)],
  [
    'heavy',
    { kind: 'render_lag', tier: 'client', attribution: 'render' },
    (f) => {
      expect(f.duration_us).toBeGreaterThan(1_500_000);
      expect(f.evidence.long_frames_us).toBeGreaterThan(500_000);
    },
  ],
];

describe.concurrent('each fault is found for what it is', () => {
  test.each(faults)('%s', (fault, want, more) =>
    onPage(async (page) => {
      const id = await ask(page, fault, `Tell me about ${fault}.`);
      await answered(page);
      const r = await up.request(id, `${want.kind} by ${want.attribution}`, (x) => complete(x) && !!has(x, want));
      more?.(has(r, want) as Finding, r);
      // The page tells it beside the answer.
      await page.waitForSelector('article:last-of-type[data-joined="true"]', { timeout: 60_000 });
      // Not by expect.poll, which now and then can't tell which of several tests at a time it is in.
      const told = (kind: string) => document.querySelector('article:last-of-type .findings')?.textContent?.includes(kind);
      await page.waitForFunction(told, String(want.kind).replace('_', ' '), { timeout: 60_000 });
    })(),
  );

  test(
    'burst: the model’s own, so nothing is blamed on the way',
    onPage(async (page) => {
      const id = await ask(page, 'burst', 'Tell me about bursts.');
      await answered(page);
      const r = await up.request(id, 'all tiers', complete);
      expect(has(r, { kind: 'buffering' })).toBeUndefined();
      // The page may have been kept waiting by a machine that does other things; then that is what is found.
      if (waited(r) < 250_000) expect(r.findings.filter((f) => f.kind === 'stall' && f.attribution === 'network')).toEqual([]);
    }),
  );

  test.each([
    ['error', /asked to fail/],
    ['cut', /network|error/i],
  ])('%s: both ends tell the failure', (fault, told) =>
    onPage(async (page) => {
      const id = await ask(page, fault, `Tell me about ${fault}.`);
      await answered(page);
      expect(await page.locator('article .problem').textContent()).toMatch(told);
      const r = await up.request(id, 'all tiers', (x) => complete(x) && x.state === 'failed');
      expect(r.attempts[0]?.server?.error).toBeTruthy();
      expect(r.client?.error).toBeTruthy();
      expect(r.client?.aborted_us).toBeNull();
    })(),
  );

  test.each([
    ['http-500', '500'],
    ['overload', '429'],
  ])('%s: the refusal is joined too', (fault, status) =>
    onPage(async (page) => {
      const id = await ask(page, fault, `Tell me about ${fault}.`);
      await answered(page);
      const r = await up.request(id, 'all tiers', (x) => x.state === 'failed' && !!x.client && !!x.gateway);
      expect(r.client?.error).toBe(`http_${status}`);
      expect(await page.locator('article .problem').textContent()).toContain(status);
    })(),
  );

  test(
    'skew: 47 minutes off, and every one-way delay still right within its bounds',
    onPage(async (page) => {
      const id = await ask(page, 'skew', 'What time is it?');
      await answered(page);
      const r = await up.request(id, 'all tiers and a clock', (x) => complete(x) && !!x.clock);
      const clock = r.clock as NonNullable<Joined['clock']>;
      const want = 47 * 60_000_000;
      // Playground and engine share this machine's clock; the page's time origin is told to some ms.
      expect(Math.abs(clock.offset_us - want)).toBeLessThanOrEqual(clock.uncertainty_us + 5000);
      expect(r.perceived.gap_us as number).toBeGreaterThan(-1000);
      expect(r.perceived.ttft_us as number).toBeLessThan(60_000_000);
    }),
  );

  test(
    'stutter and a model that falls silent, stopped by the user',
    onPage(async (page) => {
      const stutter = await ask(page, 'stutter', 'Tell me about stutters.');
      await answered(page);
      const r = await up.request(stutter, 'the stalls', (x) => complete(x) && x.findings.some((f) => f.kind === 'stall' && f.tier === 'server'));
      expect(r.findings.filter((f) => f.kind === 'stall' && f.attribution === 'engine').length).toBeGreaterThan(0);
      const silent = await ask(page, 'silent', 'Say nothing more.');
      await up.request(silent, 'the open stall', (x) => x.findings.some((f) => f.kind === 'stall' && f.tier === 'server'));
      await page.click('#stop');
      await answered(page);
      const s = await up.request(silent, 'the end', complete);
      expect(s.state).toBe('aborted');
      expect(s.client?.aborted_us).not.toBeNull();
    }),
  );

  test('another tab in front: the silence on the screen is hidden, and no finding of it', async () => {
    const tabs = await Tabs.launch();
    try {
      const tab = await tabs.open(`${up.api}/playground/`);
      const other = await tabs.open('about:blank');
      await tab.front();
      await tab.until('document.documentElement?.dataset.ready && document.visibilityState === "visible"');
      await tab.evaluate(`document.getElementById('question').value = 'While nobody looks.'`);
      await tab.click('send');
      await tab.until('(document.querySelector("article .answer")?.textContent.length ?? 0) > 80');
      await other.front();
      await tab.until('document.visibilityState === "hidden"');
      await tab.until('!document.querySelector("article .answer").hasAttribute("aria-busy")', 60_000);
      await tab.front();
      await tab.until('document.visibilityState === "visible"');
      const id = decodeURIComponent((await tab.evaluate<string>('document.querySelector("article .facts a").href')).split('/').pop() ?? '');
      const r = await up.request(id, 'all tiers', (x) => complete(x) && sum(x.client?.paint) === sum(x.client?.chunks));
      expect(r.client?.visibility?.map((v) => v.state)).toEqual(['visible', 'hidden', 'visible']);
      const [, hidden, back] = (r.client?.visibility ?? []).map((v) => v.t_us) as [number, number, number];
      const paint = r.client?.paint?.t_us ?? [];
      expect(paint.filter((t) => t > hidden + 50_000 && t < back - 50_000)).toEqual([]);
      // A machine that stops the page while it is visible makes a finding of that, not of the time in between.
      const unseen = (from: number, until: number) => Math.max(0, Math.min(until, back) - Math.max(from, hidden));
      const stalls = r.findings.filter((f) => f.kind === 'stall' && f.tier === 'client');
      expect(stalls.filter((f) => f.duration_us - unseen(f.start_us, f.start_us + f.duration_us) < 300_000)).toEqual([]);
      const last = Math.max(0, ...paint.filter((t) => t <= hidden + 50_000));
      const next = paint.find((t) => t > last) as number;
      const lags = r.findings.filter((f) => f.kind === 'render_lag' && f.start_us < back && f.start_us + f.duration_us > hidden);
      if (next - last - unseen(last, next) < 300_000) expect(lags).toEqual([]);
    } finally {
      await tabs.close();
    }
  });
});
