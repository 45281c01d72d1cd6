// npm run compat [-- [--mutants] PREFIXES OR IDS]: tries all rows, or these, prints their verdicts, and writes docs/reference/compatibility.md.
// With `--mutants`, it breaks the behaviours behind them instead, and counts what is noticed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { buildProgram } from '../support/process/built-program.ts'
import { compatibilityDocument, rowsOf, worseThan } from './document.ts'
import { allMutants } from './mutants/mutant.ts'
import { runMutants } from './mutants/run-mutants.ts'
import { type Fault, idOf } from './run-rows.ts'
import { systems } from './systems.ts'
import { tryRows } from './try-rows.ts'

const path = 'docs/reference/compatibility.md'
const root = process.cwd()
const say = (line: string) => void process.stdout.write(`${line}\n`)
const asked = process.argv.slice(2).filter((one) => one !== '--mutants')
const tableOf = (id: string) => id.replace(/\d.*/, '')
const isAsked = (id: string) => asked.length === 0 || asked.includes(id) || asked.includes(tableOf(id))
const rows = systems.flatMap((system) => rowsOf(system).map((row) => ({ ...row, id: idOf(system, row) })))
const unknown = asked.filter((one) => !rows.some(({ id }) => id === one || tableOf(id) === one))
if (unknown.length > 0) throw new Error(`there are no rows ${unknown.join(', ')}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
buildProgram()
await (process.argv.includes('--mutants') ? breakRows() : tryAll())

async function tryAll(): Promise<void> {
  const limitMs = { reply: 60_000, test: 300_000, tests: 1_800_000 }
  const faults = await tryRows(systems, { only: isAsked, root, limitMs })
  for (const { id, expects, verdict, how } of rows.filter((row) => isAsked(row.id))) {
    const fault = faults.get(id)
    say(`${id.padEnd(5)} ${expects}: ${fault === undefined ? verdict + (how && `: ${how}`) : wordsOf(fault, verdict)}`)
  }
  const failed = [...faults.values()].filter(({ isRun }) => isRun).length
  if (faults.size > failed) say(`${faults.size - failed} rows are not run here`)
  const worse = existsSync(path) ? worseThan(readFileSync(path, 'utf8'), systems) : []
  for (const line of worse) say(`worse: ${line}`)
  if (failed + worse.length > 0) {
    say(`${failed} rows are not as they say, ${worse.length} are worse than in ${path}, which is not written`)
    process.exitCode = 1
  } else if (asked.length === 0) {
    writeFileSync(path, compatibilityDocument(systems))
  }
}

function wordsOf({ isRun, isTooLow, step, problem }: Fault, verdict: string): string {
  if (!isRun) return `not run: ${problem}`
  return `${isTooLow ? 'BETTER THAN' : 'NOT'} ${verdict}: ${step}: ${problem}`
}

async function breakRows(): Promise<void> {
  const mutants = (await allMutants()).filter((mutant) => mutant.rows.some(isAsked))
  const noticed = await runMutants({ systems, mutants, root, workers: 2, say })
  say(`${noticed} of ${mutants.length} noticed`)
  if (noticed < 0.95 * mutants.length) process.exitCode = 1
}
