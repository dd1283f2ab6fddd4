/** What a received chunk carries. Only the first four hold generated text. */
export type Kind = 'content' | 'reasoning' | 'tool' | 'refusal' | 'role' | 'usage' | 'keepalive' | 'error' | 'done';

/** How the answer came to the page. */
export type Protocol = 'sse' | 'websocket' | 'fetch';

/** Where paint times come from, best first. */
export type PaintSource = 'interaction_contentful_paint' | 'element_timing' | 'frame';

/** The user's question by type; each type has its own contract on the collector's side. */
export type QueryType = 'short_qa' | 'long_form' | 'code_completion' | 'translate_summarize' | 'other';

/** Parallel arrays of one stream segment, as they travel. */
export interface WireSeries {
  /** µs: the first entry counts from the page's time origin, each other one from the entry before it. */
  dt: number[];
  /** UTF-8 bytes of answer text of each entry, not cumulative. */
  bytes: number[];
  /** The entries' kinds as runs, each with its length. Absent: every entry is `content`. */
  kind_runs?: [kind: Kind, length: number][];
}

/** One stream, or one segment of it. Times are integer µs since the page's time origin. */
export interface WireStream {
  /** Absent when the page could not learn it. */
  request_id?: string;
  /** Number of the segment within the stream, from 0. */
  seq: number;
  /** No segment follows. */
  final: boolean;
  /** How many streams this one stands for, where good ones are sampled; at least 1. The last segment's counts. */
  sample_weight?: number;
  /** Number of the try, when the page itself tried again; from 1. */
  attempt?: number;
  submit_at?: number;
  first_feedback_at?: number;
  request_sent_at?: number;
  headers_at?: number;
  recv?: WireSeries;
  dom?: WireSeries;
  paint?: WireSeries;
  first_meaningful_paint_at?: number;
  paint_source?: PaintSource;
  visibility?: [t: number, state: 'visible' | 'hidden'][];
  long_frames?: [t: number, dur: number][];
  retractions?: [t: number, bytes: number][];
  aborted_at?: number;
  done_at?: number;
  closed_at?: number;
  /** Short class such as `http_503` or `network`; never a message. */
  error?: string;
  reconnects?: number;
  /** Beacons of this page load that are known to be lost so far. */
  lost_beacons?: number;
  /** Bytes of generated text received since the start of the stream. */
  bytes_total?: number;
  protocol?: Protocol;
  /** `raw` marks streams whose `recv.bytes` are transport bytes, since no text could be extracted. */
  content_kind?: string;
  query_type?: QueryType;
  finish_reason?: string;
  response_id?: string;
  trace_id?: string;
  aliases?: string[];
}

/** The body of `POST /v1/rum`. */
export interface WireBeacon {
  session_id: string;
  /** Number of the beacon within the session. A repeated send keeps it, so that the receiver drops doubles. */
  seq: number;
  app?: string;
  release?: string;
  /** Path of the page, without query string and fragment. */
  page?: string;
  clock: {
    /** µs since the Unix epoch, on the page's wall clock at load. */
    time_origin: number;
    /** µs since the time origin at which the beacon was made. */
    now: number;
    /** µs since the Unix epoch that the page's wall clock showed at `now`. */
    wall_now: number;
  };
  connection?: {
    /** ms */
    rtt?: number;
    type?: string;
    /** Mbit/s, as `navigator.connection` has it. */
    downlink?: number;
  };
  streams: WireStream[];
}

/** What the SDK takes from its surroundings; inject it in tests. */
export interface Env {
  /** ms since the time origin, monotonic. */
  now(): number;
  /** ms since the Unix epoch at which `now()` was 0. */
  readonly origin: number;
  /** ms since the Unix epoch, by the wall clock. */
  wall(): number;
  /** Uniform in [0, 1). */
  random(): number;
  setTimeout(f: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

/** The collector's answer to one beacon. */
export interface PostResult {
  /** HTTP status; 0 when there was none. */
  status: number;
  /** ms to wait before the next try, when the collector asked for it. */
  retryAfter?: number;
}

/** The way out of the page. Neither method may throw or reject. */
export interface Transport {
  /** Sends while the page lives; the promise settles with the answer. */
  post(body: string): Promise<PostResult>;
  /** Hands over while the page goes away; false: the browser refused it. */
  beacon(body: string): boolean;
}

/** When a stream counts as bad, so that sampling always keeps it. */
export interface BadLimits {
  /** ms between two content-bearing chunks while the page is visible. Default 1000. */
  gap: number;
  /** ms from submit (or send) to the first text. Default 2000. */
  firstText: number;
}

/** Settings of a client. */
export interface ClientOptions {
  /** Address of the RUM receiver, for instance `https://rum.example.com/v1/rum`. */
  url: string;
  /** Write key of the app, sent as the query parameter `key`. Not a secret: it only allows writing. */
  key?: string;
  /** Name of the app. */
  app?: string;
  /** Version of the app. */
  release?: string;
  /** Name of the page for each beacon. Default: `location.pathname`. */
  page?: () => string;
  /** True: measure and send. False: do nothing at all. `'pending'`: measure, send after consent. Default true. */
  consent?: boolean | 'pending';
  /** Share of good streams to send, 0 to 1. Bad ones are always sent. Default 1. */
  sampleRate?: number;
  /** Limits for "bad". */
  bad?: Partial<BadLimits>;
  /** ms between beacons while a stream runs. Default 1500. */
  flushInterval?: number;
  /** Origins besides the page's own that may be sent `X-Request-Id` and `traceparent`. Default none. */
  propagateTo?: (string | RegExp)[];
  /** False: send no ids with requests at all. Default true. */
  propagate?: boolean;
  /** Largest beacon in bytes. Default 30000: two fit into the 64 KiB that browsers share out. */
  maxBeaconBytes?: number;
  /** Streams measured at the same time; others pass through unmeasured. Default 32. */
  maxStreams?: number;
  /** Is told about faults inside the SDK, for debugging. They never reach the page. */
  onError?: (error: unknown) => void;
  /** Surroundings. Default: the platform's. */
  env?: Env;
  /** Way out. Default: `fetch` with keepalive, and `sendBeacon` when the page is hidden. */
  transport?: Transport;
}

/** What is known when a stream begins. */
export interface StreamOptions {
  /** Id that joins this stream with the servers' records, 1 to 128 of `[A-Za-z0-9._:-]`. Default: a new one when it can be sent along. */
  requestId?: string;
  /** ms since the time origin of the user's action. Default: the running UI event's time where there is a page, else now. */
  submitAt?: number;
  /** Type of the question. Default: left to the collector's rules. */
  queryType?: QueryType;
  /** `text`, `markdown`, `code`, … Default: not said. */
  contentKind?: string;
  /** Reads the answer text out of one event, where the format is not one the SDK knows. */
  extract?: Extract;
}

/** One piece of one event. */
export interface Piece {
  kind: Kind;
  /** Generated text. Measured, then forgotten. */
  text?: string;
  /** Why the answer ended, in the sender's words. */
  finish?: string;
  /** The provider's id of the answer. */
  id?: string;
  /** An `error` that is one unreadable frame and not the end of the stream. */
  broken?: boolean;
}

/**
 * An application's own extractor.
 *
 * @param event the parsed JSON of one event, or the text itself when it is no JSON
 * @returns the answer text in it, or pieces, or nothing
 */
export type Extract = (event: unknown) => string | Piece | Piece[] | undefined;
