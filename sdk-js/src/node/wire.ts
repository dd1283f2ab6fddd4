import type { Kind, QueryType, WireSeries, WireStream } from '../core/types';

/** What is known about an upstream call. All of it is optional but for the request id. */
export interface TargetInfo {
  provider?: string;
  deployment?: string;
  model?: string;
  model_version?: string;
  route?: string;
  region?: string;
  prompt_tokens?: number;
  output_tokens?: number;
  reasoning_tokens?: number;
  cached_tokens?: number;
  cache_hit?: 'none' | 'partial' | 'full';
  chunk_size?: number;
}

/** One stream, or one segment of it, as `POST /v1/chunks` takes it. Offsets are µs since `started_at`. */
export interface WireChunks extends TargetInfo {
  request_id: string;
  seq: number;
  final: boolean;
  attempt: number;
  tier: 'server' | 'gateway';
  emitter?: string;
  app?: string;
  query_type?: QueryType;
  /** µs since the Unix epoch. */
  started_at: number;
  headers_us?: number;
  end_us?: number;
  /** The stream was watched up to here: silence after the last chunk lasted at least so long. */
  observed_us: number;
  chunks?: Omit<WireSeries, 'kind_runs'> & { kind?: Kind[] };
  finish_reason?: string;
  error?: string;
  status?: number;
  response_id?: string;
  trace_id?: string;
  aliases?: string[];
}

/** One upstream call of a gateway's request; instants in µs since the Unix epoch. */
export interface WireAttempt {
  attempt: number;
  provider?: string;
  deployment?: string;
  model?: string;
  start: number;
  end?: number;
  status?: number;
  error?: string;
  served: boolean;
}

/** One request as a gateway handled it, as `POST /v1/gateway` takes it; instants in µs since the Unix epoch. */
export interface WireGateway {
  request_id: string;
  emitter?: string;
  app?: string;
  route?: string;
  region?: string;
  query_type?: QueryType;
  received_at: number;
  upstream_sent_at?: number;
  first_byte_at?: number;
  last_byte_at?: number;
  cancelled_at?: number;
  upstream_closed_at?: number;
  queue_wait_us?: number;
  cache_lookup_us?: number;
  cache_result?: 'hit' | 'miss' | 'bypass';
  route_decision?: { policy?: string; candidates?: string[]; chosen?: string; reason?: string };
  retries?: number;
  fallbacks?: number;
  priority?: number;
  in_flight?: number;
  queue_depth?: number;
  status?: number;
  error?: string;
  attempts: WireAttempt[];
  trace_id?: string;
  aliases?: string[];
}

/**
 * A segment as the core makes it, in the server's shape: offsets from the stream's own start instead of the
 * process's.
 *
 * @param origin µs since the Unix epoch at which the process's clock was 0
 * @param now µs on the process's clock
 */
export function toChunks(
  s: WireStream,
  origin: number,
  now: number,
  base: Pick<WireChunks, 'request_id' | 'attempt' | 'tier'> & Partial<WireChunks>,
): WireChunks {
  const start = s.request_sent_at ?? s.submit_at ?? now;
  const end = s.done_at ?? s.aborted_at ?? s.closed_at ?? (s.final ? now : undefined);
  const out: WireChunks = { ...base, seq: s.seq, final: s.final, started_at: origin + start, observed_us: Math.max((end ?? now) - start, 0) };
  if (s.headers_at !== undefined) out.headers_us = s.headers_at - start;
  if (end !== undefined) out.end_us = out.observed_us;
  if (s.recv) {
    const [first, ...rest] = s.recv.dt as [number, ...number[]];
    const kind = s.recv.kind_runs?.flatMap(([k, n]) => new Array<Kind>(n).fill(k));
    out.chunks = { dt: [Math.max(first - start, 0), ...rest], bytes: s.recv.bytes, ...(kind && { kind }) };
  }
  if (s.aborted_at !== undefined) out.finish_reason = 'client_abort';
  else if (s.finish_reason) out.finish_reason = s.finish_reason;
  if (s.error) out.error = s.error;
  if (s.response_id) out.response_id = s.response_id;
  if (s.trace_id) out.trace_id = s.trace_id;
  if (s.aliases) out.aliases = s.aliases;
  return out;
}
