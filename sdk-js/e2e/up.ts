import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The binary of this tree; another one by FERMATA_BIN. */
const binary = process.env.FERMATA_BIN ?? fileURLToPath(new URL('../../bin/fermata', import.meta.url));

/** A stall, loop, … as `GET /v1/requests/{id}` tells it. */
export interface Finding {
  kind: string;
  grade: string | null;
  tier: string;
  attribution: string;
  start_us: number;
  duration_us: number;
  chunk: number | null;
  evidence: Record<string, unknown>;
}

interface Curve {
  t_us: number[];
  bytes: number[];
}

/** The parts of a joined request that the tests look at. */
export interface Joined {
  request_id: string;
  state: string;
  app: string | null;
  aliases: string[];
  attempts: {
    attempt: number;
    served: boolean;
    server: {
      started_at: number;
      emitter: string | null;
      ttft_us: number | null;
      end_us: number | null;
      n_chunks: number;
      content_bytes: number;
      finish_reason: string | null;
      error: string | null;
      chunks: Curve & { kind?: string[] };
    } | null;
    gateway: { status: number | null; deployment?: string | null } | null;
  }[];
  gateway: { started_at: number; emitter: string | null; end_us: number | null } | null;
  client: {
    state: string;
    ttft_us: number | null;
    end_us: number | null;
    content_bytes: number;
    submit_us: number;
    first_meaningful_paint_us: number | null;
    paint_source: string | null;
    chunks: Curve;
    dom: Curve | null;
    paint: Curve | null;
    visibility: { t_us: number; state: string }[] | null;
    error: string | null;
    sample_weight: number | null;
    aborted_us: number | null;
    closed_us: number | null;
    reconnects: number | null;
  } | null;
  clock: { offset_us: number; uncertainty_us: number } | null;
  perceived: { ttft_us: number | null; gap_us: number | null };
  findings: Finding[];
}

/** A real `fermata up` with its engine, on ports and in a folder of its own. */
export class Up {
  readonly api: string;
  readonly ingest: string;
  readonly tap: string;

  private constructor(
    private readonly _process: ChildProcess,
    private readonly _dir: string,
    private readonly _ready: { api: string; ingest: string; tap: string; clickhouse: string },
  ) {
    const ready = _ready;
    this.api = `http://${ready.api}`;
    this.ingest = `http://${ready.ingest}`;
    this.tap = `http://${ready.tap}`;
  }

  static async start(...args: string[]): Promise<Up> {
    if (!existsSync(binary)) throw new Error(`${binary} is missing: run make build, or set FERMATA_BIN`);
    const dir = mkdtempSync(join(tmpdir(), 'fermata-up-'));
    const ready = join(dir, 'ready.json');
    const listen = ['api', 'ingest', 'tap', 'otlp-grpc', 'otlp-http'].flatMap((n) => [`--listen-${n}`, '127.0.0.1:0']);
    const p = spawn(binary, ['up', '--data', join(dir, 'data'), '--ready-file', ready, ...listen, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    for (const s of [p.stdout, p.stderr]) s?.on('data', (d) => (log = (log + d).slice(-4000)));
    for (const end = Date.now() + 150_000; !existsSync(ready); ) {
      if (p.exitCode !== null || Date.now() > end) {
        p.kill();
        throw new Error(`${binary} up is not ready: ${log}`);
      }
      await new Promise((r) => setTimeout(r, 50));
    }
    return new Up(p, dir, JSON.parse(readFileSync(ready, 'utf8')));
  }

  async stop(): Promise<void> {
    const gone = new Promise((r) => this._process.once('exit', r));
    if (this._process.exitCode === null) {
      this._process.kill('SIGTERM');
      await gone;
    }
    rmSync(this._dir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** A collector of its own with the configuration for the public and these settings of its receiver, into this engine. */
  async publicCollector(receiver: object): Promise<{ url: string; stop: () => Promise<void> }> {
    const { fermata } = JSON.parse(readFileSync(join(this._dir, 'data', 'engine', 'credentials.json'), 'utf8')) as { fermata: string };
    const dsn = new URL(this._ready.clickhouse);
    dsn.username = 'fermata';
    dsn.password = fermata;
    const config = fileURLToPath(new URL('../../collector/configs/rum-public.yaml', import.meta.url));
    const more = [`yaml:receivers::fermata_rum: ${JSON.stringify(receiver)}`, 'yaml:service::telemetry::metrics::level: none'];
    const p = spawn(binary, ['collector', ...[config, ...more].flatMap((c) => ['--config', c])], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, FERMATA_CLICKHOUSE: dsn.href, FERMATA_QUEUE: join(this._dir, 'public-queue') },
    });
    const gone = new Promise<void>((r) => p.once('exit', () => r()));
    let log = '';
    const address = await new Promise<string>((resolve, reject) => {
      p.once('exit', () => reject(new Error(`the collector ended: ${log.slice(-4000)}`)));
      for (const s of [p.stdout, p.stderr])
        s.on('data', (d) => {
          log += d;
          const m = /HTTP server started.*?(127\.0\.0\.1:\d+)/.exec(log);
          if (m) resolve(m[1] as string);
        });
    });
    return {
      url: `http://${address}/v1/rum`,
      stop: () => {
        p.kill('SIGTERM');
        return gone;
      },
    };
  }

  /** Asks for the joined request until it fulfils a condition. */
  async request(id: string, what: string, ok: (r: Joined) => boolean, ms = 90_000): Promise<Joined> {
    let last = '';
    for (const end = Date.now() + ms; Date.now() < end; ) {
      const res = await fetch(`${this.api}/v1/requests/${encodeURIComponent(id)}`);
      last = await res.text();
      if (res.ok) {
        const r = JSON.parse(last) as Joined;
        if (ok(r)) return r;
      }
      await new Promise((r) => setTimeout(r, 150));
    }
    throw new Error(`timed out waiting for ${what} of ${id}; last answer: ${last.slice(0, 3000)}`);
  }
}

/** Both ends of the request have told all. */
export const complete = (r: Joined): boolean => r.state !== 'running' && !!r.client && r.client.state !== 'running' && !!r.gateway;

export const sum = (c: Curve | null | undefined): number => (c?.bytes ?? []).reduce((a, b) => a + b, 0);
