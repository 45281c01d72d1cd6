// npm run compat: tries every row, prints its verdict, and writes docs/compatibility.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { compatibilityDocument, rowsOf, worseThan } from './document.ts'
import { runRows } from './run-rows.ts'
import { startServers } from './servers.ts'
import { systems } from './systems.ts'

const path = 'docs/compatibility.md'
const only = process.argv.slice(2)
const servers = await startServers()
let failed = 0
try {
  for (const system of systems.filter(({ prefix }) => only.length === 0 || only.includes(prefix))) {
    const faults = new Map((await runRows(servers, system)).map((fault) => [fault.id, fault]))
    for (const { number, verdict, expects, how } of rowsOf(system)) {
      const id = `${system.prefix}${number}`
      const fault = faults.get(id)
      const found =
        fault === undefined ? verdict : `${fault.isTooLow ? 'BETTER THAN' : 'NOT'} ${verdict}: ${fault.step}: ${fault.problem}`
      process.stdout.write(`${id.padEnd(5)} ${expects}: ${found}${how === '' || fault !== undefined ? '' : `: ${how}`}\n`)
    }
    failed += faults.size
  }
} finally {
  await servers.close()
}
const worse = existsSync(path) ? worseThan(readFileSync(path, 'utf8'), systems) : []
for (const line of worse) process.stdout.write(`worse: ${line}\n`)
if (failed + worse.length > 0) {
  process.stdout.write(`${failed} rows are not as they say, ${worse.length} are worse than in ${path}, which is not written\n`)
  process.exitCode = 1
} else if (only.length === 0) {
  writeFileSync(path, compatibilityDocument(systems))
}
