import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Step } from './row.ts'
import type { Problem } from './run-rows.ts'

export type TestStep = Extract<Step, { type: 'test' }>
/** What is wrong with the test of a row; undefined if nothing is. */
export type TestProblem = (step: TestStep) => Problem | undefined

export type TestRun = {
  /** `unit` runs from the sources, `e2e` with what is built. */
  readonly project: 'unit' | 'e2e'
  /** The tree whose tests run. */
  readonly root: string
  /** How long one test, and all of them, may take. */
  readonly limitMs: { readonly test: number; readonly tests: number }
}

type Ran = { readonly fullName: string; readonly status: string; readonly failureMessages?: readonly string[] }
type Report = { readonly testResults: readonly { readonly name: string; readonly assertionResults: readonly Ran[] }[] }

/** Runs the tests of a project that rows name, in one process. Nothing is wrong with those of another. */
export async function runTests(steps: readonly TestStep[], run: TestRun): Promise<TestProblem> {
  const mine = steps.filter(({ file }) => projectOf(file) === run.project)
  const report = mine.length === 0 ? { testResults: [] } : await runVitest(mine, run)
  const ran = new Map(report?.testResults.map(({ name, assertionResults }) => [name, assertionResults]))
  return (step) => {
    if (projectOf(step.file) !== run.project) return undefined
    if (report === undefined) return { problem: 'the tests did not end', isRun: true }
    const named = (ran.get(join(run.root, step.file)) ?? []).filter(({ fullName }) => fullName.includes(step.name))
    return problemOf(named, step.name)
  }
}

/** That a test is there: the lanes run it. */
export function testIsThere({ file, name }: TestStep): Problem | undefined {
  try {
    return readFileSync(file, 'utf8').includes(name) ? undefined : { problem: `has no test '${name}'`, isRun: true }
  } catch {
    return { problem: 'is not there', isRun: true }
  }
}

function problemOf(found: readonly Ran[], name: string): Problem | undefined {
  if (found.length === 0) return { problem: `no test '${name}' ran`, isRun: true }
  const bad = found.find(({ status }) => status !== 'passed')
  if (bad === undefined) return undefined
  const missing = /\(skipped:? (.*?)\)/.exec(bad.fullName)?.[1]
  if (bad.status !== 'failed' && missing !== undefined) return { problem: missing, isRun: false }
  const why = bad.failureMessages?.[0]?.split('\n')[0] ?? ''
  return { problem: `'${bad.fullName}' ${bad.status} ${why}`.trim(), isRun: true }
}

const projectOf = (file: string) => (/^test\/(e2e|cases)\//.test(file) ? 'e2e' : 'unit')

/** Undefined if it did not end in time. */
async function runVitest(steps: readonly TestStep[], { project, root, limitMs }: TestRun): Promise<Report | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-shown-by-'))
  const output = join(folder, 'report.json')
  const names = [...new Set(steps.map(({ name }) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))]
  const args = [
    ...[join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--project', project],
    ...(project === 'unit' ? ['--mode', 'sources'] : []),
    ...['--testTimeout', String(limitMs.test), '--hookTimeout', String(limitMs.test)],
    ...['--reporter', 'json', '--outputFile', output, '-t', names.join('|')],
    ...new Set(steps.map(({ file }) => file)),
  ]
  // A group of its own: what its tests started ends with it.
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const { pid } = child
  if (pid === undefined) throw new Error('vitest does not start')
  let isLate = false
  const kill = () => process.kill(-pid, 'SIGKILL')
  const timer = setTimeout(() => {
    isLate = true
    kill()
  }, limitMs.tests)
  process.once('exit', kill)
  try {
    await once(child, 'exit')
    return isLate ? undefined : (JSON.parse(await readFile(output, 'utf8')) as Report)
  } finally {
    clearTimeout(timer)
    process.removeListener('exit', kill)
    await rm(folder, { recursive: true, force: true })
  }
}
