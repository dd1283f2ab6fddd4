import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import { type WebSocket, WebSocketServer } from 'ws';
import type { WireBeacon, WireStream } from '../src/core/types';
import { schema } from '../test/schema';

const root = new URL('..', import.meta.url);
const check = schema('rum');

/** How the collector behaves. */
export type Mood = 'ok' | 'slow' | 'garbage' | 'busy' | 'cut';

/** A streaming backend, the pages, and a collector in memory, on one port. */
export class TestServer {
  beacons: WireBeacon[] = [];
  bodies: string[] = [];
  /** Requests to the chat endpoints: headers, whether the client went away, and when each chunk was written (ms since the epoch). */
  requests: { url: string; headers: IncomingMessage['headers']; aborted: boolean; sent: number[] }[] = [];
  mood: Mood = 'ok';
  /** Answers to give before the mood is `ok` again; Infinity: for ever. */
  moody = Number.POSITIVE_INFINITY;
  /** When the test began, ms since the epoch: pages loaded before are another test's, and what they still send is not looked at. */
  private _since = 0;
  private _held: Promise<void> | undefined;
  private _invalid: string | undefined;
  url = '';

  private readonly _http: Server;
  private readonly _ws = new WebSocketServer({ noServer: true });
  private readonly _waiters: (() => void)[] = [];
  private readonly _bundles = new Map<string, Promise<string>>();

  constructor() {
    this._http = createServer((req, res) => {
      this._serve(req, res).catch((e) => {
        if (!res.headersSent) res.writeHead(500);
        res.end(String(e));
      });
    });
    this._http.on('upgrade', (req, socket, head) =>
      this._ws.handleUpgrade(req, socket, head, (ws) => this._socket(ws, new URL(req.url ?? '/', 'http://x'))),
    );
  }

  async start(): Promise<this> {
    await new Promise<void>((r) => this._http.listen(0, '127.0.0.1', r));
    this.url = `http://127.0.0.1:${(this._http.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    this._ws.close();
    this._http.closeAllConnections();
    await new Promise((r) => this._http.close(r));
  }

  get port(): number {
    return (this._http.address() as AddressInfo).port;
  }

  reset(): void {
    this._since = Date.now();
    this._held = undefined;
    this.beacons = [];
    this.bodies = [];
    this.requests = [];
    this.mood = 'ok';
    this.moody = Number.POSITIVE_INFINITY;
  }

  /** Answers wait until the result is called. */
  hold(): () => void {
    let release = () => {};
    this._held = new Promise((r) => {
      release = r;
    });
    return release;
  }

  get segments(): (WireStream & { session: string })[] {
    return this.beacons.flatMap((b) => b.streams.map((s) => ({ ...s, session: b.session_id })));
  }

  /** Waits until a stream is all there: its last segment, and each one before it, whatever order they come in. */
  async whole(of: (s: WireStream & { session: string }) => boolean = () => true): Promise<void> {
    await this.until('all segments to the last', () => {
      const mine = this.segments.filter(of);
      return mine.some((last) => last.final && new Set(mine.map((s) => s.seq)).size > last.seq);
    });
  }

  /** Waits until the beacons so far fulfil a condition. */
  async until(what: string, ok: () => boolean, ms = 60_000): Promise<void> {
    const end = Date.now() + ms;
    while (this._invalid || !ok()) {
      if (this._invalid) throw new Error(`not by the schema: ${this._invalid}`);
      const left = end - Date.now();
      if (left <= 0) throw new Error(`timed out waiting for ${what}; got ${JSON.stringify(this.beacons).slice(0, 3000)}`);
      await new Promise<void>((r) => {
        this._waiters.push(r);
        setTimeout(r, Math.min(left, 200));
      });
    }
  }

  private async _serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://x');
    if (url.pathname === '/v1/rum') return this._collect(req, res);
    if (url.pathname.startsWith('/api/')) return this._chat(req, res, url);
    if (url.pathname.startsWith('/bundle/')) {
      const name = url.pathname.slice(8);
      let b = this._bundles.get(name);
      if (!b) {
        b = bundle(name);
        this._bundles.set(name, b);
      }
      res.writeHead(200, { 'content-type': 'text/javascript' });
      res.end(await b);
      return;
    }
    const file = url.pathname.startsWith('/dist/') ? url.pathname.slice(1) : `e2e/pages${url.pathname}`;
    const type = file.endsWith('.html') ? 'text/html; charset=utf-8' : file.endsWith('.css') ? 'text/css' : 'text/javascript';
    const headers: Record<string, string> = { 'content-type': type };
    if (url.searchParams.get('csp')) {
      headers['content-security-policy'] =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
    }
    const body = await readFile(new URL(file, root)).catch(() => undefined);
    res.writeHead(body ? 200 : 404, headers);
    res.end(body);
  }

  private async _collect(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.setHeader('access-control-allow-origin', '*');
    const chunks: Buffer[] = [];
    for await (const c of req) chunks.push(c as Buffer);
    const mood = this.moody-- > 0 ? this.mood : 'ok';
    if (mood === 'cut') {
      req.socket.destroy();
      return;
    }
    if (mood === 'slow') await new Promise((r) => setTimeout(r, 10_000));
    if (mood === 'busy') {
      res.writeHead(503, { 'retry-after': '1' });
      res.end();
      return;
    }
    if (mood === 'garbage') {
      res.writeHead(299, { 'content-type': 'application/json', 'retry-after': 'soon' });
      res.end(Buffer.from([0xff, 0xfe, 0x00, 0x7b]));
      return;
    }
    const body = Buffer.concat(chunks).toString('utf8');
    const beacon = JSON.parse(body) as WireBeacon;
    if (beacon.clock.time_origin / 1000 < this._since - 2) {
      res.end();
      return;
    }
    this._invalid ??= check(beacon);
    this.bodies.push(body);
    this.beacons.push(beacon);
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end('{"accepted":1,"rejected":0,"errors":[]}');
    for (const w of this._waiters.splice(0)) w();
  }

  private async _chat(req: IncomingMessage, res: ServerResponse, url: URL): Promise<void> {
    const entry = { url: url.pathname, headers: req.headers, aborted: false, sent: [] as number[] };
    this.requests.push(entry);
    req.resume();
    const format = url.pathname.endsWith('/chat/completions') ? 'chat' : url.pathname.slice(5);
    // The libraries' pages have no say in the address: their switches come with the page's.
    const p = url.search ? url.searchParams : new URL(req.headers.referer ?? 'http://x').searchParams;
    if (this.requests.filter((r) => r.url === url.pathname).length <= Number(p.get('fail') ?? 0)) {
      res.writeHead(503, { 'retry-after-ms': '10' });
      res.end('{}');
      return;
    }
    const words = answerWords(p);
    res.on('close', () => {
      entry.aborted = !res.writableFinished;
    });
    await wait(Number(p.get('first') ?? 150));
    await this._held;
    const id = req.headers['x-request-id'];
    const headers: Record<string, string> = {
      'content-type': format === 'text' ? 'text/plain; charset=utf-8' : 'text/event-stream',
      'cache-control': 'no-store',
      ...(id && { 'x-request-id': String(id) }),
    };
    if (format === 'ui') headers['x-vercel-ai-ui-message-stream'] = 'v1';
    res.writeHead(200, headers);
    res.flushHeaders();
    const first = this.requests.filter((r) => r.url === url.pathname).length === 1;
    if (p.get('drop')) res.write('retry: 50\n\n');
    for (const e of opening(format)) res.write(e);
    for (const [i, w] of words.entries()) {
      if (i) await wait(gap(p, i));
      if (res.destroyed) return;
      if (first && i === Number(p.get('drop') ?? -1)) {
        res.end();
        return;
      }
      entry.sent.push(performance.timeOrigin + performance.now());
      res.write(frame(format, w));
    }
    for (const e of closing(format)) res.write(e);
    if (p.get('hang')) return;
    res.end();
  }

  private async _socket(ws: WebSocket, url: URL): Promise<void> {
    ws.on('message', async () => {
      const p = url.searchParams;
      await wait(Number(p.get('first') ?? 150));
      for (const [i, w] of answerWords(p).entries()) {
        if (i) await wait(gap(p, i));
        if (ws.readyState !== 1) return;
        ws.send(JSON.stringify({ content: w }));
      }
      ws.send(JSON.stringify({ done: true, done_reason: 'stop' }));
    });
  }
}

const wait = (ms: number) => new Promise((r) => setTimeout(r, ms));

const gap = (p: URLSearchParams, i: number) => (i === Number(p.get('stallAt') ?? -1) ? Number(p.get('stall') ?? 1500) : Number(p.get('gap') ?? 40));

/** The answer, in chunks; the same on every run. */
export function answerWords(p: URLSearchParams): string[] {
  const n = Number(p.get('n') ?? 20);
  if (p.get('markdown')) {
    const s = markdown.repeat(Math.ceil(n / 20));
    return s.match(/[\s\S]{1,7}/g) ?? [];
  }
  return Array.from({ length: n }, (_, i) => `${['Žluťoučký', 'word', '日本語', 'lamp🙂', 'of the'][i % 5]}${i} `);
}

const markdown = `## Three lamps

The **first** lamp is [red](https://example.com/lamps/red?x=1), the *second* one \`green\`.

1. one thing
2. another thing

\`\`\`js
const a = 1;
\`\`\`

`;

const sse = (v: unknown) => `data: ${typeof v === 'string' ? v : JSON.stringify(v)}\n\n`;
const chat = (delta: object, finish: string | null = null) =>
  sse({ id: 'chatcmpl-e2e', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] });

function opening(format: string): string[] {
  if (format === 'chat') return [chat({ role: 'assistant', content: '' })];
  if (format === 'ui') return [sse({ type: 'start', messageId: 'm-e2e' }), sse({ type: 'text-start', id: '0' })];
  if (format === 'events') return [': welcome\n\n'];
  return [];
}

function frame(format: string, text: string): string {
  if (format === 'chat') return chat({ content: text });
  if (format === 'ui') return sse({ type: 'text-delta', id: '0', delta: text });
  if (format === 'events') return `event: token\n${sse({ text })}`;
  return text;
}

function closing(format: string): string[] {
  if (format === 'chat') return [chat({}, 'stop'), sse('[DONE]')];
  if (format === 'ui') return [sse({ type: 'text-end', id: '0' }), sse({ type: 'finish' }), sse('[DONE]')];
  if (format === 'events') return [`event: end\n${sse('[DONE]')}`];
  return [];
}

/** A page's script with its libraries, from the built SDK. */
async function bundle(name: string): Promise<string> {
  const r = await build({
    entryPoints: [new URL(`e2e/pages/${name.replace(/\.js$/, '')}.tsx`, root).pathname],
    bundle: true,
    format: 'esm',
    write: false,
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    platform: 'browser',
    logLevel: 'error',
  });
  return (r.outputFiles[0] as { text: string }).text;
}
