import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deviations, type Shown, tolerance, worst } from '../compare';
import { TestServer } from '../server';
import { join } from '../streams';
import { Tabs, type TraceEvent } from '../tabs';

// A second observer: the frames of DevTools' own trace, on pages without a single probe. The browser tells such a page
// nothing of text that is appended, so the SDK's times of those updates are its frame estimates, as on any real page.

let tabs: Tabs;
let server: TestServer;
const table: string[] = [];

beforeAll(async () => {
  [tabs, server] = [await Tabs.launch(), await new TestServer().start()];
});
afterAll(async () => {
  await tabs.close();
  await server.stop();
  console.log(`paint times against DevTools' frames, no probes on the page, ms:\n${table.join('\n')}`);
});
beforeEach(() => server.reset());

/** Times in µs of the trace's clock. */
interface Frame {
  /** When its animation callbacks came up: from here on the SDK may have to guess how long it takes. */
  begin: number;
  end: number;
  shown: number;
}

/** `lost`: ms beyond a frame's time that the machine, and not the page, took from it. */
type Observed = Shown & { lost: number };

/** Every update by the page's marks, shown with the first frame that ends after it. */
function observed(trace: TraceEvent[]): Observed[] {
  const marks = trace.filter((e) => e.name.startsWith('update '));
  const anchor = marks[0] as TraceEvent & { args: { data: { startTime: number; callTime: number } } };
  const main = trace.filter((e) => e.pid === anchor.pid && e.tid === anchor.tid).sort((a, b) => a.ts - b.ts);
  const frames: Frame[] = [];
  const open = new Map<unknown, Frame>();
  let current: Frame | undefined;
  for (const e of main) {
    if (e.name === 'AnimationFrame' && e.ph === 'b') {
      current = { begin: e.ts, end: 0, shown: 0 };
      open.set(e.args.id, current);
      frames.push(current);
    } else if (e.name === 'AnimationFrame::Render' && e.ph === 'b' && current) {
      current.begin = e.ts;
    } else if (e.name === 'AnimationFrame' && e.ph === 'e' && current) {
      current.end = e.ts;
    } else if (e.name === 'AnimationFrame::Presentation') {
      const f = open.get(e.args.id);
      if (f) f.shown = e.ts;
    }
  }
  // From the trace's clock to the page's.
  const { startTime, callTime } = anchor.args.data;
  const ms = (ts: number) => startTime + (ts - callTime) / 1000;
  // No script can know how long a finished frame waits for the screen, nor that the machine kept one from its end or the page's
  // thread from what was put behind it: where that took more than a frame's time, it is granted. What the thread itself did in
  // the meantime is not.
  const tasks = main.filter((e) => e.name === 'RunTask' && e.ph === 'X');
  const ran = (e: TraceEvent, from: number, until: number) => {
    const { dur = 0, tdur = dur } = e;
    // A task that began before, or ends after, ran there for as long as it was at least not kept from it.
    return Math.max(Math.min(e.ts + dur, until) - Math.max(e.ts, from) - (dur - tdur), 0);
  };
  const idle = (from: number, until: number) => until - from - tasks.reduce((sum, e) => sum + ran(e, from, until), 0);
  const behind = trace.filter((e) => e.name.startsWith('behind '));
  const called = (m: TraceEvent) => (m.args as { data: { callTime: number } }).data.callTime;
  return marks.map((m) => {
    const f = frames.find((x) => x.shown && x.end >= called(m));
    const free = behind.find((b) => b.name.slice(7) === m.name.slice(7));
    if (!f || !free) throw new Error(`no frame of the trace shows ${m.name}`);
    const took = idle(f.begin, f.end) + (f.shown - f.end) + idle(f.end, Math.max(f.end, called(free)));
    return { bytes: Number(m.name.slice(7)), t: ms(f.shown), lost: Math.max(took - 1e6 / 60, 0) / 1000 };
  });
}

const runs: [name: string, switches: string, slow: number][] = [
  ['plain', '', 1],
  ['nodes', 'render=nodes', 1],
  ['Markdown anew each time', 'render=html&markdown=1', 1],
  ['heavy Markdown', 'render=heavy&markdown=1&gap=30', 1],
  ['drawn in animation frames', 'render=raf&n=80', 1],
  ['echo and spinner', 'echo=1&spinner=1&first=400', 1],
];

/** Until a frame is on the screen that the page only begins now: whatever was before it, the trace has by then. */
const another = `new Promise((shown) => {
  new PerformanceObserver(shown).observe({ type: 'element' });
  const p = document.createElement('p');
  p.setAttribute('elementtiming', 'another');
  p.textContent = 'another';
  document.body.prepend(p);
}).then(() => true)`;

describe("agrees with DevTools' frames within one frame and 10 ms, with nothing on the page that helps", () => {
  test.each(runs)('%s', async (name, switches, slow) => {
    const tab = await tabs.open(`${server.url}/chat.html?probes=0&${switches}`);
    await tab.front();
    await tab.until('globalThis.ready && document.visibilityState === "visible"');
    await tab.send('Emulation.setCPUThrottlingRate', { rate: slow });
    const stop = await tabs.trace('blink.user_timing', 'devtools.timeline', 'disabled-by-default-devtools.timeline');
    await tab.click('ask');
    await tab.until('globalThis.finished');
    await server.whole();
    await tab.evaluate(another);
    const seen = observed(await stop());
    await tab.close();
    expect(seen.length).toBeGreaterThan(5);
    const { first, updates } = deviations(seen, join(server.segments));
    const lost = seen.map((u) => u.lost).filter((l) => l > 0);
    table.push(
      `  ${name}: first ${first.toFixed(1)}, worst ${worst(updates).toFixed(1)}; the machine took up to ${Math.max(0, ...lost).toFixed(1)} from ${lost.length} of ${seen.length}`,
    );
    for (const [i, u] of seen.entries()) {
      expect(Math.abs(updates[i] as number), `update to ${u.bytes} bytes`).toBeLessThanOrEqual(tolerance + u.lost);
      if (!i) expect(Math.abs(first), 'first meaningful paint').toBeLessThanOrEqual(tolerance + u.lost);
    }
  });
});
