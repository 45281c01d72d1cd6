import { appendTo } from './join-content.ts'
import { createCallFinder } from './order-results.ts'
import type { TemplateTraits } from './template-traits.ts'
import type { TemplateTurn } from './turn.ts'

type Assistant = Extract<TemplateTurn, { role: 'assistant' }>
type Result = Extract<TemplateTurn, { role: 'tool' }>
type Separation = Pick<TemplateTraits, 'callsTogether' | 'callsBesideText' | 'textBeforeCalls'>

/**
 * Rewrites turns whose calls the template refuses or drops: if it renders one call per turn, each call gets a turn, followed by
 * its result; if it renders either text or calls, the text gets a separate turn before them. Where that turn would break the
 * alternation, the text is appended to the previous turn.
 */
export function separateCalls(messages: readonly TemplateTurn[], traits: Separation): TemplateTurn[] {
  const result: TemplateTurn[] = []
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]
    if (message === undefined) break
    if (message.role !== 'assistant' || message.toolCalls.length === 0) {
      result.push(message)
      continue
    }
    const calls = traits.callsBesideText ? message : takeText(message, result, traits)
    if (traits.callsTogether || calls.toolCalls.length === 1) {
      result.push(calls)
      continue
    }
    const end = messages.findIndex((next, at) => at > index && next.role !== 'tool')
    const results = messages.slice(index + 1, end === -1 ? messages.length : end).filter((next) => next.role === 'tool')
    result.push(...onePerTurn(calls, results))
    index += results.length
  }
  return result
}

/** Returns the turn without its text, which is added to the end of `before`. */
function takeText(message: Assistant, before: TemplateTurn[], { textBeforeCalls }: Separation): Assistant {
  const hasText = message.content.some((part) => part.type !== 'text' || part.text !== '')
  if (!hasText) return message
  const previous = before.at(-1)
  if (!textBeforeCalls && (previous?.role === 'user' || previous?.role === 'tool')) {
    before[before.length - 1] = appendTo(previous, message.content)
    return { ...message, content: [] }
  }
  before.push({ ...message, toolCalls: [] })
  const { reasoning: _, ...rest } = message
  return { ...rest, content: [] }
}

/** Results without a matching call of the turn follow the last call. */
function onePerTurn(message: Assistant, results: readonly Result[]): TemplateTurn[] {
  const findCall = createCallFinder(message.toolCalls)
  const byCall = new Map<number | undefined, Result[]>()
  for (const result of results) {
    const call = findCall(result)
    byCall.set(call, [...(byCall.get(call) ?? []), result])
  }
  const resultsOf = (call: number | undefined) => byCall.get(call) ?? []
  const { reasoning: _, ...rest } = message
  const turns = message.toolCalls.flatMap((call, index): TemplateTurn[] => [
    index === 0 ? { ...message, toolCalls: [call] } : { ...rest, content: [], toolCalls: [call] },
    ...resultsOf(index),
  ])
  return [...turns, ...resultsOf(undefined)]
}
