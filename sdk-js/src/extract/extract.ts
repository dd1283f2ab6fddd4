import { utf8 } from '../core/bytes';
import type { Stream } from '../core/stream';
import type { Extract, Piece } from '../core/types';
import { dataStreamLine, parse, shapes } from './shapes';
import { maxPending, sseReader } from './sse';

/** How a body is cut into events. */
export type Format = 'sse' | 'ndjson' | 'data-stream' | 'text' | 'json' | 'raw';

/** The format by the response's headers; undefined: look at the first bytes. */
export function formatOf(get: (name: string) => string | null): Format | undefined {
  const type = (get('content-type') ?? '').toLowerCase();
  if (get('x-vercel-ai-data-stream')) return 'data-stream';
  if (type.includes('text/event-stream')) return 'sse';
  if (/ndjson|jsonl|json-seq|stream\+json/.test(type)) return 'ndjson';
  if (type.startsWith('text/')) return 'text';
  if (type.includes('json')) return 'json';
  return undefined;
}

/**
 * The pieces of one event. Text that is no JSON is answer text itself; JSON without a known shape is malformed
 * for our purpose and counts as no text.
 */
export function piecesOf(event: unknown, extract?: Extract): Piece[] {
  if (extract) {
    const r = extract(typeof event === 'string' ? (parse(event) ?? event) : event);
    if (typeof r === 'string') return [r ? { kind: 'content', text: r } : { kind: 'role' }];
    return Array.isArray(r) ? r : r ? [r] : [{ kind: 'role' }];
  }
  if (typeof event !== 'string') {
    const found = shapes(event);
    return found.length ? found : [{ kind: 'role' }];
  }
  if (event === '[DONE]') return [{ kind: 'done' }];
  // What starts like JSON and is none is a broken frame, not answer text.
  const c = event.trimStart()[0];
  const value = parse(event);
  if (typeof value === 'string') return [{ kind: 'content', text: value }];
  if (typeof value === 'object' && value) return piecesOf(value);
  return c === '{' || c === '[' ? [{ kind: 'error', broken: true }] : event ? [{ kind: 'content', text: event }] : [{ kind: 'role' }];
}

/** Characters that tell what a body without a content type is. */
const longestMark = 'event:'.length;

/** What ends an event: an empty line, a line, and for one whole object the body. */
const lineEnd = (f: Format | undefined) => (f === 'sse' ? '\n\n' : f === 'json' ? '\0' : '\n');

/** Reads one body into one stream as the bytes come. */
export class BodyReader {
  private _decoder: TextDecoder | undefined = new TextDecoder();
  private _feed: ((text: string) => boolean) | undefined;
  private _pending = '';
  private _size = 0;

  constructor(
    private readonly _stream: Stream,
    private _format: Format | undefined,
  ) {
    if (_format) this._set(_format);
  }

  /** Takes what the page just received: bytes, or text when the page reads through a decoder. @internal */
  _push(chunk: unknown): void {
    if (typeof chunk === 'string') this._text(chunk, utf8(chunk));
    else if (ArrayBuffer.isView(chunk)) {
      const size = chunk.byteLength;
      if (this._decoder) this._text(this._decoder.decode(chunk as Uint8Array, { stream: true }), size);
      else this._stream.chunk('content', size);
    }
  }

  /** The body is complete. @internal */
  _end(): void {
    if (!this._format) this._guess();
    if (!this._feed) return;
    const tail = this._decoder?.decode() ?? '';
    if (tail) this._text(tail, 0);
    // A last line without its line end still counts.
    if (this._format !== 'text') this._feed(lineEnd(this._format));
  }

  private _text(text: string, size: number): void {
    this._size += size;
    if (!this._format) {
      this._pending += text;
      if (this._pending.trimStart().length > longestMark) this._guess();
    } else if (this._feed) {
      if (!this._feed(text)) this._set('raw');
    } else if (size) {
      this._stream.chunk('content', size);
    }
  }

  /** Decides by the first characters. */
  private _guess(): void {
    const text = this._pending;
    const t = text.trimStart();
    this._pending = '';
    this._set(/^(data|event|id|retry)?:/.test(t) ? 'sse' : t[0] === '{' ? 'ndjson' : t.includes('\0') ? 'raw' : 'text');
    if (this._feed) this._feed(text);
    else this._stream.chunk('content', this._size);
  }

  private _set(format: Format): void {
    this._format = format;
    const s = this._stream;
    switch (format) {
      case 'sse':
        s.protocol ??= 'sse';
        this._feed = sseReader({ data: (d) => this._emit(d), comment: () => s.pieces([{ kind: 'keepalive' }]) });
        break;
      case 'ndjson':
      case 'data-stream':
      case 'json':
        this._feed = (text) => {
          const lines = (this._pending + text).split(lineEnd(format));
          this._pending = lines.pop() as string;
          for (const l of lines) {
            const line = l.trim();
            if (line) format === 'data-stream' ? s.pieces(dataStreamLine(line)) : this._emit(line);
          }
          return this._pending.length < maxPending;
        };
        break;
      case 'text':
        this._feed = (text) => {
          if (text) s.pieces(s.extract ? piecesOf(text, s.extract) : [{ kind: 'content', text }]);
          return true;
        };
        break;
      default:
        s.contentKind = 'raw';
        this._pending = '';
        this._decoder = undefined;
        this._feed = undefined;
    }
  }

  private _emit(event: string): void {
    if (event) this._stream.pieces(piecesOf(event, this._stream.extract));
  }
}
