// node scripts/with-node.mjs COMMAND [ARGS]: runs a command of node_modules with a Node.js that is new enough.
import { run } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
const [command, ...args] = process.argv.slice(2)
process.exitCode = await run(command, args, { cwd: process.cwd(), shell: process.platform === 'win32' })
