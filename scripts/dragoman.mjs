// npm run -s dragoman -- ARGS: runs the command line from a checkout.
import { checkNode, ensureBuilt, ensureInstalled, runProgram } from './bootstrap.mjs'

checkNode()
await ensureInstalled()
await ensureBuilt()
await runProgram(process.argv.slice(2))
