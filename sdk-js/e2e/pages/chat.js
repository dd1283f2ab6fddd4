// One chat page with switches in its address:
//   sdk=0        without the SDK
//   blind=1      the SDK sees no paint entries, as in browsers that have none
//   probes=0     no probes on the page, whose paint entries the SDK sees too; each update leaves marks in the trace instead
//   via          fetch | eventsource | websocket | global | text
//   render       text | nodes | html (all of it anew each time, from Markdown) | heavy (the same, slowly) | raf | retract |
//                replaced (as text, but the element makes way for another one now and then, and is then written anew)
//   echo, spinner, cursor=1   what stands on the page before and beside the answer
//   collector    address of the collector; key, sample, consent
//   and everything the server's streams understand (n, gap, first, stallAt, stall, markdown, fail, hang)
const q = new URLSearchParams(location.search);
const on = (k) => q.get(k) === '1';
const via = q.get('via') ?? 'fetch';
const render = q.get('render') ?? 'text';
const enc = new TextEncoder();
const $ = (id) => document.getElementById(id);

// --- the page's own observer of what is on the screen ---
const seen = { text: '', html: '', got: [], shown: [], clicked: 0 };
const probes = new Map();
const free = new Map();
new PerformanceObserver((list) => {
  const told = performance.now();
  for (const e of list.getEntries()) {
    const id = e.identifier;
    if (!probes.has(id)) continue;
    const p = { id, bytes: probes.get(id), painted: e.paintTime, t: e.presentationTime, told, free: free.get(id) };
    if (id === 'feedback') seen.feedback = p;
    else seen.shown.push(p);
  }
}).observe({ type: 'element', buffered: true });
function probe(id, bytes) {
  // After the frame that shows it, and after all that was put behind that frame, the SDK's own look at it, too.
  const task = (f) => scheduler.postTask(f, { priority: 'user-blocking' });
  const after = (f) => task(() => task(f));
  const behind = (f) => requestAnimationFrame(() => after(f));
  if (q.get('probes') === '0') {
    if (id === 'feedback') return;
    performance.mark(`update ${bytes}`);
    // What is drawn in an animation frame is in that one already.
    (render === 'raf' ? after : behind)(() => performance.mark(`behind ${bytes}`));
    return;
  }
  const p = document.createElement('p');
  p.setAttribute('elementtiming', id);
  p.textContent = `probe ${id}`;
  probes.set(id, bytes);
  behind(() => free.set(id, performance.now()));
  // One that is gone before its frame is on the screen is never reported.
  $('probes').append(p);
  setTimeout(() => p.remove(), 1000);
}

if (on('blind')) {
  const Real = PerformanceObserver;
  globalThis.PerformanceObserver = class extends Real {
    static get supportedEntryTypes() {
      return [];
    }
  };
}

// --- the SDK ---
let sdk = {};
let fermata;
if (q.get('sdk') !== '0') {
  sdk = {
    ...(await import('/dist/index.js')),
    ...(await import('/dist/eventsource.js')),
    ...(await import('/dist/websocket.js')),
    ...(await import('/dist/autofetch.js')),
  };
  fermata = sdk.init({
    url: q.get('collector') ?? `${location.origin}/v1/rum`,
    app: 'e2e',
    ...(q.get('key') && { key: q.get('key') }),
    flushInterval: Number(q.get('flush') ?? 500),
    ...(q.get('sample') && { sampleRate: Number(q.get('sample')) }),
    ...(q.get('consent') && { consent: q.get('consent') === 'pending' ? 'pending' : q.get('consent') === '1' }),
    onError: (e) => {
      throw e;
    },
    ...(on('tolerant') && { onError: undefined }),
    defaults: on('noattr') ? { elementTiming: false } : {},
  });
  globalThis.fermata = fermata;
}

// --- the app ---
const parts = (s) => s.match(/<[^>]+>|[^<]+/g) ?? [];
const markdown = (s) =>
  s
    .replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c])
    .replace(/```\w*\n([\s\S]*?)```/g, '<pre>$1</pre>')
    .replace(/\[([^\]]*)\]\(([^)]*)\)/g, '<a href="$2">$1</a>')
    .replace(/\*\*([^*]+)\*\*/g, '<b>$1</b>')
    .replace(/\*([^*]+)\*/g, '<i>$1</i>')
    .replace(/`([^`\n]+)`/g, '<code>$1</code>')
    .replace(/^## (.*)$/gm, '<h2>$1</h2>')
    .replace(/^\d+\. (.*)$/gm, '<li>$1</li>')
    .split('\n\n')
    .map((b) => `<div>${b}</div>`)
    .join('');

function renderer(el) {
  let shown = '';
  let updates = 0;
  let most = 0;
  const cursor = on('cursor') ? '▍' : '';
  const paint = (text) => {
    const delta = text.slice(shown.length);
    shown = text;
    if (render === 'replaced' && updates) {
      if (updates % 12 === 11) el.textContent = text;
      else el.firstChild.appendData(delta);
      if (updates % 12 === 8) {
        const next = el.cloneNode(true);
        el.replaceWith(next);
        el = next;
      }
    } else if (render === 'text' || render === 'replaced' || render === 'raf' || render === 'retract') {
      if (cursor) el.textContent = text + cursor;
      else if (updates && el.firstChild) el.firstChild.appendData(delta);
      else el.replaceChildren(document.createTextNode(text));
    } else if (render === 'nodes') {
      if (!updates) el.replaceChildren();
      const span = document.createElement('span');
      span.textContent = delta;
      el.append(span);
    } else {
      el.innerHTML = markdown(text) + cursor;
      if (render === 'heavy') {
        const end = performance.now() + Number(q.get('busy') ?? 40);
        while (performance.now() < end) parts(el.innerHTML);
      }
    }
    // Markup alone is no text that a user could see.
    const letters = el.textContent.replace(/[^\p{L}\p{N}]/gu, '').length;
    if (letters > most) probe(`u${updates}`, enc.encode(text).length);
    most = Math.max(most, letters);
    updates++;
  };
  let waiting;
  return (text) => {
    if (render !== 'raf') return paint(text);
    if (!waiting) {
      requestAnimationFrame(() => {
        const t = waiting;
        waiting = undefined;
        paint(t);
      });
    }
    waiting = text;
  };
}

let stop = () => {};
$('stop').onclick = () => stop();
$('ask').onclick = async (event) => {
  seen.clicked = event.timeStamp;
  const answer = via === 'global' ? undefined : fermata?.submit(q.get('target') === 'selector' ? { element: '.answer' } : {});
  if (on('echo')) $('question').textContent = 'The question as the user put it, which is a good deal longer than the first word of any answer';
  const el = document.createElement('div');
  el.className = 'answer';
  if (on('spinner')) el.textContent = 'Thinking…';
  if (on('echo') || on('spinner')) probe('feedback', 0);
  $('answers').append(el);
  if (on('spinner')) {
    let n = 0;
    const t = setInterval(() => {
      if (seen.got.length) clearInterval(t);
      else el.textContent = `Thinking${'.'.repeat(1 + (n++ % 3))}`;
    }, 60);
  }
  if (q.get('target') !== 'selector') answer?.observe(el);
  const show = renderer(el);
  const take = (text) => {
    seen.text += text;
    seen.got.push([performance.now(), enc.encode(seen.text).length]);
    show(seen.text);
  };
  try {
    await ways[via](answer, take);
  } catch (e) {
    seen.error = e.name;
  }
  if (render === 'retract') {
    // It has been on the screen, whatever the machine does.
    await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 300))));
    el.textContent = 'This answer was withdrawn.';
  }
  seen.html = el.innerHTML;
  globalThis.finished = true;
};

const search = location.search;
const ways = {
  async fetch(answer, take) {
    const f = answer ? answer.fetch : fetch;
    const c = new AbortController();
    stop = () => c.abort();
    const res = await f(`/api/chat${search}`, { method: 'POST', body: '{}', signal: c.signal });
    if (!res.ok) throw new Error(String(res.status));
    let rest = '';
    const reader = res.body.getReader();
    const d = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + d.decode(value, { stream: true })).split('\n');
      rest = lines.pop();
      for (const l of lines) {
        if (!l.startsWith('data: {')) continue;
        const text = JSON.parse(l.slice(6)).choices[0]?.delta?.content;
        if (text) take(text);
      }
    }
  },
  // A page that knows nothing of the SDK: the global fetch is instrumented.
  async global(_answer, take) {
    if (fermata) sdk.instrumentFetch(fermata);
    await ways.fetch(undefined, take);
  },
  async text(answer, take) {
    const res = await (answer ? answer.fetch : fetch)(`/api/text${search}`);
    for await (const s of res.body.pipeThrough(new TextDecoderStream())) take(s);
  },
  eventsource(answer, take) {
    return new Promise((resolve) => {
      const es = new EventSource(`/api/events${search}`);
      if (answer) sdk.watchEventSource(answer, es);
      es.addEventListener('token', (e) => take(JSON.parse(e.data).text));
      es.addEventListener('end', () => {
        es.close();
        resolve();
      });
    });
  },
  websocket(answer, take) {
    return new Promise((resolve) => {
      const ws = new WebSocket(`${location.origin.replace('http', 'ws')}/socket${search}`);
      if (answer) sdk.watchWebSocket(answer, ws);
      ws.onopen = () => ws.send('go');
      ws.onmessage = (e) => {
        const m = JSON.parse(e.data);
        if (m.done) resolve();
        else take(m.content);
      };
    });
  },
};
globalThis.seen = seen;
globalThis.ready = true;
