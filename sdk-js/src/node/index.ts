import { Client } from '../core/client';
import { platformEnv, us } from '../core/clock';
import { Queue } from '../core/queue';
import { hexId, validId } from '../core/session';
import { Stream } from '../core/stream';
import type { ClientOptions, Env, PostResult, QueryType, StreamOptions, Transport, WireStream } from '../core/types';
import { watchIterable } from '../instrument/iterable';
import { fetchFor, watchResponse } from '../instrument/response';
import { type TargetInfo, toChunks, type WireAttempt, type WireGateway } from './wire';

export type * from '../core/types';
export type { TargetInfo, WireAttempt, WireChunks, WireGateway } from './wire';

/** Settings of {@link createServer}. */
export interface ServerOptions extends Pick<ClientOptions, 'onError' | 'env' | 'maxStreams'> {
  /** Base address of the ingest port, for instance `http://127.0.0.1:4381`. */
  url: string;
  /** Headers of every request to it, for instance `{ authorization: 'Bearer …' }`. Default none. */
  headers?: Record<string, string>;
  /** Name of this program, to tell its records from others'. Default `fermata-node`. */
  emitter?: string;
  /** Name of the app the requests are for. */
  app?: string;
  /** ms between sends while a stream runs. Default 1000. */
  flushInterval?: number;
  /** Origins that may be sent `X-Request-Id` and `traceparent`. Default: all, as upstreams are your own choice. */
  propagateTo?: (string | RegExp)[];
  /** Sends one body to a path; inject it in tests. Default `fetch`. */
  post?: (path: string, type: string, body: string) => Promise<PostResult>;
}

/** What is known when a stream begins. */
export interface ServerStreamOptions extends Pick<StreamOptions, 'extract' | 'queryType'>, TargetInfo {
  /** Joins the tiers. Default: a new one. */
  requestId?: string;
  /** Number of the upstream call, from 1. Default 1. */
  attempt?: number;
  /** Whose view it is. Default `server`: the engine, or whatever talks to it. */
  tier?: 'server' | 'gateway';
}

const maxTimeout = 30_000;

/** Sends what a server or gateway sees of streamed answers. Measuring never changes or delays what passes. */
export class Server extends Client {
  /** Settings as given. @internal */
  readonly _server: ServerOptions;
  private readonly _gateway: Queue;

  constructor(options: ServerOptions) {
    const env = options.env ?? serverEnv();
    super({
      url: options.url,
      env,
      flushInterval: options.flushInterval ?? 1000,
      maxStreams: options.maxStreams ?? 10_000,
      propagateTo: options.propagateTo ?? [/./],
      transport: sender(options, '/v1/chunks', 'application/x-ndjson'),
      ...(options.onError && { onError: options.onError }),
    });
    this._server = options;
    this._gateway = new Queue(this, sender(options, '/v1/gateway', 'application/x-ndjson'));
  }

  /** @internal */
  override _newQueue(): Queue {
    return new ChunksQueue(this, this.options.transport);
  }

  /** Begins one stream from an engine or upstream. */
  override stream(options: ServerStreamOptions = {}): ServerStream {
    return this._start(new ServerStream(this, options));
  }

  /** Begins one request of a gateway. */
  request(options: GatewayRequestOptions = {}): GatewayRequest {
    return new GatewayRequest(this, options);
  }

  /** @internal */
  _put(record: WireGateway): void {
    this._gateway._enqueue(JSON.stringify(record));
    this._gateway._wake();
  }

  /** Sends what there is now; settles when everything was answered or given up. Never rejects. */
  override async flush(): Promise<void> {
    await Promise.all([super.flush(), this._gateway._flush(true).catch(this._fault)]);
  }

  /** Ends all streams and sends the rest. Call it before the process ends. */
  shutdown(): Promise<void> {
    return this.uninstall();
  }
}

/** One stream as this process receives it. */
export class ServerStream extends Stream {
  /** @internal */ readonly _info: ServerStreamOptions;

  /** Use {@link Server.stream}. */
  constructor(
    private readonly _server: Server,
    options: ServerStreamOptions,
  ) {
    super(_server, {
      requestId: validId(options.requestId) ? options.requestId : hexId(_server.env, 32),
      ...(options.extract && { extract: options.extract }),
      ...(options.queryType && { queryType: options.queryType }),
    });
    this._info = options;
  }

  /** `fetch` for this stream: same `Response`, same bytes. */
  readonly fetch: typeof globalThis.fetch = (input, init) => fetchFor(this, globalThis.fetch, input, init);

  /** Watches a response that was fetched elsewhere. */
  response(response: Response): Response {
    this._server._safe(() => watchResponse(this, response));
    return response;
  }

  /** Watches an async iterable or `ReadableStream` of events or text; the same object comes back. */
  iterate<T extends AsyncIterable<unknown> | ReadableStream<unknown>>(source: T): T {
    return this.active ? watchIterable(this, source) : source;
  }

  /** The next segment, in the shape of `POST /v1/chunks`. @internal */
  override _take(): WireStream | undefined {
    const s = super._take();
    if (!s) return undefined;
    const { requestId: _id, extract: _extract, queryType, attempt = 1, tier = 'server', ...target } = this._info;
    const { emitter = 'fermata-node', app } = this._server._server;
    const { env } = this._server;
    return toChunks(s, us(env.origin), us(env.now()), {
      ...target,
      request_id: this.requestId as string,
      attempt,
      tier,
      emitter,
      ...(app && { app }),
      ...(queryType && { query_type: queryType }),
      ...(this._status && { status: this._status }),
    }) as unknown as WireStream;
  }

  /** @internal */ _status = 0;

  override headers(status: number): void {
    this._status = status;
    super.headers(status);
  }

  /** Adds what is known only later, for instance token counts. */
  update(info: TargetInfo): void {
    Object.assign(this._info, info);
    this._touch();
  }
}

/** What is known when a gateway gets a request. */
export interface GatewayRequestOptions {
  /** Joins the tiers: the client's `X-Request-Id`. Default: a new one. */
  requestId?: string;
  /** 32 hex digits. */
  traceId?: string;
  route?: string;
  region?: string;
  queryType?: QueryType;
  priority?: number;
}

/** An upstream call and what the gateway's record says of it. */
interface Call {
  _stream: ServerStream;
  _wire: WireAttempt;
}

/** One request through a gateway, with its upstream calls. Sent when it ends. */
export class GatewayRequest {
  /** Send it upstream and back to the client as `X-Request-Id`. */
  readonly requestId: string;
  private readonly _record: WireGateway;
  private readonly _calls: Call[] = [];
  private _over = false;

  /** Use {@link Server.request}. */
  constructor(
    private readonly _server: Server,
    options: GatewayRequestOptions,
  ) {
    this.requestId = validId(options.requestId) ? options.requestId : hexId(_server.env, 32);
    const { emitter = 'fermata-node', app } = _server._server;
    this._record = { request_id: this.requestId, emitter, received_at: this._now(), attempts: [] };
    if (app) this._record.app = app;
    if (options.route) this._record.route = options.route;
    if (options.region) this._record.region = options.region;
    if (options.queryType) this._record.query_type = options.queryType;
    if (options.traceId) this._record.trace_id = options.traceId;
    if (options.priority !== undefined) this._record.priority = options.priority;
  }

  /** Adds what the gateway knows: queue wait, cache look-up, route decision, depths. */
  set(fields: Partial<Omit<WireGateway, 'request_id' | 'attempts' | 'received_at'>>): void {
    Object.assign(this._record, fields);
  }

  /** Begins the next upstream call. */
  attempt(options: Omit<ServerStreamOptions, 'requestId' | 'attempt'> = {}): ServerStream {
    const n = this._calls.length + 1;
    const stream = this._server.stream({ ...options, requestId: this.requestId, attempt: n });
    const wire: WireAttempt = { attempt: n, start: this._now(), served: false };
    for (const k of ['provider', 'deployment', 'model'] as const) if (options[k]) wire[k] = options[k];
    this._record.upstream_sent_at ??= wire.start;
    const call = { _stream: stream, _wire: wire };
    this._calls.push(call);
    stream._cleanup.push(() => this._look(call, true));
    return stream;
  }

  /** The first byte of the answer goes to the client. */
  firstByte(): void {
    this._record.first_byte_at ??= this._now();
  }

  /** The client went away. */
  cancelled(): void {
    this._record.cancelled_at ??= this._now();
  }

  /** The last byte has gone to the client, or nothing more will. `served` is the stream that it got. */
  end(status?: number, served?: ServerStream): void {
    if (this._over) return;
    this._over = true;
    const r = this._record;
    r.last_byte_at = this._now();
    for (const c of this._calls) {
      c._stream._catchUp();
      this._look(c);
    }
    if (status !== undefined) r.status = status;
    const ok = served ?? this._calls.findLast((c) => !c._stream._fields.error)?._stream;
    for (const c of this._calls) c._wire.served = c._stream === ok;
    r.attempts = this._calls.map((c) => c._wire);
    r.retries ??= Math.max(this._calls.length - 1, 0);
    this._server._put(r);
  }

  /** Takes over how a call ended, if it has: one that failed before its first text still waits for another try. */
  private _look({ _stream, _wire }: Call, over = _stream._endedAt >= 0): void {
    const { _endedAt, _fields } = _stream;
    if (_fields.error) _wire.error = _fields.error;
    if (!over) return;
    _wire.end = this._now(_endedAt < 0 ? undefined : _endedAt);
    this._record.upstream_closed_at = Math.max(this._record.upstream_closed_at ?? 0, _wire.end);
  }

  private _now(t = this._server.env.now()): number {
    return us(this._server.env.origin) + us(t);
  }
}

/** Starts measuring in Node. */
export function createServer(options: ServerOptions): Server {
  return new Server(options);
}

class ChunksQueue extends Queue {
  /** One record a line. @internal */
  override _add(segments: WireStream[]): void {
    this._enqueue(segments.map((s) => JSON.stringify({ ...s, lost_beacons: undefined })).join('\n'));
  }
}

function sender(options: ServerOptions, path: string, type: string): Transport {
  const post =
    options.post ??
    (async (to: string, contentType: string, body: string): Promise<PostResult> => {
      try {
        const r = await fetch(options.url.replace(/\/$/, '') + to, {
          method: 'POST',
          body,
          headers: { 'content-type': contentType, ...options.headers },
          signal: AbortSignal.timeout(maxTimeout),
        });
        await r.body?.cancel();
        const after = Number(r.headers.get('retry-after'));
        return after > 0 ? { status: r.status, retryAfter: after * 1000 } : { status: r.status };
      } catch {
        return { status: 0 };
      }
    });
  return { post: (body) => post(path, type, body), beacon: () => false };
}

/** Timers that let the process end. */
function serverEnv(): Env {
  return {
    ...platformEnv(),
    setTimeout: (f, ms) => {
      const t = setTimeout(f, ms) as unknown as { unref(): void };
      t.unref();
      return t;
    },
  };
}
