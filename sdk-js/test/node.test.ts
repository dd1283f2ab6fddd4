import { describe, expect, test } from 'vitest';
import { createServer, type ServerOptions } from '../src/node/index';
import type { WireChunks, WireGateway } from '../src/node/wire';
import { FakeEnv, sum, times } from './rig';
import { schema } from './schema';

const checks = { '/v1/chunks': schema('chunks'), '/v1/gateway': schema('gateway') };

function rig(options: Partial<ServerOptions> = {}) {
  const env = new FakeEnv();
  const sent: { path: string; type: string; records: unknown[] }[] = [];
  let status = 200;
  const server = createServer({
    url: 'http://ingest.test',
    env,
    emitter: 'gw',
    app: 'chat',
    post: async (path, type, body) => {
      const records = body.split('\n').map((l) => JSON.parse(l) as unknown);
      for (const r of records) expect(checks[path as keyof typeof checks](r)).toBeUndefined();
      if (status === 200) sent.push({ path, type, records });
      return { status };
    },
    ...options,
  });
  const of = <T>(path: string) => sent.filter((s) => s.path === path).flatMap((s) => s.records as T[]);
  return {
    env,
    server,
    sent,
    chunks: () => of<WireChunks>('/v1/chunks'),
    gateway: () => of<WireGateway>('/v1/gateway'),
    fail: (s: number) => (status = s),
  };
}

const epoch = (env: FakeEnv, ms: number) => 1_764_000_000_000_250 + Math.round(ms * 1000) - 0 * env.t;

describe('server', () => {
  test('a stream in segments, offsets from its own start', async () => {
    const { env, server, chunks } = rig();
    const s = server.stream({ requestId: 'r1', provider: 'p', deployment: 'd', model: 'm', queryType: 'long_form', prompt_tokens: 9 });
    env.t = 1000;
    s.sent(false);
    env.t = 1200;
    s.headers(200);
    env.t = 1500;
    s.pieces([{ kind: 'content', text: 'ab' }]);
    await env.pass(1100);
    s.pieces([{ kind: 'content', text: 'č', finish: 'stop' }]);
    s.update({ output_tokens: 2 });
    s.done();
    await server.flush();
    const [a, b] = chunks();
    expect(a).toMatchObject({
      request_id: 'r1',
      seq: 0,
      final: false,
      attempt: 1,
      tier: 'server',
      emitter: 'gw',
      app: 'chat',
      provider: 'p',
      deployment: 'd',
      model: 'm',
      query_type: 'long_form',
      prompt_tokens: 9,
      status: 200,
      started_at: epoch(env, 1000),
      headers_us: 200_000,
      chunks: { dt: [500_000], bytes: [2] },
    });
    expect(a).not.toHaveProperty('end_us');
    expect(b).toMatchObject({
      seq: 1,
      final: true,
      finish_reason: 'stop',
      output_tokens: 2,
      end_us: 1_600_000,
      observed_us: 1_600_000,
      chunks: { dt: [1_600_000], bytes: [2] },
    });
    for (const k of ['submit_at', 'lost_beacons', 'session_id', 'visibility']) expect(b).not.toHaveProperty(k);
  });

  test('wraps an async iterable of a provider', async () => {
    const { server, chunks } = rig();
    async function* source() {
      yield { id: 'chatcmpl-1', choices: [{ delta: { content: 'Hel' } }] };
      yield { id: 'chatcmpl-1', choices: [{ delta: { content: 'lo' }, finish_reason: 'length' }] };
    }
    const s = server.stream();
    let text = '';
    for await (const e of s.iterate(source())) text += e.choices[0]?.delta.content;
    await server.flush();
    const r = chunks().at(-1);
    expect(text).toBe('Hello');
    expect(r).toMatchObject({ final: true, finish_reason: 'length', response_id: 'chatcmpl-1', request_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(sum(r?.chunks?.bytes)).toBe(5);
    expect(times(r?.chunks)).toHaveLength(2);
  });

  test('a gateway request with a failed and a served attempt', async () => {
    const { env, server, chunks, gateway } = rig();
    const req = server.request({ requestId: 'q-1', route: '/chat', traceId: 'c'.repeat(32) });
    req.set({ queue_wait_us: 1500, route_decision: { policy: 'least-busy', chosen: 'a' } });
    env.t += 10;
    const one = req.attempt({ deployment: 'a' });
    one.sent(true);
    env.t += 30;
    one.fail('http_503');
    one._finish();
    const two = req.attempt({ deployment: 'b', model: 'm' });
    two.sent(true);
    env.t += 100;
    two.pieces([{ kind: 'content', text: 'x' }]);
    req.firstByte();
    env.t += 100;
    two.done();
    req.end(200, two);
    req.end(500);
    await server.shutdown();
    expect(gateway()).toEqual([
      {
        request_id: 'q-1',
        emitter: 'gw',
        app: 'chat',
        route: '/chat',
        trace_id: 'c'.repeat(32),
        received_at: epoch(env, 1000),
        queue_wait_us: 1500,
        route_decision: { policy: 'least-busy', chosen: 'a' },
        upstream_sent_at: epoch(env, 1010),
        first_byte_at: epoch(env, 1140),
        last_byte_at: epoch(env, 1240),
        upstream_closed_at: epoch(env, 1240),
        status: 200,
        retries: 1,
        attempts: [
          { attempt: 1, deployment: 'a', start: epoch(env, 1010), end: epoch(env, 1040), error: 'http_503', served: false },
          { attempt: 2, deployment: 'b', model: 'm', start: epoch(env, 1040), end: epoch(env, 1240), served: true },
        ],
      },
    ]);
    expect(chunks().map((c) => [c.request_id, c.attempt, c.deployment])).toEqual([
      ['q-1', 1, 'a'],
      ['q-1', 2, 'b'],
    ]);
  });

  test('what the calls know by the end of the request is in its record', async () => {
    const { env, server, gateway } = rig();
    const respond = (status: number, ...chunks: string[]) =>
      new Response(new ReadableStream({ pull: (c) => (chunks[0] ? c.enqueue(new TextEncoder().encode(chunks.shift())) : undefined) }), {
        status,
        headers: { 'content-type': 'text/event-stream' },
      });
    const req = server.request();
    const refused = req.attempt();
    refused.sent(true);
    env.t += 30;
    // Waits for another try of its own when the request ends.
    refused.response(respond(503));
    const broken = req.attempt();
    broken.sent(true);
    const body = broken.response(respond(200, 'data: {"text":"Hel"}\n\n', 'data: {"error":{"message":"x"}}\n\n')).body as ReadableStream;
    const reader = body.getReader();
    await reader.read();
    await reader.read();
    env.t += 100;
    req.end(502);
    await server.shutdown();
    expect(gateway()).toMatchObject([
      {
        attempts: [
          { attempt: 1, start: epoch(env, 1000), end: epoch(env, 1030), error: 'http_503', served: false },
          { attempt: 2, start: epoch(env, 1030), error: 'stream_error', served: false },
        ],
      },
    ]);
  });

  test('an ingest that is down costs nothing but memory within bounds', async () => {
    const { env, server, chunks, fail } = rig();
    fail(503);
    for (let i = 0; i < 2000; i++) {
      const s = server.stream();
      s.pieces([{ kind: 'content', text: 'x' }]);
      s.done();
      if (i % 20 === 0) await env.pass(1100);
    }
    fail(200);
    const s = server.stream({ requestId: 'last' });
    s.done();
    await env.pass(120_000);
    expect(chunks().map((c) => c.request_id)).toContain('last');
    expect(server.lostBeacons).toBeGreaterThan(0);
  });
});
