// Main-thread time that measuring adds to each chunk, on a CPU slowed down six times. One page asks again and again, in
// turns without the SDK, with nothing but empty callbacks where the SDK has its own (a MutationObserver and one animation
// frame for each frame with changes), and with the SDK; what each answer took is the browser's own account of thread time in
// tasks (`Performance.getMetrics`), which has everything in it: script, microtasks, and what the browser does for them in its
// frames; `script` is callbacks without microtasks. Nothing polls the page meanwhile: a poll would make frames of its own. Each answer is compared with the one
// without the SDK of the same turn. Prints a table; asserts nothing. BASE=folder adds another build to the turns.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Tabs } from '../tabs';

const rounds = Number(process.env.ROUNDS ?? 12);
const n = Number(process.env.CHUNKS ?? 100);
const gap = Number(process.env.GAP ?? 20);
/** Chunks that come at once. */
const burst = Number(process.env.BURST ?? 1);
const slow = Number(process.env.SLOW ?? 6);
const root = process.cwd();
const ways = ['off', 'bare', 'sdk', ...(process.env.BASE ? ['base'] : [])];

const page = `<!doctype html><meta charset="utf-8"><style>#box { contain: strict; height: 40px; overflow: hidden }</style>
<button id="ask">Ask</button><div id="box"></div><script type="module">
const box = document.getElementById('box');
const clients = {};
let asked;
const bare = new MutationObserver(() => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; });
});
globalThis.prepare = async (way, render) => {
  globalThis.way = way;
  globalThis.render = render;
  const dir = { sdk: 'dist', base: 'base' }[way];
  if (dir) clients[way] ??= (await import('/' + dir + '/index.js')).init({ url: location.origin + '/v1/rum' });
  const el = document.createElement('div');
  box.replaceChildren(el);
  bare.disconnect();
  if (way === 'bare') bare.observe(el, { childList: true, characterData: true, characterDataOldValue: true, subtree: true });
};
document.getElementById('ask').onclick = async () => {
  const el = box.firstChild;
  const a = clients[globalThis.way]?.submit({ element: el });
  const r = await (a ? a.fetch : fetch)('/stream');
  const reader = r.body.getReader();
  const d = new TextDecoder();
  let rest = '', text = '', p;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + d.decode(value, { stream: true })).split('\\n');
    rest = lines.pop();
    for (const l of lines) {
      if (!l.startsWith('data: {')) continue;
      const t = JSON.parse(l.slice(6)).choices[0].delta.content;
      text += t;
      if (globalThis.render === 'html') el.innerHTML = text.split('\\n').map((p) => '<p>' + p + '</p>').join('');
      else if (p && t !== '\\n') p.appendData(t);
      else el.append(document.createElement('p')), p = el.lastChild.appendChild(document.createTextNode(t));
    }
  }
};
globalThis.ready = true;
</script>`;

const wait = (ms: number) => new Promise((r) => setTimeout(r, ms));
let over = () => {};
const server = createServer(async (req, res) => {
  const path = new URL(req.url ?? '/', 'http://x').pathname;
  if (path === '/stream') {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < n; i++) {
      res.write(
        `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: i % 25 ? ` word${i}` : '\n' }, finish_reason: null }] })}\n\n`,
      );
      if (i % burst === 0) await wait(gap);
    }
    res.end('data: [DONE]\n\n');
    over();
  } else if (path === '/v1/rum') {
    req.resume();
    res.end('{}');
  } else if (path.startsWith('/dist/') || path.startsWith('/base/')) {
    res.writeHead(200, { 'content-type': 'text/javascript' });
    res.end(await readFile(path.startsWith('/base/') ? `${process.env.BASE}/${path.slice(6)}` : `${root}${path}`));
  } else {
    res.writeHead(200, { 'content-type': 'text/html' });
    res.end(page);
  }
});
await new Promise<void>((r) => server.listen(0, '127.0.0.1', r));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
// No Playwright here: what it switches on in a page (network events, for one) costs the page time, the SDK's requests above all.
const tabs = await Tabs.launch();
const tab = await tabs.open(url);
await tab.front();
await tab.until('globalThis.ready');
await tab.send('Emulation.setCPUThrottlingRate', { rate: slow });
await tab.send('Performance.enable', { timeDomain: 'threadTicks' });
const read = async () => {
  const { metrics } = (await tab.send('Performance.getMetrics')) as unknown as { metrics: { name: string; value: number }[] };
  return Object.fromEntries(metrics.map((m) => [m.name, m.value])) as Record<string, number>;
};

/** One answer, to the end of what the SDK still does after it. */
async function answer(way: string, render: string): Promise<void> {
  await tab.evaluate(`prepare('${way}', '${render}')`);
  const done = new Promise<void>((r) => {
    over = r;
  });
  await wait(100);
  await tab.click('ask');
  await done;
  await wait(2000);
}

/** ms of main-thread time per chunk of one answer. */
async function run(way: string, render: string): Promise<Record<string, number>> {
  const before = await read();
  await answer(way, render);
  const after = await read();
  const per = (k: string) => (((after[k] as number) - (before[k] as number)) * 1000) / n;
  return { task: per('TaskDuration'), script: per('ScriptDuration') };
}

interface Profile {
  nodes: { id: number; callFrame: { url: string; functionName: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

/** ms per chunk with a function of the SDK on the stack, and of those the ones in which it sends beacons or asks for the answer. */
async function sampled(way: string, render: string): Promise<[all: number, requests: number]> {
  await tab.send('Profiler.start');
  for (let i = 0; i < rounds; i++) await answer(way, render);
  const { profile } = (await tab.send('Profiler.stop')) as unknown as { profile: Profile };
  const node = new Map(profile.nodes.map((x) => [x.id, x]));
  const parent = new Map(profile.nodes.flatMap((x) => (x.children ?? []).map((c) => [c, x.id] as const)));
  let [all, requests] = [0, 0];
  profile.samples.forEach((id, i) => {
    const stack = [];
    for (let k: number | undefined = id; k !== undefined; k = parent.get(k)) stack.push(node.get(k)?.callFrame);
    if (!stack.some((f) => /\/(dist|base)\//.test(f?.url ?? ''))) return;
    const d = profile.timeDeltas[i + 1] ?? 0;
    all += d;
    if (stack[0]?.functionName === 'fetch') requests += d;
  });
  return [all / 1000 / rounds / n, requests / 1000 / rounds / n];
}

const quantile = (a: number[], q: number) => [...a].sort((x, y) => x - y)[Math.round((a.length - 1) * q)] as number;
console.log(`${n} chunks, ${burst} each ${gap} ms, CPU slowed ${slow}×, ${rounds} turns; ms of main thread per chunk: median (quartiles)`);
for (const render of ['text', 'html']) {
  const seen = new Map<string, Record<string, number>[]>(ways.map((w) => [w, []]));
  // The first turn warms up.
  for (let i = 0; i <= rounds; i++) {
    for (const way of i % 2 ? ways : [...ways].reverse()) {
      const r = await run(way, render);
      if (i) seen.get(way)?.push(r);
    }
  }
  for (const k of ['task', 'script']) {
    const of = (w: string) => (seen.get(w) ?? []).map((x) => x[k] as number);
    const off = of('off');
    const added = ways.slice(1).map((w) => {
      const d = of(w).map((x, i) => x - (off[i] as number));
      const [low, mid, high] = [0.25, 0.5, 0.75].map((q) => quantile(d, q).toFixed(3));
      return `${w} +${mid} (${low} … ${high})`;
    });
    console.log(`${render.padEnd(5)} ${k.padEnd(7)} off ${quantile(off, 0.5).toFixed(3)}   ${added.join('   ')}`);
  }
}
// Where samples fall; they are of wall time, so on a busy machine they count the waiting for a core, too.
await tab.send('Profiler.enable');
await tab.send('Profiler.setSamplingInterval', { interval: 100 });
for (const render of ['text', 'html']) {
  for (const way of ways.slice(2)) {
    const [all, requests] = await sampled(way, render);
    console.log(`${render.padEnd(5)} ${way} on the stack ${all.toFixed(3)}, of which requests ${requests.toFixed(3)}`);
  }
}
await tabs.close();
server.closeAllConnections();
server.close();
