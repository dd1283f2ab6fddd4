// Main-thread time that measuring adds to each chunk, on a CPU slowed down six times: the same page without the SDK, with
// it, and with nothing but empty callbacks where the SDK has its own (MutationObserver, animation frame, task behind it), in
// turns, by the browser's own account of thread time. Only the middle of each stream counts, and nothing polls the page
// meanwhile: a poll would make frames of its own. Prints a table; asserts nothing.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';

const rounds = Number(process.env.ROUNDS ?? 7);
const n = Number(process.env.CHUNKS ?? 200);
const gap = Number(process.env.GAP ?? 20);
const slow = Number(process.env.SLOW ?? 6);
const root = new URL('../../', import.meta.url);

const page = `<!doctype html><meta charset="utf-8"><button id="ask">Ask</button><div id="answer"></div><script type="module">
const q = new URLSearchParams(location.search);
const f = q.get('sdk') === '1' ? (await import('/dist/index.js')).init({ url: location.origin + '/v1/rum' }) : undefined;
document.getElementById('ask').onclick = async () => {
  const el = document.getElementById('answer');
  const a = f?.submit({ element: el });
  const r = await (a ? a.fetch : fetch)('/stream');
  const reader = r.body.getReader();
  const d = new TextDecoder();
  let rest = '', text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + d.decode(value, { stream: true })).split('\\n');
    rest = lines.pop();
    for (const l of lines) {
      if (!l.startsWith('data: {')) continue;
      const t = JSON.parse(l.slice(6)).choices[0].delta.content;
      text += t;
      if (q.get('render') === 'html') el.innerHTML = text.split('\\n').map((p) => '<p>' + p + '</p>').join('');
      else el.append(t);
    }
  }
  globalThis.finished = true;
};
if (q.get('sdk') === 'bare') {
  let asked = false;
  new MutationObserver(() => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => scheduler.postTask(() => { asked = false; }, { priority: 'user-blocking' }));
  }).observe(document.getElementById('answer'), { childList: true, characterData: true, subtree: true });
}
globalThis.ready = true;
</script>`;

const server = createServer(async (req, res) => {
  const path = (req.url ?? '/').split('?')[0];
  if (path === '/stream') {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < n; i++) {
      res.write(
        `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: i % 25 ? ` word${i}` : '\n' }, finish_reason: null }] })}\n\n`,
      );
      await new Promise((r) => setTimeout(r, gap));
    }
    res.end('data: [DONE]\n\n');
  } else if (path === '/v1/rum') {
    req.resume();
    res.end('{}');
  } else if (path.startsWith('/dist/')) {
    res.writeHead(200, { 'content-type': 'text/javascript' });
    res.end(await readFile(new URL(path.slice(1), root)));
  } else {
    res.writeHead(200, { 'content-type': 'text/html' });
    res.end(page);
  }
});
await new Promise((r) => server.listen(0, '127.0.0.1', r));
const url = `http://127.0.0.1:${server.address().port}/`;
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const browser = await chromium.launch({ executablePath: process.env.FERMATA_CHROMIUM ?? '/usr/bin/chromium', args });

/** ms of main-thread task and script time per chunk in one run. */
async function run(render, sdk) {
  const context = await browser.newContext();
  const p = await context.newPage();
  const cdp = await context.newCDPSession(p);
  await p.goto(`${url}?render=${render}&sdk=${sdk}`);
  await p.waitForFunction('globalThis.ready');
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slow });
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
  const shown = async () =>
    (await cdp.send('Runtime.evaluate', { expression: "document.getElementById('answer').textContent.split('word').length" })).result.value;
  const wait = (ms) => new Promise((r) => setTimeout(r, ms));
  await p.click('#ask', { noWaitAfter: true });
  await wait(600);
  const [before, from] = [await read(), await shown()];
  await wait(n * gap * 0.6);
  const [after, to] = [await read(), await shown()];
  await context.close();
  const per = (k) => ((after[k] - before[k]) * 1000) / (to - from);
  return { task: per('TaskDuration'), script: per('ScriptDuration') };
}

const median = (a) => [...a].sort((x, y) => x - y)[Math.floor(a.length / 2)];
console.log(`${n} chunks, ${gap} ms apart, CPU slowed ${slow}×, median of ${rounds} runs in turns; ms of main thread per chunk (thread time)`);
console.log('page                      without   + empty     + SDK');
for (const render of ['text', 'html']) {
  const ways = { 0: [], bare: [], 1: [] };
  for (let i = 0; i < rounds; i++) for (const [way, list] of Object.entries(ways)) list.push(await run(render, way));
  for (const k of ['task', 'script']) {
    const [off, bare, on] = ['0', 'bare', '1'].map((way) => median(ways[way].map((x) => x[k])));
    console.log(
      `${render.padEnd(6)} ${k.padEnd(14)} ${off.toFixed(3).padStart(10)} ${(bare - off).toFixed(3).padStart(9)} ${(on - off).toFixed(3).padStart(9)}`,
    );
  }
}
await browser.close();
server.close();
