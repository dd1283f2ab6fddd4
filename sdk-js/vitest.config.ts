import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Nothing here takes long: the time is for machines that do other things, too.
  test: { include: ['test/**/*.test.ts'], testTimeout: 60_000 },
});
