import { describe, expect, test } from 'vitest';
import { utf8 } from '../src/core/bytes';
import { Series, seriesCap } from '../src/core/series';
import { rig, sum, times } from './rig';

describe('utf8', () => {
  test.each(['', 'plain', 'žluťoučký kůň', '日本語', '🙂🚀 mixed é', '\u{10ffff}', 'lone \ud800 surrogate', '\udc00'])(
    'counts %j as the encoder does',
    (s) => {
      expect(utf8(s)).toBe(new TextEncoder().encode(s).length);
    },
  );
});

describe('Series', () => {
  test('first value is an offset, then differences, in µs', () => {
    const s = new Series();
    s._push(12.3456, 3);
    s._push(20, 4);
    expect(s._take(10)).toEqual({ dt: [12346, 7654], bytes: [3, 4] });
    s._push(21, 1, 'reasoning');
    expect(s._take(10)).toEqual({ dt: [21000], bytes: [1], kind_runs: [['reasoning', 1]] });
    expect(s._take(10)).toBeUndefined();
  });

  test('times never go back', () => {
    const s = new Series();
    s._push(10, 1);
    s._push(9, 1);
    expect(s._take(10)?.dt).toEqual([10000, 0]);
  });

  test('is bounded, loses no byte and keeps its long gaps', () => {
    const s = new Series();
    let t = 0;
    for (let i = 0; i < seriesCap * 3; i++) {
      t += i === 5000 ? 7000 : 5;
      s._push(t, 2);
    }
    expect(s._length).toBeLessThanOrEqual(seriesCap);
    const out = s._take(1e9);
    expect(sum(out?.bytes)).toBe(seriesCap * 3 * 2);
    expect(Math.max(...(out?.dt.slice(1) ?? []))).toBeGreaterThanOrEqual(7_000_000);
    expect(times(out).at(-1)).toBe(t * 1000);
  });
});

describe('Stream', () => {
  test('a whole answer in one segment', async () => {
    const { client, env, transport } = rig({ app: 'chat', release: '7', page: () => '/ask' });
    const s = client.stream({ submitAt: 990, queryType: 'short_qa', requestId: 'req-1' });
    s.sent(true);
    env.t = 1200;
    s.headers(200);
    env.t = 1400.5;
    s.pieces([{ kind: 'role' }]);
    s.pieces([{ kind: 'content', text: 'Hé' }]);
    env.t = 1450;
    s.pieces([{ kind: 'content', text: '!', finish: 'stop', id: 'chatcmpl-1' }]);
    s.pieces([{ kind: 'done' }]);
    s.done();
    await client.flush();
    const [beacon] = transport.beacons;
    expect(beacon).toMatchObject({
      session_id: client.sessionId,
      seq: 0,
      app: 'chat',
      release: '7',
      page: '/ask',
      clock: { time_origin: 1_764_000_000_000_250, now: 1_450_000, wall_now: 1_764_000_001_450_250 },
    });
    expect(beacon?.streams).toEqual([
      {
        request_id: 'req-1',
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        seq: 0,
        final: true,
        query_type: 'short_qa',
        submit_at: 990_000,
        request_sent_at: 1_000_000,
        headers_at: 1_200_000,
        recv: {
          dt: [1_400_500, 0, 49_500, 0],
          bytes: [0, 3, 1, 0],
          kind_runs: [
            ['role', 1],
            ['content', 2],
            ['done', 1],
          ],
        },
        bytes_total: 4,
        finish_reason: 'stop',
        response_id: 'chatcmpl-1',
        done_at: 1_450_000,
      },
    ]);
  });

  test('segments while it runs, and a heartbeat while it is silent', async () => {
    const { client, env, transport } = rig();
    const s = client.stream();
    s.sent(true);
    s.pieces([{ kind: 'content', text: 'a' }]);
    await env.pass(1600);
    s.pieces([{ kind: 'content', text: 'b' }]);
    await env.pass(1600);
    expect(transport.streams.map((x) => [x.seq, x.final, x.recv?.bytes])).toEqual([
      [0, false, [1]],
      [1, false, [1]],
    ]);
    await env.pass(6000);
    expect(transport.streams.length).toBe(3);
    expect(transport.streams[2]?.recv).toBeUndefined();
    s.done();
    await env.pass(2000);
    expect(transport.streams.at(-1)).toMatchObject({ seq: 3, final: true, request_id: s.requestId });
    await env.pass(60_000);
    expect(transport.streams.length).toBe(4);
    expect(env.pending).toBe(0);
  });

  test('closing after the terminal event is no abort', async () => {
    const { client, transport } = rig();
    const s = client.stream();
    s.pieces([{ kind: 'content', text: 'x' }, { kind: 'done' }]);
    s.abort();
    await client.flush();
    expect(transport.streams[0]?.aborted_at).toBeUndefined();
    expect(transport.streams[0]?.done_at).toBeDefined();
  });

  test('a second try of the page is an attempt, not an end', async () => {
    const { client, env, transport } = rig();
    const s = client.stream();
    s.sent(true);
    s.headers(503);
    s.fail('http_503');
    await env.pass(3000);
    s.sent(true);
    s.headers(200);
    s.pieces([{ kind: 'content', text: 'x' }]);
    s.done();
    await client.flush();
    expect(transport.streams.at(-1)).toMatchObject({ attempt: 2, final: true });
    expect(transport.streams.at(-1)?.error).toBeUndefined();
    expect(new Set(transport.streams.map((x) => x.request_id)).size).toBe(1);
  });

  test('a failure that nobody tries again is final after a while', async () => {
    const { client, env, transport } = rig();
    const s = client.stream();
    s.sent(false);
    s.fail('network');
    await env.pass(20_000);
    expect(transport.streams.at(-1)).toMatchObject({ error: 'network', final: true });
    expect(transport.streams.at(-1)?.done_at).toBeUndefined();
  });

  test('one id for all segments, whatever the server says later', async () => {
    const { client, env, transport } = rig();
    const early = client.stream({ requestId: 'ours' });
    early.identify('theirs');
    expect(early.requestId).toBe('theirs');
    const late = client.stream({ requestId: 'ours-2' });
    late.pieces([{ kind: 'content', text: 'x' }]);
    await env.pass(2000);
    late.identify('theirs-2');
    early.done();
    late.done();
    await client.flush();
    const of = (id: string) => transport.streams.filter((x) => x.request_id === id);
    expect(of('theirs').at(-1)?.aliases).toEqual(['ours']);
    expect(of('ours-2').length).toBeGreaterThan(1);
    expect(of('ours-2').at(-1)?.aliases).toEqual(['theirs-2']);
    expect(of('theirs-2')).toEqual([]);
  });

  test.each(['', 'a b', 'x'.repeat(129), null, 7, '<script>'])('%j is no request id', (id) => {
    const { client } = rig();
    const s = client.stream({ requestId: id as string });
    expect(s.requestId).toBeUndefined();
    s.identify(id);
    expect(s.requestId).toBeUndefined();
  });

  test('without an id the first segment waits for the headers', async () => {
    const { client, env, transport } = rig({ propagate: false });
    const s = client.stream();
    s.sent(false);
    await env.pass(1600);
    expect(transport.streams).toEqual([]);
    s.headers(200);
    s.identify('late-id');
    await env.pass(1600);
    expect(transport.streams[0]).toMatchObject({ request_id: 'late-id', seq: 0 });
  });

  test('one that nobody ends is given up', async () => {
    const { client, env, transport } = rig();
    client.stream().pieces([{ kind: 'content', text: 'x' }]);
    await env.pass(700_000);
    expect(transport.streams.at(-1)?.final).toBe(true);
    expect(client._streams.size).toBe(0);
    expect(env.pending).toBe(0);
  });

  test('lists and streams are bounded', async () => {
    const { client, transport } = rig({ maxStreams: 2 });
    const s = client.stream();
    for (let i = 0; i < 10_000; i++) {
      s._longFrame(i, 60);
      s._visible(i, i % 2 === 0);
      s._retracted(i, 9);
    }
    client.stream();
    expect(client.stream().active).toBe(false);
    await client.flush();
    const all = transport.streams.filter((x) => x.submit_at === s._fields.submit_at);
    expect(all.every((x) => (x.long_frames?.length ?? 0) <= 256 && (x.visibility?.length ?? 0) <= 256)).toBe(true);
  });
});
