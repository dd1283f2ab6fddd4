import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WireStream } from '../../src/core/types';
import { launch, open, type Seen, until } from '../browser';
import { TestServer } from '../server';
import { cumulative, join } from '../streams';

/** One frame at 60 Hz and 10 ms more. */
const tolerance = 1000 / 60 + 10;

let browser: Browser;
let server: TestServer;
let page: Page | undefined;
/** Largest deviation of each run, for the log. */
const deviations: [string, number, number][] = [];

beforeAll(async () => {
  [browser, server] = [await launch(), await new TestServer().start()];
});
afterAll(async () => {
  await browser.close();
  await server.stop();
  console.log(
    `paint times against the page's own probes, ms (first meaningful, worst update):\n${deviations.map(([n, f, u]) => `  ${n}: ${f.toFixed(1)}, ${u.toFixed(1)}`).join('\n')}`,
  );
});
beforeEach(() => server.reset());
afterEach(async () => {
  await page?.context().close();
  page = undefined;
});

interface Run {
  seen: Seen;
  stream: WireStream;
  /** When the main thread was free again after the frame of each update. */
  free: Record<string, number>;
}

/** Asks on a page with these switches and waits for the whole story. */
async function run(switches: string, slow = 1): Promise<Run> {
  page = await open(browser, `${server.url}/chat.html?${switches}`, slow);
  await until(page, 'globalThis.ready');
  await page.click('#ask');
  await until(page, 'globalThis.finished');
  await server.until('the last segment', () => server.segments.some((s) => s.final));
  return { seen: (await page.evaluate('seen')) as Seen, free: await page.evaluate('freeAt()'), stream: join(server.segments) };
}

/**
 * What a run may be off for one update. Where the browser gives no times (`blind`), a script can't know how long a
 * finished frame waits for the machine, nor that the machine kept the page itself waiting after it: what either took
 * beyond one frame, by the browser's own account, is granted.
 */
function allowed(u: Seen['shown'][number], free: Record<string, number>, blind: boolean): number {
  const beyond = (t: number) => Math.max(t - u.painted - 1000 / 60, 0);
  return tolerance + (blind ? beyond(u.t) + beyond(free[u.id] ?? 0) : 0);
}

function compare(name: string, { seen, stream, free }: Run, blind: boolean): void {
  const first = seen.shown[0] as Seen['shown'][number];
  expect(first, 'the page saw its own paints').toBeDefined();
  const off = (stream.first_meaningful_paint_at ?? Number.NaN) / 1000 - first.t;
  const painted = cumulative(stream.paint);
  const offs = seen.shown.map((u) => {
    const at = painted.find((p) => p.bytes >= u.bytes);
    expect(at, `${u.id} (${u.bytes} bytes) is painted; got ${JSON.stringify(painted.slice(-3))}`).toBeDefined();
    return (at?.t ?? 0) - u.t;
  });
  deviations.push([name, off, offs.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0)]);
  expect(Math.abs(off), 'first meaningful paint').toBeLessThanOrEqual(allowed(first, free, blind));
  for (const [i, u] of seen.shown.entries()) expect(Math.abs(offs[i] as number), u.id).toBeLessThanOrEqual(allowed(u, free, blind));
}

const variants: [string, string, number][] = [
  ['plain', '', 1],
  ['plain, slowed 6×', '', 6],
  ['no paint entries', 'blind=1', 1],
  ['no paint entries, slowed 6×', 'blind=1', 6],
  ['nodes', 'render=nodes&blind=1', 1],
  ['Markdown anew each time', 'render=html&markdown=1&blind=1', 1],
  ['Markdown, slowed 6×', 'render=html&markdown=1&blind=1&gap=60', 6],
  ['heavy Markdown', 'render=heavy&markdown=1&gap=30', 1],
  ['heavy Markdown, no attribute', 'render=heavy&markdown=1&gap=30&noattr=1', 1],
  ['drawn in animation frames', 'render=raf&blind=1', 1],
  ['drawn in animation frames, slowed 6×', 'render=raf&blind=1', 6],
  ['echo and spinner', 'echo=1&spinner=1&first=400', 1],
  ['echo and spinner, slowed 6×', 'echo=1&spinner=1&first=400', 6],
  ['echo and spinner, no paint entries', 'echo=1&spinner=1&first=400&blind=1', 1],
  ['cursor', 'cursor=1&render=html&markdown=1&blind=1', 1],
  ['found by selector', 'target=selector&blind=1', 1],
  ['stall', 'stallAt=8&stall=1500', 1],
  ['very fast', 'gap=1&n=150&blind=1', 1],
];

describe('agrees with an independent observer within one frame and 10 ms', () => {
  for (const round of [1, 2]) {
    test.each(variants)(`%s (${round})`, async (name, switches, slow) => {
      const r = await run(switches, slow);
      const { seen, stream } = r;
      compare(name, r, switches.includes('blind'));
      expect(seen.error).toBeUndefined();
      // All of the answer is accounted for, once.
      const total = new TextEncoder().encode(seen.text).length;
      expect(cumulative(stream.recv).at(-1)?.bytes).toBe(total);
      expect(cumulative(stream.dom).at(-1)?.bytes).toBe(total);
      expect(cumulative(stream.paint).at(-1)?.bytes).toBe(total);
      expect(stream.retractions ?? []).toEqual([]);
      if (switches.includes('blind')) expect(stream.paint_source).toBe('frame');
      if (switches.includes('spinner')) {
        expect(stream.first_feedback_at as number).toBeLessThan((stream.first_meaningful_paint_at as number) - 200_000);
        if (!switches.includes('blind'))
          expect(Math.abs((stream.first_feedback_at as number) / 1000 - (seen.feedback as number))).toBeLessThanOrEqual(tolerance);
      }
      expect(Math.abs((stream.submit_at as number) / 1000 - seen.clicked)).toBeLessThan(1);
    });
  }
});
