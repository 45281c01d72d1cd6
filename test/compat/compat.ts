// npm run compat [PREFIXES OR IDS]: tries every row, or these, prints its verdict, and writes docs/compatibility.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { compatibilityDocument, rowsOf, worseThan } from './document.ts'
import { idOf, runRows } from './run-rows.ts'
import { placesOf, startServers } from './servers.ts'
import { runTests } from './shown-by.ts'
import { systems } from './systems.ts'

const path = 'docs/compatibility.md'
const asked = process.argv.slice(2)
const unknown = asked.filter((one) => !systems.some((system) => isAskedFor(system.prefix, [one]) || hasRow(system, one)))
if (unknown.length > 0) throw new Error(`there are no rows ${unknown.join(', ')}`)
const only = (id: string) => asked.length === 0 || isAskedFor(id, asked)
const tried = systems.map((system) => ({ system, rows: rowsOf(system).filter((row) => only(idOf(system, row))) }))
const steps = tried.flatMap(({ rows }) => rows.flatMap((row) => row.steps))
const testProblem = await runTests(
  steps.filter((step) => step.type === 'test'),
  process.cwd(),
)
const servers = await startServers(placesOf(steps))
let failed = 0
let notRun = 0
try {
  for (const { system, rows } of tried) {
    const faults = new Map((await runRows({ servers, testProblem, only }, system)).map((fault) => [fault.id, fault]))
    for (const row of rows) {
      const id = idOf(system, row)
      const fault = faults.get(id)
      const found = fault === undefined ? row.verdict + (row.how && `: ${row.how}`) : wordsOf(fault, row.verdict)
      process.stdout.write(`${id.padEnd(5)} ${row.expects}: ${found}\n`)
      if (fault?.isRun === false) notRun += 1
      else if (fault !== undefined) failed += 1
    }
  }
} finally {
  await servers.close()
}
const worse = existsSync(path) ? worseThan(readFileSync(path, 'utf8'), systems) : []
for (const line of worse) process.stdout.write(`worse: ${line}\n`)
if (notRun > 0) process.stdout.write(`${notRun} rows are not run here\n`)
if (failed + worse.length > 0) {
  process.stdout.write(`${failed} rows are not as they say, ${worse.length} are worse than in ${path}, which is not written\n`)
  process.exitCode = 1
} else if (asked.length === 0) {
  writeFileSync(path, compatibilityDocument(systems))
}

function wordsOf(fault: { isRun: boolean; isTooLow: boolean; step: string; problem: string }, verdict: string): string {
  if (!fault.isRun) return `not run: ${fault.problem}`
  return `${fault.isTooLow ? 'BETTER THAN' : 'NOT'} ${verdict}: ${fault.step}: ${fault.problem}`
}

function isAskedFor(id: string, names: readonly string[]): boolean {
  return names.includes(id) || names.includes(id.replace(/\d.*/, ''))
}

function hasRow(system: (typeof systems)[number], id: string): boolean {
  return rowsOf(system).some((row) => idOf(system, row) === id)
}
