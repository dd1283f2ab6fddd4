import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { executable, flags } from './browser';

/** One event of Chromium's trace; times in µs of its own clock. */
export interface TraceEvent {
  name: string;
  /** `X` has a duration, `b` and `e` are the ends of one with an `id`, `R` and `I` are instants. */
  ph: string;
  ts: number;
  dur?: number;
  /** Duration in the time of the thread. */
  tdur?: number;
  pid: number;
  tid: number;
  id?: string;
  id2?: { local?: string };
  args: Record<string, unknown>;
}

/**
 * A browser whose tabs really are hidden when another one is in front. Playwright's pages never are: it emulates
 * focus for each.
 */
export class Tabs {
  private _id = 0;
  private readonly _waiting = new Map<number, [(r: Record<string, unknown>) => void, (e: Error) => void]>();
  /** Events waited for, by session and method. */
  private readonly _events = new Map<string, (params: Record<string, unknown>) => void>();

  private constructor(
    private readonly _process: ChildProcess,
    private readonly _ws: WebSocket,
    private readonly _dir: string,
  ) {
    _ws.on('message', (data) => {
      const m = JSON.parse(String(data)) as {
        id?: number;
        result: Record<string, unknown>;
        error?: { message: string };
        method?: string;
        params: Record<string, unknown>;
        sessionId?: string;
      };
      if (m.method) this._events.get(`${m.sessionId} ${m.method}`)?.(m.params);
      const w = m.id === undefined ? undefined : this._waiting.get(m.id);
      if (!w) return;
      this._waiting.delete(m.id as number);
      if (m.error) w[1](new Error(m.error.message));
      else w[0](m.result);
    });
  }

  static async launch(): Promise<Tabs> {
    const dir = mkdtempSync(join(tmpdir(), 'fermata-e2e-'));
    const args = ['--headless=new', '--remote-debugging-port=0', `--user-data-dir=${dir}`, ...flags, 'about:blank'];
    const p = spawn(executable, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const url = await new Promise<string>((resolve, reject) => {
      let log = '';
      p.stderr?.on('data', (d) => {
        log += d;
        // Not before its line is whole.
        const m = /ws:\/\/\S+(?=\s)/.exec(log);
        if (m) resolve(m[0]);
      });
      p.on('exit', () => reject(new Error(`${executable} ended: ${log.slice(-500)}`)));
    });
    const ws = new WebSocket(url);
    await new Promise((r) => ws.once('open', r));
    return new Tabs(p, ws, dir);
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      this._waiting.set(++this._id, [resolve, reject]);
      this._ws.send(JSON.stringify({ id: this._id, method, params, sessionId }));
    });
  }

  async open(url: string): Promise<Tab> {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    await this.send('Page.enable', {}, String(sessionId));
    // An expression that meets the change from one document to the next fails: none is asked before this very document is
    // loaded. The empty one that a tab begins with may be told of late.
    const loads = new Set<unknown>();
    let told = () => {};
    this._events.set(`${sessionId} Page.lifecycleEvent`, ({ name, loaderId }) => {
      if (name === 'load') loads.add(loaderId);
      told();
    });
    await this.send('Page.setLifecycleEventsEnabled', { enabled: true }, String(sessionId));
    const { errorText, loaderId } = await this.send('Page.navigate', { url }, String(sessionId));
    if (errorText) throw new Error(`${url}: ${errorText}`);
    while (!loads.has(loaderId)) {
      await new Promise<void>((r) => {
        told = r;
      });
    }
    return new Tab(this, String(targetId), String(sessionId));
  }

  /** Records a trace of the whole browser until the result is called. */
  async trace(...categories: string[]): Promise<() => Promise<TraceEvent[]>> {
    const events: TraceEvent[] = [];
    this._events.set('undefined Tracing.dataCollected', ({ value }) => events.push(...(value as TraceEvent[])));
    await this.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: categories, excludedCategories: ['*'] } });
    return async () => {
      const all = new Promise<void>((r) => this._events.set('undefined Tracing.tracingComplete', () => r()));
      await this.send('Tracing.end');
      await all;
      return events;
    };
  }

  async close(): Promise<void> {
    const gone = new Promise((r) => this._process.once('exit', r));
    await this.send('Browser.close').catch(() => this._process.kill());
    await gone;
    this._ws.close();
    rmSync(this._dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Tab {
  constructor(
    private readonly _tabs: Tabs,
    private readonly _target: string,
    private readonly _session: string,
  ) {}

  send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this._tabs.send(method, params, this._session);
  }

  async evaluate<T>(expression: string): Promise<T> {
    const r = await this._tabs.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, this._session);
    if (r.exceptionDetails) throw new Error(JSON.stringify(r.exceptionDetails));
    return (r.result as { value: T }).value;
  }

  async until(expression: string, ms = 90_000): Promise<void> {
    const end = Date.now() + ms;
    while (!(await this.evaluate(expression))) {
      if (Date.now() > end) throw new Error(`timed out waiting for ${expression}`);
      await new Promise((r) => setTimeout(r, 20));
    }
  }

  async front(): Promise<void> {
    await this._tabs.send('Target.activateTarget', { targetId: this._target });
  }

  async close(): Promise<void> {
    await this._tabs.send('Target.closeTarget', { targetId: this._target });
  }

  async click(id: string): Promise<void> {
    const [x, y] = await this.evaluate<[number, number]>(
      `(() => { const r = document.getElementById('${id}').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`,
    );
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this._tabs.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 }, this._session);
    }
  }
}
