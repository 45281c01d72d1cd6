import { functionTools } from '../../../contract/callable-tools.ts'
import { type ReasoningAtEnd, requestFormat } from '../../../model-text/model-format.ts'
import type { Command, Report } from '../channel/ipc.ts'
import { compileConstraint } from './constraint.ts'
import { type Grammar, parseGrammar } from './grammars.ts'
import type { WorkerModel } from './model.ts'
import { preparePrompt } from './prompt.ts'
import { afterReasoning, type ReasoningFront } from './reasoning-grammar.ts'

type PrepareCommand = Extract<Command, { type: 'prepare' }>
type Prepared = Omit<Extract<Report, { type: 'prepared' }>, 'type' | 'id'>

/** Everything about a request that is known before it runs: its tokens, and the format and the grammar of its output. */
export async function prepareGeneration(loaded: WorkerModel, command: PrepareCommand): Promise<Prepared> {
  const { prompt, maxOutputTokens } = command
  const { tokens, templateMs, reasoning } = await preparePrompt(loaded, command, maxOutputTokens)
  const format = requestFormat(loaded.format, prompt, reasoning === 'open')
  const tools = prompt.type === 'chat' ? functionTools(prompt.tools) : []
  const { constrainsAllTools } = loaded
  const constraint = compileConstraint(
    { ...command, tools, constrainsAllTools },
    { format, endTexts: loaded.vocabulary.endTexts },
  )
  const plan = { ...(format !== undefined && { format }) }
  if (constraint === undefined) return { tokens, templateMs, plan }
  const grammar: Grammar =
    constraint.isWhole === true
      ? { text: constraint.gbnf, root: 'root', isOpen: true }
      : afterReasoning(constraint, { format, front: reasoningFront(command, reasoning) })
  parseGrammar(loaded, grammar)
  const { structured } = constraint
  return { tokens, templateMs, plan: { ...plan, grammar }, ...(structured !== undefined && { structured }) }
}

/** If the prompt neither opened nor closed reasoning, the model may open it, unless the request disables it. */
function reasoningFront({ reasoning }: PrepareCommand, atEnd: ReasoningAtEnd): ReasoningFront {
  switch (atEnd) {
    case 'open':
      return 'opened'
    case 'closed':
      return 'never'
    case 'untouched':
      return reasoning.enabled === false ? 'never' : 'optional'
  }
}
