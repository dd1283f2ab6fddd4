import { heavyRenderer, renderer } from './markdown.js';

/* global fermata */

const $ = (id) => document.getElementById(id);
const minutes = 60_000;

/** What each fault does, in the user's words. The scripted model's own are only offered with it. */
const modelFaults = {
  stall: 'The model freezes for 3 s in the middle.',
  stutter: 'The model pauses for a second every 40 tokens.',
  crawl: 'The middle third comes at a tenth of the pace.',
  loop: 'The model repeats itself until its length limit.',
  burst: 'The model holds tokens back and lets them go in bursts.',
  error: 'An error event in the middle.',
  cut: 'The connection breaks in the middle.',
  'slow-start': 'Four seconds until the first token.',
  silent: 'The model falls silent for good; stop it yourself.',
  'http-500': 'No answer: status 500.',
  overload: 'No answer: status 429.',
  think: 'No fault: reasoning before the answer.',
};
const otherFaults = {
  buffering: 'A proxy between model and page holds the answer back and lets it through every 1.5 s.',
  heavy: 'The page makes its Markdown anew with each piece, and once works for 1.8 s before it shows more.',
  skew: 'This page’s clock is 47 minutes ahead of the server’s.',
};

// --- measuring: what an application would write, too ---

const base = { url: new URL('rum', location.href).href, app: 'playground', page: () => '/playground/', flushInterval: 1000 };
const honest = fermata.init(base);
let skewed;
/** The same page on a machine whose clock is wrong. */
function skewedClient() {
  skewed ??= fermata.init({
    ...base,
    env: {
      now: () => performance.now(),
      origin: performance.timeOrigin + 47 * minutes,
      wall: () => Date.now() + 47 * minutes,
      random: () => Math.random(),
      setTimeout: (f, ms) => setTimeout(f, ms),
      clearTimeout: (id) => clearTimeout(id),
    },
  });
  return skewed;
}

// --- settings ---

let setup = { upstreams: ['demo'], demo: 'demo', faults: Object.keys(modelFaults) };
const isDemo = () => $('upstream').value === setup.demo;

function option(value, text) {
  const o = document.createElement('option');
  o.value = value;
  o.textContent = text;
  return o;
}

function group(label, faults) {
  const g = document.createElement('optgroup');
  g.label = label;
  g.append(...faults.map((f) => option(f, f.replace('-', ' '))));
  return g;
}

function showFaults() {
  const before = $('fault').value;
  const list = [option('', 'none')];
  if (isDemo()) list.push(group('the model', setup.faults.filter((f) => f in modelFaults)));
  list.push(group('the way', ['buffering']), group('this page', ['heavy', 'skew']));
  $('fault').replaceChildren(...list);
  $('fault').value = before;
  if ($('fault').selectedIndex < 0) $('fault').value = '';
  tellFault();
}

function tellFault() {
  const f = $('fault').value;
  $('fault-text').textContent = modelFaults[f] ?? otherFaults[f] ?? '';
}

async function showUpstream() {
  const name = $('upstream').value;
  $('model-field').hidden = isDemo();
  $('key-field').hidden = isDemo();
  showFaults();
  $('models').replaceChildren();
  $('model').value = '';
  if (isDemo()) return;
  const res = await fetch(`tap/${encodeURIComponent(name)}/v1/models`, { headers: credentials() }).catch(() => undefined);
  const list = res?.ok ? ((await res.json().catch(() => ({}))).data ?? []) : [];
  if ($('upstream').value !== name) return;
  $('models').replaceChildren(...list.map((m) => option(m.id, '')));
  $('model').value ||= list[0]?.id ?? '';
}

const credentials = () => ($('key').value ? { authorization: `Bearer ${$('key').value}` } : {});

// --- asking ---

/** What was said so far, for the model. */
const history = [];
let stop;

function element(tag, className, into) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  into.append(e);
  return e;
}

/** One question with its answer on the page. */
function newTurn(question) {
  $('hint').hidden = true;
  const turn = element('article', '', $('talk'));
  element('p', 'question', turn).textContent = question;
  const reasoning = element('div', 'reasoning', turn);
  const answer = element('div', 'answer', turn);
  answer.setAttribute('aria-busy', 'true');
  const facts = element('div', 'facts', turn);
  turn.scrollIntoView({ block: 'end' });
  return { turn, reasoning, answer, facts };
}

async function ask() {
  const question = $('question').value.trim() || $('question').placeholder;
  const fault = $('fault').value;
  const client = fault === 'skew' ? skewedClient() : honest;
  // First of all, in the handler of the user's action.
  const measured = client.submit({ contentKind: 'markdown' });
  const view = newTurn(question);
  measured.observe(view.answer);

  const abort = new AbortController();
  stop = () => abort.abort();
  busy(true);
  const at = performance.now();
  const times = [];
  let text = '';
  const show = fault === 'heavy' ? heavyRenderer(view.answer) : renderer(view.answer);
  let problem = '';
  try {
    history.push({ role: 'user', content: question });
    const response = await measured.fetch(address(fault), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(isDemo() ? {} : credentials()) },
      body: JSON.stringify({
        model: isDemo() ? `demo${fault in modelFaults ? `-${fault}` : ''}` : $('model').value,
        stream: true,
        messages: history.slice(-9),
      }),
      signal: abort.signal,
    });
    link(view, response.headers.get('x-request-id') ?? measured.requestId);
    if (!response.ok) throw new Error(await refusal(response));
    for await (const delta of deltas(response.body)) {
      if (delta.error) throw new Error(delta.error);
      if (delta.reasoning) view.reasoning.append(delta.reasoning);
      if (!delta.text) continue;
      text += delta.text;
      times.push(performance.now());
      show(text);
      follow(view.turn);
    }
  } catch (e) {
    problem = e.name === 'AbortError' ? 'You stopped it.' : e.message;
  }
  history.push({ role: 'assistant', content: text });
  view.answer.removeAttribute('aria-busy');
  if (problem) element('p', 'problem', view.turn).textContent = problem;
  view.turn.append(view.facts);
  tellTimes(view, at, times);
  busy(false);
  link(view, measured.requestId);
  view.turn.scrollIntoView({ block: 'end' });
  await tellFindings(view, measured.requestId);
}

function address(fault) {
  const url = `tap/${encodeURIComponent($('upstream').value)}/v1/chat/completions`;
  return fault === 'buffering' ? `${url}?hold=1500ms` : url;
}

/** Why there is no answer. */
async function refusal(response) {
  const body = await response.text();
  let told = body;
  try {
    told = JSON.parse(body).error?.message ?? body;
  } catch {}
  return `${response.status}: ${told.slice(0, 300)}`;
}

/** The pieces of an OpenAI chat stream. */
async function* deltas(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const data = line.startsWith('data:') ? line.slice(5).trim() : '';
      if (!data || data === '[DONE]') continue;
      const event = JSON.parse(data);
      if (event.error) yield { error: event.error.message ?? 'the model failed' };
      const d = event.choices?.[0]?.delta ?? {};
      yield { text: d.content ?? '', reasoning: d.reasoning_content ?? d.reasoning ?? '' };
    }
  }
}

/** Keeps the end in view, unless the reader has scrolled away from it. */
let following;
function follow(turn) {
  following ??= requestAnimationFrame(() => {
    following = undefined;
    const t = $('talk');
    if (t.scrollHeight - t.scrollTop - t.clientHeight < 160) turn.scrollIntoView({ block: 'end' });
  });
}

// --- what is told about an answer ---

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`);

function fact(view, text) {
  element('span', '', view.facts).textContent = text;
}

function link(view, id) {
  if (!id || view.link) return;
  view.link = element('a', '', view.facts);
  view.link.href = `/requests/${encodeURIComponent(id)}`;
  view.link.target = '_blank';
  view.link.textContent = 'Timeline';
}

function tellTimes(view, at, times) {
  if (!times.length) return;
  fact(view, `first text after ${seconds(times[0] - at)}`);
  if (times.length > 1) fact(view, `longest pause ${seconds(Math.max(...times.slice(1).map((t, i) => t - times[i])))}`);
}

const wait = (ms) => new Promise((r) => setTimeout(r, ms));

/** Asks for the joined request until the page's own account is in it, and says what was found. */
async function tellFindings(view, id) {
  if (!id) return;
  const list = element('ul', 'findings', view.facts);
  list.setAttribute('aria-label', 'Findings');
  let over = false;
  for (let i = 0; i < 60; i++) {
    await wait(i ? 1000 : 300);
    const res = await fetch(`/v1/requests/${encodeURIComponent(id)}`).catch(() => undefined);
    const request = res?.ok ? await res.json() : undefined;
    if (!request?.client) continue;
    const items = request.findings.map((f) => {
      const item = document.createElement('li');
      item.className = f.severity;
      item.textContent = `${f.kind.replaceAll('_', ' ')}${f.attribution ? ` · ${f.attribution.replaceAll('_', ' ')}` : ''} · ${seconds(f.duration_us / 1000)}`;
      return item;
    });
    const before = over;
    over = request.state !== 'running' && request.client.state !== 'running';
    if (!items.length && over) {
      const none = document.createElement('li');
      none.className = 'none';
      none.textContent = 'nothing found';
      items.push(none);
    }
    list.replaceChildren(...items);
    follow(view.turn);
    // What is found of it may be stored a moment after its end.
    view.turn.dataset.joined = String(over && before);
    if (over && before) return;
  }
}

// --- the page ---

function busy(on) {
  $('send').disabled = on;
  $('stop').disabled = !on;
  if (!on) $('question').focus();
}

$('ask').addEventListener('submit', (e) => {
  e.preventDefault();
  if ($('send').disabled) return;
  ask();
  $('question').value = '';
});
$('question').addEventListener('keydown', (e) => {
  if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
  e.preventDefault();
  $('ask').requestSubmit($('send').disabled ? undefined : $('send'));
});
document.addEventListener('keydown', (e) => {
  if (e.key === 'Escape' && !$('stop').disabled) stop();
});
$('stop').addEventListener('click', () => stop());
$('settings').addEventListener('submit', (e) => e.preventDefault());
$('upstream').addEventListener('change', showUpstream);
$('key').addEventListener('change', showUpstream);
$('fault').addEventListener('change', tellFault);

try {
  setup = await (await fetch('setup.json')).json();
} catch {
  $('hint').textContent = 'The server that serves this page does not answer.';
}
$('upstream').replaceChildren(
  ...setup.upstreams.map((u) => option(u, u === setup.demo ? 'built-in scripted model' : u === 'default' ? 'your model' : u)),
);
await showUpstream();
document.documentElement.dataset.ready = 'true';
$('question').focus();
