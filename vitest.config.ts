import { dirname, join, resolve, sep } from 'node:path'
import { defineConfig, type Plugin } from 'vitest/config'
import { ensureNode } from './scripts/node.mjs'

// Also for `npx vitest`.
await ensureNode()

const sources = join(import.meta.dirname, 'src')

/**
 * Imports of sources become imports of what is built from them: what users run is what is tested, and its processes and threads start in a
 * third of the time that TypeScript takes.
 */
const testWhatIsBuilt: Plugin = {
  name: 'test-what-is-built',
  enforce: 'pre',
  resolveId(source, importer) {
    if (!source.startsWith('.') || importer === undefined) return undefined
    const path = resolve(dirname(importer), source)
    if (!path.startsWith(sources + sep) || !path.endsWith('.ts') || path.includes('__fixtures__')) return undefined
    return { id: path.replace(sources, join(import.meta.dirname, 'dist')).replace(/ts$/, 'js'), external: true }
  },
}

/** A condition that is polled for comes soon, or never: only a machine with other work makes it late. */
const expect = { poll: { timeout: 20_000 } }
/** Model workers spin and soak tests want the machine: one file at a time, and never beside files of another project. */
const alone = { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000, expect }
const built = { globalSetup: 'test/support/process/built-program.ts', server: { deps: { external: [/\/dist\//] } } }

// `unit` needs nothing but the code; `e2e` starts servers, workers and real clients on loopback; `soak` runs for minutes,
// `agents` runs coding agents, `v8-habits` shows what V8 does and our code relies on or avoids.
export default defineConfig({
  test: {
    reporters: ['default', './test/closing-line.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts', 'test/protocols/*.test.ts'],
          // Most files need less time than loading their imports anew: they share a process, and leave nothing behind in it.
          isolate: false,
          // A machine may be busy with something else; no test needs a second when it is not.
          testTimeout: 60_000,
          expect,
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        plugins: [testWhatIsBuilt],
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', 'test/cases/**/*.test.ts'],
          ...alone,
          ...built,
          sequence: { groupOrder: 1 },
        },
      },
      {
        plugins: [testWhatIsBuilt],
        test: { name: 'v8-habits', include: ['test/v8-habits/**/*.test.ts'], ...alone, ...built, sequence: { groupOrder: 4 } },
      },
      {
        plugins: [testWhatIsBuilt],
        test: { name: 'agents', include: ['test/agents/**/*.test.ts'], ...alone, ...built, sequence: { groupOrder: 3 } },
      },
      {
        plugins: [testWhatIsBuilt],
        test: { name: 'soak', include: ['test/soak/**/*.test.ts'], ...alone, ...built, sequence: { groupOrder: 2 } },
      },
    ],
  },
})
