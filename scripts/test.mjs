// npm test [-- ARGS]: lint, types, unit and end-to-end tests, the quick checks first. Arguments go to vitest, whose closing line is
// printed last; `--project` chooses other tests than these.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled } from './bootstrap.mjs'
import { root, run, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
await ensureInstalled()
await ensureBuilt()

const args = process.argv.slice(2)
const projects = args.some((arg) => arg.startsWith('--project')) ? [] : ['--project', 'unit', '--project', 'e2e']
const runTool = ([tool, ...toolArgs]) => run(process.execPath, [join(root, 'node_modules', tool), ...toolArgs])
// As many threads as processors, four at most: each checks again what it shares with the others.
const checkers = String(Math.min(4, availableParallelism()))
const checks = [
  ['@biomejs/biome/bin/biome', 'ci'],
  ['typescript/bin/tsc', '--checkers', checkers],
  ['typescript/bin/tsc', '-p', 'web'],
]
// Together: each has one processor busy.
const codes = await Promise.all(checks.map(runTool))
const failed = checks.filter((_, index) => codes[index] !== 0)
if (failed.length > 0) {
  const names = failed.map((check) => check.join(' ').replace(/.*\//, ''))
  say(`errors were found by ${names.join(' and ')}; the tests were not run`)
  process.exit(codes.find((code) => code !== 0))
}
process.exit(await runTool(['vitest/vitest.mjs', 'run', ...projects, ...args]))
