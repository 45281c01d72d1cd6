// npm start [-- ARGS]: installs and builds what is missing, then serves; the library for pictures and sound is built beside that.
import { ensureBuilt, ensureInstalled, runProgram } from './bootstrap.mjs'
import { ensureNode } from './node.mjs'
import { buildSensesBeside } from './senses-beside.mjs'

await ensureNode()
await ensureInstalled()
await ensureBuilt()
buildSensesBeside()
await runProgram(['serve', ...process.argv.slice(2)])
