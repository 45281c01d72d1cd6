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

/** Everything that can be said of a request before it runs: its tokens, how its output is read, what it must match. */
export async function prepareGeneration(loaded: WorkerModel, command: PrepareCommand): Promise<Prepared> {
  const { prompt, maxOutputTokens } = command
  const { tokens, templateMs, reasoning } = await preparePrompt(loaded, command, maxOutputTokens)
  const format = requestFormat(loaded.format, prompt, reasoning === 'open')
  const tools = prompt.type === 'chat' ? functionTools(prompt.tools) : []
  const { bindsAllTools } = loaded
  const constraint = compileConstraint({ ...command, tools, bindsAllTools }, { format, endTexts: loaded.vocabulary.endTexts })
  const shape = { ...(format !== undefined && { format }) }
  if (constraint === undefined) return { tokens, templateMs, shape }
  const grammar: Grammar =
    constraint.isWhole === true
      ? { text: constraint.gbnf, root: 'root', isOpen: true }
      : afterReasoning(constraint, { format, front: reasoningFront(command, reasoning) })
  parseGrammar(loaded, grammar)
  const { structured } = constraint
  return { tokens, templateMs, shape: { ...shape, grammar }, ...(structured !== undefined && { structured }) }
}

/** A model that may think, and was not told by the prompt that it has, is free to begin. */
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
