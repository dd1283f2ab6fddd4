// What the test and the recorder share: the page, its server, Chromium.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

/** Bundles page.js. */
export async function bundle() {
  const out = await build({
    entryPoints: [new URL('page.js', import.meta.url).pathname],
    bundle: true,
    write: false,
    format: 'iife',
    logLevel: 'error',
  });
  return out.outputFiles[0].text;
}

/** Runs an HTTP server on a free port of 127.0.0.1. */
export async function serve(handler) {
  const server = createServer(handler);
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) };
}

/** Runs the binary until stop is called; line by line, what it writes is handed to seen. */
export function run(args, env, seen) {
  const child = spawn(process.env.FERMATA_BIN ?? new URL('../../bin/fermata', import.meta.url).pathname, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const p = { log: '', ended: false };
  for (const out of [child.stdout, child.stderr]) {
    out.on('data', (d) => {
      p.log += d;
      seen?.(p.log);
    });
  }
  const gone = new Promise((r) => child.on('exit', () => ((p.ended = true), r())));
  p.stop = () => (p.ended || child.kill('SIGINT'), gone);
  return p;
}

/** Serves the page and an answer of five chunks, 40 ms apart. */
export async function pageServer() {
  const script = await bundle();
  return serve((req, res) => {
    if (req.url.startsWith('/answer')) {
      req.resume();
      res.writeHead(200, { 'content-type': 'text/plain' });
      let n = 0;
      const next = () => {
        if (n++ === 5) return res.end();
        res.write(`word ${n} `);
        setTimeout(next, 40);
      };
      return next();
    }
    if (req.url === '/page.js') {
      res.writeHead(200, { 'content-type': 'text/javascript' });
      return res.end(script);
    }
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    res.end('<!doctype html><title>loading</title><p id="answer"></p><script src="/page.js"></script>');
  });
}

export const launch = () =>
  chromium.launch({
    executablePath: process.env.FERMATA_CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

/** Waits until f returns something true. */
export async function until(f, what, ms = 90_000) {
  const end = Date.now() + ms;
  for (;;) {
    const v = await f();
    if (v) return v;
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((r) => setTimeout(r, 50));
  }
}
