import { defineConfig } from 'vitest/config'

/** Model workers spin and soak tests want the machine: one file at a time, and never beside files of another project. */
const alone = { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }

// `unit` needs nothing but the code; `e2e` starts servers, workers and real clients on loopback; `soak` runs for minutes,
// `agents` runs coding agents.
export default defineConfig({
  test: {
    reporters: ['default', './test/closing-line.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts'],
          // Most files need less time than loading their imports anew: they share a process, and leave nothing behind in it.
          isolate: false,
          // A machine may be busy with something else; no test needs a second when it is not.
          testTimeout: 30_000,
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      { test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], ...alone, sequence: { groupOrder: 1 } } },
      { test: { name: 'agents', include: ['test/agents/**/*.test.ts'], ...alone, sequence: { groupOrder: 3 } } },
      { test: { name: 'soak', include: ['test/soak/**/*.test.ts'], ...alone, sequence: { groupOrder: 2 } } },
    ],
  },
})
