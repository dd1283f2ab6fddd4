import { defineConfig } from 'vitest/config';

const files = (...names: string[]) => names.map((n) => `e2e/tests/${n}.test.ts`);
const times = files('paint', 'devtools', 'life');
// A whole browser on a machine that does other things, too: what failed is tried once more, and the report says so.
const each = { testTimeout: 120_000, hookTimeout: 180_000, retry: 1 };

export default defineConfig({
  test: {
    projects: [
      // One browser at a time: frames are what is measured.
      { test: { name: 'times', include: times, maxWorkers: 1, sequence: { groupOrder: 0 }, ...each } },
      { test: { name: 'rest', include: files('*'), exclude: times, maxWorkers: 3, sequence: { groupOrder: 1 }, ...each } },
    ],
  },
});
