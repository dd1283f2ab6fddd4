import { describe, expect, test } from 'vitest';
import type { PostResult } from '../src/core/types';
import { rig, turn } from './rig';

const answer = (client: ReturnType<typeof rig>['client'], text = 'hello', n = 1) => {
  const s = client.stream();
  for (let i = 0; i < n; i++) s.pieces([{ kind: 'content', text }]);
  s.done();
  return s;
};

describe('sending', () => {
  test('a refused beacon is sent again with its number', async () => {
    const { client, env, transport } = rig();
    transport.answer = (_b, n) => ({ status: n === 0 ? 503 : 200 });
    answer(client);
    await client.flush();
    expect(transport.beacons).toEqual([]);
    await env.pass(10_000);
    expect(transport.beacons.map((b) => b.seq)).toEqual([0]);
    expect(client.lostBeacons).toBe(0);
  });

  test('Retry-After holds everything back', async () => {
    const { client, env, transport } = rig();
    const asked: number[] = [];
    transport.answer = (_b, n) => {
      asked.push(env.t);
      return n === 0 ? { status: 429, retryAfter: 20_000 } : { status: 200 };
    };
    answer(client);
    await client.flush();
    const at = asked[0] as number;
    await env.pass(19_000);
    expect(asked.length).toBe(1);
    await env.pass(30_000);
    expect(asked.length).toBe(2);
    expect((asked[1] as number) - at).toBeGreaterThanOrEqual(20_000);
  });

  test('gives up after some tries and says so with the next stream', async () => {
    const { client, env, transport } = rig();
    transport.answer = () => ({ status: 0 });
    answer(client);
    await env.pass(600_000);
    expect(client.lostBeacons).toBe(1);
    expect(env.pending).toBe(0);
    transport.answer = () => ({ status: 200 });
    answer(client);
    await env.pass(5000);
    expect(transport.streams[0]?.lost_beacons).toBe(1);
  });

  test.each([
    [400, 0],
    [401, 1],
    [413, 1],
    [200, 0],
    [204, 0],
  ])('%i is an answer: nothing is repeated, %i lost', async (status, lost) => {
    const { client, env, transport } = rig();
    let n = 0;
    transport.answer = () => {
      n++;
      return { status };
    };
    answer(client);
    await env.pass(300_000);
    expect([n, client.lostBeacons]).toEqual([1, lost]);
  });

  test('a collector that never answers: few in flight, memory bounded', async () => {
    const { client, env, transport } = rig();
    let open = 0;
    transport.answer = () => {
      open++;
      return new Promise<PostResult>(() => {});
    };
    for (let i = 0; i < 500; i++) {
      answer(client, 'x'.repeat(50), 200);
      await env.pass(1600);
    }
    expect(open).toBe(2);
    expect(client.lostBeacons).toBeGreaterThan(400);
  });

  test('large streams are cut into beacons that two fit into the browser budget', async () => {
    const { client, transport } = rig();
    for (let i = 0; i < 8; i++) answer(client, 'word ', 1500);
    await client.flush();
    for (let i = 0; i < 50; i++) await turn();
    expect(transport.bodies.every((b) => b.length <= 30_000)).toBe(true);
    expect(transport.streams.reduce((n, s) => n + (s.recv?.dt.length ?? 0), 0)).toBe(8 * 1500);
    const seqs = transport.beacons.map((b) => b.seq);
    expect(new Set(seqs).size).toBe(seqs.length);
  });
});

describe('hiding', () => {
  test('everything is handed to the browser at once', () => {
    const { client, transport } = rig();
    answer(client);
    const running = client.stream();
    running.pieces([{ kind: 'content', text: 'half' }]);
    client.hide();
    expect(transport.handed.length).toBe(1);
    expect(transport.streams.map((s) => s.final)).toEqual([true, false]);
  });

  test('a refused beacon is offered smaller', () => {
    const { client, transport, env } = rig();
    const s = client.stream();
    for (let i = 0; i < 600; i++) {
      s._dom._push(env.t + i, 5);
      s._recv._push(env.t + i, 5);
    }
    s.done();
    transport.accept = (b) => b.length < 6000;
    client.hide();
    expect(transport.streams[0]?.dom).toBeUndefined();
    expect(transport.streams[0]?.recv?.bytes.length).toBe(600);
    expect(client.lostBeacons).toBe(0);
  });

  test('one refused altogether goes out when the page comes back', async () => {
    const { client, transport, env } = rig();
    transport.accept = () => false;
    answer(client);
    client.hide();
    expect(transport.beacons).toEqual([]);
    await env.pass(3000);
    expect(transport.beacons.map((b) => b.seq)).toEqual([0]);
  });
});

describe('sampling', () => {
  test('keeps every bad stream and the share asked for of the others', async () => {
    const { client, env, transport } = rig({ sampleRate: 0.25, maxStreams: 5000 });
    for (let i = 0; i < 400; i++) answer(client);
    const stalled = client.stream({ requestId: 'stalled' });
    stalled.pieces([{ kind: 'content', text: 'a' }]);
    env.t += 1500;
    stalled.pieces([{ kind: 'content', text: 'b' }]);
    stalled.done();
    client.stream({ requestId: 'aborted' }).abort();
    const failed = client.stream({ requestId: 'failed' });
    failed.pieces([{ kind: 'content', text: 'a' }]);
    failed.fail('network');
    env.t += 2000;
    const late = client.stream({ requestId: 'late', submitAt: env.t - 3000 });
    late.pieces([{ kind: 'content', text: 'a' }]);
    late.done();
    client.stream({ requestId: 'good' });
    for (let i = 0; i < 20; i++) await client.flush();
    const ids = transport.streams.map((s) => s.request_id);
    for (const id of ['stalled', 'aborted', 'failed', 'late']) expect(ids).toContain(id);
    expect(ids.length).toBeGreaterThan(70);
    expect(ids.length).toBeLessThan(140);
  });

  test('a stall that is still going on is sent while it does', async () => {
    const { client, env, transport } = rig({ sampleRate: 0 });
    const s = client.stream({ requestId: 'open' });
    s.sent(true);
    s.pieces([{ kind: 'content', text: 'a' }]);
    await env.pass(1000);
    expect(transport.streams).toEqual([]);
    await env.pass(3000);
    expect(transport.streams[0]).toMatchObject({ request_id: 'open', final: false, recv: { bytes: [1] } });
  });

  test('a gap while the page was hidden is no reason', async () => {
    const { client, env, transport } = rig({ sampleRate: 0 });
    const s = client.stream();
    s.pieces([{ kind: 'content', text: 'a' }]);
    s._visible(env.t, false);
    env.t += 60_000;
    s.pieces([{ kind: 'content', text: 'b' }]);
    s._visible(env.t, true);
    s.done();
    await client.flush();
    expect(transport.streams).toEqual([]);
  });
});

describe('consent', () => {
  test('none: nothing is measured, no id is made, no timer runs', async () => {
    const { client, env, transport } = rig({ consent: false });
    const s = client.stream();
    expect([s.active, s.sent(true)]).toEqual([false, undefined]);
    s.pieces([{ kind: 'content', text: 'a' }]);
    s.done();
    client.hide();
    await client.flush();
    expect([transport.beacons.length, env.pending]).toEqual([0, 0]);
  });

  test('pending: sent once it is given', async () => {
    const { client, env, transport } = rig({ consent: 'pending' });
    answer(client);
    client.hide();
    await env.pass(10_000);
    expect(transport.beacons).toEqual([]);
    client.setConsent(true);
    await env.pass(2000);
    expect(transport.streams.length).toBe(1);
  });

  test('withdrawn: what is left is thrown away', async () => {
    const { client, env, transport } = rig();
    const s = client.stream();
    s.pieces([{ kind: 'content', text: 'a' }]);
    answer(client);
    client.setConsent(false);
    s.done();
    client.hide();
    await env.pass(60_000);
    expect(transport.beacons).toEqual([]);
  });
});

test('faults of the surroundings never reach the page', async () => {
  const { client, errors } = rig({
    page: () => {
      throw new Error('page');
    },
    onError: () => {
      throw new Error('handler');
    },
  });
  answer(client);
  client.hide();
  await client.flush();
  await client.uninstall();
  expect(errors).toEqual([]);
});

test('uninstall undoes what was registered and sends the rest', async () => {
  const { client, transport, env } = rig();
  let undone = 0;
  client.onUninstall(() => undone++);
  client.stream().pieces([{ kind: 'content', text: 'x' }]);
  await client.uninstall();
  expect(undone).toBe(1);
  expect(transport.streams[0]?.final).toBe(true);
  await env.pass(5000);
  expect(env.pending).toBe(0);
});
