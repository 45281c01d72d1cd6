// npm run -s dragoman -- ARGS: runs the command line from a checkout.
import { ensureBuilt, ensureInstalled, runProgram } from './bootstrap.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
await ensureInstalled()
await ensureBuilt()
await runProgram(process.argv.slice(2))
