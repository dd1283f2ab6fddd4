// Puts the built classic script where the Playground's Go package embeds it, so that the binary is built without npm.
// With --check: fails when what is there is not what the sources give.
import { readFileSync, writeFileSync } from 'node:fs';

const target = new URL('../../ui/playground/assets/fermata.iife.js', import.meta.url);
// No source map lies beside it.
const built = readFileSync(new URL('../dist/fermata.iife.js', import.meta.url), 'utf8').replace(/\/\/# sourceMappingURL=.*\n?$/, '');
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== built) {
    console.error(`${target.pathname} is stale: run npm run embed, and commit it`);
    process.exit(1);
  }
  console.log('the Playground embeds the SDK as built');
} else {
  writeFileSync(target, built);
}
