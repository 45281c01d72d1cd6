// npm start [-- ARGS]: installs and builds what is missing, then serves.
import { checkNode, ensureBuilt, ensureInstalled, runProgram } from './bootstrap.mjs'

checkNode()
await ensureInstalled()
await ensureBuilt()
await runProgram(['serve', ...process.argv.slice(2)])
