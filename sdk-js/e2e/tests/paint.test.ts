import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WireStream } from '../../src/core/types';
import { launch, open, type Probe, type Seen, until } from '../browser';
import { agree, deviations, estimated, late, worst } from '../compare';
import { TestServer } from '../server';
import { cumulative, join } from '../streams';

let browser: Browser;
let server: TestServer;
let page: Page | undefined;
/** Largest deviations of each run, for the log. */
const table: [name: string, first: number, worst: number][] = [];

beforeAll(async () => {
  [browser, server] = [await launch(), await new TestServer().start()];
});
afterAll(async () => {
  await browser.close();
  await server.stop();
  console.log(
    `paint times against the page's own probes, ms (first meaningful, worst update):\n${table.map(([n, f, u]) => `  ${n}: ${f.toFixed(1)}, ${u.toFixed(1)}`).join('\n')}`,
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
}

/** Asks on a page with these switches and waits for the whole story. */
async function run(switches: string, slow = 1): Promise<Run> {
  page = await open(browser, `${server.url}/chat.html?${switches}`, slow);
  await until(page, 'globalThis.ready');
  await page.click('#ask');
  await until(page, 'globalThis.finished');
  await server.whole();
  return { seen: (await page.evaluate('seen')) as Seen, stream: join(server.segments) };
}

const every = (r: Run, name: string): void => {
  const { seen, stream } = r;
  expect(seen.error).toBeUndefined();
  // All of the answer is accounted for, once.
  const total = new TextEncoder().encode(seen.text).length;
  expect(cumulative(stream.recv).at(-1)?.bytes).toBe(total);
  expect(cumulative(stream.dom).at(-1)?.bytes).toBe(total);
  expect(cumulative(stream.paint).at(-1)?.bytes).toBe(total);
  expect(stream.retractions ?? []).toEqual([]);
  if (name.includes('spinner')) {
    expect(stream.first_feedback_at as number).toBeLessThan((stream.first_meaningful_paint_at as number) - 200_000);
    const feedback = seen.feedback as Probe;
    expect(Math.abs((stream.first_feedback_at as number) / 1000 - feedback.t), 'first feedback').toBeLessThanOrEqual(estimated(feedback));
  }
  expect(Math.abs((stream.submit_at as number) / 1000 - seen.clicked)).toBeLessThan(1);
  const d = deviations(seen.shown, stream);
  table.push([name, d.first, worst(d.updates)]);
};

type Variant = [name: string, switches: string, slow: number];

const variants: Variant[] = [
  ['plain', '', 1],
  ['plain, slowed 6×', '', 6],
  ['nodes', 'render=nodes', 1],
  ['nodes, slowed 6×', 'render=nodes', 6],
  ['Markdown anew each time', 'render=html&markdown=1', 1],
  ['Markdown, slowed 6×', 'render=html&markdown=1&gap=60', 6],
  ['heavy Markdown', 'render=heavy&markdown=1&gap=30', 1],
  ['heavy Markdown, no attribute', 'render=heavy&markdown=1&gap=30&noattr=1', 1],
  ['drawn in animation frames', 'render=raf&n=80', 1],
  ['drawn in animation frames, slowed 6×', 'render=raf&n=80', 6],
  ['echo and spinner', 'echo=1&spinner=1&first=1200', 1],
  ['echo and spinner, slowed 6×', 'echo=1&spinner=1&first=1200', 6],
  ['cursor', 'cursor=1&render=html&markdown=1', 1],
  ['found by selector', 'target=selector', 1],
  ['element replaced', 'render=replaced&target=selector', 1],
  ['stall', 'stallAt=8&stall=1500', 1],
  ['very fast', 'gap=1&n=150', 1],
];

describe('agrees with presentationTime entries that the page reads itself, within one frame and 10 ms', () => {
  for (const round of [1, 2]) {
    test.each(variants)(`%s (${round})`, async (name, switches, slow) => {
      const r = await run(switches, slow);
      agree(r.seen.shown, r.stream);
      every(r, name);
      if (!late(r.seen.shown[0] as Probe)) expect(r.stream.paint_source).toMatch(/^(interaction_contentful_paint|element_timing)$/);
    });
  }
});

const blind: Variant[] = [
  ['plain', '', 1],
  ['plain, slowed 6×', '', 6],
  ['nodes', 'render=nodes', 1],
  ['Markdown anew each time', 'render=html&markdown=1', 1],
  ['Markdown, slowed 6×', 'render=html&markdown=1&gap=60', 6],
  ['drawn in animation frames', 'render=raf&n=80', 1],
  ['echo and spinner', 'echo=1&spinner=1&first=1200', 1],
  ['very fast', 'gap=1&n=150', 1],
];

describe('where the browser gives no times: the frame estimate is as near as a script can get', () => {
  test.each(blind)('%s', async (name, switches, slow) => {
    const r = await run(`${switches}&blind=1`, slow);
    expect(r.stream.paint_source).toBe('frame');
    agree(r.seen.shown, r.stream, 4, estimated);
    every(r, `${name}, no times`);
  });
});
