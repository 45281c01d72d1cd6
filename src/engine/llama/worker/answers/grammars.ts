import { LruMap } from '../../../../base/lru-map.ts'
import { GrammarMachine } from '../../../../grammar/run/machine.ts'
import type { OutputPlan } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import { ConstrainedOutput, keptSets, type SharedMachine } from '../sampling/constrained-output.ts'
import type { Vocabulary } from '../sampling/vocabulary.ts'

type Grammar = NonNullable<OutputPlan['grammar']>

/** Agents send the same constraints again and again. */
const keptMachines = 16
/** Which tokens have a text depends on the template. */
const machines = new WeakMap<Vocabulary, LruMap<string, SharedMachine>>()

/** A new output that the grammar constrains. Throws `unsupported-field` for a grammar that takes too much work. */
export function openConstrainedOutput({ vocabulary, tokenTrie: trie }: WorkerModel, grammar: Grammar): ConstrainedOutput {
  const known = machines.get(vocabulary) ?? new LruMap({ max: keptMachines })
  machines.set(vocabulary, known)
  const machine = known.find(grammar.key, () => share(() => new GrammarMachine(grammar.program)))
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
