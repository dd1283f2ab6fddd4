import type { WireSeries, WireStream } from '../src/core/types';

type Segment = WireStream & { session: string };

/** The segments of the one stream that was sent, put together again in their order. */
export function join(segments: Segment[]): WireStream {
  const starts = new Set(segments.map((s) => `${s.session} ${s.submit_at}`));
  if (starts.size !== 1) throw new Error(`want segments of one stream, got ${[...starts].join(', ')}`);
  // A beacon whose answer was lost comes again.
  const mine = [...new Map(segments.map((s) => [s.seq, s])).values()].sort((a, b) => a.seq - b.seq);
  const out = { ...(mine.at(-1) as WireStream) };
  for (const k of ['recv', 'dom', 'paint'] as const) {
    let last = 0;
    const all: WireSeries = { dt: [], bytes: [] };
    for (const s of mine) {
      let t = 0;
      s[k]?.dt.forEach((d, i) => {
        t += d;
        all.dt.push(t - last);
        last = t;
        all.bytes.push(s[k]?.bytes[i] ?? 0);
      });
    }
    if (all.dt.length) out[k] = all;
  }
  for (const k of ['visibility', 'long_frames', 'retractions'] as const) {
    const all = mine.flatMap((s) => (s[k] ?? []) as never[]);
    if (all.length) out[k] = all;
  }
  return out;
}

/** Cumulative bytes over time in ms. */
export function cumulative(s: WireSeries | undefined): { t: number; bytes: number }[] {
  let t = 0;
  let bytes = 0;
  return (s?.dt ?? []).map((d, i) => {
    t += d;
    bytes += s?.bytes[i] ?? 0;
    return { t: t / 1000, bytes };
  });
}
