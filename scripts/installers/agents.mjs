// npm run agents: installs the agents of test/agents/installs.json for the tests, unless they are installed: together they are a gigabyte.
// Prints the folders to put on the PATH.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../commands.mjs'
import { ensureNode } from '../node.mjs'
import { ensureProgram } from './npm-programs.mjs'

await ensureNode()

const agents = JSON.parse(readFileSync(join(root, 'test', 'agents', 'installs.json'), 'utf8'))

for (const [name, agent] of Object.entries(agents)) {
  const folder = ensureProgram(name, agent, `agent-${name}`)
  if (folder === undefined) process.exitCode = 1
  else process.stdout.write(`${join(folder, 'bin')}\n`)
}
