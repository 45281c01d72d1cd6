import { objectText } from '../../canonical/object-text.ts'
import { plainText } from '../../jinja/values/foreign-text.ts'
import type { TemplateTurn } from './turn.ts'

type Turns = readonly TemplateTurn[]
type Assistant = Extract<TemplateTurn, { role: 'assistant' }>

/** Each returns the same list if nothing changes. */
const changes: readonly ((turns: Turns) => Turns)[] = [
  openWithUser,
  withQuestion,
  withoutEmptyReplies,
  withObjectArguments,
  withNamedResults,
]

/**
 * The conversation as it is, and then the changes to try if the template refuses it: each change alone, all of them, and the same without
 * the reasoning of earlier turns. No text of the caller is lost, except that reasoning.
 */
export function* historyVariants(turns: Turns): Generator<Turns> {
  const reasoned = turns.some((turn) => turn.role === 'assistant' && turn.reasoning !== undefined)
  for (const given of reasoned ? [turns, turns.map(withoutReasoning)] : [turns]) {
    yield given
    const changed = changes.map((change) => change(given)).filter((each) => each !== given)
    yield* changed
    if (changed.length > 1) yield changes.reduce((all, change) => change(all), given)
  }
}

/** Adds an empty user turn after the leading system messages, if the conversation does not open with a user's. */
export function openWithUser(turns: Turns): Turns {
  const first = turns.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const at = first === -1 ? turns.length : first
  if (turns[at]?.role === 'user') return turns
  return [...turns.slice(0, at), { role: 'user', content: [] }, ...turns.slice(at)]
}

/** Puts an empty user turn in front if all of the user's text is in tags: templates read that as results, and look for a question. */
export function withQuestion(turns: Turns): Turns {
  const said = turns.flatMap((turn) => (turn.role === 'user' ? turn.content : []))
  const inTags = said.every((part) => part.type === 'text' && /^\s*<\w+>.*<\/\w+>\s*$/s.test(plainText(part.text)))
  if (said.length === 0 || !inTags) return turns
  const first = turns.findIndex(({ role }) => role === 'user')
  return [...turns.slice(0, first), { role: 'user', content: [] }, ...turns.slice(first)]
}

/** Without the empty turns that interrupted requests leave behind. */
export function withoutEmptyReplies(turns: Turns): Turns {
  const kept = turns.filter((turn) => turn.role !== 'assistant' || !isEmpty(turn))
  return kept.length === turns.length ? turns : kept
}

function isEmpty({ content, toolCalls, reasoning = '' }: Assistant): boolean {
  return toolCalls.length === 0 && reasoning === '' && content.every((part) => part.type === 'text' && part.text === '')
}

/** Wraps arguments of calls that are not an object into one. */
function withObjectArguments(turns: Turns): Turns {
  const isOther = ({ input }: { readonly input: string }) => objectText(input) !== input
  if (!turns.some((turn) => turn.role === 'assistant' && turn.toolCalls.some(isOther))) return turns
  return turns.map((turn) => {
    if (turn.role !== 'assistant') return turn
    return { ...turn, toolCalls: turn.toolCalls.map((call) => ({ ...call, input: objectText(call.input) })) }
  })
}

/** Gives results of unknown calls the name of the call at their position, or else of the last one. */
function withNamedResults(turns: Turns): Turns {
  const known = new Set<string>()
  let calls: Assistant['toolCalls'] = []
  let position = 0
  const named = turns.map((turn): TemplateTurn => {
    if (turn.role === 'assistant') {
      calls = turn.toolCalls
      for (const { id } of calls) known.add(id)
    }
    if (turn.role !== 'tool') {
      position = 0
      return turn
    }
    const call = calls[position] ?? calls.at(-1)
    position += 1
    return turn.name !== undefined || known.has(turn.toolCallId) || call === undefined ? turn : { ...turn, name: call.name }
  })
  return named.some((turn, index) => turn !== turns[index]) ? named : turns
}

export function withoutReasoning(turn: TemplateTurn): TemplateTurn {
  if (turn.role !== 'assistant') return turn
  const { reasoning: _, ...rest } = turn
  return rest
}
