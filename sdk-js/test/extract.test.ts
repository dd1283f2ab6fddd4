import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Kind } from '../src/core/types';
import { BodyReader, type Format, formatOf, piecesOf } from '../src/extract/extract';
import { sseReader } from '../src/extract/sse';
import { rig, sum } from './rig';

/** Reads a body in pieces of n bytes; gives what was recorded. */
function read(body: string | Uint8Array, format: Format | undefined, n = 7, extract?: (e: unknown) => string) {
  const { client, errors } = rig();
  const s = client.stream(extract ? { extract } : {});
  const texts: Partial<Record<Kind, string>> = {};
  s._onText = (t, k) => {
    texts[k] = (texts[k] ?? '') + t;
  };
  const r = new BodyReader(s, format);
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  for (let i = 0; i < bytes.length; i += n) r._push(bytes.subarray(i, i + n));
  r._end();
  s.done();
  expect(errors).toEqual([]);
  const out = s._take();
  return {
    texts,
    kinds: out?.recv?.kind_runs?.flatMap(([k, n]) => Array(n).fill(k)) ?? out?.recv?.bytes.map(() => 'content'),
    out,
    bytes: sum(out?.recv?.bytes),
  };
}

const sse = (...events: unknown[]) => events.map((e) => `data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`).join('');

describe('sseReader', () => {
  const parse = (text: string, n: number) => {
    const out: string[] = [];
    const feed = sseReader({ data: (d) => out.push(d), comment: () => out.push('#') });
    for (let i = 0; i < text.length; i += n) feed(text.slice(i, i + n));
    return out;
  };
  const cases: [string, string[]][] = [
    ['data: a\n\ndata:b\n\n', ['a', 'b']],
    ['data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['data: a\r\rdata: b\r\r\n', ['a', 'b']],
    ['data: one\ndata: two\n\n', ['one\ntwo']],
    [': ping\n\ndata: x\n\n', ['#', 'x']],
    ['event: e\nid: 7\nretry: 3\ndata:  y\n\n', [' y']],
    ['data\n\ndata: unfinished', []],
  ];
  test.each(cases)('%j', (text, want) => {
    for (const n of [1, 2, 3, 5, 1000]) expect(parse(text, n)).toEqual(want);
  });
  test('an endless event is given up', () => {
    const feed = sseReader({ data: () => {}, comment: () => {} });
    expect(feed(`data: ${'x'.repeat(1 << 20)}`)).toBe(false);
  });
});

describe('formats', () => {
  const chat = (delta: object, finish: string | null = null) => ({ id: 'chatcmpl-9', choices: [{ index: 0, delta, finish_reason: finish }] });
  const cases: [string, string, Format | undefined, Partial<Record<Kind, string>>, (string | undefined)?, string?][] = [
    [
      'OpenAI chat',
      sse(
        chat({ role: 'assistant', content: '' }),
        chat({ reasoning_content: 'hm' }),
        chat({ content: 'Dobrý ' }),
        chat({ content: 'den 🙂' }),
        chat({}, 'stop'),
        { id: 'chatcmpl-9', choices: [], usage: { completion_tokens: 2 } },
        '[DONE]',
      ),
      'sse',
      { content: 'Dobrý den 🙂', reasoning: 'hm' },
      'stop',
      'chatcmpl-9',
    ],
    [
      'OpenAI tools',
      sse(
        chat({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }),
        chat({ tool_calls: [{ function: { arguments: '{"a":1}' } }] }, 'tool_calls'),
      ),
      'sse',
      { tool: 'f{"a":1}' },
      'tool_calls',
      'chatcmpl-9',
    ],
    [
      'OpenAI completions',
      sse({ choices: [{ text: 'ab' }] }, { choices: [{ text: 'c', finish_reason: 'length' }] }),
      'sse',
      { content: 'abc' },
      'length',
    ],
    [
      'OpenAI responses',
      sse(
        { type: 'response.created', response: { id: 'resp_1' } },
        { type: 'response.reasoning_summary_text.delta', delta: 'r' },
        { type: 'response.output_text.delta', delta: 'Red' },
        { type: 'response.audio.delta', delta: 'AAAA' },
        { type: 'response.function_call_arguments.delta', delta: '{}' },
        { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
      ),
      'sse',
      { content: 'Red', reasoning: 'r', tool: '{}' },
      'stop',
      'resp_1',
    ],
    [
      'Anthropic',
      sse(
        { type: 'message_start', message: { id: 'msg_1' } },
        { type: 'ping' },
        { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 't' } },
        { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 'zzz' } },
        { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hi' } },
        { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ),
      'sse',
      { content: 'Hi', reasoning: 't', tool: '{' },
      'end_turn',
      'msg_1',
    ],
    [
      'Ollama',
      '{"message":{"content":"a","thinking":"t"},"done":false}\n{"message":{"content":"b"},"done":false}\n{"done":true,"done_reason":"stop"}',
      'ndjson',
      { content: 'ab', reasoning: 't' },
      'stop',
    ],
    [
      'Gemini',
      sse({ candidates: [{ content: { parts: [{ text: 'x', thought: true }, { text: 'y' }] }, finishReason: 'STOP' }] }),
      'sse',
      { content: 'y', reasoning: 'x' },
      'STOP',
    ],
    ['llama.cpp', sse({ content: 'q', stop: false }, { content: '', stop: true, stop_type: 'limit' }), 'sse', { content: 'q' }, 'limit'],
    ['TGI', sse({ token: { text: 'w', special: false } }, { token: { text: '</s>', special: true } }), 'sse', { content: 'w' }],
    [
      'Vercel UI messages',
      sse(
        { type: 'start', messageId: 'm1' },
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'Hel' },
        { type: 'reasoning-delta', delta: 'r' },
        { type: 'tool-input-delta', inputTextDelta: '{' },
        { type: 'text-delta', delta: 'lo' },
        { type: 'finish' },
        '[DONE]',
      ),
      'sse',
      { content: 'Hello', reasoning: 'r', tool: '{' },
      undefined,
      'm1',
    ],
    ['Vercel data stream', '0:"Hel"\ng:"r"\n0:"lo"\nd:{"finishReason":"stop"}\n', 'data-stream', { content: 'Hello', reasoning: 'r' }, 'stop'],
    ['plain text', 'žlutý kůň', 'text', { content: 'žlutý kůň' }],
    ['plain text in events', sse('Hello', ' you', '"quoted"'), 'sse', { content: 'Hello youquoted' }],
    ['home-made', sse({ text: 'a' }, { delta: 'b' }, { token: 'c' }, { content: 'd' }), 'sse', { content: 'abcd' }],
    [
      'one JSON object',
      JSON.stringify({ choices: [{ message: { content: 'whole' }, finish_reason: 'stop' }] }),
      'json',
      { content: 'whole' },
      'stop',
    ],
    ['unnamed events', sse({ choices: [{ delta: { content: 'x' } }] }), undefined, { content: 'x' }],
    ['unnamed lines', '{"response":"x","done":false}\n', undefined, { content: 'x' }],
    ['unnamed text', 'just words', undefined, { content: 'just words' }],
  ];
  test.each(cases)('%s', (_name, body, format, texts, finish, id) => {
    for (const n of [1, 3, 64, 100_000]) {
      const r = read(body, format, n);
      expect(r.texts).toEqual(texts);
      expect(r.bytes).toBe(new TextEncoder().encode(Object.values(texts).join('')).length);
      expect(r.out?.finish_reason).toBe(finish);
      expect(r.out?.response_id).toBe(id);
      expect(r.out?.error).toBeUndefined();
    }
  });

  test('pings and broken frames are no text and no end', () => {
    const r = read(`: ping\n\n${sse('{broken', { choices: [{ delta: { content: 'x' } }] })}`, 'sse');
    expect(r.kinds).toEqual(['keepalive', 'error', 'content']);
    expect(r.out?.error).toBeUndefined();
  });

  test('an error event is one', () => {
    expect(read(sse({ error: { message: 'overloaded' } }), 'sse').out?.error).toBe('stream_error');
    expect(read(sse({ type: 'error', error: { type: 'overloaded_error' } }), 'sse').out?.error).toBe('stream_error');
  });

  test('bytes that are no text are counted and marked', () => {
    const r = read(new Uint8Array([0, 1, 2, 3, 255, 0, 7]), undefined, 7);
    expect([r.bytes, r.out?.content_kind]).toEqual([7, 'raw']);
  });

  test("the app's own extractor", () => {
    const r = read(sse({ d: { t: 'own' } }, { other: 1 }), 'sse', 5, (e) => (e as { d?: { t: string } }).d?.t ?? '');
    expect(r.texts).toEqual({ content: 'own' });
  });

  test('real transcripts: what is counted is what was said', () => {
    for (const name of ['llamacpp_chat', 'llamacpp_messages', 'llamacpp_responses', 'vllm_chat']) {
      const [body, want] = readFileSync(new URL(`./fixtures/${name}.txt`, import.meta.url), 'utf8').split('\n=====\n') as [string, string];
      expect(read(body, 'sse', 11).texts.content, name).toBe(JSON.parse(want));
    }
  });

  test('by headers', () => {
    const of = (type: string, vercel?: string) =>
      formatOf((n) => (n === 'content-type' ? type : n === 'x-vercel-ai-data-stream' ? (vercel ?? null) : null));
    expect(of('text/event-stream; charset=utf-8')).toBe('sse');
    expect(of('application/x-ndjson')).toBe('ndjson');
    expect(of('text/plain', 'v1')).toBe('data-stream');
    expect(of('text/plain')).toBe('text');
    expect(of('application/json')).toBe('json');
    expect(of('application/octet-stream')).toBeUndefined();
  });

  test('no input makes it throw', () => {
    const odd = [
      null,
      undefined,
      0,
      true,
      [],
      [1],
      {},
      { choices: 'x' },
      { choices: [null, 1, { delta: null }] },
      { candidates: [{ content: { parts: [1] } }] },
      { type: 7 },
      { message: 3 },
      { type: 'content_block_delta' },
      { error: null },
    ];
    for (const v of odd) {
      expect(() => piecesOf(v)).not.toThrow();
      expect(() => piecesOf(JSON.stringify(v) ?? '')).not.toThrow();
    }
  });
});
