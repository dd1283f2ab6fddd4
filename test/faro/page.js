// A chat page that runs Faro and nothing of Fermata's: it measures its own stream and pushes it as docs/rum.md says.
import { getWebInstrumentations, initializeFaro } from '@grafana/faro-web-sdk';
import { TracingInstrumentation } from '@grafana/faro-web-tracing';

const query = new URLSearchParams(location.search);

export const faro = initializeFaro({
  url: query.get('collector'),
  apiKey: query.get('key') ?? undefined,
  app: { name: 'faro-chat', version: '1.2.3', release: '2026.11', environment: 'test' },
  user: { id: 'user-1', username: 'Ada', email: 'ada@example.com' },
  requestCompression: query.has('gzip'),
  instrumentations: [...getWebInstrumentations(), new TracingInstrumentation()],
});

const us = (ms) => Math.round(ms * 1000);

/** Reads a streamed answer and returns the stream's fields as POST /v1/rum has them. */
async function ask(id) {
  const submitted = performance.now();
  const recv = { t: [], bytes: [] };
  const paint = { t: [], bytes: [] };
  const response = await fetch(`/answer?id=${id}`, { method: 'POST' });
  const headers = performance.now();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    recv.t.push(us(performance.now()));
    recv.bytes.push(value.length);
    document.querySelector('#answer').append(new TextDecoder().decode(value));
    await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
    paint.t.push(us(performance.now()));
    paint.bytes.push(value.length);
  }
  return {
    request_id: id,
    submit_at: us(submitted),
    headers_at: us(headers),
    recv,
    paint,
    first_meaningful_paint_at: paint.t[0],
    done_at: us(performance.now()),
    protocol: 'fetch',
    clock: { time_origin: us(performance.timeOrigin), now: us(performance.now()) },
  };
}

const strings = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, typeof v === 'string' ? v : JSON.stringify(v)]));

window.chat = {
  async asEvent(id) {
    const stream = await ask(id);
    faro.api.pushEvent('fermata.stream', strings(stream), undefined, { skipDedupe: true });
    return stream;
  },
  async asMeasurement(id) {
    const stream = await ask(id);
    const values = {};
    const context = {};
    for (const [k, v] of Object.entries(stream)) {
      if (typeof v === 'number') values[k] = v;
      else context[k] = typeof v === 'string' ? v : JSON.stringify(v);
    }
    faro.api.pushMeasurement({ type: 'fermata.stream', values }, { context, skipDedupe: true });
    return stream;
  },
  broken(id) {
    faro.api.pushEvent('fermata.stream', { request_id: id, recv: '[[[' }, undefined, { skipDedupe: true });
  },
  everythingElse() {
    faro.api.pushEvent('checkout', { step: '2' });
    faro.api.pushMeasurement({ type: 'custom', values: { first: 1.5 } });
    faro.api.pushLog(['a log line of the page'], { context: { part: 'chat' } });
    faro.api.pushError(new Error('something the page did wrong'));
    setTimeout(() => {
      throw new TypeError('an uncaught one');
    });
  },
  session: () => faro.api.getSession()?.id,
};
document.title = 'ready';
