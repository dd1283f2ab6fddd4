import { defineConfig } from 'vitest/config';

// One browser at a time: frames are what is measured.
export default defineConfig({
  test: { include: ['e2e/tests/**/*.test.ts'], fileParallelism: false, testTimeout: 120_000, hookTimeout: 60_000 },
});
