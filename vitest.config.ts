import { defineConfig } from 'vitest/config'

// `unit` needs nothing but the code; `e2e` starts servers, workers and real clients on loopback.
export default defineConfig({
  test: {
    reporters: ['default', './test/closing-line.ts'],
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts', 'test/*.test.ts'] } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Model workers spin: one file at a time keeps two cores usable.
          fileParallelism: false,
        },
      },
    ],
  },
})
