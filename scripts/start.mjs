// npm start [-- ARGS]: installs and builds what is missing, then serves.
import { ensureBuilt, ensureInstalled, runProgram } from './bootstrap.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
await ensureInstalled()
await ensureBuilt()
await runProgram(['serve', ...process.argv.slice(2)])
