// Builds dist/: one ES module per sub-path with shared chunks, one classic script, and the declarations.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { minify } from 'terser';

const entries = {
  index: 'src/index.ts',
  core: 'src/core/index.ts',
  fetch: 'src/fetch.ts',
  autofetch: 'src/instrument/autofetch.ts',
  eventsource: 'src/instrument/eventsource.ts',
  websocket: 'src/instrument/websocket.ts',
  iterable: 'src/instrument/iterable.ts',
  paint: 'src/paint.ts',
  react: 'src/adapters/react.ts',
  openai: 'src/adapters/openai.ts',
  ai: 'src/adapters/ai.ts',
};

const common = {
  bundle: true,
  minify: true,
  target: ['chrome100', 'firefox100', 'safari15.4'],
  mangleProps: /^_[a-z]/i,
  legalComments: 'none',
  logLevel: 'warning',
  sourcemap: true,
};

rmSync('dist', { recursive: true, force: true });
// One call for all sub-paths: private names are shortened alike, and shared code exists once.
await build({ ...common, entryPoints: entries, outdir: 'dist', format: 'esm', splitting: true, chunkNames: 'chunks/[hash]', external: ['react'] });
await build({ ...common, entryPoints: { 'fermata.iife': 'src/iife.ts' }, outdir: 'dist', format: 'iife', globalName: 'fermata' });
// terser finds a few per cent more.
const files = readdirSync('dist', { recursive: true }).filter((f) => f.endsWith('.js'));
for (const f of files) {
  const path = `dist/${f}`;
  const out = await minify(readFileSync(path, 'utf8'), {
    module: !f.includes('iife'),
    toplevel: !f.includes('iife'),
    ecma: 2020,
    // Inlined functions cost more than they save once a page's own bundler has minified again.
    compress: { passes: 3, inline: false, reduce_funcs: false },
    sourceMap: { content: readFileSync(`${path}.map`, 'utf8'), url: `${f.split('/').pop()}.map` },
  });
  // Imports for side effects alone are left over from splitting: no module here has any.
  writeFileSync(path, out.code.replace(/import"[^"]+";/g, ''));
  writeFileSync(`${path}.map`, out.map);
}
await build({
  ...common,
  minify: false,
  mangleProps: undefined,
  target: 'node20',
  platform: 'node',
  entryPoints: { node: 'src/node/index.ts' },
  outdir: 'dist',
  format: 'esm',
});
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--emitDeclarationOnly'], { stdio: 'inherit' });
// Node's resolution wants file names in declarations.
for (const f of readdirSync('dist/types', { recursive: true })) {
  if (!f.endsWith('.d.ts')) continue;
  const path = `dist/types/${f}`;
  writeFileSync(path, readFileSync(path, 'utf8').replace(/((?:from|import)\s*\(?')(\.{1,2}\/[^']+?)(')/g, '$1$2.js$3'));
}
