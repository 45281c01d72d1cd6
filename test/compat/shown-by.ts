import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Problem, TestStep, Trial } from './run-rows.ts'

type Ran = { readonly fullName: string; readonly status: string; readonly failureMessages?: readonly string[] }
type Report = { readonly testResults: readonly { readonly name: string; readonly assertionResults: readonly Ran[] }[] }

/** Runs the tests that rows name, in the tree at a folder: those of sources in one process, the others in a second. */
export async function runTests(steps: readonly TestStep[], root: string): Promise<Trial['testProblem']> {
  const ran = new Map<string, readonly Ran[]>()
  for (const project of ['unit', 'e2e']) {
    const mine = steps.filter(({ file }) => projectOf(file) === project)
    if (mine.length === 0) continue
    for (const { name, assertionResults } of (await report(mine, project, root)).testResults) {
      ran.set(name, assertionResults)
    }
  }
  return ({ file, name }) =>
    problemOf(
      (ran.get(join(root, file)) ?? []).filter(({ fullName }) => fullName.includes(name)),
      name,
    )
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
  const [, missing] = /\(skipped:? (.*?)\)/.exec(bad.fullName) ?? []
  if (bad.status !== 'failed' && missing !== undefined) return { problem: missing, isRun: false }
  const why = bad.failureMessages?.[0]?.split('\n')[0] ?? ''
  return { problem: `'${bad.fullName}' ${bad.status} ${why}`.trim(), isRun: true }
}

const projectOf = (file: string) => (/^test\/(e2e|cases)\//.test(file) ? 'e2e' : 'unit')

async function report(steps: readonly TestStep[], project: string, root: string): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-shown-by-'))
  const output = join(folder, 'report.json')
  const names = [...new Set(steps.map(({ name }) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))]
  const args = [
    ...[join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--project', project],
    ...(project === 'unit' ? ['--mode', 'sources'] : []),
    ...['--reporter', 'json', '--outputFile', output, '-t', names.join('|')],
    ...new Set(steps.map(({ file }) => file)),
  ]
  try {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
    await once(child, 'exit')
    return JSON.parse(await readFile(output, 'utf8')) as Report
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
