// npm test [-- ARGS]: every check, the quick ones first. Arguments go to vitest; its closing line is the last that is printed.
import { join } from 'node:path'
import { checkNode, ensureBuilt, ensureInstalled, root, run, say } from './bootstrap.mjs'

checkNode()
ensureInstalled()
ensureBuilt()

const steps = [['@biomejs/biome/bin/biome', 'ci'], ['typescript/bin/tsc'], ['vitest/vitest.mjs', 'run', ...process.argv.slice(2)]]
for (const [tool, ...args] of steps) {
  const code = await run(process.execPath, [join(root, 'node_modules', tool), ...args])
  if (code === 0) continue
  if (!tool.startsWith('vitest')) say(`${tool.replace(/.*\//, '')} found mistakes; the tests were not run`)
  process.exit(code)
}
