import { availableParallelism } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { defineConfig, type Plugin } from 'vitest/config'
import { ensureNode } from './scripts/node.mjs'
import { LongestFirst } from './test/lanes/longest-first.ts'

// Also for `npx vitest`.
await ensureNode()
// Tests start hundreds of processes: each reads what the first one compiled.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '.cache', 'compiled')

const sources = join(import.meta.dirname, 'src')

/**
 * Imports of sources become imports of what is built from them: what users run is what is tested, nothing is transformed for a test, and
 * its processes and threads start in a third of the time that TypeScript takes.
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
const expect = { poll: { timeout: 60_000 } }
const built = { globalSetup: 'test/support/process/built-program.ts', server: { deps: { external: [/\/dist\//] } } }
/** Many files wait for most of their time, for processes that they start: more at a time than there are processors keep a small machine busy. */
const workers = { maxWorkers: availableParallelism() + 2, sequence: { groupOrder: 0 } }
const beside = { ...built, ...workers, testTimeout: 300_000, hookTimeout: 300_000, expect }
/** These measure: nothing runs beside them. */
const alone = { ...beside, fileParallelism: false }

// `unit` needs nothing but the code; `e2e` starts servers, workers and real clients on loopback; `soak` runs for minutes,
// `agents` runs coding agents, `v8-habits` shows what V8 does and our code relies on or avoids.
export default defineConfig(({ mode }) => ({
  test: {
    reporters: ['default', './test/lanes/closing-line.ts'],
    sequence: { sequencer: LongestFirst },
    tags: [
      { name: 'gpu', description: 'compares numbers of different passes: `npm run gpu-tests` runs these where there is a GPU' },
    ],
    projects: [
      {
        // `--mode sources`: without a build, for a watch.
        ...(mode !== 'sources' && { plugins: [testWhatIsBuilt] }),
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'web/src/**/*.test.ts',
            'test/*.test.ts',
            'test/{clients,documents,lanes,protocols}/*.test.ts',
          ],
          ...(mode !== 'sources' && built),
          // Most files need less time than loading their imports anew: they share a process, and leave nothing behind in it.
          isolate: false,
          // A machine may be busy with something else; few tests need a second when it is not.
          testTimeout: 20_000,
          hookTimeout: 300_000,
          expect,
          ...workers,
        },
      },
      {
        plugins: [testWhatIsBuilt],
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', 'test/cases/**/*.test.ts'],
          // As the unit tests: importing the server anew takes each file a second of a processor.
          isolate: false,
          ...beside,
        },
      },
      {
        plugins: [testWhatIsBuilt],
        test: {
          name: 'agents',
          include: ['test/agents/**/*.test.ts', 'test/sillytavern/**/*.test.ts'],
          ...beside,
        },
      },
      {
        plugins: [testWhatIsBuilt],
        test: { name: 'soak', include: ['test/soak/**/*.test.ts'], ...beside, maxWorkers: 3, sequence: { groupOrder: 1 } },
      },
      {
        plugins: [testWhatIsBuilt],
        test: { name: 'v8-habits', include: ['test/v8-habits/**/*.test.ts'], ...alone, sequence: { groupOrder: 2 } },
      },
    ],
  },
}))
