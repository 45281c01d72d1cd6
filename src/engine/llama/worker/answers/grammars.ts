import { GrammarMachine } from '../../../../grammar/run/machine.ts'
import type { OutputPlan } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import { ConstrainedOutput, type SharedMachine } from '../sampling/constrained-output.ts'

type Grammar = NonNullable<OutputPlan['grammar']>

/** Agents send the same constraints again and again. */
const keptMachines = 16
/** The least recently used one is the first in the map's order. */
const machines = new Map<string, SharedMachine>()

/** A new output that the grammar constrains. Throws `unsupported-field` for a grammar that takes too much work. */
export function openConstrainedOutput({ vocabulary, tokenTrie: trie }: WorkerModel, grammar: Grammar): ConstrainedOutput {
  return new ConstrainedOutput(machineOf(grammar), { ...vocabulary, trie })
}

function machineOf({ key, program }: Grammar): SharedMachine {
  const known = machines.get(key) ?? share(() => new GrammarMachine(program))
  machines.delete(key)
  machines.set(key, known)
  if (machines.size > keptMachines) for (const oldest of [...machines.keys()].slice(0, 1)) machines.delete(oldest)
  return known
}

function share(create: () => GrammarMachine): SharedMachine {
  const allowed: SharedMachine['allowed'] = new Map()
  const renew = () => {
    allowed.clear()
    return create()
  }
  return { current: create(), renew, allowed }
}
