import { Client } from '../src/core/client';
import type { ClientOptions, Env, PostResult, WireBeacon, WireStream } from '../src/core/types';
import { schema } from './schema';

/** A clock that moves only when told, and timers that run on it. */
export class FakeEnv implements Env {
  t = 1000;
  readonly origin = 1_764_000_000_000.25;
  seed = 1;
  private _timers: { at: number; f: () => void; id: number }[] = [];
  private _id = 0;

  now = () => this.t;
  wall = () => this.origin + this.t;
  random = () => {
    this.seed = (this.seed * 48271) % 2147483647;
    return this.seed / 2147483647;
  };
  setTimeout = (f: () => void, ms: number) => {
    this._timers.push({ at: this.t + ms, f, id: ++this._id });
    return this._id;
  };
  clearTimeout = (id: unknown) => {
    this._timers = this._timers.filter((x) => x.id !== id);
  };
  get pending() {
    return this._timers.length;
  }

  /** Moves on by ms, running what falls due, with a turn of the event loop after each. */
  async pass(ms: number): Promise<void> {
    const end = this.t + ms;
    for (;;) {
      const next = this._timers.filter((x) => x.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.clearTimeout(next.id);
      this.t = Math.max(this.t, next.at);
      next.f();
      await turn();
    }
    this.t = end;
    await turn();
  }
}

export const turn = () => new Promise<void>((r) => setImmediate(r));

const check = schema('rum');

/** A collector in memory, with an answer that tests can change. */
export class FakeTransport {
  bodies: string[] = [];
  handed: string[] = [];
  answer: (body: string, n: number) => PostResult | Promise<PostResult> = () => ({ status: 200 });
  accept: (body: string) => boolean = () => true;
  private _n = 0;

  post = async (body: string): Promise<PostResult> => {
    const r = await this.answer(body, this._n++);
    if (r.status === 200) this.bodies.push(body);
    return r;
  };
  beacon = (body: string): boolean => {
    const ok = this.accept(body);
    if (ok) this.handed.push(body);
    return ok;
  };

  /** What came in, each held against the schema. */
  get beacons(): WireBeacon[] {
    return [...this.bodies, ...this.handed].map((b) => {
      const beacon = JSON.parse(b) as WireBeacon;
      const wrong = check(beacon);
      if (wrong) throw new Error(wrong);
      return beacon;
    });
  }
  get streams(): WireStream[] {
    return this.beacons.flatMap((b) => b.streams);
  }
}

export function rig(options: Partial<ClientOptions> = {}) {
  const env = new FakeEnv();
  const transport = new FakeTransport();
  const errors: unknown[] = [];
  const client = new Client({ url: 'https://rum.test/v1/rum', env, transport, onError: (e) => errors.push(e), ...options });
  return { env, transport, client, errors };
}

/** Absolute times in µs of a series. */
export function times(s: { dt: number[] } | undefined): number[] {
  let t = 0;
  return (s?.dt ?? []).map((d) => (t += d));
}

export const sum = (a: number[] | undefined) => (a ?? []).reduce((x, y) => x + y, 0);
