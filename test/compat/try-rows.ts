import { join } from 'node:path'
import { rowsOf } from './document.ts'
import type { System } from './row.ts'
import { type Fault, idOf, runRows } from './run-rows.ts'
import { placesOf, startServers } from './servers.ts'
import { runTests, type TestRun, type TestStep } from './shown-by.ts'

export type Tries = {
  /** The ids of the rows. */
  readonly only: (id: string) => boolean
  /** The tree whose built server and whose tests are tried. */
  readonly root: string
  /** How long a reply may take. */
  readonly limitMs: TestRun['limitMs'] & { readonly reply: number }
}

/** Tries rows: their requests, then the tests of those with which nothing is wrong so far. The faults, by the ids of their rows. */
export async function tryRows(systems: readonly System[], { only, root, limitMs }: Tries): Promise<ReadonlyMap<string, Fault>> {
  const faults = new Map<string, Fault>()
  const rows = systems.flatMap((system) => rowsOf(system).map((row) => ({ id: idOf(system, row), steps: row.steps })))
  const tried = rows.filter(({ id }) => only(id))
  const steps = tried.flatMap((row) => row.steps)
  if (steps.some(({ type }) => type !== 'test')) {
    const servers = await startServers(placesOf(steps), join(root, 'dist', 'cli', 'program.js'))
    try {
      const trial = { servers, only, testProblem: () => undefined, replyLimitMs: limitMs.reply }
      for (const system of systems) for (const fault of await runRows(trial, system)) faults.set(fault.id, fault)
    } finally {
      await servers.close()
    }
  }
  for (const project of ['unit', 'e2e'] as const) {
    const tests = tried
      .filter(({ id }) => !faults.has(id))
      .flatMap((row) => row.steps.filter((step): step is TestStep => step.type === 'test').map((step) => ({ id: row.id, step })))
    const testProblem = await runTests(
      tests.map(({ step }) => step),
      { project, root, limitMs },
    )
    for (const { id, step } of tests) {
      const found = testProblem(step)
      if (found !== undefined && !faults.has(id)) faults.set(id, { ...found, id, step: step.file, isTooLow: false })
    }
  }
  return faults
}
