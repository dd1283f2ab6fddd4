// Records what the real Faro SDK posts, into the testdata of receivers/adapters/faro. Run it when Faro's version changes.
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { launch, pageServer, serve, until } from './rig.mjs';

const { version } = JSON.parse(readFileSync(new URL('node_modules/@grafana/faro-web-sdk/package.json', import.meta.url)));
const dir = new URL('../../receivers/adapters/faro/testdata/in/', import.meta.url);
const bodies = [];
const collector = await serve((req, res) => {
  const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  if (req.method === 'OPTIONS') {
    console.log('preflight asks for', req.headers['access-control-request-headers']);
    res.writeHead(204, cors);
    return res.end();
  }
  const parts = [];
  req.on('data', (d) => parts.push(d));
  req.on('end', () => {
    const raw = Buffer.concat(parts);
    const text = (req.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString();
    bodies.push(text);
    console.log(req.headers['content-type'], req.headers['content-encoding'] ?? '', req.headers['x-api-key'], text.length);
    res.writeHead(202, cors);
    res.end();
  });
});
const page = await pageServer();
const browser = await launch();
const save = (name, has) => {
  const body = bodies.find((b) => has(JSON.parse(b)));
  if (!body) throw new Error(`no body for ${name}`);
  writeFileSync(new URL(`${name}.json`, dir), body);
};
try {
  const tab = await browser.newPage();
  await tab.goto(`${page.url}/chat?collector=${encodeURIComponent(`${collector.url}/collect`)}&key=faro-key-1&gzip&q=a-question`);
  await tab.waitForFunction("document.title === 'ready'");
  const stream = (b, list) => b[list]?.some((e) => (e.name ?? e.type) === 'fermata.stream');
  const wait = (what, has) => until(() => bodies.some((b) => has(JSON.parse(b))), what);
  await tab.evaluate("chat.asEvent('faro-event-1')");
  await wait('event', (b) => stream(b, 'events'));
  await tab.evaluate("chat.asMeasurement('faro-measurement-1')");
  await wait('measurement', (b) => stream(b, 'measurements'));
  await tab.evaluate('chat.everythingElse()');
  await wait('exceptions', (b) => b.exceptions?.length);
  await wait('traces', (b) => b.traces);
  save(`${version}-event`, (b) => stream(b, 'events'));
  save(`${version}-measurement`, (b) => stream(b, 'measurements'));
  save(`${version}-other`, (b) => b.exceptions?.length && !stream(b, 'events'));
  save(`${version}-traces`, (b) => b.traces && !stream(b, 'events') && !stream(b, 'measurements'));
} finally {
  await browser.close();
  page.close();
  collector.close();
}
