// npm test [-- ARGS]: runs every check, the quick ones first. Arguments go to vitest, whose closing line is printed last.
import { join } from 'node:path'
import { checkNode, ensureBuilt, ensureInstalled, root, run, say } from './bootstrap.mjs'

checkNode()
ensureInstalled()
ensureBuilt()

const steps = [['@biomejs/biome/bin/biome', 'ci'], ['typescript/bin/tsc'], ['vitest/vitest.mjs', 'run', ...process.argv.slice(2)]]
for (const [tool, ...args] of steps) {
  const code = await run(process.execPath, [join(root, 'node_modules', tool), ...args])
  if (code === 0) continue
  if (!tool.startsWith('vitest')) say(`${tool.replace(/.*\//, '')} found errors; the tests were not run`)
  process.exit(code)
}
