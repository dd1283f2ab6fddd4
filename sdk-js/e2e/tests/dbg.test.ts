import { test } from 'vitest';
import { launch, open, until } from '../browser';
import { TestServer } from '../server';
import { cumulative, join } from '../streams';

test('dbg', async () => {
  const server = await new TestServer().start();
  const browser = await launch();
  const page = await open(browser, `${server.url}/chat.html?${process.env.SW}`, Number(process.env.SLOW ?? 1));
  page.on('console', (m) => console.log(m.text()));
  await until(page, 'globalThis.ready');
  await page.evaluate(`globalThis.F=[];`);
  await page.click('#ask');
  await until(page, 'globalThis.finished');
  await server.until('final', () => server.segments.some((s) => s.final));
  const seen: any = await page.evaluate('seen');
  const s = join(server.segments);
  console.log('fmp', s.first_meaningful_paint_at, s.paint_source, 'feedback', s.first_feedback_at);
  console.log('shown', JSON.stringify(seen.shown.slice(0, 12)));
  console.log('paint', JSON.stringify(cumulative(s.paint).slice(0, 12)));
  console.log('dom', JSON.stringify(cumulative(s.dom).slice(0, 12)));
  console.log('got', JSON.stringify(seen.got.slice(0, 12)));
  console.log('lf', JSON.stringify(s.long_frames?.slice(0, 12)));
  const painted = cumulative(s.paint);
  for (const u of seen.shown) {
    const i = painted.findIndex((p) => p.bytes >= u.bytes);
    const at = painted[i];
    if (!at || Math.abs(at.t - u.t) > 26) console.log('off', JSON.stringify(u), JSON.stringify(painted.slice(Math.max(i - 2, 0), i + 2)));
  }
  await browser.close();
  await server.stop();
});
