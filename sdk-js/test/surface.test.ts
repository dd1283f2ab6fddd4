import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

// What the package exports, from the built files. A change here is a change for its users: it belongs in the
// changelog.
test('the public surface', async () => {
  const pkg = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  const surface: Record<string, string[]> = {};
  for (const [path, target] of Object.entries(pkg.exports)) {
    if (typeof target === 'string') continue;
    const m = (await import(new URL(`../${target.default}`, import.meta.url).href)) as object;
    surface[path] = Object.keys(m).sort();
  }
  expect(surface).toMatchInlineSnapshot(`
    {
      ".": [
        "Answer",
        "Client",
        "Fermata",
        "Stream",
        "init",
      ],
      "./ai": [
        "observeStreamText",
      ],
      "./autofetch": [
        "instrumentFetch",
      ],
      "./core": [
        "Client",
        "Stream",
        "createClient",
      ],
      "./eventsource": [
        "watchEventSource",
      ],
      "./fetch": [
        "watchResponse",
        "wrapFetch",
      ],
      "./iterable": [
        "watchIterable",
      ],
      "./node": [
        "GatewayRequest",
        "Server",
        "ServerStream",
        "createServer",
      ],
      "./openai": [
        "observeOpenAI",
      ],
      "./paint": [
        "Page",
        "observeElement",
      ],
      "./react": [
        "useAnswer",
      ],
      "./websocket": [
        "watchWebSocket",
      ],
    }
  `);
});

test('declarations tell nothing internal', () => {
  const dir = new URL('../dist/types/', import.meta.url);
  for (const f of readdirSync(dir, { recursive: true })) {
    if (!String(f).endsWith('.d.ts')) continue;
    const text = readFileSync(new URL(String(f), dir), 'utf8').replace(/private( readonly)? _\w+;?/g, '');
    expect(text.match(/^\s+(?:readonly )?_[a-z]\w*[(:?]/gm) ?? [], String(f)).toEqual([]);
  }
});

test('the package runs where there is no document', async () => {
  const { init } = (await import(new URL('../dist/index.js', import.meta.url).href)) as typeof import('../src/index');
  const fermata = init({ url: 'http://127.0.0.1:9/v1/rum' });
  const answer = fermata.submit();
  expect(answer.active).toBe(true);
  await fermata.uninstall();
});
