// npm test [-- ARGS]: lint, types, unit and end-to-end tests, the quick checks first. Arguments go to vitest, whose closing line is
// printed last; `--project` chooses other tests than these.
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled } from './bootstrap.mjs'
import { root, run, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
await ensureInstalled()
await ensureBuilt()

const args = process.argv.slice(2)
const projects = args.some((arg) => arg.startsWith('--project')) ? [] : ['--project', 'unit', '--project', 'e2e']
const steps = [
  ['@biomejs/biome/bin/biome', 'ci'],
  ['typescript/bin/tsc'],
  ['typescript/bin/tsc', '-p', 'web'],
  ['vitest/vitest.mjs', 'run', ...projects, ...args],
]
for (const [tool, ...toolArgs] of steps) {
  const code = await run(process.execPath, [join(root, 'node_modules', tool), ...toolArgs])
  if (code === 0) continue
  if (!tool.startsWith('vitest')) say(`${tool.replace(/.*\//, '')} found errors; the tests were not run`)
  process.exit(code)
}
