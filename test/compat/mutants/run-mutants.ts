import { rowsOf } from '../document.ts'
import type { System } from '../row.ts'
import { idOf } from '../run-rows.ts'
import { tryRows } from '../try-rows.ts'
import { type Mutant, mutated } from './mutant.ts'
import { copyTree, type TreeCopy } from './tree-copy.ts'

export type MutantsRun = {
  readonly systems: readonly System[]
  readonly mutants: readonly Mutant[]
  /** The tree, which is built. */
  readonly root: string
  readonly workers: number
  readonly say: (line: string) => void
}

/** A change may make what waits wait for ever. */
const limitMs = { reply: 20_000, test: 60_000, tests: 600_000 }

/** Breaks one behaviour after the other in copies of a tree, and counts those that all of their rows notice. */
export async function runMutants({ systems, mutants, root, workers, say }: MutantsRun): Promise<number> {
  const ids = new Set(systems.flatMap((system) => rowsOf(system).map((row) => idOf(system, row))))
  for (const mutant of mutants) {
    mutated(mutant, root)
    const unknown = mutant.rows.filter((id) => !ids.has(id))
    if (unknown.length > 0) throw new Error(`${mutant.file}: there are no rows ${unknown.join(', ')}`)
  }
  const wanted = new Set(mutants.flatMap(({ rows }) => rows))
  const before = await tryRows(systems, { only: (id) => wanted.has(id), root, limitMs })
  for (const { id, problem } of before.values()) say(`${id} is not as it says without a change: ${problem}`)

  const left = [...mutants]
  let noticed = 0
  const work = async () => {
    const copy = copyTree(root)
    try {
      for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
        const change = `${mutant.file}: ${mutant.find} -> ${mutant.replace || '(nothing)'}`
        try {
          const unaware = await unawareRows(mutant, copy, systems)
          const blind = mutant.rows.filter((id) => before.has(id) || unaware.includes(id))
          if (blind.length === 0) noticed += 1
          else say(`${blind.join(', ')} did not notice: ${change}`)
        } catch (error) {
          // Such as a server that does not start, which shows no behaviour.
          say(`${error}: ${change}`)
        }
      }
    } finally {
      copy.remove()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return noticed
}

async function unawareRows(mutant: Mutant, copy: TreeCopy, systems: readonly System[]): Promise<readonly string[]> {
  const restore = await copy.change(mutant)
  try {
    const faults = await tryRows(systems, { only: (id) => mutant.rows.includes(id), root: copy.root, limitMs })
    return mutant.rows.filter((id) => faults.get(id)?.isRun !== true)
  } finally {
    await restore()
  }
}
