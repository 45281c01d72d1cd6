import { LruMap } from '../../../../base/lru-map.ts'
import { GrammarMachine } from '../../../../grammar/run/machine.ts'
import type { OutputPlan } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import { ConstrainedOutput, keptSets, type SharedMachine } from '../sampling/constrained-output.ts'

type Grammar = NonNullable<OutputPlan['grammar']>

/** Agents send the same constraints again and again. */
const keptMachines = 16
const machines = new LruMap<string, SharedMachine>({ max: keptMachines })

/** A new output that the grammar constrains. Throws `unsupported-field` for a grammar that takes too much work. */
export function openConstrainedOutput({ vocabulary, tokenTrie: trie }: WorkerModel, grammar: Grammar): ConstrainedOutput {
  const machine = machines.find(grammar.key, () => share(() => new GrammarMachine(grammar.program)))
  return new ConstrainedOutput(machine, { ...vocabulary, trie })
}

function share(create: () => GrammarMachine): SharedMachine {
  const allowed: SharedMachine['allowed'] = new LruMap({ max: keptSets })
  const renew = () => {
    allowed.clear()
    return create()
  }
  return { current: create(), renew, allowed }
}
