import type { Kind, Piece } from '../core/types';

type Json = Record<string, unknown>;

const isObject = (v: unknown): v is Json => typeof v === 'object' && v !== null && !Array.isArray(v);
const str = (v: unknown): string => (typeof v === 'string' ? v : '');
const list = (v: unknown): Json[] => (Array.isArray(v) ? v.filter(isObject) : []);
const object = (v: unknown): Json => (isObject(v) ? v : {});

/** Text that carries something; an empty delta is `role`. */
const piece = (kind: Kind, text: string): Piece => (text ? { kind, text } : { kind: 'role' });

/**
 * Kinds of the events whose `type` ends in "delta": OpenAI Responses, Vercel AI (UI messages and `fullStream`),
 * the deltas inside Anthropic's. The first that fits counts; audio and signatures fit none.
 */
const deltas: [RegExp, Kind][] = [
  [/reason|think/, 'reasoning'],
  [/tool|call|json/, 'tool'],
  [/refus/, 'refusal'],
  [/text/, 'content'],
];

/** Where such events keep their text. */
const texts = ['delta', 'text', 'thinking', 'partial_json', 'inputTextDelta', 'textDelta'];

const ends = /^(response\.(completed|incomplete)|message_stop|finish)$/;
const faults = /^(error|response\.failed)$/;

/** The pieces of one JSON event of any format that is in wide use; empty when it is none of them. */
export function shapes(event: unknown): Piece[] {
  if (!isObject(event)) return [];
  const e = event;
  const type = str(e.type);
  if (faults.test(type) || (e.error && !e.choices)) return [{ kind: 'error' }];
  if (type) {
    if (type === 'content_block_delta') return shapes(e.delta);
    if (type === 'message_delta') return [{ kind: 'usage', finish: str(object(e.delta).stop_reason) }];
    if (type === 'ping') return [{ kind: 'keepalive' }];
    const kind = type.endsWith('delta') && deltas.find(([r]) => r.test(type));
    if (kind)
      return [
        piece(
          kind[1],
          texts.reduce((s, k) => s || str(e[k]), ''),
        ),
      ];
    if (ends.test(type)) {
      const r = object(e.response);
      const reason = str(object(r.incomplete_details).reason) || str(e.finishReason) || (r.status === 'completed' ? 'stop' : '');
      return [{ kind: 'done', finish: reason, id: str(r.id) }];
    }
    const id = str(object(e.response).id) || str(object(e.message).id) || str(e.messageId);
    return [{ kind: 'role', id }];
  }
  if (Array.isArray(e.choices)) return choices(e);
  if (Array.isArray(e.candidates)) return candidates(e);
  return flat(e);
}

/** OpenAI chat and text completions, streamed or whole, and everything that copies them. */
function choices(e: Json): Piece[] {
  const out: Piece[] = [];
  for (const c of list(e.choices)) {
    const d = isObject(c.delta) ? c.delta : object(c.message);
    const found: Piece[] = [];
    const add = (kind: Kind, text: string) => text && found.push({ kind, text });
    add('reasoning', str(d.reasoning_content) || str(d.reasoning));
    add('content', str(d.content) || str(c.text));
    add('refusal', str(d.refusal));
    add(
      'tool',
      list(d.tool_calls).reduce((s, { function: f }) => s + str(object(f).name) + str(object(f).arguments), ''),
    );
    out.push({ ...(found.shift() ?? { kind: 'role' }), finish: str(c.finish_reason) }, ...found);
  }
  if (!out.length) out.push({ kind: isObject(e.usage) ? 'usage' : 'role' });
  (out[0] as Piece).id = str(e.id);
  return out;
}

/** Gemini. */
const candidates = (e: Json): Piece[] =>
  list(e.candidates).flatMap((c) => [
    ...list(object(c.content).parts).map((p) => piece(p.thought ? 'reasoning' : 'content', str(p.text))),
    { kind: 'role', finish: str(c.finishReason) },
  ]);

/** Ollama, llama.cpp, TGI, and the plain objects that home-made backends send. */
function flat(e: Json): Piece[] {
  const m = object(e.message);
  const token = object(e.token);
  const out: Piece[] = [];
  const add = (kind: Kind, text: string) => text && out.push({ kind, text });
  add('reasoning', str(m.thinking) || str(e.thinking));
  add(
    'content',
    str(m.content) || str(e.response) || str(e.content) || (token.special ? '' : str(token.text)) || str(e.text) || str(e.delta) || str(e.token),
  );
  if (e.done === true || e.stop === true) out.push({ kind: 'done', finish: str(e.done_reason) || str(e.stop_type) });
  return out;
}

/** One line of Vercel's older data stream: a code, a colon, JSON. */
export function dataStreamLine(line: string): Piece[] {
  const i = line.indexOf(':');
  const value = parse(line.slice(i + 1));
  switch (line.slice(0, i)) {
    case '0':
      return [piece('content', str(value))];
    case 'g':
      return [piece('reasoning', str(value))];
    case 'c':
      return [piece('tool', str(object(value).argsTextDelta))];
    case '3':
      return [{ kind: 'error' }];
    case 'd':
      return [{ kind: 'done', finish: str(object(value).finishReason) }];
    default:
      return [{ kind: 'role' }];
  }
}

/** JSON or undefined. */
export function parse(s: string): unknown {
  try {
    return JSON.parse(s);
  } catch {
    return undefined;
  }
}
